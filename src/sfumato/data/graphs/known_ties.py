"""Ties between people who are listed: the form of a graph where a step accounts for an ε of one
tie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from sfumato.core.encoding import mapped_text, shortest_spelling
from sfumato.core.schema import Role, Schema
from sfumato.core.shape import DATA, PEOPLE


def known_ties_of(
    tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema]
) -> Mapping[str, pl.DataFrame]:
    """The tables of a graph in which no row can be an error; where columns are missing they are
    left to be refused.
    """
    beside = schemas.get(PEOPLE)
    ends = [name for role in (Role.FROM, Role.TO) for name in schemas[DATA].columns(role)]
    units = () if beside is None else beside.units
    if PEOPLE not in tables or len(ends) != 2 or len(units) != 1:
        return tables
    ties, people = tables[DATA], tables[PEOPLE]
    if not {*ends} <= {*ties.columns} or units[0] not in people.columns:
        return tables
    ties, people = ties_between_known_people(ties, people, ends, units[0])
    return {DATA: ties, PEOPLE: people}


def ties_between_known_people(
    ties: pl.DataFrame, people: pl.DataFrame, ends: Sequence[str], unit: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Ties and people by the text of their ids, without rows that name nobody or a stranger: an
    error would tell of one row.

    >>> ties = pl.DataFrame({"a": [1.0, 1.0, None], "b": [2.0, 2.5, 1.0]})
    >>> ties_between_known_people(ties, pl.DataFrame({"id": [1, 2]}), ["a", "b"], "id")[0].rows()
    [('1', '2')]
    """
    mapped = people.with_columns(mapped_text(people[unit], _id))
    texts = ties.with_columns(mapped_text(ties[end], _id) for end in ends)
    tail, head = ends
    ids = set(mapped[unit].drop_nulls())
    tails, heads = (texts[end].is_in(ids).fill_null(value=False) for end in (tail, head))
    return texts.filter(tails & (heads | texts[head].is_null())), mapped


def _id(text: str | None) -> str | None:
    return None if text is None else shortest_spelling(text)
