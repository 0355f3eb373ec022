"""Naive definitions, straight from the papers: slow, short, and with nothing in common with what they check.

A table is a list of rows, a row a tuple of labels, None a missing value. Append only: others lean on what is here.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, product

# ---------------------------------------------------------------------------------------------- classes and levels
# ``paths`` has one mapping a column: value -> (value, label of level 1, ..., top). A column without a hierarchy has
# paths of length one.

TOP = "*"


def released_label(value, path_of, level, depth):
    """A value at a level: missing stays missing below the top and joins it there."""
    if value is None:
        return TOP if depth > 1 and level == depth - 1 else None
    return path_of[value][level]


def generalised(rows, paths, depths, node):
    """Every row at the levels of a node."""
    return [
        tuple(released_label(v, p, lv, d) for v, p, lv, d in zip(row, paths, node, depths, strict=True)) for row in rows
    ]


def class_sizes(rows):
    """Rows per combination of values: what k-anonymity is about (Samarati & Sweeney 1998)."""
    return Counter(rows)


def class_persons(rows, persons):
    """Distinct persons per combination of values."""
    members = {}
    for row, person in zip(rows, persons, strict=True):
        members.setdefault(row, set()).add(person)
    return {row: len(who) for row, who in members.items()}


def suppressed_rows(rows, k):
    """Which rows stand in a class smaller than k."""
    sizes = class_sizes(rows)
    return [sizes[row] < k for row in rows]


def compatible(one, other, wildcard):
    """Whether two rows agree where neither has a missing value in a wildcard column."""
    return all(a == b or (w and (a is None or b is None)) for a, b, w in zip(one, other, wildcard, strict=True))


def compatible_rows(rows, wildcard):
    """Per row, the rows it could be: the count of sdcMicro and mu-Argus."""
    return [sum(compatible(one, other, wildcard) for other in rows) for one in rows]


# ------------------------------------------------------------------------------------------------- scores of a node
# ``leaves`` has one mapping a column and level: label -> leaves of the hierarchy below it.


def cell_losses(rows, paths, leaves, depths, node, gone):
    """Iyengar's loss, (leaves-1)/(all leaves-1), cell by cell; the cells of a suppressed row lose everything."""
    columns = []
    for a, level in enumerate(node):
        total = leaves[a][-1][TOP] if depths[a] > 1 else 0
        losses = []
        for row, lost in zip(rows, gone, strict=True):
            label = released_label(row[a], paths[a], level, depths[a])
            if lost:
                losses.append(1.0)
            elif label is None or depths[a] == 1 or total <= 1:
                losses.append(0.0)
            else:
                losses.append((leaves[a][level][label] - 1) / (total - 1))
        columns.append(losses)
    return columns


def height_losses(rows, depths, node, gone):
    """Level over height, cell by cell; a suppressed row stands at the top."""
    return [[1.0 if lost else level / max(1, d - 1) for lost in gone] for level, d in zip(node, depths, strict=True)]


def entropy_lost(rows, paths, depths, node, gone):
    """Bits lost per column, -log2(n_v/n_g) cell by cell, over the bits that suppressing all of it would lose."""
    shares = []
    for a, level in enumerate(node):
        before = Counter(row[a] for row in rows)
        after = Counter(released_label(row[a], paths[a], level, depths[a]) for row in rows)
        bits = most = 0.0
        for row, lost in zip(rows, gone, strict=True):
            group = len(rows) if lost else after[released_label(row[a], paths[a], level, depths[a])]
            bits -= math.log2(before[row[a]] / group)
            most -= math.log2(before[row[a]] / len(rows))
        # a column with one single value has nothing to lose; its suppressed cells cost 1 as everywhere
        shares.append(bits / most if most > 0 else sum(gone) / len(rows))
    return shares


def discernibility(sizes, suppressed, rows):
    """C_DM of Bayardo & Agrawal 2005: squared class sizes, and N for every suppressed row."""
    return sum(n * n for n in sizes) + suppressed * rows


def node_scores(rows, paths, leaves, depths, node, gone, weights):
    """Every objective of a node, by name."""
    n = len(rows)
    share = [w / sum(weights) for w in weights]
    kept = class_sizes([r for r, lost in zip(generalised(rows, paths, depths, node), gone, strict=True) if not lost])
    losses = [sum(column) / n for column in cell_losses(rows, paths, leaves, depths, node, gone)]
    heights = [sum(column) / n for column in height_losses(rows, depths, node, gone)]
    bits = entropy_lost(rows, paths, depths, node, gone)
    return {
        "loss": sum(w * x for w, x in zip(share, losses, strict=True)),
        "loss_geometric": math.prod((1 + x) ** w for w, x in zip(share, losses, strict=True)) - 1,
        "precision": sum(w * x for w, x in zip(share, heights, strict=True)),
        "height": sum(w * level / max(1, d - 1) for w, level, d in zip(share, node, depths, strict=True)),
        "entropy": sum(w * x for w, x in zip(share, bits, strict=True)),
        "class_size": (n - sum(gone)) / len(kept) if kept else float(n),
        "discernibility": discernibility(kept.values(), sum(gone), n),
        "minimum_absolute_distance": sum(node),
        "minimum_relative_distance": sum(level / max(1, d - 1) for level, d in zip(node, depths, strict=True)),
        "maximum_distribution": -len(kept),
        "minimum_suppression": sum(gone),
    }


def all_nodes(low, high):
    """Every node between two."""
    return product(*(range(lo, hi + 1) for lo, hi in zip(low, high, strict=True)))


def minimal_nodes(nodes):
    """The nodes that have no other one at or below them in every column."""
    return {
        node
        for node in nodes
        if not any(other != node and all(a <= b for a, b in zip(other, node, strict=True)) for other in nodes)
    }


# ------------------------------------------------------------------------------------------------------------- risk


def unique_rows(rows, columns):
    """Rows whose values in some columns nobody else has."""
    keys = [tuple(row[c] for c in columns) for row in rows]
    sizes = Counter(keys)
    return sum(sizes[key] == 1 for key in keys)


def exposing_sets(rows, width):
    """The smallest sets of columns on which some row is unique, each with the number of unique rows."""
    for size in range(1, width + 1):
        found = {c: n for c in combinations(range(width), size) if (n := unique_rows(rows, c))}
        if found:
            return found
    return {}
