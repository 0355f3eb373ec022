"""Every node of a generalization lattice, evaluated: for looking around, not for searching.

Under k-anonymity alone one loop walks the lattice (see :mod:`sfumato.kernels.lattice`); under other
models every node is judged as a search would judge it. Where there are too many nodes only the
neighbours of one of them are looked at.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.objective import Landscape, Tally
from sfumato.methods.steps.recoding.rollup_cache import Prices, Steps, Tower, smallest_class

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.methods.steps.recoding.lattice import Lattice, Node


# Every node of a lattice under k-anonymity, in one walk up and down a tower.


@dataclasses.dataclass(frozen=True)
class LatticeCounts:
    """What nodes keep, cost and risk: arrays as a landscape has them."""

    levels: NDArray[np.signedinteger[Any]]
    suppressed: NDArray[np.int64]
    classes: NDArray[np.int64]
    squares: NDArray[np.float64]
    marketer_risk: NDArray[np.float64]
    prosecutor_risk: NDArray[np.float64]
    score: NDArray[np.float64]


def walk_lattice(lattice: Lattice, k: int, most_effort: float = math.inf) -> LatticeCounts | None:
    """Every node under k-anonymity, by one loop; None where that takes more effort than is
    allowed.
    """
    prices = Prices.of_lattice(lattice)
    order = _order(lattice)
    *before, last = order
    # Two columns are tallied as one where their pairs of codes stay in the processor's first cache.
    second = None
    pairs = [len(lattice.base.ladders[a].labels[lattice.low[a]]) for a in order[-2:]]
    if len(pairs) == 2 and math.prod(pairs) <= MOST_PAIRS:
        second = before.pop()
    columns = range(len(lattice.columns))
    table = lattice.at(lattice.low)
    tower = Tower(
        lattice,
        k,
        table=table,
        last=last,
        steps=Steps(lattice, prices),
        priced=columns,
        budget=lattice.records,
        second=second,
    )
    tallies = _walk(tower, before, most_effort)
    if tallies is None:
        return None
    whole, lost = tallies
    suppressed, classes, smallest, squares = _by_node(lattice, whole, order)
    # ``lost`` has what the last column cost first, then the sums by feature: it joins its own.
    missed = lost[..., 1:].copy()
    missed[..., prices.of[last]] += lost[..., 0]
    # All nodes in lexicographic order of their levels.
    shape = [high - low + 1 for low, high in zip(lattice.low, lattice.high, strict=True)]
    levels_above = np.indices(shape, dtype=np.int16)
    levels = levels_above.reshape(len(shape), -1).T + np.array(lattice.low, dtype=np.int16)
    sums = suppressed, classes, squares
    marketer_risk = classes / np.maximum(1, lattice.records - suppressed)
    prosecutor_risk = np.where(classes > 0, 1.0 / np.maximum(1, smallest), 0.0)
    return LatticeCounts(
        levels=levels,
        suppressed=suppressed,
        classes=classes,
        squares=squares.astype(np.float64),
        marketer_risk=marketer_risk,
        prosecutor_risk=prosecutor_risk,
        score=_scores(lattice, levels, sums, _by_node(lattice, missed, order).T, prices),
    )


class _TooMuchEffort(Exception):
    """A walk takes more effort than is allowed."""


@dataclasses.dataclass
class _Effort:
    """What a walk of so many tables has taken so far: classes put together, times the levels that
    are tallied at once.
    """

    tables: int
    limit: float
    climbed: int = 0
    spent: float = 0.0

    def spend(self, effort: float) -> None:
        """Add the effort of a table; ends the walk where it is too much, or the rest will be if it
        goes on like this.

        Tables that nearly every record is alone in hardly shrink, and a few tell it. The walk
        begins with tables in which the column of most values has climbed: those to come are larger.
        """
        self.climbed += 1
        self.spent += effort
        expected = self.spent / self.climbed * self.tables
        if self.spent > self.limit or (
            self.spent > SEEN * self.limit and expected > BEYOND * self.limit
        ):
            raise _TooMuchEffort


SEEN, BEYOND = 0.05, 1.25
"""After this share of the effort that is allowed, a walk that would take so many times as much is
given up.
"""


def _walk(
    tower: Tower, before: Sequence[int], most_effort: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
    """What the tower tallies, for all levels of the columns before the last: the first column
    slowest, then the last one's levels.

    None where it takes too much effort.
    """
    lattice = tower.lattice
    sizes = [lattice.high[a] - lattice.low[a] + 1 for a in before]
    # The place of a table among all: mixed radix, the first column slowest.
    strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    whole = np.empty((math.prod(sizes), *tower.whole.shape), dtype=np.int64)
    lost = np.empty((math.prod(sizes), *tower.lost.shape))
    effort = _Effort(math.prod(sizes), most_effort)
    # Nothing is rolled up from a table on which no later column can climb and the last that climbs
    # is at its top: half of all tables of Adult, where that column is sex.
    innermost = max((i for i, size in enumerate(sizes) if size > 1), default=0)

    # Depth first: every table is rolled up from one in which a single column is one level lower, so
    # that each costs one pass over a table little larger than itself. The recursion is as deep as
    # the lattice is high.
    def climb(first: int, row: int) -> None:
        """All tables with the columns from a place on above their lowest level; on top stands the
        one where they are not.
        """
        for i in range(first, len(before)):
            height = tower.height
            for step in range(1, sizes[i]):
                effort.spend(tower.entries_on_top * len(tower.whole))
                at = row + step * strides[i]
                a = before[i]
                levels = tower.levels
                is_leaf = i == innermost and step == sizes[i] - 1
                climbed = (*levels[:a], lattice.low[a] + step, *levels[a + 1 :])
                tower.climb(climbed, (whole[at], lost[at]), writes=not is_leaf)
                climb(i + 1, at)
            tower.cut(height)

    tower.tally((whole[0], lost[0]))
    try:
        climb(0, 0)
    except _TooMuchEffort:
        return None
    return whole, lost


def _by_node(lattice: Lattice, walked: NDArray[Any], order: Sequence[int]) -> NDArray[Any]:
    """One row a sum and one entry a node, in the order of the lattice's columns."""
    sizes = [lattice.high[a] - lattice.low[a] + 1 for a in order]
    back = [order.index(a) for a in range(len(order))]
    return walked.reshape(*sizes, -1).transpose(len(order), *back).reshape(walked.shape[-1], -1)


def _scores(
    lattice: Lattice,
    levels: NDArray[np.int16],
    sums: Sequence[NDArray[np.int64]],
    lost: NDArray[np.float64],
    prices: Prices,
) -> NDArray[np.float64]:
    """The objective of every node, from what its suppressed records would have cost."""
    suppressed, classes, squares = sums
    n = max(1, lattice.records)
    totals = [np.array(sums)[levels[:, a]] for a, sums in enumerate(lattice.totals)]
    full = np.column_stack(totals)
    # The mean of all cells follows from sums: what the level costs all records, less what the
    # suppressed would have cost, plus 1 for each of their cells.
    if prices.mean:
        weights = np.array(lattice.weights)
        kept_costs = full @ weights - lost[:, 0]
        lost_costs = suppressed * weights.sum()
        mean: NDArray[np.float64] = (kept_costs + lost_costs) / n
        return mean
    cells = ((full - lost + suppressed[:, None]) / n).tolist()
    rows = zip(
        levels.tolist(), suppressed.tolist(), classes.tolist(), squares.tolist(), cells, strict=True
    )
    score = lattice.objective.score
    tops = lattice.tops
    weight = lattice.weights
    records = lattice.records
    return np.array(
        [
            score(
                Tally(
                    tuple(at),
                    tops,
                    records=records,
                    suppressed=s,
                    classes=c,
                    squares=float(q),
                    cells=cost,
                    weights=weight,
                )
            )
            for at, s, c, q, cost in rows
        ]
    )


def _order(lattice: Lattice) -> list[int]:
    """The columns as the loop walks them: many codes first, and last the two with most levels, done
    in one pass.
    """
    ladders = zip(lattice.base.ladders, lattice.low, strict=True)
    codes = [len(ladder.labels[low]) for ladder, low in ladders]
    columns = sorted(range(len(codes)), key=lambda a: (-codes[a], a))
    by_levels = sorted(columns, key=lambda a: (lattice.high[a] - lattice.low[a], codes[a]))
    lasts = by_levels[-2:]
    return [*(a for a in columns if a not in lasts), *lasts]


MOST_PAIRS = 4096
"""So many pairs of codes, with 4 bytes of records each and 4 in a list of those that occur, take
32 kilobytes.
"""


SHRINKING = 8
"""Tables shrink as a walk climbs: it may take no more than an eighth of nodes times classes."""
PYTHON_FACTOR = 100 / SHRINKING
"""How much longer it takes to judge a class in Python than in the loop, roughly."""
PYTHON_CLASSES = 1_000
"""What judging a node in Python costs besides its classes, in classes."""


def survey(lattice: Lattice, node: Node, *, most_nodes: int, most_effort: float) -> Landscape:
    """The whole lattice, or the neighbours of the chosen node where it has too many nodes or would
    take too long.
    """
    if lattice.size <= most_nodes and effort(lattice) <= most_effort:
        landscape = whole_lattice(lattice, most_effort)
        if landscape is not None:
            return landscape
    return neighbourhood(lattice, node)


def effort(lattice: Lattice) -> float:
    """How much work the whole lattice is at least: nodes times classes, and more where nodes are
    judged in Python.
    """
    classes = len(lattice.base)
    # Other models are judged in Python, node by node.
    if smallest_class(lattice) is None:
        return float(lattice.size) * (classes + PYTHON_CLASSES) * PYTHON_FACTOR
    return float(lattice.size) * classes / SHRINKING


def whole_lattice(lattice: Lattice, most_effort: float = math.inf) -> Landscape | None:
    """Evaluate every node; None where a walk takes more effort than is allowed."""
    k = smallest_class(lattice)
    if k is None:
        return _landscape(lattice, _judge_tables(lattice, every_table(lattice)), whole=True)
    counts = walk_lattice(lattice, k, most_effort)
    if counts is None:
        return None
    return _landscape(lattice, counts, whole=True)


def neighbourhood(lattice: Lattice, node: Node) -> Landscape:
    """Evaluate a node and those that differ from it by one level of one column."""
    near = [node]
    for a, level in enumerate(node):
        for step in (level - 1, level + 1):
            if lattice.low[a] <= step <= lattice.high[a]:
                near.append((*node[:a], step, *node[a + 1 :]))
    # All of them lie above this node: where its table is much smaller than that of the rows, it is
    # rolled up once. Where nearly every row is alone at it too, that would hash as many classes
    # again; then only their codes climb.
    low = tuple(max(lowest, level - 1) for lowest, level in zip(lattice.low, node, strict=True))
    if _shrinks(lattice, low):
        floor = lattice.at(low)
    else:
        floor = lattice.base.climbed(dict(zip(lattice.columns, low, strict=True)))
    own = lattice.at(node, floor)
    above = set()
    for neighbour in near:
        if all(level >= own_level for level, own_level in zip(neighbour, node, strict=True)):
            above.add(neighbour)
    tables = (
        lattice.at(neighbour, own if neighbour in above else floor) for neighbour in sorted(near)
    )
    return _landscape(lattice, _judge_tables(lattice, tables), whole=False)


SAMPLE = 1 << 16
"""So many classes tell whether a node has far fewer than the finest table."""
APART = 0.95
"""Where so many of them stay apart, the node has at least half as many classes as the table, or
several times the sample.
"""


def _shrinks(lattice: Lattice, node: Node) -> bool:
    """Whether a node seems to have far fewer classes than the finest table; some at equal distances
    are looked at.
    """
    base = lattice.base
    if len(base) <= SAMPLE:
        return True
    step = len(base) // SAMPLE
    keys = base.keys[::step].copy()
    records = base.records[::step].copy()
    sample = dataclasses.replace(
        base,
        keys=keys,
        records=records,
        counts={},
        weights=None,
        person=None,
        population=None,
    )
    return len(lattice.at(node, sample)) < APART * len(sample)


def _landscape(lattice: Lattice, counts: LatticeCounts, *, whole: bool) -> Landscape:
    n = max(1, lattice.records)
    weights = np.array(lattice.weights)
    tops = np.maximum(1, np.array(lattice.tops, dtype=np.int64))
    # Precision (Sweeney 2002): one minus the mean height of cells; suppressed cells are at the top.
    height = counts.levels @ (weights / tops)
    gone = counts.suppressed / n
    precision = 1.0 - (height * (1.0 - gone) + gone * weights.sum())
    counted = {field.name: getattr(counts, field.name) for field in dataclasses.fields(counts)}
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
        precision=precision,
        **counted,
    )


def every_table(lattice: Lattice) -> Iterator[ClassTable]:
    """The classes of every node, in the order of their levels, each rolled up from the finest table
    at hand.
    """

    def below(table: ClassTable, a: int) -> Iterator[ClassTable]:
        if a == len(lattice.columns):
            yield table
            return
        # A level is rolled up from the one below it, and passed down as the finest table for the
        # later columns.
        for level in range(lattice.low[a], lattice.high[a] + 1):
            table = table.roll_up({lattice.columns[a]: level})
            yield from below(table, a + 1)

    return below(lattice.at(lattice.low), 0)


def _judge_tables(lattice: Lattice, tables: Iterator[ClassTable]) -> LatticeCounts:
    """Nodes judged one by one, under any model."""
    # By column: levels, suppressed and classes are whole numbers, the others are not.
    levels, suppressed, classes, *numbers_by_node = zip(
        *(_judge(lattice, table) for table in tables), strict=True
    )
    numbers = [np.array(part, dtype=np.float64) for part in numbers_by_node]
    at, gone, kept_classes = (
        np.array(part, dtype=np.int64) for part in (levels, suppressed, classes)
    )
    return LatticeCounts(at, gone, kept_classes, *numbers)


def _judge(lattice: Lattice, classes: ClassTable) -> tuple[Any, ...]:
    failing = lattice.failing(classes)
    tally = lattice.tally(classes, classes.records * failing)
    records = classes.records[~failing]
    sizes = classes.sizes[~failing]
    # Marketer risk: the expected share of records that are linked rightly, Σ records ∕ size.
    if len(sizes):
        marketer = float((records / sizes).sum() / records.sum())
        prosecutor = 1.0 / float(sizes.min())
    else:
        marketer = 0.0
        prosecutor = 0.0
    score = lattice.objective.score(tally)
    return (
        classes.levels,
        tally.suppressed,
        tally.classes,
        tally.squares,
        marketer,
        prosecutor,
        score,
    )
