"""Several tables from frames: keys are looked up, what does not join is refused or dropped and
counted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.relations import Link, canonical, links_of
from sfumato.core.schema import Schema
from sfumato.data.relational.rows import TableRows, plain
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOBODY = -1
"""The row above of a row whose key names none."""


@dataclasses.dataclass
class _Found:
    """What is known of a table while keys are looked up: the row above each row, the person, and
    whether it stays.
    """

    above: NDArray[np.int64]
    owner: NDArray[np.int64]
    stays: NDArray[np.bool_]
    groups: pl.Series | None = None


def parts(
    tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema]
) -> tuple[tuple[TableRows, ...], tuple[str, ...]]:
    """The tables with their keys looked up, the people first, and notes about rows that were
    dropped.
    """
    links = links_of({name: schemas[name] for name in tables})
    _require_rows(tables, links)
    _require_keys(tables, links)
    lookups: dict[str, _Found] = {}
    notes, problems = list[str](), list[str]()
    # Tables come behind those they belong to, so the rows above are looked up already.
    for link in links:
        lookups[link.table], messages, along = _looked_up(
            link, tables, lookups, {other_link.table: other_link for other_link in links}
        )
        # The same sentence is an error or a note, as the recipe wants it.
        (problems if link.orphans == "refuse" else notes).extend(messages)
        notes += along
    if problems:
        raise SchemaError(problems)
    # After the lookups, as only tables that are said to stand apart are concerned.
    _require_apart(tables, links)
    _require_any(lookups)
    rows_of_tables = tuple(
        _rows(link, tables[link.table], schemas[link.table], lookups) for link in links
    )
    return rows_of_tables, tuple(notes)


def _require_rows(tables: Mapping[str, pl.DataFrame], links: Sequence[Link]) -> None:
    empty = [link.table for link in links if not tables[link.table].height]
    if empty:
        raise SchemaError(
            [
                f"table {name!r} has no rows; remove it from the recipe, or give one with rows"
                for name in empty
            ]
        )


def _require_any(lookups: Mapping[str, _Found]) -> None:
    empty = [name for name, lookup in lookups.items() if not lookup.stays.any()]
    if empty:
        raise SchemaError(
            [
                f"table {name!r}: no row belongs to a person, so none is left; check its keys"
                for name in empty
            ]
        )


def _require_keys(tables: Mapping[str, pl.DataFrame], links: Sequence[Link]) -> None:
    """Refuse keys that do not tell the rows of their table apart."""
    problems = []
    for link in links:
        if link.key is None:
            continue
        keys = canonical(tables[link.table][link.key])
        # Missing keys count as one value among the different ones; they are told of separately.
        gaps, duplicates = keys.null_count(), keys.len() - keys.n_unique()
        duplicates -= max(0, gaps - 1)  # missing ones are told of by themselves
        problems += (
            [
                (
                    f"table {link.table!r}: {gaps:,} row(s) have no {link.key!r}, which is their "
                    "key; fill it in or remove them"
                )
            ]
            if gaps
            else []
        )
        problems += (
            [
                (
                    f"table {link.table!r}: {duplicates:,} row(s) repeat the {link.key!r} of "
                    "another row, and it is their key; make it unique"
                )
            ]
            if duplicates
            else []
        )
    if problems:
        raise SchemaError(problems)


def _looked_up(
    link: Link,
    tables: Mapping[str, pl.DataFrame],
    lookups: Mapping[str, _Found],
    links: Mapping[str, Link],
) -> tuple[_Found, list[str], list[str]]:
    """The rows above those of a table, a sentence about rows whose key names none, and one about
    rows that go with those above.
    """
    frame, size = tables[link.table], tables[link.table].height
    everyone = np.arange(size, dtype=np.int64)
    if link.foreign is None:
        return _Found(everyone, everyone, np.ones(size, dtype=bool)), [], []
    # The table joins with nobody: equal values still say which rows are one person's.
    if link.parent is None:
        groups = frame[link.foreign]
        owner = ranked(canonical(groups))
        has_person = groups.is_not_null().to_numpy()
        return (
            _Found(owner, owner, has_person, groups),
            _lost_told(link, frame, None, int((~has_person).sum())),
            [],
        )
    parent_lookup, over = lookups[link.parent], links[link.parent]
    above = resolved(frame[link.foreign], tables[link.parent][over.key or ""])
    missing = above == NOBODY
    # Row 0 only stands in for rows without a row above; these are taken out by the mask.
    stays = ~missing & parent_lookup.stays[np.where(missing, 0, above)]
    owner = np.where(stays, parent_lookup.owner[np.where(missing, 0, above)], NOBODY)
    # Two reasons to go: the key names nobody, or the row above was dropped itself.
    lost, along = int(missing.sum()), int((~stays & ~missing).sum())
    messages = _lost_told(link, frame, tables[link.parent][over.key or ""], lost)
    return _Found(above, owner, stays), messages, _along_told(link, along)


def _along_told(link: Link, rows: int) -> list[str]:
    if not rows:
        return []
    return [
        (
            f"table {link.table!r}: {rows:,} row(s) belong to dropped rows of {link.parent!r} "
            "and were dropped too"
        )
    ]


def _lost_told(link: Link, frame: pl.DataFrame, keys: pl.Series | None, lost: int) -> list[str]:
    if not lost:
        return []
    column = frame[str(link.foreign)]
    empty = column.null_count()
    if link.parent is None:
        parent_text = "no one"
    else:
        parent_text = f"no row of {link.parent!r}"
    message = f"table {link.table!r}: {lost:,} of {frame.height:,} row(s) belong to {parent_text}"
    message += f" ({empty:,} have no {link.foreign!r})" if empty else ""
    if link.orphans == "drop":
        return [f"{message} and were dropped, as the recipe says (orphans: drop)"]
    # Nothing fits at all, and types differ: probably the cause, so the message names it.
    if (
        keys is not None
        and lost == frame.height
        and keys.dtype.is_numeric() != column.dtype.is_numeric()
    ):
        message += (
            "; the keys are numbers in one table and text in the other, with signs or leading zeros"
            " that numbers lose"
        )
    return [
        (
            f"{message}; add the missing rows, or write 'orphans: drop' with the table to drop and "
            "count them"
        )
    ]


def resolved(foreign: pl.Series, keys: pl.Series) -> NDArray[np.int64]:
    """Per value the place of the equal key, −1 where there is none.

    >>> resolved(pl.Series([3, None, 1, 9]), pl.Series(["1", "2", "3"])).tolist()
    [2, -1, 0, -1]
    """
    foreign_keys, parent_keys = canonical(foreign), canonical(keys)
    # Numbers in one table, text in the other: compared as text, 3 and "3" are equal.
    if foreign_keys.dtype.is_integer() != parent_keys.dtype.is_integer():
        foreign_keys, parent_keys = foreign_keys.cast(pl.String), parent_keys.cast(pl.String)
    elif foreign_keys.dtype.is_integer():
        foreign_keys, parent_keys = (
            foreign_keys.cast(pl.Int64, strict=False),
            parent_keys.cast(pl.Int64, strict=False),
        )
    foreign_frame, parent_frame = (
        pl.DataFrame({"key": foreign_keys}),
        pl.DataFrame({"key": parent_keys}).with_row_index("row"),
    )
    joined = foreign_frame.join(parent_frame, on="key", how="left", maintain_order="left")["row"]
    parent_rows: NDArray[np.int64] = joined.cast(pl.Int64).fill_null(NOBODY).to_numpy()
    return parent_rows


def ranked(values: pl.Series) -> NDArray[np.int64]:
    """Per value the number of the group of equal ones, in the order of the values; −1 for a missing
    one.
    """
    # Ranks of equal values are equal, and begin at 1.
    ranks: NDArray[np.int64] = (
        (values.rank("dense").cast(pl.Int64) - 1).fill_null(NOBODY).to_numpy()
    )
    return ranks


def _require_apart(tables: Mapping[str, pl.DataFrame], links: Sequence[Link]) -> None:
    """Refuse keys that are said to join with no other table, and do: what is judged table by table
    must stand so.
    """
    apart = [link for link in links if link.foreign is not None and link.parent is None]
    if not apart:
        return
    top = next(link for link in links if link.foreign is None)
    key_columns = [tables[link.table][str(link.foreign)] for link in apart]
    key_columns += [] if top.key is None else [tables[top.table][top.key]]
    pools = [
        canonical(key_column).cast(pl.String).drop_nulls().unique() for key_column in key_columns
    ]
    # If no key is shared, the different keys of all tables add up; fewer means that some are
    # shared.
    if sum(map(len, pools)) > pl.concat(pools, rechunk=False).n_unique():
        raise SchemaError("tables that are said not to join share keys, so they can be joined")


def _rows(
    link: Link, frame: pl.DataFrame, schema: Schema, lookups: Mapping[str, _Found]
) -> TableRows:
    """One table without the rows that were dropped; rows above have the numbers that they have once
    the same is done to them.
    """
    lookup = lookups[link.table]
    row_numbers = np.flatnonzero(lookup.stays)
    people = lookup if link.parent is None else lookups[link.parent]
    above = lookup.above[row_numbers]
    if link.parent is not None:
        # Row numbers after dropping: stays 1,0,1 → numbers 0,·,1.
        above = (np.cumsum(people.stays) - 1)[above]
    other_columns = frame.select(name for name in frame.columns if name not in link.columns)
    return TableRows(
        link,
        Schema(
            {
                **{n: schema[n] for n in link.columns},
                **{n: schema[n] for n in other_columns.columns},
            }
        ),
        plain(
            other_columns
            if len(row_numbers) == frame.height
            else other_columns.filter(pl.Series(lookup.stays))
        ),
        above,
        lookup.owner[row_numbers],
        names=None if link.key is None else frame[link.key].gather(row_numbers),
        groups=None if lookup.groups is None else lookup.groups.gather(row_numbers),
    )
