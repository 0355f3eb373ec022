"""The registry: every class by its name, built and written the same way."""

from __future__ import annotations

import importlib

import pytest

from sfumato.core import registry
from sfumato.core.attack import Attack
from sfumato.core.metric import Risk
from sfumato.core.shape import Shape
from sfumato.errors import ParameterError, RecipeError
from sfumato.methods.models.k_anonymity import KAnonymity


@pytest.mark.parametrize("family", registry.FAMILIES)
def test_names_are_words_and_none_occurs_twice(family):
    classes = registry.family(family)
    packages = [importlib.import_module(package) for package in registry.PACKAGES[family]]
    every = [name for package in packages for name in package.ALL]
    assert len(classes) == len(every), "two classes share a name"
    for name, cls in classes.items():
        assert name == cls.name
        assert name.replace("_", "").isalnum()
        assert name == name.lower()


@pytest.mark.parametrize(
    ("family", "name"),
    [(family, name) for family in registry.FAMILIES for name in registry.family(family)],
)
def test_what_is_described_as_required_is_required(family, name):
    required = [
        f["name"]
        for f in registry.describe(registry.family(family)[name])["fields"]
        if f["required"]
    ]
    if not required:
        assert registry.write(registry.build(family, name)) == {name: {}}
        return
    with pytest.raises(RecipeError) as refused:
        registry.build(family, name)
    assert all(f"{field} must be given" in str(refused.value) for field in required)


@pytest.mark.parametrize("spec", [{"k_anonymity": 5}, {"k_anonymity": {"k": 5}}])
def test_forms(spec):
    assert registry.build("models", spec) == KAnonymity(5)
    assert registry.write(registry.build("models", spec)) == {"k_anonymity": {"k": 5}}


@pytest.mark.parametrize(
    ("family", "spec", "told"),
    [
        (
            "models",
            "k_anonimity",
            "'k_anonimity' is not a known model. Did you mean 'k_anonymity'?",
        ),
        (
            "hierarchies",
            "interval",
            "'interval' is not a known hierarchy. Did you mean 'intervals'?",
        ),
        ("steps", "recoding", "is not a known step"),
        ("models", {"k_anonymity": {"k": 5, "l": 3}}, "there is no parameter 'l'"),
        ("models", {"k_anonymity": {1: 5}}, "keywords must be strings"),
        ("models", {"k_anonymity": [5]}, "k should be a whole number"),
        ("models", {1: 5}, "expected one name"),
        ("models", {}, "expected one name"),
        ("models", None, "expected one name"),
        ("hierarchies", 5, "like 'intervals: {widths: [5, 10]}'"),
        ("hierarchies", "intervals", "widths must be given"),
    ],
)
def test_wrong_forms(family, spec, told):
    with pytest.raises(RecipeError) as refused:
        registry.build(family, spec, "here")
    assert str(refused.value).startswith("here: ")
    assert told in str(refused.value)


def test_unknown_family():
    with pytest.raises(ParameterError, match="Did you mean 'models'"):
        registry.family("model")


def test_what_lives_in_a_room_is_of_its_kind():
    """Attacks and risks are told apart by their room alone, without importing them: one in the
    wrong room would be tried by nobody.
    """
    assert all(issubclass(cls, Attack) for cls in registry.attacks().values())
    assert all(issubclass(cls, Risk) for cls in registry.risks().values())
    assert {
        "suda",
        "individual_risk",
        "population_uniques",
        "log_linear",
        "linkage",
        "singling_out",
    } <= set(registry.attacks())


@pytest.mark.parametrize("shape", list(Shape))
def test_every_member_says_that_it_serves_the_shape_it_is_listed_for(shape):
    for family in ("models", "steps", "risk", "utility"):
        wrong = [
            name for name, cls in registry.family(family, shape).items() if shape not in cls.shapes
        ]
        assert not wrong, f"{family} of shape {shape}"
