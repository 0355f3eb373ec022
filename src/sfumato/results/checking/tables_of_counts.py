"""Tables without their records: judged by counts alone, which show that persons are too few, and
never that all is well.

A number that is called a count may be a mean, an age, or a count times ten: without records nothing
of a table is confirmed, so it never passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.errors import ParameterError, SchemaError, nearest
from sfumato.results.checking.contributing_records import TOTALS
from sfumato.results.checking.grouped_tables import PROTECT, kind_of_table, parse_declaration
from sfumato.results.checking.layout import (
    GIVE_DATA,
    PER_RECORD,
    SAY_WHAT,
    OutputTable,
    Statistics,
    figure_per_record,
)
from sfumato.results.checking.rule_violations import describe_violation
from sfumato.results.checking.statistics_of_columns import (
    EXTREMES,
    QUANTILES,
    CellStatistic,
    statistics_in_name,
)
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    OutputVerdict,
    open_question,
    violation,
)

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Floats

COUNTS = ("count", "rows", "freq")
"""Statistics that are numbers of persons themselves."""


def counts_of(counts: object, table: OutputTable) -> Floats | None:
    """Persons per row of the output: a column of it, one number, or a list; None where nothing is
    said.
    """
    if counts is None:
        return None
    columns, rows = table.frame.columns, table.frame.height
    if isinstance(counts, str):
        if counts not in columns:
            raise SchemaError(f"the output has no column {counts!r}.{nearest(counts, columns)}")
        persons = table.values(counts)
    else:
        try:
            if hasattr(counts, "to_numpy"):
                values = counts.to_numpy()
            else:
                values = np.asarray(counts)
            persons = np.asarray(values, dtype=np.float64).reshape(-1)
        except Exception:  # noqa: BLE001 - of whatever class they are
            raise ParameterError(
                "counts must be the name of a column, a number, or a number of persons per row"
            ) from None
        if len(persons) == 1:
            persons = np.repeat(persons, rows)
    if len(persons) != rows:
        raise ParameterError(
            f"there are {len(persons):,} counts and {rows:,} rows; give one per row"
        )
    if (persons < 0).any():
        raise ParameterError("counts are numbers of persons; some are negative")
    return persons


def judge_with_counts(
    table: OutputTable, counts: Floats | None, rules: OutputRules, tells: Statistics
) -> OutputVerdict:
    """Judge a table by counts alone: too few fails, what only records could show is a question."""
    reasons: list[OutputReason] = []
    statistics: dict[str, CellStatistic | None] = {}
    for name in table.result_columns:
        if PER_RECORD.fullmatch(name):
            reasons.append(figure_per_record(table, name))
            continue
        if not table.numeric(name):
            words = f"{table.label(name)} holds no numbers"
            advice = "name the columns that make cells: by=[...]"
            reasons.append(open_question("columns", words, advice))
            continue
        declaration = tells.get(name) if isinstance(tells, Mapping) else tells
        if declaration:
            statistics[name] = parse_declaration(declaration, name)
        else:
            # Without records no column is known that a name could be of.
            statistics[name] = next(statistics_in_name(name, ()), None)
    for name, statistic in statistics.items():
        reasons += _judge_column(table, name, statistic, counts, rules)
    recognised = [(name, kind) for name, kind in statistics.items() if kind is not None]
    reasons += _judge_margins(table, recognised, rules)
    if not statistics:
        words = "no column has a statistic that could be judged"
        reasons.append(open_question("columns", words, SAY_WHAT))
    return OutputVerdict(
        kind_of_table(recognised),
        tuple(reasons),
        _count_all_persons(table, recognised, counts),
        table.frame,
        by=table.by,
        tells=tuple(str(statistic or "unknown") for statistic in statistics.values()),
    )


def _judge_margins(
    table: OutputTable, statistics: list[tuple[str, CellStatistic]], rules: OutputRules
) -> list[OutputReason]:
    """Totals that are more than what is told of their parts tell the remainder."""
    remainders: list[float] = []
    for name, statistic in statistics:
        if statistic.kind in ("count", "rows"):
            for axis in table.by:
                remainders += _remainders(table, name, axis)
    if any(rules.small(abs(remainder)) for remainder in remainders):
        words = (
            "totals are shown, and what is missing beside them follows: fewer than "
            f"{rules.threshold} persons"
        )
        return [violation("margins", words, PROTECT)]
    if any(remainders):
        words = (
            "totals are shown and cells beside them are missing: whether they can be computed was "
            "not checked"
        )
        return [open_question("margins", words, PROTECT)]
    return []


def _remainders(table: OutputTable, name: str, axis: str) -> list[float]:
    """What a total along one column is more than the sum of its parts, line by line."""
    line_columns = [column_name for column_name in table.by if column_name != axis]
    whole = pl.col(axis).cast(pl.String).is_in(list(TOTALS))
    released = pl.col(name).cast(pl.Float64)
    sums = table.frame.group_by(line_columns or [pl.lit(0)]).agg(
        released.filter(whole).max().alias("whole"),
        released.filter(~whole).sum().alias("parts"),
        (~whole).sum().alias("n"),
    )
    # A line without a total, or without parts, tells no remainder.
    lines = sums.filter(pl.col("whole").is_not_null() & (pl.col("n") > 0))
    remainders: list[float] = (lines["whole"] - lines["parts"]).to_list()
    return remainders


def _count_all_persons(
    table: OutputTable, statistics: list[tuple[str, CellStatistic]], counts: Floats | None
) -> int | None:
    """The sum of all counts, where no row is a total and nothing is left out; None where it is not
    known.
    """
    count_columns = [name for name, statistic in statistics if statistic.kind == "count"]
    if counts is None and count_columns:
        counts = table.values(count_columns[0])
    if counts is None or np.isnan(counts).any():
        return None
    for name in table.by:
        if set(map(str, table.frame[name].to_list())) & set(TOTALS):
            return None
    return int(counts.sum())


def _judge_column(
    table: OutputTable,
    name: str,
    statistic: CellStatistic | None,
    counts: Floats | None,
    rules: OutputRules,
) -> list[OutputReason]:
    title = table.label(name)
    released = table.values(name)
    # A count is its own evidence, whatever counts are given beside it.
    if statistic is not None and statistic.kind in COUNTS:
        counts = released
    if counts is None:
        words = f"the number of persons behind {title} is unknown"
        return [open_question("counts", words, f"give counts=..., or better {GIVE_DATA}")]
    if (counts < 0).any():
        raise ParameterError(f"{title} counts persons, and some counts are negative")
    visible = ~np.isnan(released)
    smallest_told = 0 if rules.zeros else 1
    small_cells = visible & (counts < rules.threshold) & (counts >= smallest_told)
    reasons = []
    if small_cells.any():
        cells = int(visible.sum())
        reasons.append(
            describe_violation("threshold", [title], int(small_cells.sum()), cells, rules)
        )
    if (visible & np.isnan(counts)).any():
        words = f"counts of {title} are missing in some rows"
        reasons.append(open_question("counts", words, GIVE_DATA))
    if (counts[visible & ~np.isnan(counts)] % 1 != 0).any():
        words = f"counts of {title} are not whole numbers: weights do not count persons"
        reasons.append(open_question("counts", words, GIVE_DATA))
    # Of a count that is wrong already nothing more need be asked.
    if statistic is not None and statistic.kind in COUNTS and reasons:
        return reasons
    return reasons + _judge_beyond_counts(title, statistic, released, counts, rules)


def _judge_beyond_counts(
    title: str,
    statistic: CellStatistic | None,
    released: Floats,
    counts: Floats,
    rules: OutputRules,
) -> list[OutputReason]:
    """What a statistic needs besides enough persons, and counts cannot show."""
    if statistic is None:
        return [open_question("columns", f"the meaning of {title} is unknown", SAY_WHAT)]
    if statistic.kind in EXTREMES:
        words = f"{title} shows single values; whether enough persons share them is unknown"
        return [violation("extreme", words, GIVE_DATA)]
    visible = ~np.isnan(released)
    if statistic.kind == "sd" and (released == 0).any():
        equal, cells = int((released == 0).sum()), int(visible.sum())
        return [describe_violation("all_equal", [title], equal, cells, rules)]
    if statistic.kind in QUANTILES:
        # So many persons are below the percentile, or above it.
        outside = counts * min(statistic.level, 1 - statistic.level)
        small, cells = int((outside < rules.threshold)[visible].sum()), int(visible.sum())
        if small:
            return [describe_violation("bands", [title], small, cells, rules)]
    if statistic.kind in COUNTS:
        words = f"{title} is said to count persons, which cannot be confirmed without the records"
    else:
        words = f"the contributions of persons to {title} cannot be derived from counts"
    return [open_question("records", words, GIVE_DATA)]
