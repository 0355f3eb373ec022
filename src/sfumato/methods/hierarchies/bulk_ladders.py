"""Ladders of columns with very many distinct values, without a path in Python for each of them.

A rule such as *intervals* or *mask* puts many values under few nodes of level 1. Which node a value
belongs to is computed for the whole column at once; paths are asked for a few example values only,
at least one for each node. Example: a million incomes in intervals of 1,000 need the paths of about
a thousand examples.

The result equals the ladder made path by path: same labels, same order of codes, same numbers. It
is made only of columns whose values are all plain leaves (no cell that is an interval, a masked
code or a period already).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.hierarchy import Hierarchy, Ladder
from sfumato.core.labels import labels_of
from sfumato.core.narrow_numbers import repeated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


MANY_VALUES = 2_000
"""Below this number of distinct values paths are made one by one: that takes some milliseconds."""
PLAIN_NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?$"
LONGEST_NUMBER = 15
"""Characters of a number whose position on the axis surely fits a float without rounding (2^53 has
16 digits).
"""
DENSE = 1 << 20
"""Numbers of nodes that span less than this, or less than there are values, are distinguished by a
table.
"""


def has_many_values(values: Sequence[str]) -> bool:
    """Whether a column has so many distinct values that their ladder is made at once."""
    return len(values) >= MANY_VALUES


def ladder_by_nodes(
    hierarchy: Hierarchy,
    values: pl.Series,
    nodes: Ints,
    deciding: Sequence[int],
    *,
    missing: bool,
) -> Ladder:
    """The ladder of leaf values, given the node of level 1 that each belongs to.

    ``nodes[i]`` is any number that is the same for values under one node. ``deciding`` are
    positions of values that labels or the domain depend on (least, greatest, one with a fraction):
    they are among the examples.
    """
    # One value of each node is enough to learn the labels above it.
    first, node = _first_and_number(nodes)
    examples = [*first.tolist(), *deciding]
    paths = hierarchy.paths(values.gather(examples).to_list(), [1] * len(examples))
    above = [row[1:] for row in paths.rows[: len(first)]]

    # Codes are ordered from the top down, so that values under one node are neighbours on every
    # level.
    node_order = sorted(range(len(above)), key=lambda i: above[i][::-1])
    rank = np.empty(len(above), dtype=np.int64)
    rank[node_order] = np.arange(len(above))
    # Numbers of two bytes are sorted by counting them.
    rank = rank.astype(np.min_scalar_type(len(above)))
    node_rank = rank[node]
    if values.is_sorted():
        order = np.argsort(node_rank, kind="stable")
    else:
        by_text = values.arg_sort().to_numpy().astype(np.int64)
        order = by_text[np.argsort(node_rank[by_text], kind="stable")]
    bound = np.empty(len(values), dtype=np.int64)
    bound[order] = np.arange(len(values))
    sizes = np.bincount(node_rank, minlength=len(above))

    columns = list(zip(*(above[i] for i in node_order), strict=True))
    names: list[list[str | None]] = [list(dict.fromkeys(column)) for column in columns]
    codes = [_codes_of(column) for column in columns]
    lowest = values.gather(order)
    ups = [np.repeat(codes[0], sizes)]
    for below, parents in itertools.pairwise(codes):
        up = np.empty(int(below[-1]) + 1, dtype=np.int64)
        up[below] = parents
        ups.append(up)
    # A leaf stands for itself and loses nothing, and so does the missing value below the top.
    leaves = len(values) + missing
    counts = [repeated(1, leaves)]
    counts += [np.bincount(parents, weights=sizes).astype(np.float64) for parents in codes]
    losses = [repeated(0, leaves)]
    for level, level_names in enumerate(names, 1):
        if paths.measured:
            known_losses = []
            for name in level_names:
                if name is not None:
                    known_losses.append(paths.loss[level].get(name, 1.0))
            losses.append(np.array(known_losses))
        else:
            losses.append((counts[level] - 1.0) / (len(values) - 1.0))
    if missing:
        lowest = pl.concat([lowest, pl.Series(lowest.name, [None], dtype=pl.String)])
        _add_missing(names, ups, counts, losses)
    labels = (labels_of(lowest), *(tuple(level) for level in names))
    return Ladder(
        labels,
        tuple(ups),
        leaves=tuple(counts),
        loss=tuple(losses),
        measured=paths.measured,
        bound=bound,
    )


def _first_and_number(nodes: Ints) -> tuple[Ints, Ints]:
    """Of every node, in order, the first value that belongs to it; and of every value the place of
    its node in that order.
    """
    low = int(nodes.min())
    high = int(nodes.max())
    # A table over a wide range of numbers would be mostly empty.
    if high - low >= max(DENSE, len(nodes)):
        _, first, node = np.unique(nodes, return_index=True, return_inverse=True)
        return first, node
    shifted = nodes - low
    earliest = np.full(high - low + 1, -1, dtype=np.int64)
    # of several values the last one that is written stays
    earliest[shifted[::-1]] = np.arange(len(nodes) - 1, -1, -1)
    used = np.flatnonzero(earliest >= 0)
    number = np.zeros(len(earliest), dtype=np.int64)
    number[used] = np.arange(len(used))
    return earliest[used], number[shifted]


def _codes_of(column: Sequence[str]) -> Ints:
    """The code of each label, numbered in the order in which labels come first."""
    code = {name: i for i, name in enumerate(dict.fromkeys(column))}
    return np.array([code[name] for name in column], dtype=np.int64)


def _add_missing(
    names: list[list[str | None]],
    ups: list[Ints],
    counts: list[NDArray[np.float64]],
    losses: list[NDArray[np.float64]],
) -> None:
    """Add the missing value: it stays missing below the top, with the last code of every level;
    ``names`` begin with level 1, and counts and losses of level 0 hold it already.
    """
    top = len(names)
    for level in range(top):
        if level + 1 < top:
            parent = len(names[level])
        else:
            parent = 0
        ups[level] = np.append(ups[level], parent)
        if level:
            counts[level] = np.append(counts[level], 1.0)
            losses[level] = np.append(losses[level], 0.0)
            names[level - 1].append(None)


def decimal_positions(values: pl.Series, digits: int) -> tuple[Ints, int] | None:
    """Numbers as whole positions on an axis with steps of 10^−digits, and the digits needed: at
    least those given.

    None where a value is no short plain decimal number such as ``-12.50``.

    >>> decimal_positions(pl.Series(["7", "-0.25"]), 0)
    (array([700, -25]), 2)
    """
    if (
        int(values.str.len_bytes().max() or 0) > LONGEST_NUMBER + 1  # type: ignore[arg-type]
        or not values.str.contains(PLAIN_NUMBER).all()
    ):
        return None
    numbers = values.cast(pl.Float64).to_numpy()
    largest = float(np.abs(numbers).max(initial=0.0))
    while largest * 10**digits < 10**LONGEST_NUMBER:  # one digit more until nothing is lost
        positions = np.rint(numbers * 10**digits)
        if (numbers == positions / 10**digits).all():
            return positions.astype(np.int64), digits
        digits += 1
    return None
