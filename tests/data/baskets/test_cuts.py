"""Cuts of an item hierarchy, and the search for a cheap one that keeps k^m-anonymity."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.data.baskets import cuts
from sfumato.data.baskets.models import BasketKAnonymity, KmAnonymity
from sfumato.data.baskets.recoding import ItemRecoding
from tests.data.baskets.ten import BASKETS, people_of
from tests.data.baskets.test_means import made


@given(BASKETS, st.integers(2, 3), st.integers(1, 3))
def test_no_cut_is_cheaper_than_the_optimal_one(baskets, k, m):
    assume(sum(map(bool, baskets)) >= k)
    people, model = people_of(baskets), KmAnonymity(k, m)
    best, plan = made(ItemRecoding("optimal"), people, model)
    quick, other = made(ItemRecoding("apriori"), people, model)
    costs = []
    for cut in cuts.all_cuts(people.taxonomy):
        labels = people.taxonomy.labels
        if model.judge(
            Evidence(people.with_sets(people.sets.mapped(cut, len(labels)), labels))
        ).holds:
            costs.append(cuts.cost(cut, people.sets.supports, people.taxonomy))
    assert plan.describe()["ncp"] == pytest.approx(min(costs), abs=1e-6)
    assert other.describe()["ncp"] >= plan.describe()["ncp"]
    assert model.judge(Evidence(best)).holds
    assert model.judge(Evidence(quick)).holds


def test_all_cuts_are_cuts():
    taxonomy = examples.baskets().taxonomy
    found = {tuple(cut.tolist()) for cut in cuts.all_cuts(taxonomy)}
    assert len(found) == cuts.number_of_cuts(taxonomy, 100) == 11  # worked example 14-A
    assert cuts.number_of_cuts(taxonomy, 5) == 6
    for cut in found:
        assert all(node == item or node in taxonomy.above(item) for item, node in enumerate(cut))


def test_worked_cuts():
    """14-A: minimal cuts 2² {A,B,C} 65/189; 3¹ {A,C,b1,b2} 43/189; whole-basket 2 {P,c1,c2}
    110/189; what apriori does.
    """
    people = examples.baskets()
    for algorithm, (k, m), labels, cost in [
        ("optimal", (2, 2), ("A", "B", "C"), 65 / 189),
        ("apriori", (2, 2), ("A", "B", "C"), 65 / 189),
        ("apriori", (2, 3), ("A", "B", "C"), 65 / 189),
        ("apriori", (3, 1), ("A", "C", "b1", "b2"), 43 / 189),
        ("apriori", (3, 2), ("A", "B", "C"), 65 / 189),
    ]:
        released, plan = made(ItemRecoding(algorithm), people, KmAnonymity(k, m))
        assert released.labels == labels
        assert plan.describe()["ncp"] == pytest.approx(cost, abs=1e-6)
    released, plan = made(ItemRecoding("optimal"), people, BasketKAnonymity(2))
    assert (released.labels, plan.describe()["ncp"]) == (
        ("P", "c1", "c2"),
        pytest.approx(110 / 189, abs=1e-6),
    )
    search = cuts.AprioriSearch(people.sets, people.taxonomy, 2, 2)
    search.run()
    names = people.taxonomy.labels
    steps = [
        ({names[n] for n in nodes}, {names[n] for n in targets}) for nodes, targets in search.climbs
    ]
    assert steps == [({"a1", "a2"}, {"A"}), ({"b1", "c2"}, {"C"}), ({"C", "b2"}, {"B"})]
