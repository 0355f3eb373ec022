"""Tables without their records: judged by counts alone, which show that persons are too few, and
never that all is well.

A number that is called a count may be a mean, an age, or a count times ten: without records nothing
of a table is confirmed, so it never passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.errors import ParameterError, SchemaError, nearest
from sfumato.results.checking.contributing_records import TOTALS
from sfumato.results.checking.grouped_tables import PROTECT, declared, kind_of_table
from sfumato.results.checking.layout import (
    GIVE_DATA,
    PER_RECORD,
    SAY_WHAT,
    OutputTable,
    figure_per_record,
)
from sfumato.results.checking.rule_violations import offence
from sfumato.results.checking.statistics_of_columns import EXTREMES, QUANTILES, CellStatistic, named
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    OutputVerdict,
    broken,
    open_question,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


COUNTED = ("count", "rows", "freq")


def counts_of(counts: Any, table: OutputTable) -> NDArray[np.float64] | None:
    """Persons per row of the output: a column of it, one number, or a list; None where nothing is
    said.
    """
    if counts is None:
        return None
    if isinstance(counts, str):
        if counts not in table.frame.columns:
            raise SchemaError(
                f"the output has no column {counts!r}.{nearest(counts, table.frame.columns)}"
            )
        counts_found = table.values(counts)
    else:
        try:
            series = counts.to_numpy() if hasattr(counts, "to_numpy") else np.asarray(counts)
            counts_found = np.asarray(series, dtype=np.float64).reshape(-1)
        except Exception:  # noqa: BLE001 - of whatever class they are
            raise ParameterError(
                "counts are the name of a column, a number, or a number of persons per row"
            ) from None
        counts_found = (
            np.repeat(counts_found, table.frame.height) if len(counts_found) == 1 else counts_found
        )
    if len(counts_found) != table.frame.height:
        raise ParameterError(
            f"there are {len(counts_found):,} counts and {table.frame.height:,} rows; give one"
            " per row"
        )
    if (counts_found < 0).any():
        raise ParameterError("counts are numbers of persons; some are negative")
    return counts_found


def judge_with_counts(
    table: OutputTable,
    counts: NDArray[np.float64] | None,
    rules: OutputRules,
    tells: Mapping[str, str] | str | None,
) -> OutputVerdict:
    """Judge a table by counts alone: too few fails, what only records could show is a question."""
    reasons: list[OutputReason] = []
    statistics: dict[str, CellStatistic | None] = {}
    for name in table.told:
        if PER_RECORD.fullmatch(name):
            reasons.append(figure_per_record(table, name))
        elif not table.numeric(name):
            reasons.append(
                open_question(
                    "columns",
                    f"{table.called(name)} holds no numbers",
                    "name the columns that make cells: by=[...]",
                )
            )
        else:
            declaration = tells.get(name) if isinstance(tells, Mapping) else tells
            statistics[name] = (
                declared(declaration, name) if declaration else next(named(name, ()), None)
            )
    for name, statistic in statistics.items():
        reasons += _by_counts(table, name, statistic, counts, rules)
    reasons += _margins(table, statistics, rules)
    if not statistics:
        reasons.append(
            open_question("columns", "no column tells anything that could be judged", SAY_WHAT)
        )
    persons = _all_persons(table, statistics, counts)
    kinds_of_columns = tuple("unknown" if one is None else str(one) for one in statistics.values())
    kinds = [(name, one) for name, one in statistics.items() if one is not None]
    return OutputVerdict(
        kind_of_table(kinds),
        tuple(reasons),
        persons,
        table.frame,
        by=table.by,
        tells=kinds_of_columns,
    )


def _margins(
    table: OutputTable, statistics: Mapping[str, CellStatistic | None], rules: OutputRules
) -> list[OutputReason]:
    """Totals that are more than what is told of their parts tell the rest."""
    counting = [
        name
        for name, one in statistics.items()
        if one is not None and one.kind in ("count", "rows")
    ]
    rests = [rest for name in counting for axis in table.by for rest in _rests(table, name, axis)]
    if any(rules.small(abs(rest)) for rest in rests):
        words = (
            "totals are told, and what is left out beside them follows: fewer than"
            f" {rules.threshold} persons"
        )
        return [broken("margins", words, PROTECT)]
    if any(rests):
        words = (
            "totals are told, and cells beside them are left out: whether they can be computed was"
            " not looked at"
        )
        return [open_question("margins", words, PROTECT)]
    return []


def _rests(table: OutputTable, name: str, axis: str) -> list[float]:
    """What a total along one column is more than the sum of its parts, line by line."""
    others = [one for one in table.by if one != axis]
    whole = pl.col(axis).cast(pl.String).is_in(list(TOTALS))
    released = pl.col(name).cast(pl.Float64)
    lines = table.frame.group_by(others or [pl.lit(0)])
    sums = lines.agg(
        released.filter(whole).max().alias("whole"),
        released.filter(~whole).sum().alias("parts"),
        (~whole).sum().alias("n"),
    )
    both = sums.filter(pl.col("whole").is_not_null() & (pl.col("n") > 0))
    return [float(rest) for rest in (both["whole"] - both["parts"]).to_list()]


def _all_persons(
    table: OutputTable,
    statistics: Mapping[str, CellStatistic | None],
    counts: NDArray[np.float64] | None,
) -> int | None:
    """The sum of all counts, where no row is a total and nothing is left out; None where it is not
    known.
    """
    counting = [name for name, one in statistics.items() if one is not None and one.kind == "count"]
    cell_counts = counts
    if counts is None and counting:
        cell_counts = table.values(counting[0])
    labels = {str(one) for name in table.by for one in table.frame[name].to_list()}
    if cell_counts is None or np.isnan(cell_counts).any() or labels & set(TOTALS):
        return None
    return int(cell_counts.sum())


def _by_counts(
    table: OutputTable,
    name: str,
    statistic: CellStatistic | None,
    counts: NDArray[np.float64] | None,
    rules: OutputRules,
) -> list[OutputReason]:
    title = table.called(name)
    counting = statistic is not None and statistic.kind in COUNTED
    released = table.values(name)
    cell_counts = released if counting else counts
    if cell_counts is None:
        return [
            open_question(
                "counts",
                f"how many persons are behind {title} is not known",
                f"give counts=..., or better {GIVE_DATA}",
            )
        ]
    if (cell_counts < 0).any():
        raise ParameterError(f"{title} counts persons, and some counts are negative")
    visible = ~np.isnan(released)
    least = 0 if rules.zeros else 1
    few = visible & (cell_counts < rules.threshold) & (cell_counts >= least)
    reasons = (
        [offence("threshold", [title], int(few.sum()), int(visible.sum()), rules)]
        if few.any()
        else []
    )
    if (visible & np.isnan(cell_counts)).any():
        reasons.append(
            open_question("counts", f"counts of {title} are missing in some rows", GIVE_DATA)
        )
    if (cell_counts[visible & ~np.isnan(cell_counts)] % 1 != 0).any():
        reasons.append(
            open_question(
                "counts",
                f"counts of {title} are no whole numbers: weights do not count persons",
                GIVE_DATA,
            )
        )
    return reasons + _beyond_counts(
        title, statistic, released, cell_counts, rules, fine=not reasons
    )


def _beyond_counts(
    title: str,
    statistic: CellStatistic | None,
    released: NDArray[np.float64],
    cell_counts: NDArray[np.float64],
    rules: OutputRules,
    *,
    fine: bool,
) -> list[OutputReason]:
    """What a statistic needs besides enough persons, and counts cannot show."""
    if statistic is None:
        return [open_question("columns", f"what {title} tells is not known", SAY_WHAT)]
    if statistic.kind in EXTREMES:
        return [
            broken(
                "extreme",
                f"{title} tells single values; whether enough persons share them is not known",
                GIVE_DATA,
            )
        ]
    if statistic.kind == "sd" and (released == 0).any():
        return [
            offence(
                "all_equal",
                [title],
                int((released == 0).sum()),
                int((~np.isnan(released)).sum()),
                rules,
            )
        ]
    if statistic.kind in QUANTILES:
        outside = cell_counts * min(statistic.level, 1 - statistic.level)
        if (outside[~np.isnan(released)] < rules.threshold).any():
            return [
                offence(
                    "bands",
                    [title],
                    int((outside < rules.threshold).sum()),
                    len(cell_counts),
                    rules,
                )
            ]
    if statistic.kind in COUNTED:
        words = f"that {title} counts persons is told, and cannot be confirmed without the records"
        return [open_question("records", words, GIVE_DATA)] if fine else []
    return [
        open_question(
            "records", f"what persons contribute to {title} cannot be seen from counts", GIVE_DATA
        )
    ]
