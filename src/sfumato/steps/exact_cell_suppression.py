r"""The fewest suppressed cells, by mixed-integer programming: for small tables.

.. math:: \min \sum_{x,c} w_c\, s_{xc} \quad\text{with}\quad
   \sum_{y} a_y\, p_{xy} \ge k - f(x), \qquad p_{xy} \le s_{xc} + s_{yc} \;\; \text{where } x_c \ne y_c,
   \qquad s_{xc} \in \{0,1\},\; 0 \le p_{xy} \le 1

:math:`s_{xc}` suppresses the cell of record *x* in column *c* at the price :math:`w_c`; :math:`p_{xy}` says that *x* and *y* became
compatible, and is whole where *s* is. Only records that are rare to begin with have a constraint: suppression never makes
anyone rarer. Of equal records, at most as many are looked at one by one as a known solution can pay for; :math:`a_y` counts the
others.

The letter of the promise is cheap: k − 1 records without any cell left are compatible with everybody. The fewest cells of a
large table are often just those.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato.errors import InternalError, ParameterError
from sfumato.steps.suppressed_cells import Demand, Parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_RECORDS = 200
"""Records whose cells are decided one by one; larger tables are left to the greedy method."""
SLACK = 1e-6


@dataclasses.dataclass(frozen=True)
class Entity:
    """A record whose cells may be suppressed (``first`` is the place of its first cell), or several that stay whole."""

    part: int
    amount: int
    first: int | None


def price_of(parts: Parts, prices: dict[str, float]) -> float:
    """What all suppressed cells cost."""
    return sum(prices[column] * count for column, count in parts.cells().items())


def fewest_cells(
    parts: Parts, demands: Sequence[Demand], prices: dict[str, float], known: Parts, effort: int
) -> tuple[Parts, dict[str, Any]]:
    """The cheapest suppression, and how far from the optimum it can be at most.

    ``parts`` is the table as it is and ``known`` a suppression that meets the demands; ``effort`` bounds the nodes of the
    branch and bound.
    """
    known = min([known, _wiped(parts, demands)], key=lambda found: price_of(found, prices))
    limit = price_of(known, prices)
    entities = _entities(parts, limit, prices)
    program = _Program(parts, entities, prices, limit)
    for demand in demands:
        program.add(demand)
    solved, bound = program.solve(effort)
    if solved is not None and price_of(solved, prices) < limit - SLACK:
        known, limit = solved, price_of(solved, prices)
    if any((known.frequencies(d.columns) < d.k).any() for d in demands):
        raise InternalError("the solver's suppression does not keep its own constraints")
    bound = min(limit, max(0.0, bound))
    return known, {"price": limit, "lower_bound": bound, "gap": (limit - bound) / limit if limit else 0.0}


def small_enough(parts: Parts, limit: float, prices: dict[str, float]) -> bool:
    """Whether a table can be given to the solver."""
    return sum(entity.first is not None for entity in _entities(parts, limit, prices)) <= MOST_RECORDS


def _wiped(parts: Parts, demands: Sequence[Demand]) -> Parts:
    """The table with k − 1 records of which nothing is left."""
    import numpy as np

    most = max(demand.k for demand in demands)
    chosen = np.repeat(np.arange(len(parts.amounts)), np.minimum(parts.amounts, most))[: most - 1]
    columns = dict.fromkeys(name for demand in demands for name in demand.columns)
    return parts.hide(chosen, np.full(len(chosen), parts.bits(columns)))


def _entities(parts: Parts, limit: float, prices: dict[str, float]) -> list[Entity]:
    """Every record by itself as far as the limit can pay for, the others of its class together."""
    width, payable = len(parts.classes.columns), math.floor(limit / min(prices.values()) + SLACK)
    entities: list[Entity] = []
    single = 0
    for part, amount in enumerate(parts.amounts.tolist()):
        for _ in range(min(amount, payable)):
            entities.append(Entity(part, 1, single * width))
            single += 1
        if amount > payable:
            entities.append(Entity(part, amount - payable, None))
    return entities


class _Program:
    """The constraints, row by row; variables are the cells first, then the pairs that may become compatible."""

    def __init__(self, parts: Parts, entities: list[Entity], prices: dict[str, float], limit: float) -> None:
        self.parts, self.entities = parts, entities
        self.price = [prices[name] for name in parts.classes.columns]
        self.cells = sum(entity.first is not None for entity in entities) * len(self.price)
        self.pairs = 0
        self.entries: list[tuple[int, int, float]] = []
        self.least: list[float] = []
        self._row({cell: -price for cell, price in enumerate(self.price * (self.cells // len(self.price)))}, -limit - SLACK)
        self._order_equals()

    def _row(self, coefficients: dict[int, float], least: float) -> None:
        row = len(self.least)
        self.entries += [(row, column, value) for column, value in coefficients.items()]
        self.least.append(least)

    def _order_equals(self) -> None:
        """Of equal records the first one pays most: the others are the same solution written otherwise."""
        for one, other in zip(self.entities, self.entities[1:], strict=False):
            if one.part == other.part and one.first is not None and other.first is not None:
                paid = {one.first + c: price for c, price in enumerate(self.price)}
                self._row(paid | {other.first + c: -price for c, price in enumerate(self.price)}, 0.0)

    def add(self, demand: Demand) -> None:
        """Every record that is rare in these columns must become compatible with as many others as it lacks."""
        found = self.parts.frequencies(demand.columns)
        apart = _columns_apart(self.parts, demand.columns)
        pairs: dict[tuple[int, int], int] = {}
        for x, one in enumerate(self.entities):
            lacking = demand.k - int(found[one.part])
            if lacking <= 0:
                continue
            helped: dict[int, float] = {}
            for y, other in enumerate(self.entities):
                columns = int(apart[one.part, other.part])
                if columns and (one.first is not None or other.first is not None):
                    key = (min(x, y), max(x, y))
                    if key not in pairs:
                        pairs[key] = self._pair(one, other, columns)
                    helped[pairs[key]] = float(other.amount)
            self._row(helped, float(lacking))

    def _pair(self, one: Entity, other: Entity, columns: int) -> int:
        """A variable that is 1 at most when every column in which two records differ is suppressed in one of them."""
        pair = self.cells + self.pairs
        self.pairs += 1
        for c in range(len(self.price)):
            if columns >> c & 1:
                hiding = {entity.first + c: 1.0 for entity in (one, other) if entity.first is not None}
                self._row(hiding | {pair: -1.0}, 0.0)
        return pair

    def solve(self, effort: int) -> tuple[Parts | None, float]:
        """The best suppression found, or None, and a lower bound of all."""
        import numpy as np
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        rows, columns, values = (np.array(part) for part in zip(*self.entries, strict=True))
        width = self.cells + self.pairs
        whole = np.arange(width) < self.cells
        cost = np.zeros(width)
        cost[: self.cells] = self.price * (self.cells // len(self.price))
        result = milp(
            cost,
            integrality=whole.astype(np.int64),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(csr_array((values, (rows, columns)), shape=(len(self.least), width)), lb=self.least),
            options={"node_limit": effort, "mip_rel_gap": 0.0},
        )
        bound = result.mip_dual_bound if result.mip_dual_bound is not None else 0.0
        return (None if result.x is None else self._read(result.x)), float(bound)

    def _read(self, solution: NDArray[np.float64]) -> Parts:
        import numpy as np

        chosen = np.rint(solution[: self.cells]).astype(np.int64).reshape(-1, len(self.price))
        hidden = chosen @ (1 << np.arange(len(self.price), dtype=np.int64))
        parts = np.array([entity.part for entity in self.entities if entity.first is not None], dtype=np.int64)
        return self.parts.hide(parts[hidden != 0], hidden[hidden != 0])


def _columns_apart(parts: Parts, columns: Sequence[str]) -> NDArray[np.int64]:
    """Per pair of parts, the columns in which they differ and neither is missing, as bits."""
    import numpy as np

    blanks = parts.blanks(columns)
    apart = np.zeros((len(blanks), len(blanks)), dtype=np.int64)
    for name in columns:
        codes = parts.classes.codes(name)[parts.origin]
        apart |= (codes[:, None] != codes[None, :]).astype(np.int64) << parts.classes.columns.index(name)
    return apart & ~(blanks[:, None] | blanks[None, :])


def refuse_large(parts: Parts) -> None:
    """Say what to do with a table that is too large for the solver."""
    raise ParameterError(
        f"the exact method decides the cells of at most {MOST_RECORDS} records one by one; this table of "
        f"{int(parts.amounts.sum()):,} records needs more. Use method greedy, or auto"
    )
