"""What every promise, means, attack and metric of baskets keeps."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import sfumato as sf
from sfumato import examples
from sfumato.core import registry
from sfumato.core.attack import Attack, Scene
from sfumato.core.data import Evidence, Pair
from sfumato.core.metric import Utility
from sfumato.core.parameters import known_as
from sfumato.core.randomness import Seed
from sfumato.core.shape import Shape
from sfumato.core.step import Goal
from sfumato.data.baskets import FAMILIES, models
from sfumato.errors import RecipeError, SchemaError

PROMISES = [
    {"km_anonymity": {"k": 2, "m": 2}},
    {"basket_k_anonymity": {"k": 2}},
    {"hkp_coherence": {"h": 0.5, "k": 2, "p": 1, "private": ["babel", "bador"]}},
    {"rho_uncertainty": {"rho": 0.9, "sensitive": ["babel", "bador"]}},
    {"k_anonymity": {"k": 2}},
    {"k_km_anonymity": {"k": 2, "m": 1}},
    {"disassociated_km": {"k": 2, "m": 2}},
    {"hidden_rules": {"rules": ["babel -> bador"], "support": 1, "confidence": 0.05}},
]
MEANS = {
    "item_recoding": "km_anonymity",
    "basket_partition": "basket_k_anonymity",
    "block_recoding": "km_anonymity",
    "suppress_items": "rho_uncertainty",
    "grouped_recoding": "k_km_anonymity",
    "disassociation": "disassociated_km",
    "hide_rules": "hidden_rules",
}
PEOPLE = examples.purchases(40, items=20)


def model_of(name):
    (spec,) = [one for one in PROMISES if name in one]
    return registry.build("models", spec, shape=Shape.BASKETS)


def shown(value) -> str:
    return json.dumps(value, default=str)


def test_all_members_are_tried_here():
    assert {next(iter(one)) for one in PROMISES} == set(FAMILIES["models"])
    assert set(MEANS) == set(FAMILIES["steps"])


@pytest.mark.parametrize("family", FAMILIES)
def test_members_say_what_they_are(family):
    for name, cls in FAMILIES[family].items():
        told = registry.describe(cls)
        assert told["name"] == name == cls.name == known_as(name)
        assert len(told["meaning"]) > 20
        assert all(field["meaning"] for field in told["fields"])
        assert set(cls.secret) <= {field.name for field in dataclasses.fields(cls)}


@pytest.mark.parametrize("spec", PROMISES, ids=lambda one: next(iter(one)))
def test_promises_round_trip_and_judge(spec):
    model = registry.build("models", spec, shape=Shape.BASKETS)
    again = registry.build("models", registry.write(model), shape=Shape.BASKETS)
    assert again == model
    verdict = model.judge(Evidence(PEOPLE))
    assert verdict.promise == model.promise
    assert verdict.sentence
    assert not any(label in repr(verdict) for label in PEOPLE.labels)
    assert shown(verdict.to_dict())
    moved = model.judge(Evidence(PEOPLE.shuffled(np.random.default_rng(1))))
    assert (moved.holds, moved.attained, moved.records) == (
        verdict.holds,
        verdict.attained,
        verdict.records,
    )


def test_promises_that_list_items_keep_them_secret():
    listing = {
        cls.name
        for cls in FAMILIES["models"].values()
        if any("str" in str(f.type) or "Items" in str(f.type) for f in dataclasses.fields(cls))
    }
    assert listing == {cls.name for cls in FAMILIES["models"].values() if cls.secret}


@pytest.mark.parametrize("name", MEANS)
def test_means_round_trip_and_reach_their_promise(name):
    step = registry.build("steps", name, shape=Shape.BASKETS)
    assert registry.build("steps", registry.write(step), shape=Shape.BASKETS) == step
    model, people = model_of(MEANS[name]), PEOPLE
    before = people.to_tables()["data"]
    goal = Goal(models=(model,), seed=Seed(2))
    plan = step.plan(people, goal)
    released = step.apply(people, plan)
    assert model.judge(Evidence(released)).holds
    assert people.to_tables()["data"].equals(before)  # arguments are never changed
    told = shown([plan.describe(), plan.effort(), plan.warnings, plan.scores(), repr(plan)])
    assert not any(f'"{label}"' in told for label in people.labels)
    assert (
        step.apply(people, step.plan(people, goal))
        .to_tables()["data"]
        .equals(released.to_tables()["data"])
    )
    origin = released.shuffled(np.random.default_rng(0)).origin
    assert sorted(origin.tolist()) == list(range(40))


@pytest.mark.parametrize("name", FAMILIES["risk"])
def test_attacks_keep_their_contract(name):
    attack = registry.build("risk", name, shape=Shape.BASKETS)
    assert isinstance(attack, Attack)
    released = PEOPLE.shuffled(np.random.default_rng(3))
    scene = Scene.of(PEOPLE, released, seed=Seed(4))
    finding = attack.attack(scene)
    assert 0 <= finding.value <= 1
    assert set(finding.victims.tolist()) <= set(range(PEOPLE.people))
    assert attack.attack(Scene.of(PEOPLE, released, seed=Seed(4))).to_dict() == finding.to_dict()
    told = shown(finding.to_dict())
    assert not any(label in told for label in PEOPLE.labels)


@pytest.mark.parametrize("name", FAMILIES["utility"])
def test_metrics_keep_their_contract(name):
    metric = registry.build("utility", name, shape=Shape.BASKETS)
    assert isinstance(metric, Utility)
    measure = metric.measure(Pair(PEOPLE, PEOPLE.shuffled(np.random.default_rng(3))))
    best = 0.0 if metric.better == "lower" else 1.0
    assert measure.value == pytest.approx(best)
    assert measure.better == metric.better


def test_members_of_other_shapes_are_refused_by_name():
    with pytest.raises(RecipeError, match="serves table"):
        registry.build("steps", "mondrian", shape=Shape.BASKETS)
    with pytest.raises(RecipeError, match="serves baskets"):
        registry.build("models", {"km_anonymity": {"k": 2, "m": 2}})
    assert models.KmAnonymity(5, 2).promise == "5²-anonymity"


def test_a_release_without_its_grades_is_checked_by_the_same_recipe(tmp_path):
    """Ratings of single items are left out of a release: what a recipe says of them must not refuse
    it.
    """
    rows = [
        (f"p{n}", item, str(1 + (n + len(item)) % 5))
        for n in range(6)
        for item in ("tea", "milk", f"own{n}")
    ]
    data = tmp_path / "ratings.csv"
    data.write_text("who,what,stars\n" + "".join(",".join(row) + "\n" for row in rows))
    recipe = tmp_path / "ratings.yaml"
    recipe.write_text(
        "sfumato: 1\nshape: baskets\ncolumns: {who: person, what: item, stars: keep}\n"
        "meet: [{km_anonymity: {k: 2, m: 2}}]\nsteps: [suppress_items]\n"
    )
    sf.run(data, recipe, seconds=0).write(tmp_path / "out")
    released = tmp_path / "out" / "share" / "data.csv"
    assert released.read_text().splitlines()[0] == "who,what"
    assert all(verdict.holds for verdict in sf.check(released, recipe))
    elsewhere = tmp_path / "elsewhere.csv"
    elsewhere.write_text(released.read_text().replace("who,what", "whose,what"))
    with pytest.raises(SchemaError, match="'who'"):
        sf.check(elsewhere, recipe)
