"""A table that comes as a frame: its names, its index and the values that were said to be
missing.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from sfumato.core.fields import Fields
from sfumato.core.source import Intake, Source
from sfumato.core.table import Table
from sfumato.core.words import join_words
from sfumato.data.table.values import numbered, repeated, with_values
from sfumato.errors import ParameterError

ABOUT_FRAMES = ("missing_values", "missing_in", "unicode", "blanks", "rename_duplicates")
NAME = "the table"
INDEX_LEFT = (
    "the index of the pandas frame was dropped, since it may name people; frame.reset_index() "
    "makes it a column that can have a role"
)


def take_frame(frame: Any, otherwise: Intake, options: Fields) -> Table:
    """A dataset of a polars, pandas or Arrow frame; what is decided on the way is in its source's
    notes.
    """
    idle = [name for name in options if name not in ABOUT_FRAMES]
    if idle:
        raise ParameterError(
            f"a frame is read already, so the reading option {join_words(idle, 'or')} does not "
            f"apply; a frame takes {', '.join(ABOUT_FRAMES)}"
        )
    # What a recipe says of files, such as a delimiter, means nothing for a frame.
    defaults = {
        f.name: getattr(otherwise, f.name)
        for f in dataclasses.fields(otherwise)
        if f.name in ABOUT_FRAMES
    }
    intake = Intake.of(options).over(Intake(**defaults))
    notes = [INDEX_LEFT] if _has_index(frame) else []
    if intake.rename_duplicates:
        frame, rename_notes = _renamed(frame)
        notes += rename_notes
    dataset = Table(frame, source=Source(name=NAME, notes=tuple(notes)))
    return with_values(dataset, intake)


def _has_index(frame: object) -> bool:
    """Whether a pandas frame has an index that says something: a name, or anything but 0, 1, 2,
    …
    """
    if type(frame).__module__.split(".")[0] != "pandas" or not hasattr(frame, "index"):
        return False
    index = frame.index
    is_range = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    return not is_range or index.name is not None


def _renamed(frame: Any) -> tuple[Any, list[str]]:
    """A pandas or Arrow frame whose columns have different names; polars frames always have."""
    # Arrow renames columns by a list of names, pandas by its axis.
    arrow = hasattr(frame, "rename_columns")
    names = [str(name) for name in getattr(frame, "column_names" if arrow else "columns", ())]
    if not (repeated_names := repeated(names)):
        return frame, []
    fresh = numbered(names)
    notes = [f"repeated names got a number: columns {', '.join(map(str, repeated_names))}"]
    return (frame.rename_columns(fresh) if arrow else frame.set_axis(fresh, axis=1)), notes
