from __future__ import annotations

import dataclasses
import importlib
import inspect
from pathlib import Path

import pytest

from sfumato.core.hierarchy import Paths, bind
from sfumato.core.registry import build, write
from sfumato.errors import ParameterError
from sfumato.methods import hierarchies

ONE_OF_EACH = [
    hierarchies.intervals(5, 10, origin=0.5, upper=99),
    hierarchies.mask_right(5, char="x"),
    hierarchies.mask_left(3),
    hierarchies.dates("month", "year", format="%d.%m.%y"),
    hierarchies.tree({"*": {"a": ["x", {"b": ["y"]}]}}, other="rest"),
    hierarchies.order(["low", "mid", "high"], 2),
    hierarchies.suppress(),
    hierarchies.hierarchy_file("zip.csv", delimiter=",", other="rest"),
    hierarchies.hierarchy_table([("a", "b", "*")], other="rest"),
    hierarchies.frequency(8, 4, 2),
    hierarchies.classification("nace", other="rest"),
    hierarchies.like("75001 → 75 → *"),
    hierarchies.grouped("diagnosis", groups=4, at_least=5, cuts=[[20, 40, 60], [40]]),
]


def test_one_of_each():
    assert {type(h) for h in ONE_OF_EACH} == set(hierarchies.ALL.values())
    assert len({cls.name for cls in hierarchies.ALL.values()}) == len(hierarchies.ALL)


@pytest.mark.parametrize("hierarchy", ONE_OF_EACH, ids=lambda h: h.name)
def test_a_recipe_says_the_same(hierarchy):
    written = write(hierarchy)
    assert build("hierarchies", written) == hierarchy


@pytest.mark.parametrize("hierarchy", ONE_OF_EACH, ids=lambda h: h.name)
def test_values_are_frozen_and_closed(hierarchy):
    with pytest.raises(dataclasses.FrozenInstanceError):
        hierarchy.length = 3
    with pytest.raises(ParameterError):
        type(hierarchy)(**write(hierarchy)[hierarchy.name], colour="red")


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


def test_no_file_is_called_like_a_name_of_the_package():
    """A package holds its files under their names: a builder of the same name would be gone once
    its file is imported.
    """
    files = {file.stem for file in Path(hierarchies.__file__).parent.glob("*.py")}
    assert "number_intervals" in files
    assert not files & set(hierarchies.__all__)
    for file in sorted(files - {"__init__"}):
        importlib.import_module(f"sfumato.methods.hierarchies.{file}")
    builders = [name for name in hierarchies.__all__ if name.islower()]
    assert all(inspect.isfunction(getattr(hierarchies, name)) for name in builders)
