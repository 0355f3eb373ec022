"""Rows drawn anew in the simplest ways there are, for whoever judges them."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

import sfumato as sf
from sfumato.core.attack import Intruder, Scene
from sfumato.core.pair import TablePair
from sfumato.core.parameters import parameters
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal, Step, Synthetic
from sfumato.core.table import NOBODY, Table


@parameters
class DrawColumns(Step):
    """Draw every column by itself; ``copied`` is the share of rows that are a person of the table
    instead, cell by cell.
    """

    rows: Annotated[int | None, Field(description="rows to create")] = None
    holdout: Annotated[float, Field(ge=0, lt=1, description="share set aside")] = 0.2
    copied: Annotated[float, Field(ge=0, le=1, description="share of copies")] = 0.0

    name: ClassVar[str] = "draw_columns"

    @property
    def draws_anew(self) -> bool:
        """Its rows are nobody's."""
        return True

    def plan(self, dataset: Table, goal: Goal) -> Synthetic:
        """Draw them."""
        draw = goal.stream("draw columns")
        aside = np.sort(draw.permutation(len(dataset))[: round(self.holdout * len(dataset))])
        learnt = np.setdiff1d(np.arange(len(dataset)), aside)
        rows = self.rows or len(dataset)
        people, copied = draw.choice(learnt, rows), np.arange(rows) < self.copied * rows
        chosen = {
            name: np.where(copied, people, draw.choice(learnt, rows)) for name in dataset.columns
        }
        table = pl.DataFrame(
            {name: dataset.column(name).gather(places) for name, places in chosen.items()}
        )
        told = dict.fromkeys(dataset.columns, "drawn anew")
        return Synthetic(
            told, table=table, origin=np.full(rows, NOBODY), held_out=aside if len(aside) else None
        )

    def apply(self, dataset: Table, plan: Any) -> Table:
        """Put them in the place of all others."""
        return plan.applied(dataset)


def people(rows: int = 400, seed: int = 1) -> Table:
    """Made-up people: quasi-identifiers, a number, and a secret that depends on them."""
    draw = np.random.default_rng(seed)
    age = draw.integers(18, 90, rows)
    frame = pl.DataFrame(
        {
            "age": age,
            "sex": draw.choice(["f", "m"], rows),
            "zip": draw.choice([f"53{i:02d}" for i in range(12)], rows),
            "income": np.round(1000 + 40 * age + draw.normal(0, 300, rows), -1),
            "illness": np.where(
                draw.random(rows) < age / 120, "heart", draw.choice(["flu", "gout", "none"], rows)
            ),
        }
    )
    gaps = pl.when(pl.int_range(rows) % 17 == 0).then(None).otherwise(pl.col("zip")).alias("zip")
    table = sf.read(frame.with_columns(gaps))
    return table.with_roles(quasi=["age", "sex", "zip"], keep=["income"], sensitive=["illness"])


def pair_of(original: pl.DataFrame, drawn: pl.DataFrame, aside: Any, **roles: Any) -> TablePair:
    """Tables side by side, the drawn rows nobody's; ``aside`` are the original rows that were set
    aside.
    """
    table = sf.read(original).with_roles(**(roles or {"quasi": original.columns}))
    released = dataclasses.replace(
        sf.read(drawn).with_schema(table.schema), origin=np.full(len(drawn), NOBODY)
    )
    held = None if aside is None else np.array(aside, dtype=np.int64)
    learnt = np.setdiff1d(
        np.arange(len(original)), np.zeros(0, dtype=np.int64) if held is None else held
    )
    return TablePair.of(table, released, learnt_from=learnt, held_out=held)


def scene_of(pair: TablePair, knows: Any = None, seed: int = 1) -> Scene:
    """An intruder who knows some columns of everybody."""
    rows = np.arange(len(pair.original))
    return Scene(
        pair,
        Intruder(pair.original, tuple(knows or pair.columns), rows),
        seed=Seed(seed),
        seconds=1e9,
    )
