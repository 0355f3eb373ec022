"""What came out of drawing: columns as they are released, copies one below the other, and what is
to be told of them."""

from __future__ import annotations

import datetime

import polars as pl

import sfumato as sf
from sfumato.core.schema import Attribute, Kind, Role
from sfumato.core.table import Table
from tests.methods.steps.masking_contract import run
from tests.methods.steps.synthesis.test_synthesize import homes, table_of, workers


def test_copies_are_numbered_and_drawn_apart():
    plan, made = run(sf.Synthesize(copies=3, records=200), workers(400))
    frame = made.to_polars()
    assert frame.group_by("copy").len().sort("copy").rows() == [(1, 200), (2, 200), (3, 200)]
    one, two = (frame.filter(pl.col("copy") == c).drop("copy").sort(pl.all()) for c in (1, 2))
    assert not one.equals(two)
    assert made.schema["copy"].roles == (Role.KEEP,)
    assert plan.describe()["synthesis"] == {
        "method": "trees",
        "synthetic": "fully",
        "copies": 3,
        "copies_are_numbered_in": "copy",
    }
    units = run(sf.Synthesize(copies=2, records=20), homes())[1].to_polars()
    assert (
        units.group_by("home").agg(pl.col("copy").n_unique())["copy"].eq(1).all()
        and units["home"].n_unique() == 40
    )


def test_rare_categories_that_are_drawn_are_told_of():
    table = table_of({"x": ["often"] * 58 + ["once", "twice"], "y": list(range(60))})
    plan, made = run(sf.Synthesize(records=2000, holdout=0), table)
    cells = made.to_polars()["x"].ne("often").sum()
    assert plan.owner["rare_cells"] == {"x": cells} and any(
        f"x ({cells:,})" in warning for warning in plan.warnings
    )
    assert not any("once" in warning or "twice" in warning for warning in plan.warnings)


def test_all_kinds_of_columns_come_back_as_they_were():
    start = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    rows = 80
    frame = pl.DataFrame(
        {
            "moment": [start + datetime.timedelta(minutes=37 * i) for i in range(rows)],
            "naive": [
                datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=i) for i in range(rows)
            ],
            "clock": [datetime.time(i % 24, i % 60) for i in range(rows)],
            "day": [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(rows)],
            "written": [
                str(datetime.date(2024, 1, 1) + datetime.timedelta(days=i)) for i in range(rows)
            ],
            "yes": [i % 3 == 0 for i in range(rows)],
            "small": pl.Series([i % 5 for i in range(rows)], dtype=pl.Int8),
            "single": pl.Series([i / 7 for i in range(rows)], dtype=pl.Float32),
            "kind": pl.Series(["a", "b"] * (rows // 2), dtype=pl.Enum(["a", "b", "c"])),
            "gaps": [
                None if i % 4 == 0 else float("nan") if i % 4 == 1 else float(i)
                for i in range(rows)
            ],
        }
    )
    dates = dict.fromkeys(["moment", "naive", "day", "written"], Kind.DATE)
    numbers = dict.fromkeys(["small", "single", "gaps"], Kind.NUMERIC)
    table = Table(
        frame,
        sf.Schema(
            {
                n: Attribute((Role.KEEP,), {**dates, **numbers}.get(n, Kind.NOMINAL))
                for n in frame.columns
            }
        ),
    )
    for step in (
        sf.Synthesize(min_leaf=5),
        sf.Synthesize(min_leaf=5, smoothing="kernel"),
        sf.Synthesize(columns=["moment", "written"]),
    ):
        drawn = run(step, table)[1].to_polars()
        assert drawn.schema == frame.schema
        assert all(
            drawn[n].min() >= frame[n].min() and drawn[n].max() <= frame[n].max()
            for n in ("moment", "day", "written")
        )
        assert drawn["moment"].dt.second().eq(0).all()
