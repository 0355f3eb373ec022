"""What all members of the room have: names, words, fields, and a place in recipes."""

from __future__ import annotations

import dataclasses

import pytest

from sfumato.core import registry
from sfumato.core.attack import Attack
from sfumato.core.choices import required_fields
from sfumato.core.data import Data
from sfumato.core.metric import Utility
from sfumato.core.model import Model
from sfumato.core.shape import Shape
from sfumato.core.step import Step
from sfumato.data.graphs import FAMILIES, noun
from sfumato.errors import RecipeError

MEMBERS = [(family, name) for family, members in FAMILIES.items() for name in members]
KINDS = {"models": Model, "steps": Step, "risk": Attack, "utility": Utility}
NEEDED = {"k": 3, "epsilon": 1.0}


@pytest.mark.parametrize(("family", "name"), MEMBERS, ids=lambda word: word)
def test_members(family, name):
    cls = registry.family(family, Shape.GRAPH)[name]
    assert cls.name == name
    assert KINDS[family] in cls.__mro__
    assert dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen
    assert (cls.__doc__ or "").strip()
    assert all(field["meaning"] for field in registry.describe(cls)["fields"])
    made = registry.build(
        family, {name: {f: NEEDED[f] for f in required_fields(cls)}}, shape=Shape.GRAPH
    )
    assert registry.build(family, registry.write(made), shape=Shape.GRAPH) == made
    if family in ("models", "steps", "risk"):
        doc = cls.__doc__
        assert "doi:" in doc


def test_what_serves_tables_is_refused_by_name():
    with pytest.raises(RecipeError, match="for shape: graph; it serves table"):
        registry.build("models", {"k_anonymity": 5}, shape=Shape.GRAPH)
    assert Data in noun().__mro__
    assert registry.data_class(Shape.GRAPH) is noun()
