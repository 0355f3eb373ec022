"""Which cells of a table break which rule: too few persons, few who contribute nearly all, values
and percentiles that few share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.results.checking.contributing_records import (
    CellMembers,
    ContributingRecords,
    count_persons,
)
from sfumato.results.checking.layout import OutputTable
from sfumato.results.checking.statistics_of_columns import (
    AMOUNTS,
    EXTREMES,
    LABELLED,
    QUANTILES,
    CellStatistic,
    percent_base,
    step_of,
)
from sfumato.results.checking.verdict import OutputReason, OutputRules, violation

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Floats, Mask
    from sfumato.results.tables.cells import TableCells
    from sfumato.results.tables.rules import SensitivityRule

COARSER = "make the groups coarser, or leave the cells out (verdict.suggestion)"
WEIGHTED = ("rows", "sum", "mean", "share", "ratio")
"""Statistics in which weights count."""
MOST_COMPARED = 20_000_000
"""Cells times persons up to which cells are compared with each other."""
SENTENCES = {
    "threshold": ("{of} hold fewer than {t} persons{nobody}", COARSER),
    "dominance": ("{of} are dominated by few contributions", COARSER),
    "p_percent": ("{of} let somebody estimate the largest contribution too closely", COARSER),
    "all_equal": ("{of} hold equal contributions only", COARSER),
    "share": ("{of} have fewer than {t} persons{nobody} on one side of the share", COARSER),
    "extreme": (
        "{of} reveal a value that fewer than {t} persons have",
        "release a percentile instead, rounded: the 5th and the 95th, for example",
    ),
    "bands": (
        "{of} leave fewer than {t} persons below, between or above percentiles",
        "release fewer percentiles, or make the groups coarser",
    ),
    "exact": (
        "{of} give percentiles so exactly that fewer than {t} persons are near",
        "round them until enough persons share the rounded value",
    ),
}
"""Per rule the sentence about cells that break it, and what to do."""


def describe_violation(
    rule: str, names: Sequence[str], count: int, cells: int, rules: OutputRules
) -> OutputReason:
    """A broken rule in words: how many cells of which columns, and what to do."""
    sentence, advice = SENTENCES[rule]
    if rules.zeros and rule in ("threshold", "share"):
        nobody = ", or nobody,"
    else:
        nobody = ""
    of = f"{count:,} of {cells:,} cells of {', '.join(names)}"
    message = sentence.format(of=of, t=rules.threshold, nobody=nobody).rstrip(",")
    return violation(rule, message, advice)


def find_violations(
    table: OutputTable,
    statistics: Sequence[tuple[str, CellStatistic]],
    members: CellMembers,
    records: ContributingRecords,
    rules: OutputRules,
) -> Iterator[tuple[str, list[str], Mask]]:
    """Every rule with the columns it is about and the cells that break it."""
    # Percentiles of one column belong together: enough persons must be between any two of them.
    quantiles: dict[str, list[str]] = {}
    for name, statistic in statistics:
        for rule, cells in _column_violations(table, statistic, members, records, rules).items():
            yield rule, [name], cells
        if statistic.kind in QUANTILES:
            quantiles.setdefault(str(statistic.column), []).append(name)
    for column, names in quantiles.items():
        for rule, cells in _percentile_violations(
            table, names, records.numbers(column), members, records, rules
        ).items():
            yield rule, names, cells


def _column_violations(
    table: OutputTable,
    statistic: CellStatistic,
    members: CellMembers,
    records: ContributingRecords,
    rules: OutputRules,
) -> dict[str, Mask]:
    """Per rule the cells of one column that break it."""
    contributions = _contributions(statistic, members, records, rules)
    unsafe: dict[str, Mask] = {}
    for rule in rules.of_counts:
        unsafe[rule.name] = any_unsafe(rule, contributions)
    if statistic.kind in AMOUNTS:
        for rule in rules.of_amounts:
            # Cells without any contribution are judged by the number of persons.
            unsafe[rule.name] = any_unsafe(rule, contributions) & (contributions[0].n > 0)
        unsafe["dominance"] |= _dominated_by_weight(statistic, members, records, rules)
        unsafe["share"] = _two_values_one_rare(statistic, members, records, rules)
        # A mean or sum of zeros and ones is a share: both of its sides count.
        column = str(statistic.column)
        if statistic.kind in ("share", "mean", "sum") and records.is_binary(column):
            values = records.numbers(column)
            # A sum of ones tells how many have it and, with the count, how many have not.
            with_value = members.persons(records, values == 1)
            without_value = members.persons(records, values == 0)
            unsafe["share"] |= _small_side(with_value, without_value, rules)
    if statistic.kind == "rows":
        unsafe["dominance"] = _dominated_by_weight(statistic, members, records, rules)
    if statistic.kind == "percent":
        part = members.persons(records).astype(np.float64)
        remainder = percent_base(statistic, members, records, table.by) - part
        # A sum over all columns that the percentage is not within is a hundred percent by what
        # it is, and reveals nothing.
        whole = np.ones(members.size, dtype=bool)
        for name, margin in zip(table.by, members.margins, strict=False):
            if name not in statistic.words:
                whole &= margin
        unsafe["share"] = _small_side(part, remainder, rules) & ~whole
    if statistic.kind in EXTREMES:
        unsafe["extreme"] = _rare_extreme(statistic, members, records, rules)
    elif statistic.kind in LABELLED:
        unsafe |= _commonest_value(statistic, members, records, rules)
    return unsafe


def any_unsafe(rule: SensitivityRule, contributions: Sequence[TableCells]) -> Mask:
    """The cells that a rule finds unsafe by the contributions to any of several columns."""
    unsafe: Mask = np.logical_or.reduce([rule.unsafe(cells) for cells in contributions])
    return unsafe


def differ_by_few(
    statistics: Sequence[tuple[str, CellStatistic]],
    members: CellMembers,
    records: ContributingRecords,
    rules: OutputRules,
) -> list[OutputReason]:
    """Cells of one table that share all but a few persons, with the same contributions: their
    difference tells of those few.
    """
    if records.unit is None or members.size * records.person_bound > MOST_COMPARED:
        return []
    columns = {str(statistic.column) for _, statistic in statistics if statistic.kind in AMOUNTS}
    for column in columns:
        amounts = _sum_per_person("x", records.numbers(column), members, records)
        # Where every person is in one cell, no two cells share any.
        if amounts["person"].n_unique() == len(amounts):
            continue
        contributions = np.full((members.size, records.person_bound), np.nan)
        pairs = amounts["cell"].to_numpy(), amounts["person"].to_numpy()
        contributions[pairs] = amounts["x"].to_numpy()
        # A margin differs from its parts by whole cells, which is looked at with margins.
        contributions = contributions[~members.total]
        for cell, contribution in enumerate(contributions):
            later_cells = contributions[cell + 1 :]
            present, others_present = ~np.isnan(contribution), ~np.isnan(later_cells)
            common = present & others_present
            apart = (present != others_present).sum(axis=1)
            # Two cells with other contributions of the same person do not cancel out.
            equal = ((contribution == later_cells) | ~common).all(axis=1) & common.any(axis=1)
            if (equal & (apart > 0) & (apart < rules.threshold)).any():
                words = (
                    f"two cells have the same persons except for fewer than {rules.threshold}: "
                    "their difference reveals these"
                )
                return [violation("difference", words, "release one of them only")]
    return []


def _sum_per_person(
    name: str, values: Floats, members: CellMembers, records: ContributingRecords
) -> pl.DataFrame:
    """Per cell and person the sum of some values."""
    frame = pl.DataFrame(
        {
            "cell": members.cell,
            "person": records.person_ids[members.row],
            name: values[members.row],
        }
    )
    return frame.group_by("cell", "person").agg(pl.col(name).sum())


def _contributions(
    statistic: CellStatistic, members: CellMembers, records: ContributingRecords, rules: OutputRules
) -> list[TableCells]:
    """The cells with what persons contribute to a statistic; of a ratio to both of its columns."""
    depth = max(2, *(rule.depth for rule in rules.of_amounts))
    if statistic.column is None:
        return [members.contributions(records, np.ones(len(records)), depth)]
    if statistic.kind == "count" or statistic.kind in LABELLED:
        present = np.where(records.has_value(statistic.column), 1.0, np.nan)
        return [members.contributions(records, present, depth)]
    contributions = []
    for column in statistic.columns:
        # A contribution is what enters the sum: value times weight.
        amounts = records.numbers(column) * records.weights
        contributions.append(members.contributions(records, amounts, depth))
    return contributions


def _two_values_one_rare(
    statistic: CellStatistic, members: CellMembers, records: ContributingRecords, rules: OutputRules
) -> Mask:
    """Cells with two different values, one of which is that of few persons: a mean or a deviation
    of them is a share, however the two are coded.
    """
    unsafe = np.zeros(members.size, dtype=bool)
    for column in statistic.columns:
        persons = _persons_by_value(column, members, records)
        values = persons.group_by("cell").agg(pl.len().alias("values"), pl.col("n").min())
        rare = values.filter((pl.col("values") == 2) & (pl.col("n") < rules.threshold))
        unsafe[rare["cell"].to_numpy()] = True
    return unsafe


def _dominated_by_weight(
    statistic: CellStatistic, members: CellMembers, records: ContributingRecords, rules: OutputRules
) -> Mask:
    r"""Cells in which a few persons have nearly all of the weight: fewer than t effective persons,
    :math:`(\sum w)^2 / \sum w^2 < t` (Kish 1965).
    """
    unsafe = np.zeros(members.size, dtype=bool)
    if records.weight is None or statistic.kind not in WEIGHTED:
        return unsafe
    weight = records.weights.copy()
    for column in statistic.columns:
        # Who has no value has no weight in this statistic.
        weight[~records.has_value(column)] = 0.0
    w = pl.col("w")
    sums = _sum_per_person("w", weight, members, records).group_by("cell")
    effective = sums.agg(w.sum(), w.pow(2).sum().alias("squares"))
    dominated = effective["w"].pow(2) < (rules.threshold - 1e-9) * effective["squares"]
    unsafe[effective["cell"].to_numpy()] = dominated.to_numpy()
    return unsafe


def _small_side(part: Floats | Codes, remainder: Floats | Codes, rules: OutputRules) -> Mask:
    """Shares with too few persons on one side; nobody on a side tells something of all, where zeros
    do.
    """
    smallest_told = 0 if rules.zeros else 1
    small_part = (part < rules.threshold) & (part >= smallest_told)
    small_remainder = (remainder < rules.threshold) & (remainder >= smallest_told)
    small: Mask = small_part | small_remainder
    return small


def _persons_by_value(
    column: str, members: CellMembers, records: ContributingRecords
) -> pl.DataFrame:
    """Per cell and value of a column the number ``n`` of persons who have it."""
    values = records.ordered(column)[members.row]
    present = ~np.isnan(values)
    frame = pl.DataFrame(
        {
            "cell": members.cell[present],
            "x": values[present],
            "person": records.person_ids[members.row[present]],
        }
    )
    return frame.group_by("cell", "x").agg(pl.col("person").n_unique().alias("n"))


def _rare_extreme(
    statistic: CellStatistic, members: CellMembers, records: ContributingRecords, rules: OutputRules
) -> Mask:
    """Cells whose least, largest or commonest value is that of fewer than t persons."""
    x, n = pl.col("x"), pl.col("n")
    with_least, with_largest = n.sort_by(x).first(), n.sort_by(x).last()
    persons = {
        "min": with_least,
        "max": with_largest,
        "range": pl.min_horizontal(with_least, with_largest),
        "mode": n.max(),
    }[statistic.kind]
    values = _persons_by_value(str(statistic.column), members, records)
    counts = values.group_by("cell").agg(persons.alias("n"))
    unsafe = np.zeros(members.size, dtype=bool)
    unsafe[counts["cell"].to_numpy()] = counts["n"].to_numpy() < rules.threshold
    return unsafe


def _commonest_value(
    statistic: CellStatistic, members: CellMembers, records: ContributingRecords, rules: OutputRules
) -> dict[str, Mask]:
    """Cells whose commonest value few persons have, or all but a few; and cells of one value
    only.
    """
    persons = _persons_by_value(str(statistic.column), members, records)
    counts = persons.group_by("cell").agg(pl.col("n").max(), pl.len().alias("values"))
    cell = counts["cell"].to_numpy()
    if statistic.kind == "unique":
        values = np.zeros(members.size)
        values[cell] = counts["values"].to_numpy()
        return {"all_equal": values == 1}
    commonest = np.zeros(members.size)
    commonest[cell] = counts["n"].to_numpy()
    everybody = members.persons(records, records.has_value(str(statistic.column)))
    return {"share": _small_side(commonest, everybody - commonest, rules)}


def _percentile_violations(
    table: OutputTable,
    names: Sequence[str],
    values: Floats,
    members: CellMembers,
    records: ContributingRecords,
    rules: OutputRules,
) -> dict[str, Mask]:
    """Cells with too few persons between percentiles, or whose percentiles are told too exactly."""
    released = np.stack([table.values(name) for name in names])
    step = step_of(released.reshape(-1))
    visible = members.in_data & ~np.isnan(released).all(axis=0)
    # Cells of fewer persons fail at once: no band of theirs can hold enough.
    enough = members.persons(records, ~np.isnan(values)) >= rules.threshold
    few_between, exact = visible & ~enough, np.zeros(members.size, dtype=bool)
    rows_by_cell = members.rows_by_cell()
    for cell in np.flatnonzero(visible & enough):
        rows = rows_by_cell[cell]
        rows = rows[~np.isnan(values[rows])]
        x, person_ids = values[rows], records.person_ids[rows]
        points = released[~np.isnan(released[:, cell]), cell]
        counts = band_counts(x, person_ids, points)
        # Nobody is above the largest value; it may be told where enough persons have it.
        if counts[-1] == 0 and _persons_near(x, person_ids, points.max(), 0.0) >= rules.threshold:
            counts.pop()
        few_between[cell] = min(counts) < rules.threshold
        near = [_persons_near(x, person_ids, point, step) for point in points]
        exact[cell] = min(near) < rules.threshold
    return {"bands": few_between, "exact": exact & ~few_between}


def band_counts(values: Floats, person_ids: Codes, points: Floats) -> list[int]:
    r"""Persons in every band that percentiles
    cut: :math:`(-\infty, v_1], (v_1, v_2], \dots, (v_m, \infty)`; equal percentiles are one.

    >>> band_counts(np.arange(1.0, 11.0), np.arange(10), np.array([5.0]))
    [5, 5]
    """
    cuts = np.unique(points)
    # A value that equals a percentile lies in the band below it.
    band = np.searchsorted(cuts, values, side="left")
    return [count_persons(person_ids[band == number]) for number in range(len(cuts) + 1)]


def _persons_near(values: Floats, person_ids: Codes, point: float, step: float) -> int:
    """Persons whose value is rounded to what is told."""
    # Everything within half a step is rounded to the same number.
    slack = step / 2 + 1e-9 * abs(point)
    return count_persons(person_ids[np.abs(values - point) <= slack])
