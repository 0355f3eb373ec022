"""Several tables that join: every person is one row, and any number of rows below it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
import polars as pl

from sfumato.core.data import PeopleData
from sfumato.core.fields import Document
from sfumato.core.pair import TablePair
from sfumato.core.relations import Link
from sfumato.core.schema import Role, Schema
from sfumato.core.shape import Shape
from sfumato.core.source import Source
from sfumato.core.words import join_words
from sfumato.data.relational import from_tables, pseudonyms
from sfumato.data.relational.leaked_keys import bare_keys
from sfumato.data.relational.own_crowd import OwnCrowd
from sfumato.data.relational.person_views import Shown, shown_of
from sfumato.data.relational.rows import TableRows
from sfumato.errors import ParameterError, ReleaseRefused, SchemaError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.model import Model
    from sfumato.core.randomness import Seed
    from sfumato.core.table import Table

ROW, KEY, PSEUDONYM = "original_row", "original_key", "pseudonym"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RelatedTables(PeopleData):
    """People in several tables. Immutable; every change gives a new one, in which every key still
    names a row.

    ``parts`` are the tables, the people first and each behind the one it belongs to. Keys are read,
    looked up and forgotten: rows know each other by their numbers, and pseudonyms are written in
    their place.

    >>> import polars as pl
    >>> from sfumato.core.relations import with_keys
    >>> people, visits = (
    ...     pl.DataFrame({"id": [1, 2]}),
    ...     pl.DataFrame({"id": [2, 2, 1], "ward": ["a", "b", "a"]}),
    ... )
    >>> schemas = {
    ...     "people": with_keys("people", Schema({}), key="id"),
    ...     "visits": with_keys(
    ...         "visits", Schema.from_roles({"quasi": "ward"}), belongs_to={"people": "id"}
    ...     ),
    ... }
    >>> both = RelatedTables.from_tables({"people": people, "visits": visits}, schemas, Source())
    >>> both, both["visits"].owner.tolist()
    (RelatedTables(2 people, 3 rows of visits), [1, 1, 0])
    """

    schema: Schema
    source: Source
    parts: tuple[TableRows, ...]
    beside: Schema | None = None
    origin: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()

    shape: ClassVar[Shape] = Shape.TABLES

    @classmethod
    def from_tables(
        cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema], source: Source
    ) -> Self:
        """Read the tables and look up their keys; what does not join is refused, or dropped and
        counted where the recipe says so.
        """
        parts, notes = from_tables.parts(tables, schemas)
        return cls(parts[0].schema, source, parts, notes=notes)

    @classmethod
    def released_schemas(
        cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema]
    ) -> Mapping[str, Schema]:
        """Columns that were left out are not there; a table whose keys name nobody does not join
        with the people any more.
        """
        present_schemas = {}
        for name, schema in schemas.items():
            if name in tables:
                missing = [c for c in schema.attributes if c not in tables[name].columns]
                present_schemas[name] = schema.without(missing)
        released = dict(present_schemas)
        # A table that joined before may have been cut; only its keys can tell.
        for name, schema in present_schemas.items():
            link = Link.of(name, schema)
            if link.parent is None or link.parent not in present_schemas:
                over = None
            else:
                over = Link.of(link.parent, present_schemas[link.parent])
            if over is None or over.key is None or over.foreign is not None:
                continue
            # Not a single key fits: cut on purpose, as a step does it.
            if not (
                from_tables.resolved(tables[name][str(link.foreign)], tables[over.table][over.key])
                != from_tables.NOBODY
            ).any():
                released[name] = schema.replace(str(link.foreign), of=None)
        return {**schemas, **released}

    def __repr__(self) -> str:
        return (
            "RelatedTables("
            + ", ".join(f"{n:,} {unit.replace('_', ' ')}" for unit, n in self.counts().items())
            + ")"
        )

    def __getitem__(self, name: str) -> TableRows:
        for rows in self.parts:
            if rows.name == name:
                return rows
        table_names = [rows.name for rows in self.parts]
        raise ParameterError(f"table {name!r} does not exist.{did_you_mean(name, table_names)}")

    @property
    def people(self) -> int:
        """Number of persons, those without a row in other tables too."""
        return len(self.parts[0])

    @property
    def below(self) -> tuple[TableRows, ...]:
        """The tables below the people."""
        return self.parts[1:]

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """What the columns of each table are."""
        return {rows.name: rows.schema for rows in self.parts}

    @property
    def split(self) -> bool:
        """Whether the tables below the people have pseudonyms of their own, and join with the
        people no more.
        """
        return any(rows.apart for rows in self.parts)

    def counts(self) -> dict[str, int]:
        """How many people there are, and how many rows of every other table."""
        return {"people": self.people, **{f"rows_of_{rows.name}": len(rows) for rows in self.below}}

    # What methods with `table:` ask for (SupportsTables).

    def table(self, name: str) -> Table:
        """One table by itself, with the number of the person in every row of one below the
        people.
        """
        return self[name].dataset

    def owners(self, name: str) -> NDArray[np.int64]:
        """Per row of a table the number of the person at the top."""
        return self[name].owner

    def with_table(self, name: str, changed: Table, *, drop: Literal["rows", "people"]) -> Self:
        """Put a changed table back; what belongs to rows that are gone goes too.

        ``drop="people"``: so do their persons, everywhere.
        """
        rows, tables = self[name], self
        if changed.origin is not None and len(changed) < len(rows):
            stays = np.zeros(len(rows), dtype=bool)
            # Rows of the changed table know which rows they were.
            stays[changed.origin] = True
            staying = {name: stays}
            # The whole person goes, so rows of other tables must go as well.
            if drop == "people" and not rows.is_people:
                persons = np.ones(self.people, dtype=bool)
                persons[rows.owner[~stays]] = False
                staying = {self.parts[0].name: persons}
            tables = self.kept(staying)
        return tables.with_rows(tables[name].with_dataset(changed))

    def compare_table(self, name: str, original: Self) -> TablePair:
        """One table of this release beside the original one, without the numbers of persons."""
        before, after = original[name], self[name]
        if after.origin is None:
            origin = np.arange(len(after), dtype=np.int64)
        else:
            origin = after.origin
        # Keys are no values to be compared.
        numbers = () if before.is_people else before.link.columns
        released = dataclasses.replace(after.dataset.drop(numbers), origin=origin)
        return TablePair.of(before.dataset.drop(numbers), released)

    def table_goals(self, name: str, models: Sequence[Model]) -> tuple[Model, ...]:
        """What promises about persons ask of the people's table: k to every combination there."""
        if not self[name].is_people:
            return ()
        return tuple(OwnCrowd(model.crowd) for model in models if model.crowd is not None)

    def per_person(self, name: str) -> NDArray[np.int64]:
        """How many rows of a table every person has."""
        # After a split, owners may have numbers beyond the people.
        size = max(self.people, int(self[name].owner.max(initial=-1)) + 1)
        counts: NDArray[np.int64] = np.bincount(self[name].owner, minlength=size)
        return counts

    @cached_property
    def _shown(self) -> Shown:
        return shown_of(self.parts, split=self.split)

    def shown(self) -> Shown:
        """What the tables show of every person; see :mod:`sfumato.data.relational.person_views`."""
        return self._shown

    # Changes: rows go, and whatever belongs to them goes too.

    def with_rows(self, changed: TableRows) -> Self:
        """The same tables with other values in one of them."""
        parts = tuple(changed if rows.name == changed.name else rows for rows in self.parts)
        return dataclasses.replace(self, parts=parts, schema=parts[0].schema)

    def kept(self, stays: Mapping[str, NDArray[np.bool_]]) -> Self:
        """The rows that stay, by table; a row whose row above goes goes too, down to the last
        table.
        """
        masks: dict[str, NDArray[np.bool_]] = {}
        # Tables come behind their parents, so the rows above are decided already.
        for rows in self.parts:
            mask = stays.get(rows.name, np.ones(len(rows), dtype=bool))
            above = self._above(rows, masks)
            masks[rows.name] = mask if above is None else mask & above
        return self._in_order({name: np.flatnonzero(mask) for name, mask in masks.items()})

    def _above(
        self, rows: TableRows, masks: Mapping[str, NDArray[np.bool_]]
    ) -> NDArray[np.bool_] | None:
        """Whether the row above each row stays; a table that is written without a link to the
        people still belongs to them.
        """
        if rows.is_people:
            return None
        if rows.link.parent is None:
            over = self.parts[0].name
        else:
            over = rows.link.parent
        is_kept: NDArray[np.bool_] = masks[over][rows.above]
        return is_kept

    def keep_people(self, stays: NDArray[np.bool_]) -> Self:
        """Some of the people, with all that belongs to them."""
        return self.kept({self.parts[0].name: stays})

    def shuffled(self, stream: np.random.Generator) -> Self:
        """The same rows, every table in a random order of its own."""
        return self._in_order(
            {rows.name: stream.permutation(len(rows)).astype(np.int64) for rows in self.parts}
        )

    def _in_order(self, orders: Mapping[str, NDArray[np.int64]]) -> Self:
        """Rows in the order given, by table; all rows above those given must be given, too."""
        # Old number → new number, for each table.
        new_numbers = {
            name: _inverse_order(order, len(self[name])) for name, order in orders.items()
        }
        top = self.parts[0].name
        parts = []
        for rows in self.parts:
            order = orders[rows.name]
            over = top if rows.link.parent is None else rows.link.parent
            # People are above themselves; others follow the row above to its new place.
            if rows.is_people:
                above = np.arange(len(order))
            else:
                above = new_numbers[over][rows.above[order]]
            parts.append(
                rows.taken(order, above.astype(np.int64), new_numbers[top][rows.owner[order]])
            )
        if self.origin is None:
            origin = orders[top]
        else:
            origin = self.origin[orders[top]]
        return dataclasses.replace(self, parts=tuple(parts), origin=origin)

    # What is written.

    def sealed(self, seed: Seed) -> Self:
        """Keys that no step gave pseudonyms get random ones; a table of which no row is left, or
        that holds keys elsewhere, is not released.
        """
        empty = [rows.name for rows in self.parts if not len(rows)]
        if empty:
            raise ReleaseRefused(
                f"the steps left no row of {join_words(empty)}; allow larger budgets, or "
                "drop the table"
            )
        # Before pseudonyms are given: a copy of a key in another column would undo them.
        if problems := bare_keys(self.parts):
            raise SchemaError(problems)
        return dataclasses.replace(self, parts=pseudonyms.given(self.parts, seed))

    def to_tables(self) -> dict[str, pl.DataFrame]:
        """The tables with pseudonyms for keys; where there are none yet, numbers that say nothing
        but who belongs together.
        """
        tables = {}
        for rows in self.parts:
            keys = dict[str, pl.Series]()
            if rows.link.key is not None:
                keys[rows.link.key] = self._labels(rows)
            if rows.link.foreign is not None:
                keys[rows.link.foreign] = self._foreign(rows)
            if keys:
                tables[rows.name] = pl.DataFrame(keys).hstack(rows.frame)
            else:
                tables[rows.name] = rows.frame
        return tables

    def _labels(self, rows: TableRows) -> pl.Series:
        if rows.labels is None:
            return pl.Series(np.arange(1, len(rows) + 1))
        return rows.labels

    def _foreign(self, rows: TableRows) -> pl.Series:
        if rows.link.parent is not None:
            return self._labels(self[rows.link.parent]).gather(rows.above)
        return (
            rows.groups
            if rows.groups is not None
            # Only until pseudonyms are given: says which rows belong together, and to no other
            # table.
            else pl.Series(rows.owner).cast(pl.String) + f" of {rows.name}"
        )

    def same(self, second: Self) -> bool:
        """Whether others are these rows in this order, and belong to each other alike."""
        return len(self.parts) == len(second.parts) and all(
            _same_rows(own_rows, other_rows)
            for own_rows, other_rows in zip(self.parts, second.parts, strict=True)
        )

    def proven(self) -> Mapping[str, str]:
        """Every key names a row: otherwise the tables could not have been read."""
        join_words_list = []
        for rows in self.below:
            words = f"{rows.name} joins with no other table, as declared"
            if rows.link.parent:
                words = f"{len(rows):,} rows of {rows.name} belong to {rows.link.parent}"
            join_words_list.append(words)
        if not join_words_list:
            return {}
        return {"every key names a row": "; ".join(join_words_list)}

    def described_further(self, schemas: Mapping[str, Schema]) -> Self:
        """The same tables with orders and hierarchies of their sensitive columns."""
        parts = []
        for rows in self.parts:
            attributes = schemas.get(rows.name, Schema({})).attributes
            additions = {
                c: attributes[c]
                for c in rows.described.sensitive
                if c in attributes and Role.QUASI not in attributes[c].roles
            }
            schema = rows.schema
            for column, attribute in additions.items():
                schema = schema.replace(
                    column, hierarchy=attribute.hierarchy, order=attribute.order
                )
            parts.append(dataclasses.replace(rows, schema=schema) if additions else rows)
        return dataclasses.replace(self, parts=tuple(parts))

    def doubts(self) -> Mapping[str, str]:
        """Keys that are no pseudonyms: a release holds no others."""
        bare = []
        for rows in self.parts:
            for keys in (rows.names, rows.groups):
                if keys is not None and not pseudonyms.are_pseudonyms(keys):
                    bare.append(rows.name)
        message = (
            f"the keys of {join_words(bare)} are not all pseudonyms; they may be the original ones"
        )
        return {"keys are pseudonyms": message} if bare else {}

    def alignment(self) -> Mapping[str, pl.DataFrame]:
        """Per row of every table the number of the row it was, its key, and the pseudonym that
        stands for it.
        """
        frames = {}
        for rows in self.parts:
            if rows.origin is None:
                origin = np.arange(len(rows), dtype=np.int64)
            else:
                origin = rows.origin
            columns: Document = {ROW: origin}
            if rows.names is not None and rows.labels is not None:
                columns |= {KEY: rows.names, PSEUDONYM: rows.labels}
            frames[rows.name] = pl.DataFrame(columns)
        return frames

    def with_alignment(self, tables: Mapping[str, pl.DataFrame]) -> Self:
        """The same tables with the rows that theirs were, as the owner kept them."""
        parts = []
        for rows in self.parts:
            origin = None
            if rows.name in tables and ROW in tables[rows.name].columns:
                origin = tables[rows.name][ROW].to_numpy()
            # Another number of rows: this was kept of another release.
            if origin is None or len(origin) != len(rows):
                raise SchemaError(f"the record of who is who does not fit table {rows.name!r}")
            parts.append(dataclasses.replace(rows, origin=origin))
        return dataclasses.replace(self, parts=tuple(parts))


def _inverse_order(order: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Per row the place it has in an order, −1 for rows that are not in it."""
    numbers = np.full(size, -1, dtype=np.int64)
    numbers[order] = np.arange(len(order))
    return numbers


def _same_rows(own_rows: TableRows, other_rows: TableRows) -> bool:
    # persons of a table that joins with nobody have numbers of their own
    if own_rows.link.parent is None and not own_rows.is_people:
        if len(own_rows) == len(other_rows):
            joined = bool((_codes(own_rows.owner) == _codes(other_rows.owner)).all())
        else:
            joined = False
    else:
        joined = np.array_equal(own_rows.above, other_rows.above)
    return (
        own_rows.name == other_rows.name
        and joined
        and own_rows.frame.equals(other_rows.frame, null_equal=True)
    )


def _codes(owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same groups, numbered by the first row of each."""
    _, first, inverse = np.unique(owner, return_index=True, return_inverse=True)
    codes: NDArray[np.int64] = first[inverse]
    return codes
