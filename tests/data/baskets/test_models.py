"""Promises about baskets against their definitions."""

from __future__ import annotations

import itertools

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.data.baskets import models
from sfumato.errors import ParameterError, SchemaError
from tests.data.baskets.ten import BASKETS, people_of, sets_of
from tests.oracles import baskets as oracle


def named(people, model) -> list[list[str]]:
    """The moles of a promise by the names of their items."""
    return sorted(
        sorted(people.labels[item] for item in row if item >= 0)
        for row in model.moles(people).tolist()
    )


HOLDS_SMALLER = [
    frozenset({"a1", "a2", "a3", "c1"}),
    frozenset({"a1", "c1"}),
    frozenset({"a1", "a2", "a3"}),
]


@given(BASKETS, st.integers(1, 4), st.integers(1, 4))
@example(HOLDS_SMALLER, 2, 3)
def test_km_anonymity(baskets, k, m):
    verdict = models.KmAnonymity(k, m).judge(Evidence(people_of(baskets)))
    if not any(baskets):
        assert not verdict.holds
        return
    assert verdict.holds == oracle.is_km(baskets, k, m)
    assert verdict.attained == oracle.least_support(baskets, m)
    concerned = [
        b for b in baskets if any(oracle.support(baskets, q) < k for q in oracle.subsets(b, m))
    ]
    assert verdict.records == len(concerned)
    assert len(verdict.failing) == len(oracle.minimal_violations(baskets, k, m))


@given(BASKETS, st.integers(1, 4))
def test_whole_baskets(baskets, k):
    verdict = models.BasketKAnonymity(k).judge(Evidence(people_of(baskets)))
    filled = [b for b in baskets if b]
    assert verdict.holds == (bool(filled) and all(baskets.count(b) >= k for b in filled))
    if verdict.holds:  # it implies k^m for every m
        assert all(
            models.KmAnonymity(k, m).judge(Evidence(people_of(baskets))).holds for m in (1, 2, 5)
        )


def _share(baskets, known, private) -> float:
    carriers = [own for own in baskets if known <= own]
    return sum(private in own for own in carriers) / len(carriers)


@given(BASKETS, st.sampled_from([0.3, 0.5, 0.75, 1.0]), st.integers(1, 3), st.integers(1, 3))
def test_coherence(baskets, h, k, p):
    private = frozenset({"c1", "c2"})
    model = models.HkpCoherence(h, k, p, sorted(private))
    people = people_of(baskets)
    wrong = oracle.minimal_violations(baskets, k, p, private, h)
    if any(baskets):
        assert model.judge(Evidence(people)).holds == (not wrong)
        assert {frozenset(one) for one in named(people, model)} == wrong
        known = {
            frozenset(q)
            for own in baskets
            for size in range(1, p + 1)
            for q in itertools.combinations(sorted(own - private), size)
        }
        shares = [_share(baskets, q, e) for q in known for e in private]
        assert model.judge(Evidence(people)).attained == pytest.approx(
            max(shares, default=0.0)
        )  # whether it holds or not


@given(BASKETS, st.sampled_from([0.3, 0.5, 0.75, 1.0]))
def test_rho_uncertainty(baskets, rho):
    sensitive = frozenset({"c1", "c2"})
    if any(baskets):
        verdict = models.RhoUncertainty(rho, sorted(sensitive)).judge(Evidence(people_of(baskets)))
        assert verdict.holds == oracle.is_rho(baskets, rho, sensitive)
        assert verdict.attained == pytest.approx(oracle.worst_rule(baskets, sensitive))


@given(BASKETS, st.data(), st.integers(1, 3), st.integers(1, 3))
def test_own_columns_and_items_together(baskets, data, k, m):
    own = data.draw(st.lists(st.sampled_from("xy"), min_size=len(baskets), max_size=len(baskets)))
    classes = [
        [b for b, o in zip(baskets, own, strict=True) if o == one] for one in sorted(set(own))
    ]
    if any(baskets):
        people = people_of(baskets, own)
        fine = all(len(one) >= k and oracle.is_km(one, k, m) for one in classes)
        assert models.KKmAnonymity(k, m).judge(Evidence(people)).holds == fine
        assert models.OwnColumnsK(k).judge(Evidence(people)).holds == all(
            len(one) >= k for one in classes
        )


def test_the_worked_example():
    """Section 14-A of our notes on baskets, worked out by hand and by enumeration."""
    people = examples.baskets()
    assert models.RhoUncertainty(0.6, ["c1", "c2"]).judge(Evidence(people)).attained == 0.5
    assert named(people, models.KmAnonymity(2, 2)) == [
        ["a1", "a2"],
        ["a3", "c1"],
        ["b1", "c2"],
        ["b2", "c1"],
    ]
    assert named(people, models.HkpCoherence(0.5, 2, 2, ["c1", "c2"])) == [["a1", "a2"]]
    assert named(people, models.HkpCoherence(0.4, 2, 2, ["c1", "c2"])) == [["a1"], ["a3"]]


def test_facts_of_the_literature():
    # {a},{ab},{ab} is 2^m for every m, yet {a} is alone (Terrovitis et al. 2008 do not cover
    # negative knowledge)
    people = people_of([{"a1"}, {"a1", "b1"}, {"a1", "b1"}])
    assert models.KmAnonymity(2, 3).judge(Evidence(people)).holds
    assert not models.BasketKAnonymity(2).judge(Evidence(people)).holds
    # (x,pq),(x,r),(y,pq),(y,r): 2-anonymous and 2², but not together (Poulis et al. 2013)
    people = people_of([{"a1", "a2"}, {"b1"}, {"a1", "a2"}, {"b1"}], ["x", "x", "y", "y"])
    assert models.KmAnonymity(2, 2).judge(Evidence(people)).holds
    assert models.OwnColumnsK(2).judge(Evidence(people)).holds
    assert not models.KKmAnonymity(2, 2).judge(Evidence(people)).holds
    # {x,s},{x,y},{y,s}: P(s|x) = P(s|y) = 1/2; x and y merged give 2/3: a coarser cut may break
    # coherence
    fine, merged = [{"b1", "c1"}, {"b1", "b2"}, {"b2", "c1"}], [{"B", "c1"}, {"B"}, {"B", "c1"}]
    assert models.HkpCoherence(0.5, 1, 1, ["c1"]).judge(Evidence(people_of(fine))).holds
    coarse = models.HkpCoherence(0.5, 1, 1, ["c1"]).judge(Evidence(people_of(merged)))
    assert not coarse.holds
    assert coarse.attained == pytest.approx(2 / 3)


def test_a_group_that_holds_a_private_item_is_no_pass():
    people = people_of([{"C", "a1"}, {"C", "a1"}, {"C", "a1"}])
    for model in (models.HkpCoherence(1, 1, 1, ["c1"]), models.RhoUncertainty(1, ["c2"])):
        verdict = model.judge(Evidence(people))
        assert not verdict.holds
        assert "group" in verdict.sentence


def test_private_items_that_no_hierarchy_has_are_an_error():
    with pytest.raises(
        SchemaError, match="private items must be in the hierarchy of 'item'"
    ) as refused:
        models.HkpCoherence(1, 1, 1, ["misspelt"]).judge(Evidence(examples.baskets()))
    assert "misspelt" not in str(refused.value)
    verdict = models.HkpCoherence(1, 1, 1, ["c1", "misspelt"]).judge(
        Evidence(people_of([{"c1"}], hierarchy=False))
    )
    assert "1 of 2 private items occur" in verdict.sentence


def test_too_many_closed_sets_are_no_pass():
    verdict = models.RhoUncertainty(1, ["c1"], most=3).judge(Evidence(examples.baskets()))
    assert not verdict.holds
    assert verdict.attained is None
    assert "unknown:" in verdict.sentence


def test_nobody_with_an_item_is_no_pass():
    people = people_of([set(), set()], ["x", "x"])
    for model in (models.KmAnonymity(1, 1), models.BasketKAnonymity(1), models.KKmAnonymity(1, 1)):
        assert not model.judge(Evidence(people)).holds


def test_own_columns_are_needed():
    for model in (models.OwnColumnsK(2), models.KKmAnonymity(2, 2)):
        with pytest.raises(SchemaError, match="quasi"):
            model.judge(Evidence(examples.baskets()))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: models.KmAnonymity(0, 2),
        lambda: models.KmAnonymity(2, 0),
        lambda: models.HkpCoherence(0, 2, 2, ["c1"]),
        lambda: models.HkpCoherence(0.5, 2, 2, []),
        lambda: models.RhoUncertainty(1.5, ["c1"]),
    ],
)
def test_parameters_out_of_range(wrong):
    with pytest.raises(ParameterError):
        wrong()


def test_people_without_items_are_in_no_crowd():
    people = people_of([{"a1"}, {"a1"}, set()])
    assert models.KmAnonymity(2, 1).judge(Evidence(people)).attained == 2
    assert models.BasketKAnonymity(2).judge(Evidence(people)).holds


def test_missing_own_values_are_a_value():
    people = people_of([{"a1"}] * 3, pl.Series(["x", None, None], dtype=pl.String))
    assert models.OwnColumnsK(2).judge(Evidence(people)).records == 1
    assert sets_of(people) == [frozenset({"a1"})] * 3


def test_own_columns_that_a_promise_does_not_look_at_are_told():
    people = people_of([{"a1", "c1"}, {"a1"}, {"a1"}], own=["x", "y", "z"])
    silent = people_of([{"a1", "c1"}, {"a1"}, {"a1"}])
    for model in (
        models.KmAnonymity(1, 2),
        models.BasketKAnonymity(1),
        models.HkpCoherence(1, 1, 1, ["c1"]),
        models.RhoUncertainty(1, ["c1"]),
    ):
        assert model.judge(Evidence(people)).sentence.endswith(
            "(knowledge of own besides is not covered)"
        )
        assert "not covered" not in model.judge(Evidence(silent)).sentence
    for model in (models.KKmAnonymity(1, 1), models.OwnColumnsK(1)):
        assert "not covered" not in model.judge(Evidence(people)).sentence
