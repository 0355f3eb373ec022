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
    from numpy.typing import NDArray

    from sfumato.core.encoding import Encoded
    from sfumato.core.table import Table
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
    parent: NDArray[np.int64]
    ancestors: tuple[NDArray[np.int64], ...]

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.labels)

    def fresh(self, level: int) -> NDArray[np.bool_]:
        """Per code whether its node on a level is another one than on the level above."""
        at = self.ancestors[level]
        return at != self.ancestors[level - 1] if level else np.ones(len(at), dtype=bool)

    @cached_property
    def same(self) -> NDArray[np.int64]:
        """Per node the one that holds the same records: a node with one child is that child."""
        children = np.bincount(self.parent[1:], minlength=self.size)
        same = np.arange(self.size)
        for node in range(self.size - 1, 0, -1):  # children stand after their parents
            if children[self.parent[node]] == 1:
                same[self.parent[node]] = same[node]
        return same

    @cached_property
    def above(self) -> NDArray[np.int64]:
        """Per node that stands for itself the node it is a part of; −1 at the top."""
        above = np.full(self.size, -1, dtype=np.int64)
        for node in np.unique(self.same):
            upper = self.parent[node]
            while upper >= 0 and self.same[upper] == node:
                upper = self.parent[upper]
            above[node] = upper
        return above

    @cached_property
    def parts(self) -> dict[int, NDArray[np.int64]]:
        """Every node that is a sum → what it is the sum of."""
        own = np.unique(self.same)
        wholes = np.unique(self.above[own])
        return {int(whole): own[self.above[own] == whole] for whole in wholes[wholes >= 0]}

    @cached_property
    def root(self) -> int:
        """The node that stands for the total."""
        return int(self.same[0])


def dimension_of(
    column: str, encoded: Encoded, hierarchy: Any = None
) -> tuple[Dimension, NDArray[np.int64]]:
    """The nodes of a column and, per code of the encoding, its place among the lowest ones."""
    ladder = bind(hierarchy, encoded.labels, encoded.counts.tolist())
    levels = list(range(ladder.depth))[::-1]  # the top first
    if len(ladder.labels[levels[0]]) == 1:
        levels = levels[1:]
    if not levels:  # one level with one value
        levels = [0]
    labels, parent = [TOTAL], [np.array([-1])]
    nodes: list[NDArray[np.int64]] = []
    for place, level in enumerate(levels):
        names = [MISSING if label is None else label for label in ladder.labels[level]]
        above = (
            nodes[-1][_parents(ladder, level, levels[place - 1])]
            if nodes
            else np.zeros(len(names), dtype=np.int64)
        )
        only = np.bincount(above)[above] == 1
        again = [
            bool(nodes and only[at] and labels[above[at]] == name) for at, name in enumerate(names)
        ]
        order = [at for at in in_order(ladder.labels[level], above) if not again[at]]
        node = above.copy()  # what is called as before, and all there is of it, is there already
        node[order] = len(labels) + np.arange(len(order))
        nodes.append(node)
        labels += [names[at] for at in order]
        parent.append(above[order])
    values = np.arange(len(ladder.labels[0]))
    ancestors = [np.zeros(len(values), dtype=np.int64)]
    ancestors += [nodes[place][ladder.climb(0, level)] for place, level in enumerate(levels)]
    at = {label: code for code, label in enumerate(ladder.labels[0])}
    codes = np.array([at[label] for label in encoded.labels], dtype=np.int64)
    return Dimension(column, apart(labels), np.concatenate(parent), tuple(ancestors)), codes


NUMBER = re.compile(r"[-+]?\d{1,300}(\.\d+)?(e[-+]?\d{1,2})?", re.IGNORECASE | re.ASCII)


def in_order(labels: Sequence[str | None], above: Sequence[int] | NDArray[np.int64]) -> list[int]:
    """The order in which the labels of a level are shown: numbers as numbers below what they are a
    part of, missing last; all others as they come.

    >>> in_order(["1", "10", "2", None], [0, 0, 0, 0]), in_order(["b", "a"], [0, 0])
    ([0, 2, 1, 3], [0, 1])
    """
    if not all(one is None or NUMBER.fullmatch(one) for one in labels):
        return list(range(len(labels)))
    return sorted(
        range(len(labels)),
        key=lambda at: (above[at], labels[at] is None, float(labels[at] or 0), at),
    )


def _parents(ladder: Any, level: int, above: int) -> NDArray[np.int64]:
    parents: NDArray[np.int64] = ladder.climb(level, above)
    return parents


def apart(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels that differ: one that comes again gets the next number that makes none of the others.

    >>> apart(["Total", "Total", "Total (2)", "a"])
    ('Total', 'Total (3)', 'Total (2)', 'a')
    """
    taken, told = set(labels), list(labels)
    seen: set[str] = set()
    for at, label in enumerate(labels):
        if label in seen:
            told[at] = next(
                name for count in itertools.count(2) if (name := f"{label} ({count})") not in taken
            )
        seen.add(label)
        taken.add(told[at])
    return tuple(told)


@dataclasses.dataclass(frozen=True, eq=False)
class Contributions:
    """What respondents contribute: per row the codes of its values, who, and how much (NaN: nothing
    known).
    """

    codes: NDArray[np.int64]
    respondent: NDArray[np.int64]
    amount: NDArray[np.float64]
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
    n: NDArray[np.int64]
    value: NDArray[np.float64]
    size: NDArray[np.float64]
    top: NDArray[np.float64]
    least: NDArray[np.float64]
    owner: NDArray[np.int64]
    counted: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Nodes per dimension."""
        return tuple(one.size for one in self.dimensions)

    def largest(self, count: int) -> NDArray[np.float64]:
        """The sum of the largest contributions of every cell."""
        summed: NDArray[np.float64] = self.top[:, :count].sum(axis=1)
        return summed


def cells_of(
    dimensions: tuple[Dimension, ...], given: Contributions, *, counted: bool, depth: int
) -> TableCells:
    """All cells, margins included; a respondent's rows in a cell are one contribution, in a margin
    too.
    """
    shape = tuple(one.size for one in dimensions)
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
        counted,
    )
    order = np.lexsort(
        (given.amount, given.respondent, *given.codes)
    )  # sums must not depend on the order of rows
    codes, who, amount = given.codes[:, order], given.respondent[order], given.amount[order]
    known = ~np.isnan(amount)
    alone = len(np.unique(who)) == len(who) and bool(known.all())
    if alone:  # the largest contributions first, once for all levels
        order = np.argsort(-np.abs(amount), kind="stable")
        codes, who, amount = codes[:, order], who[order], amount[order]
    for levels in np.ndindex(*(len(one.ancestors) for one in dimensions)):
        steps = list(zip(dimensions, levels, codes, strict=True))
        nodes = [one.ancestors[level][code] for one, level, code in steps]
        place = np.ravel_multi_index(nodes, shape).astype(np.int64)
        fresh = np.logical_and.reduce([one.fresh(level)[code] for one, level, code in steps])
        place, here, much = place[fresh], who[fresh], amount[fresh]
        if alone:
            _ranked(cells, place, here, np.ones(len(much)) if counted else much)
        else:
            _fill(cells, place, here, much, missing_counts=given.missing_counts)
    if (
        places := decimals(amount[known])
    ) is not None:  # a sum has no more of them than what is summed
        cells.value[:] = np.round(cells.value, places)
    return cells


def decimals(amount: NDArray[np.float64]) -> int | None:
    """How many decimal places numbers have, up to six; None for more."""
    return next(
        (places for places in range(7) if np.array_equal(amount, np.round(amount, places))), None
    )


def _ranked(
    cells: TableCells, place: NDArray[np.int64], who: NDArray[np.int64], total: NDArray[np.float64]
) -> None:
    """Put contributions of respondents into cells, the largest of them first in their order."""
    count = len(cells.n)
    here = np.bincount(place, minlength=count)
    there = np.flatnonzero(here)
    cells.n[there] += here[there]
    cells.value[there] += np.bincount(place, weights=total, minlength=count)[there]
    cells.size[there] += np.bincount(place, weights=np.abs(total), minlength=count)[there]
    cells.owner[place] = np.where(here[place] == 1, who, NOBODY)
    if cells.counted:
        cells.least[there] = 1.0
        cells.top[there] = (here[there, None] > np.arange(cells.top.shape[1])).astype(np.float64)
        return
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(here[there])
    starts = ends - here[there]
    sizes = np.abs(total[order])
    cells.least[there] = sizes[ends - 1]
    for rank in range(cells.top.shape[1]):
        enough = here[there] > rank
        cells.top[there[enough], rank] = sizes[starts[enough] + rank]


def _fill(
    cells: TableCells,
    place: NDArray[np.int64],
    who: NDArray[np.int64],
    amount: NDArray[np.float64],
    *,
    missing_counts: bool,
) -> None:
    """Put the contributions of one combination of levels into its cells."""
    order = np.lexsort((who, place))
    place, who, amount = place[order], who[order], amount[order]
    first = np.ones(len(place), dtype=bool)
    first[1:] = (place[1:] != place[:-1]) | (who[1:] != who[:-1])
    group = np.cumsum(first) - 1
    known = ~np.isnan(amount)
    summed = np.bincount(group, weights=np.where(known, amount, 0.0)).astype(np.float64)
    total = (
        np.ones(len(summed)) if cells.counted else summed
    )  # a person in a cell is one, however many rows
    there = np.bincount(group, weights=known) > 0
    cell, respondent = place[first], who[first]
    silent, of_silent = cell[~there], respondent[~there]
    cell, respondent, total = cell[there], respondent[there], total[there]
    order = np.argsort(-np.abs(total), kind="stable")
    _ranked(cells, cell[order], respondent[order], total[order])
    if missing_counts:
        np.add.at(cells.n, silent, 1)
        alone = cells.n[silent] == 1  # who said nothing, and is alone, knows that the cell is empty
        cells.owner[silent[alone]] = of_silent[alone]


def amounts(
    dataset: Table, asked: TableMeasure, weight: str | None, negatives: str
) -> NDArray[np.float64]:
    """What every record contributes, times its weight; NaN where nothing is known."""
    amount = np.ones(len(dataset)) if asked.column is None else _numbers(dataset, asked.column)
    if asked.column is None and weight is not None:
        raise ParameterError(
            f"a weight goes with sum(column); to publish weighted counts write sum({weight})"
        )
    if weight is not None:
        factors = _numbers(dataset, weight)
        if np.isnan(factors).any() or (factors < 0).any():
            raise SchemaError(
                f"the weight {weight!r} is missing or negative in some rows; fill it in first"
            )
        with np.errstate(over="ignore"):
            amount = amount * factors
    with np.errstate(over="ignore"):
        if not np.isfinite(np.nansum(np.abs(amount))):
            raise SchemaError(
                f"the contributions to {asked} are too large to be summed; divide them first"
            )
    below = int((amount < 0).sum())
    if below and negatives == "refuse":
        raise SchemaError(
            f"{below:,} contributions to {asked} are negative, and the rules are about positive"
            " ones; say how they count: --negatives, in Python negatives='absolute', takes them by"
            " their size"
        )
    return amount


def some_negative(dataset: Table, asked: TableMeasure) -> bool:
    """Whether a source has negative contributions: where it has none, everybody may know that there
    are none.
    """
    return asked.column is not None and bool((_numbers(dataset, asked.column) < 0).any())


def _numbers(dataset: Table, name: str) -> NDArray[np.float64]:
    if not dataset.dtype(name).is_numeric():
        raise SchemaError(f"column {name!r} holds no numbers; sum a column of numbers")
    values: NDArray[np.float64] = (
        dataset.column(name).cast(pl.Float64).fill_null(float("nan")).to_numpy()
    )
    if np.isinf(values).any():
        raise SchemaError(f"column {name!r} holds infinite numbers; make them missing first")
    return values.copy()
