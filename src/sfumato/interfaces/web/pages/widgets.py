"""Parts that draw many values at once in the browser; what they hold goes in as text. Each tells
what was done with it, by name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nicegui.element import Element

FILES = Path(__file__).parent / "files"


class Filled(Element):
    """A part with some named contents, which can be exchanged without drawing anything else
    anew.
    """

    def __init__(self, **contents: Any) -> None:
        super().__init__()
        self._props.update(contents)

    def fill(self, **contents: Any) -> None:
        """Show other contents in place."""
        self._props.update(contents)
        self.update()


class ColumnList(Filled, component=FILES / "columns.js"):
    """The columns with their roles. Tells ``role``, ``kind`` and ``accept``."""


class RowGrid(Filled, component=FILES / "grid.js"):
    """A page of rows. Tells ``sort``, ``show`` and ``hide`` with the name of a column."""


class Levels(Filled, component=FILES / "levels.js"):
    """The levels of a hierarchy side by side. Tells ``use`` with a level."""


class GroupBoxes(Filled, component=FILES / "groups.js"):
    """Groups of values that can be moved. Tells ``move`` and ``rename``."""


class Drop(Filled, component=FILES / "drop.js"):
    """A place to drop a file; ``done`` is told with the name it is kept under."""
