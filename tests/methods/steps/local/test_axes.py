"""The dimensions along which local methods cut and join classes."""

from __future__ import annotations

import math

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.step import Goal
from sfumato.errors import SchemaError
from sfumato.methods.models import KAnonymity
from sfumato.methods.steps.local.mondrian import plan_mondrian
from tests.methods.steps.local.test_mondrian_cuts import numbers, released_rows
from tests.methods.steps.mixed_tables import partition


def test_missing_values_are_a_category_at_the_end_of_the_order():
    people = numbers([(1,), (1,), (2,), (2,), (None,), (None,)])
    plan = plan_mondrian(people, Goal((KAnonymity(2),)))
    assert partition(people, plan)[0] == {frozenset({0, 1}), frozenset({2, 3}), frozenset({4, 5})}
    assert plan.score == 0
    assert released_rows(people, plan)[0].column("c0").to_list() == [1, 1, 2, 2, None, None]


def test_numbers_written_with_minus_zero_look_alike():
    people = numbers([(0.0, 1), (-0.0, 1), (5.0, 1), (5.0, 1)])
    released, _ = released_rows(people, plan_mondrian(people, Goal((KAnonymity(2),))))
    assert [math.copysign(1, v) * (1 + v) for v in released.column("c0").to_list()] == [1, 1, 6, 6]


def test_very_large_numbers_do_not_overflow():
    people = numbers([(-1.7e308,), (-1.6e308,), (1.6e308,), (1.7e308,)])
    plan = plan_mondrian(people, Goal((KAnonymity(2),)))
    assert partition(people, plan)[0] == {frozenset({0, 1}), frozenset({2, 3})}
    # the step is 5e307: the limits are -2e308, -1.5e308, 1.5e308 and 2e308, over 3.4e308
    assert plan.score == pytest.approx(0.5 / 3.4)


def test_values_that_are_no_numbers_are_counted_not_shown():
    people = (
        sf.read(pl.DataFrame({"age": ["30", "Smith", "Jones"]}))
        .with_roles(quasi=["age"])
        .with_kinds(age="numeric")
    )
    with pytest.raises(
        SchemaError, match="'age' is of kind numeric, but 2 of its values"
    ) as refused:
        plan_mondrian(people, Goal((KAnonymity(2),)))
    assert "Smith" not in str(refused.value)
