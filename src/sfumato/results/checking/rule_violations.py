"""Which cells of a table break which rule: too few persons, few who contribute nearly all, values
and percentiles that few share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.results.checking.contributing_records import Behind, CellRows, how_many
from sfumato.results.checking.layout import OutputTable
from sfumato.results.checking.statistics_of_columns import (
    AMOUNTS,
    EXTREMES,
    LABELLED,
    QUANTILES,
    CellStatistic,
    step_of,
    whole_of,
)
from sfumato.results.checking.verdict import OutputReason, OutputRules, broken

if TYPE_CHECKING:
    from numpy.typing import NDArray

COARSER = "make the groups coarser, or leave the cells out (verdict.suggestion)"


def all_offences(
    table: OutputTable,
    statistics: Sequence[tuple[str, CellStatistic]],
    belongs: CellRows,
    behind: Behind,
    rules: OutputRules,
) -> Iterator[tuple[str, list[str], NDArray[np.bool_]]]:
    """Every rule with the columns it is about and the cells that break it."""
    for name, statistic in statistics:
        for rule, where in _offences(table, name, statistic, belongs, behind, rules).items():
            yield rule, [name], where
    for column, quantiles in _by_column(statistics).items():
        names = [name for name, _ in quantiles]
        for rule, where in _percentiles(table, names, column, belongs, behind, rules).items():
            yield rule, names, where


def _by_column(
    statistics: Sequence[tuple[str, CellStatistic]],
) -> dict[str, list[tuple[str, CellStatistic]]]:
    """Percentiles of one column belong together: between any two of them enough persons must
    stand.
    """
    together: dict[str, list[tuple[str, CellStatistic]]] = {}
    for name, one in statistics:
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
    offences = {
        rule.name: np.logical_or.reduce([rule.unsafe(one) for one in cells])
        for rule in rules.of_counts
    }
    if statistic.kind in AMOUNTS:
        for rule in rules.of_amounts:
            offences[rule.name] = np.logical_or.reduce([rule.unsafe(one) for one in cells]) & (
                cells[0].n > 0
            )
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
    if statistic.kind in LABELLED and statistic.kind not in EXTREMES:
        offences |= _commonest(statistic, belongs, behind, rules)
    if statistic.kind in EXTREMES:
        offences["extreme"] = _shared_by_few(statistic, belongs, behind, rules)
    return offences


MOST_COMPARED = 20_000_000


def nearly_the_same(
    statistics: Sequence[tuple[str, CellStatistic]],
    belongs: CellRows,
    behind: Behind,
    rules: OutputRules,
) -> list[OutputReason]:
    """Cells of one table that share all but a few persons, with the same contributions: their
    difference tells of those few.
    """
    if behind.unit is None or belongs.size * behind.people > MOST_COMPARED:
        return []
    for column in {str(one.column) for _, one in statistics if one.kind in AMOUNTS}:
        values = behind.numbers(column)
        rows = pl.DataFrame(
            {"cell": belongs.cell, "who": behind.who[belongs.row], "x": values[belongs.row]}
        )
        each = rows.group_by("cell", "who").agg(pl.col("x").sum())
        if each["who"].n_unique() == len(each):
            continue
        contributions = np.full((belongs.size, behind.people), np.nan)
        contributions[each["cell"].to_numpy(), each["who"].to_numpy()] = each["x"].to_numpy()
        for one in np.flatnonzero(~belongs.total):
            others = contributions[one + 1 :][~belongs.total[one + 1 :]]
            mine, theirs = ~np.isnan(contributions[one]), ~np.isnan(others)
            apart = (mine != theirs).sum(axis=1)
            alike = ((contributions[one] == others) | ~(mine & theirs)).all(axis=1) & (
                mine & theirs
            ).any(axis=1)
            if (alike & (apart > 0) & (apart < rules.threshold)).any():
                words = (
                    f"two cells are of the same persons but for fewer than {rules.threshold}: their"
                    " difference tells of these"
                )
                return [broken("difference", words, "tell one of them only")]
    return []


def _wholes(statistic: CellStatistic, table: OutputTable, belongs: CellRows) -> NDArray[np.bool_]:
    """Cells that are a hundred percent by what they are: the sum over all columns that the
    percentage is not within.
    """
    others = [
        one
        for name, one in zip(table.by, belongs.margins, strict=False)
        if name not in statistic.words
    ]
    whole: NDArray[np.bool_] = np.all([np.ones(belongs.size, dtype=bool), *others], axis=0)
    return whole


def _as_cells(
    statistic: CellStatistic, belongs: CellRows, behind: Behind, rules: OutputRules
) -> list[Any]:
    """The cells with what persons contribute to a statistic; of a ratio to both of its columns."""
    depth = max(2, *(rule.depth for rule in rules.of_amounts))
    if statistic.column is None:
        return [belongs.contributions(behind, np.ones(len(behind)), depth)]
    if statistic.kind == "count" or statistic.kind in LABELLED:
        present = behind.there(statistic.column)
        return [belongs.contributions(behind, np.where(present, 1.0, np.nan), depth)]
    return [
        belongs.contributions(behind, behind.numbers(name) * behind.weights, depth)
        for name in statistic.columns
    ]


def _sides(
    statistic: CellStatistic, belongs: CellRows, behind: Behind
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """The persons on both sides of a mean of zeros and ones, which is a share; None for other
    columns.
    """
    values = behind.numbers(str(statistic.column))
    present = values[~np.isnan(values)]
    if statistic.kind not in ("share", "mean", "sum") or not np.isin(present, (0.0, 1.0)).all():
        return None
    return belongs.persons(behind, values == 1).astype(float), belongs.persons(
        behind, values == 0
    ).astype(float)


def _few_on_a_side(
    statistic: CellStatistic, belongs: CellRows, behind: Behind, rules: OutputRules
) -> NDArray[np.bool_]:
    """Cells with two different values, one of which is that of few persons: a mean or a deviation
    of them is a share, however the two are coded.
    """
    few = np.zeros(belongs.size, dtype=bool)
    for column in statistic.columns:
        counts = (
            _persons_by_value(column, belongs, behind)
            .group_by("cell")
            .agg(pl.len().alias("values"), pl.col("n").min())
        )
        two = counts.filter((pl.col("values") == 2) & (pl.col("n") < rules.threshold))
        few[two["cell"].to_numpy()] = True
    return few


WEIGHED = ("rows", "sum", "mean", "share", "ratio")


def _few_weigh(
    statistic: CellStatistic, belongs: CellRows, behind: Behind, rules: OutputRules
) -> NDArray[np.bool_]:
    r"""Cells in which a few persons have nearly all of
    the weight: :math:`(\sum w)^2 / \sum w^2 < t` (Kish 1965).
    """
    if behind.weight is None or statistic.kind not in WEIGHED:
        return np.zeros(belongs.size, dtype=bool)
    weight = behind.weights.copy()
    for column in statistic.columns:
        weight[~behind.there(column)] = 0.0
    rows = pl.DataFrame(
        {"cell": belongs.cell, "who": behind.who[belongs.row], "w": weight[belongs.row]}
    )
    each = rows.group_by("cell", "who").agg(pl.col("w").sum())
    sums = each.group_by("cell").agg(pl.col("w").sum(), pl.col("w").pow(2).sum().alias("squares"))
    few = np.zeros(belongs.size, dtype=bool)
    few[sums["cell"].to_numpy()] = (
        sums["w"].pow(2) < (rules.threshold - 1e-9) * sums["squares"]
    ).to_numpy()
    return few


def _small_part(
    part: NDArray[np.float64], rest: NDArray[np.float64], rules: OutputRules
) -> NDArray[np.bool_]:
    """Shares with too few persons on one side; nobody on a side tells something of all, where zeros
    do.
    """
    least = 0 if rules.zeros else 1
    small: NDArray[np.bool_] = ((part < rules.threshold) & (part >= least)) | (
        (rest < rules.threshold) & (rest >= least)
    )
    return small


def _persons_by_value(column: str, belongs: CellRows, behind: Behind) -> pl.DataFrame:
    """Per cell and value of a column the persons who have it."""
    values = behind.ordered(column)
    present = ~np.isnan(values[belongs.row])
    frame = pl.DataFrame(
        {
            "cell": belongs.cell[present],
            "x": values[belongs.row[present]],
            "who": behind.who[belongs.row[present]],
        }
    )
    return frame.group_by("cell", "x").agg(pl.col("who").n_unique().alias("n"))


def _shared_by_few(
    statistic: CellStatistic, belongs: CellRows, behind: Behind, rules: OutputRules
) -> NDArray[np.bool_]:
    """Cells whose least, largest or commonest value is that of fewer than t persons."""
    shared = _persons_by_value(str(statistic.column), belongs, behind)
    x, n = pl.col("x"), pl.col("n")
    least, most, common = n.sort_by(x).first(), n.sort_by(x).last(), n.max()
    fewest = {"min": least, "max": most, "range": pl.min_horizontal(least, most), "mode": common}[
        statistic.kind
    ]
    counts = shared.group_by("cell").agg(fewest.alias("n"))
    few = np.zeros(belongs.size, dtype=bool)
    few[counts["cell"].to_numpy()] = counts["n"].to_numpy() < rules.threshold
    return few


def _commonest(
    statistic: CellStatistic, belongs: CellRows, behind: Behind, rules: OutputRules
) -> dict[str, NDArray[np.bool_]]:
    """Cells whose commonest value few persons have, or all but a few; and cells of one value
    only.
    """
    shared = _persons_by_value(str(statistic.column), belongs, behind)
    counts = shared.group_by("cell").agg(pl.col("n").max().alias("most"), pl.len().alias("values"))
    place = counts["cell"].to_numpy()
    most, values = np.zeros(belongs.size), np.zeros(belongs.size)
    most[place], values[place] = counts["most"].to_numpy(), counts["values"].to_numpy()
    if statistic.kind == "unique":
        return {"all_equal": values == 1}
    everybody = belongs.persons(behind, behind.there(str(statistic.column)))
    return {"share": _small_part(most, everybody - most, rules)}


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
    released = np.stack([table.values(name) for name in names])
    step = step_of(released.reshape(-1))
    some = belongs.known & ~np.isnan(released).all(axis=0)
    enough = belongs.persons(behind, ~np.isnan(values)) >= rules.threshold
    bands, exact = some & ~enough, np.zeros(belongs.size, dtype=bool)
    order = np.argsort(belongs.cell, kind="stable")
    ends = np.searchsorted(belongs.cell[order], np.arange(belongs.size + 1))
    for cell in np.flatnonzero(some & enough):
        rows = belongs.row[order[ends[cell] : ends[cell + 1]]]
        rows = rows[~np.isnan(values[rows])]
        x, who, points = (
            values[rows],
            behind.who[rows],
            released[~np.isnan(released[:, cell]), cell],
        )
        counts = band_counts(x, who, points)
        if counts[-1] == 0 and _near(x, who, points.max(), 0.0) >= rules.threshold:
            counts.pop()  # the largest value, and enough persons have it
        bands[cell] = min(counts) < rules.threshold
        exact[cell] = min(_near(x, who, one, step) for one in points) < rules.threshold
    return {"bands": bands, "exact": exact & ~bands}


def band_counts(
    values: NDArray[np.float64], who: NDArray[np.int64], points: NDArray[np.float64]
) -> list[int]:
    r"""Persons in every band that
    percentiles cut: :math:`(-\infty, v_1], (v_1, v_2], \dots, (v_m, \infty)`; equal percentiles are
    one.

    >>> band_counts(np.arange(1.0, 11.0), np.arange(10), np.array([5.0]))
    [5, 5]
    """
    cuts = np.unique(points)
    band = np.searchsorted(cuts, values, side="left")
    return [how_many(who[band == number]) for number in range(len(cuts) + 1)]


def _near(values: NDArray[np.float64], who: NDArray[np.int64], released: float, step: float) -> int:
    """Persons whose value is rounded to what is told."""
    slack = step / 2 + 1e-9 * abs(released)
    return how_many(who[np.abs(values - released) <= slack])


SENTENCES = {
    "threshold": ("{of} hold fewer than {t} persons{nobody}", COARSER),
    "dominance": ("{of} are dominated by few contributions", COARSER),
    "p_percent": ("{of} let somebody estimate the largest contribution too closely", COARSER),
    "all_equal": ("{of} hold equal contributions only", COARSER),
    "share": ("{of} have fewer than {t} persons{nobody} on one side of the share", COARSER),
    "extreme": (
        "{of} tell a value that fewer than {t} persons have",
        "tell a percentile instead, rounded: the 5th and the 95th, say",
    ),
    "bands": (
        "{of} leave fewer than {t} persons below, between or above percentiles",
        "tell fewer percentiles, or make the groups coarser",
    ),
    "exact": (
        "{of} tell percentiles so exactly that fewer than {t} persons are near",
        "round them until enough persons share the rounded value",
    ),
}


def offence(
    rule: str, names: Sequence[str], count: int, cells: int, rules: OutputRules
) -> OutputReason:
    """A broken rule in words: how many cells of which columns, and what to do."""
    sentence, advice = SENTENCES[rule]
    nobody = ", or nobody," if rules.zeros and rule in ("threshold", "share") else ""
    of = f"{count:,} of {cells:,} cells of {', '.join(names)}"
    message = sentence.format(of=of, t=rules.threshold, nobody=nobody).rstrip(",")
    return broken(rule, message, advice)
