"""What other packages add: the entry points of the groups ``sfumato.<kind>``."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from functools import cache
from typing import Any

from sfumato.errors import ParameterError


@cache
def _entry_points() -> Any:
    """What all installed packages announce: looked for once, since every search reads files of all
    of them.
    """
    return importlib.metadata.entry_points()


def forget_entry_points() -> None:
    """Look for entry points again: packages may have come or gone."""
    _entry_points.cache_clear()


def announced(kind: str) -> list[importlib.metadata.EntryPoint]:
    """The entry points of a kind (``models``, ``commands``), in order of their names."""
    return sorted(
        _entry_points().select(group=f"sfumato.{kind}"), key=lambda point: (point.name, point.value)
    )


def load_plug_in(
    point: importlib.metadata.EntryPoint, noun: str, belongs: Callable[[Any], bool]
) -> Any:
    """What an entry point names. Refused is what cannot be imported, and what is nothing of its
    kind.
    """
    try:
        plug_in = point.load()
    except Exception as error:  # whatever a module of somebody else raises
        problem = f"{describe_plug_in(point)} cannot be loaded ({type(error).__name__})"
        raise ParameterError(f"{problem}; repair or uninstall it") from error
    if not belongs(plug_in):
        problem = f"{describe_plug_in(point)} does not define a usable {noun}"
        raise ParameterError(
            f"{problem}; see 'A plug-in of one file' in the documentation, or uninstall it"
        )
    return plug_in


def describe_plug_in(point: importlib.metadata.EntryPoint) -> str:
    """A plug-in in the words of an error: where it is, and the package it came with."""
    if point.dist is None:
        package = ""
    else:
        package = f" of package {point.dist.name}"
    return f"plug-in {point.value!r}" + package


def refuse_name(point: importlib.metadata.EntryPoint, name: str, owner: str) -> ParameterError:
    """The error about a plug-in whose name is taken."""
    problem = f"{describe_plug_in(point)} has the name {name!r}, which {owner} already uses"
    return ParameterError(f"{problem}; rename it, or uninstall it")


def points_by_name(
    kind: str, is_ours: Callable[[str], bool]
) -> dict[str, importlib.metadata.EntryPoint]:
    """The entry points of a kind by the names they announce; a name that is taken is refused.
    Nothing is imported.
    """
    points: dict[str, importlib.metadata.EntryPoint] = {}
    for point in announced(kind):
        if is_ours(point.name):
            raise refuse_name(point, point.name, "sfumato itself")
        if point.name in points:
            raise refuse_name(point, point.name, points[point.name].module)
        points[point.name] = point
    return points
