"""An oracle for tables published together: all joint tables of whole numbers that look the same, one by one; linear programs for sums.

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
    """Per published cell which combinations it holds, its text, and the records in it; ``tables`` are lists of rows, labels and text by name."""
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
    """Per suppressed cell the least and the most of it in any joint table of whole numbers that looks the same."""
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
    """The least and the most of a sum of combinations by linear programs; ``known`` says which combinations hold what."""
    rows = np.array([line for line, text, _ in lines if text != "x"], dtype=float)
    right = np.array([float(text) for _, text, _ in lines if text != "x"])
    bounds = [(0.0, high) for _ in aim]
    for at, value in (known or {}).items():
        bounds[at] = (value, value)
    ends = []
    for sign in (1.0, -1.0):
        found = linprog(sign * aim.astype(float), A_eq=rows, b_eq=right, bounds=bounds, method="highs")
        assert found.status == 0, found.message
        ends.append(sign * found.fun)
    return ends[0], ends[1]
