"""Results by class, with the labels of the classes: for the owner's eyes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.labels import text_of
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.core.classes import ClassTable
    from sfumato.core.model import Verdict


def frame_of_classes(classes: ClassTable) -> pl.DataFrame:
    """A row for every class: its labels, and ``records``; ``persons`` where they are counted."""
    columns = []
    for position, name in enumerate(classes.columns):
        ladder, level = classes.ladders[position], classes.levels[position]
        codes = classes.codes(name).astype(np.uint32)
        columns.append(text_of(ladder.labels[level]).gather(codes).alias(name))
    frame = pl.DataFrame(columns)
    frame = frame.with_columns(pl.Series(free_name(frame, "records"), classes.records))
    if classes.person is not None:
        frame = frame.with_columns(pl.Series(free_name(frame, "persons"), classes.sizes))
    return frame


def frame_of_verdict(verdict: Verdict) -> pl.DataFrame:
    """The classes that a verdict judged, with what each attains and whether it holds."""
    if verdict.class_table is None:
        raise ParameterError(
            f"the classes of {verdict.promise} were not kept; call sf.judge for a verdict with them"
        )
    if len(verdict.per_class) != len(verdict.class_table):
        raise ParameterError(f"{verdict.promise} is judged on the whole table, not class by class")
    frame = frame_of_classes(verdict.class_table)
    holds = np.ones(frame.height, dtype=bool)
    holds[verdict.failing] = False
    attained, kept = free_name(frame, "attained"), free_name(frame, "holds")
    return frame.with_columns(pl.Series(attained, verdict.per_class), pl.Series(kept, holds)).sort(
        kept, maintain_order=True
    )


def free_name(frame: pl.DataFrame, name: str) -> str:
    """A name that no column of the frame has."""
    while name in frame.columns:
        name += "_"
    return name
