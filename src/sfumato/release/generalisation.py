"""Judging a table of unknown making: is it a generalisation of another one, of which levels, and
is it k-minimal?
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, TableBlock, VerdictBlock
from sfumato.core.fields import Document
from sfumato.core.hierarchy import Ladder, bind_column
from sfumato.core.words import count_of, inflect, join_words, number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.labels import Labels
    from sfumato.core.table import Table

    Ints = NDArray[np.int64]

MOST_VECTORS = 4096
"""Distance vectors that are tried where labels occur on several levels."""
MOST_PAIRS = 20_000_000
"""Pairs of different rows that are compared cell by cell; a pair takes a byte for each column."""


@dataclasses.dataclass(frozen=True, eq=False)
class Generalisation(Reportable):
    r"""Whether a table is a generalisation of another one with suppression, and how.

    ``form`` is ``full-domain`` where every column stands on one level of its hierarchy (``levels``,
    the distance vector), ``cell by cell`` where columns mix levels and every record still
    generalises one of its own, and None where it is no generalisation or nobody knows
    (``unknown``).
    ``minimal`` says of a full-domain generalisation whether it is k-minimal for ``k`` and
    at most ``most_suppressed`` suppressed records; None where that is not asked.
    """

    form: Literal["full-domain", "cell by cell"] | None
    sentence: str
    levels: Mapping[str, int]
    heights: Mapping[str, int]
    suppressed: int
    distinct: int
    left_out: tuple[str, ...] = ()
    unknown: bool = False
    k: int | None = None
    most_suppressed: int | None = None
    minimal: bool | None = None
    minimal_sentence: str = ""

    def __bool__(self) -> bool:
        return self.form is not None

    @property
    def absolute_distance(self) -> int:
        """The number of generalisation steps, over all columns."""
        return sum(self.levels.values())

    @property
    def relative_distance(self) -> float:
        """The steps, each divided by the height of its hierarchy."""
        return sum(level / max(1, self.heights[name]) for name, level in self.levels.items())

    def to_dict(self) -> Document:
        """The answer as plain data."""
        return {
            "holds": None if self.unknown else bool(self),
            "form": self.form,
            "sentence": self.sentence,
            "levels": dict(self.levels),
            "heights": dict(self.heights),
            "suppressed": self.suppressed,
            "distinct": self.distinct,
            "absolute_distance": self.absolute_distance,
            "relative_distance": self.relative_distance,
            "left_out": list(self.left_out),
            "k": self.k,
            "most_suppressed": self.most_suppressed,
            "minimal": self.minimal,
            "minimal_sentence": self.minimal_sentence,
        }

    def blocks(self) -> Sequence[Block]:
        """The answer, the distance vector and what follows from it."""
        holds = None if self.unknown else bool(self)
        blocks: list[Block] = [
            VerdictBlock(holds, "generalisation with suppression", self.sentence)
        ]
        if self.form == "full-domain":
            rows = tuple((name, level, self.heights[name]) for name, level in self.levels.items())
            blocks.append(TableBlock(("column", "level", "of"), rows, "Distance vector"))
            figures = (
                ("absolute distance", self.absolute_distance),
                ("relative distance", number(self.relative_distance)),
                ("distinct rows", self.distinct),
                ("suppressed records", self.suppressed),
            )
            blocks.append(TableBlock(("", ""), figures))
        if self.minimal is not None:
            title = f"{self.k}-minimal with at most {self.most_suppressed} suppressed"
            blocks.append(VerdictBlock(self.minimal, title, self.minimal_sentence))
        return blocks


@dataclasses.dataclass(frozen=True, eq=False)
class _Column:
    """A column of both tables: the original as codes of a ladder, the released one as labels."""

    name: str
    ladder: Ladder
    codes: Ints
    labels: Labels
    released: Ints

    @property
    def top(self) -> int:
        return self.ladder.top

    def positions(self, level: int) -> dict[str | None, int]:
        """The code of every label of a level."""
        return {label: code for code, label in enumerate(self.ladder.labels[level])}

    def levels_of(self, used: Ints) -> list[int]:
        """The levels that have all of these labels."""
        fitting = []
        for level in range(self.ladder.depth):
            known = self.positions(level)
            if all(self.labels[code] in known for code in used.tolist()):
                fitting.append(level)
        return fitting

    def original_at(self, level: int) -> Ints:
        """The codes of the original records on a level."""
        return self.ladder.climb(0, level)[self.codes]

    def released_at(self, level: int) -> Ints:
        """The codes of the released records on a level that has all their labels; −1 elsewhere."""
        known = self.positions(level)
        of_label = np.array([known.get(label, -1) for label in self.labels], dtype=np.int64)
        return of_label[self.released]

    def fits(self) -> NDArray[np.bool_]:
        """Per released label and original value, whether the label generalises the value."""
        depth = len(self.ladder.labels[0])
        fits = np.zeros((len(self.labels), depth), dtype=bool)
        for level in range(self.ladder.depth):
            known = self.positions(level)
            above = self.ladder.climb(0, level)
            for row, label in enumerate(self.labels):
                if label in known:
                    fits[row] |= above == known[label]
        return fits


def judge_generalisation(
    released: Table, original: Table, *, k: int | None = None, most_suppressed: int | None = None
) -> Generalisation:
    r"""Judge whether a table is a generalisation of the original with suppression: :math:`T_i \leq
    T_j`.

    It is one if it has at most as many records, every column stands on one level of the hierarchy
    that the original names for it (columns without one are unchanged), and records of the release
    can be matched to different records of the original that they generalise. Columns that the
    release lacks are left out. Rows that are generalised to the top in all columns with a hierarchy
    count as suppressed, as other programs write them, unless all rows are.

    It is **k-minimal** if it is k-anonymous in the quasi-identifiers and suppresses exactly the
    records of smaller classes, suppresses at most ``most_suppressed`` (by default: as many as it
    does), and no node of the lattice below could do so. ``k`` is by default what it attains.

    Reference: Samarati 2001, doi:10.1109/69.971193.

    >>> import sfumato as sf
    >>> people = sf.examples.hospital(rows=60).with_hierarchies(age=sf.intervals(20, 40))
    >>> coarse = sf.anonymize(people, sf.KAnonymity(2), sf.GlobalRecoding(budget=0.9))
    >>> sf.judge_generalisation(coarse.released, people).form
    'full-domain'
    """
    names = [name for name in original.columns if name in released.columns]
    left_out = tuple(name for name in original.columns if name not in released.columns)
    added = [name for name in released.columns if name not in original.columns]
    if added or not names:
        which = join_words(added) if added else "no column of it"
        sentence = f"{which} {inflect(len(added) or 1, 'is', 'are')} not in the original"
        if not added:
            sentence = "the two tables have no column in common"
        return _none(sentence, left_out)
    columns = [_column(name, released, original) for name in names]
    if len(released) > len(original):
        return _none(
            f"it has {count_of(len(released), 'record')}, the original only {len(original):,}",
            left_out,
        )
    suppressed_rows = _suppressed(columns)
    kept = ~suppressed_rows
    candidates = [column.levels_of(np.unique(column.released[kept])) for column in columns]
    mixed = [c.name for c, levels in zip(columns, candidates, strict=True) if not levels]
    if mixed:
        return _cell_by_cell(columns, mixed, left_out)
    vectors = sorted(itertools.islice(itertools.product(*candidates), MOST_VECTORS), key=sum)
    for vector in vectors:
        if _contained(columns, vector, kept):
            return _full_domain(
                columns, vector, kept, original, left_out, k=k, most_suppressed=most_suppressed
            )
    return _cell_by_cell(columns, (), left_out)


def _none(sentence: str, left_out: tuple[str, ...], *, unknown: bool = False) -> Generalisation:
    return Generalisation(
        None, sentence, {}, {}, suppressed=0, distinct=0, left_out=left_out, unknown=unknown
    )


def _column(name: str, released: Table, original: Table) -> _Column:
    encoded = original.encoded(name)
    attribute = original.schema.attributes.get(name)
    ladder = bind_column(attribute.hierarchy if attribute else None, encoded)
    codes = ladder.codes_of(encoded.labels)[encoded.codes]
    labels = released.encoded(name)
    return _Column(name, ladder, codes, labels.labels, labels.codes)


def _suppressed(columns: Sequence[_Column]) -> NDArray[np.bool_]:
    """Rows that are at the top in every column that has one; none where all rows are."""
    rows = np.ones(len(columns[0].released), dtype=bool)
    generalised = [column for column in columns if column.top]
    for column in generalised:
        top = column.ladder.labels[-1][0] if len(column.ladder.labels[-1]) else None
        at_top = np.array([label == top for label in column.labels], dtype=bool)
        rows &= at_top[column.released] if len(at_top) else rows
    if rows.all() or not generalised:
        return np.zeros(len(rows), dtype=bool)
    return rows


def _contained(columns: Sequence[_Column], vector: Sequence[int], kept: NDArray[np.bool_]) -> bool:
    """Whether the released records, as a multiset, are among the original ones on these levels.

    Records of equal labels are interchangeable, so an injective map exists if and only if no
    combination of labels is released more often than it occurs. Suppressed rows fit every record
    with the same values in the columns without hierarchy, of which enough must be left.
    """
    names = [column.name for column in columns]
    before = {c.name: c.original_at(level) for c, level in zip(columns, vector, strict=True)}
    after = {c.name: c.released_at(level) for c, level in zip(columns, vector, strict=True)}
    fixed = [column.name for column in columns if not column.top]
    shown = pl.DataFrame({name: after[name][kept] for name in names})
    if not _among(shown, pl.DataFrame(before), names):
        return False
    if kept.all():
        return True
    # Every record counts here, the suppressed ones too.
    if not fixed:
        return len(kept) <= len(columns[0].codes)
    rows = pl.DataFrame({name: after[name] for name in fixed})
    return _among(rows, pl.DataFrame(before), fixed)


def _among(rows: pl.DataFrame, others: pl.DataFrame, names: Sequence[str]) -> bool:
    """Whether no combination of columns comes more often than among the others."""
    counts = rows.group_by(names).len("released")
    known = others.group_by(names).len("original")
    joined = counts.join(known, on=list(names), how="left")
    return bool((joined["released"] <= joined["original"].fill_null(0)).all())


def _full_domain(
    columns: Sequence[_Column],
    vector: Sequence[int],
    kept: NDArray[np.bool_],
    original: Table,
    left_out: tuple[str, ...],
    *,
    k: int | None,
    most_suppressed: int | None,
) -> Generalisation:
    levels = dict(zip((column.name for column in columns), vector, strict=True))
    quasi = [name for name in original.schema.quasi if name in levels]
    if not quasi:
        quasi = [column.name for column in columns if column.top]
    suppressed = len(columns[0].codes) - int(kept.sum())
    rows = pl.DataFrame({c.name: c.released_at(levels[c.name])[kept] for c in columns})
    sizes = _class_sizes(rows, quasi) if quasi else pl.Series([rows.height])
    smallest = int(sizes.min() or 0)  # type: ignore[arg-type]
    answer = Generalisation(
        "full-domain",
        "every record generalises one of the original, each column on one level",
        {column.name: levels[column.name] for column in columns if column.top},
        {column.name: column.top for column in columns if column.top},
        suppressed=suppressed,
        distinct=rows.n_unique() if rows.height else 0,
        left_out=left_out,
        k=smallest if k is None else k,
        most_suppressed=suppressed if most_suppressed is None else most_suppressed,
    )
    if suppressed:
        sentence = f"{answer.sentence}; {count_of(suppressed, 'record')} suppressed"
        answer = dataclasses.replace(answer, sentence=sentence)
    if not quasi or not rows.height:
        return answer
    minimal, why = _minimality(answer, columns, levels, quasi, smallest)
    return dataclasses.replace(answer, minimal=minimal, minimal_sentence=why)


def _minimality(
    answer: Generalisation,
    columns: Sequence[_Column],
    levels: Mapping[str, int],
    quasi: Sequence[str],
    smallest: int,
) -> tuple[bool, str]:
    """Whether a full-domain generalisation is k-minimal, and why."""
    k, most = answer.k or 0, answer.most_suppressed or 0
    if smallest < k:
        return False, f"a class has only {count_of(smallest, 'record')}"
    least = _to_suppress(columns, levels, quasi, k)
    if answer.suppressed > least:
        return False, (
            f"it suppresses {answer.suppressed:,} records, where {least:,} in classes below {k} "
            "would do"
        )
    if answer.suppressed > most:
        return False, f"it suppresses {answer.suppressed:,} records"
    # Coarser nodes never suppress more, so a node further below can only do it where one of the
    # nodes directly below does.
    for column in columns:
        if not levels[column.name]:
            continue
        below = {**levels, column.name: levels[column.name] - 1}
        fewer = _to_suppress(columns, below, quasi, k)
        if fewer <= most:
            return False, (
                f"{column.name} on level {below[column.name]} would suppress {fewer:,} records"
            )
    return True, "no level can be lowered"


def _to_suppress(
    columns: Sequence[_Column], levels: Mapping[str, int], quasi: Sequence[str], k: int
) -> int:
    """How many original records are in classes of fewer than k on these levels."""
    rows = pl.DataFrame({c.name: c.original_at(levels[c.name]) for c in columns if c.name in quasi})
    sizes = _class_sizes(rows, quasi)
    return int(sizes.filter(sizes < k).sum())


def _class_sizes(rows: pl.DataFrame, quasi: Sequence[str]) -> pl.Series:
    """How many records each class has; the column of sizes has no name that a column may have."""
    # Numbers for names: polars calls the sizes "len".
    numbered = [rows[name].alias(str(number)) for number, name in enumerate(quasi)]
    return pl.DataFrame(numbered).group_by(pl.all()).len()["len"]


def _cell_by_cell(
    columns: Sequence[_Column], mixed: Sequence[str], left_out: tuple[str, ...]
) -> Generalisation:
    """Whether every released record generalises a record of its own, whatever the levels of its
    cells.

    Different rows are the two sides of a network, their numbers the capacities: all released
    records have a partner of their own if and only if the flow is as large as their number.
    """
    before = pl.DataFrame({c.name: c.codes for c in columns}).group_by(pl.all()).len("rows here")
    after = pl.DataFrame({c.name: c.released for c in columns}).group_by(pl.all()).len("rows here")
    why = "the levels of its columns do not fit together"
    if mixed:
        why = f"{join_words(mixed)} {inflect(len(mixed), 'has', 'have')} labels of several levels"
    if before.height * after.height > MOST_PAIRS:
        sentence = f"unknown: {why}, and there are too many different rows to compare cell by cell"
        return _none(f"{sentence}; give fewer columns or rows", left_out, unknown=True)
    joined = np.ones((after.height, before.height), dtype=bool)
    for column in columns:
        own, other = after[column.name].to_numpy(), before[column.name].to_numpy()
        joined &= column.fits()[own][:, other]
    flow = _largest_flow(after["rows here"].to_numpy(), before["rows here"].to_numpy(), joined)
    records = len(columns[0].released)
    if flow < records:
        count = count_of(records - flow, "record")
        return _none(f"{count} can be no generalisation of a record of its own", left_out)
    return Generalisation(
        "cell by cell",
        f"every record generalises one of the original, cell by cell; {why}, so there is no "
        "distance vector",
        {},
        {column.name: column.top for column in columns if column.top},
        suppressed=len(columns[0].codes) - records,
        distinct=after.height,
        left_out=left_out,
    )


def _largest_flow(released: Ints, original: Ints, joined: NDArray[np.bool_]) -> int:
    """How many released records can be given different original records that they fit."""
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import maximum_flow

    own, other = joined.nonzero()
    count, total = len(released), len(released) + len(original)
    source, sink = total, total + 1
    tails = [np.full(count, source), own, count + np.arange(len(original))]
    heads = [np.arange(count), count + other, np.full(len(original), sink)]
    capacities = [released, np.minimum(released[own], original[other]), original]
    edges = np.concatenate(capacities).astype(np.int32)
    places = (np.concatenate(tails), np.concatenate(heads))
    network = csr_array(coo_array((edges, places), shape=(total + 2, total + 2)), dtype=np.int32)
    return int(maximum_flow(network, source, sink).flow_value)
