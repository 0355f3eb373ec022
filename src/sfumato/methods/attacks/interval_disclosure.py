"""Interval disclosure: the released value is so near that the original one is known up to a small
interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.attack import Attack, Finding, Learns, NothingToAttack
from sfumato.core.hierarchy import bind
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.words import percent
from sfumato.methods.attacks.crowd import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.pair import TablePair
    from sfumato.core.reading import Reading

    Ends = tuple[NDArray[np.float64], NDArray[np.float64]]
    Ints = NDArray[np.int64]

USUAL_WIDTHS = tuple(range(1, 11))


@parameters
class IntervalDisclosure(Attack):
    r"""The share of records whose original value lies within a small interval around the released
    one.

    ``kind="rank"``: with the released column sorted as *R*, the tie block of a released value
    from :math:`i_{lo}` to
    :math:`i_{hi}` and :math:`w=\lfloor pN/200\rfloor`, the interval is
    :math:`[R_{\max(i_{lo}-w,0)}, R_{\min(i_{hi}+w,N-1)}]`.
    ``kind="deviation"``: :math:`v' \pm \tfrac{p}{100}\,s` with the standard deviation *s* (n − 1)
    of the released column. The value is the mean over the widths *p* (percent), by default 1 to 10
    as is usual. For categories the released value must be the original one, or share a node
    ``levels`` levels up the hierarchy.

    The textbook rule clips the ends the wrong way round and does not say what ties do; this is the
    mended one. The columns are those with numbers, dates or ordered values that the release changed
    and the intruder does not know, with categories where ``levels`` asks for them, or else the
    ``columns`` that are named, whoever knows them; the worst counts. A generalised cell discloses
    when its own range is within the interval around its middle; a suppressed one discloses nothing.
    ``baseline``: the same with released values dealt out to other people.
    Reference: Domingo-Ferrer & Torra 2001, "A quantitative comparison of disclosure control methods
    for microdata".
    """

    kind: Annotated[
        Literal["rank", "deviation"], Field(description="how the width of an interval is measured")
    ] = "rank"
    widths: Annotated[
        tuple[float, ...],
        Field(min_length=1, description="widths in percent; the mean is reported"),
    ] = USUAL_WIDTHS
    levels: Annotated[
        int, Field(ge=0, description="categories: levels up the hierarchy that count as disclosed")
    ] = 0
    columns: Annotated[
        tuple[str, ...] | None,
        COLUMNS,
        Field(
            description=(
                "columns to examine; None: all that were masked, are comparable and are not known"
            )
        ),
    ] = None

    name: ClassVar[str] = "interval_disclosure"
    learns: ClassVar[Learns] = "attribute"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "A changed value is still close to the original"

    def applies(self, scene: Scene) -> str | None:
        """None when some column was masked whose values can be near."""
        if self._targets(scene):
            return None
        return NothingToAttack(
            "no column that this intruder does not know was released with changed values that can "
            "be compared"
        )

    def attack(self, scene: Scene) -> Finding:
        """Put an interval around every released value and look whether the original one is
        inside.
        """
        # One dealing for all columns: a record of somebody else, not cells of several people.
        dealt = scene.seed.stream("interval disclosure: other people").permutation(
            len(scene.pair.rows)
        )
        disclosed_by_column = {c: self.disclosed(scene.pair, c) for c in self._targets(scene)}
        mean = scene.pair.mean_of_people
        guess = {c: mean(self.disclosed(scene.pair, c, dealt)) for c in disclosed_by_column}
        rates = {c: mean(disclosed) for c, disclosed in disclosed_by_column.items()}
        worst = max(rates, key=lambda c: (rates[c] - guess[c], c))
        # Inside at every width, the narrowest among them.
        certain = np.flatnonzero(disclosed_by_column[worst] >= 1 - 1e-12)
        message = (
            f"the released {worst} is close to the original for {percent(rates[worst])} of the "
            f"records, by chance for {percent(guess[worst])}"
        )
        details = {"column": worst, "per_column": rates}
        return Finding(
            self.name,
            rates[worst],
            message,
            baseline=guess[worst],
            victims=scene.pair.rows[certain],
            details=details,
        )

    def _targets(self, scene: Scene) -> tuple[str, ...]:
        """The columns that were masked, whose values can be near, and that the intruder does not
        know; or those that are named.
        """
        pair = scene.pair
        if self.columns is not None:
            return tuple(c for c in self.columns if c in pair.columns)
        unknown = [
            c for c in pair.columns if c not in scene.intruder.knows and _has_changes(pair, c)
        ]
        return tuple(c for c in unknown if self.levels > 0 or pair.reading(c).scale != "category")

    def disclosed(
        self, pair: TablePair, column: str, order: Ints | None = None
    ) -> NDArray[np.float64]:
        """Per released row, in how many of the widths its original value is disclosed (a share).

        ``order`` deals the released values out to other people.
        """
        reading = pair.reading(column)
        released = reading.released
        values = reading.original[pair.rows]
        labels = released if order is None else released[order]
        if reading.scale == "category":
            return self._same_category(pair, column, labels, values).astype(np.float64)
        # pairs of a value and a label, each looked at once
        few_combinations = len(reading.values) * len(reading.labels) <= len(labels)
        cells = None
        if few_combinations and len(labels):
            cells = distinct([values, labels])
        if cells is None:
            value, label = (values, labels)
        else:
            value = cells.codes[:, 0]
            label = cells.codes[:, 1]
        position = reading.places[value]
        hits = []
        for low, high in self._ends(reading, np.bincount(released, minlength=len(reading.labels))):
            # A range wider than the interval around its middle gives no value away.
            narrow = (reading.low >= low - 1e-12) & (reading.high <= high + 1e-12)
            is_above = position >= low[label] - 1e-12
            is_below = position <= high[label] + 1e-12
            hits.append(narrow[label] & is_above & is_below)
        if hits[0].size:
            shares = np.asarray(np.stack(hits).mean(axis=0, dtype=np.float64))
        else:
            shares = np.zeros(0)
        if cells is None:
            return shares
        return shares[cells.kind_of]

    def _ends(self, reading: Reading, records: Ints) -> Iterator[Ends]:
        """Per width the ends of the interval around every label, as often released as ``records``
        says.
        """
        middle = reading.middle
        order = np.argsort(middle, kind="stable")
        order = order[~np.isnan(middle[order])]
        # As often as each label was released: ranks count records, not labels.
        sorted_values = np.repeat(middle[order], records[order])
        first = np.zeros(len(middle), dtype=np.int64)
        last = np.zeros(len(middle), dtype=np.int64)
        first[order] = np.searchsorted(sorted_values, middle[order], side="left")
        last[order] = np.searchsorted(sorted_values, middle[order], side="right") - 1
        spread = 0.0
        if self.kind == "deviation" and len(sorted_values) > 1:
            spread = float(np.std(sorted_values, ddof=1))
        for window in map(float, self.widths):
            if self.kind == "deviation" or not sorted_values.size:
                half = window / 100 * spread
                yield middle - half, middle + half
                continue
            width = int(window * len(sorted_values) / 200 + 1e-9)
            low = sorted_values[np.maximum(first - width, 0)]
            high = sorted_values[np.minimum(last + width, len(sorted_values) - 1)]
            low_ends = np.where(np.isnan(middle), np.nan, low)
            high_ends = np.where(np.isnan(middle), np.nan, high)
            yield low_ends, high_ends

    def _same_category(
        self, pair: TablePair, column: str, labels: Ints, values: Ints
    ) -> NDArray[np.bool_]:
        """Whether the released category is the original one, or meets it ``levels`` up the
        hierarchy.
        """
        reading = pair.reading(column)
        attribute = pair.original.schema[column]
        counts = np.bincount(reading.original, minlength=len(reading.values)).tolist()
        ladder = bind(attribute.hierarchy, reading.values, counts)
        # At the top all categories meet and everybody would be disclosed.
        level = min(self.levels, max(0, ladder.top - 1))
        label_codes = {label: code for code, label in enumerate(ladder.labels[0])}
        above = ladder.climb(0, level)
        node = {label: int(above[label_codes[label]]) for label in reading.values}
        value_nodes = np.array([node[v] for v in reading.values], dtype=np.int64)
        label_nodes = np.array([node.get(label, -1) for label in reading.labels], dtype=np.int64)
        in_same_category: NDArray[np.bool_] = value_nodes[values] == label_nodes[labels]
        return in_same_category


def _has_changes(pair: TablePair, column: str) -> bool:
    """Whether any cell of a column differs from its original; columns released as they were need no
    codes, which take much room.
    """
    before = pair.original.column(column)
    after = pair.released.column(column)
    comparable = pair.aligned and before.dtype == after.dtype and len(after) == len(pair.rows)
    if comparable and before.gather(pair.rows).equals(after, null_equal=True):
        return False
    return not bool(pair.as_it_was(column).all())
