"""Baskets: every person is a set of items, and may have columns of the own besides."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl

from sfumato.core.data import PeopleData
from sfumato.core.fields import Document
from sfumato.core.schema import Role, Schema
from sfumato.core.shape import Shape
from sfumato.core.source import Source
from sfumato.data.baskets import from_tables
from sfumato.data.baskets.disassociated import Disassociated, released_schema
from sfumato.data.baskets.taxonomy import Taxonomy
from sfumato.errors import SchemaError
from sfumato.methods.formulas.itemsets import ItemSets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Attribute


@dataclasses.dataclass(frozen=True, eq=False)
class Baskets(PeopleData):
    """People as sets of items. Immutable; every change gives a new one.

    ``sets`` are the items of every person as numbers, ``labels`` what the numbers stand for
    (ascending, each once). ``own`` has one row a
    person: the columns that describe people and not items. ``form`` is how the file has them:
    ``long`` (a row an item) or ``list`` (a row a person). ``beside`` is the schema of the table in
    which the own columns stand, where that is another one. ``grades`` are columns of numbers about
    single items (a rating, a day), in the order of ``sets.items``, and ``names`` what the file
    calls people: attacks score by them, and they are never written.

    >>> import polars as pl
    >>> from sfumato.core.schema import Schema
    >>> from sfumato.core.source import Source
    >>> table = pl.DataFrame(
    ...     {"who": [1, 1, 2, 2, 3], "what": ["tea", "milk", "milk", "milk", None]}
    ... )
    >>> schema = Schema.from_roles({"person": "who", "item": "what"})
    >>> people = Baskets.from_tables({"data": table}, {"data": schema}, Source())
    >>> people.counts(), people.notes
    ({'people': 3, 'items': 2, 'occurrences': 3, 'empty': 1}, ('1 repeated item of a person counts
    once.', '1 person has no item: no promise covers them.'))
    """

    schema: Schema
    source: Source
    sets: ItemSets
    labels: tuple[str, ...]
    own: pl.DataFrame
    form: from_tables.Form = "long"
    beside: Schema | None = None
    grades: Mapping[str, NDArray[np.float64]] = dataclasses.field(default_factory=dict, repr=False)
    names: pl.Series | None = dataclasses.field(default=None, repr=False)
    whole_numbers: bool = False
    origin: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()

    shape: ClassVar[Shape] = Shape.BASKETS

    @classmethod
    def from_tables(
        cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema], source: Source
    ) -> Any:
        """Read the people from tables as a file holds them, released ones too; baskets that were
        taken apart are read as such.
        """
        if Disassociated.is_one(tables["data"], schemas["data"]):
            return Disassociated.from_tables(tables, schemas, source)
        return cls(**from_tables.parts(tables, schemas, source))

    @classmethod
    def released_schemas(
        cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema]
    ) -> Mapping[str, Schema]:
        """Baskets that were taken apart have columns of their own, and nobody's own columns; what
        is told of single items is left out.
        """
        if Disassociated.is_one(tables["data"], schemas["data"]):
            return {"data": released_schema(schemas["data"])}
        schema, columns = schemas["data"], tables["data"].columns
        return {
            **schemas,
            # Plain columns that are missing in the release told something of single items (grades).
            "data": schema.without(
                name for name in schema.columns(Role.KEEP) if name not in columns
            ),
        }

    def __repr__(self) -> str:
        counts = self.counts()
        return (
            f"Baskets({counts['people']:,} people, {counts['items']:,} items,"
            f" {counts['occurrences']:,} occurrences)"
        )

    def __len__(self) -> int:
        return len(self.sets)

    @property
    def people(self) -> int:
        """Number of persons, those without an item too."""
        return len(self.sets)

    @property
    def filled(self) -> int:
        """Number of persons with at least one item."""
        return int((self.sets.lengths > 0).sum())

    @property
    def item(self) -> str:
        """Name of the column of items."""
        return from_tables.item_column(self.schema)

    @cached_property
    def attributes(self) -> dict[str, Attribute]:
        """What the own columns of people are."""
        attributes = {
            **self.schema.attributes,
            **({} if self.beside is None else self.beside.attributes),
        }
        return {name: attributes[name] for name in self.own.columns}

    @property
    def quasi(self) -> tuple[str, ...]:
        """Own columns that an intruder can know."""
        return tuple(
            name for name, attribute in self.attributes.items() if attribute.has(Role.QUASI)
        )

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """Per person the number of the class of people who are alike in all columns that an
        intruder can know.
        """
        return classes_of(self.own, self.quasi, self.people)

    @cached_property
    def taxonomy(self) -> Taxonomy:
        """The hierarchy above the items; a column of items without one is refused."""
        hierarchy = self.schema[self.item].hierarchy
        if hierarchy is None:
            raise SchemaError(
                f"column {self.item!r} has no hierarchy, so items cannot be generalised; give it"
                " one (hierarchy: {tree: …} or {file: …}), or suppress items instead"
            )
        return Taxonomy.of(hierarchy, self.labels, self.item)

    @property
    def has_taxonomy(self) -> bool:
        """Whether the items have a hierarchy."""
        return self.schema[self.item].hierarchy is not None

    def codes_of(self, labels: tuple[str, ...]) -> NDArray[np.int64]:
        """The numbers of some items; −1 for one that nobody has."""
        label_codes = {label: code for code, label in enumerate(self.labels)}
        return np.array([label_codes.get(label, -1) for label in labels], dtype=np.int64)

    def counts(self) -> dict[str, int]:
        """How many people, different items and items in baskets there are, and how many people have
        none.
        """
        return {
            "people": self.people,
            "items": int((self.sets.supports > 0).sum()),
            "occurrences": len(self.sets.items),
            "empty": self.people - self.filled,
        }

    def with_sets(self, sets: ItemSets, labels: tuple[str, ...]) -> Self:
        """The same people with other items; what was said of single items is forgotten."""
        return dataclasses.replace(self, **compacted(sets, labels), grades={})

    def with_own(self, own: pl.DataFrame) -> Self:
        """The same people with other own columns."""
        return dataclasses.replace(self, own=own)

    def taken(self, people: NDArray[np.int64]) -> Self:
        """Some of the people, in the order given."""
        # A person keeps the number of the original through several changes, one after the other.
        origin = people if self.origin is None else self.origin[people]
        grades = {
            name: _gathered(values, self.sets, people) for name, values in self.grades.items()
        }
        return dataclasses.replace(
            self,
            sets=self.sets.taken(people),
            own=from_tables.rows_of(self.own, people),
            origin=origin,
            grades=grades,
            names=None if self.names is None else self.names.gather(people),
        )

    def shuffled(self, stream: np.random.Generator) -> Self:
        """The same people in a random order under new numbers; the order of the file does not
        matter, whether it names people or not.
        """
        # With names the people were already put into the order of the names when they were read;
        # without, only the content gives an order that does not depend on the file.
        if self.schema.person is not None:
            order = np.arange(self.people)
        else:
            order = self.by_content()
        return self.taken(order[stream.permutation(self.people)].astype(np.int64))

    def by_content(self) -> NDArray[np.int64]:
        """People in an order that depends on what is known of them alone, not on the file: who
        comes in any order is alike in everything.
        """
        # Any fixed order of baskets will do here, so the numbers may be compared as words.
        numbers = pl.Series(np.arange(self.sets.size)).cast(pl.String)
        words = from_tables.lists_of(self.sets, numbers).list.join(",").alias(from_tables.WHAT)
        # Ties get ranks in any order; that reveals nothing, as they are alike in all that is known.
        ranks = pl.DataFrame([words, *self.own.get_columns()]).select(
            pl.struct(pl.all()).rank("ordinal")
        )
        return np.argsort(ranks.to_series().to_numpy(), kind="stable").astype(np.int64)

    def to_tables(self) -> dict[str, pl.DataFrame]:
        """The tables to write, in the form that was read; persons are renumbered, their items
        are in the order of the labels.
        """
        return from_tables.tables(self)


def compacted(sets: ItemSets, labels: tuple[str, ...]) -> Document:
    """Sets and labels in which each label comes once, in their order, and none that nobody has."""
    # Two numbers may have one label: an item that is itself a group, and the node of that group.
    # They become one item; otherwise the release would show two of the same name.
    used = np.flatnonzero(sets.supports > 0)
    names = tuple(sorted({labels[code] for code in used.tolist()}))
    label_codes = {label: code for code, label in enumerate(names)}
    image = np.full(sets.size, -1, dtype=np.int64)
    image[used] = [label_codes[labels[code]] for code in used.tolist()]
    return {"sets": sets.mapped(image, len(names)), "labels": names}


def classes_of(own: pl.DataFrame, columns: tuple[str, ...], people: int) -> NDArray[np.int64]:
    """Per person the number of the class of those who are alike in some columns, missing being a
    value; 0 for all without columns.
    """
    if not columns:
        return np.zeros(people, dtype=np.int64)
    # A row of several columns is never missing as a whole, so missing values get ranks as well.
    codes: NDArray[np.int64] = (
        own.select(pl.struct(columns).rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
    )
    return codes


def _gathered(
    values: NDArray[np.float64], sets: ItemSets, people: NDArray[np.int64]
) -> NDArray[np.float64]:
    # Per person the shift from the place in the result to the place in the file: pointers 0,2,5 and
    # people 1,0 → places 2,3,4,0,1.
    lengths = sets.lengths[people]
    ends = np.cumsum(lengths)
    positions = np.arange(int(lengths.sum())) + np.repeat(
        sets.pointers[:-1][people] - (ends - lengths), lengths
    )
    values_found: NDArray[np.float64] = values[positions]
    return values_found
