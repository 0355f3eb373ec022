"""Column after column: each is drawn from the leaves of a tree grown on those before it."""

from __future__ import annotations

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.core.schema import Kind
from sfumato.methods.steps.synthesis.material import step_of
from tests.methods.steps.masking_contract import run
from tests.methods.steps.synthesis.test_synthesize import table_of, workers


def test_drawn_records_have_the_distribution_that_the_leaves_say():
    # The oracle: with one predictor of two values and leaves of 30, P(y | x) is that of the table,
    # and P(x) too. 8 cells of 40 000 draws, chi-square: a right sampler fails with probability
    # 10⁻⁹.
    from scipy import stats

    draw = np.random.default_rng(2)
    x = draw.integers(0, 2, 400)
    y = np.where(draw.random(400) < 0.3 + 0.4 * x, "a", draw.choice(["b", "c", "d"], 400))
    table = table_of({"x": np.where(x == 1, "one", "nil"), "y": y})
    drawn = run(sf.Synthesize(records=40_000, min_leaf=30, order=["x", "y"], holdout=0), table)[
        1
    ].to_polars()
    expected = table.to_polars().group_by("x", "y").len().sort("x", "y")
    found = expected.join(
        drawn.group_by("x", "y").len(name="drawn"), on=["x", "y"], how="left"
    ).fill_null(0)
    assert found["drawn"].sum() == 40_000
    assert stats.chisquare(found["drawn"], found["len"] * 100).pvalue > 1e-9


def test_columns_that_depend_on_each_other_still_do():
    table = workers(3000)
    drawn = run(sf.Synthesize(holdout=0, special={"income": [-9]}), table)[1].to_polars()
    real = table.to_polars()
    for frame in (real, drawn):
        assert frame.filter(pl.col("age") < 15)["married"].eq("single").mean() > 0.9
    assert (
        abs(drawn["income"].is_null().mean() - real["income"].is_null().mean()) < 0.05
    )  # s.e. 0.009
    assert abs((drawn["income"] == -9).mean() - (real["income"] == -9).mean()) < 0.03  # s.e. 0.006
    days = [
        frame.select(pl.corr("age", pl.col("born").cast(pl.Int32))).item()
        for frame in (real, drawn)
    ]
    assert days[0] < -0.99 and days[1] < -0.97


def test_smoothed_numbers_stay_within_bounds_and_keep_their_decimals():
    draw = np.random.default_rng(1)
    table = table_of(
        {"x": np.round(draw.exponential(100, 500), 2), "g": draw.choice(["a", "b"], 500)}
    )
    made = run(sf.Synthesize(holdout=0), table)[1]  # nearly all distinct: smoothed by default
    drawn, real = made.to_polars()["x"], table.to_polars()["x"]
    assert drawn.min() >= real.min() and drawn.max() <= real.max()
    assert (drawn.round(2) == drawn).all()
    assert (~drawn.is_in(real.to_list())).mean() > 0.3
    assert step_of(real.to_numpy()) == 0.01
    exact = run(sf.Synthesize(holdout=0, smoothing="none"), table)[0]
    assert exact.table["x"].is_in(real.to_list()).all()
    assert exact.owner["unique_numbers_again"]["x"] > 0.5 and any(
        "unique numbers" in w for w in exact.warnings
    )


def test_declared_bounds_are_where_numbers_are_reflected():
    draw = np.random.default_rng(1)
    columns = {"x": draw.normal(50, 5, 300), "g": draw.choice(["a", "b"], 300)}
    table = table_of(columns, x={"kind": Kind.NUMERIC, "bounds": (0, 100)})
    drawn = run(sf.Synthesize(holdout=0, records=5000), table)[1].to_polars()["x"]
    assert drawn.max() > max(columns["x"]) and drawn.min() < min(columns["x"])
