"""The shapes of data: words of a recipe, which methods use to say what they serve."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from sfumato.core.words import join_words


class Shape(StrEnum):
    """How files describe people: a row each, a set of items, points in time, ties between them, or
    rows of several tables.
    """

    TABLE = "table"
    BASKETS = "baskets"
    PATHS = "paths"
    GRAPH = "graph"
    TABLES = "tables"


SEVERAL_TABLES = frozenset({Shape.TABLES})
"""Shapes whose data are several tables: a method of ordinary tables can apply to one, by its name.
"""

DATA, PEOPLE = "data", "people"
"""Names of the tables of shapes that have one or two: the data, and the people's own columns in a
second file.
"""


def of_shape(shapes: Sequence[Shape]) -> str:
    """Shapes in words: ``baskets and paths``."""
    return join_words(str(shape) for shape in shapes)
