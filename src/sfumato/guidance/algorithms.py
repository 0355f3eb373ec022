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


def chosen_algorithms(asked: Sequence[str]) -> dict[str, Document]:
    """The algorithms that were asked for: ``all``, a step (its usual algorithm), a step and its
    algorithm (``mondrian.single``), or the algorithm alone where one step only has it.

    >>> list(chosen_algorithms(["datafly", "mondrian", "mondrian.single"]))
    ['datafly', 'mondrian', 'mondrian.single']
    """
    known = recoding_algorithms()
    chosen: dict[str, Document] = {}
    for text in asked:
        if text == EVERY:
            chosen |= known
            continue
        name = known_as(text)
        steps = {key.partition(".")[0] for key in known}
        by_word = [key for key in known if key.partition(".")[2] == name]
        if name in known:
            chosen[text] = known[name]
        elif name in steps:
            chosen[text] = {name: {}}
        elif len(by_word) == 1:
            chosen[text] = known[by_word[0]]
        else:
            hint = did_you_mean(text, [*known, EVERY])
            raise ParameterError(f"{text!r} is not the name of one recoding algorithm.{hint}")
    return chosen


def with_algorithms(
    document: Mapping[str, object], asked: Sequence[str]
) -> Iterator[tuple[str, Fields]]:
    """The recipe with each of the algorithms in the place of its first recoding step, or before all
    steps where it has none; the budget and the weights stay.
    """
    for label, spec in chosen_algorithms(asked).items():
        concrete = copy.deepcopy(dict(document))
        steps = list(concrete.get("steps") or [])  # type: ignore[call-overload]
        place = _recoding_place(steps)
        if place is None:
            steps.insert(0, spec)
        else:
            steps[place] = _sharing(spec, steps[place])
        concrete["steps"] = steps
        yield label, concrete


def _choosing_field(step: type[Step]) -> str | None:
    """The field that chooses the algorithm of a step."""
    names = {field.name for field in dataclasses.fields(step)}  # type: ignore[arg-type]
    fields = [name for name in CHOOSING_FIELDS if name in names]
    return fields[0] if fields else None


def _recoding_place(steps: Sequence[object]) -> int | None:
    """Where the first step stands that recodes quasi-identifiers."""
    family = registry.family("steps")
    for place, spec in enumerate(steps):
        name = known_as(str(next(iter(spec)) if isinstance(spec, Mapping) else spec))
        if name in family and family[name].recodes_quasi:
            return place
    return None


def _sharing(spec: Document, replaced: object) -> Document:
    """A step with the budget and the weights of the one it replaces, where it can have them."""
    name, own = next(iter(spec.items()))
    former = next(iter(replaced.values())) if isinstance(replaced, Mapping) else None
    shared = {}
    if isinstance(former, Mapping):
        shared = {field: former[field] for field in SHARED_FIELDS if field in former}
    with_shared: Document = {name: dict(own)}
    for field, value in shared.items():
        more = {**with_shared[name], field: value}
        # Not every algorithm can suppress or weigh: then it is tried without.
        if _can_be_built({name: more}):
            with_shared = {name: more}
    return with_shared


def _can_be_built(spec: Document) -> bool:
    # A field that varies is no value yet: what it may be is checked when the recipe is read.
    name, fields = next(iter(spec.items()))
    values = {}
    for field, value in fields.items():
        varies = isinstance(value, Mapping) and set(value) == {"vary"}
        values[field] = value["vary"][0] if varies else value
    try:
        registry.build("steps", {name: values})
    except (ParameterError, RecipeError):
        return False
    return True
