"""Bounds on the number of classes, against the best of all groupings of few records."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.methods.formulas.class_bounds import (
    least_recursive_size,
    least_size_for_factor,
    least_size_for_shares,
    least_size_on_line,
    most_classes,
)
from sfumato.methods.models.l_diversity import AlphaKAnonymity, LDiversity, PSensitive
from sfumato.methods.models.t_closeness import TCloseness
from tests.methods.models.counted_tables import TREE, evidence_of
from tests.oracles import definitions as oracle

few = st.lists(st.integers(1, 4), min_size=2, max_size=3)


def best_grouping(counts, keeps):
    """The most classes that keep a promise, over all groupings of all subsets of the records."""

    @functools.cache
    def best(left):
        most = 0
        for part in itertools.product(*(range(n + 1) for n in left)):
            if any(part) and keeps(part):
                most = max(most, 1 + best(tuple(n - m for n, m in zip(left, part, strict=True))))
        return most

    return best(tuple(counts))


def bound_of(counts, model):
    return model.class_bound(evidence_of([counts], model))


@settings(deadline=None)
@given(few, st.integers(1, 3), st.integers(1, 4))
def test_values_and_sizes_are_reached(counts, p, k):
    def keeps(part):
        return sum(part) >= k and oracle.distinct_values(part) >= p

    assert most_classes(counts, p, k) == best_grouping(counts, keeps)
    assert bound_of(counts, PSensitive("secret", p=p, k=k)) == best_grouping(counts, keeps)


@settings(deadline=None)
@given(few, st.sampled_from([1, 1.5, 2, 2.4, 3]))
def test_entropy_diversity(counts, l):  # noqa: E741
    reached = best_grouping(counts, lambda part: oracle.effective_values(part) >= l - 1e-9)
    assert reached <= bound_of(counts, LDiversity("secret", l=l, kind="entropy"))


@settings(deadline=None)
@given(few, st.integers(1, 3), st.sampled_from([0.3, 0.5, 1.0, 1.5, 3.0]))
def test_recursive_diversity(counts, l, c):  # noqa: E741
    reached = best_grouping(counts, lambda part: oracle.recursively_diverse(part, c, l))
    assert reached <= bound_of(counts, LDiversity("secret", l=l, kind="recursive", c=c))


@given(st.integers(1, 4), st.sampled_from([0.3, 0.5, 1.0, 1.5, 3.0]))
def test_the_least_recursive_class(l, c):  # noqa: E741
    size = least_recursive_size(l, c)
    # Different values once each are the best a class can do.
    assert oracle.recursively_diverse([1] * size, c, l)
    for smaller in range(1, size):
        for parts in itertools.combinations_with_replacement(range(1, smaller + 1), smaller):
            if sum(parts) <= smaller:
                assert not oracle.recursively_diverse(parts, c, l)
    for count in range(1, size):
        for part in partitions(count):
            assert not oracle.recursively_diverse(part, c, l)


def partitions(number, most=None):
    """All ways to write a number as a sum."""
    if number == 0:
        yield ()
    for first in range(min(number, most or number), 0, -1):
        for rest in partitions(number - first, first):
            yield (first, *rest)


@settings(deadline=None)
@given(few, st.sampled_from([0.3, 0.4, 0.5, 0.7, 1.0]), st.integers(1, 3))
def test_alpha_k(counts, alpha, k):
    def keeps(part):
        return sum(part) >= k and oracle.largest_share(part, [True] * len(part)) <= alpha + 1e-9

    bound = bound_of(counts, AlphaKAnonymity("secret", alpha=alpha, k=k))
    assert best_grouping(counts, keeps) <= bound


@settings(deadline=None)
@given(few, st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.35, 0.5]))
def test_closeness_with_equal_distances(counts, t):
    ground = oracle.equal_ground(len(counts))

    def distance(part):
        return (
            sum(abs(a - b) for a, b in zip(oracle.shares(part), oracle.shares(counts), strict=True))
            / 2
        )

    assert distance([counts[0], *[0] * (len(counts) - 1)]) == pytest.approx(
        oracle.earth_movers_distance([counts[0], *[0] * (len(counts) - 1)], counts, ground)
    )
    reached = best_grouping(counts, lambda part: distance(part) <= t + 1e-9)
    assert reached <= bound_of(counts, TCloseness("secret", t=t))


@settings(deadline=None)
@given(few, st.sampled_from([1.0, 1.2, 1.5, 2.0, 4.0]))
def test_closeness_by_a_factor(counts, t):
    reached = best_grouping(
        counts, lambda part: oracle.multiplicative_distance(part, counts) <= t + 1e-9
    )
    bound = bound_of(counts, TCloseness("secret", t=t, distance="multiplicative"))
    assert reached <= bound


def types(total, width):
    """All counts of so many records over so many values."""
    if width == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in types(total - first, width - 1):
            yield (first, *rest)


@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=4),
    st.sampled_from([0.0, 0.02, 0.05, 0.1, 0.3]),
)
def test_least_sizes_are_those_of_trying_all_classes(counts, t):
    """No class of fewer records is near enough, and for shares and lines one of that size is."""
    reference = np.array(counts, dtype=np.int64)
    gaps = np.full(len(counts) - 1, 1 / (len(counts) - 1))
    line = oracle.numeric_ground(list(range(len(counts))))

    def variation(part):
        return (
            sum(abs(a - b) for a, b in zip(oracle.shares(part), oracle.shares(counts), strict=True))
            / 2
        )

    def on_line(part):
        ends = np.cumsum(oracle.shares(part)) - np.cumsum(oracle.shares(counts))
        return float(np.abs(ends[:-1]).sum() / (len(counts) - 1))

    some = [2, *[0] * (len(counts) - 2), 1]
    assert on_line(some) == pytest.approx(oracle.earth_movers_distance(some, counts, line))
    for least, distance in (
        (least_size_for_shares(reference, t), variation),
        (least_size_on_line(reference, gaps, t), on_line),
    ):
        for size in range(1, min(least, 7)):
            assert min(map(distance, types(size, len(counts)))) > t
        if least < 7:
            assert min(map(distance, types(least, len(counts)))) <= t + 1e-9


@given(st.lists(st.integers(1, 6), min_size=2, max_size=3), st.sampled_from([1.0, 1.3, 2.0, 5.0]))
def test_least_size_for_a_factor(counts, t):
    least = least_size_for_factor(np.array(counts, dtype=np.int64), t)

    def fits(part):
        return oracle.multiplicative_distance(part, counts) <= t + 1e-9

    for size in range(1, least):
        assert not any(map(fits, types(size, len(counts))))
    assert any(map(fits, types(least, len(counts))))


def test_worked_bounds():
    # Sandhu: 10,000 people of whom 1 % are positive: at most 100 classes can be 2-diverse.
    assert bound_of([9900, 100], LDiversity("secret", l=2)) == 100
    # The released reference moves with what is suppressed: no bound is known.
    assert bound_of([9, 1], TCloseness("secret", t=0.1, reference="released")) is None
    # Half and half, no distance at all: classes of two.
    assert bound_of([50, 50], TCloseness("secret", t=0.0)) == 50
    assert math.isclose(sum(oracle.shares([50, 50])), 1.0)


def test_a_failing_verdict_says_it():
    evidence = evidence_of(
        [[99, 1], [9801, 99]], model := LDiversity("secret", l=2, kind="entropy")
    )
    assert "can form more than 100 classes" in model.judge(evidence).sentence
    near = TCloseness("secret", t=0.0)
    assert "can form more than" in near.judge(evidence_of([[99, 0], [1, 100]], near)).sentence


@settings(deadline=None)
@given(
    few,
    st.sampled_from(["ordered", "numeric", "hierarchical"]),
    st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.35]),
)
def test_closeness_with_a_ground(counts, distance, t):
    """Oracle: the earth mover's distance as a linear program."""
    width = len(counts)
    ground = {
        "ordered": oracle.numeric_ground(list(range(width))),
        "numeric": oracle.numeric_ground([1, 2, 4][:width]),
        "hierarchical": oracle.tree_ground(list(TREE.rows)[:width]),
    }[distance]

    def keeps(part):
        return oracle.earth_movers_distance(part, counts, ground) <= t + 1e-9

    kept = functools.cache(keeps)
    reached = best_grouping(counts, kept)
    assert reached <= bound_of(counts, TCloseness("secret", t=t, distance=distance))
