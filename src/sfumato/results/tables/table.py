"""Tables of counts and sums: made from records, held as equations, judged by rules."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl

from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, TableBlock
from sfumato.core.fields import Fields
from sfumato.core.options import CommandOption
from sfumato.core.table import Table, as_table
from sfumato.core.words import count_of, join_words, percent
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.results.tables.cells import (
    Contributions,
    Dimension,
    TableCells,
    amounts,
    apart,
    cells_of,
    dimension_of,
    some_negative,
)
from sfumato.results.tables.problem import NOBODY, Problem
from sfumato.results.tables.record_selection import select_records
from sfumato.results.tables.rules import BEYOND, Dominance, PPercent, SensitivityRule, Threshold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.release.register.store import Register
    from sfumato.results.tables.arrays import Codes, Floats, Mask
    from sfumato.results.tables.protected_table import ProtectedTable
    from sfumato.results.tables.published_tables import TableMemory

MEASURE = re.compile(r"\s*(?:(count|rows)|sum\((.+)\))\s*")
LEAST = 1e-8
"""How far a sensitive sum must stay unknown at least, as a share of the grand total: less is within
the slack of comparisons.
"""
Zeros = Literal["known", "free"]
Weight = Literal["value", "one", "log"]


@dataclasses.dataclass(frozen=True)
class TableMeasure:
    """What the cells of a table say: persons (``count``), rows, or the sum of a column."""

    kind: Literal["count", "rows", "sum"]
    column: str | None = None

    @classmethod
    def of(cls, text: str) -> TableMeasure:
        """A measure from its text.

        >>> TableMeasure.of("sum(cost)"), str(TableMeasure.of("count"))
        (TableMeasure(kind='sum', column='cost'), 'count')
        """
        match = MEASURE.fullmatch(text)
        if match is None:
            raise ParameterError(
                "a table shows 'count' (persons), 'rows', or 'sum(column)'; write for example "
                "sum(cost)"
            )
        return cls("sum", match[2].strip()) if match[2] else cls(match[1])  # type: ignore[arg-type]

    def __str__(self) -> str:
        if self.kind == "sum":
            return f"sum({self.column})"
        return self.kind


@dataclasses.dataclass(frozen=True)
class CountOptions:
    """How contributions are counted and summed.

    Margins are the levels of ``hierarchies``, by column, else of those of the table. Contributions
    are multiplied by ``weight``, a column, before they are ranked and summed; persons are counted
    without it. Negative ones are refused unless ``negatives="absolute"``: then they are ranked and
    judged by their absolute value, and the true sum is published. Missing contributions are none;
    with ``missing_counts`` their persons are counted.
    """

    panel: ClassVar[str] = "What is counted"
    hierarchies: Fields | None = None
    weight: Annotated[str | None, CommandOption("column that contributions are multiplied by")] = (
        None
    )
    negatives: Literal["refuse", "absolute"] = "refuse"
    missing_counts: Annotated[
        bool, CommandOption("count persons without a contribution", ("--missing-counts",))
    ] = False


def tabulate(
    table: object,
    by: Sequence[str] | Sequence[Sequence[str]],
    measure: str = "count",
    *,
    unit: Annotated[
        str | None,
        CommandOption(
            "column of the person; else every row counts as one", panel=CountOptions.panel
        ),
    ] = None,
    where: Annotated[
        str | None,
        CommandOption(
            'only these records: "year = 2024 and region in n1, n2"; = != < <= > >= in, not in',
            panel=CountOptions.panel,
        ),
    ] = None,
    register: Register | str | Path | None = None,
    options: CountOptions = CountOptions(),
) -> MagnitudeTable:
    """Count persons, or sum a column, by other columns; margins are the levels of their hierarchies
    and the total.

    ``by`` names the columns, or lists of columns of several tables that are published together:
    cells that they share are one. ``unit`` is the column that tells persons apart (else the one
    with that role; else every row is a person): rows of a person in a cell are one contribution, in
    margins too. ``measure`` is ``count`` (persons), ``rows`` (rows, judged by persons) or
    ``sum(column)``. A missing value of a column is a category of its own. ``where`` keeps the
    records that fulfil conditions (``"year = 2024 and town != 'Bath'"``): a column, one of
    ``= != < <= > >= in`` and ``not in``, and a value or, for the last two, several with commas
    between; names and values may stand in quotes. A missing value fulfils none. ``register`` is a
    register of releases (its file, or the open register): the table is then protected and audited
    together with the tables that were published of the same records before.

    >>> import polars as pl
    >>> people = pl.DataFrame({"region": ["n", "n", "s"], "cost": [10, 5, 7]})
    >>> tabulate(people, ["region"], "sum(cost)").shape
    (3,)
    """
    dataset = as_table(table)
    groups = _groups(by)
    table_measure = TableMeasure.of(measure)
    person = unit or dataset.schema.person
    columns = list(dict.fromkeys(name for group in groups for name in group))
    dataset.require(
        [
            *columns,
            *(
                column
                for column in (table_measure.column, person, options.weight)
                if column is not None
            ),
        ]
    )
    if direct_columns := [name for name in columns if name in dataset.schema.dropped_columns]:
        raise SchemaError(
            f"{join_words(repr(name) for name in direct_columns)} names people (role drop), and"
            " the labels of a table are published; tabulate by other columns"
        )
    if len(dataset) == 0:
        raise SchemaError(f"{dataset.source.name} has no rows; there is nothing to tabulate")
    full, rows = dataset, np.arange(len(dataset))
    respondent = rows if person is None else dataset.encoded(person).codes
    if where is not None:
        rows = select_records(full, where)
        if not len(rows):
            raise SchemaError(
                f"no record of {full.source.name} satisfies the condition, so there is nothing to "
                "tabulate; change the condition"
            )
        dataset = full.take(rows)
    amount = amounts(dataset, table_measure, options.weight, options.negatives)
    dimensions_and_codes = [
        dimension_of(name, dataset.encoded(name), _hierarchy(dataset, name, options.hierarchies))
        for name in columns
    ]
    respondents = respondent[rows]
    codes = np.stack(
        [
            code[dataset.encoded(name).codes]
            for name, (_, code) in zip(columns, dimensions_and_codes, strict=True)
        ]
    )
    contributions = Contributions(codes, respondents, amount, options.missing_counts)
    if table_measure.kind == "count" and person is not None:
        _require_one_place(codes, respondents)
    column_groups = tuple(tuple(columns.index(name) for name in group) for group in groups)
    if register is None:
        memory = None
    else:
        memory = _memory(register, full, rows, respondent, person)
    dimensions = tuple(column for column, _ in dimensions_and_codes)
    absolute = options.negatives == "absolute" and some_negative(full, table_measure)
    return MagnitudeTable(
        dimensions,
        column_groups,
        table_measure,
        contributions,
        absolute,
        person,
        options.weight,
        where=where,
        memory=memory,
    )


def _memory(
    register: Any,
    full: Table,
    rows: Codes,
    respondent: Codes,
    person: str | None,
) -> TableMemory:
    from sfumato.release.register.store import Register, open_register
    from sfumato.results.tables.published_tables import TableMemory

    if full.copies is not None:
        raise ParameterError(
            "a table that was counted by an engine has no records to register; read it into memory"
        )
    if isinstance(register, Register):
        register_opened = register
    else:
        register_opened = open_register(register)
    return TableMemory(register_opened, full, rows, respondent, () if person is None else (person,))


def _groups(by: Sequence[Any]) -> list[list[str]]:
    if isinstance(by, str):
        raise ParameterError("by must be a list of columns: by=['region', 'diagnosis']")
    if all(isinstance(column, str) for column in by):
        groups = [list(by)]
    else:
        groups = [[column] if isinstance(column, str) else list(column) for column in by]
    if not groups or not all(groups):
        raise ParameterError("a table needs at least one column to be tabulated by")
    if any(len(set(group)) < len(group) for group in groups):
        raise ParameterError("the table names a column twice; name each once")
    return groups


def _hierarchy(dataset: Table, name: str, hierarchies: Fields | None) -> Any:
    if hierarchies and name in hierarchies:
        return hierarchies[name]
    if name not in dataset.schema.attributes:
        return None
    return dataset.schema.attributes[name].hierarchy


def _require_one_place(codes: Codes, respondents: Codes) -> None:
    """Persons add up only where each is in one cell."""
    order = np.lexsort((*codes, respondents))
    person, cell_codes = respondents[order], codes[:, order]
    is_second_cell = (person[1:] == person[:-1]) & (cell_codes[:, 1:] != cell_codes[:, :-1]).any(
        axis=0
    )
    persons_in_many = len(np.unique(person[1:][is_second_cell]))
    if persons_in_many:
        raise SchemaError(
            f"{persons_in_many:,} persons have rows in several cells, so counts of persons do not "
            "add up to their margins; count rows ('region: rows' on the command line, "
            "measure='rows' in Python; judged by persons), or keep one row per person"
        )


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class MagnitudeTable(Reportable):
    """Tables that are published together, as their owner sees them. Nothing of it is safe to share
    before it is protected.
    """

    dimensions: tuple[Dimension, ...]
    places: tuple[tuple[int, ...], ...]
    measure: TableMeasure
    contributions: Contributions
    absolute: bool = False
    unit: str | None = None
    weight: str | None = None
    known: dict[int, tuple[TableCells, ...]] = dataclasses.field(default_factory=dict)
    where: str | None = None
    memory: TableMemory | None = None

    @property
    def counted(self) -> bool:
        """Whether the cells count persons."""
        return self.measure.kind == "count"

    @property
    def whole(self) -> bool:
        """Whether all cells are whole numbers."""
        return self.measure.kind != "sum"

    def attacked_by_singles(self, singles: bool | None) -> bool:
        """Whether respondents who are alone in a cell attack with what they know of it: by default
        of sums.
        """
        return (not self.whole) if singles is None else singles

    @property
    def shape(self) -> tuple[int, ...]:
        """Nodes per column of the first table, the total among them."""
        return tuple(self.dimensions[at].size for at in self.places[0])

    def cells(self, depth: int = 2) -> tuple[TableCells, ...]:
        """The cells of every table, with so many of the largest contributions."""
        # cells with more of the largest contributions serve a rule that needs fewer of them
        if not (deep := [known_depth for known_depth in self.known if known_depth >= depth]):
            self.known[depth] = tuple(
                cells_of(
                    tuple(self.dimensions[at] for at in group),
                    self._part(group),
                    is_count=self.counted,
                    depth=depth,
                )
                for group in self.places
            )
            deep = [depth]
        return self.known[min(deep)]

    def _part(self, group: tuple[int, ...]) -> Contributions:
        return dataclasses.replace(self.contributions, codes=self.contributions.codes[list(group)])

    @cached_property
    def variables(self) -> tuple[Codes, ...]:
        """Per table and cell the number of what it holds; cells that hold the same records, in one
        table or two, share it.
        """
        # as floats: the product of whole numbers of 64 bits could overflow unnoticed
        sizes = [float(dimension.size) for dimension in self.dimensions]
        if np.prod(sizes) > 2**62:
            raise ParameterError(
                "the tables have too many columns together; publish fewer of them at once"
            )
        keys = [self._keys(group) for group in self.places]
        _, numbers = np.unique(np.concatenate(keys), return_inverse=True)
        return tuple(np.split(numbers.astype(np.int64), np.cumsum([len(key) for key in keys])[:-1]))

    def _keys(self, group: tuple[int, ...]) -> Codes:
        """The nodes of every cell as one number; columns that a table lacks stand at their
        total.
        """
        # a number in mixed radix, one digit per column: equal keys mean equal records
        key = np.zeros((), dtype=np.int64)
        for at, dimension in enumerate(self.dimensions):
            key = key * dimension.size
            if at in group:
                form = [1] * len(group)
                form[group.index(at)] = dimension.size
                # same: a node with one child has the number of that child, so both are one variable
                key = key + dimension.same.reshape(form)
            else:
                key = key + dimension.root
        return (
            np.broadcast_to(key, [self.dimensions[at].size for at in group])
            .reshape(-1)
            .astype(np.int64)
        )

    @cached_property
    def matrix(self) -> Any:
        """The equations between cells: one for every whole and every combination of the other
        columns.
        """
        from scipy import sparse

        rows, columns, signs, number = [], [], [], 0
        for group, variables in zip(self.places, self.variables, strict=True):
            dimensions = [self.dimensions[at] for at in group]
            grid = variables.reshape([axis_dimension.size for axis_dimension in dimensions])
            for axis, dimension in enumerate(dimensions):
                # sums are written once for nodes that stand for themselves; the others would repeat
                # them
                other_axes = [
                    np.unique(axis_dimension.same)
                    for axis_number, axis_dimension in enumerate(dimensions)
                    if axis_number != axis
                ]
                lines = np.moveaxis(grid, axis, 0)
                for whole, parts in dimension.parts.items():
                    lines_kept = lines[np.ix_(np.r_[parts, whole], *other_axes)].reshape(
                        len(parts) + 1, -1
                    )
                    # a row per combination of the other columns, +1 for every part and −1 for the
                    # whole
                    rows.append(
                        np.tile(number + np.arange(lines_kept.shape[1]), lines_kept.shape[0])
                    )
                    columns.append(lines_kept.reshape(-1))
                    signs.append(np.repeat(np.r_[np.ones(len(parts)), -1.0], lines_kept.shape[1]))
                    number += lines_kept.shape[1]
        count = 1 + max(int(axis_dimension.max()) for axis_dimension in self.variables)
        if not rows:
            return sparse.csr_matrix((0, count))
        where = (np.concatenate(rows), np.concatenate(columns))
        return sparse.csr_matrix((np.concatenate(signs), where), shape=(number, count))

    def of_variables(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """What is known per cell of every table, per variable."""
        # all cells of one variable hold the same, so the first one speaks for them
        _, first = np.unique(np.concatenate(self.variables), return_index=True)
        values: NDArray[Any] = np.concatenate(list(parts))[first]
        return values

    def labels(self, number: int = 0) -> pl.DataFrame:
        """The labels of all cells of one table, in the order of the cells."""
        dimensions = [self.dimensions[at] for at in self.places[number]]
        nodes = np.unravel_index(
            np.arange(len(self.variables[number])), [dimension.size for dimension in dimensions]
        )
        return pl.DataFrame(
            {
                dimension.column: pl.Series(list(dimension.labels)).gather(at)
                for dimension, at in zip(dimensions, nodes, strict=True)
            }
        )

    def sensitive(self, *rules: SensitivityRule | Sequence[SensitivityRule]) -> SensitiveTable:
        """Judge every cell by rules; without any, by those that are usual for counts or for
        sums.
        """
        flat = [
            rule
            for rule_or_rules in rules
            for rule in (rule_or_rules if isinstance(rule_or_rules, Sequence) else [rule_or_rules])
        ]
        if not all(isinstance(rule, SensitivityRule) for rule in flat):
            raise ParameterError(
                "cells are judged by rules: table.sensitive(sf.Threshold(5), sf.PPercent(10))"
            )
        return SensitiveTable(self, tuple(flat) or usual_rules(self.measure))

    def protect(
        self, rules: str | SensitivityRule | Sequence[SensitivityRule] = (), **options: Any
    ) -> ProtectedTable:
        """Judge and protect at once; see :meth:`SensitiveTable.protect`. A method in place of rules
        goes with the usual ones: ``table.protect("heuristic")``.
        """
        if isinstance(rules, str):
            return self.sensitive().protect(rules, **options)
        return self.sensitive(rules).protect(**options)

    def to_polars(self, number: int = 0) -> pl.DataFrame:
        """All cells of one of the tables with their true values, for the owner."""
        return self.with_values(number, self.cells()[number].value)

    def with_values(self, number: int, values: Any) -> pl.DataFrame:
        """The labels of one of the tables and a column of what its cells say, named by the measure;
        by another name where a column has that one.
        """
        labels = self.labels(number)
        *_, name = apart([*labels.columns, str(self.measure)])
        return labels.with_columns(pl.Series(name, values))

    def __repr__(self) -> str:
        groups_text = "; ".join(
            " × ".join(self.dimensions[at].column for at in group) for group in self.places
        )
        return (
            f"MagnitudeTable {groups_text}: {self.measure},"
            f" {sum(len(variables_of_group) for variables_of_group in self.variables):,}"
            " cells (unprotected)"
        )

    def blocks(self) -> Sequence[Block]:
        """Its columns and how many nodes each has."""
        rows = tuple((dimension.column, dimension.size) for dimension in self.dimensions)
        return [TableBlock(("column", "nodes"), rows, repr(self))]

    def __str__(self) -> str:
        return repr(self)


def usual_rules(measure: TableMeasure) -> tuple[SensitivityRule, ...]:
    """What output checkers usually ask for: at least ten persons and, of sums, nobody who
    dominates.
    """
    if measure.kind == "sum":
        return (Threshold(), Dominance(), PPercent())
    return (Threshold(),)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SensitiveTable:
    """A table judged by rules: which cells must not be revealed, and how far they must stay
    unknown.
    """

    table: MagnitudeTable
    rules: tuple[SensitivityRule, ...]

    @cached_property
    def cells(self) -> tuple[TableCells, ...]:
        """The cells as the rules need them."""
        return self.table.cells(max(2, *(rule.depth for rule in self.rules)))

    @cached_property
    def found(self) -> dict[str, Mask]:
        """Per rule the variables that it finds unsafe."""
        cells_by_rule: dict[str, Mask] = {}
        for rule in self.rules:
            unsafe = self._either([rule.unsafe(group_cells) for group_cells in self.cells])
            cells_by_rule[rule.name] = cells_by_rule.get(rule.name, np.zeros_like(unsafe)) | unsafe
        return cells_by_rule

    def _either(self, parts: Sequence[Mask]) -> Mask:
        """Unsafe in one place is unsafe in all that hold the same."""
        numbers = np.concatenate(self.table.variables)
        # a variable that is in several cells is unsafe where a rule finds one of them so
        return np.bincount(numbers, weights=np.concatenate(list(parts))) > 0

    @cached_property
    def unsafe(self) -> Mask:
        """The variables that must not be revealed."""
        unsafe: Mask = np.logical_or.reduce(list(self.found.values()))
        return unsafe

    def __len__(self) -> int:
        return int(self.unsafe.sum())

    def count(self) -> dict[str, int]:
        """How many cells each rule finds unsafe."""
        return {name: int(is_unsafe.sum()) for name, is_unsafe in self.found.items()}

    def need(self) -> Floats:
        """How far each unsafe cell must stay unknown: the most that a rule asks for that finds it
        unsafe.
        """
        need = np.zeros(len(self.unsafe))
        for rule in self.rules:
            needs = np.concatenate(
                [
                    np.where(rule.unsafe(group_cells), rule.need(group_cells), 0.0)
                    for group_cells in self.cells
                ]
            )
            np.maximum.at(need, np.concatenate(self.table.variables), needs)
        return need

    def at_least(self, need: Floats) -> Floats:
        """How far cells must stay unknown: whole persons of counts, and more than comparisons are
        off by.
        """
        if self.table.whole:
            # 1e-9: a need that is whole but for rounding errors must not ask for one person more
            return np.ceil(np.maximum(need, 1.0) - 1e-9)
        return np.maximum(
            need,
            LEAST * float(max(group_cells.size.max(initial=0.0) for group_cells in self.cells)),
        )

    def problem(
        self,
        *,
        weight: Weight = "value",
        zeros: Zeros = "known",
        singles: bool | None = None,
        slide: float = 0.0,
        prior: float | None = None,
        total_known: bool = True,
    ) -> Problem:
        """The equations, the intruder's bounds and what must stay unknown.

        ``slide`` asks for intervals as wide as so many times what is asked for on both sides (SPL);
        an intruder with ``prior`` knows every cell within so many percent before. The grand total
        bounds all cells, unless it is sensitive or not ``total_known``, as where earlier tables may
        ask for its suppression. Of sums both sides alike; a count must be able to be one less, and
        up as far as the rules ask. Nobody is asked to believe in negative contributions where there
        are none.
        """
        pick, cells = self.table.of_variables, self.cells
        value, count, size = (
            pick([getattr(group_cells, name) for group_cells in cells])
            for name in ("value", "n", "size")
        )
        top = float(size.max(initial=0.0))
        largest_cell = int(np.argmax(size))
        # a sensitive total is not published, so an intruder can only guess how large it is
        bounded = not self.unsafe[largest_cell] and (total_known or self.table.absolute)
        ceiling = top * (1.0 if bounded else BEYOND)
        lower = np.full(len(value), -ceiling if self.table.absolute else 0.0)
        up = np.where(self.unsafe, self.at_least(self.need()), 0.0)
        alone = self.table.attacked_by_singles(singles)
        if alone:
            owner = np.where(count == 1, pick([group_cells.owner for group_cells in cells]), NOBODY)
        else:
            owner = np.full(len(value), NOBODY)
        weights = {
            "value": np.abs(value),
            "one": np.ones(len(value)),
            "log": np.log1p(np.abs(value)),
        }
        if weight not in weights:
            raise ParameterError("the weight of a cell must be 'value', 'one' or 'log'")
        # of a count one less is enough downwards: small counts are hidden by what they could be
        # upwards
        if self.table.counted:
            protection = np.where(self.unsafe, 1.0, 0.0)
        else:
            protection = up
        # not below what an intruder believes possible: nobody can be asked for less than nothing
        down = np.minimum(protection, value - lower)
        upper = np.full(len(value), ceiling)
        if prior is not None:
            lower, upper = self._known_before(value, lower, upper, prior, up, down)
        free = (count > 0) | (zeros == "free")
        return Problem(
            self.table.matrix,
            value,
            lower,
            upper,
            self.unsafe,
            up,
            down,
            weights[weight],
            free,
            owner,
            self.table.whole,
            slide=slide * (up + down) if slide else None,
        )

    def _known_before(
        self,
        value: Floats,
        lower: Floats,
        upper: Floats,
        prior: float,
        up: Floats,
        down: Floats,
    ) -> tuple[Floats, Floats]:
        """Bounds of an intruder who knows every cell within some percent; refused where these tell
        sensitive cells by themselves.
        """
        reach = prior / 100 * np.abs(value)
        # whole persons only: within 10 % of 14 means from 13 to 15
        if self.table.whole:
            reach = np.floor(reach + 1e-9)
        lower, upper = np.maximum(lower, value - reach), np.minimum(upper, value + reach)
        near = 1e-9 * max(1.0, float(np.abs(value).max(initial=0.0)))
        lost = int(
            (self.unsafe & ((up > upper - value + near) | (down > value - lower + near))).sum()
        )
        if lost:
            raise Unsatisfiable(
                f"an intruder who knows every cell within {percent(prior / 100)} already knows "
                f"{lost:,} of {len(self):,} sensitive cells too well, whatever is suppressed; "
                "weaken the rules, or assume an intruder who knows less (a larger percentage)",
                closest={"sensitive": len(self), "unprotected": lost, "prior": prior},
            )
        return lower, upper

    def require_some_safe(self) -> None:
        """Raise where every cell with anybody in it is unsafe."""
        count = self.table.of_variables([group_cells.n for group_cells in self.cells])
        is_occupied = count > 0
        if is_occupied.any() and not self.unsafe[is_occupied].all():
            return
        largest, cells = int(count.max(initial=0)), int(is_occupied.sum())
        if cells > 1:
            all_of = f"all {cells:,} cells of the table are sensitive, including the total"
        else:
            all_of = "the only cell of the table is sensitive"
        raise Unsatisfiable(
            f"{all_of}, so nothing can be published; the largest cell holds "
            f"{count_of(largest, 'person')} (ask for fewer persons, weaken the rule, or tabulate "
            "more records)",
            closest={
                "cells": cells,
                "sensitive": len(self),
                "largest": largest,
                "by_rule": self.count(),
            },
        )

    def protect(self, method: str = "auto", **options: Any) -> ProtectedTable:
        """Publish what can be published;
        see :func:`sfumato.results.tables.protected_table.protect`.
        """
        from sfumato.results.tables.protected_table import protect

        return protect(self, method, **options)

    def __repr__(self) -> str:
        counts_text = ", ".join(f"{name} {count:,}" for name, count in self.count().items())
        return (
            f"SensitiveTable: {len(self):,} of {len(self.unsafe):,} cells sensitive ({counts_text})"
        )
