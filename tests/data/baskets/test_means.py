"""Means for baskets: what they reach, how cheaply, and whom they refuse."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.core.randomness import Seed
from sfumato.core.source import Source
from sfumato.core.step import Goal
from sfumato.data.baskets import cuts
from sfumato.data.baskets.baskets import Baskets
from sfumato.data.baskets.disassociated import Cluster
from sfumato.data.baskets.disassociated_km import DisassociatedKm
from sfumato.data.baskets.disassociation import Disassociation, horizontal, reconstructed, vertical
from sfumato.data.baskets.mixed_classes import GroupedRecoding
from sfumato.data.baskets.models import (
    BasketKAnonymity,
    HkpCoherence,
    KKmAnonymity,
    KmAnonymity,
    OwnColumnsK,
    RhoUncertainty,
)
from sfumato.data.baskets.partition import BasketPartition, BlockRecoding, gray_order
from sfumato.data.baskets.recoding import ItemRecoding
from sfumato.data.baskets.suppression import SuppressItems
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.methods.formulas.itemsets import ItemSets
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


def test_worked_partition():
    """14-A: parts and NCP 2/7 for k = 2, 29/63 for k = 3."""
    people = examples.baskets()
    two, plan = made(BasketPartition(), people, BasketKAnonymity(2))
    expected = {
        1: "A b1 b2",
        3: "A b1 b2",
        2: "A B",
        4: "A B",
        10: "A B",
        5: "A B c1",
        6: "A B c1",
        8: "A B c1",
        7: "P c2",
        9: "P c2",
    }
    assert {i + 1: " ".join(sorted(one)) for i, one in enumerate(sets_of(two))} == expected
    assert plan.describe()["ncp"] == pytest.approx(2 / 7, abs=1e-6)
    three, plan = made(BasketPartition(), people, BasketKAnonymity(3))
    coarse = {"A B" if i in (1, 2, 3, 4, 10) else "C P" for i in range(1, 11)}
    assert {" ".join(sorted(one)) for one in sets_of(three)} == coarse
    assert plan.describe()["ncp"] == pytest.approx(29 / 63, abs=1e-6)


@given(st.lists(st.frozensets(st.integers(0, 3)), min_size=1, max_size=8))
def test_gray_order(sets):
    people = ItemSets.of(sets, 4)
    supports = people.supports
    ranked = sorted((i for i in range(4) if supports[i]), key=lambda i: (-supports[i], -i))

    def rank(one):
        bits, parity = 0, 0
        for item in ranked:
            parity ^= item in one
            bits = 2 * bits + parity
        return bits

    ranks = [rank(sets[person]) for person in gray_order(people).tolist()]
    assert ranks == sorted(ranks)


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
    assert "left to the steps that follow" in plan.warnings[0]


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


def test_worked_clusters():
    """14-A: HorPart (max 5); and chunks {ab,ab,a,a,b}, {c,c,c} and bare x, y of {abx,ab,acy,bc,ac}
    with k = m = 2.
    """
    assert [(rows + 1).tolist() for rows in horizontal(examples.baskets().sets, 5)] == [
        [2, 3, 9],
        [1, 5, 6, 10],
        [4, 7, 8],
    ]
    people = people_of([set("abx"), set("ab"), set("acy"), set("bc"), set("ac")], hierarchy=False)
    cluster = vertical(people, np.arange(5), DisassociatedKm(2, 2))
    assert sorted("".join(sorted(part)) for part in cluster.chunks[0]) == [
        "a",
        "a",
        "ab",
        "ab",
        "b",
    ]
    assert [sorted(part) for part in cluster.chunks[1]] == [["c"]] * 3
    assert cluster.terms == {"x", "y"}


def test_the_rule_for_bare_items_is_stricter_than_the_published_one():
    # {bcd},{a},{d},{bc}, k = m = 2: a bare item has fewer than k carriers, and whoever knows that
    # breaks the waiver
    people = people_of([set("bcd"), set("a"), set("d"), set("bc")], hierarchy=False)
    cluster = vertical(people, np.arange(4), DisassociatedKm(2, 2))
    assert cluster.terms == {"a"}
    assert not DisassociatedKm(2, 2).allows(cluster)


def possible(cluster: Cluster, k: int) -> list[list[frozenset[str]]]:
    """All ways to put a cluster together that somebody cannot exclude who knows that bare items
    have fewer than k carriers.
    """

    def placements(parts):
        if not parts:
            return [[frozenset()] * cluster.size]
        out = set()
        for rest in placements(parts[1:]):
            for place in range(cluster.size):
                if not rest[place]:
                    out.add(tuple(parts[0] if i == place else one for i, one in enumerate(rest)))
        return [list(one) for one in out]

    ways = [[frozenset()] * cluster.size]
    for chunk in cluster.chunks:
        ways = [
            [a | b for a, b in zip(way, placed, strict=True)]
            for way, placed in product(ways, placements(chunk))
        ]
    for term in sorted(cluster.terms):
        holders = [s for s in product([False, True], repeat=cluster.size) if 1 <= sum(s) < k]
        ways = [
            [one | {term} if h else one for one, h in zip(way, who, strict=True)]
            for way, who in product(ways, holders)
        ]
    return [way for way in ways if all(way)]  # nobody has nothing


@given(
    st.lists(st.frozensets(st.sampled_from("abcd"), min_size=1, max_size=3), min_size=4, max_size=4)
)
def test_some_way_to_put_a_cluster_together_has_k_carriers(baskets):
    rule = DisassociatedKm(2, 2)
    cluster = vertical(people_of(baskets, hierarchy=False), np.arange(4), rule)
    assume(rule.allows(cluster))
    ways = possible(cluster, 2)
    known = {frozenset(q) for basket in baskets for q in product(basket, basket)}
    for q in known:
        if not q & cluster.terms:
            assert any(sum(q <= one for one in way) >= 2 for way in ways)


@given(BASKETS, st.integers(0, 5))
def test_baskets_taken_apart_and_put_together(baskets, seed):
    assume(sum(map(bool, baskets)) >= 2)
    people, model = people_of(baskets), DisassociatedKm(2, 2)
    try:
        released, plan = made(Disassociation(4), people, model)
    except Unsatisfiable:
        return
    shuffled = released.shuffled(np.random.default_rng(seed))
    read = Baskets.from_tables(shuffled.to_tables(), {"data": people.schema}, Source())
    assert model.judge(Evidence(shuffled)).holds
    assert model.judge(Evidence(read)).holds
    assert read.counts() == shuffled.counts() == released.counts()
    assert shuffled.people == sum(map(bool, baskets)) == people.people - plan.left_out
    again = reconstructed(read, np.random.default_rng(seed))
    kept = {item for cluster in released.clusters for item in cluster.terms}
    for label in (
        set(people.labels) - kept
    ):  # supports of items that are not bare stay what they were
        assert int(again.sets.supports[again.codes_of((label,))[0]]) == sum(
            label in one for one in baskets
        )
    assert not KmAnonymity(2, 2).judge(Evidence(read)).holds


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
    with pytest.raises(Unsatisfiable, match="3 people have an item, fewer than the 4"):
        step.plan(people, Goal(models=(model,)))
    with pytest.raises(Unsatisfiable, match="1 people"):
        step.plan(people_of([{"a1"}], ["x"]), Goal(models=(model,)))
    with pytest.raises(SchemaError, match="none of the 2 people has an item"):
        step.plan(people_of([set(), set()], ["x", "y"]), Goal(models=(model,)))


@pytest.mark.parametrize("step", [step for step, _ in MEANS], ids=lambda one: one.name)
def test_a_means_for_none_of_the_promises_is_refused(step):
    strange = OwnColumnsK(2) if step.name != "grouped_recoding" else DisassociatedKm(2, 2)
    with pytest.raises(ParameterError, match="is a means for"):
        step.plan(people_of([{"a1"}] * 3, ["x"] * 3), Goal(models=(strange,)))


def test_recoding_needs_a_hierarchy_that_has_all_items():
    with pytest.raises(SchemaError, match="has no hierarchy"):
        made(ItemRecoding(), people_of([{"a1"}] * 3, hierarchy=False), KmAnonymity(2, 1))
    with pytest.raises(SchemaError, match="2"):
        made(ItemRecoding(), people_of([{"a1", "zz", "yy"}] * 3), KmAnonymity(2, 1))


def test_baskets_that_were_recoded_can_be_recoded_again():
    people = people_of([{"A", "b1"}, {"a1", "b1"}, {"P"}, {"*", "a2"}, {"c1"}, {"c1"}])
    released, _ = made(ItemRecoding("apriori"), people, KmAnonymity(2, 2))
    assert KmAnonymity(2, 2).judge(Evidence(released)).holds
    assert truthful(sets_of(people), sets_of(released))


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


def test_more_cuts_than_are_tried():
    with pytest.raises(ParameterError, match="more than 10 cuts"):
        made(ItemRecoding("optimal", 10), examples.baskets(), KmAnonymity(2, 2))
    released, _ = made(ItemRecoding("auto", 10), examples.baskets(), KmAnonymity(2, 2))
    assert released.labels == ("A", "B", "C")
