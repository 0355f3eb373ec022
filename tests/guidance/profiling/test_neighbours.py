"""Columns that say what they are by those beside them: dummies, blocks, and equal orders."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.guidance.profiling.columns import look_at
from sfumato.guidance.profiling.neighbours import (
    blocks,
    concept_of_group,
    dummy_groups,
    same_orders,
)


def profiled(**columns):
    return [look_at(name, pl.Series(name, values)) for name, values in columns.items()]


def test_dummies_are_never_one_together():
    ones = {"north": [1, 0, 0, 0], "south": [0, 1, 0, 0], "west": [0, 0, 1, 0]}
    assert dummy_groups(profiled(**ones)) == [("north", "south", "west")]
    # Two are no group, a column of other numbers ends a run, and so does one that overlaps.
    assert dummy_groups(profiled(north=ones["north"], south=ones["south"])) == []
    assert dummy_groups(profiled(**ones, age=[1, 2, 3, 4])) == [("north", "south", "west")]
    assert dummy_groups(profiled(old=[1, 1, 0, 0], **ones)) == [("north", "south", "west")]


@pytest.mark.parametrize(
    ("values", "is_same"),
    [
        ([1.0, 4.0, 9.0, 16.0], True),  # squares
        ([4, 3, 2, 1], False),
        ([1, 2, 2, 4], False),
        (["a", "b", "c", "d"], False),
    ],
)
def test_columns_in_the_same_order_are_found(values, is_same):
    columns = profiled(wage=[1, 2, 3, 4], x=values)
    assert (("x", "wage") in set(same_orders(columns, {"x"}))) is is_same


def test_two_values_are_the_same_groups_either_way_round():
    columns = profiled(sex=[1, 2, 1, 2], x=[1, 0, 1, 0])
    assert set(same_orders(columns, {"x"})) == {("x", "sex")}
    assert set(same_orders(columns, set())) == set()


def test_blocks_share_a_first_word_or_all_letters():
    assert blocks(["q1", "q2", "q3", "age", "q_1"]) == [("q1", "q2", "q3")]
    assert blocks(["a_x", "a_y", "a_z"]) == []  # a first word of one letter says nothing
    assert blocks(["py.x", "py-y", "PY_z"]) == [("py.x", "py-y", "PY_z")]
    assert blocks(["q1", "q2"]) == []


@pytest.mark.parametrize(
    ("concepts", "found"),
    [
        ({"a": "health", "b": "health"}, "health"),
        ({"a": "health"}, None),
        ({"a": "health", "b": "money"}, None),
        ({}, None),
    ],
)
def test_a_group_is_about_what_half_of_it_is_about(concepts, found):
    assert concept_of_group(("a", "b", "c", "d"), concepts) == found
