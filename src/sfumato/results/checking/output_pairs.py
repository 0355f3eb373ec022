"""Outputs of one session, two by two: those whose records differ by few persons tell of those few.

The records of a session are its universe. An output is about a sample of them, which is recognised
by content, or by the persons, where the researcher gives another frame.
"""

from __future__ import annotations

import dataclasses
import hashlib
import zlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.table import as_table
from sfumato.core.words import inflect
from sfumato.results.checking.contributing_records import (
    ContributingRecords,
    count_persons,
    row_mask,
)
from sfumato.results.checking.fitted_data import SourceColumns
from sfumato.results.checking.statistics_of_columns import ADDITIVE
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    OutputVerdict,
    open_question,
    violation,
)

if TYPE_CHECKING:
    from sfumato.results.checking.log import LoggedOutput
    from sfumato.results.tables.arrays import Codes, Floats, Mask

ROW, COPY = "\x00row", "\x00copy"
"""Names that no column of a table has."""
SAME_RECORDS = "use the same records for both, or records that differ by more persons"


def _standard_scores(column: pl.Series) -> Floats | None:
    """How many deviations every value is from the mean, NaN where there is none; None where all are
    equal.
    """
    values: Floats = column.cast(pl.Float64).to_numpy().copy()
    finite = np.isfinite(values)
    values[~finite] = np.nan
    present = values[finite]
    if not len(present) or present.min() == present.max():
        return None
    # Scale and zero drop out: a cost in euros and one in dollars have equal scores.
    scores: Floats = (values - present.mean()) / present.std()
    return scores


def _equal_but_for_sign(scores: Floats, other_scores: Floats) -> bool:
    """Whether two columns lie on a line, by their scores."""
    # Most pairs are distinguished by the first few rows.
    for part in (slice(8), slice(None)):
        a, b = scores[part], other_scores[part]
        equal = np.allclose(a, b, atol=1e-7, equal_nan=True)
        if not equal and not np.allclose(a, -b, atol=1e-7, equal_nan=True):
            return False
    return True


@dataclasses.dataclass(frozen=True, eq=False)
class Universe:
    """All records of a session; what an output is about is some of them."""

    records: ContributingRecords

    @cached_property
    def size(self) -> int:
        """How many records there are."""
        return len(self.records)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The records."""
        return self.records.dataset.to_polars()

    @cached_property
    def digest(self) -> str:
        """What tells one universe from another: all of it, in its order."""
        # Nested columns cannot be written as CSV.
        flat = [name for name, dtype in self.frame.schema.items() if not dtype.is_nested()]
        return hashlib.sha256(self.frame.select(flat).write_csv().encode()).hexdigest()

    @cached_property
    def lines(self) -> dict[str, str]:
        """Per column the first one on a line with it (age and year of birth, a cost in two
        currencies): sums of both tell the same.
        """
        first_scores: dict[str, Floats] = {}
        lines = {}
        for name in self.frame.columns:
            lines[name] = name
            if not self.frame[name].dtype.is_numeric():
                continue
            scores = _standard_scores(self.frame[name])
            if scores is None:
                continue
            for first, other_scores in first_scores.items():
                if _equal_but_for_sign(scores, other_scores):
                    lines[name] = first
                    break
            # Only the first column of every line is kept to compare with.
            first_scores.setdefault(lines[name], scores)
        return lines

    def persons(self, sample: Mask) -> int:
        """How many persons some records are of."""
        return count_persons(self.records.person_ids[sample])

    def has_unit(self, data: object) -> bool:
        """Whether a frame has the column that tells persons apart."""
        return self.records.unit in as_table(data).columns

    def _other_records(self, data: object, where: object) -> ContributingRecords:
        """The records of another frame, with persons distinguished as here where it can."""
        unit = self.records.unit if self.has_unit(data) else None
        return ContributingRecords.of(data, unit=unit, where=where)

    def sample(self, data: object, where: object) -> Mask | None:
        """The records an output is about: those of the session, or of another frame made of them;
        None where nobody can tell.
        """
        if data is None and where is None:
            return np.ones(self.size, dtype=bool)
        if data is None:
            return row_mask(self.records.dataset, where).to_numpy().copy()
        other_records = self._other_records(data, where)
        sample = self._match_content(other_records)
        # Changed columns: persons may still be recognised, where they have as many records.
        if sample is None and other_records.unit is not None:
            return self._match_persons(other_records)
        return sample

    def rows(self, data: object, where: object) -> Codes | None:
        """Per record that an output is about, in its order, the record of the session; None where
        nobody can tell.
        """
        if data is None:
            sample = self.sample(None, where)
            return None if sample is None else np.flatnonzero(sample)
        rows = _find_rows(self, self._other_records(data, where).dataset.to_polars())
        if rows is None:
            return None
        return rows.to_numpy().astype(np.int64)

    def same_columns(self, data: object, where: object, rows: Codes) -> set[str]:
        """The columns of the records of an output that are the session's own."""
        if data is None:
            return set(self.frame.columns)
        other_frame = ContributingRecords.of(data, where=where).dataset.to_polars()
        columns = set()
        for name in self.frame.columns:
            if name not in other_frame.columns:
                continue
            if self.frame[name][rows].equals(other_frame[name], null_equal=True):
                columns.add(name)
        return columns

    def _match_persons(self, other_records: ContributingRecords) -> Mask | None:
        """All records of the persons of another frame, where it has as many."""
        persons = set(other_records.dataset.encoded(str(other_records.unit)).labels)
        encoded = self.records.dataset.encoded(str(self.records.unit))
        has_label = np.array([label in persons for label in encoded.labels], dtype=bool)
        sample: Mask = has_label[encoded.codes]
        # Fewer or more records than the session has of these persons: which ones is not known.
        if int(sample.sum()) != len(other_records) or not persons <= set(encoded.labels):
            return None
        return sample

    def _match_content(self, other_records: ContributingRecords) -> Mask | None:
        """The records that say the same; of equal ones the first. Only where the other frame has
        all columns.
        """
        names = self.frame.columns
        if not set(names) <= set(other_records.dataset.columns):
            return None
        rows = _join_rows(other_records.dataset.to_polars(), self.frame, names)
        # One record that is not found means that the frame is made of something else.
        if rows is None or rows.null_count():
            return None
        sample = np.zeros(self.size, dtype=bool)
        sample[rows.to_numpy()] = True
        return sample


def _join_rows(frame: pl.DataFrame, universe: pl.DataFrame, names: list[str]) -> pl.Series | None:
    """Per row of a frame the row of the universe with the same values of some columns, null where
    it has none; of equal rows the first goes with the first. None where types differ.
    """
    rows = _number_copies(universe, names).with_row_index(ROW)
    try:
        joined = _number_copies(frame, names).join(
            rows, on=[*names, COPY], how="left", nulls_equal=True
        )
    except pl.exceptions.PolarsError:  # columns of other types
        return None
    return joined[ROW]


def _number_copies(frame: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Some columns, and how many equal rows come before each."""
    # Equal rows are numbered, so that the second of two meets the second and not the first twice.
    return frame.select(names).with_columns(pl.int_range(pl.len()).over(names).alias(COPY))


def judge_changes(universe: Universe, data: object, rules: OutputRules) -> list[OutputReason]:
    """Records of the session in which the values of a few persons were changed: beside an output of
    the others they tell of these.
    """
    unit = universe.records.unit
    if unit is None or not universe.has_unit(data):
        return []
    other_frame = ContributingRecords.of(data, unit=unit).dataset.to_polars()
    names = [name for name in universe.frame.columns if name in other_frame.columns]
    rows = _join_rows(other_frame, universe.frame, names)
    if rows is None:
        return []
    # Many changed rows are other records, which are asked about elsewhere; few are a difference.
    if not rules.small(other_frame[unit].filter(rows.is_null()).n_unique()):
        return []
    words = f"values of fewer than {rules.threshold} persons differ from those of the session"
    return [open_question("difference", words, SAME_RECORDS)]


def judge_columns(universe: Universe, data: object, used: set[str] | None) -> list[OutputReason]:
    """Columns that an output tells of and that are neither the session's nor made of one of its
    columns; ``used`` None means all.
    """
    other_frame = as_table(data).to_polars()
    rows = _find_rows(universe, other_frame)
    names = [name for name in other_frame.columns if used is None or name in used]
    if rows is not None:
        frame = universe.frame[rows]
        unexplained = sum(not _is_made_of(frame, other_frame[name], universe) for name in names)
    elif set(names) <= set(universe.frame.columns):
        # Rows cannot be matched: the columns must be the session's own, person by person.
        unit = str(universe.records.unit)
        key = [unit, *(name for name in names if name != unit)]
        matches = _join_rows(other_frame, universe.frame, key)
        unexplained = int(matches is None or matches.null_count() > 0)
    else:
        unexplained = len(names)
    if not unexplained:
        return []
    words = (
        f"{unexplained:,} columns of this output are neither those of the session nor derived from "
        "one of them"
    )
    return [open_question("records", words, "a person must check how they were made")]


def _find_rows(universe: Universe, other_frame: pl.DataFrame) -> pl.Series | None:
    """Per row of another frame its row of the session: by what it says (of its person, where it
    does not say all), or by its person where each has one; None where neither tells.
    """
    frame, unit = universe.frame, universe.records.unit
    common = [name for name in frame.columns if name in other_frame.columns]
    keys = []
    if common == frame.columns or unit in common:
        keys.append(common)
    if unit in common:
        keys.append([str(unit)])
    for names in keys:
        rows = _join_rows(other_frame, frame, names)
        if rows is None or rows.null_count():
            continue
        if names == frame.columns or len(names) > 1 or frame[names[0]].n_unique() == frame.height:
            return rows
    return None


def _is_made_of(frame: pl.DataFrame, column: pl.Series, universe: Universe) -> bool:
    """Whether a column is one of the session as it was, or follows from one of them: numbers in a
    form without a free constant, labels in any.
    """
    name, unit = column.name, universe.records.unit
    if name in frame.columns and frame[name].equals(column, null_equal=True):
        return True
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        values = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        finite = np.isfinite(values)  # who lacks a value is not in the cells
        sources = SourceColumns(ContributingRecords(as_table(frame.filter(finite)), unit))
        return sources.has_form(values[finite])
    sources = SourceColumns(ContributingRecords(as_table(frame), unit))
    codes = as_table(column.to_frame()).encoded(name).codes.astype(np.float64)
    return sources.explains(codes) or sources.has_bands(codes)


def pack_sample(sample: Mask) -> bytes:
    """A sample as it is kept.

    >>> unpack_sample(pack_sample(np.array([True, False, True])), 3).tolist()
    [True, False, True]
    """
    return zlib.compress(np.packbits(sample).tobytes(), 6)


def unpack_sample(content: bytes, size: int) -> Mask:
    """The inverse of :func:`pack_sample`."""
    bits = np.frombuffer(zlib.decompress(content), dtype=np.uint8)
    mask: Mask = np.unpackbits(bits, count=size).astype(bool)
    return mask


def fewest_apart(sample: Mask, other_sample: Mask, universe: Universe, by: Sequence[str]) -> int:
    """In the cells of some columns, the fewest persons who are in one sample and not in the other;
    0 where there are none.

    Without columns all persons are one cell.
    """
    rows = np.flatnonzero(sample != other_sample)
    if not len(rows):
        return 0
    columns = {"person": universe.records.person_ids[rows], "everybody": np.zeros(len(rows))}
    for name in by:
        columns[f"by {name}"] = universe.records.dataset.encoded(name).codes[rows]
    cells = pl.DataFrame(columns).group_by(pl.exclude("person"))
    return int(cells.agg(pl.col("person").n_unique())["person"].to_numpy().min())


def judge_pairs(
    verdict: OutputVerdict,
    sample: Mask | None,
    earlier_outputs: Iterable[tuple[LoggedOutput, Mask | None]],
    universe: Universe | None,
    rules: OutputRules,
) -> list[OutputReason]:
    """What a new output tells together with each of those before it."""
    once_each = universe is None or universe.records.persons == universe.size
    numbers_by_kind: dict[str, list[int]] = {}
    for earlier, other_sample in earlier_outputs:
        kinds = [_compare_samples(verdict, sample, earlier, other_sample, universe, rules)]
        # Only cells of the same records follow from each other; unknown records may be the same.
        if sample is None or other_sample is None or np.array_equal(sample, other_sample):
            nested = _is_margin(verdict, earlier)
            if nested or (once_each and _hides_single_cell(verdict, earlier)):
                kinds.append("linked")
        for kind in filter(None, kinds):
            numbers_by_kind.setdefault(kind, []).append(earlier.number)
    return [_describe_pairs(kind, numbers, rules) for kind, numbers in numbers_by_kind.items()]


def _compare_samples(
    verdict: OutputVerdict,
    sample: Mask | None,
    earlier: LoggedOutput,
    other_sample: Mask | None,
    universe: Universe | None,
    rules: OutputRules,
) -> str:
    """How two outputs differ by few persons: by number, in all, or in cells; nothing where they do
    not.
    """
    if sample is None or other_sample is None or universe is None:
        persons, other_persons = verdict.persons, earlier.verdict["persons"]
        if persons is None or other_persons is None:
            return ""
        if rules.small(abs(persons - other_persons)):
            return "sizes"
        return ""
    columns = universe.records.dataset.columns
    # Few persons show in the cells of columns that both tables have.
    common = [name for name in verdict.by if name in earlier.verdict["by"] and name in columns]
    if not rules.small(fewest_apart(sample, other_sample, universe, common)):
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


def _describe_pairs(kind: str, numbers: Sequence[int], rules: OutputRules) -> OutputReason:
    outputs = f"{inflect(len(numbers), 'output')} {in_ranges(numbers)}"
    few_persons = f"fewer than {rules.threshold} persons"
    if kind == "records":
        words = f"its records differ by {few_persons} from those of {outputs}"
        return violation("difference", words, SAME_RECORDS)
    if kind == "cells":
        words = f"in some cells its records differ by {few_persons} from those of {outputs}"
        return violation("difference", words, SAME_RECORDS)
    if kind == "sizes":
        words = (
            f"its number of persons differs by fewer than {rules.threshold} from that of {outputs}:"
            " the records may differ by as few"
        )
        return open_question("difference", words, SAME_RECORDS)
    words = f"suppressed cells may follow from {outputs} together with this one"
    advice = "protect them together: sf.tabulate(data, [['a', 'b'], ['a']], ...).protect()"
    return open_question("linked", words, advice)


def _is_margin(verdict: OutputVerdict, earlier: LoggedOutput) -> bool:
    """Whether cells that one table leaves out may follow from the other: a table by fewer columns
    is its margin.
    """
    columns, other_columns = set(verdict.by), set(earlier.verdict["by"])
    is_margin = verdict.hidden and other_columns <= columns
    has_margin = earlier.verdict["hidden"] and columns <= other_columns
    return bool(is_margin or has_margin) and _share_sums(verdict, earlier)


def _hides_single_cell(verdict: OutputVerdict, earlier: LoggedOutput) -> bool:
    """Whether one table leaves out one cell and the other none: its sum over all cells is that of
    both, and tells the one.
    """
    hidden = {verdict.hidden, earlier.verdict["hidden"]}
    return hidden == {0, 1} and _share_sums(verdict, earlier)


def _share_sums(verdict: OutputVerdict, earlier: LoggedOutput) -> bool:
    """Whether two tables add up the same thing, and the other one did not fail."""
    if earlier.status == "fail":
        return False
    return bool(_additive_columns(verdict.tells) & _additive_columns(earlier.verdict["tells"]))


def _additive_columns(tells: Iterable[str]) -> set[str]:
    """What adds up over cells: persons, or a column."""
    columns = set()
    for statistic in tells:
        kind, _, column = statistic.partition("(")
        # A mean times the count beside it is a sum, so it adds up as well.
        if column and kind in ("sum", "mean", "share"):
            columns.add(column.rstrip(")"))
        elif kind in ADDITIVE:
            columns.add("persons")
    return columns
