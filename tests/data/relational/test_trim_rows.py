"""Trimming rows: those that single people out are left out of their tables, and everybody stays."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.relational.models import PersonsKAnonymity
from sfumato.data.relational.trim_rows import TrimRows
from sfumato.errors import Unsatisfiable
from tests.data.relational.persons import PEOPLE, TABLES, few, six
from tests.data.relational.test_persons import CLINIC, goal_of, is_k
from tests.oracles import persons as oracle


@settings(max_examples=150)
@given(PEOPLE, st.integers(1, 3), st.integers(1, 3), st.booleans(), st.integers(1, 3))
def test_trimmed_rows(people, k, m, own, seed):
    model, tables = PersonsKAnonymity(k, "any", m, own), few(people)
    plan = TrimRows().plan(tables, goal_of(model, seed=seed))
    left = TrimRows().apply(tables, plan)
    assert left.people == len(people)
    after = [(person[0], dict.fromkeys(TABLES, ())) for person in people]
    for rows in left.shown().rows:
        for person, code in zip(rows.person.tolist(), rows.shows.tolist(), strict=True):
            after[person][1][rows.table] += ((code - 3) // 7,)
    for before, then in zip(people, after, strict=True):
        assert not Counter(oracle.rows_of(then)) - Counter(oracle.rows_of(before))
        crowd = sum(other[0] == before[0] or not own for other in people)
        if crowd >= k:
            assert oracle.smallest_crowd(after, then, "any", m, own) >= k
        else:
            assert Counter(oracle.rows_of(then)) == Counter(oracle.rows_of(before))
    assert bool(plan.warnings) == any(
        sum(o[0] == p[0] or not own for o in people) < k for p in people
    )
    if is_k(people, k, "any", m, own):
        assert not plan.kept


def test_trimming_the_worked_example():
    # one visit known: of class A onco and derm go (p3 alone has them), of class B nothing does:
    # derm is had by three, onco by two
    plan = TrimRows().plan(six(), goal_of(PersonsKAnonymity(2, "any", 1)))
    assert plan.describe() == {
        "rows_dropped": {"orders": 0, "visits": 2, "wards": 0},
        "share_dropped": pytest.approx(2 / 12, abs=1e-6),
    }
    # two known: the second cardio of p3 and the second derm of p6 go too
    plan = TrimRows().plan(six(), goal_of(PersonsKAnonymity(2, "any", 2)))
    assert plan.describe()["rows_dropped"]["visits"] == 4
    with pytest.raises(Unsatisfiable, match="4 of 12 rows"):
        TrimRows(0.3).plan(six(), goal_of(PersonsKAnonymity(2, "any", 2)))


def test_equal_rows_go_at_random():
    people = [(0, {"visits": (1, 1, 1)}), (0, {"visits": (1,)}), (0, {"visits": (1,)})]
    masks = set()
    for seed in range(60):  # a copy is never kept by chance once in 10¹⁰
        plan = TrimRows().plan(few(people), goal_of(PersonsKAnonymity(2, "any", 2), seed=seed))
        (stays,) = plan.kept
        ((table, mask),) = stays.items()
        assert table == "visits"
        assert mask.sum() == 3
        assert mask[3:].all()
        masks.add(tuple(mask.tolist()))
    assert len(masks) == 3


@given(PEOPLE, st.integers(2, 3))
def test_trimming_keeps_more_than_nothing(people, k):
    """Whoever is like k − 1 others in everything loses nothing."""
    plan = TrimRows().plan(few(people[:4] * k), goal_of(PersonsKAnonymity(k, "any", 2)))
    assert not plan.kept


def test_the_same_seed_makes_the_same_plan():
    goal = goal_of(PersonsKAnonymity(2, "any", 2, own=False), seed=5)
    first, again = TrimRows().plan(CLINIC, goal), TrimRows().plan(CLINIC, goal)
    assert len(first.kept) == len(again.kept) > 0
    for one, other in zip(first.kept, again.kept, strict=True):
        assert all(np.array_equal(one[table], other[table]) for table in one)


def test_more_sets_than_can_be_looked_at():
    with pytest.raises(Unsatisfiable, match="too many sets of 2 rows"):
        TrimRows().plan(six(), goal_of(PersonsKAnonymity(2, "any", 2, effort=10)))
    assert TrimRows().plan(six(), goal_of(PersonsKAnonymity(2, "any", 1, effort=10))).kept
