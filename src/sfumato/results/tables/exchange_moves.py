"""Boxes of cells that can be shifted together: along each column a move takes from one value what
it gives to another.

What is moved is carried up through all levels that tell the two values apart, so the product of
such moves over all columns changes no sum that is published. A box with enough room up and down is
thereby a proof that a cell stays unknown; where none has enough, several together are one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.results.tables.audit import Move

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Floats, Mask
    from sfumato.results.tables.cells import Dimension, TableCells
    from sfumato.results.tables.problem import Problem

FEW = {1: 60, 2: 12, 3: 6, 4: 4}
MANY = {1: 400, 2: 30, 3: 10, 4: 5}
"""Moves along a column that are combined, by the number of columns: at first, and where none of
these will do.
"""
MOST_PIECES = 12
"""Boxes that are put together to carry a cell as far as it must go."""


Parts = dict[int, list[int]]
"""Every node that is a sum → what it is the sum of."""


class RequiredWidth(NamedTuple):
    """How far a cell must be able to go up and down."""

    up: float
    down: float


class Along(NamedTuple):
    """A move along one column: nodes and what each gets."""

    nodes: list[int]
    signs: list[int]


class Boxes:
    """The boxes of one table, and the cells that are suppressed so far."""

    def __init__(self, problem: Problem, cells: TableCells, variables: Codes) -> None:
        self.problem, self.dimensions = problem, cells.dimensions
        self.shape = cells.shape
        # cells are numbered row by row: the number of a cell is the sum of node times stride
        self.strides = np.array(
            [int(np.prod(self.shape[at + 1 :])) for at in range(len(self.shape))]
        )
        self.variables = variables
        # a variable may stand in several cells of the grid; boxes start from the one whose nodes
        # stand for themselves (not from a node with a single child)
        first = np.full(problem.size, -1, dtype=np.int64)
        own = np.stack(
            np.meshgrid(
                *[np.unique(dimension.same) for dimension in self.dimensions], indexing="ij"
            ),
            -1,
        )
        cell_positions = own.reshape(-1, len(self.shape)) @ self.strides
        first[variables[cell_positions]] = cell_positions
        self.place = first
        self.room_down = problem.value - problem.lower
        self.room_up = problem.upper - problem.value
        # a price so small that it decides only between boxes that cost the same: the one of fewer
        # cells
        self.extra = 1e-9 * max(1.0, float(problem.weight.max(initial=0.0)))
        self.parts: list[Parts] = [
            {w: p.tolist() for w, p in dimension.parts.items()} for dimension in self.dimensions
        ]
        self.siblings: dict[tuple[int, int], list[tuple[list[int], list[int]]]] = {}

    def find(self, cell: int, need: RequiredWidth, hidden: Mask, usable: Mask) -> Move | None:
        """The cheapest box that protects a cell, of a few and then of many."""
        for limits in (FEW, MANY):
            move = self._best(cell, need, hidden, usable, limits.get(len(self.shape), 3))
            if move is not None:
                return move
        return None

    def again(self, cell: int, need: RequiredWidth, hidden: Mask, blind: Mask) -> Move | None:
        """A box among what is suppressed anyway."""
        return self._best(cell, need, hidden, hidden & blind, FEW.get(len(self.shape), 3))

    def pieces(
        self,
        cell: int,
        sign: int,
        need: float,
        hidden: Mask,
        usable: Mask,
    ) -> Move | None:
        """Several boxes that together carry a cell up (sign 1) or down as far as it must go, each
        the cheapest for what it carries.
        """
        # a piece need not carry all: cells with room for a quarter are good enough
        candidates = self._candidates(cell, need / 4, hidden, usable, MANY.get(len(self.shape), 3))
        if candidates is None:
            return None
        fits = (usable[candidates[0]] | (candidates[1] == 0)).all(axis=1)
        if not fits.any():
            return None
        cells, at = np.unique(candidates[0][fits], return_inverse=True)
        at, direction = at.reshape(int(fits.sum()), -1), sign * candidates[1][fits]
        change = self._put_together(cells, at, direction, need, hidden[cells])
        if change is None:
            return None
        # as signs that give the change when multiplied by the need
        is_changed = change != 0
        return Move(
            cells[is_changed],
            sign * change[is_changed] / need,
            need if sign > 0 else 0.0,
            0.0 if sign > 0 else need,
        )

    def _put_together(
        self,
        cells: Codes,
        at: Codes,
        direction: Floats,
        need: float,
        hidden: Mask,
    ) -> Floats | None:
        """How much every cell changes when boxes are taken, one after the other, until the need is
        met; None where it is not.
        """
        rise, fall, price = (
            self.room_up[cells],
            self.room_down[cells],
            self.problem.weight[cells] + self.extra,
        )
        change, remaining, is_used = np.zeros(len(cells)), need, direction != 0
        for _ in range(MOST_PIECES):
            # a box goes as far as the cell with the least room lets it
            room = np.where(
                direction > 0, (rise - change)[at], np.where(is_used, (fall + change)[at], np.inf)
            ).min(axis=1)
            amount = np.minimum(np.floor(room + 1e-9) if self.problem.whole else room, remaining)
            if not (useful := amount > self.problem.slack).any():
                return None
            cost = np.where(is_used, np.where(hidden, 0.0, price)[at], 0.0).sum(axis=1) + self.extra
            # the cheapest per unit that it carries
            best = int(np.argmin(np.where(useful, cost / np.where(useful, amount, 1.0), np.inf)))
            cells_used = at[best][is_used[best]]
            change[cells_used] += amount[best] * direction[best][is_used[best]]
            # what one piece suppresses costs nothing for the next
            hidden[cells_used] = True
            remaining -= amount[best]
            if remaining <= 0:
                return change
        return None

    def _best(
        self,
        cell: int,
        need: RequiredWidth,
        hidden: Mask,
        usable: Mask,
        limit: int,
    ) -> Move | None:
        candidates = self._candidates(cell, max(need), hidden, usable, limit)
        if candidates is None:
            return None
        return self._cheapest(need, *candidates, hidden, usable)

    def _candidates(
        self,
        cell: int,
        need: float,
        hidden: Mask,
        usable: Mask,
        limit: int,
    ) -> tuple[Codes, Floats] | None:
        """Cells and signs of the boxes that the best moves along all columns make, a box a row;
        sign 0 is no cell.
        """
        nodes = np.unravel_index(self.place[cell], self.shape)
        ways = [
            self._along(axis, int(nodes[axis]), cell, need, hidden, usable, limit)
            for axis in range(len(nodes))
        ]
        if not all(ways):
            return None
        count, size = (
            [len(axis_ways) for axis_ways in ways],
            [max(len(w.nodes) for w in axis_ways) for axis_ways in ways],
        )
        positions, sign = np.zeros(1, dtype=np.int64), np.ones(1)
        rank = len(ways)
        for axis, axis_ways in enumerate(ways):
            at, signs = (
                np.zeros((count[axis], size[axis]), dtype=np.int64),
                np.zeros((count[axis], size[axis])),
            )
            for number, way in enumerate(axis_ways):
                at[number, : len(way.nodes)], signs[number, : len(way.nodes)] = way.nodes, way.signs
            # a box takes one move per column, and its cells are all combinations of their nodes.
            # The first half of the axes is the choice of moves, the second half the node within
            # each: positions add up, signs multiply.
            form = [1] * (2 * rank)
            form[axis], form[rank + axis] = count[axis], size[axis]
            positions = positions + (at * self.strides[axis]).reshape(form)
            sign = sign * signs.reshape(form)
        combinations = int(np.prod(count))
        return self.variables[positions.reshape(combinations, -1)], sign.reshape(combinations, -1)

    def _cheapest(
        self,
        need: RequiredWidth,
        cells: Codes,
        sign: Floats,
        hidden: Mask,
        usable: Mask,
    ) -> Move | None:
        problem, is_used = self.problem, sign != 0
        rise, fall = self.room_up[cells], self.room_down[cells]
        # upwards, cells with a plus rise and those with a minus fall; downwards it is the other way
        # round
        up = np.where(is_used, np.where(sign > 0, rise, fall), np.inf).min(axis=1)
        down = np.where(is_used, np.where(sign > 0, fall, rise), np.inf).min(axis=1)
        fits = (usable[cells] | ~is_used).all(axis=1)
        fits &= (up >= need.up) & (down >= need.down)
        if not fits.any():
            return None
        cost = np.where(is_used & ~hidden[cells], problem.weight[cells] + self.extra, 0.0).sum(
            axis=1
        )
        best = int(np.argmin(np.where(fits, cost, np.inf)))
        used_cells = is_used[best]
        return Move(cells[best][used_cells], sign[best][used_cells], need.up, need.down)

    def _along(
        self,
        axis: int,
        node: int,
        cell: int,
        need: float,
        hidden: Mask,
        usable: Mask,
        limit: int,
    ) -> list[Along]:
        """The cheapest moves along one column that take a node along."""
        dimension = self.dimensions[axis]
        start = self.place[cell] - node * self.strides[axis]
        line = self.variables[start + np.arange(dimension.size) * self.strides[axis]]
        bare = np.where(hidden[line], 0.0, self.problem.weight[line] + self.extra)
        room = self.room_down[line]
        # too little room makes a cell dear and does not exclude it: several boxes may share the way
        dear = np.where(usable[line], np.where(room >= need, bare, 1e6 * (bare + 1.0)), np.inf)
        # lines are short: plain lists are faster than arrays
        cost, width = dear.tolist(), np.where(usable[line], -room, np.inf).tolist()
        # a node that is a sum cannot change alone: some part of it changes with it, down to a value
        below = [[]] if node not in dimension.parts else _paths(self.parts[axis], node, cost, 3)
        if node == dimension.root:
            return [Along([node, *path], [1] * (1 + len(path))) for path in below][:limit]
        ways_kept: list[Along] = []
        # every way down from the node has its share
        limit_per_partner = max(2, limit // len(below)) if below else 0
        for path in below:
            cheap: list[tuple[float, Along]] = []
            wide: list[tuple[float, Along]] = []
            for climbed, partners in self._partners(axis, node):
                plus = [node, *path, *climbed]
                cheap += _price_moves(
                    self.parts[axis],
                    cost,
                    plus,
                    sorted(partners, key=cost.__getitem__)[:limit_per_partner],
                )
                wide += _price_moves(
                    self.parts[axis], width, plus, sorted(partners, key=width.__getitem__)[:2]
                )
            # the other way to keep sums: nothing is taken away, and all above changes too, up to
            # the total
            plus = [node, *path, *_nodes_above(dimension, node)]
            if not ways_kept:
                up = [
                    (sum(cost[node_of_plus] for node_of_plus in plus), Along(plus, [1] * len(plus)))
                ]
            else:
                up = []
            ways = (
                sorted(cheap, key=_price)[: max(1, limit_per_partner - 2)],
                sorted(wide, key=_price)[:1],
                up,
            )
            ways_kept += [
                way for ways_of_kind in ways for price, way in ways_of_kind if price < np.inf
            ]
        return [way for at, way in enumerate(ways_kept) if way not in ways_kept[:at]]

    def _partners(self, axis: int, node: int) -> list[tuple[list[int], list[int]]]:
        """Siblings of a node, of what it is a part of, and so on up; each with the nodes that were
        climbed.
        """
        if (axis, node) not in self.siblings:
            dimension, at = self.dimensions[axis], node
            climbed: list[int] = []
            partners: list[tuple[list[int], list[int]]] = []
            while (whole := int(dimension.above[at])) >= 0:
                partners.append(
                    (list(climbed), [part for part in self.parts[axis][whole] if part != at])
                )
                climbed.append(whole)
                at = whole
            self.siblings[axis, node] = partners
        return self.siblings[axis, node]

    def near(
        self,
        cell: int,
        need: float,
        hidden: Mask,
        usable: Mask,
        limit: int = 8,
    ) -> Mask:
        """The cells that the cheapest and roomiest moves along all columns span, in which a change
        of the table is looked for first.
        """
        nodes = np.unravel_index(self.place[cell], self.shape)
        spanned = [
            sorted(
                {
                    at
                    for way in self._along(axis, int(node), cell, need, hidden, usable, limit)
                    for at in way.nodes
                }
                | {int(node)}
            )
            for axis, node in enumerate(nodes)
        ]
        grid = np.ravel_multi_index(np.meshgrid(*spanned, indexing="ij"), self.shape).reshape(-1)
        is_near = np.zeros(self.problem.size, dtype=bool)
        is_near[self.variables[grid]] = True
        return is_near & usable


def _price(priced_way: tuple[float, Along]) -> float:
    return priced_way[0]


def _price_moves(
    parts: Parts, cost: list[float], plus: list[int], partners: list[int]
) -> list[tuple[float, Along]]:
    """Moves that take from each of some partners what they give to a node."""
    priced_ways = []
    plus_price = sum(cost[part] for part in plus)
    for partner in partners:
        down = _path(parts, partner, cost)
        if down is not None and cost[partner] < np.inf:
            minus = [partner, *down]
            price = plus_price + sum(cost[part] for part in minus)
            priced_ways.append((price, Along(plus + minus, [1] * len(plus) + [-1] * len(minus))))
    return priced_ways


def _nodes_above(dimension: Dimension, node: int) -> list[int]:
    """Everything above a node."""
    above = []
    while (node := int(dimension.above[node])) >= 0:
        above.append(node)
    return above


def _path(parts: Parts, node: int, cost: list[float]) -> list[int] | None:
    """The cheapest way down from a node to a value, without the node."""
    path: list[int] = []
    while node in parts:
        node = min(parts[node], key=cost.__getitem__)
        if cost[node] == np.inf:
            return None
        path.append(node)
    return path


def _paths(parts: Parts, node: int, cost: list[float], limit: int) -> list[list[int]]:
    """Ways down from a node, by its cheapest parts."""
    first = [
        part for part in sorted(parts[node], key=cost.__getitem__)[:limit] if cost[part] < np.inf
    ]
    return [[part, *path] for part in first if (path := _path(parts, part, cost)) is not None]
