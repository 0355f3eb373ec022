"""A picture of what is published of a table: numbers where they are told, and why the others are
not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.drawing import (
    AFTER,
    FILLED,
    FONT,
    GRID,
    INK,
    SOFT,
    Drawing,
    Pen,
    width_of,
)
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.results.tables.protected_table import ProtectedTable

ROW, ROOM, LEAST = 24, 12, 52
"""Pixels of a line, beside words, and of the narrowest column."""
MOST_LINES = 60
"""Rows, and columns, up to which a table is drawn."""
BESIDE = "suppressed to protect others"


def table_drawing(protected_table: ProtectedTable) -> Drawing:
    """All tables of one or two columns, one below the other: dark cells are sensitive, light ones
    are suppressed to protect these.
    """
    table = protected_table.judged.table
    if any(
        len(group) > 2 or max(table.dimensions[at].size for at in group) > MOST_LINES
        for group in table.places
    ):
        raise ParameterError(
            f"a picture shows tables of one or two columns with at most {MOST_LINES} values each"
        )
    paper = Drawing(0, 0, left=ROOM, right=ROOM, top=ROOM, bottom=ROOM)
    for number in range(len(table.places)):
        _grid(paper, protected_table, number)
    # the legend stands below all tables
    y, across = paper.height, 0.0
    for fill, words in ((AFTER, "sensitive"), (FILLED, BESIDE)):
        paper.rect(across, y, 14, 14, Pen(fill))
        paper.text(across + 20, y + 7, words, SOFT)
        across += 20 + width_of(words, FONT) + 2 * ROOM
    paper.width, paper.height = max(paper.width, across), y + ROW
    return paper


def _grid(paper: Drawing, protected_table: ProtectedTable, number: int) -> None:
    """One table below what is drawn already, its second column across."""
    table, frame = protected_table.judged.table, protected_table.to_polars(number)
    dimensions = [table.dimensions[at] for at in table.places[number]]
    # a table of one column has a single line of cells across, named by the measure
    across: Sequence[str] = dimensions[1].labels if len(dimensions) > 1 else (str(table.measure),)
    margin = max(width_of(label, FONT) for label in dimensions[0].labels) + ROOM
    widths = [max(LEAST, width_of(label, FONT) + ROOM) for label in across]
    starts = margin + np.concatenate([[0.0], np.cumsum(widths)])
    for at, label in enumerate(across):
        paper.text(
            float(starts[at]) + widths[at] / 2, paper.height + ROW / 2, label, SOFT, align="center"
        )
    texts, cells = frame[frame.columns[-1]].to_list(), table.variables[number]
    for line, label in enumerate(dimensions[0].labels):
        y = paper.height + ROW * (line + 1)
        paper.text(margin - ROOM / 2, y + ROW / 2, label, align="right")
        for at, width in enumerate(widths):
            cell = int(cells[line * len(across) + at])
            hidden, unsafe = (
                bool(protected_table.hidden[cell]),
                bool(protected_table.problem.primary[cell]),
            )
            fill, ink = (AFTER, "#fff") if hidden and unsafe else (FILLED if hidden else None, INK)
            x = float(starts[at])
            paper.rect(x, y, width, ROW, Pen(fill, GRID))
            paper.text(
                x + width / 2, y + ROW / 2, texts[line * len(across) + at], ink, align="center"
            )
    paper.width = max(paper.width, float(starts[-1]))
    paper.height += ROW * (len(dimensions[0].labels) + 2)
