"""Validated values: what is declared once is checked, written and read back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from sfumato.core import registry
from sfumato.core.parameters import parameters, plain_data, values_of
from sfumato.errors import ParameterError, RecipeError
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding


@parameters
class Sample:
    """Every sort of field."""

    k: Annotated[int, Field(ge=1)]
    share: Annotated[float, Field(ge=0, le=1)] = 0.5
    names: tuple[str, ...] = ()
    weights: Annotated[dict[str, float], Field(description="importance")] = Field(
        default_factory=dict
    )
    strict: bool = False
    place: Path | None = None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"k": 0}, "Sample: k should be greater than or equal to 1"),
        ({"k": "many"}, "Sample: k should be a whole number"),
        ({"k": 2.5}, "k should be a whole number"),
        ({}, "k must be given"),
        ({"k": 1, "share": 2}, "share should be less than or equal to 1"),
        ({"k": 1, "share": float("nan")}, "share should be"),
        ({"k": 1, "kk": 2}, "there is no parameter 'kk'"),
        ({"k": True}, "k should be a number, not true or false"),
        ({"k": 1, "share": True}, "share should be a number, not true or false"),
        ({"k": 1, "weights": {"a": True}}, "weights should be a number, not true or false"),
        ({"k": 0, "share": 2}, "k should be greater than or equal to 1; share should be"),
    ],
)
def test_wrong_values(arguments, told):
    with pytest.raises(ParameterError) as refused:
        Sample(**arguments)
    assert told in str(refused.value)


def test_values_given_are_not_repeated_in_errors():
    with pytest.raises(ParameterError) as refused:
        Sample(k="jane.doe@example.org")
    assert "jane" not in str(refused.value)


@pytest.mark.parametrize(
    "said", ["k and l contradict each other", "Crowd: k and l contradict each other"]
)
def test_a_class_that_names_itself_is_named_once(said):
    @parameters
    class Crowd:
        k: int = 1

        def __post_init__(self):
            raise ParameterError(said)

    with pytest.raises(ParameterError) as refused:
        Crowd()
    assert str(refused.value) == "Crowd: k and l contradict each other"


@pytest.mark.parametrize(
    ("step", "arguments", "told"),
    [
        ("sample", {"fraction": 0.5, "size": 3}, "give either fraction or size, not both"),
        ("suppression", {"what": "cell", "effort": 5}, "effort is for the methods exact and auto"),
        (
            "add_noise",
            {"columns": ["a"], "alpha": 1, "lower": 2, "upper": 1},
            "lower must be less than upper",
        ),
        (
            "pram",
            {"columns": ["a"]},
            "give either retain or matrix; theta is for invariant direct only",
        ),
    ],
)
def test_steps_are_named_once(step, arguments, told):
    cls = registry.family("steps")[step]
    with pytest.raises(ParameterError) as refused:
        cls(**arguments)
    assert str(refused.value) == f"{cls.__name__}: {told}"
    with pytest.raises(RecipeError) as unread:
        registry.build("steps", {step: arguments}, "steps[1]")
    assert str(unread.value) == f"steps[1]: {step}: {told}"


def test_positions_and_names():
    assert Sample(3, 0.1) == Sample(k=3, share=0.1)
    assert Sample(3, strict=True).strict is True
    with pytest.raises(ParameterError, match="at most 6 parameters, but 7 were given"):
        Sample(1, 0.1, (), {}, False, None, 7)
    with pytest.raises(TypeError):
        Sample(1, k=2)


def test_values_are_frozen():
    with pytest.raises(AttributeError):
        KAnonymity(5).k = 1


def test_only_what_differs_from_the_defaults_is_written():
    assert values_of(Sample(3)) == {"k": 3}
    full = Sample(3, 0.25, ("a", "b"), {"a": 2}, True, Path("x/y.csv"))
    assert values_of(full) == {
        "k": 3,
        "share": 0.25,
        "names": ["a", "b"],
        "weights": {"a": 2.0},
        "strict": True,
        "place": str(Path("x/y.csv")),
    }
    assert Sample(**values_of(full)) == full


def test_mutable_defaults_are_not_shared():
    assert GlobalRecoding().weights is not GlobalRecoding().weights


def test_plain_data_goes_all_the_way_down_and_is_always_the_same():
    assert plain_data({"a": ({"b": (1, None)}, frozenset({"z", "y", "x"}))}) == {
        "a": [{"b": [1, None]}, ["x", "y", "z"]]
    }


@pytest.mark.parametrize("family", registry.FAMILIES)
def test_every_registered_class_declares_its_fields(family):
    for name, cls in registry.family(family).items():
        described = registry.describe(cls)
        assert described["name"] == name
        assert described["meaning"].endswith(".")
