"""Fellegi and Sunter's linkage: the estimate, the thresholds, and who is linked."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.attack import Attack
from sfumato.core.randomness import Seed
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.attacks import DistanceLinkage
from sfumato.methods.attacks.linkage import probabilistic_linkage
from sfumato.methods.attacks.linkage.comparison_arrays import arrays_of
from sfumato.methods.attacks.linkage.fellegi_sunter import (
    FEWEST_ROUNDS,
    decide,
    estimate,
    shares,
)
from sfumato.methods.attacks.linkage.files import files_of
from sfumato.methods.attacks.linkage.match_weights import (
    MatchLearning,
    graded_rule,
)
from sfumato.methods.attacks.linkage.probabilistic_linkage import (
    ProbabilisticLinkage,
    count_patterns,
)
from sfumato.release.intruders import intruder_from
from tests.methods.attacks.linkage_scenes import ORDER, numbers, scene_of, shuffled


@pytest.fixture(scope="module")
def simulated():
    """ALGORITHMS §3.3, G14: 300 records, 5 categories, errors in each; drawn with numpy's
    generator, seed 0.
    """
    rng = np.random.default_rng(0)
    sizes, errors = [12, 8, 5, 2, 30], [0.1, 0.15, 0.05, 0.02, 0.2]
    one = np.column_stack([rng.integers(0, size, 300) for size in sizes])
    two = one.copy()
    for k, size in enumerate(sizes):
        wrong = rng.random(300) < errors[k]
        two[wrong, k] = rng.integers(0, size, wrong.sum())
    first, second = ({f"c{k}": table[:, k].astype(str) for k in range(5)} for table in (one, two))
    return scene_of(first, second)


@pytest.mark.slow
def test_thresholds_of_the_simulation(simulated):
    # ALGORITHMS §3.3: μ = 1e-4, λ = 0.05 → 9.30 and 2.76 bits, 181 links
    found = ProbabilisticLinkage(chance="estimated").attack(simulated)
    assert found.details["upper_bits"] == pytest.approx(9.30, abs=0.005)
    assert found.details["lower_bits"] == pytest.approx(2.76, abs=0.005)
    assert found.details["pairs"]["links"] == 181
    assert sum(found.details["pairs"].values()) == 300 * 300


def test_correct_links_of_the_simulation(simulated):
    # ALGORITHMS §3.3: 173 of the 181 links are right, so 8 of the 89,700 other pairs are links:
    # 8.9e-5 ≤ μ
    files = files_of(simulated)
    arrays = arrays_of(files, [graded_rule(column, 0.1) for column in files.columns])
    patterns = count_patterns(arrays, np.arange(len(arrays.intruder.records)))
    verdict = decide(patterns, estimate(patterns, 1 / 300), 1e-4, 0.05).verdicts
    linking = {tuple(row) for row in patterns.levels[verdict == 1].tolist()}
    original, released = (
        np.column_stack([table.column(name).to_numpy() for name in arrays.names])
        for table in (simulated.pair.original, simulated.pair.released)
    )
    right = sum(
        tuple(np.where(a == b, 3, 0).tolist()) in linking
        for a, b in zip(original, released, strict=True)
    )
    assert right == 173


def test_no_links_where_even_the_best_pattern_is_too_common(simulated):
    # ALGORITHMS §3.3: μ = 1e-5
    found = ProbabilisticLinkage(wrong_links=1e-5, missed=0.01).attack(simulated)
    assert found.details["upper_bits"] is None
    assert found.details["pairs"]["links"] == 0 == found.details["people_with_a_link"]


def test_estimates_are_those_the_simulation_has(simulated):
    found = ProbabilisticLinkage().attack(simulated)
    assert found.details["share_of_matches"] == pytest.approx(1 / 300, rel=0.3)
    assert list(found.weights) == [
        "c4",
        "c0",
        "c1",
        "c2",
        "c3",
    ]  # the more values, the more agreeing says
    assert found.weights["c4"] == pytest.approx(math.log2(0.8 * 30), abs=0.5)
    assert found.value > 0.8


def naive_level(name, x, cell, tolerance):
    if x is None or cell is None or cell == "*":
        return 4
    if name[0] == "c":
        members = [part.strip() for part in cell.strip("{}").split(",")]
        return (3 if len(members) == 1 else 2) if x in members else 0
    low, _, high = cell.partition("..")
    if name[0] == "o":
        x, low, high = ORDER.index(x), ORDER.index(low), ORDER.index(high or low)
        tolerance = 1
    else:
        x, low, high = float(x), float(low), float(high or low)
    gap = max(0, low - x, x - high)
    if gap == 0:
        return 3 if low == high else 2
    return 1 if gap <= tolerance else 0


@pytest.mark.parametrize("few", [0, 8, 10**9], ids=["by record", "as it pays", "by class"])
@given(seed=st.integers(0, 2**32))
def test_patterns_are_counted_as_pair_by_pair(few, seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 12))
    original = {
        "n1": [str(v) for v in range(10)],
        "o1": [*ORDER, *ORDER, "low", "low"],
        "c1": list("abcdabcdab"),
    }
    register = {
        "n1": rng.choice(original["n1"], size),
        "o1": rng.choice(ORDER, size),
        "c1": rng.choice(list("abcd"), size),
    }
    cells = {
        "n1": ["1", "5", "2..7", "*"],
        "o1": ["low", "middle..top", "*"],
        "c1": ["a", "b", "{a, c}", "*"],
    }
    release = {name: rng.choice(listed, 10).tolist() for name, listed in cells.items()}
    release["n1"][0] = None
    scene = scene_of(original, release, intruder=register)
    files = files_of(scene)
    rules = [graded_rule(column, 0.5) for column in files.columns]
    arrays = arrays_of(files, rules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probabilistic_linkage, "FEW", few)
        patterns = count_patterns(arrays, np.arange(len(arrays.intruder.records)))
    reach = {name: arrays.constants[k, 4] for k, name in enumerate(arrays.names)}
    expected = {}
    for i, j in itertools.product(range(size), range(10)):
        levels = tuple(
            naive_level(n, register[n][i], release[n][j], reach[n]) for n in arrays.names
        )
        expected[levels] = expected.get(levels, 0) + 1
    found = {
        tuple(row): count
        for row, count in zip(patterns.levels.tolist(), patterns.counts.tolist(), strict=True)
    }
    assert found == expected


def test_the_best_of_all_by_weight_against_a_full_table(simulated):
    found = ProbabilisticLinkage().attack(simulated)
    table = np.zeros((300, 300))
    files = files_of(simulated)
    arrays = arrays_of(files, [graded_rule(column, 0.1) for column in files.columns])
    patterns = count_patterns(arrays, np.arange(len(arrays.intruder.records)))
    bits = estimate(patterns, 1 / 300, shares(patterns, patterns.counts)).weights
    for k, name in enumerate(arrays.names):
        one, two = (
            t.column(name).to_numpy() for t in (simulated.pair.original, simulated.pair.released)
        )
        table += np.where(one[:, None] == two[None, :], bits[k, 3], bits[k, 0])
    best = table.max(axis=1, keepdims=True)
    near = table >= best - 1e-9
    assert found.value == pytest.approx((near.diagonal() / near.sum(axis=1)).mean())


def test_unique_rows_as_they_are_are_linked_and_constant_ones_are_not():
    x, _ = numbers(1, 60, 3)
    assert ProbabilisticLinkage().attack(scene_of(x, x)).value == 1.0
    flat = {name: np.full(60, 1.0) for name in x}
    assert ProbabilisticLinkage().attack(scene_of(x, flat)).value == pytest.approx(1 / 60, abs=0.02)


def test_ranges_that_cover_agree():
    ages = np.arange(20, 60)
    wide = [f"{a // 10 * 10}..{a // 10 * 10 + 9}" for a in ages]
    found = ProbabilisticLinkage().attack(scene_of({"n1": ages}, {"n1": wide}))
    assert found.value == pytest.approx(1 / 10)


def test_every_cell_suppressed_or_little_work():
    x, _ = numbers(1, 40, 2)
    stars = {name: ["*"] * 40 for name in x}
    assert ProbabilisticLinkage().attack(scene_of(x, stars)).value == pytest.approx(1 / 40)
    assert ProbabilisticLinkage().attack(dataclasses.replace(scene_of(x, x), work=1)).value == 1.0


def test_order_does_not_matter_nor_does_a_sample_of_pairs_much(simulated, monkeypatch):
    whole = ProbabilisticLinkage().attack(simulated)
    turned = ProbabilisticLinkage().attack(shuffled(simulated))
    assert turned.value == pytest.approx(whole.value)
    assert turned.weights == pytest.approx(whole.weights)
    monkeypatch.setattr(probabilistic_linkage, "PAIRS", 45_000)
    monkeypatch.setattr(probabilistic_linkage, "FEWEST", 10)
    part = ProbabilisticLinkage().attack(simulated)
    assert part.details["pairs_counted"] < 60_000
    assert part.value == pytest.approx(whole.value, abs=0.05)


def test_bad_input():
    table = {"n0": [1.0, 2.0]}
    with pytest.raises(SchemaError, match="knows no released column"):
        ProbabilisticLinkage().attack(scene_of(table, table, knows=[]))
    many = {f"c{k}": ["a", "b"] for k in range(28)}
    assert "more than 27 columns" in ProbabilisticLinkage().applies(scene_of(many, many))
    with pytest.raises(ParameterError, match="wrong_links"):
        ProbabilisticLinkage(wrong_links=0)
    assert isinstance(ProbabilisticLinkage(), Attack)
    assert ProbabilisticLinkage().attack(scene_of({"n0": [1.0]}, {"n0": [1.0]})).value == 1.0


def test_where_all_rounds_are_too_much_work_the_first_are_taken(simulated):
    found = ProbabilisticLinkage().attack(dataclasses.replace(simulated, work=1))
    assert found.details["rounds"] == FEWEST_ROUNDS and found.details["limited_by_work"]
    assert f"weights of {FEWEST_ROUNDS} rounds of estimation, to bound the work" in found.sentence
    assert not ProbabilisticLinkage().attack(simulated).details["limited_by_work"]


# Numbers with noise.


def noisy(seed, rows, errors):
    """Correlated numbers, and a copy with normal errors of so many deviations."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, len(errors))) @ rng.normal(size=(len(errors), len(errors)))
    y = x + rng.normal(size=x.shape) * x.std(axis=0) * np.array(errors)
    return ({f"n{k}": values[:, k] for k in range(len(errors))} for values in (x, y))


@pytest.mark.parametrize("error", [0.001, 0.05, 0.15, 0.4])
def test_noise_hides_nobody_that_it_does_not_hide_from_distances(error):
    x, y = noisy(4, 1500, [error] * 5)
    scene = scene_of(x, y)
    by_distance = DistanceLinkage().attack(scene).value
    assert ProbabilisticLinkage().attack(scene).value >= by_distance - 0.01


def test_where_noise_differs_by_column_the_probabilities_know_and_the_distance_does_not():
    x, y = noisy(4, 1500, [0.05, 0.5, 0.05, 0.4, 0.05])
    scene = scene_of(x, y)
    assert ProbabilisticLinkage().attack(scene).value > DistanceLinkage().attack(scene).value + 0.1


@pytest.mark.parametrize(
    ("errors", "grid", "categories"),
    [
        ([0.3] * 4, 10, 0),
        ([0.5] * 4, 3, 0),
        ([0.7] * 4, None, 2),
        ([0.8] * 8, None, 0),
        ([0.2] * 3, None, 0),
    ],
)
def test_numbers_that_agree_by_chance_are_not_taken_for_matches(errors, grid, categories):
    """Noise on whole numbers, and beside categories, where weights by levels found a third of what
    distances do.
    """
    rng = np.random.default_rng(7)
    shared = rng.normal(size=(800, 1))
    x = (rng.normal(size=(800, len(errors))) + shared) / math.sqrt(2)
    y = x + rng.normal(size=x.shape) * np.array(errors)
    if grid is not None:
        x, y = np.round(x * grid), np.round(y * grid)
    original, released = ({f"n{k}": values[:, k] for k in range(len(errors))} for values in (x, y))
    for k in range(categories):
        original[f"c{k}"] = released[f"c{k}"] = rng.choice(list("abc"), 800)
    scene = scene_of(original, released)
    by_distance = DistanceLinkage().attack(scene).value
    assert ProbabilisticLinkage().attack(scene).value >= 0.9 * by_distance - 0.01


@pytest.fixture
def learnt_once(monkeypatch):
    """What is learnt of everybody is learnt once, as it is the same for every draw (see the next
    test).
    """
    best, memory = MatchLearning.best, {}

    def remembered(learning):
        if "way" not in memory:
            memory["way"] = best(learning)
        return memory["way"]

    monkeypatch.setattr(MatchLearning, "best", remembered)


def noisy_whole_numbers(rows=1200):
    rng = np.random.default_rng(21)
    x = rng.normal(size=(rows, 4)) + rng.normal(size=(rows, 1))
    y = x + rng.normal(size=x.shape) * 0.4
    return ({f"n{k}": np.round(8 * values[:, k]) for k in range(4)} for values in (x, y))


def drawn(scene, sample, seed):
    who = intruder_from(scene.pair, tuple(scene.pair.columns), sample=sample, seed=Seed(seed))
    return dataclasses.replace(scene, intruder=who, seed=Seed(seed))


def test_what_is_learnt_does_not_depend_on_who_was_drawn():
    scene = scene_of(*noisy_whole_numbers(600))
    whole = ProbabilisticLinkage().attack(scene)
    for seed in range(3):
        part = ProbabilisticLinkage().attack(drawn(scene, 80, seed))
        assert part.weights == whole.weights
        assert part.details["graded_columns"] == whole.details["graded_columns"]
        assert part.details["upper_bits"] == whole.details["upper_bits"]


def test_the_interval_of_a_sample_covers_the_rate_of_everybody(learnt_once):
    """Weights learnt of those who were drawn covered it in 40 to 54 % of draws."""
    scene = scene_of(*noisy_whole_numbers())
    value = ProbabilisticLinkage().attack(scene).value
    covered = 0
    for seed in range(100):
        low, high = ProbabilisticLinkage().attack(drawn(scene, 100, seed)).interval
        covered += low <= value <= high
    assert covered >= 90  # of so few; chance leaves 89 or fewer of good intervals in 1 of 100 runs


def test_outliers_do_not_hide_who_agrees_elsewhere():
    x, y = noisy(4, 800, [0.02] * 5)
    rng = np.random.default_rng(1)
    y = {
        name: np.where(rng.random(800) < 0.1, rng.permutation(values), values)
        for name, values in y.items()
    }
    scene = scene_of(x, y)
    assert ProbabilisticLinkage().attack(scene).value > 0.97 > DistanceLinkage().attack(scene).value
