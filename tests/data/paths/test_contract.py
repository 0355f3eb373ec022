"""What every promise, means, attack and metric of paths must do, whoever wrote it."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from sfumato import examples
from sfumato.core import registry
from sfumato.core.attack import Scene
from sfumato.core.data import Evidence, Pair, is_data
from sfumato.core.model import Model
from sfumato.core.randomness import Seed
from sfumato.core.shape import Shape
from sfumato.core.step import Goal, Step
from sfumato.data.paths import FAMILIES
from sfumato.data.paths.trajectories import Trajectories
from sfumato.errors import ParameterError

EXAMPLES = {
    "models": {
        "lkc_privacy": {"k": 2, "l": 2, "c": 0.9},
        "km_anonymity": {"k": 2},
        "km_visits": {"k": 2},
        "k_windows": {"k": 2, "tau": "4h"},
    },
    "steps": {
        "path_recoding": {"place_level": 1, "time_width": "8h"},
        "point_suppression": {"how": "local"},
        "time_shift": {"most": "3h"},
        "collapse_repeats": {},
    },
    "risk": {
        "unicity": {"points": 3},
        "home_and_work": {},
        "time_shift": {"most": "2h"},
        "path_linkage": {},
    },
    "utility": {name: {} for name in FAMILIES["utility"]},
}
MEMBERS = [(family, name) for family, members in FAMILIES.items() for name in members]
GOAL = Goal(
    models=(registry.build("models", {"lkc_privacy": {"k": 2, "l": 1}}, shape=Shape.PATHS),),
    seed=Seed(7),
)  # type: ignore[arg-type]


def made(family, name):
    return registry.build(family, {name: EXAMPLES[family][name]}, shape=Shape.PATHS)


def renamed(people: Trajectories, seed: int) -> Trajectories:
    """The same people from a file whose rows stand in another order."""
    frame = people.to_tables()["data"].sample(fraction=1.0, shuffle=True, seed=seed)
    return Trajectories.from_tables({"data": frame}, {"data": people.schema}, people.source)


@pytest.mark.parametrize(("family", "name"), MEMBERS, ids=map("/".join, MEMBERS))
def test_recipe_and_object_are_the_same(family, name):
    value = made(family, name)
    assert registry.build(family, registry.write(value), shape=Shape.PATHS) == value
    assert value.name == name
    assert type(value).__doc__
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.name = "other"
    with pytest.raises(ParameterError, match="no parameter 'nonsense'"):
        type(value)(nonsense=1)


def test_the_noun_and_its_families_are_what_they_say():
    assert is_data(examples.small_paths())
    assert registry.data_class(Shape.PATHS) is Trajectories
    assert all(isinstance(made("models", name), Model) for name in FAMILIES["models"])
    assert all(isinstance(made("steps", name), Step) for name in FAMILIES["steps"])


@pytest.mark.parametrize("name", FAMILIES["models"])
def test_verdicts_do_not_depend_on_order_and_show_nobody(name):
    people, model = examples.small_paths(), made("models", name)
    told = model.judge(Evidence(people)).to_dict()
    assert told == model.judge(Evidence(renamed(people, 3))).to_dict()
    assert told == model.judge(Evidence(people.shuffled(np.random.default_rng(3)))).to_dict()
    assert not {"p1", "north", "south"} & set(json.dumps(told).replace('"', " ").split())
    assert model.judge(Evidence(people)).holds == (not model.broken(people))


@pytest.mark.parametrize("name", FAMILIES["steps"])
def test_plans_are_plain_and_the_same_whatever_the_order(name):
    people, step = examples.small_paths(), made("steps", name)
    plan, again = step.plan(people, GOAL), step.plan(renamed(people, 5), GOAL)
    assert json.dumps(plan.describe()) == json.dumps(again.describe())
    first, second = step.apply(people, plan), step.apply(renamed(people, 5), again)
    assert first.to_tables()["data"].equals(second.to_tables()["data"])
    assert people.to_tables()["data"].equals(
        examples.small_paths().to_tables()["data"]
    )  # nothing was changed in place
    assert "p1" not in repr(plan)


@pytest.mark.parametrize("name", FAMILIES["risk"])
def test_findings_are_rates_and_show_nobody(name):
    people, attack = examples.small_paths(), made("risk", name)
    scene = Scene.of(
        people, people.shuffled(np.random.default_rng(1)), others=(people,), seed=Seed(3)
    )
    assert attack.applies(scene) is None
    finding = attack.attack(scene)
    assert 0 <= finding.value <= 1
    assert json.loads(json.dumps(finding.to_dict()))["attack"] == name
    assert finding.to_dict() == attack.attack(scene).to_dict()
    if "curve" in finding.details:
        shares = [share for _, share in finding.details["curve"]["points"]]
        assert shares == sorted(shares)


@pytest.mark.parametrize("name", FAMILIES["utility"])
def test_measures_do_not_depend_on_order(name):
    people, metric = examples.mobility(25), made("utility", name)
    step = registry.build(
        "steps",
        {"path_recoding": {"place_level": 3, "time_width": "8h", "cell": 500}},
        shape=Shape.PATHS,
    )
    coarse = step.apply(people, step.plan(people, Goal()))
    one, other = (
        metric.measure(Pair(people, coarse.shuffled(np.random.default_rng(seed))))
        for seed in (1, 2)
    )
    assert one.value == pytest.approx(other.value)
    assert one.name == name
    json.dumps(one.to_dict())


def test_a_table_of_one_kind_of_column_only_is_read():
    """Without any column of their own people are read and written all the same."""
    frame = examples.small_paths().to_tables()["data"].drop("illness")
    schema = examples.small_paths().schema.without(["illness"])
    people = Trajectories.from_tables(
        {"data": frame}, {"data": schema}, examples.small_paths().source
    )
    kept = people.who > 2
    fewer = people.with_points(people.who[kept], people.ticks[kept], people.places[kept])
    assert (fewer.people, fewer.origin.tolist()) == (5, [3, 4, 5, 6, 7])
    kept = fewer.who > 1
    fewest = fewer.with_points(fewer.who[kept], fewer.ticks[kept], fewer.places[kept])
    assert (fewest.people, fewest.origin.tolist()) == (3, [5, 6, 7])
    assert fewest.shuffled(np.random.default_rng(0)).to_tables()["data"].height == len(fewest.ticks)
