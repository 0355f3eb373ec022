"""Item suppression: items whose sets break a promise are deleted, for everybody."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.data.baskets.models import HkpCoherence, KmAnonymity, RhoUncertainty
from sfumato.data.baskets.partition import BasketPartition
from sfumato.data.baskets.recoding import ItemRecoding
from sfumato.data.baskets.suppression import SuppressItems
from sfumato.errors import Unsatisfiable
from tests.data.baskets.ten import BASKETS, people_of, sets_of
from tests.data.baskets.test_means import made


@given(BASKETS, st.integers(2, 3), st.integers(1, 3))
def test_suppression_leaves_no_violation(baskets, k, m):
    assume(sum(map(bool, baskets)) >= k)
    people, model = people_of(baskets, hierarchy=False), KmAnonymity(k, m)
    try:
        released, plan = made(SuppressItems(), people, model)
    except Unsatisfiable:
        with pytest.raises(Unsatisfiable, match="item_recoding"):
            made(SuppressItems(), people, model)
        return
    assert model.judge(Evidence(released)).holds
    gone = set(people.labels) - set(released.labels)
    assert plan.describe()["items_deleted"] == len(gone)
    assert sets_of(released) == [one - gone for one in baskets]


@given(BASKETS, st.sampled_from([0.4, 0.5, 0.75]))
def test_suppression_for_private_items(baskets, share):
    assume(any(one - {"c1", "c2"} for one in baskets))
    people = people_of(baskets)
    for model in (HkpCoherence(share, 1, 2, ["c1", "c2"]), RhoUncertainty(share, ["c1", "c2"])):
        try:
            released, _ = made(SuppressItems(), people, model)
        except Unsatisfiable:
            continue
        assert model.judge(Evidence(released)).holds


def test_worked_suppression():
    """14-A: with h = 1/2 a1 goes, with h = 2/5 a3 and a1."""
    people = examples.baskets()
    for share, left in (
        (0.5, {"a2", "a3", "b1", "b2", "c1", "c2"}),
        (0.4, {"a2", "b1", "b2", "c1", "c2"}),
    ):
        released, _ = made(SuppressItems(), people, HkpCoherence(share, 2, 2, ["c1", "c2"]))
        assert set(released.labels) == left


def test_the_order_of_people_does_not_matter():
    people = examples.purchases(120, items=60)
    other = people.shuffled(np.random.default_rng(3))
    models = (KmAnonymity(3, 2),)
    for step in (ItemRecoding(), BasketPartition(), SuppressItems()):
        try:
            first, second = made(step, people, *models)[0], made(step, other, *models)[0]
        except Unsatisfiable:
            assert step.name == "suppress_items"
            continue
        assert sorted(map(sorted, sets_of(first))) == sorted(map(sorted, sets_of(second)))
