"""Hierarchies that list their leaves: what makes the list sound, and the paths of values under
it."""

from __future__ import annotations

import pytest

from sfumato.core.hierarchy import bind
from sfumato.errors import OutputError, SchemaError
from sfumato.methods.hierarchies import suppress, write_hierarchy


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(OutputError, match="cannot be written"):
        write_hierarchy(suppress(), ["a"], tmp_path / "no" / "out.csv")
    with pytest.raises(OutputError, match="use encoding='utf-8'"):
        write_hierarchy(suppress(), ["€"], tmp_path / "out.csv", encoding="latin-1")
    assert list(tmp_path.iterdir()) == []


def test_values_that_are_not_on_the_ladder_are_counted(tmp_path):
    with pytest.raises(SchemaError, match="values are not in"):
        write_hierarchy(bind(suppress(), ["a"], [1]), ["a", "b"], tmp_path / "out.csv")
