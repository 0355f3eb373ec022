"""The audit of a table: how far an intruder who sees it can narrow down what was suppressed."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.errors import InternalError
from sfumato.results.tables.linear_programs import SmallProgram
from sfumato.results.tables.problem import NOBODY

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Floats, Mask
    from sfumato.results.tables.problem import Problem

WHOLE = 1e-6
"""How near to a whole number a solution of the solver is one."""
MOST_NODES = 2_000
"""Nodes of the search for a whole-number table: what was met until then counts, and the interval is
then not called the tightest.
"""
Scope = Literal["one table", "all tables together", "each table by itself"]
"""What an audit looked at: tables published together are one only where the table of all their
columns is part of it.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Move:
    """Another table that looks alike: ``cells`` changed by ``signs``, times ``up`` and, backwards,
    times ``down``.
    """

    cells: Codes
    signs: Floats
    up: float
    down: float


@dataclasses.dataclass(frozen=True, eq=False)
class ExposedCell:
    """A cell that can be narrowed down too far; ``owner`` is the respondent who can, −1 for
    everybody.
    """

    cell: int
    owner: int
    low: float
    high: float


@dataclasses.dataclass(frozen=True, eq=False)
class TableAudit:
    """What an intruder can find out: per suppressed cell the least and the most it can be. For the
    owner only.

    ``exact`` tells whether the intervals are the tightest ones; else the true ones are at least as
    wide. ``exposed`` are the cells that an intruder, or a respondent who is alone in a cell,
    narrows down too far; the table holds when there are none. ``whole`` tells that the bounds are
    whole-number ones: every end is met by a table of whole numbers; else they are linear. ``scope``
    is what was looked at together.
    """

    hidden: Codes
    low: Floats
    high: Floats
    exposed: tuple[ExposedCell, ...]
    components: int
    programs: int
    seconds: float
    exact: bool
    whole: bool = False
    scope: Scope = "one table"

    @property
    def bounds(self) -> Literal["whole-number", "linear"]:
        """What kind of bounds the intervals are."""
        return "whole-number" if self.whole else "linear"

    @property
    def holds(self) -> bool:
        """Whether every cell that must stay unknown does."""
        return not self.exposed

    def __bool__(self) -> bool:
        return self.holds

    def interval(self, cell: int) -> tuple[float, float]:
        """The least and the most that a suppressed cell can be."""
        at = np.flatnonzero(self.hidden == cell)
        if not len(at):
            raise InternalError(
                "the interval of a published cell was requested; ask for a suppressed one"
            )
        return float(self.low[at[0]]), float(self.high[at[0]])

    def __repr__(self) -> str:
        if self.holds:
            word = "holds"
        else:
            word = f"{len({exposure.cell for exposure in self.exposed}):,} cells exposed"
        return (
            f"Audit({word}: {len(self.hidden):,} suppressed cells, {self.components:,} components,"
            f" {self.programs:,} programs)"
        )


def components_of(problem: Problem, hidden: Mask) -> list[Codes]:
    """Suppressed cells that stand in equations with each other: nothing outside tells anything
    about them.
    """
    from scipy import sparse

    cells = np.flatnonzero(hidden)
    part = problem.by_cell[:, cells].tocoo()
    lines, row = np.unique(part.row, return_inverse=True)
    if not len(lines):
        return [np.array([cell]) for cell in cells]
    # a graph with cells and equations as nodes: cells first, then the equations that hold any of
    # them
    count = len(cells) + len(lines)
    edges = (np.ones(part.nnz), (part.col, len(cells) + row.reshape(-1)))
    _, label = sparse.csgraph.connected_components(
        sparse.csr_matrix(edges, shape=(count, count)), directed=False
    )
    label = label[: len(cells)]
    order = np.argsort(label, kind="stable")
    if not len(cells):
        return []
    return np.split(cells[order], np.flatnonzero(np.diff(label[order])) + 1)


class TableIntruder:
    """Solves for suppressed cells of one component; every table found serves all cells at once."""

    def __init__(self, problem: Problem, cells: Codes) -> None:
        self.problem, self.cells = problem, cells
        part = problem.by_cell[:, cells].tocsr()
        # equations without any of these cells say nothing about them
        self.matrix = part[np.flatnonzero(np.diff(part.indptr))]
        self.value = problem.value[cells]
        # published cells go to the right side; since Ma = 0, that is what the true hidden cells add
        # up to
        self.right = self.matrix @ self.value
        self.low, self.high = self.value.copy(), self.value.copy()
        self.programs = 0
        self.tight = True

    def extreme(self, at: int, sign: int, fixed_cells: Mask | None = None) -> float:
        """The most (sign 1) or least (sign −1) that the cell at a place can be; ``fixed_cells``
        cells are what they are.
        """
        low, high = self.problem.lower[self.cells].copy(), self.problem.upper[self.cells].copy()
        if fixed_cells is not None:
            low[fixed_cells], high[fixed_cells] = self.value[fixed_cells], self.value[fixed_cells]
        aim = np.zeros(len(self.cells))
        aim[at] = -sign
        self.programs += 1
        solution = self._solved(at, sign, low, high)
        if self.problem.whole and np.abs(solution - np.round(solution)).max(initial=0.0) > WHOLE:
            solution = self._in_whole_numbers(aim, low, high)
        elif self.problem.whole:
            solution = np.round(solution)
        # every solution is a table that looks alike, so it may widen the interval of any cell. Not
        # so with fixed cells: that is what one respondent knows, others do not.
        if fixed_cells is None:
            self.low, self.high = np.minimum(self.low, solution), np.maximum(self.high, solution)
        return float(solution[at])

    def _solved(self, at: int, sign: int, low: Floats, high: Floats) -> Floats:
        """A table in which a cell is as far away as it can be."""
        from scipy.optimize import linprog

        if (
            self.small is not None
            and (met := self.small.pushed(self.value, low, high, at, sign)) is not None
        ):
            return met
        aim = np.zeros(len(self.cells))
        aim[at] = -sign
        solution = linprog(
            aim,
            A_eq=self.matrix,
            b_eq=self.right,
            bounds=np.column_stack([low, high]),
            method="highs",
        )
        # a doubtful answer is taken for no room at all: at worst the cell counts as exposed, never
        # wrongly as safe
        if (
            solution.x is None
            or np.abs(self.matrix @ solution.x - self.right).max(initial=0.0) > self.problem.slack
        ):
            self.tight = False
            return self.value  # nothing is known to be wide
        return np.asarray(solution.x)

    @cached_property
    def small(self) -> SmallProgram | None:
        """The equations as a small program, where they are one."""
        return SmallProgram.of(self.matrix, self.problem.slack)

    def goes_as_far(self, at: int, sign: int, far: float) -> bool:
        """Whether some table of whole numbers looks the same in which the cell at a place is so far
        up or down: the one nearest to the truth, which is met sooner than the furthest one.
        """
        from scipy import sparse
        from scipy.optimize import Bounds, LinearConstraint, linprog, milp

        rise = self.problem.upper[self.cells] - self.value
        fall = self.value - self.problem.lower[self.cells]
        # changed upwards by the first half of the columns, downwards by the second
        high, count = np.concatenate([rise, fall]), len(self.cells)
        low, own = np.zeros(2 * count), at if sign > 0 else count + at
        if far > high[own]:
            return False
        # exactly so far in the one direction, and not at all in the other: otherwise both could be
        # large and cancel out
        low[own] = high[own] = far
        high[(own + count) % (2 * count)] = 0.0
        self.programs += 1
        price, both_signs = (
            np.ones(2 * count),
            sparse.hstack([self.matrix, -self.matrix], format="csr"),
        )
        zeros = np.zeros(self.matrix.shape[0])
        # the linear program first: its solution often is whole already and it is much faster
        solution = linprog(
            price, A_eq=both_signs, b_eq=zeros, bounds=np.column_stack([low, high]), method="highs"
        )
        if solution.x is not None and np.abs(solution.x - np.round(solution.x)).max() > WHOLE:
            solution = milp(
                price,
                constraints=LinearConstraint(both_signs, 0.0, 0.0),
                bounds=Bounds(low, high),
                integrality=np.ones(2 * count),
                options={"node_limit": MOST_NODES},
            )
        if solution.x is None:
            return False
        change = np.round(solution.x[:count]) - np.round(solution.x[count:])
        if np.abs(self.matrix @ change).max(initial=0.0) > WHOLE or sign * change[at] < far:
            return False
        self.low, self.high = (
            np.minimum(self.low, self.value + change),
            np.maximum(self.high, self.value + change),
        )
        return True

    def _in_whole_numbers(self, aim: Floats, low: Floats, high: Floats) -> Floats:
        """The same where counts are whole: tighter bounds than fractions give."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        rows = LinearConstraint(self.matrix, self.right, self.right)
        limit = {"node_limit": MOST_NODES}
        solution = milp(
            aim,
            constraints=rows,
            bounds=Bounds(low, high),
            integrality=np.ones(len(aim)),
            options=limit,
        )
        if (
            solution.x is None
            or (np.abs(self.matrix @ np.round(solution.x) - self.right) > WHOLE).any()
        ):
            self.tight = False
            return self.value
        # status 0: proved the best. Otherwise the table that was met still is a proof, only the
        # interval may be wider.
        self.tight &= solution.status == 0
        return np.asarray(np.round(solution.x))


def audit(
    problem: Problem,
    hidden: Mask,
    *,
    exact: bool = True,
    moves: Mapping[int, Iterable[Move]] | None = None,
) -> TableAudit:
    r"""Least and most of every suppressed cell, and who can be narrowed down too far.

    .. math:: \min / \max\, z_s \quad\text{s.t.}\quad Mz = 0,\; z_i = a_i \;(i \notin S),\; l \le z
        \le u

    Component by component. ``moves`` are tables that are known to look alike; each is checked
    (equations, bounds, only suppressed cells) before it counts as a proof. With ``exact`` every
    interval is the tightest; without, only cells that no move proves are solved for, and intervals
    are those that were met. Respondents who are alone in a cell know it: for each of them the audit
    is repeated with their cells known.
    """
    started = time.perf_counter()
    groups = components_of(problem, hidden)
    proofs = proofs_of(problem, hidden, moves or {})
    low, high = proofs.widest(problem)
    known_moves, blind = proofs.by_cell(), proofs.for_all(problem)
    exposed: list[ExposedCell] = []
    programs, tight = 0, exact
    for cells in groups:
        if not exact and blind[cells[problem.primary[cells]]].all():
            continue  # everything that must stay unknown here is proved to
        intruder = TableIntruder(problem, cells)
        intruder.low, intruder.high = low[cells], high[cells]
        exposed += _everybody(problem, intruder, cells, exact=exact)
        exposed += _singles(problem, intruder, cells, known_moves, blind)
        low[cells], high[cells] = intruder.low, intruder.high
        programs += intruder.programs
        tight &= intruder.tight
    listed = np.flatnonzero(hidden)
    # a sensitive cell that is published has an interval of no width
    bare = [
        ExposedCell(int(p), NOBODY, *[float(problem.value[p])] * 2)
        for p in problem.primaries
        if not hidden[p]
    ]
    return TableAudit(
        listed,
        low[listed],
        high[listed],
        (*bare, *exposed),
        len(groups),
        programs,
        time.perf_counter() - started,
        tight,
        problem.whole,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Proofs:
    """Moves that were checked, laid end to end: ``which`` is the move of every entry, ``of`` the
    cell that a move is about.
    """

    moves: list[Move]
    of: Codes
    which: Codes
    cells: Codes
    signs: Floats
    up: Floats
    down: Floats

    @classmethod
    def laid(cls, cell_moves: Sequence[tuple[int, Move]]) -> _Proofs:
        """Moves laid end to end."""
        moves = [move for _, move in cell_moves]
        return cls(
            moves,
            np.array([cell for cell, _ in cell_moves], dtype=np.int64),
            np.repeat(np.arange(len(moves)), [len(move.cells) for move in moves]).astype(np.int64),
            np.concatenate([np.zeros(0, dtype=np.int64), *(move.cells for move in moves)]),
            np.concatenate([np.zeros(0), *(move.signs for move in moves)]),
            np.array([move.up for move in moves]),
            np.array([move.down for move in moves]),
        )

    def shifted(self, problem: Problem) -> list[Floats]:
        """Every entry as far up and as far down as its move carries it."""
        return [
            problem.value[self.cells] + amount[self.which] * self.signs
            for amount in (self.up, -self.down)
        ]

    def sound(self, problem: Problem, hidden: Mask) -> Mask:
        """The moves that give tables which an intruder cannot tell from the true one: equations,
        bounds, only suppressed cells, whole counts.
        """
        from scipy import sparse

        count, near = len(self.moves), problem.slack
        # one entry outside of what is suppressed, or beyond the bounds, spoils the whole move
        bad = ~hidden[self.cells]
        for amount, table in zip((self.up, self.down), self.shifted(problem), strict=True):
            bad |= (table > problem.upper[self.cells] + near) | (
                table < problem.lower[self.cells] - near
            )
            if problem.whole:
                bad |= (amount[self.which] * self.signs) % 1 != 0
        sound: Mask = np.bincount(self.which, weights=bad, minlength=count) == 0
        step = abs(
            problem.matrix
            @ sparse.csc_matrix((self.signs, (self.cells, self.which)), (problem.size, count))
        )
        # a change that keeps all sums leaves every equation at 0
        off = np.zeros(count)
        if step.shape[0]:
            off = step.max(axis=0).toarray().reshape(-1)
        return sound & (off * np.maximum(self.up, self.down) <= near)

    def widest(self, problem: Problem) -> tuple[Floats, Floats]:
        """Least and most of every cell in the tables that are known to look alike."""
        low, high = problem.value.copy(), problem.value.copy()
        for table in self.shifted(problem):
            np.minimum.at(low, self.cells, table)
            np.maximum.at(high, self.cells, table)
        return low, high

    def by_cell(self) -> dict[int, list[Move]]:
        """The moves of every cell."""
        moves_by_cell: dict[int, list[Move]] = {}
        for cell, move in zip(self.of.tolist(), self.moves, strict=True):
            moves_by_cell.setdefault(cell, []).append(move)
        return moves_by_cell

    def for_all(self, problem: Problem) -> Mask:
        """The cells that moves carry far enough which touch no cell that some other
        respondent knows: proved for everybody at once.
        """
        knower = problem.knower[self.cells]
        # the respondent who is alone in the sensitive cell knows it anyway and is no threat to it
        touched = (knower != NOBODY) & (knower != problem.owner[self.of[self.which]])
        free = np.bincount(self.which, weights=touched, minlength=len(self.moves)) == 0
        # how far the own cell of a move goes for one unit of it
        own = np.where(self.cells == self.of[self.which], self.signs, 0.0)
        size = np.bincount(self.which, weights=own, minlength=len(self.moves)) * free
        up, down = np.zeros(problem.size), np.zeros(problem.size)
        np.maximum.at(up, self.of, self.up * size)
        np.maximum.at(down, self.of, self.down * size)
        near = problem.slack
        proved: Mask = (up >= problem.up - near) & (down >= problem.down - near)
        if problem.slide is None:
            return proved
        return proved & (up + down >= problem.slide - near)


def proofs_of(problem: Problem, hidden: Mask, moves: Mapping[int, Iterable[Move]]) -> _Proofs:
    """The moves that are proofs; what is none is left out."""
    cell_moves = [
        (int(cell), move)
        for cell, cell_move_list in moves.items()
        for move in cell_move_list
        if len(move.cells)
    ]
    proofs = _Proofs.laid(cell_moves)
    if not cell_moves:
        return proofs
    sound = proofs.sound(problem, hidden)
    if sound.all():
        return proofs
    return _Proofs.laid(
        [cell_move for cell_move, holds in zip(cell_moves, sound, strict=True) if holds]
    )


def _everybody(
    problem: Problem, intruder: TableIntruder, cells: Codes, *, exact: bool
) -> list[ExposedCell]:
    exposed = []
    for at, cell in enumerate(cells):
        primary = bool(problem.primary[cell])
        # in no table: nobody asks how wide it is
        aside = problem.aside is not None and bool(problem.aside[cell])
        if not primary and (aside or not exact):
            continue
        if not exact and problem.whole and problem.aside is not None and problem.slide is None:
            # a joint table of whole numbers is hard to find where a cell is as far away as can be,
            # and nobody asks for more than enough
            for sign, far in ((1, problem.need(cell, 1)), (-1, problem.need(cell, -1))):
                if sign > 0:
                    met = intruder.high[at]
                else:
                    met = intruder.low[at]
                if sign * (met - problem.value[cell]) < far and not intruder.goes_as_far(
                    at, sign, float(np.ceil(far))
                ):
                    break
        if exact or not _wide(problem, cell, intruder.low[at], intruder.high[at]):
            # else some table that was met goes as far as anybody believes
            if intruder.high[at] < problem.upper[cell]:
                intruder.extreme(at, 1)
            if intruder.low[at] > problem.lower[cell]:
                intruder.extreme(at, -1)
        low, high = float(intruder.low[at]), float(intruder.high[at])
        if primary and not _wide(problem, cell, low, high):
            exposed.append(ExposedCell(int(cell), NOBODY, low, high))
    return exposed


def _wide(problem: Problem, cell: int, low: float, high: float, owner: int = NOBODY) -> bool:
    down, up = float(problem.value[cell]) - low, high - float(problem.value[cell])
    return _enough(problem, cell, down, up, owner)


def _enough(problem: Problem, cell: int, down: float, up: float, owner: int = NOBODY) -> bool:
    """Whether a cell can be so much less and so much more as it must, and both together."""
    near = problem.slack
    wide = problem.slide is None or down + up >= problem.slide[cell] - near
    return bool(
        wide and down >= problem.need(cell, -1, owner) - near and up >= problem.up[cell] - near
    )


def knowing(problem: Problem, cell: int, moves: Sequence[Move]) -> list[int]:
    """The respondents alone in a cell of some proof to whom the other proofs of a cell do not
    suffice, where all together do.
    """
    met = [problem.knowers(move.cells) for move in moves]
    own = int(problem.owner[cell])
    return [
        owner
        for owner in sorted(set().union(*met) - {own})
        if not _suffice(
            problem,
            cell,
            [m for m, owners_met in zip(moves, met, strict=True) if owner not in owners_met],
            owner,
        )
    ]


def _singles(
    problem: Problem,
    intruder: TableIntruder,
    cells: Codes,
    moves: Mapping[int, list[Move]],
    blind: Mask,
) -> list[ExposedCell]:
    """The same for every respondent who is alone in some of the cells; proofs that leave the own
    cells alone hold for them too.
    """
    owners = sorted(problem.knowers(cells))
    exposed = []
    for at in np.flatnonzero(problem.primary[cells] & ~blind[cells]) if owners else ():
        cell = int(cells[at])
        cell_moves = moves.get(cell, [])
        proved = _suffice(problem, cell, cell_moves)
        other_owners = [owner for owner in owners if owner != problem.owner[cell]]
        if proved:
            unproved_owners = knowing(problem, cell, cell_moves)
        else:
            unproved_owners = other_owners
        # all lone respondents together know more than each of them: where that is not enough to
        # narrow the cell down, two programs replace two for each
        if len(unproved_owners) > 1 and _wide_to_all(problem, intruder, int(at), cells):
            continue
        for owner in unproved_owners:
            known_cells = problem.known_to(owner)[cells]
            low, high = (
                intruder.extreme(int(at), -1, known_cells),
                intruder.extreme(int(at), 1, known_cells),
            )
            if not _wide(problem, cell, low, high, owner):
                exposed.append(ExposedCell(cell, int(owner), low, high))
    return exposed


def _wide_to_all(problem: Problem, intruder: TableIntruder, at: int, cells: Codes) -> bool:
    """Whether a cell stays unknown even to all lone respondents but its own together, who know more
    than each of them.
    """
    cell = int(cells[at])
    known_cells = (problem.knower[cells] != NOBODY) & (problem.knower[cells] != problem.owner[cell])
    return _wide(
        problem, cell, intruder.extreme(at, -1, known_cells), intruder.extreme(at, 1, known_cells)
    )


def _suffice(problem: Problem, cell: int, moves: Sequence[Move], owner: int = NOBODY) -> bool:
    """Whether moves carry a cell as far up and down as it must be."""
    sizes = [float(m.signs[m.cells == cell].sum()) for m in moves]
    up = max((m.up * size for m, size in zip(moves, sizes, strict=True)), default=0.0)
    down = max((m.down * size for m, size in zip(moves, sizes, strict=True)), default=0.0)
    return _enough(problem, cell, down, up, owner)
