"""Means for baskets: what they reach, how cheaply, and whom they refuse."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

from sfumato.core.data import Evidence
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.data.baskets.disassociated_km import DisassociatedKm
from sfumato.data.baskets.disassociation import Disassociation
from sfumato.data.baskets.mixed_classes import GroupedRecoding
from sfumato.data.baskets.models import (
    BasketKAnonymity,
    KKmAnonymity,
    KmAnonymity,
)
from sfumato.data.baskets.partition import BasketPartition, BlockRecoding
from sfumato.data.baskets.recoding import ItemRecoding
from sfumato.data.baskets.suppression import SuppressItems
from sfumato.errors import SchemaError, Unsatisfiable
from tests.data.baskets.ten import BASKETS, ancestors, ncp, people_of, sets_of


def made(step, people, *models):
    """What a step makes of people, and its plan."""
    plan = step.plan(people, Goal(models=models, seed=Seed(1)))
    return step.apply(people, plan), plan


def truthful(before, after) -> bool:
    """Whether every released node stands above something the person has."""
    return all(
        all(any(node in ancestors(item) for item in old) for node in new)
        for old, new in zip(before, after, strict=True)
    )


@pytest.mark.parametrize(
    ("step", "models"),
    [
        (ItemRecoding("optimal"), (KmAnonymity(2, 2),)),
        (ItemRecoding("apriori"), (KmAnonymity(2, 2),)),
        (ItemRecoding("apriori"), (KmAnonymity(3, 1), KmAnonymity(2, 3), BasketKAnonymity(2))),
        (BasketPartition(), (BasketKAnonymity(2),)),
        (BlockRecoding(3), (KmAnonymity(2, 2),)),
    ],
    ids=["optimal", "apriori", "both", "partition", "blocks"],
)
@given(baskets=BASKETS)
def test_recoding_keeps_its_promise_and_stays_true(step, models, baskets):
    assume(sum(map(bool, baskets)) >= 3)
    people = people_of(baskets)
    released, plan = made(step, people, *models)
    assert all(model.judge(Evidence(released)).holds for model in models)
    assert truthful(baskets, sets_of(released))
    assert [bool(one) for one in sets_of(released)] == [bool(one) for one in baskets]
    assert plan.describe()["ncp"] == pytest.approx(ncp(baskets, sets_of(released)), abs=1e-6)


MEANS = [
    (ItemRecoding(), KmAnonymity(4, 1)),
    (BasketPartition(), BasketKAnonymity(4)),
    (BlockRecoding(), KmAnonymity(4, 1)),
    (SuppressItems(), KmAnonymity(4, 1)),
    (GroupedRecoding(), KKmAnonymity(4, 1)),
    (Disassociation(), DisassociatedKm(4, 1)),
]


@pytest.mark.parametrize(("step", "model"), MEANS, ids=lambda one: getattr(one, "name", ""))
def test_too_few_people_are_refused(step, model):
    people = people_of([{"a1"}, {"a1"}, {"b1"}, set()], ["x"] * 4)
    with pytest.raises(Unsatisfiable, match="3 people have an item, fewer than the k = 4"):
        step.plan(people, Goal(models=(model,)))
    with pytest.raises(Unsatisfiable, match="1 people"):
        step.plan(people_of([{"a1"}], ["x"]), Goal(models=(model,)))
    with pytest.raises(SchemaError, match="none of the 2 people has an item"):
        step.plan(people_of([set(), set()], ["x", "y"]), Goal(models=(model,)))


def test_baskets_that_were_recoded_can_be_recoded_again():
    people = people_of([{"A", "b1"}, {"a1", "b1"}, {"P"}, {"*", "a2"}, {"c1"}, {"c1"}])
    released, _ = made(ItemRecoding("apriori"), people, KmAnonymity(2, 2))
    assert KmAnonymity(2, 2).judge(Evidence(released)).holds
    assert truthful(sets_of(people), sets_of(released))
