"""What a column is once its values were replaced by labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from sfumato.core.schema import Attribute


def relabelled(attribute: Attribute, labels: Sequence[str] | None, **changes: Any) -> Attribute:
    """The attribute with some fields changed; its hierarchy goes unless it knows all the new labels.

    ``labels`` None means that they are not known beforehand.
    """
    hierarchy = attribute.hierarchy
    if hierarchy is not None and (labels is None or not _knows(hierarchy, labels)):
        hierarchy = None
    return dataclasses.replace(attribute, hierarchy=hierarchy, **changes)


def lost_hierarchy(name: str, before: Attribute, after: Attribute) -> list[str]:
    """A warning where a column has no hierarchy any more."""
    if before.hierarchy is None or after.hierarchy is not None:
        return []
    return [f"the hierarchy of {name!r} does not know the new labels: later steps cannot generalise the column"]


def _knows(hierarchy: Any, labels: Sequence[str]) -> bool:
    try:
        hierarchy.paths(list(labels), [1] * len(labels))
    except SchemaError:
        return False
    return True
