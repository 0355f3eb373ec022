"""Baskets from tables and back: a row an item, or a row a person with a list of items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from sfumato.core.encoding import encode
from sfumato.core.fields import Document
from sfumato.core.schema import SHAPED, Role, Schema
from sfumato.core.source import missing_column_problems, without_role
from sfumato.core.words import count_of, inflect
from sfumato.errors import SchemaError
from sfumato.methods.formulas.itemsets import ItemSets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.source import Source
    from sfumato.data.baskets.baskets import Baskets

Form = Literal["long", "list"]
ROLES = "person, item, quasi, sensitive, drop, keep"
# Columns of tables made here; the names must not be those of a column of the file.
WHO, WHAT = "__person", "__item"


def parts(
    tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema], source: Source
) -> Document:
    """What the people of a file are made of: the fields of :class:`Baskets`."""
    data = tables["data"]
    schema = _checked(data, schemas["data"], source)
    data = _ordered(data, schema.person)
    beside = tables.get("people")
    if beside is None:
        apart = None
    else:
        apart = _apart(beside, schemas.get("people"), data, schema, source)
    form: Form = (
        "list" if isinstance(data.schema[item_column(schema)], pl.List | pl.Array) else "long"
    )
    read = _from_lists if form == "list" else _from_rows
    return {"source": source, "form": form, **read(data, schema, source, apart)}


def _ordered(table: pl.DataFrame, person: str | None) -> pl.DataFrame:
    """A table in the order of what names people, so that a release does not depend on how the file
    is ordered.
    """
    if person is None:
        return table
    return table.sort(person, maintain_order=True)


def item_column(schema: Schema) -> str:
    """Name of the one column of items."""
    name = schema.only(Role.ITEM)
    if name is None:
        raise SchemaError("baskets need one column with role item, and none has it; give it to one")
    return name


def rows_of(table: pl.DataFrame, rows: NDArray[np.int64]) -> pl.DataFrame:
    """Some rows of a table, which may be without columns."""
    return table[rows.tolist()] if table.width else table


def _checked(data: pl.DataFrame, schema: Schema, source: Source) -> Schema:
    """The schema without what names people; one error with everything that does not fit."""
    # A column that is dropped in any case may be absent from a file that was released before.
    present_schema = schema.without(
        name for name in schema.dropped_columns if name not in data.columns
    )
    problems = missing_column_problems(data.columns, source, present_schema.attributes)
    problems += without_role(data.columns, source, schema.attributes, ROLES)
    problems += schema.undecided(source.name) + _misplaced(schema, source.name)
    items = schema.columns(Role.ITEM)
    if len(items) != 1:
        problems.append(
            f"baskets need one column with role item, but {len(items)} of {source.name} "
            "have it; keep one"
        )
    elif items[0] in data.columns:
        problems += _wrong_items(data.schema[items[0]], items[0], schema, source)
    if problems:
        raise SchemaError(problems)
    return schema.without(schema.dropped_columns)


def _misplaced(schema: Schema, table: str) -> list[str]:
    """One problem for every column whose role baskets have no use for."""
    foreign = [
        (name, role) for role in SHAPED if role is not Role.ITEM for name in schema.columns(role)
    ]
    foreign += [
        (name, role) for role in (Role.WEIGHT, Role.STRATUM) for name in schema.columns(role)
    ]
    return [
        f"column {name!r} of {table} has role {role!s}, which baskets do not use; they use {ROLES}"
        for name, role in foreign
    ]


def _wrong_items(dtype: pl.DataType, item: str, schema: Schema, source: Source) -> list[str]:
    if isinstance(dtype, pl.List | pl.Array):
        inner = dtype.inner
    else:
        inner = dtype
    if (
        inner == pl.Null
        or inner in (pl.String, pl.Categorical, pl.Enum, pl.Boolean)
        or inner.is_numeric()
    ):
        # A list already says whose its items are; single items need a column that does.
        apart = inner is not dtype
        if not apart and schema.person is None:
            return [
                (
                    f"column {item!r} of {source.name} has one item per row, so another column "
                    "must name the person; give it role person"
                )
            ]
        return []
    return [
        (
            f"column {item!r} of {source.name} must hold words, numbers or lists of them to have"
            " role item"
        )
    ]


def _labelled(column: pl.Series) -> tuple[pl.Series, int]:
    """Items as text, and how many of them were nothing but blanks."""
    if column.dtype == pl.String:
        # Blanks are no item: as one, all who have it would look alike in something.
        blank = column.str.strip_chars() == ""
        return column.set(blank.fill_null(value=False), None), int(blank.sum() or 0)
    return column, 0


def _coded(column: pl.Series) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Numbers of items in the order of their labels (−1: missing), and the labels."""
    # Codes come in an order of the encoding's own; releases need the order of the labels.
    encoded = encode(column)
    names = sorted(label for label in encoded.labels if label is not None)
    label_codes = {label: code for code, label in enumerate(names)}
    image = np.array(
        [-1 if label is None else label_codes[label] for label in encoded.labels], dtype=np.int64
    )
    codes: NDArray[np.int64] = image[encoded.codes] if len(image) else np.zeros(0, dtype=np.int64)
    return codes, tuple(names)


def _from_rows(
    data: pl.DataFrame, schema: Schema, source: Source, apart: _Apart | None
) -> Document:
    person, item = str(schema.person), item_column(schema)
    nameless = data[person].null_count()
    if nameless:
        raise SchemaError(
            f"{nameless:,} row(s) of {source.name} have no value in {person!r}, so their person is "
            "unknown; fill them in or remove them"
        )
    owners, count = _owners(data[person], apart)
    values, blanks = _labelled(data[item])
    codes, labels = _coded(values)
    # A row without an item still says that the person is there; it only adds nothing to the set.
    present_rows = np.flatnonzero(codes >= 0)
    sets = ItemSets.of_pairs(owners[present_rows], codes[present_rows], count, max(len(labels), 1))
    other_columns = [
        name for name in data.columns if name in schema.attributes and name not in (person, item)
    ]
    # A column that differs between rows of a person cannot describe the person. Plain numbers and
    # days may then describe the single item; everything else is an error, raised below.
    grades = {
        name
        for name in other_columns
        if _varies(data, owners, name) and _is_grade(data, schema, name)
    }
    own = _own_columns(
        data, owners, count, [name for name in other_columns if name not in grades], source
    )
    # Pairs that were merged: the same item twice in the rows of a person.
    repeats = len(present_rows) - len(sets.items)
    return {
        "schema": schema.without(grades),
        "sets": sets,
        "labels": labels,
        "own": own if apart is None else pl.concat([own, apart.own], how="horizontal"),
        "beside": None if apart is None else apart.schema,
        "grades": {
            name: _graded(data[name], owners[present_rows], codes[present_rows], present_rows, sets)
            for name in sorted(grades)
        },
        "names": data[person].gather(_firsts(owners, count)) if apart is None else apart.who,
        "whole_numbers": bool(data.schema[item].is_integer()),
        "notes": _notes(repeats, blanks, int((sets.lengths == 0).sum()), sorted(grades)),
    }


def _owners(column: pl.Series, apart: _Apart | None) -> tuple[NDArray[np.int64], int]:
    """Per row the number of its person, in the order of what names them, or in that of the table
    beside.
    """
    if apart is not None:
        return apart.placed(column), len(apart.who)
    # Dense ranks begin at 1; names 7, 3, 7 → persons 1, 0, 1.
    ranks = column.rank("dense").cast(pl.Int64).to_numpy() - 1
    return ranks, int(ranks.max(initial=-1)) + 1


def _varies(data: pl.DataFrame, owners: NDArray[np.int64], name: str) -> int:
    """How many people have more than one value in a column."""
    rows = pl.DataFrame({WHO: owners, name: data[name]}).unique()
    return int(rows.height - rows[WHO].n_unique())


def _is_grade(data: pl.DataFrame, schema: Schema, name: str) -> bool:
    """Whether a column may say something of single items: plain numbers or days."""
    dtype = data.schema[name]
    return schema[name].has(Role.KEEP) and (dtype.is_numeric() or dtype in (pl.Date, pl.Datetime))


def _own_columns(
    data: pl.DataFrame, owners: NDArray[np.int64], count: int, names: list[str], source: Source
) -> pl.DataFrame:
    torn = {
        name: differing_rows for name in names if (differing_rows := _varies(data, owners, name))
    }
    if torn:
        raise SchemaError(
            [
                f"column {name!r} of {source.name} describes people, but differs between rows of "
                f"the same person {differing_rows:,} time(s); correct it, or give it role drop"
                for name, differing_rows in torn.items()
            ]
        )
    firsts = _firsts(owners, count)
    gone = int((firsts < 0).sum())
    if not len(owners):
        return data.select(names).clear(count)
    # People who have no row borrow the first one here; their values become missing below.
    own_rows = rows_of(data.select(names), np.maximum(firsts, 0))
    if gone and names:
        own_rows = own_rows.with_columns(
            pl.when(pl.Series(firsts >= 0)).then(pl.col(name)).alias(name) for name in names
        )
    return own_rows


def _firsts(owners: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The first row of every person, −1 for whoever has none."""
    firsts = np.full(count, -1, dtype=np.int64)
    # From the end: of several rows of a person the first is written last, and stays.
    firsts[owners[::-1]] = np.arange(len(owners))[::-1]
    return firsts


def _graded(
    column: pl.Series,
    owners: NDArray[np.int64],
    codes: NDArray[np.int64],
    rows: NDArray[np.int64],
    sets: ItemSets,
) -> NDArray[np.float64]:
    """A column about items in the order of the sets; a repeated item keeps the mean. Days are
    counted from 1970.
    """
    if column.dtype in (pl.Date, pl.Datetime):
        days = column.cast(pl.Date).to_physical()
    else:
        days = column
    values = days.cast(pl.Float64).fill_null(float("nan")).to_numpy()[rows]
    # The same number for (person, item) by which the sets are sorted, so it can be searched for.
    keys = owners * max(sets.size, 1) + codes
    positions = np.searchsorted(sets.owners * max(sets.size, 1) + sets.items, keys)
    sums = np.bincount(positions, weights=values, minlength=len(sets.items))
    return sums / np.maximum(np.bincount(positions, minlength=len(sets.items)), 1)


def _from_lists(
    data: pl.DataFrame, schema: Schema, source: Source, apart: _Apart | None
) -> Document:
    item, person = item_column(schema), schema.person
    if person is not None and data[person].n_unique() < data.height:
        raise SchemaError(
            f"{data.height - data[person].n_unique():,} row(s) of {source.name} repeat a person; a "
            "table with lists of items has one row per person, so join them"
        )
    column = data[item].cast(pl.List(data.schema[item].inner))  # type: ignore[attr-defined]
    lengths = column.list.len().fill_null(0).to_numpy()
    values, blanks = _labelled(column.list.explode(keep_nulls=True, empty_as_null=True))
    # An empty or missing list is kept as one missing item, so it takes one place.
    owners = np.repeat(np.arange(data.height, dtype=np.int64), np.maximum(lengths, 1))
    codes, labels = _coded(values)
    present_rows = np.flatnonzero(codes >= 0)
    sets = ItemSets.of_pairs(
        owners[present_rows], codes[present_rows], data.height, max(len(labels), 1)
    )
    names = [
        name for name in data.columns if name in schema.attributes and name not in (person, item)
    ]
    own = data.select(names)
    if apart is not None:
        own = pl.concat(
            [own, rows_of(apart.own, apart.placed(data[str(person)]))], how="horizontal"
        )
    return {
        "schema": schema,
        "sets": sets,
        "labels": labels,
        "own": own,
        "beside": None if apart is None else apart.schema,
        "names": None if person is None else data[person],
        "whole_numbers": bool(column.dtype.inner.is_integer()),  # type: ignore[attr-defined]
        "notes": _notes(
            len(present_rows) - len(sets.items), blanks, int((sets.lengths == 0).sum()), []
        ),
    }


def _notes(repeats: int, blanks: int, empty: int, grades: list[str]) -> tuple[str, ...]:
    """What reading put right, in counts."""
    sentences = []
    if repeats:
        sentences.append(
            f"{repeats:,} repeated {inflect(repeats, 'item')} of a person"
            f" {inflect(repeats, 'counts', 'count')} once."
        )
    if blanks:
        sentences.append(
            f"{count_of(blanks, 'item')} of blanks alone {inflect(blanks, 'is', 'are')} missing."
        )
    if empty:
        people_have = "people have" if empty > 1 else "person has"
        sentences.append(f"{empty:,} {people_have} no item: no promise covers them.")
    if grades:
        sentences.append(
            "Columns that describe single items are not released and only used by attacks: "
            f"{', '.join(grades)}."
        )
    return tuple(sentences)


class _Apart:
    """The own columns of people in a table of their own: one row a person."""

    def __init__(self, table: pl.DataFrame, schema: Schema, person: str, source: Source) -> None:
        self.schema = schema.without(schema.dropped_columns)
        table = _ordered(table, person)
        self.who, self._source = table[person], source
        if self.who.null_count() or self.who.n_unique() < table.height:
            doubtful = table.height - self.who.drop_nulls().n_unique()
            raise SchemaError(
                f"the table of people beside {source.name} must name every person once in "
                f"{person!r}; {doubtful:,} row(s) repeat a person or name none"
            )
        self.own = table.select(
            name for name in table.columns if name in self.schema.attributes and name != person
        )

    def placed(self, persons: pl.Series) -> NDArray[np.int64]:
        """Per value the row of the person; who is not there is refused."""
        # As text: the same names may be numbers in one table and words in the other.
        rows = pl.DataFrame({WHO: self.who.cast(pl.String), WHAT: np.arange(len(self.who))})
        keys = pl.DataFrame({WHO: persons.cast(pl.String)})
        row_numbers = keys.join(rows, on=WHO, how="left", maintain_order="left")[WHAT]
        if row_numbers.null_count():
            strangers = keys.filter(row_numbers.is_null())[WHO].n_unique()
            raise SchemaError(
                f"{strangers:,} person(s) of {self._source.name} are missing from the table of "
                "people beside it; add them, or remove their rows"
            )
        return row_numbers.cast(pl.Int64).to_numpy()


def _apart(
    table: pl.DataFrame, schema: Schema | None, data: pl.DataFrame, own: Schema, source: Source
) -> _Apart:
    if schema is None:
        raise SchemaError(
            f"the columns of the people beside {source.name} need a description (people: columns: "
            "…)"
        )
    present_schema = schema.without(
        name for name in schema.dropped_columns if name not in table.columns
    )
    problems = missing_column_problems(table.columns, source, present_schema.attributes)
    problems += without_role(table.columns, source, schema.attributes, ROLES)
    person = schema.person
    if person is None or own.person is None:
        problems.append(
            f"the column that identifies a person must have role person in {source.name} and in "
            "the table of people"
        )
    twice = [
        name
        for name in present_schema.attributes
        if name in data.columns and name not in (person, own.person)
    ]
    if twice:
        problems.append(
            f"column(s) {', '.join(map(repr, twice))} are in {source.name} and in the table of "
            "people; keep them in one"
        )
    if problems:
        raise SchemaError(problems)
    return _Apart(table, schema, str(person), source)


# Back to tables.


def tables(baskets: Baskets) -> dict[str, pl.DataFrame]:
    """The tables that a file of the same form holds."""
    # New numbers by the place in the release: the names of the file are never written.
    numbers = pl.Series("number", np.arange(1, baskets.people + 1, dtype=np.int64))
    if baskets.beside is None:
        apart = set()
    else:
        apart = set(baskets.beside.attributes)
    own = baskets.own.select(name for name in baskets.own.columns if name not in apart)
    if baskets.form == "list":
        data = _as_lists(baskets, numbers, own)
    else:
        data = _as_rows(baskets, numbers, own)
    if baskets.beside is None:
        return {"data": data}
    person = str(baskets.beside.person)
    own_columns = {name: baskets.own[name] for name in baskets.own.columns if name in apart}
    beside = pl.DataFrame({person: numbers, **own_columns})
    return {
        "data": data,
        "people": beside.select(
            name for name in baskets.beside.attributes if name in beside.columns
        ),
    }


def _words(baskets: Baskets) -> pl.Series:
    """The labels; whole numbers again where they were and nothing else has come."""
    labels = pl.Series("label", baskets.labels, dtype=pl.String)
    if baskets.whole_numbers:
        # A group of items may have a label that is no number; then all labels stay text.
        numbers = labels.cast(pl.Int64, strict=False)
        return labels if numbers.null_count() else numbers
    return labels


def _as_rows(baskets: Baskets, numbers: pl.Series, own: pl.DataFrame) -> pl.DataFrame:
    sets = baskets.sets
    # People without items get one row with a missing item, or they would not be in the file.
    owners = np.concatenate([sets.owners, np.flatnonzero(sets.lengths == 0)])
    order = np.argsort(owners, kind="stable")
    items = _words(baskets).gather(sets.items).extend_constant(None, len(owners) - len(sets.items))
    columns = {
        str(baskets.schema.person): numbers.gather(owners[order]),
        baskets.item: items.gather(order),
    }
    rows = rows_of(own, owners[order])
    return pl.DataFrame({**columns, **{name: rows[name] for name in rows.columns}}).select(
        name for name in baskets.schema.attributes if name in columns or name in rows.columns
    )


def _as_lists(baskets: Baskets, numbers: pl.Series, own: pl.DataFrame) -> pl.DataFrame:
    lists = lists_of(baskets.sets, _words(baskets))
    person = baskets.schema.person
    columns = {baskets.item: lists, **({} if person is None else {person: numbers})}
    return pl.DataFrame({**columns, **{name: own[name] for name in own.columns}}).select(
        name for name in baskets.schema.attributes if name in columns or name in own.columns
    )


def lists_of(sets: ItemSets, words: pl.Series) -> pl.Series:
    """Everybody's items as a list; an empty one for who has none."""
    flat = pl.DataFrame({WHO: sets.owners, WHAT: words.gather(sets.items)})
    listed = flat.group_by(WHO, maintain_order=True).agg(pl.col(WHAT))
    every = pl.DataFrame({WHO: np.arange(len(sets), dtype=np.int64)}).join(
        # People without items have no list yet.
        listed,
        on=WHO,
        how="left",
        maintain_order="left",
    )
    return every[WHAT].fill_null(pl.Series([[]], dtype=pl.List(words.dtype)))
