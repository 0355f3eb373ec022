"""Every node of a generalization lattice, evaluated: for looking around, not for searching.

Under k-anonymity alone one loop walks the lattice (see :mod:`sfumato.kernels.lattice`); under other models every node is
judged as a search would judge it. Where there are too many nodes only the neighbours of one of them are looked at.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import kernels
from sfumato.core.classes import Layout
from sfumato.core.objective import Landscape, Tally, objective_named

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.steps.recoding.lattice import Lattice, Node


# One loop over every node of a lattice under k-anonymity: what it needs, and what comes of it.
#
# See :mod:`sfumato.kernels.lattice` for the loop. Here the table, the hierarchies and the costs are laid out for it.

Walk = tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]


@dataclasses.dataclass(frozen=True)
class Counted:
    """What nodes keep, cost and risk: arrays as a landscape has them."""

    levels: NDArray[np.signedinteger[Any]]
    suppressed: NDArray[np.int64]
    classes: NDArray[np.int64]
    squares: NDArray[np.float64]
    marketer_risk: NDArray[np.float64]
    prosecutor_risk: NDArray[np.float64]
    score: NDArray[np.float64]


def walked(lattice: Lattice, k: int) -> Counted:
    """Every node under k-anonymity, by one loop."""
    order, prices = _order(lattice), _prices(lattice)
    whole = [np.zeros(lattice.size, dtype=np.int64) for _ in range(4)]
    lost = np.zeros((lattice.size, prices.features))
    table, columns, steps, last = _walk_input(lattice, order, prices)
    kernels.lattice.walk(table, columns, steps, last, k, _scratch(table, columns, last), (*whole, lost))
    suppressed, classes, squares, smallest = whole
    shape = [high - low + 1 for low, high in zip(lattice.low, lattice.high, strict=True)]
    levels = np.indices(shape, dtype=np.int16).reshape(len(shape), -1).T + np.array(lattice.low, dtype=np.int16)
    return Counted(
        levels=levels,
        suppressed=suppressed,
        classes=classes,
        squares=squares.astype(np.float64),
        marketer_risk=classes / np.maximum(1, lattice.records - suppressed),
        prosecutor_risk=np.where(smallest > 0, 1.0 / np.maximum(1, smallest), 0.0),
        score=_scores(lattice, levels, whole, lost),
    )


@dataclasses.dataclass(frozen=True)
class Prices:
    """What cells cost, by column and level, and to which of ``features`` sums the cells of a column count.

    An objective that is the weighted mean of all cells needs one sum of weighted costs, any other one a column.
    """

    cells: Sequence[Sequence[NDArray[np.float64]]]
    of: Sequence[int]
    features: int


def _prices(lattice: Lattice) -> Prices:
    costs = lattice._cell_costs
    if lattice.objective.score is objective_named("loss").score:
        weighted = [[w * level for level in levels] for w, levels in zip(lattice.weights, costs, strict=True)]
        return Prices(weighted, (0,) * len(costs), 1)
    return Prices(costs, range(len(costs)), len(costs))


def _scores(
    lattice: Lattice, levels: NDArray[np.int16], whole: Sequence[NDArray[np.int64]], lost: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The objective of every node, from what its suppressed records would have cost."""
    suppressed, classes, squares, _ = whole
    n = max(1, lattice.records)
    full = np.column_stack([np.array(sums)[levels[:, a]] for a, sums in enumerate(lattice.totals)])
    if lost.shape[1] == 1 and lattice.objective.score is objective_named("loss").score:
        weights = np.array(lattice.weights)
        mean: NDArray[np.float64] = (full @ weights - lost[:, 0] + suppressed * weights.sum()) / n
        return mean
    cells = ((full - lost + suppressed[:, None]) / n).tolist()
    told = zip(levels.tolist(), suppressed.tolist(), classes.tolist(), squares.tolist(), cells, strict=True)
    score, tops, weight, records = lattice.objective.score, lattice.tops, lattice.weights, lattice.records
    return np.array(
        [score(Tally(tuple(at), tops, records, s, c, float(q), cost, weight)) for at, s, c, q, cost in told]
    )


def fits_the_walk(lattice: Lattice) -> bool:
    """Whether the columns but the last one walked fit one word of a key."""
    return _layout(lattice, _order(lattice)[:-1]).length == 1


def _order(lattice: Lattice) -> list[int]:
    """The columns as the loop walks them: many codes first, and last the one with most levels, done in one pass."""
    codes = [len(ladder.labels[low]) for ladder, low in zip(lattice.base.ladders, lattice.low, strict=True)]
    columns = sorted(range(len(codes)), key=lambda a: (-codes[a], a))
    last = max(columns, key=lambda a: (lattice.high[a] - lattice.low[a], codes[a]))
    return [*(a for a in columns if a != last), last]


def _layout(lattice: Lattice, columns: Sequence[int]) -> Layout:
    return Layout.of([len(lattice.base.ladders[a].labels[lattice.low[a]]) for a in columns])


def _walk_input(lattice: Lattice, order: Sequence[int], prices: Prices) -> Walk:
    """The table, the columns, their ladders and the last column, as :func:`sfumato.kernels.lattice.walk` takes them."""
    climb = [high - low for low, high in zip(lattice.low, lattice.high, strict=True)]
    strides = [math.prod(c + 1 for c in climb[a + 1 :]) for a in range(len(climb))]
    before, last = order[:-1], order[-1]
    place = _layout(lattice, before)
    columns = (place.shifts, place.widths, *(_whole([of[a] for a in before]) for of in (climb, strides, prices.of)))
    ladder = lattice.base.ladders[last]
    sizes = [len(ladder.labels[level]) for level in range(lattice.low[last], lattice.high[last] + 1)]
    starts = np.cumsum([0, *sizes]).astype(np.uint64)
    steps = _steps(lattice, order, prices)
    return _groups(lattice, order, place, prices), columns, steps, (strides[last], prices.of[last], starts)


def _whole(numbers: Sequence[int]) -> NDArray[np.int64]:
    return np.array(numbers, dtype=np.int64)


def _groups(lattice: Lattice, order: Sequence[int], place: Layout, prices: Prices) -> tuple[NDArray[Any], ...]:
    """The table at the lowest levels: groups of classes that agree in all columns but the last, and their entries."""
    base = lattice.at(lattice.low)
    codes = [base.codes(lattice.columns[a]) for a in order]
    keys = np.zeros((len(base), 1), dtype=np.uint64)
    for i, column in enumerate(codes[:-1]):
        kernels.keys.pack(keys, column, 0, place.shifts[i])
    ids, first = kernels.keys.group(keys)
    entries = np.argsort(ids, kind="stable")
    borders = np.searchsorted(ids[entries], np.arange(len(first) + 1))
    costs = np.zeros((len(first), prices.features))
    for a, column in zip(order[:-1], codes[:-1], strict=True):
        costs[:, prices.of[a]] += prices.cells[a][lattice.low[a]][column[first]]
    groups = np.column_stack([keys[first, 0], borders[:-1].astype(np.uint64), borders[1:].astype(np.uint64)])
    runs = np.column_stack([codes[-1][entries], base.records[entries]])
    return groups, runs.astype(np.uint32 if lattice.records < 2**32 else np.uint64), costs


def _scratch(table: tuple[Any, ...], columns: tuple[Any, ...], last: tuple[Any, ...]) -> tuple[NDArray[Any], ...]:
    """Room for the walk to work in."""
    (groups, entries, costs), climb, starts = table, columns[2], last[2]
    size, levels, codes = len(groups), len(starts) - 1, int(starts[-1]) + 2
    slots = np.empty(1 << max(4, (2 * size).bit_length()), dtype=np.int32)
    following, first = np.full(size, -1, dtype=np.int32), np.arange(size, dtype=np.int32)
    seen, sums = np.empty(codes, dtype=np.uint32), np.zeros(codes, dtype=entries.dtype)
    added_up = np.empty((levels, 4), dtype=np.int64), np.empty((levels, 1 + costs.shape[1]))
    level, place = np.zeros((2, len(climb) + 1), dtype=np.int64)
    bounds = np.zeros((2 + int(climb.sum()), 4), dtype=np.int64)
    return slots, following, first, first.copy(), seen, sums, *added_up, level, place, bounds


def _steps(lattice: Lattice, order: Sequence[int], prices: Prices) -> tuple[NDArray[Any], ...]:
    """One level up for every column, level and code, and what a cell costs there; flat, with where each begins."""
    width = max(high - low + 1 for low, high in zip(lattice.low, lattice.high, strict=True))
    begins = np.zeros((len(order), width), dtype=np.uint64)
    ups: list[NDArray[Any]] = []
    cells: list[NDArray[Any]] = []
    position = 0
    for i, a in enumerate(order):
        ladder = lattice.base.ladders[a]
        for level in range(lattice.low[a], lattice.high[a] + 1):
            begins[i, level - lattice.low[a]] = position
            codes = len(ladder.labels[level])
            ups.append(ladder.up[level] if level < lattice.high[a] else np.zeros(codes, dtype=np.int64))
            cells.append(prices.cells[a][level])
            position += codes
    return np.concatenate(ups).astype(np.uint32), begins, np.concatenate(cells), begins


PYTHON_FACTOR = 100
"""How much longer it takes to judge a class in Python than in the loop, roughly."""
PYTHON_CLASSES = 1_000
"""What judging a node in Python costs besides its classes, in classes."""


def survey(lattice: Lattice, chosen: Node, *, most_nodes: int, most_effort: float) -> Landscape:
    """The whole lattice, or the neighbours of the chosen node where it has too many nodes or would take too long."""
    quick = lattice.size <= most_nodes and effort(lattice) <= most_effort
    return whole_lattice(lattice) if quick else neighbourhood(lattice, chosen)


def effort(lattice: Lattice) -> float:
    """How much work the whole lattice is: nodes times classes, and more where nodes are judged in Python."""
    classes = len(lattice.base)
    if smallest_class(lattice) is None:
        return float(lattice.size) * (classes + PYTHON_CLASSES) * PYTHON_FACTOR
    return float(lattice.size) * classes


def whole_lattice(lattice: Lattice) -> Landscape:
    """Evaluate every node."""
    k = smallest_class(lattice)
    counted = _judged(lattice, _every_table(lattice)) if k is None else walked(lattice, k)
    return _landscape(lattice, counted, whole=True)


def neighbourhood(lattice: Lattice, node: Node) -> Landscape:
    """Evaluate a node and those that differ from it by one level of one column."""
    near = [node]
    for a, level in enumerate(node):
        steps = [one for one in (level - 1, level + 1) if lattice.low[a] <= one <= lattice.high[a]]
        near += [(*node[:a], one, *node[a + 1 :]) for one in steps]
    return _landscape(lattice, _judged(lattice, (lattice.at(one) for one in sorted(near))), whole=False)


def smallest_class(lattice: Lattice) -> int | None:
    """The k of a lattice whose only promise is k-anonymity over records, whose keys and objective fit the loop; or None."""
    base = lattice.base
    if lattice.objective.own is not None:  # the loop keeps sums over columns only
        return None
    sizes = [model.crowd for model in lattice.models if model.crowd is not None]
    if len(sizes) != len(lattice.models) or not sizes or base.person is not None or base.population is not None:
        return None
    return max(sizes) if fits_the_walk(lattice) else None


def _landscape(lattice: Lattice, counted: Counted, *, whole: bool) -> Landscape:
    n = max(1, lattice.records)
    weights, tops = np.array(lattice.weights), np.maximum(1, np.array(lattice.tops, dtype=np.int64))
    height = counted.levels @ (weights / tops)
    gone = counted.suppressed / n
    return Landscape(
        columns=lattice.columns,
        low=lattice.low,
        high=lattice.high,
        tops=lattice.tops,
        objective=lattice.objective.name,
        minimal=lattice.objective.minimal,
        records=lattice.records,
        budget=lattice.budget,
        whole=whole,
        precision=1.0 - (height * (1.0 - gone) + gone * weights.sum()),
        **{field.name: getattr(counted, field.name) for field in dataclasses.fields(counted)},
    )


def _every_table(lattice: Lattice) -> Iterator[ClassTable]:
    """The classes of every node, in the order of their levels, each rolled up from the finest table at hand."""

    def below(table: ClassTable, a: int) -> Iterator[ClassTable]:
        if a == len(lattice.columns):
            yield table
            return
        for level in range(lattice.low[a], lattice.high[a] + 1):
            table = table.roll_up({lattice.columns[a]: level})
            yield from below(table, a + 1)

    return below(lattice.at(lattice.low), 0)


def _judged(lattice: Lattice, tables: Iterator[ClassTable]) -> Counted:
    """Nodes judged one by one, under any model."""
    levels, suppressed, classes, *rest = zip(*(_judge(lattice, table) for table in tables), strict=True)
    numbers = [np.array(part, dtype=np.float64) for part in rest]
    at, gone, kept = (np.array(part, dtype=np.int64) for part in (levels, suppressed, classes))
    return Counted(at, gone, kept, *numbers)


def _judge(lattice: Lattice, classes: ClassTable) -> tuple[Any, ...]:
    failing = lattice.failing(classes)
    tally = lattice.tally(classes, classes.records * failing)
    records, sizes = classes.records[~failing], classes.sizes[~failing]
    marketer = float((records / sizes).sum() / records.sum()) if len(sizes) else 0.0
    prosecutor = 1.0 / float(sizes.min()) if len(sizes) else 0.0
    score = lattice.objective.score(tally)
    return classes.levels, tally.suppressed, tally.classes, tally.squares, marketer, prosecutor, score
