"""Attacks on sensitive columns: the worked tables of the literature, naive counts, and tables built
to fall or to stand.
"""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.core.attack import Scene
from sfumato.core.hierarchy import TOP
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.table import Table
from sfumato.errors import ParameterError
from sfumato.methods.attacks.inference import (
    BackgroundKnowledge,
    Homogeneity,
    ProbabilisticInference,
    Similarity,
    Skewness,
)
from sfumato.methods.attacks.minimality import Minimality, posterior_by_minimality
from sfumato.methods.hierarchies import Tree
from sfumato.release.intruders import intruder_from

ATTACKS = (Homogeneity(), ProbabilisticInference(), BackgroundKnowledge(), Skewness(), Similarity())


def scene_of(released: Table, original: Table | None = None, **more) -> Scene:
    pair = TablePair.of(original or released, released)
    return Scene(pair, intruder_from(pair, pair.quasi, sample=10**6, seed=Seed(0)), **more)


def table(classes, secrets, **attributes):
    frame = pl.DataFrame({"crowd": classes, "secret": secrets})
    return Table(frame).with_roles(quasi="crowd", sensitive="secret")


def test_everyone_in_their_thirties_has_cancer():
    # Machanavajjhala et al. 2007, figure 2: the class (130**, 3*) of four
    found = Homogeneity().attack(scene_of(examples.conditions(release="anonymous")))
    assert found.value == pytest.approx(4 / 12) and found.details["classes"] == 1
    assert sorted(found.victims.tolist()) == [8, 9, 10, 11]


def test_the_diverse_release_stands():
    assert Homogeneity().attack(scene_of(examples.conditions(release="diverse"))).value == 0.0


def test_eighty_percent_flu_although_three_values():
    # ALGORITHMS 10.5: ten tuples with counts 1, 1, 8 are distinct-3-diverse
    people = table(["a"] * 10 + ["b"] * 10, ["x", "y", *["flu"] * 8, *"abcdefghij"])
    found = ProbabilisticInference().attack(scene_of(people))
    assert found.details["strongest_class"] == pytest.approx(0.8)
    assert found.value == pytest.approx(9 / 20) and found.baseline == pytest.approx(8 / 20)


def test_own_record_removed():
    # Torra: HYU knows the own record, so the two others of the class are known to have AIDS
    people = table(["a"] * 3, ["AIDS", "AIDS", "flu"])
    assert BackgroundKnowledge(amount=0).attack(scene_of(people)).value == 0.0
    found = BackgroundKnowledge(excludes="records", amount=1).attack(scene_of(people))
    assert found.victims.tolist() == [0, 1]


def test_a_lift_of_a_hundred():
    # Sandhu: half of a class against 5 of 1000
    secrets = ["ill"] * 5 + ["well"] * 5 + ["well"] * 990
    people = table(["a"] * 10 + ["b"] * 990, secrets)
    found = Skewness(lift=50).attack(scene_of(people))
    assert found.details["largest_lift"] == pytest.approx(100) and found.value == pytest.approx(
        5 / 1000
    )


def test_close_salaries():
    # Faggioli: 3k to 5k in a table from 3k to 11k is a range of 2/8
    people = table(["a"] * 3 + ["b"] * 3, [3000, 4000, 5000, 6000, 9000, 11000])
    assert Similarity(range=0.25).attack(scene_of(people)).value == pytest.approx(0.5)
    assert Similarity(range=0.24).attack(scene_of(people)).value == 0.0


def test_illnesses_of_the_stomach():
    # Gerl: gastric ulcer, gastritis and stomach cancer are all below one node
    tree = Tree(
        {
            TOP: {
                "stomach": ["ulcer", "gastritis", "cancer of the stomach"],
                "lung": ["pneumonia", "flu"],
            }
        }
    )
    people = table(
        ["a"] * 3 + ["b"] * 3,
        ["ulcer", "gastritis", "cancer of the stomach", "flu", "ulcer", "pneumonia"],
    )
    found = Similarity().attack(scene_of(people.with_hierarchies(secret=tree)))
    assert found.value == pytest.approx(0.5) and found.details["classes"] == 1
    assert Similarity().attack(scene_of(people)).value == 0.0


def test_minimality_of_two_subgroups():
    # Wong et al. 2007 (G34): q1 twice, q2 four times, two sensitive tuples; the class {q1, q1, q2,
    # q2}
    assert posterior_by_minimality([2, 2], 2, [1, 2]).tolist() == [1.0, 0.0]


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 4)), min_size=1, max_size=4).flatmap(
        lambda groups: st.tuples(st.just(groups), st.integers(0, sum(size for size, _ in groups)))
    )
)
def test_minimality_against_all_allocations(drawn):
    groups, carriers = drawn
    sizes, quiet = [size for size, _ in groups], [most for _, most in groups]
    allocations = [s for s in product(*(range(size + 1) for size in sizes)) if sum(s) == carriers]
    breaking = [
        s for s in allocations if any(a > q for a, q in zip(s, quiet, strict=True))
    ] or allocations
    weights = [np.prod([comb(n, a) for n, a in zip(sizes, s, strict=True)]) for s in breaking]
    expected = [
        sum(w * s[i] for w, s in zip(weights, breaking, strict=True)) / sum(weights) / sizes[i]
        for i in range(len(sizes))
    ]
    assert posterior_by_minimality(sizes, carriers, quiet) == pytest.approx(expected, abs=1e-9)


def test_minimality_end_to_end():
    original = Table(
        pl.DataFrame({"q": ["1", "1", "2", "2", "2", "2"], "ill": ["y", "y", "n", "n", "n", "n"]})
    ).with_roles(quasi="q", sensitive="ill")
    released = original.with_columns({"q": pl.Series(["*", "*", "*", "*", "2", "2"])})
    scene = scene_of(released, original, models=(sf.LDiversity("ill", l=2),))
    assert Minimality().applies(scene) is None
    assert Minimality().attack(scene).victims.tolist() == [0, 1]
    assert "no l-diversity" in Minimality().applies(scene_of(released, original))


def copies_of_six(number: int, **more) -> Scene:
    """The six people above, so many times: a class of four of whom the first two are exposed, and
    one of two alike.
    """
    names = [f"{copy}{group}" for copy in range(number) for group in "aabbbb"]
    original = Table(pl.DataFrame({"q": names, "ill": ["y", "y", "n", "n", "n", "n"] * number}))
    original = original.with_roles(quasi="q", sensitive="ill")
    classes = [f"{copy}{label}" for copy in range(number) for label in "****bb"]
    released = original.with_columns({"q": pl.Series(classes)})
    return scene_of(released, original, models=(sf.LDiversity("ill", l=2),), **more)


def test_minimality_of_classes_that_are_alike():
    found = Minimality().attack(copies_of_six(30))
    assert found.interval is None and found.trials is None
    assert found.victims.tolist() == [row for row in range(180) if row % 6 < 2]


def test_minimality_beyond_its_work_tells_what_is_certain_of_all():
    found = Minimality().attack(
        copies_of_six(30, work=0)
    )  # the first class of four takes more work than that
    hits, unseen = len(found.victims), 180 - found.trials
    assert hits == 2 and 4 <= found.trials < 60 and found.value == hits / found.trials
    assert found.interval == (hits / 180, (hits + unseen) / 180)
    assert found.details["limited_by_work"] and "random sample" in found.sentence


def test_minimality_that_was_stopped_is_unknown():
    with pytest.raises(ParameterError, match="time budget"):
        Minimality().attack(copies_of_six(2, seconds=0.0))


rows = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1, max_size=14)


@given(rows, st.sampled_from([0.4, 0.5, 0.75, 1.0]))
def test_homogeneity_against_counting(drawn, confidence):
    people = table([c for c, _ in drawn], [s for _, s in drawn])
    sizes, both = Counter(c for c, _ in drawn), Counter(drawn)
    expected = sum(both[row] / sizes[row[0]] >= confidence - 1e-12 for row in drawn) / len(drawn)
    assert Homogeneity(confidence).attack(scene_of(people)).value == pytest.approx(expected)


@given(rows, st.sampled_from([1.07, 1.41, 2.31, 4.71]))  # no share of so few records is at the line
def test_skewness_against_counting(drawn, lift):
    people = table([c for c, _ in drawn], [s for _, s in drawn])
    sizes, both, totals = Counter(c for c, _ in drawn), Counter(drawn), Counter(s for _, s in drawn)
    lifts = [Fraction(both[c, s] * len(drawn), sizes[c] * totals[s]) for c, s in drawn]
    found = Skewness(lift=lift).attack(scene_of(people))
    assert found.value == pytest.approx(sum(one >= lift for one in lifts) / len(drawn))
    assert found.details["largest_lift"] == pytest.approx(float(max(lifts)))
    told = re.search(r"at most (\S+) times", found.sentence)
    assert float(told[1]) >= float(max(lifts)) * (1 - 1e-12)


@given(rows, st.integers(0, 3))
def test_background_values_against_counting(drawn, amount):
    people = table([c for c, _ in drawn], [s for _, s in drawn])
    both = Counter(drawn)

    def certain(row):
        others = sorted(
            (n for (c, s), n in both.items() if c == row[0] and s != row[1]), reverse=True
        )
        return sum(others[amount:]) == 0

    found = BackgroundKnowledge(excludes="values", amount=amount).attack(scene_of(people))
    assert found.value == pytest.approx(sum(map(certain, drawn)) / len(drawn))


@given(rows)
def test_one_crowd_gives_nothing_beyond_guessing(drawn):
    people = table(["*"] * len(drawn), [s for _, s in drawn])
    assert ProbabilisticInference().attack(scene_of(people)).beyond_guessing == pytest.approx(0)
    assert Skewness().attack(scene_of(people)).value == 0.0


@given(rows)
def test_everyone_alone_gives_everything(drawn):
    people = table([str(i) for i in range(len(drawn))], [s for _, s in drawn])
    assert Homogeneity().attack(scene_of(people)).value == 1.0
    assert ProbabilisticInference().attack(scene_of(people)).value == 1.0


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.name)
def test_without_a_secret_there_is_nothing_to_attack(attack):
    people = Table(pl.DataFrame({"a": [1, 2]})).with_roles(quasi="a")
    assert "no sensitive column" in attack.applies(scene_of(people))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.name)
def test_missing_secrets_and_one_row(attack):
    people = table(["a"], [None])
    found = attack.attack(scene_of(people.with_schema(people.schema)))
    assert 0 <= found.value <= 1 and "None" not in found.sentence
