"""The common minimum guarantee: how policies that differ are merged, one rule a row."""

from __future__ import annotations

import pytest

from sfumato.methods.models import KAnonymity, LDiversity, TCloseness
from sfumato.policy.columns import common_guarantee
from sfumato.policy.documents import PolicyError
from sfumato.policy.policy import Group, PrivacyModel, Pseudonymization
from tests.policy.written_policies import datum, k_anonymity, purpose

EI, QID, SD, NSD = Group.EI, Group.QID, Group.SD, Group.NSD


def merged(*purposes, own=None, columns=("x",), **options):
    return common_guarantee(purposes, own or {}, columns, **options)


@pytest.mark.parametrize(
    ("groups", "counts_as"),
    [
        (("EI", "QID"), {EI}),
        (("NSD", "EI", "SD"), {EI}),
        (("QID", "SD"), {QID, SD}),
        (("QID", "NSD"), {QID}),
        (("NSD", "SD"), {SD}),
        (("NSD", "NSD"), {NSD}),
        (("QID",), {QID}),
    ],
)
def test_privacy_group(groups, counts_as):
    found = merged(*(purpose(datum("x", group)) for group in groups))
    assert found.groups["x"] == counts_as
    assert [d.rule for d in found.decisions] == (["privacy_group"] if len(set(groups)) > 1 else [])


def test_a_column_that_one_policy_does_not_list_is_withheld():
    found = merged(purpose(datum("x", "QID")), purpose(datum("y", "QID")), columns=("x", "y", "z"))
    assert found.withheld == ("x", "y", "z")
    assert [d.rule for d in found.decisions] == ["withheld"] * 3
    assert "1 of 2 policies" in found.decisions[0].text


LEVELS = [
    # (minimum, maximum) of the two policies → floor, cap
    ([(1, 3), (0, 2)], 1, 2),
    ([(0, None), (2, None)], 2, None),
    ([(None, 3), (None, 1)], 0, 1),
    ([(2, 2), (1, 3)], 2, 2),
]


@pytest.mark.parametrize(("levels", "floor", "cap"), LEVELS)
def test_levels(levels, floor, cap):
    found = merged(*(purpose(datum("x", "QID", low, high)) for low, high in levels))
    assert found.floors.get("x", 0) == floor
    assert found.caps.get("x") == cap
    assert not found.decisions


def test_floor_above_cap_privacy_lifts_the_cap():
    found = merged(
        purpose(datum("x", "QID", 3, 4)), purpose(datum("x", "QID", 0, 1)), on_conflict="privacy"
    )
    assert found.caps["x"] == found.floors["x"] == 3
    assert [d.rule for d in found.decisions] == ["cap_lifted"]


def test_floor_above_cap_fail():
    with pytest.raises(PolicyError, match="floor_above_cap"):
        merged(
            purpose(datum("x", "QID", 3, 4)), purpose(datum("x", "QID", 0, 1)), on_conflict="fail"
        )


def test_floor_above_cap_leaves_the_people_out_who_ask_for_more():
    own = {"a": purpose(datum("x", "QID", 3, 4)), "b": purpose(datum("x", "QID", 0, 1))}
    found = merged(own=own, on_conflict="suppress_rows")
    assert found.left_out == ("a",) and list(found.own) == ["b"] and found.caps["x"] == 1
    assert [d.rule for d in found.decisions] == ["rows_left_out"]


def test_nobody_can_be_left_out_when_everybody_asks_for_more():
    with pytest.raises(PolicyError, match="floor_above_cap"):
        merged(
            purpose(datum("x", "QID", 3, 4)),
            purpose(datum("x", "QID", 0, 1)),
            on_conflict="suppress_rows",
        )


def l_diversity(degree, **extra):
    return PrivacyModel("l-Diversity", (), (("l", str(degree)), *extra.items()))


def t_closeness(t):
    return PrivacyModel("t-Closeness", (), (("t", str(t)),))


MODELS = [
    # what policies ask for → what is left (the order of implication, with counterexamples where
    # there is none)
    ([k_anonymity(3), k_anonymity(5)], [KAnonymity(5)]),
    ([l_diversity(3), k_anonymity(3)], [LDiversity("s", 3)]),
    ([k_anonymity(4), l_diversity(3)], [KAnonymity(4), LDiversity("s", 3)]),
    ([l_diversity(2.5, kind="entropy"), l_diversity(3)], [LDiversity("s", 2.5, kind="entropy")]),
    ([t_closeness(0.3), t_closeness(0.1)], [TCloseness("s", 0.1)]),
    ([t_closeness("0,2"), l_diversity(2)], [TCloseness("s", 0.2), LDiversity("s", 2)]),
    (
        [
            PrivacyModel("p-sensitive k-anonymity", (), (("p", "3"), ("k", "5"))),
            k_anonymity(5),
            l_diversity(3),
        ],
        None,
    ),
]


@pytest.mark.parametrize(("asked", "left"), MODELS)
def test_models(asked, left):
    found = merged(purpose(datum("x", "QID"), datum("s", "SD"), models=asked), columns=("x", "s"))
    if left is None:  # p-sensitive k-anonymity stands for distinct p and k together
        assert [m.name for m in found.models] == ["p_sensitive"]
    else:
        assert list(found.models) == left
    assert len(found.models) + sum(d.rule == "implied" for d in found.decisions) == len(asked)


def test_models_of_several_sensitive_columns():
    data = (datum("x", "QID"), datum("s", "SD"), datum("t", "SD"))
    found = merged(purpose(*data, models=[l_diversity(2)]), columns=("x", "s", "t"))
    assert list(found.models) == [LDiversity("s", 2), LDiversity("t", 2)]
    named = PrivacyModel("l-Diversity", ("t",), (("l", "2"),))
    assert list(merged(purpose(*data, models=[named]), columns=("x", "s", "t")).models) == [
        LDiversity("t", 2)
    ]


@pytest.mark.parametrize("name", ["differential privacy", "ε-Differential Privacy", "DP", "magic"])
def test_models_that_no_recipe_reaches_are_findings(name):
    with pytest.raises(PolicyError, match="unknown_model"):
        merged(purpose(datum("x", "QID"), models=[PrivacyModel(name, (), (("epsilon", "1"),))]))


PSEUDONYMS = [
    (["SHA-1", "HMAC-SHA-256"], "keyed hash"),
    (["counter", "Random table"], "random table"),
    (["MD5", "sequence"], "counter"),
    (["SHA-1"], "unkeyed hash"),
    (["who knows"], "unkeyed hash"),
]


@pytest.mark.parametrize(("methods", "strongest"), PSEUDONYMS)
def test_pseudonyms(methods, strongest):
    found = merged(
        *(
            purpose(datum("x", "EI"), pseudonymizations=(Pseudonymization(name, ("x",)),))
            for name in methods
        )
    )
    assert found.pseudonyms == {"x": strongest}
    assert [d.rule for d in found.decisions] == (["pseudonyms"] if len(methods) > 1 else [])


def test_an_identifier_for_which_one_policy_names_no_pseudonym_is_dropped():
    with_one = purpose(datum("x", "EI"), pseudonymizations=(Pseudonymization("HMAC", ("x",)),))
    found = merged(with_one, purpose(datum("x", "EI")))
    assert not found.pseudonyms
    assert "1 of 2 policies name no pseudonyms" in found.decisions[0].text
