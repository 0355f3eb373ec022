"""Which records are in which cell of an output, and what of them the cell adds up.

A cell is a set of records. What it tells is a *sum over its records*: of ones (``persons``,
``rows``), of a column (``sum``) or of its squares (``square``). A mean counts as the sum, as if the
number of records were known; a deviation as the sum of squares. Percentiles and models add
up nothing: of them only the set is known.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import UnreadableInput
from sfumato.results.checking.contributing_records import (
    CellMembers,
    ContributingRecords,
    count_persons,
)
from sfumato.results.checking.statistics_of_columns import CellStatistic

if TYPE_CHECKING:
    from sfumato.results.checking.layout import OutputTable
    from sfumato.results.tables.arrays import Codes, Floats, Mask
    from sfumato.results.tables.table import MagnitudeTable

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
    """Some records, and what is told of them: every word of ``tells`` is a sum over them."""

    tells: tuple[str, ...]
    rows: Codes


CellSource = Callable[[], Sequence[RecordSet]]
"""Gives the cells of an output when they are asked for: outside a session nobody does."""

Summand = tuple[str, "Mask | None"]
"""What is added up, and over which records of the data; None is all of them."""


def sets_of_table(
    table: OutputTable,
    column_statistics: Sequence[tuple[str, CellStatistic]],
    members: CellMembers,
    records: ContributingRecords,
) -> list[RecordSet]:
    """The records of every cell that a table tells something of."""
    rows_by_cell = members.rows_by_cell()
    statistics: dict[str, list[CellStatistic]] = {name: [] for name in table.result_columns}
    for name, statistic in column_statistics:
        statistics[name].append(statistic)
    sets: list[RecordSet] = []
    # A table without results still tells which combinations there are.
    visible_cells = np.full(members.size, not table.result_columns) & members.in_data
    for name, kinds in statistics.items():
        visible = _visible_cells(table, name) & members.in_data
        visible_cells |= visible
        summands: list[Summand] = []
        for statistic in kinds:
            summands += _summands(statistic, records)
        for statistic in kinds:
            if statistic.kind == "count":
                summands += _summands_of_count(statistic, table.values(name), members, records)
        if not kinds:
            # What is added up is not known, so it may be any column.
            summands.append((ANY_SUM, None))
        for word, having in summands:
            for cell in np.flatnonzero(visible):
                rows = rows_by_cell[cell]
                sets.append(RecordSet((word,), rows if having is None else rows[having[rows]]))
        for statistic in kinds:
            if statistic.kind == "percent":
                sets += _percent_bases(statistic, visible, members, records)
    for cell in np.flatnonzero(visible_cells):
        sets.append(RecordSet((CELL,), rows_by_cell[cell]))
    return sets


def _visible_cells(table: OutputTable, name: str) -> Mask:
    if table.numeric(name):
        return ~np.isnan(table.values(name))
    visible: Mask = table.frame[name].is_not_null().to_numpy()
    return visible


def _summands(statistic: CellStatistic, records: ContributingRecords) -> Iterator[Summand]:
    """What a statistic other than a count adds up."""
    kind = statistic.kind
    if kind == "percent":
        yield PERSONS, None
        yield ROWS, None  # shares of rows are taken for shares of persons
    elif kind == "rows":
        yield (ROWS if records.weight is None else f"sum {records.weight}"), None
    elif kind in SUMS:
        for column in statistic.columns:
            yield from _summands_of_column(column, records)
    elif kind in SQUARES:
        yield f"square {statistic.column}", records.has_value(str(statistic.column))


def _summands_of_count(
    statistic: CellStatistic, released: Floats, members: CellMembers, records: ContributingRecords
) -> Iterator[Summand]:
    """What a count adds up: persons, or rows as other software counts them; both where it may be
    either.
    """
    present, column = None, ""
    if statistic.column is not None:
        present = records.has_value(statistic.column)
        # Where nobody lacks a value, it is a count of all.
        column = "" if present.all() else f" {statistic.column}"
    visible = ~np.isnan(released) & members.in_data
    weights = None if present is None else present[members.row]
    rows = np.bincount(members.cell, weights=weights, minlength=members.size)
    counts = {PERSONS: members.persons(records, present), ROWS: rows}
    for word in _matching_words(
        {word: count[visible] for word, count in counts.items()}, released[visible]
    ):
        yield word + column, present


def _matching_words(counts: dict[str, Codes], released: Floats) -> list[str]:
    """Whether released counts are of persons or of rows; both where neither fits."""
    matching = [word for word, count in counts.items() if np.array_equal(count, released)]
    # Neither fits, so nobody knows which it is: it is compared as both.
    return matching or list(counts)


def _summands_of_column(column: str, records: ContributingRecords) -> Iterator[Summand]:
    present = records.has_value(column)
    if records.weight is not None:
        yield f"sum {column} by {records.weight}", present
        yield f"sum {records.weight}", present
        return
    yield f"sum {column}", present
    if records.is_binary(column):  # a sum of ones is a count
        yield ROWS, records.numbers(column) == 1


def _percent_bases(
    statistic: CellStatistic, visible: Mask, members: CellMembers, records: ContributingRecords
) -> Iterator[RecordSet]:
    """What percentages are of: all records, or those with the same values of some columns."""
    groups = records.group_codes(statistic.words)
    for group in np.unique(groups[members.row[visible[members.cell]]]):
        yield RecordSet((PERSONS, ROWS), np.flatnonzero(groups == group))


def bar_of_values(values: Floats, edges: Floats) -> Codes:
    """Per value the number of its bar in a histogram; the last bar holds its right edge too."""
    bars = np.searchsorted(edges, values, side="right") - 1
    # As numpy does it: the right edge belongs to the last bar.
    bars[values == edges[-1]] = len(edges) - 2
    return bars


def sets_of_bars(
    values: Floats, person_ids: Codes, edges: Floats, counts: Floats
) -> list[RecordSet]:
    """The records of every bar of a histogram, which counts them or their persons."""
    bars = bar_of_values(values, edges)
    rows_by_bar = [np.flatnonzero(bars == bar) for bar in range(len(counts))]
    rows = np.array([len(rows) for rows in rows_by_bar])
    persons = np.array([count_persons(person_ids[rows]) for rows in rows_by_bar])
    words = (CELL, *_matching_words({ROWS: rows, PERSONS: persons}, counts))
    return [RecordSet(words, rows) for rows in rows_by_bar]


def sets_of_steps(times: Floats, time: Floats, has_event: Mask) -> list[RecordSet]:
    """The records that a survival table counts at every time: who is at risk, and who has the
    event. ``time`` is missing for records that are not counted.
    """
    words, sets = (CELL, PERSONS, ROWS), []
    for step in times.tolist():
        sets.append(RecordSet(words, np.flatnonzero(time >= step)))
        sets.append(RecordSet(words, np.flatnonzero((time == step) & has_event)))
    return sets


def sets_of_levels(design: Floats, column: str | None) -> list[RecordSet]:
    """What a model tells whose terms are all of yes and no: the sum of what it explains over
    everybody with a level, as if the numbers of persons with two levels were known. ``column`` is
    what it explains, where that is a column of the data.
    """
    word = ANY_SUM if column is None else f"sum {column}"
    return [RecordSet((CELL, word), np.flatnonzero(level)) for level in design.T]


def sets_of_leaves(
    node: Codes, leaves: Codes, column: str | None, records: ContributingRecords
) -> list[RecordSet]:
    """The records of every leaf of a tree, which counts them and, where it is one of numbers, tells
    the mean of ``column``.
    """
    summands: list[Summand] = [] if column is None else list(_summands_of_column(column, records))
    sets = []
    for leaf in leaves.tolist():
        rows = np.flatnonzero(node == leaf)
        sets.append(RecordSet((CELL, ROWS), rows))
        for word, having in summands:
            sets.append(RecordSet((word,), rows if having is None else rows[having[rows]]))
    return sets


def sets_of_tabulated(table: MagnitudeTable, released: Mask) -> list[RecordSet]:
    """The records of every cell of a table of :func:`sfumato.tabulate` whose true value is told
    (``released``, per variable).
    """
    column, weight = table.measure.column, table.weight
    word = ROWS if column is None else f"sum {column}"
    if weight is not None:
        if column is None:
            word = f"sum {weight}"
        else:
            word = f"sum {column} by {weight}"
    elif table.counted:
        word = PERSONS
    # Per column a matrix of nodes and values: whether the value is below the node.
    below = []
    for dimension in table.dimensions:
        nodes = np.arange(dimension.size)[:, None]
        levels = [level[None, :] == nodes for level in dimension.ancestors]
        below.append(np.logical_or.reduce(levels))
    codes, sets = table.contributions.codes, []
    has_amount = ~np.isnan(table.contributions.amount)
    numbers: set[int] = set()
    for group, variables in zip(table.places, table.variables, strict=True):
        shape = [table.dimensions[number].size for number in group]
        nodes_of_cells = np.unravel_index(np.arange(len(variables)), shape)
        for cell, variable in enumerate(variables.tolist()):
            # A variable may be in several tables; its records are the same.
            if variable in numbers or not released[variable] or len(numbers) > MOST_SETS:
                continue
            numbers.add(variable)
            inside = has_amount.copy()
            for number, nodes in zip(group, nodes_of_cells, strict=True):
                inside &= below[number][nodes[cell]][codes[number]]
            sets.append(RecordSet((CELL, word), np.flatnonzero(inside)))
    return sets


def is_in_order(table: MagnitudeTable, records: ContributingRecords) -> bool:
    """Whether a table of :func:`sfumato.tabulate` is of all of some records, in their order: in
    each of its columns the same values are distinguished.
    """
    if table.where is not None or table.contributions.codes.shape[1] != len(records):
        return False
    for dimension, codes in zip(table.dimensions, table.contributions.codes, strict=True):
        if dimension.column not in records.dataset.columns:
            return False
        data_codes = records.dataset.encoded(dimension.column).codes
        # As many pairs as values on either side: the codes are the same but for their order.
        pairs = len(np.unique(np.column_stack([data_codes, codes]), axis=0))
        if not pairs == len(np.unique(data_codes)) == len(np.unique(codes)):
            return False
    return True


def as_session_sets(
    sets: Sequence[RecordSet],
    rows: Codes,
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
    words_by_rows: dict[bytes, tuple[Codes, dict[str, None]]] = {}
    for record_set in sets:
        positions = np.unique(rows[record_set.rows])
        if not len(positions):
            continue
        # Equal sets of records become one, which tells all that any of them did.
        _, words = words_by_rows.setdefault(positions.tobytes(), (positions, {}))
        for word in record_set.tells:
            words[_session_word(word, column_name, once_each=once_each)] = None
    return [RecordSet(tuple(words), positions) for positions, words in words_by_rows.values()]


def _session_word(word: str, column_name: Callable[[str], str | None], *, once_each: bool) -> str:
    """What is added up, by the names of the session: ``sum age by weight`` where it knows both."""
    kind, _, columns = word.partition(" ")
    if kind in ("sum", "square") and word != ANY_SUM:
        # A name that holds " by " is tried as a whole before it is split.
        whole = column_name(columns)
        if whole is not None:
            return f"{kind} {whole}"
        parts = [column_name(name) for name in columns.split(" by ")]
        if None in parts:
            return ANY_SUM
        return f"{kind} {' by '.join(map(str, parts))}"
    if once_each and kind == ROWS:
        return f"{PERSONS} {columns}".rstrip()
    return word


def pack_sets(sets: Sequence[RecordSet]) -> bytes:
    """Sets of records as they are kept beside the log: what each tells, and its records as steps
    from one to the next.

    >>> packed = pack_sets([RecordSet(("rows",), np.array([2, 5, 6]))])
    >>> [(cell.tells, cell.rows.tolist()) for cell in unpack_sets(packed, 9)]
    [(('rows',), [2, 5, 6])]
    """
    words = [list(record_set.tells) for record_set in sets]
    head = json.dumps({"tells": words, "sizes": [len(record_set.rows) for record_set in sets]})
    # Steps between neighbours are small numbers, which compress well.
    steps = [np.diff(record_set.rows, prepend=0) for record_set in sets]
    body = np.concatenate(steps).astype("<u4").tobytes() if steps else b""
    return zlib.compress(head.encode() + b"\n" + body, 6)


def unpack_sets(content: bytes, size: int) -> list[RecordSet]:
    """The inverse of :func:`pack_sets`, for so many records."""
    sets = []
    try:
        head, _, body = zlib.decompress(content).partition(b"\n")
        fields = json.loads(head)
        steps = np.frombuffer(body, dtype="<u4").astype(np.int64)
        start = 0
        for words, count in zip(fields["tells"], fields["sizes"], strict=True):
            rows = np.cumsum(steps[start : start + count])
            sets.append(RecordSet(tuple(map(str, words)), rows))
            start += count
        # Everything is used up, and no record is beyond the last: else the file is of other
        # records.
        sound = len(steps) == start and all(
            record_set.rows.max(initial=-1) < size for record_set in sets
        )
    except (zlib.error, ValueError, KeyError, TypeError):
        sound = False
    if not sound:
        raise UnreadableInput("the stored cells of an output were changed after they were written")
    return sets
