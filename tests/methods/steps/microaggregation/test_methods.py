"""The methods by name."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.steps import Microaggregate
from tests.methods.steps.microaggregation.test_microaggregation import GOAL, step, table
from tests.oracles import microaggregation as oracle

SIX = [2.0, 12, 16, 25, 29, 45]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "k", "released", "share"),
    [
        # {2,12},{16,25},{29,45}: SSE 218.5 of SST 1121.5; {2,12,16},{25,29,45}: SSE 328 (golden
        # G38)
        *(
            (m, 2, [7, 7, 20.5, 20.5, 37, 37], 0.194828)
            for m in ("optimal", "mdav", "k_ward", "best")
        ),
        *(
            (m, 3, [10, 10, 10, 33, 33, 33], 0.292465)
            for m in ("optimal", "k_ward", "refined", "genetic")
        ),
    ],
)
def test_the_six_numbers_of_the_literature(method, k, released, share):
    plan = step(method, k, ["x"]).plan(table(x=SIX), GOAL)
    assert plan.columns["x"].to_list() == pytest.approx(released)
    assert plan.owner["sse_over_sst"] == pytest.approx(share, abs=1e-6)


def test_the_optimum_has_groups_of_different_size():
    # {1,2,3},{10,11,12,13},{50,51,52}: SSE 2 + 5 + 2 = 9 (golden G38)
    values = [1.0, 2, 3, 10, 11, 12, 13, 50, 51, 52]
    plan = step("optimal", 3, ["x"], standardize=False).plan(table(x=values), GOAL)
    assert plan.columns["x"].to_list() == [2, 2, 2, 11.5, 11.5, 11.5, 11.5, 51, 51, 51]
    total = float(np.var(values)) * len(values)
    assert plan.owner["sse_over_sst"] * total == pytest.approx(9.0)


def test_sorting_takes_the_rest_into_the_last_group():
    plan = step("single_axis", 2, ["a"]).plan(table(a=[5, 1, 4, 2, 3]), GOAL)
    assert plan.columns["a"].to_list() == [4, 1.5, 4, 1.5, 4]
    by_other = Microaggregate(["a"], 2, method="single_axis", axis="b").plan(
        table(a=[1, 2, 3, 4], b=[0, 9, 1, 8]), GOAL
    )
    assert by_other.columns["a"].to_list() == [2, 3, 2, 3]
    by_sum = step("z_score_sum", 2).plan(table(a=[1, 2, 3, 4], b=[4, 1, 9, 9]), GOAL)
    assert by_sum.columns["a"].to_list() == [1.5, 1.5, 3.5, 3.5]


@pytest.mark.parametrize("seed", range(6))
def test_best_finds_the_best_of_all_partitions_of_eight_records(seed):
    x = np.random.default_rng(seed).normal(size=(8, 2))
    plan = step("best", 2 + seed % 2, standardize=False).plan(table(a=x[:, 0], b=x[:, 1]), GOAL)
    total = float(x.var(axis=0).sum()) * 8
    assert plan.owner["sse_over_sst"] * total == pytest.approx(
        oracle.least_error(x.tolist(), 2 + seed % 2)
    )


def test_projected_optimal_is_the_best_of_all_runs():
    x = np.random.default_rng(1).normal(size=(9, 2))
    plan = step("projected_optimal", 2, standardize=False).plan(table(a=x[:, 0], b=x[:, 1]), GOAL)
    axis = np.linalg.svd(x - x.mean(axis=0))[2][0]
    ordered = x[np.argsort(x @ axis)].tolist()
    total = float(x.var(axis=0).sum()) * 9
    assert plan.owner["sse_over_sst"] * total == pytest.approx(
        oracle.least_error_of_runs(ordered, 2)
    )
