"""Attacks on baskets: worked numbers, and every set of known items looked up by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.attack import NothingToAttack, Scene
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.data.baskets.attacks import ItemAttackCost, KnownItems, RareItems
from sfumato.data.baskets.disassociated_km import DisassociatedKm
from sfumato.data.baskets.disassociation import Disassociation
from sfumato.data.baskets.knowledge import Sight, wilson
from sfumato.data.baskets.models import BasketKAnonymity, KmAnonymity
from sfumato.data.baskets.partition import BasketPartition
from sfumato.data.baskets.recoding import ItemRecoding
from sfumato.data.baskets.scoreboard import Scoreboard
from tests.data.baskets.ten import BASKETS, ancestors, people_of, sets_of


def shares(finding) -> list[float]:
    return [share for _, share in finding.details["curve"]["points"]]


def scene(original, released=None, **more) -> Scene:
    return Scene.of(original, original if released is None else released, seed=Seed(5), **more)


def test_worked_known_items():
    """14-A: mean share of unique m-sets 0, 2/15, 7/10; people with one 0, 4, 7; mean 1/support
    183/700, 47/90, 5/6.
    """
    finding = KnownItems(m=3).attack(scene(examples.baskets()))
    assert shares(finding) == pytest.approx([0, 2 / 15, 7 / 10], abs=1e-6)
    assert finding.details["mean_chance"] == pytest.approx([183 / 700, 47 / 90, 5 / 6], abs=1e-6)
    assert finding.details["people_with_one"] == [0, 4, 7]
    assert finding.value == pytest.approx(0.7)
    assert (finding.victims + 1).tolist() == [1, 3, 4, 5, 6, 8, 9]
    assert finding.interval is None


def test_worked_attack_cost():
    """Section 16.1 on 14-A: work, candidates and people found, rarest first and in random order."""
    rarest = ItemAttackCost("rarest", m=3).attack(scene(examples.baskets()))
    assert rarest.details["work"] == pytest.approx([10, 13.1, 14.6])
    assert rarest.details["people_left"] == pytest.approx([3.1, 2.2, 1.4])
    assert shares(rarest) == pytest.approx([0, 0.1, 0.7])
    by_chance = ItemAttackCost("random", m=3).attack(scene(examples.baskets()))
    assert by_chance.details["work"] == pytest.approx([10, 14.5667, 16], abs=1e-4)
    assert by_chance.details["people_left"] == pytest.approx([4.5667, 2.1333, 1.4], abs=1e-4)
    assert shares(by_chance) == pytest.approx([0, 2 / 15, 0.7], abs=1e-6)
    assert rarest.details["truth_stays"]
    assert rarest.details["work_for_each_found"] == pytest.approx(14.6 / 0.7, abs=1e-3)
    assert rarest.details["work_until_half_hide_among"] == {"5": 10.0}
    never = ItemAttackCost("rarest", m=1, among=1).attack(scene(examples.baskets()))
    assert never.details["work_until_half_hide_among"] == {"1": None}
    assert never.details["work_for_each_found"] is None


def fitting(known, released) -> list[int]:
    """Released baskets that hold each known item or a group of it; items that are nowhere in the
    release tell nothing.
    """
    labels = frozenset().union(*released)
    asked = [set(ancestors(item)) for item in known if set(ancestors(item)) & labels]
    return [place for place, basket in enumerate(released) if all(one & basket for one in asked)]


def looked_up(original, released, origin, m) -> tuple[float, float]:
    """Mean share of sets of m known items that fit the right basket alone, and the mean chance to
    name the person.
    """
    alone, chance, people = 0.0, 0.0, 0
    for person, own in enumerate(original):
        if not own:
            continue
        true, people = origin.index(person), people + 1
        sets = list(combinations(sorted(own), min(m, len(own))))
        found = [fitting(q, released) for q in sets]
        alone += sum(one == [true] for one in found) / len(sets)
        chance += sum(1 / len(one) if true in one else 0.0 for one in found) / len(sets)
    return alone / people, chance / people


@given(BASKETS, st.sampled_from(["cut", "parts", "deleted"]), st.integers(1, 3), st.integers(0, 3))
def test_known_items_in_a_release(baskets, way, m, seed):
    assume(sum(map(bool, baskets)) >= 2)
    people = people_of(baskets)
    if way == "deleted":
        image = np.arange(people.sets.size)
        image[0] = -1
        released = people.with_sets(people.sets.mapped(image, people.sets.size), people.labels)
        assume(released.filled)
    else:
        step, model = (
            (ItemRecoding(), KmAnonymity(2, 1))
            if way == "cut"
            else (BasketPartition(), BasketKAnonymity(2))
        )
        released = step.apply(people, step.plan(people, Goal(models=(model,))))
    released = released.shuffled(np.random.default_rng(seed))
    finding = KnownItems(m=m).attack(scene(people, released))
    alone, chance = looked_up(baskets, sets_of(released), released.origin.tolist(), m)
    assert finding.value == pytest.approx(alone)
    assert finding.details["mean_chance"][-1] == pytest.approx(chance, abs=1e-6)


@given(BASKETS, st.integers(1, 3))
def test_counting_and_looking_up_agree(baskets, m):
    assume(any(baskets))
    people = people_of(baskets)
    counted = KnownItems(m=m).attack(scene(people))
    sight = Sight.of(scene(people))
    means = np.mean([sight.subsets(person, m) for person in sight.targets], axis=0)
    assert shares(counted) == pytest.approx(means[:, 0], abs=1e-6)
    assert counted.details["mean_chance"] == pytest.approx(means[:, 1], abs=1e-6)


@given(BASKETS, st.integers(1, 3))
def test_rare_items_are_a_lower_bound_of_the_worst_set(baskets, m):
    assume(any(baskets))
    people = people_of(baskets)
    rare, known = RareItems(m=m).attack(scene(people)), KnownItems(m=m).attack(scene(people))
    assert set(rare.victims.tolist()) <= set(known.victims.tolist())
    for person in rare.victims.tolist():
        order = sorted(baskets[person], key=lambda item: (sum(item in b for b in baskets), item))
        assert fitting(order[:m], baskets) == [person]


def test_more_than_four_items_are_drawn_and_the_curve_never_falls():
    people = examples.purchases(150, items=60)
    finding = KnownItems(m=7, draws=3).attack(scene(people))
    points = shares(finding)
    assert len(points) == 7
    assert points == sorted(points)
    exact = KnownItems(m=2).attack(scene(people))
    assert shares(KnownItems(m=5, draws=40).attack(scene(people)))[1] == pytest.approx(
        exact.value, abs=0.05
    )


def test_a_sample_of_people_has_an_interval():
    people = examples.purchases(150, items=60)
    released = people.shuffled(np.random.default_rng(1))
    whole = KnownItems(m=5, draws=5).attack(scene(people, released))
    some = KnownItems(m=5, draws=5, people=40).attack(scene(people, released))
    assert whole.interval is None
    assert some.trials == 40
    assert some.interval[0] <= whole.value <= some.interval[1]
    assert wilson(0.0, 0) == (0.0, 1.0)


def test_time_cuts_it_short():
    people = examples.purchases(100, items=40)
    finding = RareItems().attack(scene(people, seconds=0.0))
    assert finding.trials == 20


# Linkage of two files.


def test_nothing_to_attack():
    empty = people_of([set(), set()])
    apart = Disassociation().apply(
        examples.baskets(),
        Disassociation().plan(examples.baskets(), Goal(models=(DisassociatedKm(2, 2),))),
    )
    for attack in (KnownItems(), RareItems(), Scoreboard(), ItemAttackCost()):
        assert isinstance(attack.applies(scene(empty)), NothingToAttack)
        reason = attack.applies(scene(examples.baskets(), apart))
        assert "disassociated" in reason
        assert not isinstance(reason, NothingToAttack)  # unknown, and no pass
        assert attack.applies(scene(examples.baskets())) is None


def test_findings_name_no_item():
    people = examples.baskets()
    for attack in (KnownItems(), RareItems(), Scoreboard(), ItemAttackCost()):
        told = str(attack.attack(scene(people)).to_dict())
        assert not any(label in told for label in people.labels)
