"""One table of several: its rows without their keys, and whose each of them is."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

from sfumato.core.relations import Link
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.source import Source
from sfumato.core.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TableRows:
    """The rows of one table. Keys are numbers here: ``above`` is the row of the table above,
    ``owner`` the person at the top.

    ``frame`` has the columns that are no keys; ``schema`` describes all. ``names`` are the keys as
    they were read, which are never written; ``labels`` what is written for them, ``groups`` what is
    written for the person where the table does not join with the people. ``origin`` is per row the
    number of the row it was; None: all of them in their order.
    """

    link: Link
    schema: Schema
    frame: pl.DataFrame
    above: NDArray[np.int64]
    owner: NDArray[np.int64]
    names: pl.Series | None = None
    labels: pl.Series | None = None
    groups: pl.Series | None = None
    origin: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.owner)

    def __repr__(self) -> str:
        return (
            f"TableRows({self.name!r}: {len(self):,} rows, {self.frame.width} columns besides keys)"
        )

    @property
    def name(self) -> str:
        """What the table is called."""
        return self.link.table

    @property
    def is_people(self) -> bool:
        """Whether every row is a person."""
        return self.link.foreign is None

    @property
    def apart(self) -> bool:
        """Whether rows tell which of them are one person's, but not who of the people that is."""
        return self.link.foreign is not None and self.link.parent is None

    @property
    def described(self) -> Schema:
        """What the columns are that are no keys."""
        return self.schema.without(self.link.columns)

    def taken(
        self, rows: NDArray[np.int64], above: NDArray[np.int64], owner: NDArray[np.int64]
    ) -> Self:
        """Some of the rows in the order given, under the new numbers of the rows above and of the
        persons.
        """
        return dataclasses.replace(
            self,
            frame=gathered(self.frame, rows),
            above=above,
            owner=owner,
            names=_gathered(self.names, rows),
            labels=_gathered(self.labels, rows),
            groups=_gathered(self.groups, rows),
            # Always the number of the very first row, through several changes.
            origin=rows if self.origin is None else self.origin[rows],
        )

    @cached_property
    def dataset(self) -> Table:
        """The table by itself; below the people every row has the number of its person, so that
        persons are counted and not rows.
        """
        source = Source(name=self.name)
        # In the people's table every row is a person, so rows need no number of one.
        if self.is_people or self.link.foreign is None:
            table = Table(self.frame, source=source)  # type: ignore[arg-type]
            return table.with_schema(self.described).with_text_coded()
        unit = self.link.foreign
        # A frame without columns has no rows, so it cannot take a further column.
        if self.frame.width:
            frame = self.frame.with_columns(pl.Series(unit, self.owner))
        else:
            frame = pl.DataFrame({unit: self.owner})
        schema = Schema({**self.described.attributes, unit: Attribute((Role.PERSON,))})
        table = Table(frame, source=source)  # type: ignore[arg-type]
        return table.with_schema(schema).with_text_coded()

    def with_dataset(self, changed: Table) -> Self:
        """The same rows with what a step made of them; ``changed`` must hold all of them in their
        order.
        """
        keys = {name: self.schema[name] for name in self.link.columns}
        # The number of the person was only lent to the step; keys stay as they were.
        unit = () if self.is_people or self.link.foreign is None else (self.link.foreign,)
        frame = plain(changed.drop(unit).to_polars())
        schema = Schema({**keys, **changed.schema.without(unit).attributes})
        return dataclasses.replace(self, frame=frame, schema=schema)


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame whose categories are text: a list of all of them would go along with every row."""
    listed = [
        name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Categorical | pl.Enum)
    ]
    if not listed:
        return frame
    return frame.with_columns(frame[name].cast(pl.String) for name in listed)


def gathered(frame: pl.DataFrame, rows: NDArray[np.int64]) -> pl.DataFrame:
    """Some rows of a frame in the order given; one without columns has no rows to give."""
    return frame[rows] if frame.width else frame


def _gathered(series: pl.Series | None, rows: NDArray[np.int64]) -> pl.Series | None:
    return None if series is None else series.gather(rows)
