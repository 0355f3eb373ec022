"""Cell suppression in large tables: every sensitive cell gets a box of cells that can be shifted
together, and is so proved to be safe.

A box with enough room up and down is a proof, which the audit checks again. Where no box will do,
several do together, or the cheapest change of the table is found by a linear program: first among
cells near by, then in all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.progress import Progress, silent
from sfumato.results.tables.audit import Move, audit, knowing
from sfumato.results.tables.exact import Suppression, TableAttack, impossible, not_found, push
from sfumato.results.tables.exchange_moves import RequiredWidth
from sfumato.results.tables.problem import NOBODY

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Floats, Mask
    from sfumato.results.tables.audit import TableAudit
    from sfumato.results.tables.exchange_moves import Boxes
    from sfumato.results.tables.problem import Problem

MOST_ROUNDS = 6
MOST_TRIES = 10_000
"""Boxes that are looked for to publish cells again."""
MOST_AUDITS = 60
"""Audits by which cells are published again where all had to be suppressed first."""
MOST_UNKNOWNS = 3_000
"""Cells of a table up to which that is done."""
MOST_USERS = 4
"""A cell that more boxes rest on is not tried to be published again."""


# The cheapest change of the table, where no box will do.


def cheapest_change(
    problem: Problem,
    cell: int,
    sign: int,
    hidden: Mask,
    usable: Mask,
    need: float,
) -> Move | None:
    """A table that looks alike in which a cell is as far away as it must be, with the least weight
    of further cells; None if there is none.
    """
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, linprog, milp

    cells = np.flatnonzero(usable)
    part = problem.by_cell[:, cells].tocsr()
    rows = part[np.flatnonzero(np.diff(part.indptr))]
    rise, fall = (
        problem.upper[cells] - problem.value[cells],
        problem.value[cells] - problem.lower[cells],
    )
    # changed upwards by the first half of the columns, downwards by the second
    high = np.concatenate([rise, fall])
    low = np.zeros(len(high))
    at = int(np.flatnonzero(cells == cell)[0]) + (0 if sign > 0 else len(cells))
    if high[at] < need:
        return None
    # the cell goes exactly so far in the asked direction and not at all in the other
    low[at] = high[at] = need
    high[at - len(cells) if sign < 0 else at + len(cells)] = 0.0
    # in units of what is asked for: whatever the table's numbers are, the solver sees the same
    if not problem.whole:
        low, high = low / need, high / need
    price = np.tile(
        _prices(problem, cells, hidden[cells], np.maximum(need, np.minimum(rise, fall))), 2
    )
    both_signs = sparse.hstack([rows, -rows], format="csr")
    zeros = np.zeros(rows.shape[0])
    solution = linprog(
        price, A_eq=both_signs, b_eq=zeros, bounds=np.column_stack([low, high]), method="highs"
    )
    if (
        solution.x is not None
        and problem.whole
        and np.abs(solution.x - np.round(solution.x)).max() > 1e-6
    ):
        solution = milp(
            price,
            constraints=LinearConstraint(both_signs, 0, 0),
            bounds=Bounds(low, high),
            integrality=np.ones(len(price)),
        )
    if solution.x is None:
        return None
    change = solution.x[: len(cells)] - solution.x[len(cells) :]
    change = np.round(change) if problem.whole else change * need
    is_changed = np.abs(change) > problem.slack / 100
    up = need if sign > 0 else 0.0
    return Move(cells[is_changed], change[is_changed] / need * sign, up, 0.0 if sign > 0 else need)


def _prices(problem: Problem, cells: Codes, hidden: Mask, room: Floats) -> Floats:
    """What a unit of change of cells costs; what is suppressed anyway costs next to nothing.

    The middle one costs 1 and none is so cheap that the solver, for which 1e-7 is nothing, takes it
    for free.
    """
    price = (problem.weight[cells] + 1e-6) / room.clip(min=1e-9)
    if not hidden.all():
        middle = float(np.median(price[~hidden]))
    else:
        middle = 1.0
    prices: Floats = np.where(hidden, 1e-7, np.clip(price / middle, 1e-4, 1e4))
    return prices


class BoxSearch:
    """Gives every sensitive cell what protects it, and takes back what turns out not to be
    needed.
    """

    def __init__(self, problem: Problem, boxes: Boxes | None) -> None:
        self.problem, self.boxes = problem, boxes
        self.hidden = problem.unknown.copy()
        self.moves: dict[int, list[Move]] = {}
        self.may = problem.free | problem.unknown
        self.nobodys = problem.knower == NOBODY

    def protect(self, cell: int, owner: int = NOBODY) -> bool:
        """Find what protects a cell, from everybody or from one who knows the own cells; False
        where nothing does.

        What no single respondent knows protects from all of them. Where that does not do, whoever
        knows a cell of what does is given another proof.
        """
        usable = self.problem.movable(self.may, owner)
        return any(self._protect(cell, owner, need, usable) for need in self._needs(cell, owner))

    def _protect(self, cell: int, owner: int, need: RequiredWidth, usable: Mask) -> bool:
        unknown = self._unknown_to_all(cell, usable)
        # a proof from cells that no single respondent knows holds for all of them at once, so it is
        # tried first
        for among in [usable] if unknown is None else [unknown, usable]:
            if (box_moves := self._by_boxes(cell, need, among)) is not None:
                self._take(cell, box_moves)
                return owner != NOBODY or among is unknown or self._from_each(cell)
        return self._by_programs(cell, need, usable) and (owner != NOBODY or self._from_each(cell))

    def _from_each(self, cell: int) -> bool:
        """Protect a cell from every respondent who knows a cell of each proof that there is."""
        for _ in range(MOST_ROUNDS):
            unproved_owners = knowing(self.problem, cell, self.moves[cell])
            if not unproved_owners:
                return True
            if not all(self.protect(cell, owner) for owner in unproved_owners):
                return False
        return True  # the audit has the last word

    def _by_programs(self, cell: int, need: RequiredWidth, usable: Mask) -> bool:
        """Look for the cheapest change of the table, among cells near by and then in all of it."""
        problem, boxes = self.problem, self.boxes
        directions = [
            (sign, far) for sign, far in ((1, need.up), (-1, need.down)) if far > problem.slack
        ]
        # small parts of the table first: programs over all cells are slow
        near = (
            ()
            if boxes is None
            else (boxes.near(cell, max(need), self.hidden, usable, reach) for reach in (4, 8))
        )
        for among in (*near, usable):
            # whether there is any solution is told much faster than which one is the cheapest
            if problem.small is not None and not self._possible(cell, directions, among):
                continue
            changes = [
                cheapest_change(problem, cell, sign, self.hidden, among, far)
                for sign, far in directions
            ]
            moves_found = [move for move in changes if move is not None]
            if len(moves_found) == len(directions):
                self._take(cell, moves_found)
                return True
        return False

    def _possible(self, cell: int, directions: list[tuple[int, float]], among: Mask) -> bool:
        """Whether a cell can go as far as it must when all these cells are suppressed."""
        within = among | (np.arange(self.problem.size) == cell)
        far = (
            push(self.problem, within, TableAttack(cell, sign))[0] - need
            for sign, need in directions
        )
        return all(surplus >= -self.problem.slack for surplus in far)

    def _needs(self, cell: int, owner: int) -> Iterator[RequiredWidth]:
        """How far a cell must go; where its interval must be wide first more upwards, then more
        downwards, then as far up as it can and the rest downwards.
        """
        problem = self.problem
        up, down = problem.need(cell, 1, owner), problem.need(cell, -1, owner)
        wide = problem.wide(cell)
        yield RequiredWidth(max(up, wide - down), down)
        if wide <= up + down + problem.slack:
            return
        # what is asked for besides went upwards first; now it goes downwards
        yield RequiredWidth(up, wide - up)
        reach = push(problem, self.may, TableAttack(cell, 1, owner))[0]
        if problem.whole:
            reach = float(np.floor(reach + 1e-6))
        if up <= reach < wide - down:
            yield RequiredWidth(reach, wide - reach)

    def _unknown_to_all(self, cell: int, usable: Mask) -> Mask | None:
        """Of the cells that may be used those that no single respondent knows, but for the cell's
        own one; None where that is all of them.
        """
        if not self.problem.owned:
            return None
        unknown: Mask = usable & self.nobodys
        unknown[cell] = True
        if (owner := int(self.problem.owner[cell])) != NOBODY:
            unknown |= usable & (self.problem.knower == owner)
        return unknown

    def _by_boxes(self, cell: int, need: RequiredWidth, among: Mask) -> list[Move] | None:
        """One box, or several put together for each direction."""
        boxes = self.boxes
        if boxes is None:
            return None
        if (move := boxes.find(cell, need, self.hidden, among)) is not None:
            return [move]
        box_moves: list[Move] = []
        for sign, far in ((1, need.up), (-1, need.down)):
            if far <= self.problem.slack:
                continue
            move = boxes.pieces(cell, sign, far, self.hidden, among)
            if move is None:
                return None
            box_moves.append(move)
        return box_moves

    def _take(self, cell: int, moves: list[Move]) -> None:
        self.moves.setdefault(cell, []).extend(moves)
        for move in moves:
            self.hidden[move.cells] = True

    def give_back(self) -> None:
        """Publish again what no box needs, dearest first; boxes that rest on it are looked for
        among what is suppressed anyway.
        """
        boxes, problem = self.boxes, self.problem
        if boxes is None:
            return
        # cell → the sensitive cells whose proofs touch it
        users: dict[int, set[int]] = {}
        effort = MOST_TRIES
        for cell, moves in self.moves.items():
            for move in moves:
                for user_cell in move.cells.tolist():
                    users.setdefault(user_cell, set()).add(cell)
        second = np.flatnonzero(self.hidden & ~problem.unknown)
        for cell in second[np.argsort(-problem.weight[second], kind="stable")].tolist():
            resting = users.get(cell, set())
            # a proof of several moves would have to be replaced as a whole; such cells are left as
            # they are
            if len(resting) > MOST_USERS or any(
                len(self.moves[resting_cell]) > 1 for resting_cell in resting
            ):
                continue
            effort -= len(resting)
            if effort < 0:
                return
            self.hidden[cell] = False
            instead = {
                resting_cell: new_moves
                for resting_cell in resting
                if (
                    new_moves := boxes.again(
                        resting_cell,
                        self._upwards(resting_cell),
                        self.hidden,
                        self._blind(resting_cell),
                    )
                )
                is not None
            }
            if len(instead) < len(resting):
                self.hidden[cell] = True
                continue
            # users of the old box are not taken out: that may keep a cell suppressed, and never
            # publishes one that is needed
            for resting_cell, another in instead.items():
                self.moves[resting_cell] = [another]
                for user_cell in another.cells.tolist():
                    users.setdefault(user_cell, set()).add(resting_cell)

    def _upwards(self, cell: int) -> RequiredWidth:
        """How far a cell must go when what is asked for besides goes upwards."""
        return next(self._needs(cell, NOBODY))

    def _blind(self, cell: int) -> Mask:
        """The cells that no single respondent knows, and those of the cell's own one."""
        unknown = self._unknown_to_all(cell, self.may)
        return self.may if unknown is None else unknown


def suppress_by_boxes(
    problem: Problem, boxes: Boxes | None, *, progress: Progress = silent
) -> tuple[Suppression, dict[int, list[Move]], TableAudit]:
    """Cells to suppress in a large table, the proofs, and the audit that holds; the largest need
    comes first.

    Reference: Giessing & Repsilber 2002, *Tools and strategies to protect multiple tables with the
    GHQUAR cell suppression engine*, doi:10.1007/3-540-47804-3_14; ours are closed over all levels,
    so that each is a proof.
    """
    search = BoxSearch(problem, boxes)
    need = np.maximum(problem.up, problem.down)
    # what is suppressed for a large need often protects cells with smaller ones, too
    order = problem.primaries[np.argsort(-need[problem.primaries], kind="stable")].tolist()
    lost = 0
    for number, cell in enumerate(order):
        lost += not search.protect(cell)
        if number % (200 if boxes is not None else 5) == 0:
            progress(0.8 * number / len(order), "suppressing")
    if lost and problem.size > MOST_UNKNOWNS:
        raise impossible(lost, len(order))  # which a program over all cells said
    if lost:
        return _from_all(problem)
    search.give_back()
    table_audit = _until_it_holds(search)
    if table_audit is None:
        return _from_all(problem)
    cost = float(problem.weight[search.hidden].sum())
    return Suppression(search.hidden, cost, None), search.moves, table_audit


def suppress_further(problem: Problem, hidden: Mask) -> Mask:
    """More cells to suppress, by linear programs, until the audit of what is suppressed so far
    holds.
    """
    search = BoxSearch(problem, None)
    search.hidden |= hidden
    if _until_it_holds(search) is None:
        return _from_all(problem)[0].hidden
    return search.hidden


def _until_it_holds(search: BoxSearch) -> TableAudit | None:
    """Protect what the audit finds exposed, again and again; None where that comes to no end."""
    for _ in range(MOST_ROUNDS):
        table_audit = audit(search.problem, search.hidden, exact=False, moves=search.moves)
        if table_audit.holds:
            return table_audit
        if not all(
            search.protect(exposure.cell, exposure.owner) for exposure in table_audit.exposed
        ):
            return None
    return None


def _from_all(problem: Problem) -> tuple[Suppression, dict[int, list[Move]], TableAudit]:
    """Suppress all that may be, and publish again what the audit lets go, dearest first: where it
    fails with all suppressed, nothing helps.

    The more is suppressed, the less an intruder knows; so what the search finds, or what a cell
    costs, never decides whether a table can be published.
    """
    if problem.size > MOST_UNKNOWNS:
        raise not_found(int(problem.primary.sum()))
    hidden = problem.free | problem.unknown
    table_audit = audit(problem, hidden, exact=False)
    if not table_audit.holds:
        raise impossible(
            len({exposure.cell for exposure in table_audit.exposed}), int(problem.primary.sum())
        )
    cells = np.flatnonzero(hidden & ~problem.unknown)
    waiting = [cells[np.argsort(-problem.weight[cells], kind="stable")]]
    # halving: what cannot be published together is split and tried part by part, dearer cells first
    for _ in range(MOST_AUDITS):
        if not waiting:
            break
        cells_to_show = waiting.pop(0)
        fewer = hidden.copy()
        fewer[cells_to_show] = False
        trial_audit = audit(problem, fewer, exact=False)
        if trial_audit.holds:
            hidden, table_audit = fewer, trial_audit
        elif len(cells_to_show) > 1:
            waiting = [*np.array_split(cells_to_show, 2), *waiting]
    return Suppression(hidden, float(problem.weight[hidden].sum()), None), {}, table_audit
