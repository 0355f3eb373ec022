"""What came out of drawing: columns as they are released, copies one below the other, and what is
to be told of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.fields import Document
from sfumato.core.step import Preserved
from sfumato.methods.steps.synthesis.material import ColumnForm
from sfumato.methods.steps.synthesis.table_draws import Groundwork, reappearing
from sfumato.methods.steps.synthesis.tree_growth import DrawnColumn

if TYPE_CHECKING:
    from sfumato.methods.steps.synthesis.material import Rows
    from sfumato.methods.steps.synthesis.rules import RowRule

COPY = "copy"
"""The column that numbers the copies where there are several."""
MARGINALS = {
    "smoothed": "smoothed: numbers are moved by a kernel",
    "exact": "exact: every original value of every column is published, extremes included",
}
"""What a certificate says of the columns that a copula draws."""


def identifiers(like: pl.Series, numbers: Rows) -> pl.Series:
    """New numbers of persons or households, as text where the column holds text."""
    series = pl.Series(like.name, numbers)
    if like.dtype.is_numeric():
        return series
    return series.cast(pl.String)


def put_cells(column: pl.Series, where: Rows, cells: pl.Series) -> pl.Series:
    """A column with other cells at some places."""
    if cells.dtype != column.dtype:
        column = column.cast(cells.dtype)
    # New cells stand behind the column, so that one look-up serves both.
    source = np.arange(len(column))
    source[where] = len(column) + np.arange(len(where))
    return pl.concat([column, cells.rename(column.name)]).gather(source)


def stack_copies(tables: Sequence[pl.DataFrame], drawn_units: Sequence[str]) -> pl.DataFrame:
    """Copies one below the other, numbered from 1; a drawn person or household belongs to one of
    them only.
    """
    if len(tables) == 1:
        return tables[0]
    marked = []
    for i, table in enumerate(tables, start=1):
        marked.append(table.with_columns(pl.lit(i, dtype=pl.Int64).alias(COPY)))
    for name in drawn_units:
        # Numbers of a copy begin behind the largest count of any: no unit is in two copies.
        largest_count = max(table[name].n_unique() for table in marked)
        marked = [
            table.with_columns(_apart(table[name], copy_number, largest_count))
            for copy_number, table in enumerate(marked)
        ]
    return pl.concat(marked)


def _apart(numbers: pl.Series, copy_number: int, largest_count: int) -> pl.Series:
    """The units of one copy, under names that no other copy has."""
    if numbers.dtype.is_integer():
        return numbers + copy_number * largest_count
    return numbers.cast(pl.String) + f"-{copy_number + 1}"


def with_totals(table: pl.DataFrame, totals: Mapping[str, float]) -> pl.DataFrame:
    """Survey weights multiplied by one number each, so that they add up to a total; left alone
    where they add up to nothing.

    >>> with_totals(pl.DataFrame({"weight": [1, 3, None]}), {"weight": 10.0})["weight"].to_list()
    [2.5, 7.5, None]
    """
    sums = {name: float(table[name].sum()) for name in totals}
    factors = {
        # Nothing times any number stays nothing.
        name: total / sums[name]
        for name, total in totals.items()
        if sums[name] > 0 and total > 0
    }
    return table.with_columns(
        pl.col(name).cast(pl.Float64) * factor for name, factor in factors.items()
    )


def weights_kept(
    tables: Sequence[pl.DataFrame], totals: Mapping[str, float]
) -> Iterator[Preserved]:
    """That weights add up to what they did, in every copy."""
    for name, total in totals.items():
        if total > 0:
            off = max(abs(float(table[name].sum()) / total - 1) for table in tables)
            yield Preserved("sum", (name,), exactly=off < 1e-9, off_by=off)


@dataclasses.dataclass(frozen=True)
class ToldOfDraws:
    """What whoever runs the recipe should know, what the owner may look up, and how many rules hold
    in every record.
    """

    warnings: list[str]
    owner: Document
    kept_rules: int


def summarize_draws(
    ground: Groundwork, rows: Rows, copies: Sequence[Mapping[str, DrawnColumn]]
) -> ToldOfDraws:
    """What is drawn that few people have, and which learnt rules gave way; ``rows`` are the records
    learnt from.
    """
    rare, reappearing_shares = {}, {}
    for name in ground.order:
        material = ground.materials[name]
        training = material.taken(rows)
        if cells := sum(material.rare(copy[name].donors, training) for copy in copies):
            rare[name] = cells
        if material.form is ColumnForm.NUMBERS and not material.by_class:
            share = max(reappearing(material, rows, copy[name].raw(material)) for copy in copies)
            if not np.isnan(share):
                reappearing_shares[name] = round(share, 4)
    # Rules of the recipe always hold; learnt ones (number 0) may give way to them.
    given_way = [_count_broken(rule, ground, copies) for rule in ground.rules if not rule.number]
    lost = sum(bool(records) for records in given_way)
    owner: Document = {"rare_cells": rare, "unique_numbers_again": reappearing_shares}
    if lost:
        owner["learnt_rules_given_way"] = sum(given_way)
    partly_reappearing = [
        n for n, share in reappearing_shares.items() if share > 0 and not ground.materials[n].smooth
    ]
    rule_count = len(ground.rules) + len(ground.unit_rules)
    return ToldOfDraws(_warnings(rare, partly_reappearing, given_way), owner, rule_count - lost)


def _warnings(
    rare: Mapping[str, int], copied: Sequence[str], given_way: Sequence[int]
) -> list[str]:
    messages = []
    if rare:
        columns = ", ".join(f"{name} ({cells:,})" for name, cells in rare.items())
        messages.append(
            f"synthesize: cells with a category of fewer than 3 records were created in {columns}"
        )
    if copied:
        messages.append(
            f"synthesize: unique numbers were reproduced in {', '.join(copied)}; smoothing: kernel "
            "moves them"
        )
    if any(given_way):
        rules = sum(bool(records) for records in given_way)
        messages.append(
            f"synthesize: {rules:,} learnt rule(s) were broken in favour of others in "
            f"{sum(given_way):,} record(s)"
        )
    return messages


def _count_broken(
    rule: RowRule, ground: Groundwork, copies: Sequence[Mapping[str, DrawnColumn]]
) -> int:
    """In how many drawn records a rule does not hold."""
    names = {clause.column for clause in (*rule.premise, rule.conclusion)}
    broken_cells = 0
    for copy in copies:
        raw = {name: copy[name].raw(ground.materials[name]) for name in names}
        holds = rule.conclusion.meets(
            ground.materials[rule.conclusion.column], raw[rule.conclusion.column]
        )
        is_broken = rule.applies(ground.materials, raw) & ~holds
        broken_cells += int(is_broken.sum())
    return broken_cells
