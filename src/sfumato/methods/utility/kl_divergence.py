"""Kullback–Leibler divergence of the joint distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sfumato import kernels
from sfumato.core.classes import Layout
from sfumato.core.encoding import positions_in
from sfumato.core.metric import ColumnUtility, Measure
from sfumato.core.parameters import parameters
from sfumato.methods.utility.cell_averages import classes_of, normalise, records_of, suppressed_of
from sfumato.methods.utility.cells import Cells, cells_of, log_leaves
from sfumato.methods.utility.columns import Columns, quasi_of, require_sense, why_not_generalised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair

    Ints = NDArray[np.int64]

MOST_PAIRS = 200_000_000
"""Pairs of an original and a released combination that are compared where released boxes may
overlap.
"""
CHUNK = 1 << 24


@parameters
class KullbackLeibler(ColumnUtility):
    r"""How far the joint distribution of the quasi-identifiers is from what the release tells about
    it, in bits.

    .. math:: \sum_v p(v)\log_2\frac{p(v)}{p'(v)}

    *p* is the distribution of the combinations *v* of original values; *p'* spreads every released
    class evenly over the box of combinations it may stand for, a suppressed record over all of
    them. Cells count as many values as their hierarchy has leaves there, or as occur in their
    range; missing is one more. ``value`` is the share of what suppressing everything costs. Boxes
    that may overlap (local recoding) are compared pair by pair, up to some hundred million pairs.

    Reference: D. Kifer and J. Gehrke, SIGMOD 2006, https://doi.org/10.1145/1142473.1142499.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> round(
    ...     KullbackLeibler()
    ...     .measure(TablePair.of(examples.patients(), examples.patients(release="single")))
    ...     .raw,
    ...     6,
    ... )
    1.0
    """

    columns: Columns = None

    name: ClassVar[str] = "kl_divergence"
    follows_rows: ClassVar[bool] = True
    counts: ClassVar[bool] = True
    title: ClassVar[str] = "KL divergence"
    line: ClassVar[str] = (
        "how far the joint distribution of the quasi-identifiers is from the original"
    )

    def applies(self, pair: TablePair) -> str | None:
        """None where cells were generalised and there are not too many of them, else the reason."""
        names = quasi_of(pair, self.columns)
        reason = why_not_generalised(pair, names)
        if reason is not None or _disjoint(pair, names):
            return reason
        pairs = len(classes_of(pair, names, "original")) * len(classes_of(pair, names, "released"))
        if pairs > MOST_PAIRS:
            return (
                f"released boxes may overlap and {pairs:,} pairs are too many to compare; name"
                " fewer columns"
            )
        return None

    def measure(self, pair: TablePair) -> Measure:
        """The divergence in bits."""
        require_sense(self, pair)
        names = quasi_of(pair, self.columns)
        counts = classes_of(pair, names, "original").sizes
        boxes = classes_of(pair, names, "released")
        example = boxes.first
        total = sum(log_leaves(pair, name) for name in names)
        records = records_of(pair)
        logs = np.zeros(len(example))
        for name in names:
            cells = cells_of(pair, name)
            if cells is None:
                logs += log_leaves(pair, name)
            else:
                logs += np.log(_expected_shares(cells))[cells.which[example]]
        # The share of records in a box over the combinations in it; exp of a sum of logs for their
        # product.
        density = boxes.sizes / records * np.exp(-logs)
        suppressed_spread = suppressed_of(pair) / records * math.exp(-total)
        spread = density_at(pair, names, density) + suppressed_spread
        share = counts / counts.sum()
        # A combination that the release rules out would cost infinitely many bits.
        tiny = math.exp(-700.0)
        log_share = np.log2(share)
        log_spread = np.log2(np.maximum(spread, tiny))
        raw = max(0.0, float((share * (log_share - log_spread)).sum()))
        # Everything suppressed is the even distribution over all combinations, e^−total each.
        log_ratio = np.log2(share) + total / math.log(2)
        largest = float((share * log_ratio).sum())
        return Measure(
            self.name,
            normalise(raw, largest, pair),
            self.better,
            f"the joint distribution of the quasi-identifiers is distorted by {raw:.3g} bits; as a "
            "share of the maximum",
            raw=raw,
        )


def _expected_shares(cells: Cells) -> NDArray[np.float64]:
    """Per distinct cell how many values its label may stand for: a blank that hides a value and one
    that hid none look alike.
    """
    widest = np.zeros(len(cells.reading.labels))
    np.maximum.at(widest, cells.label, cells.leaves)
    return widest[cells.label]


def _disjoint(pair: TablePair, names: Sequence[str]) -> bool:
    """Whether every column was recoded as a whole: then no two released classes share a
    combination.
    """
    columns = [cells_of(pair, name) for name in names]
    return all(
        cells is None or cells.column_level is not None or not len(pair.released)
        for cells in columns
    )


def density_at(
    pair: TablePair, names: Sequence[str], density: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Per original combination, the density of all released classes that may stand for it."""
    combinations = classes_of(pair, names, "original")
    released = classes_of(pair, names, "released")
    first = combinations.first
    example = released.first
    densities = np.zeros(len(first))
    if not len(example):
        return densities
    if _disjoint(pair, names):
        # No boxes overlap: any released record of a combination tells its box.
        boxes = np.full(len(first), -1, dtype=np.int64)
        kernels.keys.write_through(boxes, combinations.rows, pair.rows, released.rows)
        _reach_suppressed(pair, names, boxes)
        densities[boxes >= 0] = density[boxes[boxes >= 0]]
        return densities
    fits = [_fitting(pair, name, first, example) for name in names if name in pair.released.columns]
    # As many combinations at a time as keep the table of pairs within the chunk.
    width = max(1, CHUNK // len(example))
    for start in range(0, len(first), width):
        part = slice(start, start + width)
        inside = np.ones((len(first[part]), len(example)), dtype=bool)
        for table, value, label in fits:
            inside &= table[value[part]][:, label]
        densities[part] = inside @ density
    return densities


def _fitting(
    pair: TablePair, name: str, first: Ints, example: Ints
) -> tuple[NDArray[np.bool_], Ints, Ints]:
    """Which labels of a column fit which values, and the codes of the combinations of both
    sides.
    """
    cells = cells_of(pair, name)
    reading = pair.reading(name)
    table = np.zeros((len(reading.values), len(reading.labels)), dtype=bool)
    for label in range(len(reading.labels)):
        if reading.scale == "category":
            table[reading.members[reading.starts[label] : reading.starts[label + 1]], label] = True
        elif not math.isnan(reading.low[label]):
            slack = 1e-9 * max(1.0, abs(reading.span))
            is_above = reading.places >= reading.low[label] - slack
            is_below = reading.places <= reading.high[label] + slack
            table[:, label] = is_above & is_below
    if cells is not None:
        # Suppressed labels fit every value.
        table[:, np.unique(cells.label[cells.lost])] = True
        table[cells.value[cells.fits], cells.label[cells.fits]] = True
    codes_before = reading.before.narrow[first].astype(np.int64)
    codes_after = reading.after.narrow[example].astype(np.int64)
    return (table, codes_before, codes_after)


def _reach_suppressed(pair: TablePair, names: Sequence[str], boxes: Ints) -> None:
    """Find the boxes of combinations all of whose own records were suppressed: other records may
    have made them.
    """
    first = classes_of(pair, names, "original").first
    example = classes_of(pair, names, "released").first
    lost = np.flatnonzero(boxes < 0)
    if not len(lost):
        return
    columns = [(name, cells) for name in names if (cells := cells_of(pair, name)) is not None]
    layout = Layout.of([len(cells.reading.labels) + 1 for _, cells in columns])
    keys = np.zeros((len(lost), layout.length), dtype=np.uint64)
    visible = np.zeros((len(example), layout.length), dtype=np.uint64)
    for a, (_, cells) in enumerate(columns):
        ladder = cells.ladder
        level = cells.column_level or 0
        leaf = ladder.codes_of(cells.reading.values)
        label_codes = positions_in(cells.reading.labels, ladder.labels[level])
        # A label that was not released gets a code of its own, which no box has.
        label_codes = np.where(label_codes < 0, len(cells.reading.labels), label_codes)
        node_of_leaf = ladder.climb(0, level)
        lost_codes = cells.reading.before.narrow[first[lost]]
        would_be = label_codes[node_of_leaf[leaf[lost_codes]]]
        kernels.keys.pack(keys, would_be, layout.words[a], layout.shifts[a])
        released_codes = cells.reading.after.narrow[example].astype(np.int64)
        kernels.keys.pack(visible, released_codes, layout.words[a], layout.shifts[a])
    boxes[lost] = kernels.keys.look_up(visible, keys)
