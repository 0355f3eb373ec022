"""Columns as cells that are known without looking at the data, and values for cells again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.declared import DeclaredTable, declared
from sfumato.core.fields import Fields
from sfumato.core.schema import Kind, Role, Schema
from sfumato.errors import ParameterError, SchemaError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Codes = NDArray[np.int64]

MOST_POINTS = 2**31
"""So many values of a column of numbers can be distinguished: more would be measured as fewer
anyway.
"""


@dataclasses.dataclass(frozen=True)
class WordCells:
    """A column of categories: one cell a value of its public domain, and one for everything else
    unless ``other`` takes that.
    """

    name: str
    domain: tuple[str, ...]
    other: str | None = None

    @property
    def size(self) -> int:
        """How many cells there are."""
        # One cell for what is not declared, unless some value takes it in.
        return len(self.domain) + (self.other is None)

    def cells(self, table: DeclaredTable) -> Codes:
        """The cell of every row."""
        codes = table.codes(self.name)
        if self.other is None:
            return codes
        # The code behind the last word stands for everything else.
        return np.where(codes == len(self.domain), self.domain.index(self.other), codes)

    def values(self, cells: Codes, rng: np.random.Generator) -> pl.Series:
        """A value for every cell: the word, as text whatever type the original has; missing for
        what is none.
        """
        words = pl.Series(self.name, [*self.domain, None], dtype=pl.String)
        return words.gather(pl.Series(cells))


@dataclasses.dataclass(frozen=True)
class NumberCells:
    """A column of numbers: the points of a public grid in runs of about equal length, and a cell
    for what is no number.

    The grid has the points low, low + 10^−decimals, …, high. Numbers beyond the bounds are moved to
    them.
    """

    name: str
    low: float
    high: float
    bins: int
    decimals: int = 0
    other: float | None = None

    @property
    def points(self) -> int:
        """How many points the grid has."""
        # Both ends are points: one more than there are steps.
        steps = np.rint((self.high - self.low) * 10.0**self.decimals)
        return int(steps) + 1

    @property
    def runs(self) -> int:
        """How many runs of points there are: no more than points."""
        return min(self.bins, self.points)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.runs + (self.other is None)

    def cells(self, table: DeclaredTable) -> Codes:
        """The cell of every row."""
        numbers, present = table.numbers(self.name)
        cells = self._run_of(numbers)
        if self.other is None:
            # The same cell for everybody without a number, whatever the cell holds.
            elsewhere = self.runs
        else:
            elsewhere = int(self._run_of(np.array([self.other]))[0])
        return np.where(present, cells, elsewhere)

    def values(self, cells: Codes, rng: np.random.Generator) -> pl.Series:
        """A value for every cell: a point of its run, all equally likely; missing where it is that
        of no number.
        """
        # Run r begins at the first point p with p · runs // points = r: rounded up.
        scaled_runs = -np.arange(self.runs + 1) * self.points
        first = -(scaled_runs // self.runs)
        run_numbers = np.minimum(cells, self.runs - 1)
        # Any point of the run: where the original number lay in it is not known.
        steps = rng.integers(first[run_numbers], first[run_numbers + 1])
        offsets = steps * 10.0**-self.decimals
        numbers = np.round(self.low + offsets, self.decimals)
        series = pl.Series(self.name, numbers).set(pl.Series(cells == self.runs), None)
        if self.decimals:
            return series
        return series.cast(pl.Int64)

    def _run_of(self, numbers: NDArray[np.float64]) -> Codes:
        steps = (numbers - self.low) * 10.0**self.decimals
        point = np.rint(steps).astype(np.int64)
        # Clipped before it is divided: numbers beyond the bounds count as the bound.
        clipped = np.clip(point, 0, self.points - 1)
        return clipped * self.runs // self.points


Cells = WordCells | NumberCells


@dataclasses.dataclass(frozen=True)
class Public:
    """What somebody said of the columns without looking at them: how finely numbers are
    distinguished, and what everything else counts as.
    """

    bins: Mapping[str, int]
    usual_bins: int
    decimals: Mapping[str, int]
    other: Fields
    leaves: Sequence[str]


def drawn_columns(schema: Schema, columns: Sequence[str]) -> list[str]:
    """The columns that are drawn: all but direct identifiers and the numbers of persons and
    households.
    """
    gone = {*schema.columns(Role.DROP), *schema.units}
    return [name for name in columns if name not in gone]


def cells_of(schema: Schema, names: Sequence[str], public: Public, step: str) -> dict[str, Cells]:
    """The cells of every column, from what is declared alone; one error with all columns of which
    too little is.
    """
    _require_names(names, public, step)
    declaration = declared(schema, domains=_domains_of_leaves(schema, public, step))
    undeclared = [
        # All at once: who declares columns does it from public knowledge, in one go.
        name
        for name in names
        if name not in declaration.bounds and name not in declaration.domains
    ]
    if undeclared:
        raise SchemaError(
            [
                f"{step}: column {name!r} has no public domain: {_what_to_say(schema, name)}"
                for name in undeclared
            ]
        )
    cells_by_name: dict[str, Cells] = {}
    for name in names:
        if name in declaration.domains:
            cells_by_name[name] = _words(name, declaration.domains[name], public, step)
        else:
            cells_by_name[name] = _numbers(name, declaration.bounds[name], public, step)
    return cells_by_name


def _what_to_say(schema: Schema, name: str) -> str:
    attribute = schema.attributes.get(name)
    if attribute is not None and attribute.kind is Kind.NUMERIC:
        return (
            "add 'bounds: [lowest, highest]' to its description, from public knowledge and not "
            "from the data"
        )
    listed = (
        attribute is not None
        and attribute.hierarchy is not None
        and attribute.hierarchy.listed() is not None
    )
    hint = ""
    if listed:
        hint = ", or name it under 'leaves' if its hierarchy was written without the data"
    return (
        "add 'domain: [a, b]' (or 'bounds: [lowest, highest]' for numbers) to its description, "
        f"from public knowledge and not from the data{hint}"
    )


def _domains_of_leaves(schema: Schema, public: Public, step: str) -> dict[str, tuple[str, ...]]:
    """The domains that are the leaves of hierarchies."""
    domains = {}
    for name in public.leaves:
        attribute = schema.attributes.get(name)
        leaves = None
        if not (attribute is None or attribute.hierarchy is None):
            leaves = attribute.hierarchy.listed()
        if leaves is None:
            raise SchemaError(
                f"{step}: leaves names {name!r}, which has no hierarchy that lists its values"
            )
        domains[name] = leaves
    return domains


def _require_names(names: Sequence[str], public: Public, step: str) -> None:
    for field, names_given in (
        ("bins", public.bins),
        ("decimals", public.decimals),
        ("other", public.other),
    ):
        wrong = [name for name in names_given if name not in names]
        if wrong:
            raise SchemaError(
                f"{step}: {field} names {wrong[0]!r}, which is not "
                f"synthesised.{did_you_mean(wrong[0], names)}"
            )


def _words(name: str, domain: tuple[str, ...], public: Public, step: str) -> WordCells:
    for field, options in (("bins", public.bins), ("decimals", public.decimals)):
        if name in options:
            raise ParameterError(
                f"{step}: {field} is for columns of numbers, but {name!r} has a domain; "
                "leave it out"
            )
    other_value = public.other.get(name)
    if other_value is not None and str(other_value) not in domain:
        raise ParameterError(f"{step}: other of column {name!r} must be a value of its domain")
    return WordCells(name, domain, None if other_value is None else str(other_value))


def _numbers(name: str, bounds: tuple[float, float], public: Public, step: str) -> NumberCells:
    other_value = public.other.get(name)
    if other_value is not None and (
        isinstance(other_value, str) or not bounds[0] <= other_value <= bounds[1]
    ):
        raise ParameterError(f"{step}: other of column {name!r} must be a number within its bounds")
    bins = public.bins.get(name, public.usual_bins)
    decimals = public.decimals.get(name, 0)
    if (bounds[1] - bounds[0]) * 10.0**decimals > MOST_POINTS:
        raise ParameterError(
            f"{step}: column {name!r} has too many decimals for bounds so far apart; give fewer"
        )
    return NumberCells(
        name, *bounds, bins, decimals, None if other_value is None else float(other_value)
    )


def code_rows(
    dataset: Table, cells: Mapping[str, Cells], rows: NDArray[np.bool_]
) -> dict[str, Codes]:
    """The cell of every row that counts, by column; what is in a row raises no error, whatever it
    is.
    """
    domains = {}
    for name, column_cells in cells.items():
        if isinstance(column_cells, WordCells):
            domains[name] = column_cells.domain
    bounds = {}
    for name, column_cells in cells.items():
        if isinstance(column_cells, NumberCells):
            bounds[name] = (column_cells.low, column_cells.high)
    table = DeclaredTable(dataset, declared(Schema({}), bounds=bounds, domains=domains), rows)
    return {name: column_cells.cells(table)[rows] for name, column_cells in cells.items()}
