from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.methods.formulas.bucket_counts import (
    bucket_count,
    bucket_sizes,
    class_sizes,
    count_bounds,
    distance_of,
    whole_counts,
)
from sfumato.methods.formulas.bucket_plans import plan_buckets
from tests.oracles.closeness_and_privacy import all_counts, farthest_class, multiplicative

# G11: Domingo-Ferrer & Soria-Comas 2015, figures 2 and 3, table 1 and section 6 with whole numbers
# put in


def counts(n, classes, buckets, t):
    sizes, shares = class_sizes(n, classes), bucket_sizes(n, buckets)
    return whole_counts(sizes, shares, *count_bounds(sizes, shares, t))


def test_g11_figure_2_and_table_1():
    assert distance_of([[2, 1, 1], [1, 2, 1], [1, 1, 2]]) == 1.5
    assert distance_of([[4, 1, 1], [1, 4, 1], [1, 1, 4]]) == 2.0
    assert distance_of([[2, 2], [0, 4]]) == math.inf


@pytest.mark.parametrize(
    ("n", "k", "farthest"),
    [(18, 6, 2.0), (18, 3, 1.0), (12, 4, 1.5)],
    ids=["l=1 of table 1", "classes of three", "only (2,1,1) is possible"],
)
def test_g11_how_far_a_class_can_be(n, k, farthest):
    found = plan_buckets(n, k, 2)
    assert (found.buckets, found.classes, found.farthest) == (3, n // k, pytest.approx(farthest))


def test_g11_seven_records_in_three_classes_cannot_share_three_buckets():
    assert class_sizes(7, 3) == [3, 2, 2]
    assert counts(7, 3, 3, 2) is None
    assert counts(7, 2, 3, 2) is not None
    with pytest.raises(ParameterError, match="2 to k = 2 buckets"):
        plan_buckets(7, 2, 2, buckets=3)


@pytest.mark.parametrize(
    ("n", "t", "per_bucket", "sums"), [(100, 3, 2, [22, 28, 22, 28]), (100, 2, 5, [35, 30, 35])]
)
def test_g11_the_printed_rule_does_not_add_up_and_ours_does(n, t, per_bucket, sums):
    """Each class takes ⌈e p/t⌉ of every other bucket and the rest of its own: the columns are not
    the buckets.
    """
    buckets, classes = t + 1, (t + 1) * per_bucket
    sizes, shares = class_sizes(n, classes), bucket_sizes(n, buckets)
    printed = [0] * buckets
    for i, size in enumerate(sizes):
        others = [math.ceil(size * share / n / t - 1e-9) for share in shares]
        own = i % buckets
        for j in range(buckets):
            printed[j] += size - sum(others) + others[own] if j == own else others[j]
    assert sum(printed) == n
    assert printed != shares
    assert sorted(printed) == sorted(sums)
    found = counts(n, classes, buckets, t)
    assert found.sum(axis=0).tolist() == shares
    assert found.sum(axis=1).tolist() == sizes


def test_g11_factors_that_are_not_whole():
    """N = 1000, t = 2.5, thirty classes: a class of 34 with counts (24, 5, 5) is at 2.264, (18,
    8, 8) at 1.585 to 1.590 only.
    """
    assert plan_buckets(100, 10, 2.5).buckets == 3
    found = plan_buckets(1000, 33, 2.5)
    assert (found.classes, found.bucket_sizes) == (30, [334, 333, 333])
    shares = [0.334, 0.333, 0.333]
    assert multiplicative([24 / 34, 5 / 34, 5 / 34], shares) == pytest.approx(2.264, abs=5e-4)
    assert multiplicative([18 / 34, 8 / 34, 8 / 34], shares) == pytest.approx(1.585, abs=5e-4)
    assert multiplicative([8 / 34, 18 / 34, 8 / 34], shares) == pytest.approx(1.590, abs=5e-4)
    low, high = count_bounds([34], found.bucket_sizes, 2.5)
    assert (low[0].tolist(), high[0].tolist()) == ([5, 5, 5], [28, 28, 28])
    assert found.farthest == pytest.approx(34 * 0.334 / 5)  # five of the larger bucket


@given(
    st.integers(1, 9),
    st.integers(1, 3),
    st.integers(2, 3),
    st.sampled_from([1.2, 1.5, 2.0, 2.5, 3.0]),
)
def test_flow_finds_counts_exactly_where_there_are_any(n, classes, buckets, t):
    if classes > n or buckets > n:
        return
    sizes, shares = class_sizes(n, classes), bucket_sizes(n, buckets)
    possible = [c for c in all_counts(sizes, shares) if farthest_class(c) <= t + 1e-9]
    found = counts(n, classes, buckets, t)
    assert (found is not None) == bool(possible)
    if found is not None:
        assert found.tolist() in possible


@given(st.integers(4, 11), st.integers(2, 4), st.sampled_from([1.3, 1.5, 2.0, 2.5]))
def test_the_plan_is_the_best_of_all_counts(n, k, t):
    found = plan_buckets(n, k, t)
    if not found.feasible:
        assert k > n
        return
    every = list(all_counts(found.class_sizes, found.bucket_sizes))
    allowed = [farthest_class(c) for c in every if farthest_class(c) <= t + 1e-9]
    assert found.farthest == pytest.approx(max(allowed))
    assert found.nearest == pytest.approx(min(allowed), abs=1e-6)
    for more in range(found.classes + 1, n // k + 1):
        assert counts(n, more, found.buckets, t) is None


@given(st.integers(2, 5000), st.integers(2, 60), st.floats(1.01, 12))
def test_sizes_add_up(n, k, t):
    found = plan_buckets(n, k, t)
    assert sum(found.bucket_sizes) == n
    assert 2 <= found.buckets <= min(k, bucket_count(t))
    if k <= n:
        assert sum(found.class_sizes) == n
        assert min(found.class_sizes) >= k
        assert 1 <= found.nearest <= found.farthest + 1e-9 <= t + 2e-9
    else:
        assert not found.feasible
        assert "lower k" in str(found)


def test_a_plan_as_plain_data():
    told = plan_buckets(10_000, 10, 2.5).to_dict()
    assert told["feasible"]
    assert told["implied_epsilon"]["conditional"]
    assert told["implied_epsilon"]["value"] == pytest.approx(2 * math.log(2.5))
    assert plan_buckets(10, 10, 2.5).to_dict()["needed_epsilon"] is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: plan_buckets(0, 3, 2),
        lambda: plan_buckets(10, 1, 2),
        lambda: plan_buckets(10, 3, 1),
        lambda: plan_buckets(10, 3, math.nan),
        lambda: plan_buckets(10, 3, math.inf),
        lambda: plan_buckets(10, 3, 2, buckets=1),
        lambda: plan_buckets(10, 3, 2, buckets=4),
        lambda: plan_buckets(10**10, 3, 2),
        lambda: bucket_count(0.5),
    ],
)
def test_out_of_range(wrong):
    with pytest.raises(ParameterError):
        wrong()
