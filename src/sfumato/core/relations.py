"""How several tables belong together: which column is the key of each, and to which other table its
rows belong.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from sfumato.core.fields import Fields
from sfumato.core.schema import UNITS, Attribute, Role, Schema
from sfumato.core.words import join_words
from sfumato.errors import SchemaError, did_you_mean

ORPHANS = ("refuse", "drop")
NAME = re.compile(r"[^\W\d]\w*(?:-\w+)*")
"""What a table may be called: its name becomes that of a file."""
WHOLE = r"^(-?(?:0|[1-9]\d*))\.0+$"
"""A whole number as a program writes it that counts with fractions."""
LISTED_AS = frozenset({Role.DROP, *UNITS, Role.KEY})
"""What a key may be called under ``columns`` besides: it is never released as it is, whatever
stands there.
"""


@dataclasses.dataclass(frozen=True)
class Link:
    """What ties one table to the others: its ``key``, and the column ``foreign`` that names rows of
    ``parent``.

    ``foreign`` without ``parent``: its values tell which rows belong to one person, but that person
    is in no other table.
    """

    table: str
    key: str | None = None
    foreign: str | None = None
    parent: str | None = None
    orphans: str = "refuse"

    @classmethod
    def of(cls, table: str, schema: Schema) -> Link:
        """The keys of a table, as its schema says."""
        keys = {name: schema[name] for name in schema.columns(Role.KEY)}
        own = next((name for name, key in keys.items() if key.of == table), None)
        foreign = next((name for name in keys if name != own), None)
        parent = None if foreign is None else keys[foreign].of
        return cls(
            table, own, foreign, parent, "refuse" if foreign is None else keys[foreign].orphans
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are keys."""
        return tuple(name for name in (self.key, self.foreign) if name is not None)


def canonical(keys: pl.Series) -> pl.Series:
    """Keys as they are compared: whole numbers as such, everything else as text; a float that is
    whole is a whole number.

    >>> canonical(pl.Series(["7.0", "7", "07", "7.5"])).to_list()
    ['7', '7', '07', '7.5']
    """
    if keys.dtype.is_float():
        keys = keys.fill_nan(None)
    # Whole keys with gaps are often read as floats: 7 became 7.0 and is the same key.
    if keys.dtype.is_float() and bool((keys.drop_nulls() == keys.drop_nulls().round(0)).all()):
        keys = keys.cast(pl.Int64, strict=False)
    if keys.dtype.is_integer():
        return keys
    return keys.cast(pl.String).str.replace(WHOLE, "$1")


def links_of(schemas: Mapping[str, Schema]) -> tuple[Link, ...]:
    """The ties between tables, the people first and every table behind the one it belongs to.

    Exactly one table is the people's; the rest is a tree below it. Everything that is not so is
    one :class:`SchemaError`.
    """
    links = {name: Link.of(name, schema) for name, schema in schemas.items()}
    problems = [*_people_problems(links.values()), *_parent_problems(links)]
    # A circle can only be looked for where all parents exist.
    if not problems:
        problems = _cycle_problems(links)
    if problems:
        raise SchemaError(problems)
    return tuple(_in_order(links))


def _people_problems(links: Iterable[Link]) -> list[str]:
    tops = [link.table for link in links if link.foreign is None]
    if len(tops) == 1:
        return []
    if not tops:
        return [
            (
                "every table belongs to another one, so none holds the people; leave belongs_to "
                "out of the table of people"
            )
        ]
    problem = f"{join_words(tops)} belong to no other table, but only the table of people may"
    return [
        (
            f"{problem}; for each of the others say whose rows it holds (belongs_to: "
            "{people: person_id})"
        )
    ]


def _parent_problems(links: Mapping[str, Link]) -> list[str]:
    problems = []
    for link in links.values():
        if link.parent is None:
            continue
        if link.parent == link.table:
            problems.append(
                f"table {link.table!r} belongs to itself; name the table above it in belongs_to"
            )
        elif link.parent not in links:
            problem = (
                f"table {link.table!r} belongs to {link.parent!r}, and there is no such"
                f" table.{did_you_mean(link.parent, links)}"
            )
            problems.append(problem)
        elif links[link.parent].key is None:
            problems.append(
                f"table {link.table!r} belongs to {link.parent!r}, which has no key; name the "
                "column that identifies its rows (key: …)"
            )
    return problems


def _cycle_problems(links: Mapping[str, Link]) -> list[str]:
    reached = {link.table for link in links.values() if link.parent is None}
    while children := {
        t for t, link in links.items() if t not in reached and link.parent in reached
    }:
        reached |= children
    circle = [name for name in links if name not in reached]
    if circle:
        return [f"tables {', '.join(circle)} belong to each other in a circle, and to nobody's"]
    return []


def _in_order(links: Mapping[str, Link]) -> list[Link]:
    top = next(link for link in links.values() if link.foreign is None)
    order, remaining = [top], [link for link in links.values() if link is not top]
    while remaining:
        placed = {link.table for link in order}
        ready = [link for link in remaining if link.parent is None or link.parent in placed]
        order += ready
        remaining = [link for link in remaining if link not in ready]
    return order


def with_keys(
    table: str,
    schema: Schema,
    *,
    key: str | None = None,
    belongs_to: Mapping[str, str] | None = None,
    orphans: str = "refuse",
) -> Schema:
    """The schema of a table with its keys; columns that are keys and play another part are refused.

    >>> schema = Schema.from_roles({"drop": ["who"], "quasi": ["day"]})
    >>> Link.of("visits", with_keys("visits", schema, belongs_to={"people": "who"}))
    Link(table='visits', key=None, foreign='who', parent='people', orphans='refuse')
    """
    parents = dict(belongs_to or {})
    if problems := _said_problems(table, schema, key, parents, orphans):
        raise SchemaError(problems)
    if key is None:
        keys = {}
    else:
        keys = {key: Attribute((Role.KEY,), of=table)}
    keys |= {
        column: Attribute((Role.KEY,), of=parent, orphans=orphans)  # type: ignore[arg-type]
        for parent, column in parents.items()
    }
    return Schema({**keys, **schema.without(keys).attributes})


def _said_problems(
    table: str, schema: Schema, key: str | None, parents: Fields, orphans: object
) -> list[str]:
    columns: Sequence[Any] = [*([] if key is None else [key]), *parents.values()]
    where, problems = f"table {table!r}", list[str]()
    if not NAME.fullmatch(table):
        problems.append(
            f"{where}: table names use letters, digits, _ and - only, since files are named after "
            "them; rename it"
        )
    if len(parents) > 1:
        problems.append(
            f"{where} belongs to {join_words(parents)}; it can belong to one table only, so choose"
            " the nearest"
        )
    if orphans not in ORPHANS:
        problems.append(f"{where}: orphans is 'refuse' or 'drop', not {str(orphans)!r}")
    # The checks below need names of columns.
    if not all(isinstance(column, str) and column for column in columns):
        problems.append(
            f"{where}: key and belongs_to name columns, like 'key: visit_id, belongs_to: {{people:"
            " person_id}'"
        )
        return problems
    if len(set(columns)) < len(columns):
        problems.append(
            f"{where}: key and belongs_to name the same column; leave 'key' out, since each row is "
            "a row of the other table"
        )
    for column in columns:
        if column in schema.attributes:
            roles = set(schema[column].roles)
        else:
            roles = set()
        if roles - LISTED_AS:
            role_words = join_words(str(role) for role in schema[column].roles)
            problems.append(
                f"{where}: column {column!r} is a key and has role {role_words}; a key is replaced "
                "by a pseudonym, so take the role away"
            )
    return problems
