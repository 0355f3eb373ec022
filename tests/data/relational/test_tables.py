"""What every promise, means and metric of several tables must do, whoever wrote it."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import polars as pl
import pytest

from sfumato import examples
from sfumato.core import registry
from sfumato.core.data import Evidence, Pair
from sfumato.core.metric import Utility
from sfumato.core.model import Model
from sfumato.core.randomness import Seed
from sfumato.core.schema import Attribute, Schema
from sfumato.core.shape import Shape
from sfumato.core.step import Goal, Step
from sfumato.data.relational import FAMILIES
from sfumato.data.relational.tables import RelatedTables
from sfumato.errors import ParameterError

K2 = {"k_anonymity": {"k": 2}}
RECODE = {"suppress": "tuple", "budget": 0.5}
EXAMPLES = {
    "models": {
        "k_anonymity": {"k": 2, "table": "people"},
        "persons_k_anonymity": {"k": 2, "knows": "any", "facts": 1, "own": False},
        "persons_l_diversity": {"sensitive": "prescriptions.drug", "l": 2, "knows": "counts"},
        "persons_t_closeness": {"sensitive": "people.diagnosis", "t": 0.5, "knows": "own"},
    },
    "steps": {
        "global_recoding": {**RECODE, "table": "people", "aim": [K2], "drop": "people"},
        "cap_rows": {"table": "visits", "at_most": 2},
        "coarsen_counts": {"table": "visits", "to": [1, 3]},
        "drop_people": {"table": "visits", "more_than": 5},
        "key_pseudonyms": {"split": True},
        "suppress_persons": {"budget": 0.9},
        "trim_rows": {"budget": 0.5},
        "shift_dates": {"columns": {"visits": ["day"]}, "days": 20},
    },
    "utility": {
        "rows_kept": {},
        "rows_per_person": {},
        "cells_unchanged": {},
        "loss": {"table": "visits"},
    },
}
MEMBERS = [(family, name) for family, members in EXAMPLES.items() for name in members]


def made(family, name):
    return registry.build(family, {name: EXAMPLES[family][name]}, shape=Shape.TABLES)


def dated():
    """The clinic with a day for every visit."""
    people = examples.clinic()
    rows = people["visits"]
    day = pl.Series("day", np.arange(len(rows)) + 19_000).cast(pl.Int32).cast(pl.Date)
    schema = Schema({**rows.schema.attributes, "day": Attribute(("keep",), kind="date")})
    return people.with_rows(
        dataclasses.replace(rows, frame=rows.frame.with_columns(day), schema=schema)
    )


GOAL = Goal(
    models=(
        registry.build("models", {"k_anonymity": {"k": 2, "table": "visits"}}, shape=Shape.TABLES),
        made("models", "persons_k_anonymity"),
    ),
    seed=Seed(7),
)


def test_what_is_tried_here_is_there():
    for family, members in EXAMPLES.items():
        assert set(members) <= {*FAMILIES[family], *registry.family(family)}
    assert registry.data_class(Shape.TABLES) is RelatedTables


@pytest.mark.parametrize(("family", "name"), MEMBERS, ids=map("/".join, MEMBERS))
def test_recipe_and_object_are_the_same(family, name):
    value = made(family, name)
    assert registry.build(family, registry.write(value), shape=Shape.TABLES) == value
    assert json.loads(json.dumps(registry.write(value))) == registry.write(value)
    assert isinstance(value, {"models": Model, "steps": Step, "utility": Utility}[family])
    assert value.name == name
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
        value.name = "other"


@pytest.mark.parametrize(("family", "name"), [(f, n) for f, n in MEMBERS if n in FAMILIES[f]])
def test_members_describe_their_parameters(family, name):
    cls = FAMILIES[family][name]
    told = registry.describe(cls)
    assert told["doc"]
    assert all(field["meaning"] for field in told["fields"])
    assert {field["name"] for field in told["fields"]} >= set(EXAMPLES[family][name])
    with pytest.raises(ParameterError, match="no parameter 'nonsense'"):
        cls(nonsense=1)


@pytest.mark.parametrize("name", EXAMPLES["steps"])
def test_steps_keep_every_key_and_say_whose_rows_they_left(name):
    people, step = dated(), made("steps", name)
    plan = step.plan(people, GOAL)
    left = step.apply(people, plan)
    again = step.apply(people, step.plan(people, GOAL))
    assert {n: f.to_dicts() for n, f in left.to_tables().items()} == {
        n: f.to_dicts() for n, f in again.to_tables().items()
    }
    assert json.loads(json.dumps(plan.describe())) == plan.describe()
    shown = json.dumps([plan.describe(), list(plan.warnings), plan.effort()], default=str)
    assert not any(str(key) in shown for key in people.parts[0].names)
    origin = np.arange(left.people) if left.origin is None else left.origin
    for rows in left.parts:
        was = people[rows.name]
        from_rows = np.arange(len(rows)) if rows.origin is None else rows.origin
        assert origin[rows.owner].tolist() == was.owner[from_rows].tolist()


@pytest.mark.parametrize("name", EXAMPLES["models"])
def test_verdicts_do_not_depend_on_order(name):
    people, model = examples.clinic(), made("models", name)
    told = model.judge(Evidence(people)).to_dict()
    assert told == model.judge(Evidence(people.shuffled(np.random.default_rng(3)))).to_dict()
    assert model.broken(people).any() == (not model.judge(Evidence(people)).holds)


@pytest.mark.parametrize("name", EXAMPLES["utility"])
def test_metrics_do_not_depend_on_order(name):
    people, metric = examples.clinic(), made("utility", name)
    step = made("steps", "cap_rows")
    left = step.apply(people, step.plan(people, GOAL))
    assert metric.applies(Pair(people, left)) is None
    found = metric.measure(Pair(people, left))
    mixed = metric.measure(Pair(people, left.shuffled(np.random.default_rng(5))))
    assert found.value == pytest.approx(mixed.value)
    assert 0 <= found.value <= 1
