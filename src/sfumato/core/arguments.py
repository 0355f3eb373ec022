"""Arguments of verbs: one item where a list is expected stands for a list of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def as_tuple(value: object) -> tuple[Any, ...]:
    """One item or many, as a tuple. Strings and mappings count as one item.

    >>> as_tuple("age"), as_tuple(["age", "sex"])
    (('age',), ('age', 'sex'))
    """
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        return (value,)
    return tuple(value)
