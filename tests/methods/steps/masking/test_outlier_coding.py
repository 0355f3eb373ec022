"""Records far out are moved to the border; compared with the definition, record by record."""

from __future__ import annotations

import math
import statistics

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import sfumato as sf
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.masking.normal_noise import robust_distances

PEOPLE = np.random.default_rng(3).multivariate_normal([0, 5], [[1, 0.8], [0.8, 1]], 300)


def coded(values, share=0.025):
    names = [f"c{j}" for j in range(len(values[0]))]
    table = Table(pl.DataFrame(values, schema=names, orient="row"))
    step = sf.OutlierCoding(names, share=share)
    plan = step.plan(table, Goal())
    return plan, np.array(step.apply(table, plan).to_polars(), dtype=float)


NUMBERS = st.integers(-900, 900).map(lambda number: number / 100)
rows = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=4, max_size=12)


@given(rows, st.sampled_from([0.025, 0.2, 0.5]))
def test_every_record_is_that_of_the_formula(values, share):
    plan, released = coded(values, share)
    distances = robust_distances(np.array(values, dtype=float), np.ones(len(values)))
    border = math.sqrt(chi2.ppf(1 - share, 2))
    middle = [statistics.median(column) for column in zip(*values, strict=True)]
    for before, after, distance in zip(values, released, distances, strict=True):
        factor = 1.0 if distance <= border else border / distance
        expected = [m + factor * (x - m) for x, m in zip(before, middle, strict=True)]
        assert after.tolist() == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert plan.public["moved_records"] == int((distances > border).sum())


def test_a_record_that_only_two_columns_together_show():
    """Both values are usual, and the pair is not."""
    values = [*PEOPLE.tolist(), [2.0, 3.0]]
    _, released = coded(values, 0.001)
    moved = np.abs(released - np.array(values)).max(axis=1) > 0
    assert moved[-1]
    assert moved.sum() <= 3
    single = Table(pl.DataFrame(values, schema=["a", "b"], orient="row"))
    top = sf.TopBottomCoding(["a", "b"], top_quantile=0.999, bottom_quantile=0.001)
    after = top.apply(single, top.plan(single, Goal()))
    assert after.to_polars().row(-1) == (2.0, 3.0), "coding of single columns leaves it alone"


def test_about_the_share_of_normal_records_is_moved():
    for share in (0.025, 0.1):
        plan, _ = coded(PEOPLE.tolist(), share)
        # Four standard deviations of a binomial count.
        spread = 4 * math.sqrt(300 * share * (1 - share))
        assert abs(plan.public["moved_records"] - 300 * share) < spread


def test_missing_values_stay_and_count_as_the_median():
    values = [*PEOPLE.tolist(), [None, 50.0]]
    _, released = coded(values)
    assert math.isnan(released[-1][0])
    assert released[-1][1] < 10


def test_whole_numbers_stay_whole():
    table = Table(pl.DataFrame({"x": [1, 2, 3, 4, 5, 900], "y": [1, 2, 3, 4, 5, 6]}))
    step = sf.OutlierCoding(["x", "y"])
    released = step.apply(table, step.plan(table, Goal()))
    assert released.dtype("x") == pl.Int64
    assert released.column("x").to_list()[:5] == [1, 2, 3, 4, 5]
    assert released.column("x").to_list()[5] < 900


def test_wrong_input():
    with pytest.raises(ParameterError):
        sf.OutlierCoding(["x"], share=0)
    table = Table(pl.DataFrame({"x": ["a", "b"]}))
    with pytest.raises(SchemaError, match="number"):
        sf.OutlierCoding(["x"]).plan(table, Goal())
