"""A table for masking steps, in several kinds of frames, and how two releases are compared."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl

from sfumato.core.encoding import encode
from sfumato.core.randomness import Seed
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table

SCHEMA = Schema(
    {
        "person": Attribute((Role.PERSON,)),
        "region": Attribute((Role.STRATUM,)),
        "sex": Attribute((Role.QUASI,)),
        "school": Attribute((Role.QUASI,), Kind.ORDINAL, order=("low", "middle", "high")),
        "age": Attribute((Role.KEEP,), Kind.NUMERIC),
        "income": Attribute((Role.SENSITIVE,), Kind.NUMERIC),
        "rent": Attribute((Role.KEEP,), Kind.NUMERIC),
        "seen": Attribute((Role.KEEP,), Kind.DATE),
        "left": Attribute((Role.KEEP,), Kind.DATE),
        "weight": Attribute((Role.WEIGHT,), Kind.NUMERIC),
    }
)


def people(rows: int = 60, *, seed: int = 1, gaps: bool = True) -> Table:
    """Persons with two rows each in three regions; some values missing, some rows equal but for
    their person.
    """
    rng = np.random.default_rng(seed)
    persons = (rows + 1) // 2
    of = np.arange(rows) // 2
    region = rng.integers(0, 3, persons)[of]
    age = rng.integers(18, 90, persons)[of]
    income = np.round(np.exp(rng.normal(7, 0.5, rows)), 2)
    start = datetime.date(2024, 1, 1)
    seen = [start + datetime.timedelta(days=int(d)) for d in rng.integers(0, 300, rows)]
    frame = pl.DataFrame(
        {
            "person": [f"p{i:03d}" for i in of],
            "region": [("north", "south", "west")[i] for i in region],
            "sex": [("f", "m")[i] for i in rng.integers(0, 2, rows)],
            "school": [("low", "middle", "high")[i] for i in rng.integers(0, 3, rows)],
            "age": age,
            "income": income,
            "rent": np.round(income * 0.3 + rng.normal(0, 50, rows), 2),
            "seen": seen,
            "left": [
                day + datetime.timedelta(days=int(d))
                for day, d in zip(seen, rng.integers(0, 20, rows), strict=True)
            ],
            "weight": rng.integers(1, 4, rows).astype(float),
        }
    )
    if gaps:
        frame = frame.with_columns(
            pl.when(pl.int_range(rows) % 11 != 3).then(c).alias(c)
            for c in ("income", "rent", "sex", "seen")
        )
    return Table(frame, SCHEMA)


def in_all_frames(dataset: Table) -> dict[str, Table]:
    """The same table in other orders and kinds of frames."""
    frame = dataset.to_polars()
    mixed = frame[np.random.default_rng(9).permutation(len(frame))]
    return {
        "polars": dataset,
        "other order": Table(mixed, dataset.schema),
        "pandas": Table(frame.to_pandas(), dataset.schema),
        "arrow, other order": Table(mixed.to_arrow(), dataset.schema),
    }


def run(step, dataset: Table, seed: int = 5, place: int = 0):
    """The plan and the released table."""
    plan = step.plan(dataset, Goal(seed=Seed(seed), place=place))
    return plan, step.apply(dataset, plan)


def multiset(dataset: Table) -> list[tuple[str, ...]]:
    """The rows as sorted tuples of labels, whatever the frame; times at midnight are dates."""
    columns = []
    for name in sorted(dataset.columns):
        encoded = encode(dataset.column(name))
        texts = ["-" if t is None else t.removesuffix(" 00:00:00") for t in encoded.labels]
        columns.append([texts[c] for c in encoded.codes])
    return sorted(zip(*columns, strict=True))
