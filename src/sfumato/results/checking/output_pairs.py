"""Outputs of one session beside each other: two whose records differ by few persons tell of those
few.
"""

from __future__ import annotations

import dataclasses
import hashlib
import zlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.table import Table, as_table
from sfumato.core.words import inflect
from sfumato.results.checking.contributing_records import Behind, chosen, how_many
from sfumato.results.checking.fitted_data import MadeOf
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    OutputVerdict,
    broken,
    open_question,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.results.checking.log import LoggedOutput

ADDITIVE = ("count", "rows", "sum", "mean", "percent", "share")
ROW, COPY = "\x00row", "\x00copy"
"""Names that no column of a table has."""
SAME_RECORDS = "use the same records for both, or records that differ by more persons"


def _standard_scores(column: pl.Series) -> NDArray[np.float64] | None:
    """How many deviations every value is from the mean, NaN where there is none; None where all are
    equal.
    """
    values: NDArray[np.float64] = column.cast(pl.Float64).to_numpy().copy()
    there = np.isfinite(values)
    values[~there] = np.nan
    if not there.any() or values[there].min() == values[there].max():
        return None
    scores: NDArray[np.float64] = (values - values[there].mean()) / values[there].std()
    return scores


def _same_but_for_sign(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Whether two columns lie on a line, by their scores; most pairs are told apart by the first
    few.
    """
    for part in (slice(8), slice(None)):
        a, b = one[part], other[part]
        if not np.allclose(a, b, atol=1e-7, equal_nan=True) and not np.allclose(
            a, -b, atol=1e-7, equal_nan=True
        ):
            return False
    return True


@dataclasses.dataclass(frozen=True, eq=False)
class Universe:
    """All records of a session; what an output is about is some of them."""

    behind: Behind

    @cached_property
    def size(self) -> int:
        """How many records there are."""
        return len(self.behind)

    @cached_property
    def digest(self) -> str:
        """What tells one universe from another: all of it, in its order."""
        frame = self.behind.dataset.to_polars()
        flat = frame.select([name for name, dtype in frame.schema.items() if not dtype.is_nested()])
        return hashlib.sha256(flat.write_csv().encode()).hexdigest()

    @cached_property
    def lines(self) -> dict[str, str]:
        """Per column the first one on a line with it (age and year of birth, a cost in two
        currencies): sums of both tell the same.
        """
        frame = self.behind.dataset.to_polars()
        firsts: dict[str, NDArray[np.float64]] = {}
        lines = {}
        for name in frame.columns:
            lines[name] = name
            scores = _standard_scores(frame[name]) if frame[name].dtype.is_numeric() else None
            if scores is None:
                continue
            alike = (
                other
                for other, first_scores in firsts.items()
                if _same_but_for_sign(scores, first_scores)
            )
            lines[name] = next(alike, name)
            firsts.setdefault(lines[name], scores)
        return lines

    def persons(self, sample: NDArray[np.bool_]) -> int:
        """How many persons some records are of."""
        return how_many(self.behind.who[sample])

    def has_unit(self, data: Any) -> bool:
        """Whether a frame has the column that tells persons apart."""
        dataset = as_table(data)
        return self.behind.unit in dataset.columns

    def sample(self, data: Any, where: Any) -> NDArray[np.bool_] | None:
        """The records an output is about: those of the session, or of another frame made of them;
        None where nobody can tell.
        """
        if data is None:
            return (
                np.ones(self.size, dtype=bool)
                if where is None
                else chosen(self.behind.dataset, where).to_numpy().copy()
            )
        other = Behind.of(data, unit=self.behind.unit if self.has_unit(data) else None, where=where)
        rows = self._of_content(other)
        return self._of_names(other) if rows is None and other.unit is not None else rows

    def rows(self, data: Any, where: Any) -> NDArray[np.int64] | None:
        """Per record that an output is about, in its order, the record of the session; None where
        nobody can tell.
        """
        if data is None:
            sample = self.sample(None, where)
            return None if sample is None else np.flatnonzero(sample)
        other = Behind.of(data, unit=self.behind.unit if self.has_unit(data) else None, where=where)
        rows = _same_rows(self, other.dataset.to_polars())
        return None if rows is None else rows.to_numpy().astype(np.int64)

    def same_columns(self, data: Any, where: Any, rows: NDArray[np.int64]) -> set[str]:
        """The columns of the records of an output that are the session's own."""
        ours = self.behind.dataset.to_polars()
        if data is None:
            return set(ours.columns)
        theirs = Behind.of(data, where=where).dataset.to_polars()
        both = [name for name in ours.columns if name in theirs.columns]
        return {name for name in both if ours[name][rows].equals(theirs[name], null_equal=True)}

    def _of_names(self, other: Behind) -> NDArray[np.bool_] | None:
        """All records of the persons of another frame, where it has as many."""
        names = set(other.dataset.encoded(str(other.unit)).labels)
        ours = self.behind.dataset.encoded(str(self.behind.unit))
        there: NDArray[np.bool_] = np.array([one in names for one in ours.labels], dtype=bool)[
            ours.codes
        ]
        return there if int(there.sum()) == len(other) and names <= set(ours.labels) else None

    def _of_content(self, other: Behind) -> NDArray[np.bool_] | None:
        """The records that say the same; of equal ones the first. Only where the other frame has
        all columns.
        """
        names = self.behind.dataset.columns
        if not set(names) <= set(other.dataset.columns):
            return None
        ours, theirs = (
            _numbered(one.dataset.to_polars().select(names), names) for one in (self.behind, other)
        )
        try:
            joined = theirs.join(
                ours.with_row_index(ROW), on=[*names, COPY], how="left", nulls_equal=True
            )
        except pl.exceptions.PolarsError:  # columns of other types
            return None
        rows = joined[ROW]
        if rows.null_count():
            return None
        there = np.zeros(self.size, dtype=bool)
        there[rows.to_numpy()] = True
        return there


def changed_for_few(universe: Universe, data: Any, rules: OutputRules) -> list[OutputReason]:
    """Records of the session in which the values of a few persons were changed: beside an output of
    the others they tell of these.
    """
    if universe.behind.unit is None or not universe.has_unit(data):
        return []
    other = Behind.of(data, unit=universe.behind.unit)
    names = [name for name in universe.behind.dataset.columns if name in other.dataset.columns]
    ours, theirs = (one.dataset.to_polars().select(names) for one in (universe.behind, other))
    try:
        strange = _numbered(theirs, names).join(
            _numbered(ours, names), on=[*names, COPY], how="anti", nulls_equal=True
        )
    except pl.exceptions.PolarsError:  # columns of other types
        return []
    if not rules.small(strange[universe.behind.unit].n_unique()):
        return []
    words = (
        f"values of fewer than {rules.threshold} persons are not those that the session has of them"
    )
    return [open_question("difference", words, SAME_RECORDS)]


def not_as_they_were(universe: Universe, data: Any, used: set[str] | None) -> list[OutputReason]:
    """Columns that an output tells of and that are neither the session's nor made of one of its
    columns; ``used`` None means all.
    """
    other = as_table(data)
    ours, theirs = universe.behind.dataset.to_polars(), other.to_polars()
    rows = _same_rows(universe, theirs)
    names = [name for name in theirs.columns if used is None or name in used]
    strange = (
        len(names)
        if rows is None
        else sum(not _made(name, ours[rows], theirs, universe) for name in names)
    )
    if rows is None and all(name in ours.columns for name in names):
        key = [str(universe.behind.unit), *(name for name in names if name != universe.behind.unit)]
        strange = int(_differ(ours.select(key), theirs.select(key), key))
    if not strange:
        return []
    words = (
        f"{strange:,} columns that this output tells of are neither those of the session nor made"
        " of one of them"
    )
    return [open_question("records", words, "somebody must look at how they were made")]


def _differ(ours: pl.DataFrame, theirs: pl.DataFrame, names: Sequence[str]) -> bool:
    try:
        return bool(
            _numbered(theirs, names)
            .join(_numbered(ours, names), on=[*names, COPY], how="anti", nulls_equal=True)
            .height
        )
    except pl.exceptions.PolarsError:  # columns of other types
        return True


def _same_rows(universe: Universe, theirs: pl.DataFrame) -> pl.Series | None:
    """Per row of another frame its row of the session: by what it says (of its person, where it
    does not say all), or by its person where each has one; None where neither tells.
    """
    ours = universe.behind.dataset.to_polars()
    unit = universe.behind.unit
    common = [name for name in ours.columns if name in theirs.columns]
    ways = [common] if len(common) == len(ours.columns) or unit in common else []
    for names in [*ways, *([[unit]] if unit in common else [])]:
        try:
            joined = _numbered(theirs.select(names), names).join(
                _numbered(ours.select(names), names).with_row_index(ROW),
                on=[*names, COPY],
                how="left",
                nulls_equal=True,
            )
        except pl.exceptions.PolarsError:  # columns of other types
            continue
        told_apart = (
            names == ours.columns or len(names) > 1 or ours[names[0]].n_unique() == ours.height
        )
        if not joined[ROW].null_count() and told_apart:
            return joined[ROW]
    return None


def _made(name: str, ours: Any, theirs: Any, universe: Universe) -> bool:
    """Whether a column is one of the session as it was, or follows from one of them: numbers in a
    form without a free constant, labels in any.
    """
    if name in ours.columns and ours[name].equals(theirs[name], null_equal=True):
        return True
    column = theirs[name]
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        values = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        finite = np.isfinite(values)  # who lacks a value is not in the cells
        return MadeOf(Behind(Table(ours.filter(finite)), universe.behind.unit)).exactly(
            values[finite]
        )
    sources = MadeOf(Behind(Table(ours), universe.behind.unit))
    codes = Table(theirs.select(name)).encoded(name).codes.astype(np.float64)
    return sources.explains(codes) or sources.cuts(codes)


def _numbered(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    return frame.with_columns(pl.int_range(pl.len()).over(names).alias(COPY))


def packed(sample: NDArray[np.bool_]) -> bytes:
    """A sample as it is kept.

    >>> unpacked(packed(np.array([True, False, True])), 3).tolist()
    [True, False, True]
    """
    return zlib.compress(np.packbits(sample).tobytes(), 6)


def unpacked(content: bytes, size: int) -> NDArray[np.bool_]:
    """The inverse of :func:`packed`."""
    mask: NDArray[np.bool_] = np.unpackbits(
        np.frombuffer(zlib.decompress(content), dtype=np.uint8), count=size
    ).astype(bool)
    return mask


def fewest_apart(
    one: NDArray[np.bool_], other: NDArray[np.bool_], universe: Universe, by: Sequence[str]
) -> int:
    """In the cells of some columns, the fewest persons who are in one sample and not in the other;
    0 where there are none.

    Without columns all persons are one cell.
    """
    apart = one != other
    if not apart.any():
        return 0
    rows = np.flatnonzero(apart)
    codes = [universe.behind.dataset.encoded(name).codes[rows] for name in by]
    frame = pl.DataFrame(
        {"who": universe.behind.who[rows], **{f"by {at}": code for at, code in enumerate(codes)}}
    )
    keys = [f"by {at}" for at in range(len(codes))]
    people = pl.col("who").n_unique()
    counts = frame.group_by(keys).agg(people) if keys else frame.select(people)
    return int(counts["who"].to_numpy().min())


def beside_others(
    verdict: OutputVerdict,
    sample: NDArray[np.bool_] | None,
    others: Iterable[tuple[LoggedOutput, NDArray[np.bool_] | None]],
    universe: Universe | None,
    rules: OutputRules,
) -> list[OutputReason]:
    """What a new output tells together with those before it."""
    numbers_by_kind: dict[str, list[int]] = {}
    for other, their_rows in others:
        kinds = [_difference(verdict, sample, other, their_rows, universe, rules)]
        if sample is None or their_rows is None or np.array_equal(sample, their_rows):
            follows = _follows(verdict, other) or (
                _once_each(universe) and _the_only_one(verdict, other)
            )
            kinds.append("linked" if follows else "")
        for kind in filter(None, kinds):
            numbers_by_kind.setdefault(kind, []).append(other.number)
    return [_told(kind, numbers, rules) for kind, numbers in numbers_by_kind.items()]


def _difference(
    verdict: OutputVerdict,
    sample: NDArray[np.bool_] | None,
    other: LoggedOutput,
    their_rows: NDArray[np.bool_] | None,
    universe: Universe | None,
    rules: OutputRules,
) -> str:
    """How two outputs differ by few persons: by number, in all, or in cells; nothing where they do
    not.
    """
    theirs = other.verdict["persons"]
    if sample is None or their_rows is None or universe is None:
        near = (
            verdict.persons is not None
            and theirs is not None
            and rules.small(abs(verdict.persons - theirs))
        )
        return "sizes" if near else ""
    columns = universe.behind.dataset.columns
    common = [name for name in verdict.by if name in other.verdict["by"] and name in columns]
    if not rules.small(fewest_apart(sample, their_rows, universe, common)):
        return ""
    return "cells" if common else "records"


def in_ranges(numbers: Sequence[int]) -> str:
    """Numbers in few words.

    >>> in_ranges([1, 2, 3, 7, 9, 10])
    '1–3, 7, 9, 10'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    ranges = [f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return ", ".join(ranges)


def _told(kind: str, numbers: Sequence[int], rules: OutputRules) -> OutputReason:
    others = f"{inflect(len(numbers), 'output')} {in_ranges(numbers)}"
    few = f"fewer than {rules.threshold} persons"
    if kind == "records":
        return broken(
            "difference", f"its records differ by {few} from those of {others}", SAME_RECORDS
        )
    if kind == "cells":
        return broken(
            "difference",
            f"in some cells its records differ by {few} from those of {others}",
            SAME_RECORDS,
        )
    if kind == "sizes":
        words = (
            f"its number of persons differs by fewer than {rules.threshold} from that of {others}:"
            " the records may differ by as few"
        )
        return open_question("difference", words, SAME_RECORDS)
    together = "protect them together: sf.tabulate(data, [['a', 'b'], ['a']], ...).protect()"
    return open_question(
        "linked",
        f"cells that are left out may follow from {others} together with this one",
        together,
    )


def _follows(verdict: OutputVerdict, other: LoggedOutput) -> bool:
    """Whether cells that one table leaves out may follow from the other: a table by fewer columns
    is its margin.
    """
    if other.status == "fail" or not (verdict.hidden or other.verdict["hidden"]):
        return False
    mine, theirs = set(verdict.by), set(other.verdict["by"])
    nested = (theirs <= mine and verdict.hidden) or (mine <= theirs and other.verdict["hidden"])
    return bool(nested and _additive(verdict.tells) & _additive(other.verdict["tells"]))


def _once_each(universe: Universe | None) -> bool:
    """Whether every person has one record, so that persons add up to all of them."""
    return universe is None or universe.behind.persons == universe.size


def _the_only_one(verdict: OutputVerdict, other: LoggedOutput) -> bool:
    """Whether one table leaves out one cell and the other none: its sum over all cells is that of
    both, and tells the one.
    """
    if other.status == "fail" or sorted((verdict.hidden, other.verdict["hidden"])) != [0, 1]:
        return False
    return bool(_additive(verdict.tells) & _additive(other.verdict["tells"]))


def _additive(tells: Iterable[str]) -> set[str]:
    """What adds up over cells: persons, or a column."""
    columns = set()
    for one in tells:
        kind, _, column = one.partition("(")
        if kind in ADDITIVE:
            columns.add(
                column.rstrip(")") if column and kind in ("sum", "mean", "share") else "persons"
            )
    return columns
