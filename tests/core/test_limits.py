"""Limits of a recipe: what a risk, an attack or a utility may be, for the parameters it is measured
with."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.limits import Limit, limits_of, plain_limits, written_limits
from sfumato.core.parameters import label_of
from sfumato.core.yaml_text import read_yaml
from sfumato.errors import ParameterError
from tests.release.test_attack_parameters import with_limits


def test_limits_of_shaped_people_take_parameters(tmp_path):
    items = ["a1", "a2", "b1", "b2"]
    carts = pl.DataFrame(
        {"who": [i // 3 for i in range(60)], "item": [items[i % 4] for i in range(60)]}
    )
    carts.write_csv(tmp_path / "carts.csv")
    text = """
sfumato: 1
shape: baskets
columns: {who: person, item: {role: item, hierarchy: {tree: {nested: {"*": {A: [a1, a2], B: [b1, b2]}}}}}}
meet: [{km_anonymity: {k: 2, m: 2}}]
steps: [item_recoding]
limits: {known_items: [1, {m: 1, at_most: 1}]}
"""
    (tmp_path / "r.yaml").write_text(text)
    recipe = recipes.load_any(tmp_path / "r.yaml")
    assert [limit.label for limit in limits_of(recipe.limits)] == [
        "known_items",
        "known_items: {m: 1}",
    ]
    assert recipes.to_dict(recipe)["limits"] == {"known_items": [1, {"m": 1, "at_most": 1}]}
    made = sf.run(tmp_path / "carts.csv", recipe, seed=1)
    assert [kept.label for kept in made.limits] == ["known_items", "known_items: {m: 1}"]
    assert made.limits[0].value >= made.limits[1].value
    tried = {
        t.finding.label: t.limit for t in made.attacks.tried if t.finding.attack == "known_items"
    }
    assert tried == {"known_items": 1, "known_items: {m: 1}": 1}
    made.write(tmp_path / "out")
    claims = sf.verify(tmp_path / "out" / "share").claims
    assert "known_items: {m: 1}" in [claim.name for claim in claims]
    assert not [claim for claim in claims if claim.status == "fails"]


def test_random_limits_survive_every_form():
    rng = np.random.default_rng(5)
    classes = [cls for cls in registry.attacks().values() if dataclasses.fields(cls)]
    for _ in range(300):
        limits: dict[object, object] = {}
        for cls in rng.choice(np.array(classes, dtype=object), 3, replace=False):
            limits[cls.name] = round(float(rng.random()), 3)
            if (made := variant(cls, rng)) is not None:
                limits[made] = round(float(rng.random()), 3)
        plain = plain_limits(limits)
        assert registry.limit_problems({n: v for n, v in plain.items() if n != "composition"}) == []
        several = limits_of(plain)
        assert written_limits(several) == plain == read_yaml(json.dumps(plain), "limits")
        wanted = [
            (key if not isinstance(key, str) else registry.attacks()[key](), bound)
            for key, bound in limits.items()
        ]
        assert sorted(map(str, wanted)) == sorted(
            str((registry.build_measured(one), one.bound)) for one in several
        )
        for one in several:
            spec = read_yaml(label_of(one.name, one.parameters), "--attack")
            assert registry.asked_attack(spec) == registry.build_measured(one)


def variant(cls, rng):
    """The attack with one parameter changed, or None."""
    changes = {
        "kind": ["deviation"],
        "aggregator": ["owa", "choquet"],
        "most": [3, 4],
        "threshold": [0.3],
        "confidence": [0.5, 0.75],
        "amount": [2],
        "lift": [2.5],
        "widths": [(1.0, 2.5)],
        "one_to_one": [True],
        "tolerance": [0.2],
        "few": [3],
        "columns": [("a b", "true", "c: d")],
    }
    known = [field.name for field in dataclasses.fields(cls) if field.name in changes]
    for name in rng.permutation(known):
        try:
            made = cls(**{name: changes[name][int(rng.integers(len(changes[name])))]})
        except ParameterError:
            continue
        return None if made == cls() else made
    return None


def test_a_limit_is_written_as_it_was():
    assert Limit("linkage", 0.2).to_recipe() == 0.2
    assert limits_of({"linkage": {"at_most": 0.2}})[0].to_recipe() == {"at_most": 0.2}


class FakePage:
    """A page that keeps what it is told."""

    def __init__(self, recipe):
        self.workbench, self.said = type("Bench", (), {"recipe": recipe})(), []

    def say(self, words):
        self.said.append(words)

    def edit(self, recipe, sentence):
        self.workbench.recipe = recipe
        self.said.append(sentence)


def test_limits_with_parameters_survive_editing_in_the_workbench():
    pytest.importorskip("nicegui")
    from sfumato.interfaces.web.pages.promises import PromiseStage

    page = FakePage(
        with_limits("{linkage: 0.2, interval_disclosure: [0.5, {kind: deviation, at_most: 0.3}]}")
    )
    stage = PromiseStage(page)
    place, limit = 2, limits_of(stage.recipe.limits)[2]
    stage.bound(place, limit, "0.4")
    assert stage.recipe.limits["interval_disclosure"] == [
        0.5,
        {"kind": "deviation", "at_most": 0.4},
    ]
    stage.bound(0, limits_of(stage.recipe.limits)[0], "0.1")
    assert stage.recipe.limits["linkage"] == 0.1
    stage.set_limit(3, Limit("suda", 0.2, {"most": 2}, "at_most"))
    assert stage.recipe.limits["suda"] == {"most": 2, "at_most": 0.2}
    before = dict(stage.recipe.limits)
    stage.bound(place, limits_of(stage.recipe.limits)[2], "many")
    stage.bound(place, limits_of(stage.recipe.limits)[2], "-1")
    assert stage.recipe.limits == before and "must be a number" in page.said[-1]
    stage.bound(1, limits_of(stage.recipe.limits)[1], "")
    assert stage.recipe.limits["interval_disclosure"] == {"kind": "deviation", "at_most": 0.4}
