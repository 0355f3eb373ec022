"""Candidates: recipes, and recipes that say ``{vary: [3, 5, 10]}`` where a value should be tried in turn.

::

    meet:
      - k_anonymity: {k: {vary: [3, 5, 10]}}
    steps:
      - global_recoding: {budget: {vary: [0, 0.02]}}

is a grid of six candidates.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato import recipe_files as recipes
from sfumato import registry
from sfumato.core.parameters import known_as
from sfumato.core.recipe import Recipe
from sfumato.errors import ParameterError, RecipeError
from sfumato.recipe_files import read_yaml

VARY = "vary"
MOST_CANDIDATES = 500

Place = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A recipe to try, under the name it has on the map."""

    name: str
    recipe: Recipe


def candidates_from(files: Sequence[Path], variations: Sequence[str] = ()) -> tuple[Candidate, ...]:
    """The candidates of some recipe files; ``variations`` (``k_anonymity.k=3,5,10``) are tried on each.

    ``k=3,5,10`` is enough where only one model or step of the recipe has a ``k``.
    """
    found: list[Candidate] = []
    for file in files:
        document = _varied(recipes.read_document(file), variations, file.name)
        label = file.stem if len(files) > 1 or not variations else ""
        found += _candidates(document, label or file.stem, file.parent)
    if len(found) > MOST_CANDIDATES:
        raise ParameterError(f"{len(found):,} candidates are more than {MOST_CANDIDATES}; vary fewer values at a time")
    names = [candidate.name for candidate in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(f"{len(twice)} candidate(s) have the same name: {', '.join(twice[:3])}; rename the files")
    return tuple(found)


def _candidates(document: Any, name: str, base: Path) -> list[Candidate]:
    made = []
    for told, concrete in expanded(document):
        full = f"{name} {told}".strip()
        made.append(Candidate(full, recipes.from_dict(concrete, base=base, name=full)))
    return made


def expanded(document: Any) -> Iterator[tuple[str, Any]]:
    """Every combination of the values that vary, with a few words that tell it from the others.

    >>> [told for told, _ in expanded({"meet": [{"k_anonymity": {"k": {"vary": [3, 5]}}}]})]
    ['k=3', 'k=5']
    """
    places = list(_varying(document, ()))
    options = [_at(document, place)[VARY] for place in places]
    for chosen in itertools.product(*options):
        concrete = copy.deepcopy(document)
        for place, value in zip(places, chosen, strict=True):
            _at(concrete, place[:-1])[place[-1]] = value
        yield ", ".join(f"{place[-1]}={value}" for place, value in zip(places, chosen, strict=True)), concrete


def _varying(node: Any, place: Place) -> Iterator[Place]:
    """Where values vary, in the order of the document."""
    if isinstance(node, Mapping) and set(node) == {VARY}:
        options = node[VARY]
        if isinstance(options, str) or not isinstance(options, Sequence) or not options:
            raise RecipeError(f"{'.'.join(map(str, place))}: vary needs a list of values, like {{vary: [3, 5, 10]}}")
        yield place
    elif isinstance(node, Mapping):
        for key, below in node.items():
            yield from _varying(below, (*place, key))
    elif isinstance(node, Sequence) and not isinstance(node, str):
        for position, below in enumerate(node):
            yield from _varying(below, (*place, position))


def _at(document: Any, place: Place) -> Any:
    for key in place:
        document = document[key]
    return document


def _varied(document: Any, variations: Sequence[str], name: str) -> Any:
    """The document with what the command line varies: ``step_or_model.field=value,value``."""
    varied = copy.deepcopy(document)
    for text in variations:
        target, equals, values = text.partition("=")
        owner, _, field = target.strip().rpartition(".")
        if not equals or not field or not values:
            raise ParameterError(f"{text!r} varies nothing; write it like k_anonymity.k=3,5,10")
        options = [read_yaml(part.strip(), "--vary") for part in values.split(",")]
        homes = _homes_of(varied, owner, name, field) if owner else _only_home(varied, name, field)
        for section, place in homes:
            spec = varied[section][place]
            varied[section][place] = _with_options(spec, _named(spec), field, options)
    return varied


def _members(document: Any) -> Iterator[tuple[str, int, str]]:
    """The models and steps of a document: section, place in it, and name."""
    for section in ("meet", "steps"):
        for place, one in enumerate(document.get(section) or []):
            yield section, place, known_as(str(_named(one)))


def _homes_of(document: Any, owner: str, name: str, field: str) -> list[tuple[str, int]]:
    """Where a model or step of this name stands."""
    homes = [(section, place) for section, place, member in _members(document) if member == known_as(owner)]
    if not homes:
        raise ParameterError(f"{name} has no model or step {owner!r} to vary {field} of")
    return homes


def _only_home(document: Any, name: str, field: str) -> list[tuple[str, int]]:
    """Where the one model or step stands that has a field of this name; several, or none, are refused."""
    homes = [(section, place, member) for section, place, member in _members(document) if _has(section, member, field)]
    owners = sorted({member for _, _, member in homes})
    if not owners:
        raise ParameterError(f"no model or step of {name} has a field {field!r} to vary")
    if len(owners) > 1:
        either = " or ".join(f"{owner}.{field}" for owner in owners)
        raise ParameterError(f"{len(owners)} models or steps of {name} have a field {field!r}; write {either}")
    return [(section, place) for section, place, _ in homes]


def _has(section: str, member: str, field: str) -> bool:
    known = registry.family("models" if section == "meet" else "steps")
    return member in known and field in {one.name for one in dataclasses.fields(known[member])}


def _named(spec: Any) -> Any:
    return next(iter(spec), None) if isinstance(spec, Mapping) else spec


def _with_options(spec: Any, owner: str, field: str, options: list[Any]) -> dict[str, Any]:
    """A model or step of which one field varies."""
    fields = dict(spec[owner]) if isinstance(spec, Mapping) and isinstance(spec[owner], Mapping) else {}
    return {owner: {**fields, field: {VARY: options}}}
