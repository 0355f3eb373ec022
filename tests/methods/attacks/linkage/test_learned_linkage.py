"""Worst-case linkage: the families of distances, the best of them, and the bound on all."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.attack import Attack
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.attacks.linkage import learned_linkage
from sfumato.methods.attacks.linkage.distance_linkage import DistanceLinkage
from sfumato.methods.attacks.linkage.learned_linkage import LearnedLinkage
from tests.methods.attacks.linkage_scenes import numbers, scene_of, shuffled
from tests.oracles import linkage as oracle


def published(size, noise, columns=4):
    """The data behind G13: noise that differs by column, both files standardised; the masked file
    seeks the original.
    """
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(columns, columns))
    x = rng.normal(size=(size, columns)) @ mixing
    strength = np.array([noise * (1 + 3 * (j % 3)) for j in range(columns)])
    y = x + rng.normal(size=(size, columns)) * x.std(axis=0) * strength
    x, y = ((t - t.mean(axis=0)) / t.std(axis=0) for t in (x, y))
    one, two = ({f"n{k}": t[:, k] for k in range(columns)} for t in (x, y))
    return scene_of(one, one, intruder=two, seconds=36_000)


@pytest.mark.slow
def test_optimum_of_fifty_records():
    # ALGORITHMS §3.2, G13: Euclid links 23, the optimum over all weighted means is 34
    scene = published(50, 0.2)
    assert DistanceLinkage(standard="own").attack(scene).value * 50 == pytest.approx(23)
    found = LearnedLinkage().attack(scene)
    assert found.value * 50 == pytest.approx(34)
    assert found.interval == pytest.approx((0.68, 0.68))
    assert found.details["proved"]
    assert found.details["cross_fitted"] <= found.value
    assert sum(found.weights.values()) == pytest.approx(1.0)
    assert found.weights["n0"] == max(found.weights.values())  # the column with the least noise


@pytest.mark.slow
def test_optimum_of_a_hundred_records():
    # ALGORITHMS §3.2, G13: 44
    found = LearnedLinkage().attack(published(100, 0.25))
    assert found.value * 100 == pytest.approx(44)
    assert found.details["proved"]


@settings(max_examples=8)
@given(
    seed=st.integers(0, 999),
    aggregator=st.sampled_from(["weighted_mean", "owa"]),
    solver=st.sampled_from(["highspy", "scipy"]),
)
def test_the_proved_optimum_against_a_grid_of_all_weights(seed, aggregator, solver):
    x, y = numbers(seed, 12, 2, noise=0.4)
    if solver == "highspy":
        pytest.importorskip("highspy")
    found = LearnedLinkage(aggregator, solver=solver, restarts=2, steps=40).attack(
        scene_of(x, y, seconds=120)
    )
    parts = []
    for name in x:
        spread = oracle.deviation(x[name], y[name])
        parts.append((x[name][:, None] - y[name][None, :]) ** 2 / spread**2)
    table = np.stack(parts)
    if aggregator == "owa":
        table = -np.sort(-table, axis=0)
    grid = [
        oracle.strict_links(w * table[0] + (1 - w) * table[1], np.arange(12))
        for w in np.linspace(0, 1, 401)
    ]
    low, high = (round(end * 12) for end in found.interval)
    assert low <= high
    assert high >= max(grid) - 1  # a grid point may link by less than the margin
    assert found.details["proved"]
    assert low == high and low >= max(grid) - 1


def test_ties_count_as_distance_linkage_counts_them():
    # both zeros are as far from 1 as from −1: each is linked with chance ½ whatever the weights
    scene = scene_of({"n0": [0.0, 0, 5, 9]}, {"n0": [1.0, -1, 5, 9]})
    found = LearnedLinkage().attack(scene)
    assert DistanceLinkage().attack(scene).value == pytest.approx(0.75)
    assert found.interval == pytest.approx((0.75, 0.75)) and found.details["proved"]
    assert "no such distance links more" in found.sentence


def test_a_tie_that_only_some_weights_have():
    # n0 says nothing of the second record and n1 prefers the other's: only with no weight on n1 is
    # there a tie, worth ½
    scene = scene_of(
        {"n0": [0.0, 0.0, 7.0], "n1": [0.0, 0.0, 3.0]},
        {"n0": [0.0, 0.0, 7.0], "n1": [0.0, 1.0, 3.0]},
    )
    found = LearnedLinkage().attack(scene)
    assert found.value == pytest.approx(2 / 3)
    assert found.interval[1] == pytest.approx(2 / 3) and found.details["proved"]


SMALL = st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=2, max_size=6)


@settings(max_examples=40)
@given(rows=SMALL, aggregator=st.sampled_from(["weighted_mean", "owa", "choquet", "bilinear"]))
def test_with_ties_never_below_plain_linkage_and_never_exceeded(rows, aggregator):
    cells = np.array(rows, dtype=float)
    x, y = ({f"n{k}": table[:, k] for k in range(2)} for table in (cells[:, :2], cells[:, 2:]))
    scene = scene_of(x, y)
    found = LearnedLinkage(aggregator, restarts=1, steps=10, solver="scipy").attack(scene)
    assert found.value >= DistanceLinkage().attack(scene).value - 1e-9
    table = np.stack(
        [
            (x[n][:, None] - y[n][None, :]) ** 2 / (oracle.deviation(x[n], y[n]) or 1.0) ** 2
            for n in x
        ]
    )
    if aggregator == "owa":
        table = -np.sort(-table, axis=0)
    people = range(len(rows))
    grid = [
        oracle.credit(w * table[0] + (1 - w) * table[1], people, people)[0]
        for w in np.arange(13) / 12
    ]
    assert found.interval[1] >= max(grid) - 1e-6
    if found.details["proved"] and aggregator in ("weighted_mean", "owa"):
        assert found.value >= max(grid) - 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("aggregator", ["weighted_mean", "owa", "bilinear", "choquet"])
def test_best_found_never_exceeds_the_bound_and_larger_families_find_no_less(aggregator):
    x, y = numbers(4, 24, 3, noise=0.3)
    scene = scene_of(x, y)
    found = LearnedLinkage(aggregator, restarts=2, steps=60, nodes=40).attack(scene)
    assert 0 <= found.interval[0] <= found.interval[1] <= 1
    assert found.value == found.interval[0]
    plain = LearnedLinkage(restarts=2, steps=60, solver="none").attack(scene_of(x, y))
    if aggregator != "owa":
        assert found.value >= plain.value - 1e-9


def test_more_than_eight_columns_take_pairs_only():
    x, y = numbers(4, 25, 9, noise=0.2)
    found = LearnedLinkage("choquet", restarts=1, steps=30, solver="none").attack(scene_of(x, y))
    assert found.details["measure"] == "2-additive"
    assert sum(found.weights.values()) == pytest.approx(1.0)


def test_unique_rows_as_they_are_are_linked_whole():
    x, _ = numbers(1, 30, 2)
    found = LearnedLinkage().attack(scene_of(x, x))
    assert found.interval == (1.0, 1.0)
    assert found.details["proved"] and found.details["cross_fitted"] == 1.0


def test_records_released_alike_are_worth_one_in_so_many():
    original = {"n0": np.repeat(np.arange(5.0), 4), "c0": list("ab") * 10}
    released = {"n0": np.repeat(np.arange(5.0), 4), "c0": ["*"] * 20}
    found = LearnedLinkage().attack(scene_of(original, released))
    assert found.interval == pytest.approx((0.25, 0.25))


@pytest.mark.parametrize("aggregator", ["weighted_mean", "owa", "bilinear", "choquet"])
def test_everything_suppressed_or_the_same_is_guessed(aggregator):
    x, _ = numbers(1, 20, 2)
    for cells in ("*", "1.5"):
        found = LearnedLinkage(aggregator).attack(scene_of(x, {name: [cells] * 20 for name in x}))
        assert found.value == pytest.approx(1 / 20) == found.interval[1]


def test_constant_and_repeated_columns():
    # the covariance of the columns is singular
    x, y = numbers(2, 25, 1, noise=0.1)
    x, y = ({"n0": v["n0"], "n1": v["n0"], "n2": np.zeros(25)} for v in (x, y))
    for aggregator in ("bilinear", "weighted_mean"):
        found = LearnedLinkage(aggregator, restarts=2, steps=40, nodes=50).attack(
            scene_of(x, y, seconds=5)
        )
        assert 0 < found.value <= found.interval[1] <= 1


def test_with_little_work_there_is_still_an_interval():
    x, y = numbers(3, 40, 3, noise=0.3)
    found = LearnedLinkage(restarts=1, steps=20).attack(dataclasses.replace(scene_of(x, y), work=1))
    assert 0 <= found.value <= found.interval[1] <= 1
    assert found.details["sampled"] and found.details["distinct_people"] == 20


def test_large_tables_are_sampled(monkeypatch):
    monkeypatch.setattr(learned_linkage, "MOST_UNITS", 100)
    monkeypatch.setattr(learned_linkage, "SAMPLE", 50)
    x, y = numbers(3, 150, 3, noise=0.1)
    found = LearnedLinkage(restarts=2, steps=40, solver="none").attack(scene_of(x, y))
    assert found.details["sampled"] and found.details["distinct_people"] == 50
    assert found.interval[0] < found.value < found.interval[1]


def test_same_seed_same_finding_whatever_the_order():
    x, y = numbers(5, 30, 2, noise=0.3)
    scene = scene_of(x, y, seconds=600)
    attack = LearnedLinkage(restarts=2, steps=40, nodes=500)
    one, two = attack.attack(scene), attack.attack(shuffled(scene))
    assert one.interval == two.interval
    assert one.weights == pytest.approx(two.weights)


def test_bad_input():
    table = {"n0": [1.0, 2.0]}
    with pytest.raises(SchemaError, match="knows no released column"):
        LearnedLinkage().attack(scene_of(table, table, knows=[]))
    many = {f"c{k}": ["a", "b"] for k in range(31)}
    assert "more than 30 columns" in LearnedLinkage().applies(scene_of(many, many))
    with pytest.raises(ParameterError, match="aggregator"):
        LearnedLinkage("median")
    assert isinstance(LearnedLinkage(), Attack)
    assert LearnedLinkage().attack(scene_of({"n0": [1.0]}, {"n0": [1.0]})).interval == (1.0, 1.0)
