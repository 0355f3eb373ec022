"""Sensitive columns with changed values: attacked with what was released, judged by what is
true.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.attack import Scene
from sfumato.core.hierarchy import TOP
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.table import Table
from sfumato.methods.attacks.gdpr import Inference
from sfumato.methods.attacks.inference import (
    BackgroundKnowledge,
    Homogeneity,
    ProbabilisticInference,
    Similarity,
    Skewness,
)
from sfumato.methods.attacks.nearest import surroundings
from sfumato.methods.attacks.randomised_secrets import known_matrix
from sfumato.methods.hierarchies import Tree
from sfumato.release.intruders import intruder_from

ATTACKS = [
    "homogeneity",
    "probabilistic_inference",
    "skewness",
    "similarity",
    "background_knowledge",
    "inference",
]


def scene_of(classes, true, released, **more) -> Scene:
    def table(secrets):
        return Table(pl.DataFrame({"crowd": classes, "secret": secrets})).with_roles(
            quasi="crowd", sensitive="secret"
        )

    original = table(true)
    if "hierarchy" in more:
        original = original.with_hierarchies(secret=more.pop("hierarchy"))
    pair = TablePair.of(original, table(released))
    return Scene(pair, intruder_from(pair, pair.quasi, sample=10**6, seed=Seed(0)), **more)


@pytest.mark.parametrize(
    "step",
    [sf.Pram(["ill"], retain=0.7), sf.RankSwap(["cost"], p=0.4), sf.AddNoise(["cost"], alpha=0.3)],
    ids=["pram", "swap", "noise"],
)
def test_one_changed_cell_switches_no_attack_off(step):
    n = 60
    ills, costs = ["flu", "cold", "gout"] * (n // 3), [float(100 + 7 * (i % 3)) for i in range(n)]
    seen = {
        f"seen {k}": [i * (7 + k) % 31 for i in range(n)] for k in range(5)
    }  # what a colleague knows
    frame = pl.DataFrame(
        {"age": [20 + 10 * (i % 4) for i in range(n)], "ill": ills, "cost": costs, **seen}
    )
    people = sf.read(frame).with_roles(quasi="age", sensitive=["ill", "cost"], keep=list(seen))
    release = sf.anonymize(people, [sf.KAnonymity(1)], [step], seed=3)
    report = release.attack(only=ATTACKS, seconds=20)
    assert {t.finding.attack for t in report.tried} == set(ATTACKS) and not report.skipped


def test_a_class_of_one_released_value_gives_away_only_those_who_truly_have_it():
    scene = scene_of(["a"] * 4 + ["b"] * 4, [*"xxxy", *"zzyy"], [*"xxxx", *"zzyy"])
    found = Homogeneity().attack(scene)
    assert found.victims.tolist() == [0, 1, 2] and found.value == pytest.approx(3 / 8)
    assert found.details["changed"] == 1 and "not the true ones" in found.sentence


def test_guesses_by_class_are_right_when_they_are_true():
    scene = scene_of(["a"] * 4 + ["b"] * 4, [*"xxyy", *"zzzz"], [*"xxxz", *"zzyx"])
    found = ProbabilisticInference().attack(scene)
    assert found.value == pytest.approx((2 + 4) / 8)  # x is guessed in a, z in b
    assert found.baseline == pytest.approx(
        2 / 8
    )  # x is the most frequent released value; two truly have it


def test_who_can_rule_out_another_is_right_only_about_the_truth():
    scene = scene_of(["a"] * 3, [*"xyf"], [*"xxf"])
    assert BackgroundKnowledge(amount=1).attack(scene).victims.tolist() == [0]


def test_a_lift_counts_for_those_who_have_the_value():
    true = ["ill", "ill", "well", *["well"] * 37]
    released = ["ill", "well", "ill", *["well"] * 37]
    scene = scene_of(["a"] * 4 + ["b"] * 36, true, released)
    found = Skewness(lift=5).attack(scene)
    assert found.victims.tolist() == [0, 1]  # half of the class against one in twenty


def test_close_values_count_where_the_true_one_is_among_them():
    scene = scene_of(
        ["a"] * 3 + ["b"] * 3,
        [3000, 4000, 11000, 6000, 9000, 10000],
        [3000, 4000, 5000, 6000, 9000, 11000],
    )
    assert Similarity(range=0.25).attack(scene).victims.tolist() == [0, 1]


def test_values_below_one_node_count_where_the_true_one_is_below_it():
    tree = Tree({TOP: {"stomach": ["ulcer", "gastritis", "cancer"], "lung": ["pneumonia", "flu"]}})
    true = ["ulcer", "cancer", "flu", "flu", "ulcer", "pneumonia"]
    released = [
        "ulcer",
        "gastritis",
        "ulcer",
        "flu",
        "ulcer",
        "pneumonia",
    ]  # nobody is released with cancer
    found = Similarity().attack(scene_of(["a"] * 3 + ["b"] * 3, true, released, hierarchy=tree))
    assert found.victims.tolist() == [0, 1]


# --- a known transition matrix ---


def randomised(n: int = 1200, retain: float = 0.3):
    """Everyone of a class has the same illness, which is released at random; guesses by what is
    seen often miss it.
    """
    ills = ["flu", "cold", "gout", "asthma"]
    ages = [20 + 10 * (i % 8) for i in range(n)]
    frame = pl.DataFrame(
        {"age": ages, "ill": [ills[i % 8 % 4] if i % 8 < 7 else "rare" for i in range(n)]}
    )
    people = sf.read(frame).with_roles(quasi="age", sensitive="ill")
    matrix = {"flu": {"flu": retain, "cold": 1 - retain}, "cold": {"cold": 1.0}}
    matrix |= {name: {name: 1.0} for name in ("gout", "asthma", "rare")}
    return sf.anonymize(
        people,
        [sf.KAnonymity(1)],
        [sf.Pram(["ill"], matrix={"ill": matrix}, invariant="none")],
        seed=3,
    )


def test_bayes_beats_what_is_seen():
    # seven in ten with flu are released with a cold: by what is seen their class has a cold, by
    # Bayes' rule it has the flu
    report = randomised().attack(only=["probabilistic_inference"])
    found = report.tried[0].finding
    assert found.value == pytest.approx(1.0) and found.details["matrix"]
    assert "known transition matrix" in found.sentence
    blind = Scene(
        randomised().pair, intruder_from(randomised().pair, ("age",), sample=10**6, seed=Seed(0))
    )
    assert ProbabilisticInference().attack(blind).value == pytest.approx(
        0.75
    )  # 2 of 8 classes are taken for a cold


def test_inference_uses_the_matrix_too():
    release = randomised()
    who = intruder_from(release.pair, ("age",), sample=200, seed=Seed(0))
    scene = Scene(release.pair, who, release.recipe.steps)
    around = surroundings(scene, "inference")
    secrets = list(Inference()._secrets(scene, "ill"))
    blind, seeing = (
        found.details["attack_rate"] for found in Inference()._guessed(scene, around, secrets)
    )
    assert blind < 0.8 < 0.98 < seeing


def test_shares_of_the_whole_table_are_found_from_the_matrix():
    release = randomised()
    scene = Scene(
        release.pair,
        intruder_from(release.pair, ("age",), sample=9, seed=Seed(0)),
        release.recipe.steps,
    )
    known = known_matrix(scene, "ill")
    shares = dict(zip(release.pair.reading("ill").values, known.shares, strict=True))
    assert shares["flu"] == pytest.approx(0.25, abs=0.05) and shares["cold"] == pytest.approx(
        0.25, abs=0.05
    )
    assert known.beliefs.sum(axis=1) == pytest.approx(np.ones(len(known.beliefs)))


def test_a_matrix_that_is_not_known_for_the_column_is_not_used():
    release = randomised()
    who = intruder_from(release.pair, ("age",), sample=9, seed=Seed(0))
    twice = (*release.recipe.steps, *release.recipe.steps)
    assert known_matrix(Scene(release.pair, who), "ill") is None
    assert known_matrix(Scene(release.pair, who, twice), "ill") is None


rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from("xyz")),
    min_size=1,
    max_size=20,
)


@given(rows)
def test_homogeneity_and_guesses_by_definition(table):
    classes, true, released = (list(column) for column in zip(*table, strict=True))
    scene = scene_of(classes, true, released)
    seen = {c: [r for k, _, r in table if k == c] for c in classes}
    certain = [len(set(seen[c])) == 1 and seen[c][0] == t for c, t, _ in table]
    assert Homogeneity().attack(scene).value == pytest.approx(sum(certain) / len(table))
    guess = {c: min(values, key=lambda v: (-values.count(v), v)) for c, values in seen.items()}
    right = sum(guess[c] == t for c, t, _ in table) / len(table)
    assert ProbabilisticInference().attack(scene).value == pytest.approx(right)
