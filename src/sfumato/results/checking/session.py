"""A session of a researcher: outputs are checked, compared with those before, written and logged,
one after the other.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import polars as pl

from sfumato.core import environment
from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, TableBlock
from sfumato.core.fields import Document, Fields
from sfumato.core.parameters import values_of
from sfumato.core.words import join_words
from sfumato.errors import OutputError, ParameterError, ReleaseRefused, SchemaError
from sfumato.release.documents import versions
from sfumato.results.checking.check import check_output, magnitude_table
from sfumato.results.checking.contributing_records import ContributingRecords
from sfumato.results.checking.differences import OutputSets, RecordOwners
from sfumato.results.checking.joint_check import judge_together, pack_owners, read_sets
from sfumato.results.checking.least_squares import fit_line
from sfumato.results.checking.log import LOG, LoggedOutput, OutputLog, Overtaken, SessionTerms
from sfumato.results.checking.output_pairs import (
    Universe,
    judge_changes,
    judge_columns,
    judge_pairs,
    pack_sample,
    unpack_sample,
)
from sfumato.results.checking.record_sets import (
    CELL,
    MOST_SETS,
    RecordSet,
    as_session_sets,
    is_in_order,
    pack_sets,
)
from sfumato.results.checking.statistics_of_columns import CellStatistic
from sfumato.results.checking.verdict import OutputReason, OutputRules, OutputVerdict, open_question

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Mask

Levels = Sequence[float]
QUARTERS: Levels = (0.25, 0.5, 0.75)
PERSON = "\x00who"
"""A name that no column of a table has."""


class JudgedOutput(NamedTuple):
    """The verdict on an output, the records it is about, its cells, and how many outputs it was
    compared with.
    """

    verdict: OutputVerdict
    sample: Mask | None
    cells: Sequence[RecordSet] | None
    after: int


def output_session(
    folder: str | Path,
    data: object = None,
    *,
    unit: str | None = None,
    rules: OutputRules | None = None,
    researcher: str = "",
) -> OutputSession:
    """Open a session: a private folder with every output, what was found of it, and later what an
    output checker decided.

    ``data`` are the records that outputs are made of, and ``unit`` is the column that tells persons
    apart. An earlier session of the folder goes on, with the rules it was started with.

    >>> import polars as pl, tempfile
    >>> people = pl.DataFrame(
    ...     {"region": ["n", "s"] * 20, "cost": [float(i % 9 + 1) for i in range(40)]}
    ... )
    >>> with output_session(tempfile.mkdtemp() + "/outputs", people) as session:
    ...     session.mean("cost", by=["region"]).status
    'pass'
    """
    folder = Path(folder)
    earlier = OutputLog.at(folder) if (folder / LOG).exists() else None
    with_persons = earlier is not None and earlier.terms.persons is not None
    if earlier is not None and with_persons and unit is None:
        # Outputs can be compared only where persons are distinguished alike.
        unit = earlier.terms.unit  # persons are distinguished as they were
    if data is None and unit is not None:
        raise ParameterError("unit is a column of the records, so give data=... too")
    if data is None:
        records = None
    else:
        records = ContributingRecords.of(data, unit=unit)
    universe = None if records is None else Universe(records)
    if earlier is not None:
        earlier_rules = OutputRules(**earlier.terms.rules)
        if rules is not None and rules != earlier_rules:
            raise ParameterError(
                f"the session in {folder} was started with other rules; start another one"
            )
        if with_persons and records is not None and records.unit != earlier.terms.unit:
            raise ParameterError(
                f"the session in {folder} identifies persons by another column; start another one"
            )
        return OutputSession(earlier, earlier_rules, universe)
    rules = rules or OutputRules()
    terms = SessionTerms(
        researcher=researcher,
        started=environment.timestamp(),
        rules=values_of(rules),
        unit=None if records is None else records.unit,
        persons=None if records is None else records.persons,
        universe=None if universe is None else universe.digest,
        versions=versions(),
    )
    owners = None if records is None else pack_owners(records.person_ids)
    return OutputSession(OutputLog.start(folder, terms, owners), rules, universe)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class OutputSession(Reportable):
    """An open session. Use it as a context; what was added stays, whatever happens after."""

    log: OutputLog
    rules: OutputRules
    universe: Universe | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.log.sync()
        except OutputError:
            if kind is None:  # else the first error is the one to be shown
                raise

    @property
    def folder(self) -> Path:
        """Where it is written."""
        return self.log.folder

    @cached_property
    def records(self) -> ContributingRecords:
        """The records of the session."""
        if self.universe is None:
            raise ParameterError(
                "the session has no records: open it with sf.output_session(folder, data)"
            )
        return self.universe.records

    @property
    def same_records(self) -> bool:
        """Whether the records are those that the session was started with."""
        return self.universe is not None and self.log.terms.universe == self.universe.digest

    def check(
        self, output: object, *, data: object = None, where: object = None, **options: Any
    ) -> OutputVerdict:
        """Judge an output by the session's rules and beside its other outputs; nothing is written.
        For the options see :func:`sfumato.check_output`.
        """
        return self._judge(output, data, where, options).verdict

    def add(
        self,
        output: object,
        title: str,
        *,
        comment: str = "",
        exception: str = "",
        data: object = None,
        where: object = None,
        **options: Any,
    ) -> OutputVerdict:
        """Judge an output, write it and log what was found; one that fails is logged too, with what
        is said for it.

        ``data`` are the records where they are not those of the session, ``where`` says which of
        them were used. ``comment`` explains the output to the output checker, ``exception`` says
        why it should leave although a rule is broken. Of a model its coefficients are written,
        never the object.
        """
        if not title.strip():
            raise ParameterError("an output needs a title that says what it shows")
        return self._add_judged(
            output, title, lambda: self._judge(output, data, where, options), comment, exception
        )

    def _add_judged(
        self,
        output: object,
        title: str,
        judge: Callable[[], JudgedOutput],
        comment: str,
        exception: str = "",
        *,
        safe: bool = False,
    ) -> OutputVerdict:
        """Judge an output and log it; where somebody else added one meanwhile, judge it again. What
        must be ``safe`` and is not is refused.
        """
        # Judged outside of the lock, since that may take long; the log refuses what was overtaken.
        while True:
            verdict, sample, cells, after = judge()
            if safe and verdict.status == "fail":
                raise ReleaseRefused(_refusal(verdict))
            content, suffix = _content_of(output, verdict)
            with contextlib.suppress(Overtaken):
                self.log.add(
                    title.strip(),
                    content,
                    suffix,
                    verdict.to_dict(),
                    comment=comment,
                    exception=exception,
                    # Positions among other records would mean nothing to the session.
                    sample=None if sample is None or not self.same_records else pack_sample(sample),
                    cells=None if cells is None else pack_sets(cells),
                    after=after,
                )
                return verdict

    def _judge(self, output: object, data: object, where: object, options: Fields) -> JudgedOutput:
        """The verdict on an output by itself, and beside all that were added before."""
        if session_options := {"rules", "unit"} & set(options):
            raise ParameterError(
                f"{join_words(sorted(session_options))} belong to the session, not to one of its "
                "outputs; leave them out"
            )
        if data is None and self.universe is None and where is not None:
            raise ParameterError("where selects records, so open the session with data")
        dataset, unit = data, None
        if self.universe is not None:
            unit = self.records.unit
            if data is None:
                dataset = self.records.dataset
            elif unit is not None and not self.universe.has_unit(data):
                raise SchemaError(
                    f"these records lack the column {unit!r}, which identifies the persons of the "
                    "session"
                )
        verdict = check_output(output, dataset, unit=unit, where=where, rules=self.rules, **options)
        sample = self._find_sample(verdict, data, where)
        # Others may have added outputs since: all of them are compared with.
        self.log.refresh()
        earlier_outputs = list(self._earlier_outputs())
        reasons = judge_pairs(verdict, sample, earlier_outputs, self.universe, self.rules)
        cells, questions = self._find_cells(output, verdict, data, where, sample)
        reasons += questions
        # Where it fails already, the costly search over all sums adds nothing.
        if cells is not None and not any(reason.status == "fail" for reason in reasons):
            reasons += self._judge_together(OutputSets(len(self.log.outputs) + 1, cells))
        if verdict.made_of_records:
            persons = None
            if self.universe is not None:
                persons = len(np.unique(self.records.person_ids))
            if verdict.persons != persons or persons is None:
                words = "the table is of other records than those of the session"
                advice = "tabulate the records of the session"
                reasons.append(open_question("records", words, advice))
        if data is not None:
            reasons += self._judge_data(verdict, data, where, options)
        return JudgedOutput(verdict.with_reasons(reasons), sample, cells, len(self.log.outputs))

    def _find_sample(self, verdict: OutputVerdict, data: object, where: object) -> Mask | None:
        """The records of the session that an output is about; None where that is not known."""
        if self.universe is None:
            return None
        sample = self.universe.sample(data, where)
        if sample is None or verdict.cells is not None or verdict.persons is None:
            return sample
        # A model that left rows out says how many, and not which.
        if verdict.persons == self.universe.persons(sample):
            return sample
        return None

    def _find_cells(
        self, output: Any, verdict: OutputVerdict, data: object, where: object, sample: Mask | None
    ) -> tuple[list[RecordSet] | None, list[OutputReason]]:
        """Which records of the session are in which cell of an output; None, and a question, where
        that cannot be known.
        """
        if self.universe is None:
            return None, []
        if not self.same_records:
            words = (
                "the session was started with other records, or none, so what its outputs reveal "
                "together is unknown"
            )
            advice = "open the session with the records it was started with"
            return None, [open_question("records", words, advice)]
        if sample is None:
            whole = None
        else:
            whole = [RecordSet((CELL,), np.flatnonzero(sample))]
        if verdict.cells is None:
            return whole, []
        rows = self.universe.rows(data, where)
        if verdict.made_of_records and not is_in_order(magnitude_table(output), self.records):
            rows = None
        if rows is None and sample is None:
            return None, []  # asked about with the records that were given
        if rows is None:
            words = "which records of the session are in which of its cells is unknown"
            advice = "give data with all columns of the session, or where=..."
            return whole, [open_question("difference", words, advice)]
        # Columns that lie on a line with another go by the name of the first.
        lines = {}
        for name in self.universe.same_columns(data, where, rows):
            lines[name] = self.universe.lines[name]
        once_each = self.records.persons == len(self.records)
        sets = as_session_sets(verdict.cells(), rows, lines.get, once_each=once_each)
        if len(sets) > MOST_SETS:
            words = (
                f"it has more than {MOST_SETS:,} cells, so they were not compared with those of "
                "other outputs"
            )
            return whole, [open_question("difference", words, "release fewer cells at a time")]
        return sets, []

    def _judge_together(self, new: OutputSets) -> list[OutputReason]:
        """What an output tells of few persons together with those before it that were not refused;
        and with those of them alone that pass or are approved, since others may not leave, and then
        reveal nothing before.
        """
        owners = RecordOwners(self.records.person_ids)
        leaving, before = [], []
        for output in self.log.all_reviewed():
            if output.state == "refused":
                continue
            sets = read_sets(self.log, output.logged, len(owners.person_ids))
            if sets is None:
                continue
            before.append(sets)
            if output.state == "approved" or output.logged.status == "pass":
                leaving.append(sets)
        # First with those that pass or are approved: where that fails, the others add nothing.
        reasons = judge_together(leaving, new, owners, self.rules)
        fails = any(reason.status == "fail" for reason in reasons)
        if len(leaving) < len(before) and not fails:
            reasons += judge_together(before, new, owners, self.rules)
        return list(dict.fromkeys(reasons))

    def _judge_data(
        self, verdict: OutputVerdict, data: object, where: object, options: Fields
    ) -> list[OutputReason]:
        """Whether records that are given with an output are those of the session, and the columns
        it tells of are made of theirs.
        """
        if self.universe is None:
            words = (
                "the session was opened without records, so those given with this output are not "
                "known to it"
            )
            return [open_question("records", words, "open the session with its records")]
        reasons = judge_changes(self.universe, data, self.rules)
        if self.universe.sample(data, where) is None:
            words = (
                "the records given with this output are not recognised as records of the session"
            )
            advice = "give data with all columns of the session, or where=..."
            return [*reasons, open_question("records", words, advice)]
        return reasons + judge_columns(self.universe, data, _columns_used(verdict, options))

    def _earlier_outputs(self) -> Iterator[tuple[LoggedOutput, Mask | None]]:
        """The outputs before, but for those that were refused, with whose records they are
        about.
        """
        for output in self.log.all_reviewed():
            if output.state == "refused":
                continue
            content = self.log.sample(output.logged) if self.same_records else None
            sample = None
            if content is not None and self.universe is not None:
                sample = unpack_sample(content, self.universe.size)
            yield output.logged, sample

    # Outputs that are safe by the way they are made: cells that break a rule are left out. Beside
    # outputs before them they may still be for review.

    def count(
        self, by: Sequence[str], *, title: str = "", comment: str = "", where: object = None
    ) -> OutputVerdict:
        """Count persons by columns; cells that break a rule are left out. For review where these
        may follow from an output before it, refused (and not logged) where a rule is broken.
        """
        frame = self._group(by, where, [])
        title = title or f"Persons by {', '.join(by)}"
        return self._add_safe(frame, title, by, {"persons": "count"}, comment, where)

    def mean(
        self,
        column: str,
        by: Sequence[str] = (),
        *,
        title: str = "",
        comment: str = "",
        where: object = None,
    ) -> OutputVerdict:
        """The mean of a column, and how many persons it is of; cells that break a rule are left
        out.
        """
        frame = self._group(by, where, [pl.col(column).mean().alias("mean")], column)
        tells = {"persons": f"count({column})", "mean": f"mean({column})"}
        title = title or _title("Mean", column, by)
        return self._add_safe(frame, title, by, tells, comment, where)

    def quantiles(
        self,
        column: str,
        levels: Levels = QUARTERS,
        by: Sequence[str] = (),
        *,
        title: str = "",
        comment: str = "",
        where: object = None,
    ) -> OutputVerdict:
        """Percentiles of a column, rounded as far as they must be for enough persons to be near
        each; cells that break a rule are left out.
        """
        if not levels or not all(0 < level < 1 for level in levels):
            raise ParameterError(
                "levels of percentiles must be between 0 and 1, such as 0.25, 0.5, 0.75"
            )
        formulas: dict[str, pl.Expr] = {}
        tells = {"persons": f"count({column})"}
        for level in sorted(set(levels)):
            name = f"p{100 * level:g}"
            formulas[name] = pl.col(column).quantile(level, "linear").alias(name)
            tells[name] = f"quantile({column}, {level:g})"
        frame = self._group(by, where, list(formulas.values()), column)
        rounded = self._round_percentiles(frame, list(formulas), by, tells, where)
        title = title or _title("Percentiles of", column, by)
        return self._add_safe(rounded, title, by, tells, comment, where)

    def _round_percentiles(
        self,
        frame: pl.DataFrame,
        names: Sequence[str],
        by: Sequence[str],
        tells: Mapping[str, str],
        where: object,
    ) -> pl.DataFrame:
        """Round by ever larger powers of ten until no percentile is told too exactly."""
        largest = 0.0
        for name in names:
            for value in frame[name].drop_nulls().to_list():
                largest = max(largest, abs(value))
        # From four digits of the largest number on, down to one.
        top = int(np.floor(np.log10(largest or 1.0)))
        for power in range(top - 4, top + 1):
            step = 10.0**power
            # Divided, rounded and multiplied leaves errors like 0.30000000000000004; rounded again
            # they go.
            rounded = frame.with_columns((pl.col(names) / step).round() * step)
            rounded = rounded.with_columns(pl.col(names).round(max(0, -power)))
            verdict = check_output(
                rounded,
                self.records.dataset,
                by=by,
                tells=tells,
                unit=self.records.unit,
                where=where,
                rules=self.rules,
            )
            if not any(reason.rule == "exact" for reason in verdict.reasons):
                break
        return rounded

    def regression(
        self,
        answer: str,
        on: Sequence[str],
        *,
        title: str = "",
        comment: str = "",
        where: object = None,
    ) -> OutputVerdict:
        """Least squares of a column on others, text as dummies beside its commonest value; refused
        (and not logged) when a rule is broken.

        Rows with a missing value are left out. Coefficients with their standard errors, statistics
        and p values are written.
        """
        model, rows = fit_line(self.records, answer, on, where)
        title = title or f"Regression of {answer} on {', '.join(on)}"
        return self._add_judged(
            model, title, lambda: self._judge(model, None, rows, {}), comment, safe=True
        )

    def _group(
        self,
        by: Sequence[str],
        where: object,
        formulas: Sequence[pl.Expr],
        column: str | None = None,
    ) -> pl.DataFrame:
        """A table of all combinations of the columns' values, with persons and some formulas of a
        column; a cell of nobody is a row of it too.
        """
        if isinstance(by, str):
            raise ParameterError("by must be a list of columns: by=['region']")
        records = ContributingRecords.of(self.records.dataset, unit=self.records.unit, where=where)
        records.dataset.require([*by, *([] if column is None else [column])])
        results = {"persons", *(formula.meta.output_name() for formula in formulas)}
        if clashing := results & set(by):
            raise ParameterError(
                f"a column called {min(clashing)!r} forms cells and would be shown too; rename it "
                "first"
            )
        frame = records.dataset.to_polars().with_columns(pl.Series(PERSON, records.person_ids))
        rows = frame
        if column is not None:
            frame = frame.with_columns(pl.Series(column, records.numbers(column)).fill_nan(None))
            # Formulas are over known values, but cells are those of all records.
            rows = frame.filter(pl.col(column).is_not_null())
        persons = pl.col(PERSON).n_unique().cast(pl.Int64).alias("persons")
        if not by:
            return rows.select(persons, *formulas)
        # All combinations, the empty ones too: a missing row would tell that nobody is there.
        cells = frame.select(pl.col(by[0]).unique())
        for name in by[1:]:
            cells = cells.join(frame.select(pl.col(name).unique()), how="cross")
        table = rows.group_by(by).agg(persons, *formulas)
        full = cells.join(table, on=list(by), how="left", nulls_equal=True).sort(by)
        return full.with_columns(pl.col("persons").fill_null(0))

    def _add_safe(
        self,
        frame: pl.DataFrame,
        title: str,
        by: Sequence[str],
        tells: Mapping[str, str],
        comment: str,
        where: object,
    ) -> OutputVerdict:
        """Add a table without the cells that break a rule."""
        options = {"by": list(by), "tells": tells}
        # Judged once for the version without unsafe cells, and once more when that is added.
        suggestion = self._judge(frame, None, where, options).verdict.suggestion
        table = frame if suggestion is None else suggestion
        return self._add_judged(
            table, title, lambda: self._judge(table, None, where, options), comment, safe=True
        )

    def to_dict(self) -> Document:
        """The outputs of the session, as plain data."""
        outputs = [output.to_dict() for output in self.log.all_reviewed()]
        return {"folder": str(self.folder), "outputs": outputs}

    def __len__(self) -> int:
        return len(self.log.outputs)

    def __repr__(self) -> str:
        return str(self)

    def blocks(self) -> Sequence[Block]:
        """The outputs that were added, and what was found."""
        rows = tuple((output.number, output.status, output.title) for output in self.log.outputs)
        title = f"OutputSession {str(self.folder)!r}: {len(self):,} outputs"
        return [TableBlock(("no.", "found", "output"), rows, title)]


def _columns_used(verdict: OutputVerdict, options: Fields) -> set[str] | None:
    """The columns of the records that an output tells of; None where that may be any of them."""
    if not verdict.tells:
        return None
    columns = set(verdict.by)
    for statistic in verdict.tells:
        if statistic != "unknown":
            columns.update(CellStatistic.of(statistic).columns)
    for name in (options.get("column"), options.get("weight"), *(options.get("features") or ())):
        if isinstance(name, str):
            columns.add(name)
    return columns


def _refusal(verdict: OutputVerdict) -> str:
    """Why something is refused; beside other outputs, with what to do."""
    sentences = []
    for reason in verdict.reasons:
        if reason.status == "fail" and reason.rule == "difference":
            sentences.append(f"{reason.sentence}: {reason.advice}")
        elif reason.status == "fail":
            sentences.append(reason.sentence)
    return "; ".join(sentences)


def _title(statistic: str, column: str, by: Sequence[str]) -> str:
    return f"{statistic} {column}" + (f" by {', '.join(by)}" if by else "")


def _content_of(output: object, verdict: OutputVerdict) -> tuple[bytes, str]:
    """What leaves of an output, and the suffix of its file: the frame that was judged, as CSV; text
    as it is; else JSON, and of an object that JSON cannot hold a note.
    """
    if verdict.shown is not None:
        try:
            return verdict.shown.write_csv().encode(), ".csv"
        except pl.exceptions.PolarsError:
            raise SchemaError(
                "the output holds columns that CSV cannot hold; remove them, or make them text"
            ) from None
    if isinstance(output, str):
        return output.encode(), ".txt"
    try:
        return (json.dumps(output, indent=2, allow_nan=False) + "\n").encode(), ".json"
    except (TypeError, ValueError):
        note = {
            "kind": verdict.kind,
            "written": "the object itself is never written; add a table of what shall be released",
        }
        return (json.dumps(note, indent=2) + "\n").encode(), ".json"
