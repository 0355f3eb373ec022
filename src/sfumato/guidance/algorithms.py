"""Recoding algorithms that are tried in turn: the same recipe with each of them."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from sfumato.core import registry
from sfumato.core.fields import Document, Fields
from sfumato.core.parameters import known_as
from sfumato.core.step import Step
from sfumato.errors import ParameterError, RecipeError, did_you_mean

EVERY = "all"
CHOOSING_FIELDS = ("algorithm", "method", "mode")
"""Fields of recoding steps that choose one of their algorithms."""
SHARED_FIELDS = ("budget", "weights")
"""What one algorithm is allowed, another one is allowed too."""


def recoding_algorithms() -> dict[str, Document]:
    """Every algorithm that recodes quasi-identifiers, by the name it has here, as a step of a
    recipe.

    >>> recoding_algorithms()["mondrian.strict"], recoding_algorithms()["k_member"]
    ({'mondrian': {'mode': 'strict'}}, {'k_member': {}})
    """
    algorithms: dict[str, Document] = {}
    for name, step in registry.family("steps").items():
        if not step.recodes_quasi:
            continue
        field = _choosing_field(step)
        for word in step.search_kinds:
            if word and field:
                algorithms[f"{name}.{word}"] = {name: {field: word}}
            else:
                algorithms[name] = {name: {}}
    return algorithms


def algorithms_of(names: Sequence[str]) -> dict[str, Document]:
    """The algorithms of these names: ``all``, a step (its usual algorithm), a step and its
    algorithm (``mondrian.single``), or the algorithm alone where one step only has it.

    >>> list(algorithms_of(["datafly", "mondrian", "mondrian.single"]))
    ['datafly', 'mondrian', 'mondrian.single']
    """
    every = recoding_algorithms()
    steps = {key.partition(".")[0] for key in every}
    algorithms: dict[str, Document] = {}
    for text in names:
        name = known_as(text)
        by_word = [key for key in every if key.partition(".")[2] == name]
        if text == EVERY:
            algorithms |= every
        elif name in every:
            algorithms[text] = every[name]
        elif name in steps:
            algorithms[text] = {name: {}}
        elif len(by_word) == 1:
            algorithms[text] = every[by_word[0]]
        else:
            hint = did_you_mean(text, [*every, EVERY])
            raise ParameterError(f"{text!r} is not the name of one recoding algorithm.{hint}")
    return algorithms


def with_algorithms(document: Fields, names: Sequence[str]) -> Iterator[tuple[str, Document]]:
    """The recipe with each of the algorithms in the place of its first recoding step, or before all
    steps where it has none; the budget and the weights stay.
    """
    for label, spec in algorithms_of(names).items():
        steps = list(document.get("steps") or [])
        place = _recoding_place(steps)
        if place is None:
            steps.insert(0, spec)
        else:
            steps[place] = _with_shared_fields(spec, steps[place])
        yield label, {**copy.deepcopy(dict(document)), "steps": copy.deepcopy(steps)}


def _choosing_field(step: type[Step]) -> str | None:
    """The field that chooses the algorithm of a step."""
    fields = {field.name for field in dataclasses.fields(step)}  # type: ignore[arg-type]
    for name in CHOOSING_FIELDS:
        if name in fields:
            return name
    return None


def _recoding_place(steps: Sequence[object]) -> int | None:
    """Where the first step stands that recodes quasi-identifiers."""
    family = registry.family("steps")
    for place, spec in enumerate(steps):
        name = spec
        if isinstance(spec, Mapping):
            name = next(iter(spec))
        step = family.get(known_as(str(name)))
        if step is not None and step.recodes_quasi:
            return place
    return None


def _with_shared_fields(spec: Document, replaced_spec: object) -> Document:
    """A step with the budget and the weights of the one it replaces, where it can have them."""
    name, fields = next(iter(spec.items()))
    replaced_fields = None
    if isinstance(replaced_spec, Mapping):
        replaced_fields = next(iter(replaced_spec.values()))
    if not isinstance(replaced_fields, Mapping):
        return spec
    for field in SHARED_FIELDS:
        # Not every algorithm can suppress or weigh: then it is tried without.
        if field in replaced_fields:
            extended = {**fields, field: replaced_fields[field]}
            fields = extended if _can_be_built(name, extended) else fields
    return {name: fields}


def _can_be_built(name: str, fields: Fields) -> bool:
    values = {}
    for field, value in fields.items():
        values[field] = value
        # A field that varies has no value yet: the first one stands for all.
        if isinstance(value, Mapping) and set(value) == {"vary"}:
            values[field] = value["vary"][0]
    try:
        registry.build("steps", {name: values})
    except (ParameterError, RecipeError):
        return False
    return True
