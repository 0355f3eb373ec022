"""Global recoding: one cut of the item hierarchy for everybody."""

from __future__ import annotations

import pytest

from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.data.baskets.models import HkpCoherence, KmAnonymity
from sfumato.data.baskets.recoding import ItemRecoding
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from tests.data.baskets.ten import people_of
from tests.data.baskets.test_means import made


def test_coherence_by_a_cut_that_keeps_private_items_apart():
    people = examples.baskets()
    model = HkpCoherence(0.5, 2, 2, ["c1", "c2"])
    released, _ = made(ItemRecoding("optimal"), people, model)
    assert model.judge(Evidence(released)).holds
    assert {"c1", "c2"} <= set(released.labels)


def test_a_promise_that_no_cut_keeps():
    people = people_of([{"a1", "c1"}, {"a1", "c1"}, {"b1", "c2"}, {"b1", "c2"}])
    sure = HkpCoherence(0.4, 2, 1, ["c1", "c2"])
    with pytest.raises(Unsatisfiable, match="does not reach"):
        made(ItemRecoding(), people, sure)
    released, plan = made(ItemRecoding(), people, sure, KmAnonymity(2, 2))
    assert KmAnonymity(2, 2).judge(Evidence(released)).holds
    assert ": the steps that follow" in plan.warnings[0]


def test_recoding_needs_a_hierarchy_that_has_all_items():
    with pytest.raises(SchemaError, match="has no hierarchy"):
        made(ItemRecoding(), people_of([{"a1"}] * 3, hierarchy=False), KmAnonymity(2, 1))
    with pytest.raises(SchemaError, match="2"):
        made(ItemRecoding(), people_of([{"a1", "zz", "yy"}] * 3), KmAnonymity(2, 1))


def test_more_cuts_than_are_tried():
    with pytest.raises(ParameterError, match="more than 10 cuts"):
        made(ItemRecoding("optimal", 10), examples.baskets(), KmAnonymity(2, 2))
    released, _ = made(ItemRecoding("auto", 10), examples.baskets(), KmAnonymity(2, 2))
    assert released.labels == ("A", "B", "C")
