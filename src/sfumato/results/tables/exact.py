"""Cell suppression at the least cost, proved: one mixed-integer program, or Benders cuts where that
is too large.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import Unsatisfiable
from sfumato.results.tables.audit import audit
from sfumato.results.tables.problem import NOBODY

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Floats, Mask
    from sfumato.results.tables.audit import TableAudit
    from sfumato.results.tables.problem import Problem

MOST_COLUMNS = 3000
"""Columns of the whole program beyond which cuts are cheaper."""


@dataclasses.dataclass(frozen=True)
class TableAttack:
    """One thing that must not succeed: to push a cell up (sign 1) or down, by everybody or one who
    knows the own cells.
    """

    cell: int
    sign: int
    owner: int = NOBODY


@dataclasses.dataclass(frozen=True, eq=False)
class Suppression:
    """Cells to suppress, what they cost, and the least that any safe suppression costs (``bound``),
    where it is known.
    """

    hidden: Mask
    cost: float
    bound: float | None
    rounds: int = 0
    cuts: int = 0

    @property
    def gap(self) -> float | None:
        """How far the cost is from the bound, as a share of the cost; 0 is proved to be the
        least.
        """
        if self.bound is None:
            return None
        if self.cost > 0:
            return max(0.0, (self.cost - self.bound) / self.cost)
        return 0.0


def attacks_of(problem: Problem) -> list[TableAttack]:
    """Every cell that must stay unknown, in both directions."""
    return _matter(
        problem, [TableAttack(int(cell), sign) for cell in problem.primaries for sign in (1, -1)]
    )


def _matter(problem: Problem, attacks: Iterable[TableAttack]) -> list[TableAttack]:
    """The attacks that must fail: those in a direction that is asked for, and both where the
    interval must be wide.
    """
    return [
        attack
        for attack in dict.fromkeys(attacks)
        if max(problem.need(attack.cell, attack.sign, attack.owner), problem.wide(attack.cell))
        > problem.slack
    ]


def suppress_exactly(
    problem: Problem, *, rounds: int = 200, nodes: int = 20_000, columns: int = MOST_COLUMNS
) -> Suppression | None:
    r"""Cells to suppress at the least cost, such that every attack fails; None when ``rounds`` or
    ``nodes`` do not suffice.

    .. math:: \min \sum_i w_i y_i, \quad y_p = 1,\quad Mz^{p\pm} = 0,\quad
        a_i - (a_i - l_i) y_i \le z_i^{p\pm} \le a_i + (u_i - a_i) y_i,\quad z_p^{p+} \ge a_p +
        \mathrm{UPL}_p,\quad z_p^{p-} \le a_p - \mathrm{LPL}_p

    Respondents who are alone in a cell are added as intruders where the audit finds that they
    succeed. Beyond 3,000 columns the tables *z* are not part of the program: for every attack that
    succeeds a cut is
    added, :math:`\sum_i \min(n, \alpha_i (u_i - a_i) + \beta_i (a_i - l_i))\, y_i \ge n` with the
    duals of the intruder's own program and the need *n*.

    Reference: Fischetti & Salazar-González 2001, *Solving the cell suppression problem on tabular
    data with linear constraints*, doi:10.1287/mnsc.47.7.1008.9805.
    """
    attacks = attacks_of(problem)
    # first of all: otherwise the search would run for long and find nothing
    _require_possible(problem, attacks)
    cuts = _starting_cuts(problem)
    rounds_done = 0
    # most lone respondents never get anywhere, so attacks of theirs are added only when they
    # succeed
    while rounds_done < rounds:
        whole = len(attacks) * problem.size <= columns
        if whole:
            suppression = _solve_whole(problem, attacks, nodes)
        else:
            suppression = _by_cuts(problem, attacks, cuts, rounds - rounds_done, nodes)
        if suppression is None:
            return None
        rounds_done += max(1, suppression.rounds)
        table_audit = audit(problem, suppression.hidden, exact=False)
        if table_audit.holds:
            return dataclasses.replace(suppression, rounds=rounds_done)
        new_attacks = [
            attack for attack in _successful_attacks(table_audit, problem) if attack not in attacks
        ]
        # the audit fails and knows no new attack: more rounds would give the same again
        if not new_attacks:
            return None
        _require_possible(problem, new_attacks)
        attacks += new_attacks
    return None


def _successful_attacks(table_audit: TableAudit, problem: Problem) -> list[TableAttack]:
    return _matter(
        problem,
        [
            TableAttack(exposure.cell, sign, exposure.owner)
            for exposure in table_audit.exposed
            for sign in (1, -1)
        ],
    )


def _find_cuts(
    problem: Problem, hidden: Mask, attacks: Sequence[TableAttack]
) -> tuple[list[Floats], set[int]]:
    """The cuts of the attacks that succeed when these cells are suppressed, and the cells that they
    are about.
    """
    cuts: list[Floats] = []
    lost: set[int] = set()
    # all are solved first, since intervals that must be wide look at both directions of a cell
    pushes = {attack: push(problem, hidden, attack) for attack in attacks}
    for attack, (far, prices) in pushes.items():
        need = problem.need(attack.cell, attack.sign, attack.owner)
        if far < need - problem.slack:
            lost.add(attack.cell)
            if prices is not None:
                cuts.append(_benders_cut(problem, [(attack, prices)], need))
    for attack, (far, prices) in pushes.items():
        wide, back = problem.wide(attack.cell), dataclasses.replace(attack, sign=-attack.sign)
        # each pair of directions once, from the one upwards
        if attack.sign < 0 or wide <= problem.slack or back not in pushes:
            continue
        far_back, prices_back = pushes[back]
        if far + far_back < wide - problem.slack:
            lost.add(attack.cell)
            if prices is not None and prices_back is not None:
                cuts.append(_benders_cut(problem, [(attack, prices), (back, prices_back)], wide))
    return cuts, lost


def _require_possible(problem: Problem, attacks: list[TableAttack]) -> None:
    """Raise where not even suppressing all that may be suppressed protects a cell."""
    _, lost = _find_cuts(problem, problem.free | problem.unknown, attacks)
    if lost:
        raise impossible(len(lost), len(problem.primaries))


def impossible(lost: int, primaries: int) -> Unsatisfiable:
    """What is said where suppression cannot protect some cells."""
    return Unsatisfiable(
        f"suppression: {lost:,} of {primaries:,} sensitive cells can be computed, or estimated too "
        "closely, even if every possible cell is suppressed; make the table coarser, weaken the "
        "rule, or let empty cells be suppressed (--free-zeros, in Python zeros='free')",
        closest={"sensitive": primaries, "unprotected": lost},
    )


def not_found(primaries: int) -> Unsatisfiable:
    """What is said where the search in a large table came to no end."""
    return Unsatisfiable(
        f"suppression: no cells were found that protect all {primaries:,} sensitive cells, and the "
        "table is too large to know whether there are any; make the table coarser, weaken the "
        "rule, or let empty cells be suppressed (--free-zeros, in Python zeros='free')",
        closest={"sensitive": primaries},
    )


def with_hidden(problem: Problem, suppression: Suppression, hidden: Mask) -> Suppression:
    """The same suppression with fewer cells; a bound on the cost stays one."""
    cost = float(problem.weight[hidden].sum())
    return dataclasses.replace(
        suppression,
        hidden=hidden,
        cost=cost,
        bound=None if suppression.bound is None else min(cost, suppression.bound),
    )


def without_needless(problem: Problem, suppression: Suppression) -> Suppression:
    """Publish cells that need no protection and follow from a sum anyway: what an intruder can find
    out stays as it is.
    """
    hidden, size = suppression.hidden.copy(), abs(problem.matrix)
    while True:
        # the only suppressed cell of an equation follows by subtraction. Publishing it may leave
        # another cell alone in its own equation, so this is done until there is none.
        lines = np.flatnonzero(np.asarray(size @ hidden.astype(np.float64)).round() == 1)
        cells = np.unique(size[lines].indices)
        derivable = cells[hidden[cells] & ~problem.unknown[cells]]
        if not len(derivable):
            return with_hidden(problem, suppression, hidden)
        hidden[derivable] = False


# The intruder's own program, and the cut it gives.


def push(problem: Problem, hidden: Mask, attack: TableAttack) -> tuple[float, Floats | None]:
    """How far a cell can be pushed when these are suppressed, and what a unit of room of every cell
    adds (None: it cannot be pushed at all).

    Above 0 where it is room upwards that adds, below where it is room downwards.
    """
    movable = problem.movable(hidden, attack.owner)
    low = np.where(movable, problem.lower, problem.value)
    high = np.where(movable, problem.upper, problem.value)
    if (small := problem.small) is not None:
        met = small.pushed(problem.value, low, high, attack.cell, attack.sign)
        if met is not None:
            return float(attack.sign * (met - problem.value)[attack.cell]), small.prices
    return _push_at_large(problem, low - problem.value, high - problem.value, attack)


def _push_at_large(
    problem: Problem, low: Floats, high: Floats, attack: TableAttack
) -> tuple[float, Floats | None]:
    from scipy.optimize import linprog

    aim = np.zeros(problem.size)
    aim[attack.cell] = -attack.sign
    zeros = np.zeros(problem.matrix.shape[0])
    solution = linprog(
        aim, A_eq=problem.matrix, b_eq=zeros, bounds=np.column_stack([low, high]), method="highs"
    )
    if solution.x is None:
        return 0.0, None
    # duals of the bounds: by how much further the cell could go for one more unit of room
    prices = np.maximum(-solution.upper.marginals, 0.0) - np.maximum(solution.lower.marginals, 0.0)
    return float(attack.sign * solution.x[attack.cell]), prices


def _benders_cut(
    problem: Problem, pushes: Sequence[tuple[TableAttack, Floats]], need: float
) -> Floats:
    """What every cell must give for a cell to get as far as it must, in one direction or in
    both together: coefficients of y, with 1 as the right side.
    """
    rise, fall = problem.upper - problem.value, problem.value - problem.lower
    room = np.zeros(problem.size)
    for attack, prices in pushes:
        # the dual tells in which direction a cell helps; room that the intruder knows does not help
        own = np.where(prices > 0, prices * rise, -prices * fall)
        room += np.where(problem.known_to(attack.owner), 0.0, np.maximum(own, 0.0))
    # no cell counts for more than what is needed: the cut stays valid and becomes stronger
    return np.minimum(room, need) / need


def _starting_cuts(problem: Problem) -> list[Floats]:
    """No equation with exactly one suppressed cell: a primary needs another cell in each of its
    equations.
    """
    cuts = []
    rows = problem.matrix.tocsr()
    for cell in problem.primaries:
        if problem.up[cell] + problem.down[cell] <= problem.slack:
            continue
        for row in problem.by_cell[:, cell].indices:
            row_cells = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
            cut = np.zeros(problem.size)
            cut[row_cells[row_cells != cell]] = 1.0
            cuts.append(cut)
    return cuts


def _choices(problem: Problem) -> tuple[Floats, Floats]:
    """Bounds of y: primaries are suppressed, what is not free is published."""
    return problem.unknown.astype(np.float64), (problem.unknown | problem.free).astype(np.float64)


def _by_cuts(
    problem: Problem,
    attacks: list[TableAttack],
    cuts: list[Floats],
    rounds: int,
    nodes: int,
) -> Suppression | None:
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    low, high = _choices(problem)
    for number in range(1, rounds + 1):
        # every cut asks for at least 1, since its coefficients were divided by the need
        if cuts:
            rows = [LinearConstraint(sparse.csr_matrix(np.array(cuts)), lb=1.0)]
        else:
            rows = []
        solution = milp(
            _cost(problem),
            constraints=rows,
            bounds=Bounds(low, high),
            integrality=np.ones(problem.size),
            # without a gap: what is found must be proved to be the least
            options={"node_limit": nodes, "mip_rel_gap": 0.0},
        )
        if solution.x is None:
            return None
        hidden = solution.x > 0.5
        new, _ = _find_cuts(problem, hidden, attacks)
        if not new:
            return _build_suppression(problem, hidden, solution.mip_dual_bound, number, len(cuts))
        cuts += new
    return None


def _solve_whole(problem: Problem, attacks: list[TableAttack], nodes: int) -> Suppression | None:
    """One program that holds a table for every attack."""
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    size, count = problem.size, len(attacks)
    # columns: y of all cells, then for each attack a table of changes
    total = size * (1 + count)
    rows = []
    if count:
        # a cell that the intruder knows does not change in the intruder's table
        movable = np.concatenate([~problem.known_to(attack.owner) for attack in attacks])
        rise = np.where(movable, np.tile(problem.upper - problem.value, count), 0.0)
        fall = np.where(movable, np.tile(problem.value - problem.lower, count), 0.0)
        # the same equations for every attack, one block each, behind the columns of y
        sums = sparse.kron(sparse.identity(count, format="csr"), problem.matrix, format="csr")
        sums = sparse.csr_matrix(
            (sums.data, sums.indices + size, sums.indptr), shape=(sums.shape[0], total)
        )
        rows = [
            LinearConstraint(sums, 0.0, 0.0),
            LinearConstraint(_within(-rise, size), ub=0.0),
            LinearConstraint(_within(fall, size), lb=0.0),
        ]
        rows += _apart(problem, attacks)
    low, high = np.full(total, -np.inf), np.full(total, np.inf)
    low[:size], high[:size] = _choices(problem)
    for number, attack in enumerate(attacks, start=1):
        # the cell of an attack must go so far: a bound of one column is enough
        at = number * size + attack.cell
        if attack.sign > 0:
            low[at] = problem.need(attack.cell, 1, attack.owner)
        else:
            high[at] = -problem.need(attack.cell, -1, attack.owner)
    aim = np.concatenate([_cost(problem), np.zeros(size * count)])
    kinds = np.concatenate([np.ones(size), np.zeros(size * count)])
    limits = {"node_limit": nodes, "mip_rel_gap": 0.0}
    solution = milp(
        aim, constraints=rows, bounds=Bounds(low, high), integrality=kinds, options=limits
    )
    if solution.x is None:
        return None
    return _build_suppression(problem, solution.x[:size] > 0.5, solution.mip_dual_bound, 1, 0)


def _apart(problem: Problem, attacks: Sequence[TableAttack]) -> list[Any]:
    """Where an interval must be wide: its ends so far from each other, wherever they lie."""
    from scipy import sparse
    from scipy.optimize import LinearConstraint

    attack_numbers = {attack: number for number, attack in enumerate(attacks, start=1)}
    pairs = [
        (attack, dataclasses.replace(attack, sign=-1))
        for attack in attacks
        if attack.sign > 0 and problem.wide(attack.cell) > 0
    ]
    pairs = [pair for pair in pairs if pair[1] in attack_numbers]
    if not pairs:
        return []
    columns = [
        attack_numbers[attack] * problem.size + attack.cell for pair in pairs for attack in pair
    ]
    line, signs = np.repeat(np.arange(len(pairs)), 2), np.tile([1.0, -1.0], len(pairs))
    shape = (len(pairs), problem.size * (1 + len(attacks)))
    wide = [problem.wide(attack.cell) for attack, _ in pairs]
    return [LinearConstraint(sparse.csr_matrix((signs, (line, columns)), shape=shape), lb=wide)]


def _within(room: Floats, size: int) -> Any:
    """Per attack and cell a row: how far the cell is changed, plus the room that it has when it is
    suppressed.
    """
    from scipy import sparse

    count = len(room)
    columns = np.stack([np.arange(count) % size, size + np.arange(count)], axis=1).reshape(-1)
    entries = np.stack([room, np.ones(count)], axis=1).reshape(-1)
    return sparse.csr_matrix(
        (entries, columns, np.arange(0, 2 * count + 1, 2)), shape=(count, size + count)
    )


def _cost(problem: Problem) -> Floats:
    """The weights; of suppressions that cost the same the one with fewer cells."""
    # added up over all cells this is a millionth of the largest weight, or of 1: it decides between
    # equal costs only
    return problem.weight + 1e-6 * max(1.0, float(problem.weight.max(initial=0.0))) / max(
        1, problem.size
    )


def _build_suppression(
    problem: Problem, hidden: Mask, bound: float | None, rounds: int, cuts: int
) -> Suppression:
    cost = float(problem.weight[hidden].sum())
    return Suppression(
        hidden, cost, cost if bound is None else min(cost, float(bound)), rounds, cuts
    )
