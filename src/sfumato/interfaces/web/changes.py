"""What differs between two versions of a recipe, in lines that a person reads: where, before,
after.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sfumato.core import recipe_files as recipes

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe

LONGEST = 60
"""Letters of a value that are shown."""


@dataclasses.dataclass(frozen=True)
class Change:
    """A place in a recipe, and what it said before and says after; empty: nothing stood there."""

    place: str
    before: str
    after: str


def changes(before: Recipe | None, after: Recipe) -> list[Change]:
    """All places where two recipes differ, in the order of the second one; what is gone stands
    last.

    >>> old = recipes.parse("{columns: {age: quasi}, meet: [{k_anonymity: {k: 5}}]}")
    >>> new = recipes.parse(
    ...     "{columns: {age: quasi}, meet: [{k_anonymity: {k: 7}}], limits: {loss: 0.5}}"
    ... )
    >>> [(one.place, one.before, one.after) for one in changes(old, new)]
    [('meet · k_anonymity · k', '5', '7'), ('limits · loss', '', '0.5')]
    """
    was = {} if before is None else dict(_leaves(recipes.to_dict(before), ()))
    now = dict(_leaves(recipes.to_dict(after), ()))
    places = [*now, *(place for place in was if place not in now)]
    return [
        Change(" · ".join(place), was.get(place, ""), now.get(place, ""))
        for place in places
        if was.get(place) != now.get(place)
    ]


def _leaves(node: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every value of a document with its place; entries of a list of single mappings are named by
    their key.
    """
    if isinstance(node, Mapping) and node:
        for key, below in node.items():
            yield from _leaves(below, (*place, str(key)))
    elif (
        isinstance(node, list)
        and node
        and all(isinstance(entry, Mapping) and len(entry) == 1 for entry in node)
    ):
        seen: dict[str, int] = {}
        for entry in node:
            ((key, below),) = entry.items()
            seen[key] = seen.get(key, 0) + 1
            name = str(key) if seen[key] == 1 else f"{key} {seen[key]}"
            yield from _leaves(below, (*place, name))
    else:
        yield place, _shown(node)


def _shown(value: Any) -> str:
    """A value as the recipe writes it, cut where it is long.

    >>> _shown([5, 10]), _shown("x"), _shown({}), _shown(True)
    ('5, 10', 'x', 'as by default', 'yes')
    """
    if value is True or value is False:
        return "yes" if value else "no"
    if isinstance(value, Mapping) or value is None:
        return "as by default"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
