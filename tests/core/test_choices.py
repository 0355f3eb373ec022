"""The weakest model of a class, and a grid of legal ones: whatever they are, each is legal."""

from __future__ import annotations

import pytest

from sfumato.core.choices import is_number, required_fields, trivial, variants, weakest
from sfumato.core.registry import family
from sfumato.core.shape import Shape
from sfumato.errors import ParameterError
from sfumato.methods.models import AlphaKAnonymity, KAnonymity, LDiversity, TCloseness

MODELS = family("models", Shape.TABLE)


@pytest.mark.parametrize("name", MODELS)
def test_variants_are_models_of_the_class_and_differ(name):
    models = variants(MODELS[name])
    assert models
    assert all(type(model) is MODELS[name] for model in models)
    assert len({repr(model) for model in models}) == len(models)


@pytest.mark.parametrize("name", MODELS)
def test_what_is_open_is_a_required_number(name):
    cls = MODELS[name]
    open_fields = [field for field in required_fields(cls) if is_number(cls, field)]
    first = variants(cls)[0]
    fixed = {f: getattr(first, f) for f in required_fields(cls) if f not in open_fields}
    try:
        model, chosen = weakest(cls, fixed)
    except ParameterError:
        # A number that states a fact has no weakest value; it must be given.
        return
    assert list(chosen) == open_fields
    # Weakest: every other model of the grid that differs in these numbers only implies it.
    for other in variants(cls):
        rest = {f: getattr(other, f) for f in model.__dataclass_fields__ if f not in chosen}
        if rest == {f: getattr(model, f) for f in rest}:
            assert other.implies(model)


def test_weakest_models_promise_nothing():
    assert weakest(KAnonymity, {}) == (KAnonymity(1), ("k",))
    model, chosen = weakest(AlphaKAnonymity, {"sensitive": "illness", "k": 3})
    assert (model.k, model.alpha, chosen) == (3, 1.0, ("alpha",))
    assert trivial(TCloseness("illness", 1.0))
    assert not trivial(TCloseness("illness", 0.5))
    assert not trivial(LDiversity("illness", 2))
