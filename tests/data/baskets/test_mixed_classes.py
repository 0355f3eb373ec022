"""Own columns and items together: classes of people who are alike, and a cut of the item hierarchy
for each."""

from __future__ import annotations

import polars as pl
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.core.data import Evidence
from sfumato.data.baskets.mixed_classes import GroupedRecoding
from sfumato.data.baskets.models import KKmAnonymity, OwnColumnsK
from tests.data.baskets.ten import BASKETS, people_of, sets_of
from tests.data.baskets.test_means import made, truthful


@given(BASKETS, st.data(), st.integers(2, 3))
def test_own_columns_and_items_are_recoded_together(baskets, data, k):
    assume(sum(map(bool, baskets)) >= k)
    own = data.draw(st.lists(st.integers(20, 29), min_size=len(baskets), max_size=len(baskets)))
    people, model = people_of(baskets, own), KKmAnonymity(k, 2)
    released, plan = made(GroupedRecoding(), people, model)
    assert model.judge(Evidence(released)).holds
    assert truthful(baskets, sets_of(released))
    for age, shown in zip(own, released.own["own"].cast(pl.String).to_list(), strict=True):
        low, _, high = shown.partition("..")
        assert int(low) <= age <= int(high or low)
    assert plan.describe()["smallest_class"] >= k


def test_own_columns_alone_need_no_item_hierarchy():
    people = people_of([{"a1"}, {"a2"}, {"b1"}, {"b2"}], ["x", "x", "y", "z"], hierarchy=False)
    released, _ = made(GroupedRecoding(), people, OwnColumnsK(2))
    assert OwnColumnsK(2).judge(Evidence(released)).holds
    assert released.own["own"].to_list() == ["x", "x", "*", "*"]
    assert sets_of(released) == sets_of(people)
