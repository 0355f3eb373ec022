"""An oracle for tables published together: all joint tables of whole numbers that look the same,
one by one; linear programs for sums.

It reads the published text and the records, and knows nothing of our code.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np
from scipy.optimize import linprog

TOTAL = "Total"


@functools.cache
def every_table(total, cells):
    """All ways to put so many persons into so many cells, a row each."""
    if cells == 1:
        return np.array([[total]], dtype=np.int8)
    rows = []
    for first in range(total + 1):
        rest = every_table(total - first, cells - 1)
        rows.append(np.column_stack([np.full(len(rest), first, dtype=np.int8), rest]))
    return np.concatenate(rows)


def combinations_of(records, columns):
    """Every combination of values of columns."""
    return list(itertools.product(*(sorted({row[c] for row in records}) for c in columns)))


def lines_of(tables, records, columns):
    """Per published cell which combinations it holds, its text, and the records in it; ``tables``
    are lists of rows, labels and text by name.
    """
    points = combinations_of(records, columns)
    found = {}
    for rows, by in tables:
        for row in rows:
            asked = [(columns.index(c), row[c]) for c in by if row[c] != TOTAL]
            line = np.array([all(point[at] == label for at, label in asked) for point in points])
            own = [r for r in records if all(r[columns[at]] == label for at, label in asked)]
            found.setdefault(line.tobytes(), (line, row["text"], own))
    return points, list(found.values())


def tables_of(made, groups, measure):
    """What is published of every table, as rows."""
    found = []
    for number, by in enumerate(groups):
        frame = made.to_polars(number).rename({measure: "text"})
        found.append((frame.to_dicts(), by))
    return found


def whole_intervals(lines, total):
    """Per suppressed cell the least and the most of it in any joint table of whole numbers that
    looks the same.
    """
    cells = len(lines[0][0])
    tables = every_table(total, cells)
    for line, text, _ in lines:
        if text != "x":
            tables = tables[tables[:, line].sum(axis=1) == int(text)]
    assert len(tables), "the true table is one of them"
    found = []
    for line, text, own in lines:
        if text == "x":
            held = tables[:, line].sum(axis=1)
            found.append((line, own, int(held.min()), int(held.max())))
    return found


def linear_interval(lines, aim, known=None, high=None):
    """The least and the most of a sum of combinations by linear programs; ``known`` says which
    combinations hold what.
    """
    rows = np.array([line for line, text, _ in lines if text != "x"], dtype=float)
    right = np.array([float(text) for _, text, _ in lines if text != "x"])
    bounds = [(0.0, high) for _ in aim]
    for at, value in (known or {}).items():
        bounds[at] = (value, value)
    ends = []
    for sign in (1.0, -1.0):
        found = linprog(
            sign * aim.astype(float), A_eq=rows, b_eq=right, bounds=bounds, method="highs"
        )
        assert found.status == 0, found.message
        ends.append(sign * found.fun)
    return ends[0], ends[1]


def need_of_sum(own, threshold, percent):
    """How far the sum of some records must stay unknown, by a threshold and the p % rule; None
    where it may be told.
    """
    amounts = sorted((row["x"] for row in own), reverse=True)
    total, needs = sum(amounts), []
    if own and len(own) < threshold:
        needs.append(0.1 * amounts[0])
    lacking = percent / 100 * amounts[0] - (total - sum(amounts[:2])) if own else 0.0
    if lacking > 1e-9 * max(1.0, total):
        needs.append(lacking)
    return max(needs, default=None)


def known_alone(lines, points, columns):
    """Per record that is alone in some published cell what its respondent knows: all combinations
    in that cell, of which one is the own.
    """
    found = {}
    for line, _, own in lines:
        if len(own) == 1:
            row = own[0]
            at = points.index(tuple(row[column] for column in columns))
            known = found.setdefault(row["id"], {})
            for place in np.flatnonzero(line).tolist():
                known[place] = row["x"] if place == at else 0.0
    return found


def wrong_sums(tables, records, columns, threshold, percent):
    """All sums of records (``id``, ``x`` and columns) that somebody narrows down too far, in words,
    and how many intervals were looked at.
    """
    points, lines = lines_of(tables, records, columns)
    lone = known_alone(lines, points, columns)
    most = float(sum(row["x"] for row in records))
    wrong, looked = [], 0
    for line, text, own in lines:
        need = need_of_sum(own, threshold, percent)
        if need is None:
            continue
        if text != "x":
            wrong.append("a sensitive cell is published")
            continue
        value = sum(row["x"] for row in own)
        for who in [None, *lone]:
            if [row["id"] for row in own] == [who]:
                continue
            low, high = linear_interval(lines, line, lone.get(who), most)
            brought = sum(row["x"] for row in own if row["id"] == who)
            looked += 1
            if (
                low > value - min(need, value - brought) + 1e-5 * most
                or high < value + need - 1e-5 * most
            ):
                wrong.append(f"{who} narrows {value} (need {need}) down to {low} {high}")
    return wrong, looked
