"""The joint table of tables published together.

Tables a×b, b×c and a×c are margins of one table a×b×c, which nobody publishes and which must exist:
its cells are not negative, and whole where persons are counted. That bounds suppressed cells more
tightly than the sums inside of every table. Its cells are unknowns of the same problem; those in a
cell that is told to be empty are left out.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import InternalError
from sfumato.results.tables.audit import audit
from sfumato.results.tables.problem import NOBODY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.results.tables.arrays import Codes, Floats, Mask
    from sfumato.results.tables.audit import Move, Scope, TableAudit
    from sfumato.results.tables.cells import Contributions
    from sfumato.results.tables.problem import Problem
    from sfumato.results.tables.table import MagnitudeTable

MOST_JOINT = 5_000
"""Cells of a joint table up to which it is part of protection and audit."""
MOST_COMBINATIONS = 2_000_000
"""Combinations of values up to which those that could hold somebody are looked for."""

JointValues = Mapping[tuple[int, ...], tuple["Codes", "Floats"]]
"""Per list of columns the combinations of their lowest values that hold anything, as numbers, and
what they hold.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class JointTable:
    """The problem of published cells by themselves (``own``), and with the cells of joint tables
    after them, which nobody publishes.

    ``values`` says what the joint table holds. ``left_out`` counts the combinations of values of
    joint tables that are too large, and so not part of the problem.
    """

    own: Problem
    problem: Problem
    scope: Scope
    values: JointValues = dataclasses.field(default_factory=dict)
    left_out: int = 0

    @property
    def size(self) -> int:
        """Number of published cells."""
        return self.own.size

    def hidden(self, own: Mask) -> Mask:
        """What an intruder does not see when these published cells are suppressed."""
        return np.concatenate([own, np.ones(self.problem.size - self.size, dtype=bool)])

    def audit(
        self,
        own: Mask,
        *,
        exact: bool = True,
        moves: Mapping[int, Iterable[Move]] | None = None,
    ) -> TableAudit:
        """Least and most of every suppressed cell that is published somewhere."""
        return self.of_published(audit(self.problem, self.hidden(own), exact=exact, moves=moves))

    def of_published(self, table_audit: TableAudit) -> TableAudit:
        """What an audit says of the published cells, and what it looked at."""
        own = table_audit.hidden < self.size
        return dataclasses.replace(
            table_audit,
            hidden=table_audit.hidden[own],
            low=table_audit.low[own],
            high=table_audit.high[own],
            scope=self.scope,
        )


def with_joint_table(
    table: MagnitudeTable, problem: Problem, values: JointValues | None = None
) -> JointTable:
    """The problem of tables published together with the joint tables that it needs.

    ``values`` says what the joint tables hold; without, the records do.
    """
    nothing = (np.zeros(0, dtype=np.int64), np.zeros(0))
    has_many_tables = len(_largest(table.places)) > 1
    joint = JointTable(problem, problem, "all tables together" if has_many_tables else "one table")
    if not has_many_tables:
        return joint
    # circles for everybody; all columns where lone respondents attack, for each knows the own
    # values in all of them
    column_sets = circles_of(table.places)
    if problem.owned:
        column_sets = [
            tuple(sorted({column for group in table.places for column in group})),
            *column_sets,
        ]
    left_out = 0
    for columns in column_sets:
        # a larger joint table holds the smaller one and bounds it at least as tightly
        if any(set(columns) <= set(covered_columns) for covered_columns in joint.values):
            continue
        part = _part_of(table, problem, columns)
        if part is None:
            left_out = max(left_out, math.prod(len(_lowest(table, at)) for at in columns))
            continue
        if values is None:
            cell_numbers, holds = held_by(table, columns)
        else:
            cell_numbers, holds = values.get(columns, nothing)
        joint = _extend_joint(joint, table, columns, part, cell_numbers, holds)
    if left_out:
        joint = dataclasses.replace(joint, scope="each table by itself", left_out=left_out)
    return joint


# Which columns need a joint table.


def _largest(groups: Iterable[Collection[int]]) -> list[frozenset[int]]:
    """Lists of columns that are in no other one: their tables hold all the others."""
    distinct = list(dict.fromkeys(frozenset(group) for group in groups))
    return [
        column_set for column_set in distinct if not any(column_set < larger for larger in distinct)
    ]


def circles_of(groups: Iterable[Collection[int]]) -> list[tuple[int, ...]]:
    """Columns whose tables go round in a circle, as a×b, b×c and a×c do.

    Tables without circles are margins of some joint table as soon as they agree on what they share,
    whole numbers of a whole one: nothing more follows from it. A column that only one table has is
    left out, and so is a table whose columns another has, again and again; what remains is circles.

    Reference: Vorob'ev 1962, *Consistent families of measures and their extensions*,
    doi:10.1137/1107014.

    >>> circles_of([(0, 1), (1, 2), (0, 2)]), circles_of([(0, 1), (1, 2), (2, 3)])
    ([(0, 1, 2)], [])
    """
    edges = _largest(groups)
    # drop columns of one table only, and lists within others, until nothing changes
    while True:
        shared = {
            member
            for edge in edges
            for member in edge
            if sum(member in edge_set for edge_set in edges) > 1
        }
        fewer = [member for member in _largest(edge & shared for edge in edges) if member]
        if fewer == edges:
            break
        edges = fewer
    # circles that share a column are one
    circles: list[set[int]] = []
    for edge in edges:
        met = [member for member in circles if member & edge]
        circles = [*(member for member in circles if member not in met), set(edge).union(*met)]
    return [tuple(sorted(member)) for member in circles]


# The cells of a joint table.


def _lowest(table: MagnitudeTable, at: int) -> Codes:
    """The nodes of a column that are no sums."""
    dimension = table.dimensions[at]
    return np.setdiff1d(np.unique(dimension.same), np.array(list(dimension.parts), dtype=np.int64))


def held_by(table: MagnitudeTable, columns: tuple[int, ...]) -> tuple[Codes, Floats]:
    """What the records hold by combinations of the lowest values of columns."""
    from sfumato.results.tables.cells import decimals

    contributions: Contributions = table.contributions
    nodes = [table.dimensions[at].ancestors[-1][contributions.codes[at]] for at in columns]
    lowest = [_lowest(table, at) for at in columns]
    codes = [np.searchsorted(own, node) for own, node in zip(lowest, nodes, strict=True)]
    cell_numbers = np.ravel_multi_index(codes, [len(own) for own in lowest]).astype(np.int64)
    is_known = ~np.isnan(contributions.amount)
    if table.counted:  # a person in a cell is one, however many rows
        pairs = np.unique(
            np.stack([cell_numbers[is_known], contributions.respondent[is_known]]), axis=1
        )
        occupied, count = np.unique(pairs[0], return_counts=True)
        return occupied, count.astype(np.float64)
    # sums of doubles must not depend on the order of rows
    order = np.lexsort(
        (contributions.amount[is_known], contributions.respondent[is_known], cell_numbers[is_known])
    )
    occupied, which = np.unique(cell_numbers[is_known][order], return_inverse=True)
    amount = contributions.amount[is_known][order]
    total = np.bincount(which.reshape(-1), weights=amount, minlength=len(occupied)).astype(
        np.float64
    )
    decimal_places = decimals(amount)
    return occupied, total if decimal_places is None else np.round(total, decimal_places)


@dataclasses.dataclass(frozen=True, eq=False)
class _Part:
    """Combinations of values of some columns that could hold somebody, and per margin that is
    published the cell that each is in.
    """

    place: Codes
    margins: list[Codes]
    open_to: list[Codes]


def _part_of(table: MagnitudeTable, problem: Problem, columns: tuple[int, ...]) -> _Part | None:
    """The joint table of columns; None where it is too large."""
    lowest = [_lowest(table, at) for at in columns]
    shape = tuple(len(own) for own in lowest)
    if np.prod([float(size) for size in shape]) > MOST_COMBINATIONS:
        return None
    open_to = problem.free | problem.unknown
    possible = np.ones(shape, dtype=bool)
    cells = []
    for group in _largest(frozenset(group) & frozenset(columns) for group in table.places):
        grid = _margin(table, columns, group)
        cells.append((group, grid))
        # axes of length 1 for the columns that this margin lacks: the mask holds for all their
        # values
        form = [size if at in group else 1 for at, size in zip(columns, shape, strict=True)]
        possible &= open_to[grid].reshape(form)
    cell_numbers = np.flatnonzero(possible)
    if len(cell_numbers) > MOST_JOINT:
        return None
    codes = dict(zip(columns, np.unravel_index(cell_numbers, shape), strict=True))
    margins = [grid[tuple(codes[at] for at in columns if at in group)] for group, grid in cells]
    return _Part(cell_numbers, margins, [np.unique(grid[open_to[grid]]) for _, grid in cells])


def _margin(table: MagnitudeTable, columns: tuple[int, ...], group: frozenset[int]) -> Codes:
    """The cells of a margin by the lowest values of its columns, in the order of ``columns``; taken
    from a table that has all of them.
    """
    number = next(
        at for at, group_columns in enumerate(table.places) if group <= set(group_columns)
    )
    own = table.places[number]
    grid = table.variables[number].reshape([table.dimensions[at].size for at in own])
    # columns of the table that are not asked for stand at their total
    picked = grid[
        np.ix_(*(_lowest(table, at) if at in group else [table.dimensions[at].root] for at in own))
    ]
    common_columns = [at for at in own if at in group]
    picked = picked.reshape([len(_lowest(table, at)) for at in common_columns])
    order = sorted(
        range(len(common_columns)),
        key=lambda group_columns: columns.index(common_columns[group_columns]),
    )
    return picked.transpose(order)


def _extend_joint(
    joint: JointTable,
    table: MagnitudeTable,
    columns: tuple[int, ...],
    part: _Part,
    cell_numbers: Codes,
    holds: Floats,
) -> JointTable:
    """One more joint table after the cells that there are."""
    from scipy import sparse

    before, count = joint.problem, len(part.place)
    size = before.size + count
    if not np.isin(cell_numbers, part.place).all():
        raise InternalError("the joint table and its margins disagree")
    value = np.zeros(count)
    value[np.searchsorted(part.place, cell_numbers)] = holds
    rows = [
        sparse.csr_matrix(
            (before.matrix.data, before.matrix.indices, before.matrix.indptr),
            (before.matrix.shape[0], size),
        )
    ]
    for cells, wholes in zip(part.margins, part.open_to, strict=True):
        # every cell of the margin is the sum of the combinations in it; one that could hold nobody
        # is nothing
        line = np.concatenate([np.searchsorted(wholes, cells), np.arange(len(wholes))])
        at = np.concatenate([before.size + np.arange(count), wholes])
        signs = np.concatenate([np.ones(count), -np.ones(len(wholes))])
        rows.append(sparse.csr_matrix((signs, (line, at)), shape=(len(wholes), size)))
    # contributions of one respondent may cancel out in what is published, and then a part is larger
    # than the whole
    largest = max(
        float(np.abs(before.lower).max()),
        float(np.abs(before.upper).max()),
        float(np.abs(value).max(initial=0.0)),
    )
    problem = _append_unknowns(
        before,
        sparse.vstack(rows, format="csr"),
        value,
        -largest if table.absolute else 0.0,
        largest,
    )
    return dataclasses.replace(
        joint, problem=problem, values={**joint.values, columns: (cell_numbers, holds)}
    )


def _append_unknowns(
    before: Problem, matrix: object, value: Floats, low: float, high: float
) -> Problem:
    """A problem with more unknowns that nobody publishes."""
    count = len(value)

    def extend(own: NDArray[Any], fill_value: object) -> Any:
        return np.concatenate([own, np.full(count, fill_value, dtype=own.dtype)])

    if before.aside is None:
        aside = np.zeros(before.size, dtype=bool)
    else:
        aside = before.aside
    return dataclasses.replace(
        before,
        matrix=matrix,
        value=np.concatenate([before.value, value]),
        lower=extend(before.lower, low),
        upper=extend(before.upper, high),
        primary=extend(before.primary, False),
        up=extend(before.up, 0.0),
        down=extend(before.down, 0.0),
        weight=extend(before.weight, 0.0),
        free=extend(before.free, False),
        owner=extend(before.owner, NOBODY),
        aside=extend(aside, True),
        slide=None if before.slide is None else extend(before.slide, 0.0),
    )
