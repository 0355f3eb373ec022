"""Cells of a table: who contributes to each, and how much; margins by the levels of hierarchies."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import bind
from sfumato.errors import ParameterError, SchemaError
from sfumato.results.tables.problem import NOBODY

if TYPE_CHECKING:
    from sfumato.core.encoding import Encoded
    from sfumato.core.table import Table
    from sfumato.results.tables.arrays import Codes, Floats, Mask
    from sfumato.results.tables.table import TableMeasure

TOTAL, MISSING = "Total", "(missing)"
MOST_CELLS = 5_000_000


@dataclasses.dataclass(frozen=True, eq=False)
class Dimension:
    """One column of a table as a tree of nodes: node 0 is the total, the last level holds the
    values.

    ``parent`` is −1 for the total. ``ancestors[level][code]`` is the node above the value with that
    code; level 0 is the total.
    """

    column: str
    labels: tuple[str, ...]
    parent: Codes
    ancestors: tuple[Codes, ...]

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.labels)

    def fresh(self, level: int) -> Mask:
        """Per code whether its node on a level is another one than on the level above."""
        at = self.ancestors[level]
        return at != self.ancestors[level - 1] if level else np.ones(len(at), dtype=bool)

    @cached_property
    def same(self) -> Codes:
        """Per node the one that holds the same records: a node with one child is that child."""
        children = np.bincount(self.parent[1:], minlength=self.size)
        representative = np.arange(self.size)
        for node in range(self.size - 1, 0, -1):  # children stand after their parents
            if children[self.parent[node]] == 1:
                representative[self.parent[node]] = representative[node]
        return representative

    @cached_property
    def above(self) -> Codes:
        """Per node that stands for itself the node it is a part of; −1 at the top."""
        above = np.full(self.size, -1, dtype=np.int64)
        for node in np.unique(self.same):
            upper = self.parent[node]
            while upper >= 0 and self.same[upper] == node:
                upper = self.parent[upper]
            above[node] = upper
        return above

    @cached_property
    def parts(self) -> dict[int, Codes]:
        """Every node that is a sum → what it is the sum of."""
        own = np.unique(self.same)
        wholes = np.unique(self.above[own])
        return {int(whole): own[self.above[own] == whole] for whole in wholes[wholes >= 0]}

    @cached_property
    def root(self) -> int:
        """The node that stands for the total."""
        return int(self.same[0])


def dimension_of(column: str, encoded: Encoded, hierarchy: Any = None) -> tuple[Dimension, Codes]:
    """The nodes of a column and, per code of the encoding, its place among the lowest ones."""
    ladder = bind(hierarchy, encoded.labels, encoded.counts.tolist())
    levels = list(range(ladder.depth))[::-1]  # the top first
    # a top level of one value is the total again
    if len(ladder.labels[levels[0]]) == 1:
        levels = levels[1:]
    if not levels:  # one level with one value
        levels = [0]
    labels, parent = [TOTAL], [np.array([-1])]
    nodes: list[Codes] = []
    for number, level in enumerate(levels):
        names = [MISSING if label is None else label for label in ladder.labels[level]]
        if nodes:
            above = nodes[-1][_parents(ladder, level, levels[number - 1])]
        else:
            above = np.zeros(len(names), dtype=np.int64)
        # a value that is the only one below its parent and has the same name is no node of its own
        only = np.bincount(above)[above] == 1
        repeats = [
            bool(nodes and only[at] and labels[above[at]] == name) for at, name in enumerate(names)
        ]
        order = [at for at in in_order(ladder.labels[level], above) if not repeats[at]]
        node = above.copy()  # what is called as before, and all there is of it, is there already
        node[order] = len(labels) + np.arange(len(order))
        nodes.append(node)
        labels += [names[at] for at in order]
        parent.append(above[order])
    values = np.arange(len(ladder.labels[0]))
    ancestors = [np.zeros(len(values), dtype=np.int64)]
    ancestors += [nodes[number][ladder.climb(0, level)] for number, level in enumerate(levels)]
    # codes of the encoding and codes of the lowest level need not be in the same order
    at = {label: code for code, label in enumerate(ladder.labels[0])}
    codes = np.array([at[label] for label in encoded.labels], dtype=np.int64)
    return Dimension(column, apart(labels), np.concatenate(parent), tuple(ancestors)), codes


NUMBER = re.compile(r"[-+]?\d{1,300}(\.\d+)?(e[-+]?\d{1,2})?", re.IGNORECASE | re.ASCII)


def in_order(labels: Sequence[str | None], above: Sequence[int] | Codes) -> list[int]:
    """The order in which the labels of a level are shown: numbers as numbers below what they are a
    part of, missing last; all others as they come.

    >>> in_order(["1", "10", "2", None], [0, 0, 0, 0]), in_order(["b", "a"], [0, 0])
    ([0, 2, 1, 3], [0, 1])
    """
    if not all(label is None or NUMBER.fullmatch(label) for label in labels):
        return list(range(len(labels)))
    return sorted(
        range(len(labels)),
        key=lambda at: (above[at], labels[at] is None, float(labels[at] or 0), at),
    )


def _parents(ladder: Any, level: int, above: int) -> Codes:
    parents: Codes = ladder.climb(level, above)
    return parents


def apart(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels that differ: one that comes again gets the next number that makes none of the others.

    >>> apart(["Total", "Total", "Total (2)", "a"])
    ('Total', 'Total (3)', 'Total (2)', 'a')
    """
    labels_used, new_labels = set(labels), list(labels)
    labels_seen: set[str] = set()
    for at, label in enumerate(labels):
        if label in labels_seen:
            new_labels[at] = next(
                name
                for count in itertools.count(2)
                if (name := f"{label} ({count})") not in labels_used
            )
        labels_seen.add(label)
        labels_used.add(new_labels[at])
    return tuple(new_labels)


@dataclasses.dataclass(frozen=True, eq=False)
class Contributions:
    """What respondents contribute: per row the codes of its values, who, and how much (NaN: nothing
    known).
    """

    codes: Codes
    respondent: Codes
    amount: Floats
    missing_counts: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class TableCells:
    """Cells in the order of their numbers: ``n`` respondents, the true sum ``value``, the sum
    ``size`` of absolute contributions, the largest of them.

    ``top[cell, i]`` is the (i + 1)-th largest absolute contribution of a respondent, 0 beyond the
    last. ``owner`` is who is alone in a cell. ``counted`` tells that values are counts. ``shape``
    is the number of nodes per dimension.
    """

    dimensions: tuple[Dimension, ...]
    n: Codes
    value: Floats
    size: Floats
    top: Floats
    least: Floats
    owner: Codes
    counted: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Nodes per dimension."""
        return tuple(dimension.size for dimension in self.dimensions)

    def largest(self, count: int) -> Floats:
        """The sum of the largest contributions of every cell."""
        summed: Floats = self.top[:, :count].sum(axis=1)
        return summed


def cells_of(
    dimensions: tuple[Dimension, ...], contributions: Contributions, *, is_count: bool, depth: int
) -> TableCells:
    """All cells, margins included; a respondent's rows in a cell are one contribution, in a margin
    too.
    """
    shape = tuple(dimension.size for dimension in dimensions)
    count = int(np.prod([float(size) for size in shape]))
    if count > MOST_CELLS:
        raise ParameterError(
            f"the table would have {count:,} cells, more than {MOST_CELLS:,}; leave out columns or"
            " levels"
        )
    cells = TableCells(
        dimensions,
        np.zeros(count, dtype=np.int64),
        np.zeros(count),
        np.zeros(count),
        np.zeros((count, max(1, depth))),
        np.zeros(count),
        np.full(count, NOBODY, dtype=np.int64),
        is_count,
    )
    # sums must not depend on the order of rows
    order = np.lexsort((contributions.amount, contributions.respondent, *contributions.codes))
    codes, respondents, amount = (
        contributions.codes[:, order],
        contributions.respondent[order],
        contributions.amount[order],
    )
    is_known = ~np.isnan(amount)
    # every respondent has one row: contributions are in the right order in all margins then, and
    # need not be added up per respondent in each of them
    alone = len(np.unique(respondents)) == len(respondents) and bool(is_known.all())
    if alone:  # the largest contributions first, once for all levels
        order = np.argsort(-np.abs(amount), kind="stable")
        codes, respondents, amount = codes[:, order], respondents[order], amount[order]
    for levels in np.ndindex(*(len(dimension.ancestors) for dimension in dimensions)):
        steps = list(zip(dimensions, levels, codes, strict=True))
        nodes = [dimension.ancestors[level][code] for dimension, level, code in steps]
        cell_numbers = np.ravel_multi_index(nodes, shape).astype(np.int64)
        # a node that stands on two levels is filled on the upper one only, else its records count
        # twice
        fresh = np.logical_and.reduce(
            [dimension.fresh(level)[code] for dimension, level, code in steps]
        )
        cell_numbers, cell_respondents, cell_amounts = (
            cell_numbers[fresh],
            respondents[fresh],
            amount[fresh],
        )
        if alone:
            _rank_contributions(
                cells,
                cell_numbers,
                cell_respondents,
                np.ones(len(cell_amounts)) if is_count else cell_amounts,
            )
        else:
            _fill(
                cells,
                cell_numbers,
                cell_respondents,
                cell_amounts,
                missing_counts=contributions.missing_counts,
            )
    if (
        decimal_places := decimals(amount[is_known])
    ) is not None:  # a sum has no more of them than what is summed
        cells.value[:] = np.round(cells.value, decimal_places)
    return cells


def decimals(amount: Floats) -> int | None:
    """How many decimal places numbers have, up to six; None for more."""
    return next(
        (
            decimal_places
            for decimal_places in range(7)
            if np.array_equal(amount, np.round(amount, decimal_places))
        ),
        None,
    )


def _rank_contributions(
    cells: TableCells,
    cell_numbers: Codes,
    respondents: Codes,
    total: Floats,
) -> None:
    """Put contributions of respondents into cells, the largest of them first in their order."""
    count = len(cells.n)
    # arrays of all cells, but only the occupied ones are written: every call adds another margin
    respondent_counts = np.bincount(cell_numbers, minlength=count)
    occupied = np.flatnonzero(respondent_counts)
    cells.n[occupied] += respondent_counts[occupied]
    cells.value[occupied] += np.bincount(cell_numbers, weights=total, minlength=count)[occupied]
    cells.size[occupied] += np.bincount(cell_numbers, weights=np.abs(total), minlength=count)[
        occupied
    ]
    # where several are in a cell each of them writes NOBODY, so the last one does not matter
    cells.owner[cell_numbers] = np.where(respondent_counts[cell_numbers] == 1, respondents, NOBODY)
    if cells.counted:
        cells.least[occupied] = 1.0
        cells.top[occupied] = (
            respondent_counts[occupied, None] > np.arange(cells.top.shape[1])
        ).astype(np.float64)
        return
    # stable: within a cell the largest stays first
    order = np.argsort(cell_numbers, kind="stable")
    ends = np.cumsum(respondent_counts[occupied])
    starts = ends - respondent_counts[occupied]
    sizes = np.abs(total[order])
    # the last of a cell is its smallest: counts 2, 3 → ends 2, 5 → places 1, 4
    cells.least[occupied] = sizes[ends - 1]
    for rank in range(cells.top.shape[1]):
        enough = respondent_counts[occupied] > rank
        cells.top[occupied[enough], rank] = sizes[starts[enough] + rank]


def _fill(
    cells: TableCells,
    cell_numbers: Codes,
    respondents: Codes,
    amount: Floats,
    *,
    missing_counts: bool,
) -> None:
    """Put the contributions of one combination of levels into its cells."""
    order = np.lexsort((respondents, cell_numbers))
    cell_numbers, respondents, amount = cell_numbers[order], respondents[order], amount[order]
    # the first row of every respondent in every cell; the rows after it belong to the same
    # contribution
    first = np.ones(len(cell_numbers), dtype=bool)
    first[1:] = (cell_numbers[1:] != cell_numbers[:-1]) | (respondents[1:] != respondents[:-1])
    group = np.cumsum(first) - 1
    is_known = ~np.isnan(amount)
    summed = np.bincount(group, weights=np.where(is_known, amount, 0.0)).astype(np.float64)
    # a person in a cell is one, however many rows
    total = np.ones(len(summed)) if cells.counted else summed
    has_value = np.bincount(group, weights=is_known) > 0
    cell, respondent = cell_numbers[first], respondents[first]
    # respondents of whom only missing amounts are known here
    silent, of_silent = cell[~has_value], respondent[~has_value]
    cell, respondent, total = cell[has_value], respondent[has_value], total[has_value]
    order = np.argsort(-np.abs(total), kind="stable")
    _rank_contributions(cells, cell[order], respondent[order], total[order])
    if missing_counts:
        np.add.at(cells.n, silent, 1)
        alone = cells.n[silent] == 1  # who said nothing, and is alone, knows that the cell is empty
        cells.owner[silent[alone]] = of_silent[alone]


def amounts(dataset: Table, measure: TableMeasure, weight: str | None, negatives: str) -> Floats:
    """What every record contributes, times its weight; NaN where nothing is known."""
    if measure.column is None:
        amount = np.ones(len(dataset))
    else:
        amount = _numbers(dataset, measure.column)
    if measure.column is None and weight is not None:
        raise ParameterError(
            f"a weight needs sum(column); to publish weighted counts write sum({weight})"
        )
    if weight is not None:
        factors = _numbers(dataset, weight)
        if np.isnan(factors).any() or (factors < 0).any():
            raise SchemaError(
                f"the weight {weight!r} is missing or negative in some rows; correct it first"
            )
        with np.errstate(over="ignore"):
            amount = amount * factors
    with np.errstate(over="ignore"):
        if not np.isfinite(np.nansum(np.abs(amount))):
            raise SchemaError(
                f"the contributions to {measure} are too large to be summed; divide them first"
            )
    below = int((amount < 0).sum())
    if below and negatives == "refuse":
        raise SchemaError(
            f"{below:,} contributions to {measure} are negative, but the rules assume positive "
            "ones; say how they count: --negatives, in Python negatives='absolute', uses their "
            "size"
        )
    return amount


def some_negative(dataset: Table, measure: TableMeasure) -> bool:
    """Whether a source has negative contributions: where it has none, everybody may know that there
    are none.
    """
    return measure.column is not None and bool((_numbers(dataset, measure.column) < 0).any())


def _numbers(dataset: Table, name: str) -> Floats:
    if not dataset.dtype(name).is_numeric():
        raise SchemaError(f"column {name!r} holds no numbers; sum a column of numbers")
    values: Floats = dataset.column(name).cast(pl.Float64).fill_null(float("nan")).to_numpy()
    if np.isinf(values).any():
        raise SchemaError(f"column {name!r} holds infinite numbers; make them missing first")
    return values.copy()


def escape_name(text: str, signs: str = "") -> str:
    r"""A text in which the signs that join names are marked.

    >>> escape_name("a|b=c"), escape_name("a|b=c", "=")
    ('a\\|b=c', 'a\\|b\\=c')
    """
    for sign in "\\|" + signs:
        text = text.replace(sign, f"\\{sign}")
    return text
