"""Ladders of columns with very many distinct values, without a path in Python for each of them.

A rule such as *intervals* or *mask* puts many values under few nodes of level 1. Which node a value belongs to is computed for the whole
column at once; paths are asked for a few example values only, at least one for each node. Example: a million incomes in intervals of
1,000 need the paths of about a thousand examples.

The result equals the ladder made path by path: same labels, same order of codes, same numbers. It is made only of columns whose values
are all plain leaves (no cell that is an interval, a masked code or a period already).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.hierarchy import Hierarchy, Ladder

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANY_VALUES = 2_000
"""Below this number of distinct values paths are made one by one: that takes some milliseconds."""

LONGEST_NUMBER = 15
"""Characters of a number whose position on the axis surely fits a float without rounding (2^53 has 16 digits)."""


def has_many_values(values: Sequence[str]) -> bool:
    """Whether a column has so many distinct values that their ladder is made at once."""
    return len(values) >= MANY_VALUES


def ladder_by_nodes(
    hierarchy: Hierarchy,
    values: pl.Series,
    nodes: NDArray[np.int64],
    deciding: Sequence[int],
    *,
    missing: bool,
) -> Ladder:
    """The ladder of leaf values, given the node of level 1 that each belongs to.

    ``nodes[i]`` is any number that is the same for values under one node. ``deciding`` are positions of values that labels or the domain
    depend on (least, greatest, one with a fraction): they are among the examples.
    """
    _, first, node = np.unique(nodes, return_index=True, return_inverse=True)
    examples = [*first.tolist(), *deciding]
    paths = hierarchy.paths(values.gather(examples).to_list(), [1] * len(examples))
    above = [row[1:] for row in paths.rows[: len(first)]]

    # Codes are ordered from the top down, so that values under one node are neighbours on every level.
    node_order = sorted(range(len(above)), key=lambda i: above[i][::-1])
    rank = np.empty(len(above), dtype=np.int64)
    rank[node_order] = np.arange(len(above))
    by_text = values.arg_sort().to_numpy().astype(np.int64)
    order = by_text[np.argsort(rank[node[by_text]], kind="stable")]
    sizes = np.bincount(rank[node], minlength=len(above))

    columns = list(zip(*(above[i] for i in node_order), strict=True))
    names: list[list[str | None]] = [list(dict.fromkeys(column)) for column in columns]
    codes = [_codes_of(column) for column in columns]
    labels: list[list[str | None]] = [values.gather(order).to_list(), *names]
    ups = [np.repeat(codes[0], sizes)]
    for below, parents in itertools.pairwise(codes):
        up = np.empty(int(below[-1]) + 1, dtype=np.int64)
        up[below] = parents
        ups.append(up)
    counts = [np.ones(len(values))]
    counts += [np.bincount(parents, weights=sizes).astype(np.float64) for parents in codes]
    losses = [np.zeros(len(values))]
    for level, level_names in enumerate(names, 1):
        if paths.measured:
            losses.append(np.array([paths.loss[level].get(name, 1.0) for name in level_names if name is not None]))
        else:
            losses.append((counts[level] - 1.0) / (len(values) - 1.0))
    if missing:
        _add_missing(labels, ups, counts, losses)
    return Ladder(tuple(tuple(level) for level in labels), tuple(ups), tuple(counts), tuple(losses), paths.measured)


def _codes_of(column: Sequence[str]) -> NDArray[np.int64]:
    """The code of each label, numbered in the order in which labels come first."""
    code = {name: i for i, name in enumerate(dict.fromkeys(column))}
    return np.array([code[name] for name in column], dtype=np.int64)


def _add_missing(
    labels: list[list[str | None]],
    ups: list[NDArray[np.int64]],
    counts: list[NDArray[np.float64]],
    losses: list[NDArray[np.float64]],
) -> None:
    """Add the missing value: it stays missing below the top, with the last code of every level."""
    top = len(labels) - 1
    for level in range(top):
        parent = len(labels[level + 1]) if level + 1 < top else 0
        ups[level] = np.append(ups[level], parent)
        counts[level] = np.append(counts[level], 1.0)
        losses[level] = np.append(losses[level], 0.0)
        labels[level].append(None)


def decimal_positions(values: pl.Series, digits: int) -> tuple[NDArray[np.int64], int] | None:
    """Numbers as whole positions on an axis with steps of 10^−digits, and the digits needed: at least those given.

    None where a value is no short plain decimal number such as ``-12.50``.

    >>> decimal_positions(pl.Series(["7", "-0.25"]), 0)
    (array([700, -25]), 2)
    """
    if not values.str.contains(r"^[+-]?\d+(\.\d+)?$").all():
        return None
    parts = values.str.split_exact(".", 1).struct.unnest()
    whole, fraction = parts["field_0"], parts["field_1"].fill_null("").str.strip_chars_end("0")
    digits = max(digits, int(fraction.str.len_bytes().max() or 0))  # type: ignore[arg-type]
    if digits + int(whole.str.len_bytes().max() or 0) > LONGEST_NUMBER:  # type: ignore[arg-type]
        return None
    size = (whole.str.strip_chars_start("+-") + fraction.str.pad_end(digits, "0")).cast(pl.Int64).to_numpy()
    return np.where(whole.str.starts_with("-").to_numpy(), -size, size), digits
