"""What baskets are still worth, against naive counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given

from sfumato import examples
from sfumato.core.data import Pair
from sfumato.core.step import Goal
from sfumato.data.baskets.disassociated_km import DisassociatedKm
from sfumato.data.baskets.disassociation import Disassociation, reconstructed
from sfumato.data.baskets.models import BasketKAnonymity, KmAnonymity
from sfumato.data.baskets.partition import BasketPartition
from sfumato.data.baskets.recoding import ItemRecoding
from sfumato.data.baskets.utility import ItemNcp, ItemsetSurvival, PairSupportError
from sfumato.errors import ParameterError
from tests.data.baskets.ten import BASKETS, SIZES, ancestors, ncp, people_of, sets_of
from tests.oracles import baskets as oracle


def parts(baskets):
    """A release in which people are recoded differently, in another order."""
    people = people_of(baskets)
    step = BasketPartition()
    released = step.apply(people, step.plan(people, Goal(models=(BasketKAnonymity(2),))))
    return people, released.shuffled(np.random.default_rng(1))


@given(BASKETS)
def test_item_loss(baskets):
    assume(sum(map(bool, baskets)) >= 2)
    people, released = parts(baskets)
    names = sets_of(released)
    placed = [names[released.origin.tolist().index(person)] for person in range(people.people)]
    assert ItemNcp().measure(Pair(people, released)).value == pytest.approx(ncp(baskets, placed))
    assert ItemNcp().measure(Pair(people, people)).value == 0


def test_worked_item_loss():
    """14-A: {A,B,C} loses 65/189."""
    people, step = examples.baskets(), ItemRecoding()
    released = step.apply(people, step.plan(people, Goal(models=(KmAnonymity(2, 2),))))
    assert ItemNcp().measure(Pair(people, released)).value == pytest.approx(65 / 189)
    left = released.taken(np.arange(5))  # who is not released has lost everything
    lost = 13 / 27
    rest = ItemNcp().measure(Pair(people, left)).value
    assert rest == pytest.approx(
        (sum(SIZES[n] / 7 * c for n, c in (("A", 6), ("B", 7), ("C", 1)))) / 27 + lost
    )


def frequent(baskets, least, m):
    return {q for q in oracle.occurring(baskets, m) if oracle.support(baskets, q) >= least}


def lifted(baskets, level):
    """Baskets on a level of the hierarchy (c1 and c2 have their group on level 2), without what
    stands higher.
    """
    height = {"A": 1, "B": 1, "C": 2, "P": 2, "*": 3}

    def up(item):
        chain = [node for node in ancestors(item) if height.get(node, 0) <= level]
        return chain[-1] if chain else None

    return [
        frozenset(node for item in basket if (node := up(item)) is not None) for basket in baskets
    ]


@given(BASKETS)
def test_frequent_sets_kept(baskets):
    assume(sum(map(bool, baskets)) >= 2)
    people, released = parts(baskets)
    least = max(1, int(np.ceil(0.3 * len(baskets))))
    measure = ItemsetSurvival(0.3, 2).measure(Pair(people, released))
    before, after = frequent(baskets, least, 2), frequent(lifted(sets_of(released), 0), least, 2)
    assert measure.value == pytest.approx(len(before & after) / len(before) if before else 1.0)
    assert measure.per_column["new sets"] == len(after - before)
    for level in range(1, people.taxonomy.height):
        was, now = (frequent(lifted(one, level), least, 2) for one in (baskets, sets_of(released)))
        if people.taxonomy.height == 3:
            assert measure.per_column[f"level {level}"] == pytest.approx(
                len(was & now) / len(was) if was else 1.0
            )


@given(BASKETS)
def test_pair_supports(baskets):
    assume(sum(map(bool, baskets)) >= 2)
    people, released = parts(baskets)
    pairs = [q for q in oracle.occurring(baskets, 2) if len(q) == 2]
    errors = []
    for pair in pairs:
        first, second = sorted(pair)
        guess = sum(
            sum(1 / SIZES[n] for n in ancestors(first) if n in basket)
            * sum(1 / SIZES[n] for n in ancestors(second) if n in basket)
            for basket in sets_of(released)
        )
        support = oracle.support(baskets, pair)
        errors.append(abs(guess - support) / support)
    measure = PairSupportError().measure(Pair(people, released))
    assert measure.raw == pytest.approx(np.mean(errors) if errors else 0.0)
    assert measure.value == pytest.approx(np.mean(np.minimum(errors, 1)) if errors else 0.0)


def test_without_a_hierarchy_items_are_there_or_gone():
    people = people_of([{"a1", "b1"}, {"a1"}], hierarchy=False)
    image = np.array([0, -1])
    released = people.with_sets(people.sets.mapped(image, 2), people.labels)
    assert ItemNcp().measure(Pair(people, released)).value == pytest.approx(1 / 3)
    assert PairSupportError().measure(Pair(people, released)).value == 1
    assert ItemsetSurvival(0.5).measure(Pair(people, released)).value == pytest.approx(1 / 3)


def test_what_was_taken_apart_is_measured_when_put_together():
    people, step = examples.baskets(), Disassociation(5)
    apart = step.apply(people, step.plan(people, Goal(models=(DisassociatedKm(2, 2),))))
    for metric in (ItemNcp(), ItemsetSurvival(), PairSupportError()):
        assert "reconstructed" in metric.applies(Pair(people, apart))
        assert metric.applies(Pair(people, people)) is None
    again = reconstructed(apart, np.random.default_rng(3))
    assert 0 <= PairSupportError().measure(Pair(people, again)).value <= 1


def test_too_many_frequent_sets_are_refused(monkeypatch):
    monkeypatch.setattr("sfumato.data.baskets.utility.MOST_SETS", 5)
    with pytest.raises(ParameterError, match="larger support"):
        ItemsetSurvival(0.1).measure(Pair(examples.baskets(), examples.baskets()))


def test_loss_of_items_tells_groups_apart_from_what_is_gone():
    people = examples.baskets()
    step, goal = ItemRecoding(), Goal(models=(KmAnonymity(2, 2),))
    coarser = step.apply(people, step.plan(people, goal))
    assert "as a group" in ItemNcp().measure(Pair(people, coarser)).meaning
    assert "as a group" not in ItemNcp().measure(Pair(people, people)).meaning
