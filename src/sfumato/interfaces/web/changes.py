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

# Letters of a value that are shown.
LONGEST = 60


@dataclasses.dataclass(frozen=True)
class Change:
    """A place in a recipe, and what it said before and says after; empty: nothing stood there."""

    path: str
    before: str
    after: str


def changes(before: Recipe | None, after: Recipe) -> list[Change]:
    """All places where two recipes differ, in the order of the second one; what is gone stands
    last.

    >>> old = recipes.parse("{columns: {age: quasi}, meet: [{k_anonymity: {k: 5}}]}")
    >>> new = recipes.parse(
    ...     "{columns: {age: quasi}, meet: [{k_anonymity: {k: 7}}], limits: {loss: 0.5}}"
    ... )
    >>> [(one.path, one.before, one.after) for one in changes(old, new)]
    [('meet · k_anonymity · k', '5', '7'), ('limits · loss', '', '0.5')]
    """
    if before is None:
        was = {}
    else:
        was = dict(_leaves(recipes.to_dict(before), ()))
    now = dict(_leaves(recipes.to_dict(after), ()))
    paths = [*now, *(path for path in was if path not in now)]
    return [
        Change(" · ".join(path), was.get(path, ""), now.get(path, ""))
        for path in paths
        if was.get(path) != now.get(path)
    ]


def _leaves(node: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every value of a document with its place; entries of a list of single mappings are named by
    their key.
    """
    if isinstance(node, Mapping) and node:
        for key, below in node.items():
            yield from _leaves(below, (*path, str(key)))
    elif (
        isinstance(node, list)
        and node
        and all(isinstance(entry, Mapping) and len(entry) == 1 for entry in node)
    ):
        counts: dict[str, int] = {}
        for entry in node:
            ((key, below),) = entry.items()
            counts[key] = counts.get(key, 0) + 1
            if counts[key] == 1:
                name = str(key)
            else:
                name = f"{key} {counts[key]}"
            yield from _leaves(below, (*path, name))
    else:
        yield path, _text_of_value(node)


def _text_of_value(value: Any) -> str:
    """A value as the recipe writes it, cut where it is long.

    >>> [_text_of_value(value) for value in ([5, 10], "x", {}, True)]
    ['5, 10', 'x', 'as by default', 'yes']
    """
    if value is True or value is False:
        return "yes" if value else "no"
    if isinstance(value, Mapping) or value is None:
        return "as by default"
    if isinstance(value, list):
        text = ", ".join(map(str, value))
    else:
        text = str(value)
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST - 1] + "…"
