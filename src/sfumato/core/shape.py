"""The shapes of data: words of a recipe, which methods use to say what they serve."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from sfumato.core.plug_ins import points_by_name
from sfumato.core.words import join_words


class Shape(StrEnum):
    """How files describe people: a row each, a set of items, points in time, ties between them, or
    rows of several tables.

    These come with sfumato. The name of a shape that another package adds gives a member too,
    always the same one: ``Shape("letters")``.
    """

    TABLE = "table"
    BASKETS = "baskets"
    PATHS = "paths"
    GRAPH = "graph"
    TABLES = "tables"

    @classmethod
    def _missing_(cls, value: object) -> Shape | None:
        announced = points_by_name("shapes", cls._value2member_map_.__contains__)
        if not isinstance(value, str) or value not in announced:
            return None
        if value not in _ANNOUNCED:
            member = str.__new__(cls, value)
            member._name_, member._value_ = value.upper(), value
            _ANNOUNCED[value] = member
        return _ANNOUNCED[value]


_ANNOUNCED: dict[str, Shape] = {}
"""The shapes of other packages that were asked for."""

ONE_TABLE = frozenset({Shape.TABLE})
"""Shapes whose data are one table: the methods of :mod:`sfumato.methods` serve it as they are."""

SEVERAL_TABLES = frozenset({Shape.TABLES})
"""Shapes whose data are several tables: a method of ordinary tables can apply to one, by its name.
"""

DATA, PEOPLE = "data", "people"
"""Names of the tables of shapes that have one or two: the data, and the people's own columns in a
second file.
"""


def known_shapes() -> tuple[Shape, ...]:
    """The shapes that come with sfumato, and those that other packages add."""
    announced = points_by_name("shapes", set(Shape).__contains__)
    return (*Shape, *map(Shape, announced))


def is_shape(word: object) -> bool:
    """Whether a word names a shape of data; other packages are asked for a word of theirs only.

    >>> is_shape("graph"), is_shape("aggregates")
    (True, False)
    """
    try:
        return bool(Shape(word))  # type: ignore[arg-type]
    except ValueError:
        return False


def of_shape(shapes: Sequence[Shape]) -> str:
    """Shapes in words: ``baskets and paths``."""
    return join_words(str(shape) for shape in shapes)
