"""Generalization hierarchies: a value, and the coarser values above it."""

from __future__ import annotations

import pytest

from sfumato.core.hierarchy import Paths, bind
from sfumato.methods import hierarchies
from sfumato.methods.hierarchies import TableHierarchy
from tests.methods.hierarchies.test_family import ONE_OF_EACH


def test_siblings_are_neighbours_and_missing_joins_the_top():
    ladder = bind(
        TableHierarchy([("a", "x", "*"), ("b", "y", "*"), ("c", "x", "*")]),
        ["c", None, "b", "a"],
        [1, 1, 1, 1],
    )
    assert ladder.labels == (("a", "c", "b", None), ("x", "y", None), ("*",))
    assert [up.tolist() for up in ladder.up] == [[0, 0, 1, 2], [0, 0, 0]]
    assert [loss.tolist() for loss in ladder.loss] == [[0, 0, 0, 0], [0.5, 0, 0], [1]]


def test_without_a_hierarchy_there_is_one_level():
    ladder = bind(None, ["b", None], [1, 1])
    assert (ladder.labels, ladder.top, ladder.depth) == ((("b", None),), 0, 1)


@pytest.mark.parametrize(
    "hierarchy", [h for h in ONE_OF_EACH if h.name != "file"], ids=lambda h: h.name
)
def test_a_column_of_missing_values(hierarchy):
    ladder = bind(hierarchy, [None], [4])
    assert ladder.depth >= 2
    assert ladder.labels == ((None,),) * ladder.top + (("*",),)
    assert ladder.loss[-1].tolist() == [1.0] or hierarchy.name == "table"  # that table has one leaf


def test_the_top_of_a_column_of_missing_values_is_the_top_of_the_hierarchy():
    assert bind(hierarchies.tree({"any": ["a", "b"]}), [None], [1]).labels == ((None,), ("any",))


def test_labels_below_their_own_level_cover_what_stands_above_them():
    leaf_rows = [("a", "x", "top"), ("b", "x", "top"), ("c", "y", "top")]
    paths = Paths.from_leaf_rows([("x", "x", "top"), ("*", "*", "top")], leaf_rows)
    assert paths.leaves[0] == {"a": 1, "b": 1, "c": 1, "x": 2, "*": 3}
    assert paths.leaves[1] == {"x": 2, "y": 1, "*": 3}
    assert paths.loss[0]["x"] == 0.5
    assert paths.loss[1]["*"] == 1.0
