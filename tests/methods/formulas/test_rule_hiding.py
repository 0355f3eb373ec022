"""Hiding association rules: items are taken out, or put in, until no sensitive rule is found any
more."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.methods.formulas.rule_hiding import Proof, hide, hide_exactly
from sfumato.methods.formulas.rules import (
    Association,
    Thresholds,
    Transactions,
    is_found,
    side_effects,
)
from tests.methods.formulas.test_rules import SMALL, baskets, confidences
from tests.oracles import rules as oracle

B_TO_C = Association((1,), (2,))


EIGHT = [
    {"abcd".index(letter) for letter in word}
    for word in ("abc", "abc", "abd", "abcd", "ac", "bd", "bcd", "acd")
]


def sets_of(transactions):
    ends = transactions.starts
    return [set(transactions.items[a:b].tolist()) for a, b in itertools.pairwise(ends)]


@pytest.mark.parametrize(
    ("method", "least", "lost", "ghosts", "changed"),
    [
        ("dsr", 2, 5, 0, 1),  # c is taken out of the first transaction
        ("isl", 2, 2, 1, 1),  # b is put into {a}
        ("exact", 2, 2, 0, 2),
        ("dsr", 3, 6, 0, 1),
        ("exact", 3, 6, 0, 1),
    ],
)
def test_worked_example(method, least, lost, ghosts, changed):
    before, thresholds = Transactions.of(SMALL), Thresholds.of(least, 0.7)
    hidden = hide(before, [B_TO_C], thresholds, method)
    found = side_effects(before, hidden.transactions, [B_TO_C], thresholds)
    assert (len(found.lost), len(found.ghosts), found.changed) == (lost, ghosts, changed)
    assert not found.failed and not hidden.failed
    assert hidden.proof is None or hidden.proof.optimal


def test_what_the_plain_ways_do():
    before, thresholds = Transactions.of(SMALL), Thresholds.of(2, 0.7)
    assert sets_of(hide(before, [B_TO_C], thresholds, "dsr").transactions)[0] == {0, 1}
    added = hide(before, [B_TO_C], thresholds, "isl").transactions
    assert sets_of(added)[4] == {0, 1}
    assert Fraction(added.support((1, 2)), added.support((1,))) == Fraction(3, 5)


@pytest.mark.parametrize(
    ("words", "deletions"), [(["ab"], 2), (["abc"], 1), (["ac"], 3), (["ab", "cd"], 3)]
)  # counted by trying all ways
def test_itemsets_are_hidden_and_none_is_lost(words, deletions):
    sensitive = [Association(tuple("abcd".index(letter) for letter in word)) for word in words]
    hidden = hide_exactly(Transactions.of(EIGHT), sensitive, Thresholds.of(3, 0.7))
    assert hidden.gone.sum() == deletions and hidden.proof == Proof(
        deletions, deletions, hidden.proof.weight
    )


def test_where_something_must_be_lost():
    """Hiding ab in {ab, ab} at support 2 costs one of {a} and {b}."""
    hidden = hide_exactly(
        Transactions.of([{0, 1}] * 2), [Association((0, 1))], Thresholds.of(2, 0.5)
    )
    assert hidden.gone.sum() == 1 and hidden.proof.optimal
    assert hidden.proof.cost == hidden.proof.weight + 1


@st.composite
def sensitive_rules(draw, most=2):
    items = draw(st.permutations(range(4)))
    one = Association(tuple(sorted(items[:1])), tuple(sorted(items[1 : draw(st.integers(2, 3))])))
    return [one] if draw(st.booleans()) else [one, Association((items[3],), (items[0],))][:most]


@settings(max_examples=25)
@given(baskets, sensitive_rules(), st.integers(1, 3), confidences)
def test_exact_is_the_best_of_all_ways(transactions, sensitive, least, confidence):
    deletable = {item for rule in sensitive for item in rule.both}
    assume(sum(len(set(one) & deletable) for one in transactions) <= 9)
    before, thresholds = Transactions.of(transactions, 4), Thresholds(least, confidence)
    hidden = hide(before, sensitive, thresholds, "exact")
    found = side_effects(before, hidden.transactions, sensitive, thresholds)
    best = oracle.best_for_rules(
        transactions, [tuple(rule) for rule in sensitive], least, confidence, 3
    )
    assert (len(found.lost) + len(found.ghosts), found.changed) == best
    assert hidden.proof.optimal


@settings(max_examples=25)
@given(baskets, st.sets(st.integers(0, 3), min_size=1, max_size=3), st.integers(1, 3))
def test_exact_is_the_best_for_itemsets(transactions, itemset, least):
    sensitive = tuple(sorted(itemset))
    assume(sum(len(set(one) & itemset) for one in transactions) <= 9)
    hidden = hide_exactly(
        Transactions.of(transactions, 4),
        [Association(sensitive)],
        Thresholds(least, Fraction(1, 2)),
    )
    lost, gone = oracle.best_for_itemsets(transactions, [sensitive], least, 3)
    assert (hidden.proof.cost // hidden.proof.weight, hidden.gone.sum()) == (lost, gone)


@settings(max_examples=50)
@given(
    baskets,
    sensitive_rules(),
    st.integers(1, 3),
    confidences,
    st.sampled_from(["dsr", "2a", "isl"]),
)
def test_plain_ways_hide_or_say_so(transactions, sensitive, least, confidence, method):
    before, thresholds = Transactions.of(transactions, 4), Thresholds(least, confidence)
    hidden = hide(before, sensitive, thresholds, method)
    after = sets_of(hidden.transactions)
    still = [r for r in sensitive if oracle.found(after, r.left, r.right, least, confidence)]
    assert list(hidden.failed) == [rule for rule in sensitive if rule in still]
    if method == "isl":
        assert all(old <= new for old, new in zip(map(set, transactions), after, strict=True))
    else:
        assert not still and all(
            new <= old for old, new in zip(map(set, transactions), after, strict=True)
        )
        assert hidden.gone.sum() == sum(map(len, map(set, transactions))) - sum(map(len, after))


@given(baskets, st.integers(1, 3), confidences)
def test_dsr_takes_out_as_many_as_the_formula_says(transactions, least, confidence):
    before, thresholds = Transactions.of(transactions, 4), Thresholds(least, confidence)
    rule = Association((0,), (1,))
    assume(is_found(before, rule, thresholds))
    both, left = before.support((0, 1)), before.support((0,))
    needed = min(
        both - least + 1, both - -(-confidence.numerator * left // confidence.denominator) + 1
    )
    assert hide(before, [rule], thresholds, "dsr").gone.sum() == needed


def test_a_search_that_is_stopped_is_not_called_optimal():
    """One node does not prove it: then the bound is told, and the rules are hidden all the same."""
    draw = np.random.default_rng(4)
    before = Transactions.of(
        [set(np.flatnonzero(draw.random(9) < 0.6).tolist()) for _ in range(60)], 9
    )
    rules = [Association((0,), (1,)), Association((2, 3), (4,)), Association((5,), (0, 2))]
    thresholds = Thresholds.of(12, 0.4)
    hidden = hide_exactly(before, rules, thresholds, effort=1)
    assert not any(is_found(hidden.transactions, rule, thresholds) for rule in rules)
    assert hidden.proof.bound <= hidden.proof.cost
    assert hidden.proof.optimal == (hidden.proof.gap == 0)
    assert not Proof(10.0, 8.5, 3).optimal and Proof(10.0, 8.5, 3).gap == pytest.approx(0.15)


def test_too_much_for_the_exact_way_is_refused():
    wide = Transactions.of([set(range(14))] * 3)
    with pytest.raises(ParameterError, match="14 items of sensitive rules"):
        hide_exactly(wide, [Association((0,), tuple(range(1, 14)))], Thresholds.of(2, 0.5))
