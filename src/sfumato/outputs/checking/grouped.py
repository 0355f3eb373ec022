"""Tables that somebody grouped: counts, means, sums, shares, percentiles and extremes, judged cell by cell."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.errors import ParameterError, SchemaError, nearest
from sfumato.outputs.checking.behind import TOTALS, Behind, CellRows, how_many, membership
from sfumato.outputs.checking.telling import (
    AMOUNTS,
    EXTREMES,
    QUANTILES,
    CellStatistic,
    bare,
    fits,
    found_by_computing,
    named,
    step_of,
    whole_of,
)
from sfumato.outputs.checking.verdict import OutputReason, OutputRules, OutputVerdict, broken, open_question, passed

if TYPE_CHECKING:
    from numpy.typing import NDArray

PER_RECORD = re.compile(
    r"(std_|standard_|student(ized)?_)?(resid(ual)?s?|fitted(_?values?)?|leverage|hat(_diag)?|cooks?_?d(istance)?|dffits.*|dfb.*|influence)",
    re.IGNORECASE,
)
TOLD, WHOLE, LINE = "\x00told", "\x00whole", "\x00line"
"""Names that no column of a table has."""
COARSER = "make the groups coarser, or leave the cells out (verdict.suggestion)"
PROTECT = "sf.tabulate(data, by, ...).protect() publishes such a table with margins so that nothing can be computed"
GIVE_DATA = "give the records behind it (data=...), so that every cell can be judged"
SAY_WHAT = "say what it tells: tells='mean(cost)', or tells={'column': 'mean(cost)', ...}"


@dataclasses.dataclass(frozen=True, eq=False)
class OutputTable:
    """A table as it will be judged: the columns that make its cells, and those that tell something of them."""

    frame: pl.DataFrame
    by: tuple[str, ...]
    told: tuple[str, ...]
    columns: tuple[str, ...] = ()
    """Those of the data, and those that the researcher says something of."""

    def called(self, name: str) -> str:
        """A column in a message: by its name where that is one of a column or a statistic, else by its place; the columns of a cross table are called by data values."""
        known = name in self.by or name in self.columns or bare(name) is not None
        if known or next(named(name, self.columns), None) is not None:
            return repr(name)
        return f"column {self.frame.columns.index(name) + 1}"

    def values(self, name: str) -> NDArray[np.float64]:
        """A column of results; NaN where nothing is told."""
        column = self.frame[name]
        if column.dtype == pl.Boolean or not column.dtype.is_numeric():
            raise SchemaError(f"{self.called(name)} of the output holds no numbers")
        found: NDArray[np.float64] = column.cast(pl.Float64).fill_null(float("nan")).to_numpy().copy()
        return found

    def numeric(self, name: str) -> bool:
        """Whether a column holds numbers."""
        return self.frame[name].dtype.is_numeric()


def long_form(frame: pl.DataFrame, across: str | None, by: Sequence[str] | None, behind: Behind | None) -> pl.DataFrame:
    """A cross table with one row a cell; others as they are. Its columns are values of the column ``across``."""
    if across is None or (behind is not None and across not in behind.dataset.columns):
        return frame
    kept = list(by or [name for name in frame.columns if not frame[name].dtype.is_numeric()])
    kept = [name for name in kept if name != across]
    rest = [name for name in frame.columns if name not in kept]
    if not rest or not all(frame[name].dtype.is_numeric() for name in rest):
        return frame
    told = "value" if "value" not in (*kept, across) else "value told"
    long = frame.unpivot(rest, index=kept, variable_name=LINE, value_name=TOLD)  # a label may be called like the column
    return long.rename({LINE: across, TOLD: told})


DESCRIBED = {
    "count": "count",
    "null_count": "missing",
    "mean": "mean",
    "std": "sd",
    "min": "min",
    "max": "max",
    "top": "mode",
}


def described(frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, str]] | None:
    """What ``describe()`` gives, a statistic a row, as one row with what each column tells; None for other tables.

    Rows that count what is missing are left as they are: nobody knows by name who is behind them.
    """
    texts = [name for name in frame.columns if frame[name].dtype == pl.String]
    if not texts or frame.height < 2:
        return None
    rows = [str(one).lower() for one in frame[texts[0]].to_list()]
    if not all(one in DESCRIBED or re.fullmatch(r"\d{1,2}(\.\d+)?%", one) for one in rows) or len(set(rows)) < len(
        rows
    ):
        return None
    values: dict[str, list[Any]] = {}
    tells: dict[str, str] = {}
    for column in (name for name in frame.columns if frame[name].dtype.is_numeric()):
        for row, value in zip(rows, frame[column].to_list(), strict=True):
            name = f"{column}: {row}"
            values[name] = [value]
            level = f"quantile({column}, {float(row[:-1]) / 100:g})" if row.endswith("%") else ""
            if DESCRIBED.get(row) != "missing":
                tells[name] = level or f"{DESCRIBED[row]}({column})"
    return pl.DataFrame(values), tells


def columns_of(
    frame: pl.DataFrame,
    by: Sequence[str] | None,
    apart: Sequence[str],
    behind: Behind | None,
    tells: Mapping[str, str] | str | None,
) -> OutputTable:
    """Which columns make the cells: those named, else those of the data that hold no results."""
    said = set(tells) if isinstance(tells, Mapping) else set()
    columns = (*(behind.dataset.columns if behind is not None else ()), *said, *apart)
    if by is not None:
        for name in (*by, *apart):
            if name not in frame.columns:
                raise SchemaError(f"the output has no column {name!r}.{nearest(name, frame.columns)}")
        lacking = [name for name in by if behind is not None and name not in behind.dataset.columns]
        if lacking and behind is not None:
            behind.dataset.require(lacking)
        return OutputTable(frame, tuple(by), tuple(name for name in frame.columns if name not in by), columns)
    free = [name for name in frame.columns if name not in said and name not in apart]
    texts = [name for name in free if not frame[name].dtype.is_numeric()]
    if behind is None:
        return OutputTable(frame, tuple(texts), tuple(name for name in frame.columns if name not in texts), columns)
    made = [name for name in texts if name in behind.dataset.columns]
    for name in free:
        if name in behind.dataset.columns and frame[name].dtype.is_integer() and _is_key(frame, name, made, behind):
            made.append(name)
    ordered = tuple(name for name in frame.columns if name in made)
    return OutputTable(frame, ordered, tuple(name for name in frame.columns if name not in made), columns)


def _is_key(frame: pl.DataFrame, name: str, made: Sequence[str], behind: Behind) -> bool:
    """Whether a column of whole numbers makes cells (a year), rather than tells something of them (the highest age)."""
    if not made and frame.height > 1:  # something must tell rows apart
        return True
    known = behind.labels(name) | set(TOTALS)
    if not set(frame[name].cast(pl.String).fill_null("(missing)").to_list()) <= known:
        return False
    try:
        belongs = membership(frame, made, behind)
        told = frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        return not found_by_computing(name, told, belongs, behind, made)
    except SchemaError:  # rows are not told apart without it
        return True


def figure_per_record(table: OutputTable, name: str) -> OutputReason:
    """What is wrong with a column of residuals and their like."""
    sentence = f"{table.called(name)} looks like a figure per record, which is never given out"
    return broken("per record", sentence, "leave it out")


def unlabelled(table: OutputTable, behind: Behind) -> OutputVerdict | None:
    """The verdict on a table whose rows are not told apart by what makes its cells: perhaps they are records. None for others."""
    if table.frame.height < 2 or (table.by and not table.frame.select(table.by).is_duplicated().any()):
        return None
    advice = "if it is a table, name the columns that make its cells: by=[...]"
    figures = [name for name in table.told if PER_RECORD.fullmatch(name)]
    if figures or table.by or table.frame.height in (len(behind), behind.persons):
        reason = broken(
            "per record", f"{table.frame.height:,} rows look like records, which are never given out", advice
        )
    else:
        reason = open_question(
            "columns", f"{table.frame.height:,} rows are not told apart by any column of the data", advice
        )
    return OutputVerdict("table", (reason,), behind.persons, table.frame)


def judge_with_records(
    table: OutputTable, behind: Behind, rules: OutputRules, tells: Mapping[str, str] | str | None
) -> OutputVerdict:
    """Judge a table by the records behind it."""
    belongs = membership(table.frame, table.by, behind)
    reasons = _unknown_cells(table, belongs) + _combinations(table, belongs, behind, rules)
    found, more = _statistics(table, belongs, behind, tells)
    reasons += more
    told = np.zeros(belongs.size, dtype=bool)
    for name, _ in found:
        told |= ~np.isnan(table.values(name))
    told &= belongs.known
    unsafe = np.zeros(belongs.size, dtype=bool)
    together: dict[tuple[str, bytes], list[str]] = {}
    for rule, names, where in _all_offences(table, found, belongs, behind, rules):
        here = where & told & np.any([~np.isnan(table.values(name)) for name in names], axis=0)
        unsafe |= here
        if here.any():
            together.setdefault((rule, here.tobytes()), []).extend(names)
    for (rule, cells), names in together.items():
        told_names = [table.called(name) for name in dict.fromkeys(names)]
        reasons.append(offence(rule, told_names, int(np.frombuffer(cells, dtype=bool).sum()), int(told.sum()), rules))
    reasons += _left_out(table, found, belongs, rules, told)
    if found and not any(one.status == "fail" for one in reasons):
        reasons.append(_fine(belongs.persons(behind)[told], behind, rules))
    kinds = tuple(str(one) for _, one in found)
    hidden = int((~told & belongs.known).sum()) + belongs.absent[1] + sum(belongs.unseen)
    return OutputVerdict(
        kind_of_table(found),
        tuple(reasons),
        behind.persons,
        table.frame,
        _suggestion(table, unsafe, belongs),
        table.by,
        kinds,
        hidden,
    )


def _all_offences(
    table: OutputTable,
    found: Sequence[tuple[str, CellStatistic]],
    belongs: CellRows,
    behind: Behind,
    rules: OutputRules,
) -> Iterator[tuple[str, list[str], NDArray[np.bool_]]]:
    """Every rule with the columns it is about and the cells that break it."""
    for name, statistic in found:
        for rule, where in _offences(table, name, statistic, belongs, behind, rules).items():
            yield rule, [name], where
    for column, quantiles in _by_column(found).items():
        names = [name for name, _ in quantiles]
        for rule, where in _percentiles(table, names, column, belongs, behind, rules).items():
            yield rule, names, where


def _fine(persons: NDArray[np.int64], behind: Behind, rules: OutputRules) -> OutputReason:
    if not len(persons):
        return passed("table", "no cell is told")
    cells = "1 cell holds" if len(persons) == 1 else f"{len(persons):,} cells hold"
    return passed("table", f"{cells} at least {rules.threshold} of {behind.persons:,} persons, and no rule is broken")


def kind_of_table(found: Sequence[tuple[str, CellStatistic]]) -> str:
    """What a table is called: by what it tells."""
    kinds = list(dict.fromkeys(one.kind for _, one in found))
    return f"table: {', '.join(kinds)}" if kinds else "table"


def _combinations(table: OutputTable, belongs: CellRows, behind: Behind, rules: OutputRules) -> list[OutputReason]:
    """A table that tells nothing but which combinations there are: those of few persons are records of them."""
    few = int((belongs.persons(behind)[belongs.known] < rules.threshold).sum()) if not table.told else 0
    if not few:
        return []
    words = f"{few:,} of {belongs.size:,} rows are combinations that fewer than {rules.threshold} persons have"
    return [broken("per record", f"{words}: they look like records", "give out tables, not records")]


def _unknown_cells(table: OutputTable, belongs: CellRows) -> list[OutputReason]:
    strange = int((~belongs.known).sum())
    if not strange:
        return []
    return [
        open_question(
            "labels",
            f"{strange:,} rows have values of {', '.join(table.by)} that the data do not have",
            "give the data with the columns as they were grouped",
        )
    ]


def _statistics(
    table: OutputTable, belongs: CellRows, behind: Behind, tells: Mapping[str, str] | str | None
) -> tuple[list[tuple[str, CellStatistic]], list[OutputReason]]:
    """What every column tells; what does not fit the records, or nobody knows, is a question."""
    found: list[tuple[str, CellStatistic]] = []
    reasons: list[OutputReason] = []
    if not table.told:
        reasons.append(
            open_question("columns", "no column tells anything", "name the columns that make cells: by=[...]")
        )
    for name in table.told:
        if PER_RECORD.fullmatch(name):
            reasons.append(figure_per_record(table, name))
        elif not table.numeric(name):
            reasons.append(
                open_question(
                    "columns",
                    f"{table.called(name)} holds no numbers, and is no column of the data",
                    f"leave it out, or {GIVE_DATA}",
                )
            )
        else:
            statistics, fitting = _what(name, table, belongs, behind, tells)
            if not statistics:
                reasons.append(open_question("columns", f"what {table.called(name)} tells is not known", SAY_WHAT))
                continue
            found += [(name, one) for one in statistics]
            if not fitting:
                reasons.append(
                    open_question(
                        "recomputed",
                        f"{table.called(name)} is not {statistics[0]} of these records",
                        "give the records it was computed from (data=..., where=..., weight=...), or say what it tells",
                    )
                )
    return found, reasons


def _what(
    name: str, table: OutputTable, belongs: CellRows, behind: Behind, tells: Mapping[str, str] | str | None
) -> tuple[list[CellStatistic], bool]:
    said = tells.get(name) if isinstance(tells, Mapping) else tells
    told = table.values(name)
    if said is None:
        found = found_by_computing(name, told, belongs, behind, table.by)
        return found, bool(found)
    statistic = declared(said, name)
    behind.dataset.require(statistic.columns if statistic.kind != "percent" else [])
    return [statistic], fits(statistic, told, belongs, behind, table.by)


def declared(said: str, name: str) -> CellStatistic:
    """What somebody says a column tells; ``mean`` alone is the mean of the column of that name."""
    try:
        return CellStatistic.of(said)
    except ParameterError:
        if "(" in said:
            raise
        return CellStatistic.of(f"{said}({name})")


def _by_column(found: Sequence[tuple[str, CellStatistic]]) -> dict[str, list[tuple[str, CellStatistic]]]:
    """Percentiles of one column belong together: between any two of them enough persons must stand."""
    together: dict[str, list[tuple[str, CellStatistic]]] = {}
    for name, one in found:
        if one.kind in QUANTILES:
            together.setdefault(str(one.column), []).append((name, one))
    return together


def _offences(
    table: OutputTable,
    name: str,
    statistic: CellStatistic,
    belongs: CellRows,
    behind: Behind,
    rules: OutputRules,
) -> dict[str, NDArray[np.bool_]]:
    """Per rule the cells of one column that break it."""
    cells = _as_cells(statistic, belongs, behind, rules)
    offences = {rule.name: np.logical_or.reduce([rule.unsafe(one) for one in cells]) for rule in rules.of_counts}
    if statistic.kind in AMOUNTS:
        for rule in rules.of_amounts:
            offences[rule.name] = np.logical_or.reduce([rule.unsafe(one) for one in cells]) & (cells[0].n > 0)
        offences["dominance"] |= _few_weigh(statistic, belongs, behind, rules)
        offences["share"] = _few_on_a_side(statistic, belongs, behind, rules)
        if (sides := _sides(statistic, belongs, behind)) is not None:
            offences["share"] |= _small_part(*sides, rules)
    if statistic.kind == "rows":
        offences["dominance"] = _few_weigh(statistic, belongs, behind, rules)
    if statistic.kind == "percent":
        part = belongs.persons(behind).astype(np.float64)
        rest = whole_of(statistic, belongs, behind, table.by) - part
        offences["share"] = _small_part(part, rest, rules) & ~_wholes(statistic, table, belongs)
    if statistic.kind in EXTREMES:
        offences["extreme"] = _shared_by_few(statistic, belongs, behind, rules)
    return offences


def _wholes(statistic: CellStatistic, table: OutputTable, belongs: CellRows) -> NDArray[np.bool_]:
    """Cells that are a hundred percent by what they are: the sum over all columns that the percentage is not within."""
    others = [one for name, one in zip(table.by, belongs.margins, strict=False) if name not in statistic.words]
    whole: NDArray[np.bool_] = np.all([np.ones(belongs.size, dtype=bool), *others], axis=0)
    return whole


def _as_cells(statistic: CellStatistic, belongs: CellRows, behind: Behind, rules: OutputRules) -> list[Any]:
    """The cells with what persons contribute to a statistic; of a ratio to both of its columns."""
    depth = max(2, *(rule.depth for rule in rules.of_amounts))
    if statistic.column is None:
        return [belongs.contributions(behind, np.ones(len(behind)), depth)]
    if statistic.kind == "count":
        known = behind.there(statistic.column)
        return [belongs.contributions(behind, np.where(known, 1.0, np.nan), depth)]
    return [belongs.contributions(behind, behind.numbers(name) * behind.weights, depth) for name in statistic.columns]


def _sides(
    statistic: CellStatistic, belongs: CellRows, behind: Behind
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """The persons on both sides of a mean of zeros and ones, which is a share; None for other columns."""
    values = behind.numbers(str(statistic.column))
    known = values[~np.isnan(values)]
    if statistic.kind not in ("share", "mean", "sum") or not np.isin(known, (0.0, 1.0)).all():
        return None
    return belongs.persons(behind, values == 1).astype(float), belongs.persons(behind, values == 0).astype(float)


def _few_on_a_side(
    statistic: CellStatistic, belongs: CellRows, behind: Behind, rules: OutputRules
) -> NDArray[np.bool_]:
    """Cells with two different values, one of which is that of few persons: a mean or a deviation of them is a share, however the two are coded."""
    few = np.zeros(belongs.size, dtype=bool)
    for column in statistic.columns:
        found = (
            _persons_by_value(column, belongs, behind).group_by("cell").agg(pl.len().alias("values"), pl.col("n").min())
        )
        two = found.filter((pl.col("values") == 2) & (pl.col("n") < rules.threshold))
        few[two["cell"].to_numpy()] = True
    return few


WEIGHED = ("rows", "sum", "mean", "share", "ratio")


def _few_weigh(statistic: CellStatistic, belongs: CellRows, behind: Behind, rules: OutputRules) -> NDArray[np.bool_]:
    r"""Cells in which a few persons have nearly all of the weight: :math:`(\sum w)^2 / \sum w^2 < t` (Kish 1965)."""
    if behind.weight is None or statistic.kind not in WEIGHED:
        return np.zeros(belongs.size, dtype=bool)
    weight = behind.weights.copy()
    for column in statistic.columns:
        weight[~behind.there(column)] = 0.0
    rows = pl.DataFrame({"cell": belongs.cell, "who": behind.who[belongs.row], "w": weight[belongs.row]})
    each = rows.group_by("cell", "who").agg(pl.col("w").sum())
    found = each.group_by("cell").agg(pl.col("w").sum(), pl.col("w").pow(2).sum().alias("squares"))
    few = np.zeros(belongs.size, dtype=bool)
    few[found["cell"].to_numpy()] = (found["w"].pow(2) < (rules.threshold - 1e-9) * found["squares"]).to_numpy()
    return few


def _small_part(part: NDArray[np.float64], rest: NDArray[np.float64], rules: OutputRules) -> NDArray[np.bool_]:
    """Shares with too few persons on one side; nobody on a side tells something of all, where zeros do."""
    least = 0 if rules.zeros else 1
    small: NDArray[np.bool_] = ((part < rules.threshold) & (part >= least)) | (
        (rest < rules.threshold) & (rest >= least)
    )
    return small


def _persons_by_value(column: str, belongs: CellRows, behind: Behind) -> pl.DataFrame:
    """Per cell and value of a column the persons who have it."""
    values = behind.numbers(column)
    known = ~np.isnan(values[belongs.row])
    frame = pl.DataFrame(
        {"cell": belongs.cell[known], "x": values[belongs.row[known]], "who": behind.who[belongs.row[known]]}
    )
    return frame.group_by("cell", "x").agg(pl.col("who").n_unique().alias("n"))


def _shared_by_few(
    statistic: CellStatistic, belongs: CellRows, behind: Behind, rules: OutputRules
) -> NDArray[np.bool_]:
    """Cells whose least, largest or commonest value is that of fewer than t persons."""
    shared = _persons_by_value(str(statistic.column), belongs, behind)
    x, n = pl.col("x"), pl.col("n")
    least, most, common = n.sort_by(x).first(), n.sort_by(x).last(), n.max()
    fewest = {"min": least, "max": most, "range": pl.min_horizontal(least, most), "mode": common}[statistic.kind]
    found = shared.group_by("cell").agg(fewest.alias("n"))
    few = np.zeros(belongs.size, dtype=bool)
    few[found["cell"].to_numpy()] = found["n"].to_numpy() < rules.threshold
    return few


def _percentiles(
    table: OutputTable,
    names: Sequence[str],
    column: str,
    belongs: CellRows,
    behind: Behind,
    rules: OutputRules,
) -> dict[str, NDArray[np.bool_]]:
    """Cells with too few persons between percentiles, or whose percentiles are told too exactly."""
    values = behind.numbers(column)
    told = np.stack([table.values(name) for name in names])
    step = step_of(told.reshape(-1))
    some = belongs.known & ~np.isnan(told).all(axis=0)
    enough = belongs.persons(behind, ~np.isnan(values)) >= rules.threshold
    bands, exact = some & ~enough, np.zeros(belongs.size, dtype=bool)
    order = np.argsort(belongs.cell, kind="stable")
    ends = np.searchsorted(belongs.cell[order], np.arange(belongs.size + 1))
    for cell in np.flatnonzero(some & enough):
        rows = belongs.row[order[ends[cell] : ends[cell + 1]]]
        rows = rows[~np.isnan(values[rows])]
        x, who, points = values[rows], behind.who[rows], told[~np.isnan(told[:, cell]), cell]
        counts = band_counts(x, who, points)
        if counts[-1] == 0 and _near(x, who, points.max(), 0.0) >= rules.threshold:
            counts.pop()  # the largest value, and enough persons have it
        bands[cell] = min(counts) < rules.threshold
        exact[cell] = min(_near(x, who, one, step) for one in points) < rules.threshold
    return {"bands": bands, "exact": exact & ~bands}


def band_counts(values: NDArray[np.float64], who: NDArray[np.int64], points: NDArray[np.float64]) -> list[int]:
    r"""Persons in every band that percentiles cut: :math:`(-\infty, v_1], (v_1, v_2], \dots, (v_m, \infty)`; equal percentiles are one.

    >>> band_counts(np.arange(1.0, 11.0), np.arange(10), np.array([5.0]))
    [5, 5]
    """
    cuts = np.unique(points)
    band = np.searchsorted(cuts, values, side="left")
    return [how_many(who[band == number]) for number in range(len(cuts) + 1)]


def _near(values: NDArray[np.float64], who: NDArray[np.int64], told: float, step: float) -> int:
    """Persons whose value is rounded to what is told."""
    slack = step / 2 + 1e-9 * abs(told)
    return how_many(who[np.abs(values - told) <= slack])


def _left_out(
    table: OutputTable,
    found: Sequence[tuple[str, CellStatistic]],
    belongs: CellRows,
    rules: OutputRules,
    told: NDArray[np.bool_],
) -> list[OutputReason]:
    """What a table tells by what it does not show: combinations without anybody, and cells that follow from margins."""
    reasons = []
    empty, held = belongs.absent
    if rules.zeros and empty and not held and told.any():
        reasons.append(
            broken(
                "zeros",
                f"{empty:,} combinations of {' and '.join(table.by)} are left out because nobody has them, which tells that",
                "leave out a column, make it coarser, or allow zeros: rules=sf.OutputRules(zeros=False)",
            )
        )
    if not belongs.total.any():
        return reasons
    lacking = {
        (name, column): _lacking(table, name, column, unseen)
        for name, unseen in zip(table.by, belongs.unseen, strict=True)
        for column, one in found
        if one.kind in ADDITIVE
    }
    words = "cells are left out, and margins are told"
    if any(1 in counts for counts in lacking.values()):
        reasons.append(broken("margins", f"{words}: one that is alone in its row or column follows from them", PROTECT))
    elif any(max(counts, default=0) for counts in lacking.values()):
        reasons.append(open_question("margins", f"{words}: whether they can be computed was not looked at", PROTECT))
    return reasons


ADDITIVE = ("count", "rows", "sum", "mean", "percent", "share")


def _lacking(table: OutputTable, name: str, column: str, unseen: int) -> list[int]:
    """How many cells every line along ``name`` lacks of a column, of those whose sum it tells."""
    others = [one for one in table.by if one != name]
    whole = pl.col(name).cast(pl.String).is_in(list(TOTALS))
    frame = table.frame.with_columns(pl.col(column).is_not_null().alias(TOLD), whole.alias(WHOLE))
    parts = frame.filter(~pl.col(WHOLE))[name].n_unique() + unseen
    lines = frame.group_by(others) if others else frame.group_by(pl.lit(1).alias(LINE))
    counted = lines.agg(
        (pl.col(TOLD) & pl.col(WHOLE)).any().alias(WHOLE), (pl.col(TOLD) & ~pl.col(WHOLE)).sum().alias(TOLD)
    )
    return [parts - count for count in counted.filter(pl.col(WHOLE))[TOLD].to_list()]


def _suggestion(table: OutputTable, unsafe: NDArray[np.bool_], belongs: CellRows) -> pl.DataFrame | None:
    """The table without its unsafe cells, where no margin would give them away."""
    if not unsafe.any() or unsafe.all() or belongs.total.any() or not table.by:
        return None
    hide = pl.Series("hide", unsafe | ~belongs.known)
    left = [pl.when(hide).then(None).otherwise(pl.col(name)).alias(name) for name in table.told if table.numeric(name)]
    return table.frame.with_columns(left)


SENTENCES = {
    "threshold": ("{of} hold fewer than {t} persons{nobody}", COARSER),
    "dominance": ("{of} are dominated by few contributions", COARSER),
    "p_percent": ("{of} let somebody estimate the largest contribution too closely", COARSER),
    "all_equal": ("{of} hold equal contributions only", COARSER),
    "share": ("{of} have fewer than {t} persons{nobody} on one side of the share", COARSER),
    "extreme": ("{of} tell a value that fewer than {t} persons have", "tell a percentile instead, rounded: the 5th and the 95th, say"),
    "bands": ("{of} leave fewer than {t} persons below, between or above percentiles", "tell fewer percentiles, or make the groups coarser"),
    "exact": ("{of} tell percentiles so exactly that fewer than {t} persons are near", "round them until enough persons share the rounded value"),
}  # fmt: skip


def offence(rule: str, names: Sequence[str], found: int, cells: int, rules: OutputRules) -> OutputReason:
    """A broken rule in words: how many cells of which columns, and what to do."""
    sentence, advice = SENTENCES[rule]
    nobody = ", or nobody," if rules.zeros and rule in ("threshold", "share") else ""
    of = f"{found:,} of {cells:,} cells of {', '.join(names)}"
    told = sentence.format(of=of, t=rules.threshold, nobody=nobody).rstrip(",")
    return broken(rule, told, advice)
