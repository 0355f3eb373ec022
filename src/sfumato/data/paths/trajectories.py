"""People who are where, when: the noun of paths, and how it is read from tables and written to
them.
"""

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
from sfumato.core.source import Source, missing_column_problems, without_role
from sfumato.core.words import join_words
from sfumato.data.paths.clock import Clock, read_times
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Attribute

OWN = (Role.QUASI, Role.SENSITIVE, Role.KEEP, Role.WEIGHT, Role.STRATUM)
"""Roles of columns that are a person's own and not a point's."""
SERVED = "person, time, place, quasi, sensitive, keep, drop"


@dataclasses.dataclass(frozen=True, eq=False)
class Points:
    """Every person as a set of points (time, place): the basket form in which sets of points are
    counted.

    The points of person *i* are ``items[starts[i]:starts[i + 1]]``, ascending. Point *j* is at
    ``ticks[j]`` at place ``places[j]``; points are numbered in the order of (time, place).
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int64]
    ticks: NDArray[np.int64]
    places: NDArray[np.int64]

    @property
    def kinds(self) -> int:
        """How many different points there are."""
        return len(self.ticks)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Trajectories(PeopleData):
    """People with their points in time. Immutable.

    Person *i* was at ``places[starts[i]:starts[i + 1]]`` at the times ``ticks`` beside them, in the
    order of time, then of place; no point occurs twice. Row *p* of ``table`` says what place
    *p* is: one column, or two coordinates. ``own`` are the people's own columns; those named in
    ``apart`` are written to a table of their own. ``names`` is what the file calls the people, as
    long as they are those of the file. ``width`` is that of the time buckets in ticks, ``recoded``
    says whether places or times were made coarser, and ``shifted`` by how many ticks the times of a
    person may have been moved, all together; None: by none. ``as_read``: from a file, which tells
    neither.
    """

    schema: Schema
    source: Source
    clock: Clock
    starts: NDArray[np.int64]
    ticks: NDArray[np.int64]
    places: NDArray[np.int64]
    table: pl.DataFrame
    own: pl.DataFrame
    apart: tuple[str, ...] | None = None
    key: str | None = None
    names: pl.Series | None = None
    origin: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()
    width: int = 1
    recoded: bool = False
    shifted: int | None = None
    as_read: bool = False
    beside: Schema | None = None

    shape: ClassVar[Shape] = Shape.PATHS

    @classmethod
    def from_tables(
        cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema], source: Source
    ) -> Self:
        """Read people from a long table, a row for each point, and from a table of the people's own
        columns if there is one.

        Rows may stand in any order; points that are there twice are one. Both are counted in the
        notes.
        """
        data, schema = tables["data"], schemas["data"]
        person, time, place_columns = _columns(data, schema, source)
        if not data.height:
            raise SchemaError(f"{source.name} has no rows: it contains no persons")
        _require_no_gaps(data, (person, *place_columns), source)
        time_unit = schema[time].unit
        clock, ticks = read_times(data[time], time, time_unit)  # type: ignore[arg-type]
        # People are numbered by name, so that the result does not depend on the order of rows.
        persons, names = numbered_people(data[person])
        where, table = _places(data.select(place_columns))
        notes = [clock.sentence(), *_order_notes(persons, ticks)]
        own, own_notes = _own_columns(data, schema, persons, names)
        apart, key = None, None
        if "people" in tables:
            key, beside = _beside(tables["people"], schemas["people"], names, source)
            twice = [name for name in beside.columns if name in data.columns]
            if twice:
                raise SchemaError(
                    f"column {twice[0]!r} is in the table of points and in the table of people; "
                    "keep one"
                )
            own, apart = own.hstack(beside), tuple(beside.columns)
        dropped = [
            *schema.dropped_columns,
            *(schemas["people"].dropped_columns if "people" in schemas else ()),
        ]
        own_notes += [f"{len(dropped)} direct identifier(s) were dropped"] if dropped else []
        quasi_columns = {name for schema in schemas.values() for name in schema.quasi}
        open_columns = len(quasi_columns.intersection(own.columns))
        if open_columns:
            own_notes.append(
                f"{open_columns} column(s) with role quasi are released unchanged: promises about "
                "points do not cover them"
            )
        # Not sorted yet and without runs of people; the call below puts that in order.
        plain = cls(
            schema,
            source,
            clock,
            np.zeros(1, np.int64),
            ticks,
            where,
            table,
            own,
            apart,
            key,
            names,
            notes=(*notes, *own_notes),
            beside=schemas.get("people"),
        )
        return plain.with_points(persons, ticks, where, merged="repeated point(s) were merged")

    # What there is.

    @property
    def people(self) -> int:
        """Number of persons."""
        return len(self.starts) - 1

    def __len__(self) -> int:
        return self.people

    def __repr__(self) -> str:
        counts = self.counts()
        return (
            f"<{counts['people']:,} people, {counts['points']:,} points at {counts['places']:,}"
            " places>"
        )

    def counts(self) -> dict[str, int]:
        """What there is, in counts."""
        return {
            "people": self.people,
            "points": len(self.ticks),
            "places": (
                int(np.count_nonzero(np.bincount(self.places, minlength=1)))
                if len(self.places)
                else 0
            ),
            "times": len(np.unique(self.ticks)),
        }

    @cached_property
    def who(self) -> NDArray[np.int64]:
        """The person of every point."""
        return np.repeat(np.arange(self.people, dtype=np.int64), np.diff(self.starts))

    @cached_property
    def points(self) -> Points:
        """Every person as a set of points."""
        # One number for (time, place). It ascends with time, then place; so do the points.
        kinds = max(1, self.table.height)
        moments, moment = np.unique(self.ticks, return_inverse=True)
        keys, items = np.unique(moment * kinds + self.places, return_inverse=True)
        return Points(self.starts, items.astype(np.int64), moments[keys // kinds], keys % kinds)

    @property
    def coordinates(self) -> bool:
        """Whether places are given by two columns of numbers."""
        return len(self.table.columns) == 2

    def attribute(self, column: str) -> Attribute:
        """What the schema says about one of the places' columns."""
        return self.schema[column]

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns of the people's own."""
        beside = () if self.beside is None else self.beside.sensitive
        return tuple(name for name in (*self.schema.sensitive, *beside) if name in self.own.columns)

    def values(self, column: str) -> pl.Series:
        """A column of the people's own, one value a person."""
        if column not in self.own.columns:
            raise SchemaError(
                f"column {column!r} of the people does not "
                f"exist.{did_you_mean(column, self.own.columns)}"
            )
        return self.own[column]

    def require_people(self, k: int, promise: str) -> None:
        """Raise where there are too few people for a promise to be reached."""
        self.require_several(promise)
        if self.people < k:
            raise Unsatisfiable(
                f"{promise}: there are {self.people:,} people, fewer than {k:,}; ask for a smaller"
                " number",
                closest=self.people,
            )

    def require_several(self, promise: str) -> None:
        """Raise where there is one person only, about whom no promise means anything."""
        if self.people < 2:
            raise SchemaError(f"{promise}: there is one person only, who cannot hide among others")

    # Making others.

    def with_points(
        self,
        persons: NDArray[np.int64],
        ticks: NDArray[np.int64],
        places: NDArray[np.int64],
        *,
        table: pl.DataFrame | None = None,
        merged: str = "",
        **changes: Any,
    ) -> Self:
        """The same people with other points: sorted, equal ones merged; people who have none are
        left out.
        """
        place_table = self.table if table is None else table
        # By person, then time, then place: the last key given counts most.
        order = np.lexsort((places, ticks, persons))
        persons, ticks, places = persons[order], ticks[order], places[order]
        # After sorting, equal points are neighbours; the first of them stays.
        fresh = np.ones(len(persons), dtype=np.bool_)
        fresh[1:] = (np.diff(persons) != 0) | (np.diff(ticks) != 0) | (np.diff(places) != 0)
        persons, ticks, places = persons[fresh], ticks[fresh], places[fresh]
        twice = len(fresh) - len(persons)
        persons_kept, counts = np.unique(persons, return_counts=True)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        if merged and twice:
            changes["notes"] = (*self.notes, f"{twice:,} {merged}")
        # Only reading merges with a note, so that tells a file from a change made here.
        changes["as_read"] = bool(merged)
        # People without points are gone, and their columns, names and origins go with them.
        if len(persons_kept) < self.people:
            changes |= self._of_people(persons_kept)
        return dataclasses.replace(
            self, starts=starts, ticks=ticks, places=places, table=place_table, **changes
        )

    def _of_people(self, persons: NDArray[np.int64]) -> Document:
        """What is told of some of the people, in the order they are named in."""
        origin = persons if self.origin is None else self.origin[persons]
        return {
            # A table without columns does not know its height.
            "own": self.own[persons] if self.own.width else pl.DataFrame(height=len(persons)),
            "origin": origin,
            "names": None if self.names is None else self.names.gather(persons),
        }

    def shuffled(self, stream: np.random.Generator) -> Self:
        """The same people in a random order under new numbers."""
        # Person ``order[i]`` becomes person i; ``new_numbers`` is the inverse.
        order = stream.permutation(self.people).astype(np.int64)
        new_numbers = np.empty_like(order)
        new_numbers[order] = np.arange(self.people)
        # Names are for the people as the file has them; a shuffled release must not carry them.
        person_fields = self._of_people(order) | {"names": None}
        counts = np.diff(self.starts)[order]
        # Stable, so that the points of a person stay in the order of time.
        by_person = np.argsort(new_numbers[self.who], kind="stable")
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return dataclasses.replace(
            self,
            starts=starts,
            ticks=self.ticks[by_person],
            places=self.places[by_person],
            **person_fields,
        )

    # Writing.

    def to_tables(self) -> dict[str, pl.DataFrame]:
        """A row for each point, people numbered from 1, sorted by person, time and place; the
        people's own columns where they were.
        """
        person = self.schema.person or ""
        numbers = pl.Series(person, self.who + 1, dtype=pl.Int64)
        where = self.table[self.places]
        columns = {
            person: numbers,
            self.schema.columns(Role.TIME)[0]: self.clock.written(self.ticks),
        }
        columns |= {name: where[name] for name in where.columns}
        # Own columns that stood in the rows of points are repeated there again.
        repeated = self.own.drop(self.apart or ())
        columns |= {name: repeated[name].gather(self.who) for name in repeated.columns}
        tables = {
            "data": pl.DataFrame(
                {name: columns[name] for name in self.schema.attributes if name in columns}
            )
        }
        if self.apart is not None and self.key is not None:
            key = pl.Series(self.key, np.arange(1, self.people + 1), dtype=pl.Int64)
            tables["people"] = self.own.select(self.apart).insert_column(0, key)
        return tables


# Reading.


def _columns(
    data: pl.DataFrame, schema: Schema, source: Source
) -> tuple[str, str, tuple[str, ...]]:
    """The columns of person, time and place; everything wrong with the roles is told at once."""
    problems = [
        *missing_column_problems(data.columns, source, schema.attributes),
        *without_role(data.columns, source, schema.attributes, SERVED),
        *schema.undecided(source.name),
    ]
    for role in (Role.ITEM, Role.FROM, Role.TO):
        for name in schema.columns(role):
            problems.append(
                f"column {name!r} of {source.name} has role {role!s}, which paths do not use; they "
                f"use {SERVED}"
            )
    units, times, places = (schema.columns(role) for role in (Role.PERSON, Role.TIME, Role.PLACE))
    if len(units) != 1 or schema.person is None:
        problems.append(
            f"paths need one column with role person, which identifies the persons; {len(units)} "
            "have it"
        )
    if len(times) != 1:
        problems.append(f"paths need one column with role time; {len(times)} have it")
    if len(places) not in (1, 2):
        problems.append(
            "paths need one column with role place, or two of coordinates (x and y, or longitude "
            f"and latitude); {len(places)} have it"
        )
    if problems:
        raise SchemaError(problems)
    return units[0], times[0], places


def _require_no_gaps(data: pl.DataFrame, columns: tuple[str, ...], source: Source) -> None:
    problems = []
    for name in columns:
        gaps = data[name].null_count()
        # NaN is not missing for the table, but it is no place either.
        if data[name].dtype.is_float():
            gaps += int(data[name].is_nan().sum())
        if gaps:
            problems.append(
                f"{gaps:,} of {data.height:,} rows of {source.name} have no value in column "
                f"{name!r}; remove these rows"
            )
    if problems:
        raise SchemaError(problems)


def numbered_people(column: pl.Series) -> tuple[NDArray[np.int64], pl.Series]:
    """The number of the person of every row, and what the file calls them, in order: whole numbers
    by size, all else as text.

    >>> numbered_people(pl.Series(["10", "9", "10"]))[0].tolist()
    [1, 0, 1]
    """
    values = column
    if not column.dtype.is_integer():
        values = column.cast(pl.String)
    if values.dtype == pl.String:
        whole = values.cast(pl.Int64, strict=False)
        # Only if all are written as numbers write themselves: 007 and 7 are two people.
        if not whole.null_count() and (whole.cast(pl.String) == values).all():
            values = whole
    names = values.unique().sort()
    return values.rank("dense").cast(pl.Int64).to_numpy() - 1, names.cast(pl.String)


def _places(columns: pl.DataFrame) -> tuple[NDArray[np.int64], pl.DataFrame]:
    """The number of the place of every row, and the table of places; one column is text, two are
    numbers or both generalised.
    """
    # Places by name are labels even where they look like numbers: their hierarchy has labels.
    if columns.width == 1:
        columns = columns.select(pl.all().cast(pl.String))
    else:
        numeric = [columns[name].dtype.is_numeric() for name in columns.columns]
        if any(numeric) and not all(numeric):
            raise SchemaError(
                f"the place columns {join_words(map(repr, columns.columns))} must both be numbers;"
                " one of them is not"
            )
        columns = columns.select(pl.all().cast(pl.Float64 if all(numeric) else pl.String))
    if all(kind.is_float() for kind in columns.dtypes):
        wild = int((~np.isfinite(columns.to_numpy())).any(axis=1).sum())
        if wild:
            raise SchemaError(
                f"{wild:,} of {columns.height:,} points have a coordinate that is not a "
                "finite number; correct or remove them"
            )
    # Sorted, so that place numbers do not depend on the order of rows.
    table = columns.unique().sort(columns.columns)
    numbers = table.with_row_index("number").with_columns(pl.col("number").cast(pl.Int64))
    rows = columns.join(numbers, on=columns.columns, how="left", maintain_order="left")
    return rows["number"].to_numpy(), table


def _order_notes(persons: NDArray[np.int64], ticks: NDArray[np.int64]) -> list[str]:
    """How many rows stand before an earlier one of the same person."""
    # Stable: rows of one person keep the order of the file, which is what is checked.
    by_person = np.argsort(persons, kind="stable")
    back = (np.diff(persons[by_person]) == 0) & (np.diff(ticks[by_person]) < 0)
    count = int(np.count_nonzero(back))
    if not count:
        return []
    return [f"{count:,} row(s) were not in the order of time and were sorted"]


def _own_columns(
    data: pl.DataFrame, schema: Schema, persons: NDArray[np.int64], names: pl.Series
) -> tuple[pl.DataFrame, list[str]]:
    """The people's own columns that are repeated in their points: they must be the same in all of
    them.
    """
    own = [name for name in schema.attributes if any(schema[name].has(role) for role in OWN)]
    if not own:
        return pl.DataFrame(height=len(names)), []
    if "_who" not in own:
        rows = data.select(own).with_columns(pl.Series("_who", persons))
    else:
        rows = data.select(own)
    by = pl.Series("_who", persons)
    # The first value stands for all, once it is known that there is only one.
    grouped = rows.group_by(by, maintain_order=False).agg(
        pl.col(own).first(), pl.col(own).n_unique().name.prefix("_n_")
    )
    torn = [name for name in own if bool((grouped[f"_n_{name}"] > 1).any())]
    if torn:
        raise SchemaError(
            [
                f"column {name!r} differs between the points of "
                f"{int((grouped[f'_n_{name}'] > 1).sum()):,} person(s), but a person's own column "
                "must be constant. Give a column that describes points role drop"
                for name in torn
            ]
        )
    return grouped.sort("_who").select(own), []


def _beside(
    table: pl.DataFrame, schema: Schema, names: pl.Series, source: Source
) -> tuple[str, pl.DataFrame]:
    """The key of the table of people, and its own columns in the order of the people; people
    without points are left out.
    """
    problems = [
        *missing_column_problems(
            table.columns,
            dataclasses.replace(source, name="the table of people"),
            schema.attributes,
        ),
        *without_role(
            table.columns,
            dataclasses.replace(source, name="the table of people"),
            schema.attributes,
            SERVED,
        ),
        *schema.undecided("the table of people"),
    ]
    key = schema.person
    if key is None:
        problems.append(
            "the table of people needs one column with role person, which identifies the persons"
        )
    if problems or key is None:
        raise SchemaError(problems)
    keys = table[key].cast(pl.String)
    if keys.null_count() or keys.n_unique() < len(keys):
        raise SchemaError(
            f"the table of people has {keys.null_count():,} row(s) without a person and "
            f"{len(keys) - keys.n_unique():,} repeated person(s); correct them"
        )
    own = [name for name in schema.attributes if any(schema[name].has(role) for role in OWN)]
    # The people with points decide who is there; the table of people may hold others.
    matched_rows = pl.DataFrame({"": names}).join(
        table.select(pl.Series("", keys), *own), on="", how="left", maintain_order="left"
    )
    absent = len(names) - len(set(names.to_list()) & set(keys.to_list()))
    if absent:
        raise SchemaError(
            f"{absent:,} of {len(names):,} person(s) with points are missing from the "
            "table of people; add them"
        )
    return key, matched_rows.select(own)


def require_paths(people: object, method: str) -> Trajectories:
    """The people as paths, or an error that names who asked."""
    if not isinstance(people, Trajectories):
        raise ParameterError(f"{method} works on paths; these data have another shape")
    return people
