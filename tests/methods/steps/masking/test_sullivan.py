"""Sullivan's algorithm: noise in normal space, and back through the distribution functions."""

from __future__ import annotations

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.table import Table
from tests.methods.steps.masking.test_noise import arrays, noisy, normal_table
from tests.methods.steps.masking_contract import run


def test_sullivan_keeps_distributions_of_skewed_and_discrete_columns():
    rng = np.random.default_rng(2)
    rows, skill = 4000, np.random.default_rng(3).standard_normal(4000)
    frame = pl.DataFrame(
        {
            "pay": np.where(rng.random(rows) < 0.3, 0.0, np.exp(skill + rng.normal(0, 0.5, rows))),
            "grade": [
                ("c", "b", "a")[i]
                for i in np.digitize(skill + rng.normal(0, 0.7, rows), [-0.5, 0.8])
            ],
            "sex": [("f", "m")[i] for i in rng.integers(0, 2, rows)],
        }
    )
    schema = Schema(
        {
            "pay": Attribute((Role.KEEP,), Kind.NUMERIC),
            "sex": Attribute((Role.KEEP,)),
            "grade": Attribute((Role.KEEP,), Kind.ORDINAL, order=("c", "b", "a")),
        }
    )
    plan, made = run(
        sf.AddNoise(["pay", "grade", "sex"], 0.5, method="sullivan"), Table(frame, schema)
    )
    # a share of ½ or less has a standard error of at most √(1/4/4000) = 0.0079
    for name in ("grade", "sex"):
        old, new = (dict(t.group_by(name).len().iter_rows()) for t in (frame, made.to_polars()))
        assert all(abs(old[v] - new[v]) / rows < 5 * 0.0079 for v in old)
    assert abs((made.column("pay") == 0).mean() - (frame["pay"] == 0).mean()) < 5 * 0.0079
    assert made.column("pay").min() >= 0 and made.column("pay").max() <= frame["pay"].max()
    assert plan.preserved[0].off_by < 5 * 0.0079
    assert plan.owner["correlations_off_by"] < 0.03
    assert (made.column("grade") != frame["grade"]).mean() > 0.1


def test_sullivan_draws_near_records_anew():
    table = normal_table(3000)
    told = {near: noisy(table, "sullivan", redraw=near)[0].owner for near in (0.0, 0.2)}
    assert told[0.0]["redrawn"] == 0
    assert told[0.2]["redrawn"] >= 500 and told[0.2]["still_near"] <= 30
    x, y = arrays(table, noisy(table, "sullivan", redraw=0.2)[1])
    assert (np.abs(x - y) / x.std(axis=0)).max(axis=1).min() > 0.02
