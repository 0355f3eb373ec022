"""Naive definitions of utility metrics: cell by cell, straight from the formulas.

``rows`` are original rows of labels (None: missing), ``gone`` says which were suppressed;
``paths``, ``depths`` and ``node`` as in
:mod:`tests.oracles.definitions`.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter

from tests.oracles.definitions import released_label


def domain_of(rows, paths, depths, a):
    """All values a column can have: the leaves of its hierarchy, or what occurs; missing is one
    more where it occurs.
    """
    occurring = {row[a] for row in rows}
    known = set(paths[a]) if depths[a] > 1 else occurring - {None}
    return known | ({None} & occurring)


def meant(rows, paths, depths, node, a, value, lost):
    """The set of values that a released cell may stand for."""
    every = domain_of(rows, paths, depths, a)
    if lost or (depths[a] > 1 and node[a] == depths[a] - 1):
        return every
    if value is None:
        return {None}
    label = released_label(value, paths[a], node[a], depths[a])
    return {
        v
        for v in every
        if v is not None and (v == value if depths[a] == 1 else paths[a][v][node[a]] == label)
    }


def boxes(rows, paths, depths, nodes, gone):
    """Per original record, each at the levels of its own node, the sets its released cells may
    stand for.
    """
    return [
        [meant(rows, paths, depths, node, a, row[a], lost) for a in range(len(paths))]
        for row, node, lost in zip(rows, nodes, gone, strict=True)
    ]


def certainty_penalty(rows, paths, depths, node, gone):
    """NCP of categories: M_P/M where a cell stands for several values, 0 where for one; suppressed
    cells cost 1.
    """
    total = 0.0
    for row, box, lost in zip(
        rows, boxes(rows, paths, depths, [node] * len(rows), gone), gone, strict=True
    ):
        for a, inside in enumerate(box):
            known = [v for v in inside if v is not None]
            every = [v for v in domain_of(rows, paths, depths, a) if v is not None]
            top = depths[a] > 1 and node[a] == depths[a] - 1
            if lost:
                total += 1
            elif row[a] is None and not top:
                continue
            elif len(known) > 1:
                total += len(known) / len(every)
    return total / (len(rows) * len(paths))


def ambiguity(rows, boxes):
    """Combinations a record may stand for, on average."""
    return sum(math.prod(map(len, box)) for box in boxes) / len(rows)


def divergence(rows, boxes):
    """Kullback-Leibler divergence of the original from the boxes, each spread evenly, in bits."""
    spread = Counter()
    for box in boxes:
        for combination in itertools.product(*box):
            spread[combination] += 1 / len(rows) / math.prod(map(len, box))
    return sum(
        n / len(rows) * math.log2(n / len(rows) / spread[row]) for row, n in Counter(rows).items()
    )


def wrongly_classified(classes, labels, gone):
    """Iyengar's CM: suppressed, or not of the majority label of the class (the first of equals in
    sorted order).
    """
    members = {}
    for one, label, lost in zip(classes, labels, gone, strict=True):
        if not lost:
            members.setdefault(one, Counter())[label] += 1
    best = {one: min(found, key=lambda v: (-found[v], v)) for one, found in members.items()}
    wrong = [
        lost or best[one] != label for one, label, lost in zip(classes, labels, gone, strict=True)
    ]
    return sum(wrong) / len(wrong)


def standardised_error(before, after):
    """IL1s of one column, the mean over records."""
    mean = sum(before) / len(before)
    deviation = math.sqrt(sum((x - mean) ** 2 for x in before) / (len(before) - 1))
    return sum(abs(x - y) for x, y in zip(before, after, strict=True)) / (
        len(before) * math.sqrt(2) * deviation
    )


def squares(before, after):
    """SSE and SST of one column."""
    mean = sum(before) / len(before)
    return sum((x - y) ** 2 for x, y in zip(before, after, strict=True)), sum(
        (x - mean) ** 2 for x in before
    )


def covariance(x, y):
    """Of two columns, over n - 1."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / (len(x) - 1)


def interval_overlap(one, other):
    """Karr's overlap of two confidence intervals."""
    common = max(0.0, min(one[1], other[1]) - max(one[0], other[0]))
    return 0.5 * (common / (one[1] - one[0]) + common / (other[1] - other[0]))
