"""Every node of a generalization lattice, evaluated: for looking around, not for searching.

Under k-anonymity alone one loop walks the lattice (see :mod:`sfumato.kernels.walk`); under other models every node is
judged as a search would judge it. Where there are too many nodes only the neighbours of one of them are looked at.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sfumato.core.landscape import Landscape
from sfumato.steps.search.walk import Counted, fits_the_walk, walked

if TYPE_CHECKING:
    from sfumato.core.classes import ClassTable
    from sfumato.steps.search.lattice import Lattice, Node

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
    sizes = [model.k for model in lattice.models if model.name == "k_anonymity"]  # type: ignore[attr-defined]
    if len(sizes) != len(lattice.models) or not sizes or base.person is not None or base.population is not None:
        return None
    return max(sizes) if fits_the_walk(lattice) else None


def _landscape(lattice: Lattice, counted: Counted, *, whole: bool) -> Landscape:
    import numpy as np

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
    import numpy as np

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
