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
from sfumato.core.parameters import values_of
from sfumato.core.words import join_words
from sfumato.errors import OutputError, ParameterError, ReleaseRefused, SchemaError
from sfumato.release.documents import versions
from sfumato.results.checking.check import check_output, tabulated
from sfumato.results.checking.contributing_records import Behind
from sfumato.results.checking.differences import OutputSets, RecordOwners
from sfumato.results.checking.joint_check import packed_people, sets_of, told_together
from sfumato.results.checking.least_squares import fit_line
from sfumato.results.checking.log import LOG, LoggedOutput, OutputLog, Overtaken, SessionTerms
from sfumato.results.checking.output_pairs import (
    Universe,
    beside_others,
    changed_for_few,
    not_as_they_were,
    packed,
    unpacked,
)
from sfumato.results.checking.record_sets import (
    CELL,
    MOST_SETS,
    RecordSet,
    in_order,
    in_session,
    packed_sets,
)
from sfumato.results.checking.statistics_of_columns import CellStatistic
from sfumato.results.checking.verdict import OutputReason, OutputRules, OutputVerdict, open_question

if TYPE_CHECKING:
    from numpy.typing import NDArray

Levels = Sequence[float]
QUARTERS: Levels = (0.25, 0.5, 0.75)


class JudgedOutput(NamedTuple):
    """What was found of an output, whose records it is about, and how many outputs it was compared
    with.
    """

    verdict: OutputVerdict
    sample: NDArray[np.bool_] | None
    cells: Sequence[RecordSet] | None
    after: int


def output_session(
    folder: str | Path,
    data: Any = None,
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
    place = Path(folder)
    earlier = OutputLog.at(place) if (place / LOG).exists() else None
    started = earlier is not None and earlier.terms.persons is not None
    if earlier is not None and started and unit is None:
        unit = earlier.terms.unit  # persons are told apart as they were
    behind = None if data is None else Behind.of(data, unit=unit)
    if behind is None and unit is not None:
        raise ParameterError("unit is a column of the records: give data=... too")
    universe = None if behind is None else Universe(behind)
    if earlier is not None:
        earlier_rules = OutputRules(**earlier.terms.rules)
        if rules is not None and rules != earlier_rules:
            raise ParameterError(
                f"the session in {place} was started with other rules; start another one"
            )
        if started and behind is not None and behind.unit != earlier.terms.unit:
            raise ParameterError(
                f"the session in {place} tells persons apart by another column; start another one"
            )
        return OutputSession(earlier, earlier_rules, universe)
    requested = rules or OutputRules()
    terms = SessionTerms(
        researcher=researcher,
        started=environment.timestamp(),
        rules=values_of(requested),
        unit=None if behind is None else behind.unit,
        persons=None if behind is None else behind.persons,
        universe=None if universe is None else universe.digest,
        versions=versions(),
    )
    people = None if behind is None else packed_people(behind.who)
    return OutputSession(OutputLog.start(place, terms, people), requested, universe)


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
        with contextlib.suppress(*([OutputError] if kind is not None else [])):
            self.log.sync()

    @property
    def folder(self) -> Path:
        """Where it is written."""
        return self.log.folder

    @cached_property
    def behind(self) -> Behind:
        """The records of the session."""
        if self.universe is None:
            raise ParameterError(
                "the session has no records: open it with sf.output_session(folder, data)"
            )
        return self.universe.behind

    def check(
        self, output: Any, *, data: Any = None, where: Any = None, **said: Any
    ) -> OutputVerdict:
        """Judge an output by the session's rules and beside its other outputs; nothing is written.
        For what can be said see :func:`sfumato.check_output`.
        """
        return self._judged(output, data, where, said).verdict

    def add(
        self,
        output: Any,
        title: str,
        *,
        comment: str = "",
        exception: str = "",
        data: Any = None,
        where: Any = None,
        **said: Any,
    ) -> OutputVerdict:
        """Judge an output, write it and log what was found; one that fails is logged too, with what
        is said for it.

        ``data`` are the records where they are not those of the session, ``where`` says which of
        them were used. ``comment`` explains the output to the output checker, ``exception`` says
        why it should leave although a rule is broken. Of a model its coefficients are written,
        never the object.
        """
        if not title.strip():
            raise ParameterError("an output has a title that says what it shows")
        return self._added(
            output, title, lambda: self._judged(output, data, where, said), comment, exception
        )

    def _added(
        self,
        output: Any,
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
        while True:
            verdict, sample, cells, after = judge()
            if safe and verdict.status == "fail":
                raise ReleaseRefused(
                    "; ".join(_refusal(one) for one in verdict.reasons if one.status == "fail")
                )
            content, suffix = _written(output, verdict)
            with contextlib.suppress(Overtaken):
                self.log.add(
                    title.strip(),
                    content,
                    suffix,
                    verdict.to_dict(),
                    comment=comment,
                    exception=exception,
                    sample=None if sample is None or not self.same_records else packed(sample),
                    cells=None if cells is None else packed_sets(cells),
                    after=after,
                )
                return verdict

    def _judged(
        self, output: Any, data: Any, where: Any, options: Mapping[str, Any]
    ) -> JudgedOutput:
        if strange := {"rules", "unit"} & set(options):
            raise ParameterError(
                f"{join_words(sorted(strange))} belong to the session, not to an output of it"
            )
        if data is None and self.universe is None and where is not None:
            raise ParameterError("where is about the records: open the session with data")
        records = data
        if data is None and self.universe is not None:
            records = self.behind.dataset
        unit = None if self.universe is None or records is None else self.behind.unit
        if (
            data is not None
            and unit is not None
            and self.universe is not None
            and not self.universe.has_unit(data)
        ):
            raise SchemaError(
                f"these records lack the column {unit!r}, which tells the persons of the session"
                " apart"
            )
        verdict = check_output(output, records, unit=unit, where=where, rules=self.rules, **options)
        sample = None if self.universe is None else self.universe.sample(data, where)
        if (
            self.universe is not None
            and sample is not None
            and verdict.cells is None
            and verdict.persons is not None
            and verdict.persons != self.universe.persons(sample)
        ):
            sample = None  # a model left rows out: how many is known, and not which
        self.log.refresh()
        others = list(self._others())
        verdict_beside = beside_others(verdict, sample, others, self.universe, self.rules)
        cells, unclear = self._cells(output, verdict, data, where, sample)
        verdict_beside += unclear
        if cells is not None and not any(one.status == "fail" for one in verdict_beside):
            verdict_beside += self._together(OutputSets(len(self.log.outputs) + 1, cells))
        if verdict.made_of_records and (
            self.universe is None or verdict.persons != len(np.unique(self.behind.who))
        ):
            words = "the table is of other records than those of the session"
            verdict_beside.append(
                open_question("records", words, "tabulate the records of the session")
            )
        if data is not None:
            verdict_beside += self._given(verdict, data, where, sample, options)
        return JudgedOutput(
            verdict.with_reasons(verdict_beside), sample, cells, len(self.log.outputs)
        )

    @property
    def same_records(self) -> bool:
        """Whether the records are those that the session was started with."""
        return self.universe is not None and self.log.terms.universe == self.universe.digest

    def _cells(
        self,
        output: Any,
        verdict: OutputVerdict,
        data: Any,
        where: Any,
        sample: NDArray[np.bool_] | None,
    ) -> tuple[list[RecordSet] | None, list[OutputReason]]:
        """Which records of the session are in which cell of an output; None, and a question, where
        that cannot be known.
        """
        if self.universe is None:
            return None, []
        if not self.same_records:
            words = (
                "the session was started with other records, or none: what its outputs tell"
                " together is not known"
            )
            return None, [
                open_question(
                    "records", words, "open the session with the records it was started with"
                )
            ]
        whole = None if sample is None else [RecordSet((CELL,), np.flatnonzero(sample))]
        if verdict.cells is None:
            return whole, []
        rows = self.universe.rows(data, where)
        if verdict.made_of_records and not in_order(tabulated(output), self.behind):
            rows = None
        if rows is None and sample is None:
            return None, []  # asked about with the records that were given
        if rows is None:
            words = "which records of the session are in which of its cells is not known"
            return whole, [
                open_question(
                    "difference", words, "give data with all columns of the session, or where=..."
                )
            ]
        own = {
            name: self.universe.lines[name]
            for name in self.universe.same_columns(data, where, rows)
        }
        once_each = self.behind.persons == len(self.behind)
        sets = in_session(verdict.cells(), rows, own.get, once_each=once_each)
        if len(sets) > MOST_SETS:
            words = (
                f"it has more than {MOST_SETS:,} cells: they were not compared with those of other"
                " outputs"
            )
            return whole, [open_question("difference", words, "tell fewer cells at a time")]
        return sets, []

    def _together(self, new: OutputSets) -> list[OutputReason]:
        """What an output tells of few persons together with those before it that were not refused;
        and with those of them alone that pass or are approved, since others may not leave, and then
        tell nothing before.
        """
        people = RecordOwners(self.behind.who)
        sure, others = [], []
        for one in self.log.all_reviewed():
            sets = (
                None if one.state == "refused" else sets_of(self.log, one.logged, len(people.who))
            )
            if sets is not None and (one.state == "approved" or one.logged.status == "pass"):
                sure.append(sets)
            elif sets is not None:
                others.append(sets)
        groups = told_together(sure, new, people, self.rules)
        if others and not any(one.status == "fail" for one in groups):
            before = sorted([*sure, *others], key=lambda one: one.number)
            groups += told_together(before, new, people, self.rules)
        return list(dict.fromkeys(groups))

    def _given(
        self,
        verdict: OutputVerdict,
        data: Any,
        where: Any,
        sample: NDArray[np.bool_] | None,
        options: Mapping[str, Any],
    ) -> list[OutputReason]:
        """Whether records that are given with an output are those of the session, and the columns
        it tells of are made of theirs.
        """
        if self.universe is None:
            words = (
                "the session was opened without records: those given with this output are not known"
                " to it"
            )
            return [open_question("records", words, "open the session with its records")]
        changes = changed_for_few(self.universe, data, self.rules)
        if self.universe.sample(data, where) is None:
            words = (
                "the records given with this output are not recognised as records of the session"
            )
            return [
                *changes,
                open_question(
                    "records", words, "give data with all columns of the session, or where=..."
                ),
            ]
        return [*changes, *not_as_they_were(self.universe, data, _columns_used(verdict, options))]

    def _others(self) -> Iterator[tuple[LoggedOutput, NDArray[np.bool_] | None]]:
        """The outputs before, but for those that were refused, with whose records they are
        about.
        """
        for one in self.log.all_reviewed():
            if one.state == "refused":
                continue
            sample = self.log.sample(one.logged) if self.same_records else None
            yield (
                one.logged,
                (
                    None
                    if sample is None or self.universe is None
                    else unpacked(sample, self.universe.size)
                ),
            )

    # Outputs that are safe by the way they are made: cells that break a rule are left out. Beside
    # outputs before them they may still be for review.

    def count(
        self, by: Sequence[str], *, title: str = "", comment: str = "", where: Any = None
    ) -> OutputVerdict:
        """Count persons by columns; cells that break a rule are left out. For review where these
        may follow from an output before it, refused (and not logged) where a rule is broken.
        """
        frame = self._grouped(by, where, [])
        return self._add_safe(
            frame, title or f"Persons by {', '.join(by)}", by, {"persons": "count"}, comment, where
        )

    def mean(
        self,
        column: str,
        by: Sequence[str] = (),
        *,
        title: str = "",
        comment: str = "",
        where: Any = None,
    ) -> OutputVerdict:
        """The mean of a column, and how many persons it is of; cells that break a rule are left
        out.
        """
        frame = self._grouped(by, where, [pl.col(column).mean().alias("mean")], counting=column)
        tells = {"persons": f"count({column})", "mean": f"mean({column})"}
        return self._add_safe(
            frame, title or _titled("Mean", column, by), by, tells, comment, where
        )

    def quantiles(
        self,
        column: str,
        levels: Levels = QUARTERS,
        by: Sequence[str] = (),
        *,
        title: str = "",
        comment: str = "",
        where: Any = None,
    ) -> OutputVerdict:
        """Percentiles of a column, rounded as far as they must be for enough persons to be near
        each; cells that break a rule are left out.
        """
        if not levels or not all(0 < level < 1 for level in levels):
            raise ParameterError(
                "levels of percentiles lie between 0 and 1, such as 0.25, 0.5, 0.75"
            )
        names = {f"p{100 * level:g}": level for level in sorted(set(levels))}
        formulas = [
            pl.col(column).quantile(level, "linear").alias(name) for name, level in names.items()
        ]
        frame = self._grouped(by, where, formulas, counting=column)
        tells = {
            "persons": f"count({column})",
            **{name: f"quantile({column}, {level:g})" for name, level in names.items()},
        }
        rounded = self._rounded(frame, list(names), by, tells, where)
        return self._add_safe(
            rounded, title or _titled("Percentiles of", column, by), by, tells, comment, where
        )

    def _rounded(
        self,
        frame: pl.DataFrame,
        names: Sequence[str],
        by: Sequence[str],
        tells: Mapping[str, str],
        where: Any,
    ) -> pl.DataFrame:
        """Round by ever larger powers of ten until no percentile is told too exactly."""
        largest = (
            max(
                (abs(value) for name in names for value in frame[name].drop_nulls().to_list()),
                default=1.0,
            )
            or 1.0
        )
        top = int(np.floor(np.log10(largest)))
        for power in range(top - 4, top + 1):
            rounded = frame.with_columns(
                [(pl.col(name) / 10.0**power).round() * 10.0**power for name in names]
            )
            rounded = rounded.with_columns([pl.col(name).round(max(0, -power)) for name in names])
            verdict = check_output(
                rounded,
                self.behind.dataset,
                by=by,
                tells=tells,
                unit=self.behind.unit,
                where=where,
                rules=self.rules,
            )
            if not any(one.rule == "exact" for one in verdict.reasons):
                return rounded
        return rounded

    def regression(
        self,
        answer: str,
        on: Sequence[str],
        *,
        title: str = "",
        comment: str = "",
        where: Any = None,
    ) -> OutputVerdict:
        """Least squares of a column on others, text as dummies beside its commonest value; refused
        (and not logged) when a rule is broken.

        Rows with a missing value are left out. Coefficients with their standard errors, statistics
        and p values are written.
        """
        model, rows = fit_line(self.behind, answer, on, where)
        name = title or f"Regression of {answer} on {', '.join(on)}"
        return self._added(
            model, name, lambda: self._judged(model, None, rows, {}), comment, safe=True
        )

    def _grouped(
        self,
        by: Sequence[str],
        where: Any,
        formulas: Sequence[pl.Expr],
        counting: str | None = None,
    ) -> pl.DataFrame:
        """A table of all combinations of the columns' values, with persons and what was asked for;
        without any cell of nobody left away.
        """
        if isinstance(by, str):
            raise ParameterError("by is a list of columns: by=['region']")
        some = Behind.of(self.behind.dataset, unit=self.behind.unit, where=where)
        some.dataset.require([*by, *([] if counting is None else [counting])])
        clashing = {"persons", *(one.meta.output_name() for one in formulas)} & set(by)
        if clashing:
            raise ParameterError(
                f"a column called {min(clashing)!r} makes cells and would be told too; rename it"
                " first"
            )
        frame = some.dataset.to_polars().with_columns(pl.Series("\x00who", some.who))
        if counting is not None:
            frame = frame.with_columns(pl.Series(counting, some.numbers(counting)).fill_nan(None))
        rows = frame if counting is None else frame.filter(pl.col(counting).is_not_null())
        people = pl.col("\x00who").n_unique().cast(pl.Int64).alias("persons")
        if not by:
            return rows.select(people, *formulas)
        table = rows.group_by(by).agg(people, *formulas)
        shelf = frame.select(pl.col(by[0]).unique())
        for name in by[1:]:
            shelf = shelf.join(frame.select(pl.col(name).unique()), how="cross")
        full = shelf.join(table, on=list(by), how="left", nulls_equal=True).sort(by)
        return full.with_columns(pl.col("persons").fill_null(0))

    def _add_safe(
        self,
        frame: pl.DataFrame,
        title: str,
        by: Sequence[str],
        tells: Mapping[str, str],
        comment: str,
        where: Any,
    ) -> OutputVerdict:
        options = {"by": list(by), "tells": tells}
        first = self._judged(frame, None, where, options).verdict
        table = frame if first.suggestion is None else first.suggestion
        return self._added(
            table, title, lambda: self._judged(table, None, where, options), comment, safe=True
        )

    def to_dict(self) -> dict[str, Any]:
        """The outputs of the session, as plain data."""
        return {
            "folder": str(self.folder),
            "outputs": [one.to_dict() for one in self.log.all_reviewed()],
        }

    def __len__(self) -> int:
        return len(self.log.outputs)

    def __repr__(self) -> str:
        return str(self)

    def blocks(self) -> Sequence[Block]:
        """The outputs that were added, and what was found."""
        rows = tuple((one.number, one.status, one.title) for one in self.log.outputs)
        return [
            TableBlock(
                ("no.", "found", "output"),
                rows,
                f"OutputSession {str(self.folder)!r}: {len(self):,} outputs",
            )
        ]


def _columns_used(verdict: OutputVerdict, options: Mapping[str, Any]) -> set[str] | None:
    """The columns of the records that an output tells of; None where that may be any of them."""
    if not verdict.tells:
        return None
    columns = [
        column
        for one in verdict.tells
        if one != "unknown"
        for column in CellStatistic.of(one).columns
    ]
    option_columns = [
        options.get("column"),
        options.get("weight"),
        *(options.get("features") or ()),
    ]
    return {*verdict.by, *columns, *(one for one in option_columns if isinstance(one, str))}


def _refusal(reason: OutputReason) -> str:
    """Why something is refused; beside other outputs, with what to do."""
    return f"{reason.sentence}: {reason.advice}" if reason.rule == "difference" else reason.sentence


def _titled(what: str, column: str, by: Sequence[str]) -> str:
    return f"{what} {column}" + (f" by {', '.join(by)}" if by else "")


def _written(output: Any, verdict: OutputVerdict) -> tuple[bytes, str]:
    """What leaves of an output: the frame that was judged, as CSV; what cannot be one, by what it
    says of itself.
    """
    if verdict.shown is not None:
        try:
            return verdict.shown.write_csv().encode(), ".csv"
        except pl.exceptions.PolarsError:
            raise SchemaError(
                "the output holds columns that CSV cannot hold; take them out, or make them text"
            ) from None
    if isinstance(output, str):
        return output.encode(), ".txt"
    try:
        return (json.dumps(output, indent=2, allow_nan=False) + "\n").encode(), ".json"
    except (TypeError, ValueError):
        note = {
            "kind": verdict.kind,
            "written": "the object itself is never written; add what shall leave of it as a table",
        }
        return (json.dumps(note, indent=2) + "\n").encode(), ".json"
