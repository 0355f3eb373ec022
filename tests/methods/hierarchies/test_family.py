from __future__ import annotations

import dataclasses
import importlib
import inspect
from pathlib import Path

import pytest

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
    hierarchies.parts("./", 3, 2, mark="!", each=True, hide="left"),
    hierarchies.networks(24, 8, prefixes_6=(64, 32)),
    hierarchies.web_addresses("host", "suffix"),
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
