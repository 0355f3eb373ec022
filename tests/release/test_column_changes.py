"""What happened to every column, in words that follow from plan, roles and the release."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.release.column_changes import AS_IT_IS, changes_of

FRAME = pl.DataFrame(
    {
        "name": ["a", "b", "c", "d"],
        "age": [20, 21, 30, 31],
        "zip": ["11", "12", "21", "22"],
        "ill": ["x", "y", "x", "y"],
        "who": ["p", "q", "r", "s"],
    }
)
TABLE = sf.read(FRAME).with_roles(
    drop=["name"], quasi=["age", "zip"], sensitive=["ill"], person=["who"]
)


class Description:
    """A plan that says what it is told to say."""

    def __init__(self, **fields):
        self.fields = fields

    def describe(self):
        return self.fields


def actions(shared, **fields):
    plans = [("step", Description(**fields))]
    return {change.name: change.action for change in changes_of(TABLE, shared, plans)}


def test_roles_say_what_happens_without_a_step():
    shared = TABLE.drop(["name"])
    words = actions(shared)
    assert words["name"] == "dropped: its role is drop"
    assert words["ill"] == words["age"] == AS_IT_IS
    assert words["who"] != AS_IT_IS  # units are renumbered


@pytest.mark.parametrize(
    ("level", "words"),
    [(0, "kept exact (level 0 of 2)"), (1, "generalised to level 1 of 2"), (2, "fully suppressed")],
)
def test_levels(level, words):
    shared = TABLE.drop(["name"])
    assert actions(shared, levels={"age": {"level": level, "top": 2}})["age"] == words


def test_masking_comes_before_what_else_was_done():
    shared = TABLE.drop(["name"])
    fields = {"masked": {"age": "noise"}, "suppressed_cells": {"age": 1, "zip": 2}}
    words = actions(shared, **fields)
    assert words["age"] == f"noise; {AS_IT_IS}, but for 1 suppressed cell"
    assert words["zip"] == f"{AS_IT_IS}, but for 2 suppressed cells"
    assert actions(shared, masked={"age": "noise"})["age"] == "noise"


def test_columns_that_only_one_of_the_two_has():
    shared = TABLE.drop(["name", "zip"]).with_columns({"w": pl.Series("w", [1.0] * 4)})
    shared = shared.with_roles(weight=["w"])
    changes = {change.name: change for change in changes_of(TABLE, shared, [])}
    assert changes["zip"].action == "dropped: suppressed as a whole"
    assert changes["zip"].distinct_after is None
    assert (changes["w"].action, changes["w"].distinct_before) == ("added", 0)


def test_values_are_counted_with_missing_as_one_of_them():
    frame = pl.DataFrame({"x": [1.0, None, float("nan"), 1.0]})
    table = sf.read(frame).with_roles(keep=["x"])
    (change,) = changes_of(table, table, [])
    assert change.distinct_before == change.distinct_after
    assert change.distinct_before in (2, 3)  # reading may have made NaN missing
