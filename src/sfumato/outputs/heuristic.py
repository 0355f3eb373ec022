"""Cell suppression in large tables: every sensitive cell gets a box of cells that can be shifted together, and is so proved to be safe.

The boxes are closed: along each column a move takes from one value what it gives to another and carries it up through all levels that tell
them apart, so the product of such moves over all columns changes no sum that is published. A box with enough room up and down is thereby a proof, which the audit checks again.
Where no box will do, the cheapest change of the table is found by a linear program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.core.progress import Progress, silent
from sfumato.outputs.audit import Move, audit
from sfumato.outputs.exact import Suppression, impossible
from sfumato.outputs.problem import NOBODY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.outputs.audit import TableAudit
    from sfumato.outputs.cells import Dimension, TableCells
    from sfumato.outputs.problem import Problem

FEW = {1: 60, 2: 12, 3: 6, 4: 4}
MANY = {1: 400, 2: 30, 3: 10, 4: 5}
"""Moves along a column that are combined, by the number of columns: at first, and where none of these will do."""
MOST_ROUNDS = 6
MOST_TRIES = 10_000
"""Boxes that are looked for to publish cells again."""
MOST_USERS = 4
"""A cell that more boxes rest on is not tried to be published again."""


class Along(NamedTuple):
    """A move along one column: nodes and what each gets."""

    nodes: list[int]
    signs: list[int]


class Boxes:
    """The boxes of one table, and the cells that are suppressed so far."""

    def __init__(self, problem: Problem, cells: TableCells, variables: NDArray[np.int64]) -> None:
        self.problem, self.dimensions = problem, cells.dimensions
        self.shape = cells.shape
        self.strides = np.array([int(np.prod(self.shape[at + 1 :])) for at in range(len(self.shape))])
        self.variables = variables
        first = np.full(problem.size, -1, dtype=np.int64)
        own = np.stack(np.meshgrid(*[np.unique(one.same) for one in self.dimensions], indexing="ij"), -1)
        places = own.reshape(-1, len(self.shape)) @ self.strides
        first[variables[places]] = places
        self.place = first
        self.room_down = problem.value - problem.lower
        self.room_up = problem.upper - problem.value
        self.extra = 1e-9 * max(1.0, float(problem.weight.max(initial=0.0)))

    def find(self, cell: int, hidden: NDArray[np.bool_], usable: NDArray[np.bool_]) -> Move | None:
        """The cheapest box that protects a cell, of a few and then of many."""
        for most in (FEW, MANY):
            move = self._best(cell, hidden, usable, most.get(len(self.shape), 3))
            if move is not None:
                return move
        return None

    def again(self, cell: int, hidden: NDArray[np.bool_], blind: NDArray[np.bool_]) -> Move | None:
        """A box among what is suppressed anyway."""
        return self._best(cell, hidden, hidden & blind, FEW.get(len(self.shape), 3))

    def _best(self, cell: int, hidden: NDArray[np.bool_], usable: NDArray[np.bool_], most: int) -> Move | None:
        nodes = np.unravel_index(self.place[cell], self.shape)
        ways = [self._along(axis, int(nodes[axis]), cell, hidden, usable, most) for axis in range(len(nodes))]
        if not all(ways):
            return None
        count, size = [len(one) for one in ways], [max(len(w.nodes) for w in one) for one in ways]
        place, sign = np.zeros(1, dtype=np.int64), np.ones(1)
        rank = len(ways)
        for axis, one in enumerate(ways):
            at, signs = np.zeros((count[axis], size[axis]), dtype=np.int64), np.zeros((count[axis], size[axis]))
            for number, way in enumerate(one):
                at[number, : len(way.nodes)], signs[number, : len(way.nodes)] = way.nodes, way.signs
            form = [1] * (2 * rank)
            form[axis], form[rank + axis] = count[axis], size[axis]
            place = place + (at * self.strides[axis]).reshape(form)
            sign = sign * signs.reshape(form)
        combinations = int(np.prod(count))
        return self._cheapest(
            cell, self.variables[place.reshape(combinations, -1)], sign.reshape(combinations, -1), hidden, usable
        )

    def _cheapest(
        self,
        cell: int,
        cells: NDArray[np.int64],
        sign: NDArray[np.float64],
        hidden: NDArray[np.bool_],
        usable: NDArray[np.bool_],
    ) -> Move | None:
        problem, there = self.problem, sign != 0
        rise, fall = self.room_up[cells], self.room_down[cells]
        up = np.where(there, np.where(sign > 0, rise, fall), np.inf).min(axis=1)
        down = np.where(there, np.where(sign > 0, fall, rise), np.inf).min(axis=1)
        fits = (usable[cells] | ~there).all(axis=1)
        fits &= (up >= problem.up[cell]) & (down >= problem.down[cell])
        if not fits.any():
            return None
        cost = np.where(there & ~hidden[cells], problem.weight[cells] + self.extra, 0.0).sum(axis=1)
        best = int(np.argmin(np.where(fits, cost, np.inf)))
        taken = there[best]
        return Move(cells[best][taken], sign[best][taken], float(problem.up[cell]), float(problem.down[cell]))

    def _along(
        self, axis: int, node: int, cell: int, hidden: NDArray[np.bool_], usable: NDArray[np.bool_], most: int
    ) -> list[Along]:
        """The cheapest moves along one column that take a node along."""
        dimension = self.dimensions[axis]
        start = self.place[cell] - node * self.strides[axis]
        line = self.variables[start + np.arange(dimension.size) * self.strides[axis]]
        cost = np.where(hidden[line], 0.0, self.problem.weight[line] + self.extra)
        enough = self.room_down[line] >= max(float(self.problem.up[cell]), float(self.problem.down[cell]))
        cost = np.where(usable[line], np.where(enough, cost, 1e6 * (cost + 1.0)), np.inf)
        below = [[]] if node not in dimension.parts else [p for p in _paths(dimension, node, cost, 3) if p is not None]
        if node == dimension.root:
            return [Along([node, *path], [1] * (1 + len(path))) for path in below][:most]
        roomy = np.where(usable[line], self.room_down[line], -1.0)
        cheap: list[tuple[float, Along]] = []
        wide: list[tuple[float, Along]] = []
        up: list[tuple[float, Along]] = []
        for path in below:
            for climbed, partners in _partners(dimension, node):
                best = partners[np.argsort(cost[partners], kind="stable")][:most]
                cheap += _priced(dimension, cost, cost, [node, *path, *climbed], best)
                best = partners[np.argsort(-roomy[partners], kind="stable")][:2]
                wide += _priced(dimension, cost, -roomy, [node, *path, *climbed], best)
            plus = [node, *path, *_climbed(dimension, node)]
            up.append((float(cost[plus].sum()), Along(plus, [1] * len(plus))))
        kept = [
            way
            for ways in (sorted(cheap, key=_price)[: most - 2], sorted(wide, key=_price)[:1], up[:1])
            for price, way in ways
            if np.isfinite(price)
        ]
        return [way for at, way in enumerate(kept) if way not in kept[:at]]

    def near(self, cell: int, hidden: NDArray[np.bool_], usable: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The cells that the cheapest and roomiest moves along all columns span, in which a change of the table is looked for first."""
        nodes = np.unravel_index(self.place[cell], self.shape)
        spanned = [
            sorted(
                {at for way in self._along(axis, int(node), cell, hidden, usable, 8) for at in way.nodes} | {int(node)}
            )
            for axis, node in enumerate(nodes)
        ]
        grid = np.ravel_multi_index(np.meshgrid(*spanned, indexing="ij"), self.shape).reshape(-1)
        found = np.zeros(self.problem.size, dtype=bool)
        found[self.variables[grid]] = True
        return found & usable


def _price(one: tuple[float, Along]) -> float:
    return one[0]


def _priced(
    dimension: Dimension,
    cost: NDArray[np.float64],
    order: NDArray[np.float64],
    plus: list[int],
    partners: NDArray[np.int64],
) -> list[tuple[float, Along]]:
    """Moves that take from each of some partners what they give to a node."""
    found = []
    for partner in partners[np.isfinite(cost[partners])].tolist():
        down = _path(dimension, partner, order if np.isfinite(order).all() else cost)
        if down is not None:
            minus = [partner, *down]
            found.append(
                (
                    float(order[plus].sum() + order[minus].sum()),
                    Along(plus + minus, [1] * len(plus) + [-1] * len(minus)),
                )
            )
    return found


def _climbed(dimension: Dimension, node: int) -> list[int]:
    """Everything above a node."""
    above = []
    while (node := int(dimension.above[node])) >= 0:
        above.append(node)
    return above


def _partners(dimension: Dimension, node: int) -> Iterator[tuple[list[int], NDArray[np.int64]]]:
    """Siblings of a node, of what it is a part of, and so on up; each with the nodes that were climbed."""
    climbed: list[int] = []
    while (whole := int(dimension.above[node])) >= 0:
        parts = dimension.parts[whole]
        yield list(climbed), parts[parts != node]
        climbed.append(whole)
        node = whole


def _path(dimension: Dimension, node: int, cost: NDArray[np.float64]) -> list[int] | None:
    """The cheapest way down from a node to a value, without the node."""
    path: list[int] = []
    while (parts := dimension.parts.get(node)) is not None:
        node = int(parts[np.argmin(cost[parts])])
        if not np.isfinite(cost[node]):
            return None
        path.append(node)
    return path


def _paths(dimension: Dimension, node: int, cost: NDArray[np.float64], most: int) -> Sequence[list[int] | None]:
    parts = dimension.parts[node]
    first = [int(one) for one in parts[np.argsort(cost[parts], kind="stable")][:most] if np.isfinite(cost[one])]
    paths = [(one, _path(dimension, one, cost)) for one in first]
    return [None if path is None else [one, *path] for one, path in paths]


# The cheapest change of the table, where no box will do.


def cheapest_change(
    problem: Problem, cell: int, sign: int, hidden: NDArray[np.bool_], usable: NDArray[np.bool_]
) -> Move | None:
    """A table that looks alike in which a cell is as far away as it must be, with the least weight of further cells; None if there is none."""
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, linprog, milp

    cells = np.flatnonzero(usable)
    part = problem.by_cell[:, cells].tocsr()
    rows = part[np.flatnonzero(np.diff(part.indptr))]
    need = problem.need(cell, sign)
    rise, fall = problem.upper[cells] - problem.value[cells], problem.value[cells] - problem.lower[cells]
    # changed upwards by the first half of the columns, downwards by the second
    high = np.concatenate([rise, fall])
    low = np.zeros(len(high))
    at = int(np.flatnonzero(cells == cell)[0]) + (0 if sign > 0 else len(cells))
    if high[at] < need:
        return None
    low[at] = high[at] = need
    high[at - len(cells) if sign < 0 else at + len(cells)] = 0.0
    price = np.where(hidden[cells], 1e-9, problem.weight[cells] + 1e-6) / max(
        1.0, float(problem.weight.max(initial=0.0))
    )
    price = np.tile(price / np.maximum(need, np.minimum(rise, fall).clip(min=1e-9)) * need, 2)
    both = sparse.hstack([rows, -rows], format="csr")
    zeros = np.zeros(rows.shape[0])
    found = linprog(price, A_eq=both, b_eq=zeros, bounds=np.column_stack([low, high]), method="highs")
    if found.x is not None and problem.whole and np.abs(found.x - np.round(found.x)).max() > 1e-6:
        found = milp(
            price, constraints=LinearConstraint(both, 0, 0), bounds=Bounds(low, high), integrality=np.ones(len(price))
        )
    if found.x is None:
        return None
    change = found.x[: len(cells)] - found.x[len(cells) :]
    change = np.round(change) if problem.whole else change
    moved = np.abs(change) > problem.slack / 100
    up = need if sign > 0 else 0.0
    return Move(cells[moved], change[moved] / need * sign, up, 0.0 if sign > 0 else need)


class BoxSearch:
    """Gives every sensitive cell what protects it, and takes back what turns out not to be needed."""

    def __init__(self, problem: Problem, boxes: Boxes | None) -> None:
        self.problem, self.boxes = problem, boxes
        self.hidden = problem.primary.copy()
        self.moves: dict[int, list[Move]] = {}
        self.may = problem.free | problem.primary

    def protect(self, cell: int, owner: int = NOBODY) -> bool:
        """Find what protects a cell, from everybody or from one who knows the own cells; False where nothing does."""
        usable = self.may if owner == NOBODY else self.may & (self.problem.owner != owner)
        others = usable & ((self.problem.owner == NOBODY) | (self.problem.owner == self.problem.owner[cell]))
        others[cell] = True
        if self.boxes is not None:
            move = self.boxes.find(cell, self.hidden, others)
            if move is None and not np.array_equal(others, usable):
                move = self.boxes.find(cell, self.hidden, usable)
            if move is not None:
                self._take(cell, [move])
                return True
        signs = [sign for sign in (1, -1) if self.problem.need(cell, sign) > self.problem.slack]
        near = () if self.boxes is None else (self.boxes.near(cell, self.hidden, usable),)
        for among in (*near, usable):
            changes = [cheapest_change(self.problem, cell, sign, self.hidden, among) for sign in signs]
            taken = [move for move in changes if move is not None]
            if len(taken) == len(signs):
                self._take(cell, taken)
                return True
        return False

    def _take(self, cell: int, moves: list[Move]) -> None:
        self.moves.setdefault(cell, []).extend(moves)
        for move in moves:
            self.hidden[move.cells] = True

    def give_back(self) -> None:
        """Publish again what no box needs, dearest first; boxes that rest on it are looked for among what is suppressed anyway."""
        boxes, problem = self.boxes, self.problem
        if boxes is None:
            return
        users: dict[int, set[int]] = {}
        effort = MOST_TRIES
        for cell, moves in self.moves.items():
            for move in moves:
                for other in move.cells.tolist():
                    users.setdefault(other, set()).add(cell)
        second = np.flatnonzero(self.hidden & ~problem.primary)
        for cell in second[np.argsort(-problem.weight[second], kind="stable")].tolist():
            resting = users.get(cell, set())
            if len(resting) > MOST_USERS or any(len(self.moves[one]) > 1 for one in resting):
                continue
            effort -= len(resting)
            if effort < 0:
                return
            self.hidden[cell] = False
            instead = {
                one: found for one in resting if (found := boxes.again(one, self.hidden, self._blind(one))) is not None
            }
            if len(instead) < len(resting):
                self.hidden[cell] = True
                continue
            for one, another in instead.items():
                self.moves[one] = [another]
                for other in another.cells.tolist():
                    users.setdefault(other, set()).add(one)

    def _blind(self, cell: int) -> NDArray[np.bool_]:
        """The cells that no single respondent knows, and those of the cell's own one."""
        owner = self.problem.owner
        blind: NDArray[np.bool_] = (owner == NOBODY) | (owner == owner[cell])
        blind[cell] = True
        return blind


def suppress_by_boxes(
    problem: Problem, boxes: Boxes | None, *, progress: Progress = silent
) -> tuple[Suppression, dict[int, list[Move]], TableAudit]:
    """Cells to suppress in a large table, the proofs, and the audit that holds; the largest need comes first.

    Reference: Giessing & Repsilber 2002, *Tools and strategies to protect multiple tables with the GHQUAR cell suppression engine*, doi:10.1007/3-540-47804-3_14; ours are closed over all levels, so that each is a proof.
    """
    search = BoxSearch(problem, boxes)
    need = np.maximum(problem.up, problem.down)
    order = problem.primaries[np.argsort(-need[problem.primaries], kind="stable")].tolist()
    lost = 0
    for number, cell in enumerate(order):
        lost += not search.protect(cell)
        if number % 200 == 0:
            progress(0.8 * number / len(order), "suppressing")
    if lost:
        raise impossible(lost, len(order))
    search.give_back()
    for _ in range(MOST_ROUNDS):
        seen = audit(problem, search.hidden, exact=False, moves=search.moves)
        if seen.holds:
            cost = float(problem.weight[search.hidden].sum())
            return Suppression(search.hidden, cost, None), search.moves, seen
        unprotected = [one.cell for one in seen.exposed if not search.protect(one.cell, one.owner)]
        if unprotected:
            raise impossible(len(set(unprotected)), len(order))
    raise impossible(len({one.cell for one in seen.exposed}), len(order))
