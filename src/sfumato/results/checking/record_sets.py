"""Which records are in which cell of an output, and what of them the cell adds up.

A cell is a set of records. What it tells is a *sum over its records*: of ones (``persons``,
``rows``), of a column (``sum``) or of its squares (``square``). A mean counts as the sum, as if the
number of records were known; a deviation as the sum of squares. Percentiles and models add
up nothing: of them only the set is known.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import UnreadableInput
from sfumato.results.checking.contributing_records import Behind, CellRows, how_many
from sfumato.results.checking.statistics_of_columns import CellStatistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.results.checking.layout import OutputTable
    from sfumato.results.tables.table import MagnitudeTable

    Rows = NDArray[np.int64]

CELL, PERSONS, ROWS = "cell", "persons", "rows"
"""What a set is kept for: to be compared with other sets; because its persons, or its records, are
counted.
"""
ANY_SUM = "sum *"
"""A sum of a column that the session does not have: it may be any of them."""
MOST_SETS = 5_000
"""Cells of an output beyond which only the whole of its records is compared."""
SUMS, SQUARES = ("sum", "mean", "share", "ratio"), ("sd", "var", "se")


@dataclasses.dataclass(frozen=True, eq=False)
class RecordSet:
    """Some records, and what is told of them: every one of ``tells`` is a sum over them."""

    tells: tuple[str, ...]
    rows: Rows


CellSource = Callable[[], Sequence[RecordSet]]
"""Gives the cells of an output when they are asked for: outside a session nobody does."""


def sets_of_table(
    table: OutputTable,
    column_statistics: Sequence[tuple[str, CellStatistic]],
    belongs: CellRows,
    behind: Behind,
) -> list[RecordSet]:
    """The records of every cell that a table tells something of."""
    order = np.argsort(belongs.cell, kind="stable")
    ends = np.searchsorted(belongs.cell[order], np.arange(belongs.size + 1))
    rows_of = [belongs.row[order[start:end]] for start, end in itertools.pairwise(ends)]
    statistics: dict[str, list[CellStatistic]] = {name: [] for name in table.told}
    for name, one in column_statistics:
        statistics[name].append(one)
    visible = {name: _shown(table, name) & belongs.known for name in table.told}
    sets: list[RecordSet] = []
    somewhere = np.zeros(belongs.size, dtype=bool) if table.told else belongs.known.copy()
    for name, cells in visible.items():
        somewhere |= cells
        parts = [part for one in statistics[name] for part in _sums_of(one, behind)]
        for one in statistics[name]:
            parts += _counts_of(one, table.values(name), belongs, behind)
        for tells, rows_used in parts if statistics[name] else [(ANY_SUM, None)]:
            for cell in np.flatnonzero(cells):
                rows = rows_of[cell]
                sets.append(
                    RecordSet((tells,), rows if rows_used is None else rows[rows_used[rows]])
                )
        for one in statistics[name]:
            if one.kind == "percent":
                sets += _wholes(one, cells, belongs, behind)
    sets += [RecordSet((CELL,), rows_of[cell]) for cell in np.flatnonzero(somewhere)]
    return sets


def _shown(table: OutputTable, name: str) -> NDArray[np.bool_]:
    if table.numeric(name):
        return ~np.isnan(table.values(name))
    visible: NDArray[np.bool_] = table.frame[name].is_not_null().to_numpy()
    return visible


def _sums_of(
    statistic: CellStatistic, behind: Behind
) -> Iterator[tuple[str, NDArray[np.bool_] | None]]:
    """What a statistic adds up, and over which of the records of a cell; None is all of them."""
    kind = statistic.kind
    if kind == "percent":
        yield PERSONS, None
        yield ROWS, None  # shares of rows are taken for shares of persons
    elif kind == "rows":
        yield (ROWS if behind.weight is None else f"sum {behind.weight}"), None
    elif kind in SUMS:
        for column in statistic.columns:
            yield from _sums_of_column(column, behind)
    elif kind in SQUARES:
        yield f"square {statistic.column}", behind.there(str(statistic.column))


def _counts_of(
    statistic: CellStatistic, released: NDArray[np.float64], belongs: CellRows, behind: Behind
) -> Iterator[tuple[str, NDArray[np.bool_] | None]]:
    """What a count adds up: persons, or rows as other software counts them; both where it may be
    either.
    """
    if statistic.kind != "count":
        return
    present = None if statistic.column is None else behind.there(statistic.column)
    column = "" if present is None or bool(present.all()) else f" {statistic.column}"
    visible = ~np.isnan(released) & belongs.known
    rows = np.bincount(
        belongs.cell,
        weights=None if present is None else present[belongs.row],
        minlength=belongs.size,
    )
    ways = {PERSONS: belongs.persons(behind, present), ROWS: rows}
    fitting = [
        word for word, counts in ways.items() if np.array_equal(counts[visible], released[visible])
    ]
    for word in fitting or ways:
        yield word + column, present


def _sums_of_column(column: str, behind: Behind) -> Iterator[tuple[str, NDArray[np.bool_] | None]]:
    present = behind.there(column)
    if behind.weight is not None:
        yield f"sum {column} by {behind.weight}", present
        yield f"sum {behind.weight}", present
        return
    yield f"sum {column}", present
    values = behind.numbers(column)
    if np.isin(values[present], (0.0, 1.0)).all():  # a sum of ones is a count
        yield ROWS, values == 1


def _wholes(
    statistic: CellStatistic, visible: NDArray[np.bool_], belongs: CellRows, behind: Behind
) -> Iterator[RecordSet]:
    """What percentages are of: all records, or those with the same values of some columns."""
    within = np.zeros(len(behind), dtype=np.int64)
    for word in statistic.words:
        codes = behind.dataset.encoded(word).codes
        within = within * (int(codes.max(initial=0)) + 1) + codes
    for group in np.unique(within[belongs.row[visible[belongs.cell]]]):
        yield RecordSet((PERSONS, ROWS), np.flatnonzero(within == group))


def sets_of_bars(
    values: NDArray[np.float64], who: Rows, edges: NDArray[np.float64], counts: NDArray[np.float64]
) -> list[RecordSet]:
    """The records of every bar of a histogram, which counts them or their persons; the last bar
    holds its right edge too.
    """
    bar = np.searchsorted(edges, values, side="right") - 1
    bar[values == edges[-1]] = len(edges) - 2
    rows = [np.flatnonzero(bar == one) for one in range(len(counts))]
    ways = {ROWS: [len(one) for one in rows], PERSONS: [how_many(who[one]) for one in rows]}
    fitting = [word for word, bar_counts in ways.items() if bar_counts == counts.tolist()]
    return [RecordSet((CELL, *(fitting or ways)), one) for one in rows]


def sets_of_steps(
    times: NDArray[np.float64], time: NDArray[np.float64], happened: NDArray[np.bool_]
) -> list[RecordSet]:
    """The records that a survival table counts at every time: who is at risk, and to whom it
    happens. ``time`` is missing for records that are not counted.
    """
    sets = []
    for one in times.tolist():
        sets.append(RecordSet((CELL, PERSONS, ROWS), np.flatnonzero(time >= one)))
        sets.append(RecordSet((CELL, PERSONS, ROWS), np.flatnonzero((time == one) & happened)))
    return sets


def sets_of_levels(design: NDArray[np.float64], column: str | None) -> list[RecordSet]:
    """What a model tells whose terms are all of yes and no: the sum of what it explains over
    everybody with a level, as if the numbers of persons with two levels were known. ``column`` is
    what it explains, where that is a column of the data.
    """
    word = ANY_SUM if column is None else f"sum {column}"
    return [RecordSet((CELL, word), np.flatnonzero(one)) for one in design.T]


def sets_of_leaves(node: Rows, leaves: Rows) -> list[RecordSet]:
    """The records of every leaf of a tree, which counts them."""
    return [RecordSet((CELL, ROWS), np.flatnonzero(node == one)) for one in leaves.tolist()]


def sets_of_tabulated(table: MagnitudeTable, released: NDArray[np.bool_]) -> list[RecordSet]:
    """The records of every cell of a table of :func:`sfumato.tabulate` whose true value is told
    (``released``, per variable).
    """
    column = table.measure.column
    word = ROWS if column is None else f"sum {column}"
    if table.counted:
        word = PERSONS
    if table.weight is not None:
        word = f"sum {table.weight}" if column is None else f"{word} by {table.weight}"
    codes, sets = table.contributions.codes, []
    below = []  # per column and node the values under it
    for dimension in table.dimensions:
        nodes = np.arange(dimension.size)[:, None]
        below.append(
            np.logical_or.reduce([level[None, :] == nodes for level in dimension.ancestors])
        )
    numbers: set[int] = set()
    for group, variables in zip(table.places, table.variables, strict=True):
        places = np.unravel_index(
            np.arange(len(variables)), [table.dimensions[at].size for at in group]
        )
        for cell, variable in enumerate(variables.tolist()):
            if variable in numbers or not released[variable] or len(numbers) > MOST_SETS:
                continue
            numbers.add(variable)
            inside = ~np.isnan(table.contributions.amount)
            for at, nodes in zip(group, places, strict=True):
                inside = inside & below[at][nodes[cell]][codes[at]]
            sets.append(RecordSet((CELL, word), np.flatnonzero(inside)))
    return sets


def in_order(table: MagnitudeTable, behind: Behind) -> bool:
    """Whether a table of :func:`sfumato.tabulate` is of all of some records, in their order: in
    each of its columns the same values are told apart.
    """
    if table.where is not None or table.contributions.codes.shape[1] != len(behind):
        return False
    for dimension, codes in zip(table.dimensions, table.contributions.codes, strict=True):
        if dimension.column not in behind.dataset.columns:
            return False
        own = behind.dataset.encoded(dimension.column).codes
        pairs = len(np.unique(np.column_stack([own, codes]), axis=0))
        if not pairs == len(np.unique(own)) == len(np.unique(codes)):
            return False
    return True


def in_session(
    sets: Sequence[RecordSet],
    rows: Rows,
    column_name: Callable[[str], str | None],
    *,
    once_each: bool,
) -> list[RecordSet]:
    """Sets of rows of an output's records as sets of the session's, each once with all that it
    tells.

    ``rows`` has the record of the session of every row. ``column_name`` gives the name under which
    sums of a column are compared, and None where it is not the session's own: a sum of another one
    may be a sum of any. Where every person has one record (``once_each``) persons and records are
    counted alike.
    """
    together: dict[bytes, tuple[Rows, dict[str, None]]] = {}
    for one in sets:
        positions = np.unique(rows[one.rows])
        if not len(positions):
            continue
        _, tells = together.setdefault(positions.tobytes(), (positions, {}))
        for word in one.tells:
            tells[_known_as(word, column_name, once_each=once_each)] = None
    return [RecordSet(tuple(tells), positions) for positions, tells in together.values()]


def _known_as(word: str, column_name: Callable[[str], str | None], *, once_each: bool) -> str:
    kind, _, columns = word.partition(" ")
    if kind in ("sum", "square") and word != ANY_SUM:
        whole, parts = column_name(columns), [column_name(name) for name in columns.split(" by ")]
        if whole is not None:
            return f"{kind} {whole}"
        return ANY_SUM if None in parts else f"{kind} {' by '.join(map(str, parts))}"
    if once_each and kind == ROWS:
        return f"{PERSONS} {columns}".rstrip()
    return word


# As they are kept


def packed_sets(sets: Sequence[RecordSet]) -> bytes:
    """Sets of records as they are kept beside the log: what each tells, and its records as steps
    from one to the next.

    >>> [
    ...     (one.tells, one.rows.tolist())
    ...     for one in unpacked_sets(packed_sets([RecordSet(("rows",), np.array([2, 5, 6]))]), 9)
    ... ]
    [(('rows',), [2, 5, 6])]
    """
    head = json.dumps(
        {"tells": [list(one.tells) for one in sets], "sizes": [len(one.rows) for one in sets]}
    )
    steps = [np.diff(one.rows, prepend=0) for one in sets]
    body = np.concatenate(steps).astype("<u4").tobytes() if steps else b""
    return zlib.compress(head.encode() + b"\n" + body, 6)


def unpacked_sets(content: bytes, size: int) -> list[RecordSet]:
    """The inverse of :func:`packed_sets`, for so many records."""
    try:
        head, _, body = zlib.decompress(content).partition(b"\n")
        fields: Mapping[str, Any] = json.loads(head)
        steps = np.frombuffer(body, dtype="<u4").astype(np.int64)
        ends = np.cumsum([0, *fields["sizes"]])
        sets = [
            RecordSet(tuple(map(str, tells)), np.cumsum(steps[start:end]))
            for tells, start, end in zip(fields["tells"], ends[:-1], ends[1:], strict=True)
        ]
        sound = len(steps) == ends[-1] and all(
            not len(one.rows) or one.rows[-1] < size for one in sets
        )
    except (zlib.error, ValueError, KeyError, TypeError):
        sound = False
    if not sound:
        raise UnreadableInput("what is kept of the cells of an output is not as it was written")
    return sets
