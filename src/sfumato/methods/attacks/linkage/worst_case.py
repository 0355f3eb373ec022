"""The worst distance of a family: the one that links most, and how many any could link."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.errors import MissingExtra, require
from sfumato.methods.attacks.linkage.aggregators import (
    CHOQUET,
    MEAN,
    ORDERED,
    PAIRWISE,
    SQUARE_FORM,
    Family,
)
from sfumato.methods.attacks.linkage.files import MARGIN, Pool
from sfumato.methods.attacks.linkage.search import TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene

    Floats = NDArray[np.float64]


Solver = Literal["auto", "highspy", "scipy", "none"]
NODE_COST = 20
"""Times that a node of a search goes over all entries of the program, roughly."""
ROOT_NODES = 20
"""Nodes that the beginning of a search is as much work as."""
SOLVER_SHARE = 4
"""Times the work of an attack that all searches together may take."""
PATIENCE = 10.0
"""Times the seconds left that a solver may take by the clock on the wall where it knows no other: a
busy machine must not decide.
"""
MOST_SOLVED = 500
"""Units beyond which the program says nothing in any time there is."""
TURNS = 30
EDGE = 1e-6
"""Parameters below this are tried as zero too: a solver's zero is not one, and ties hold at exact
zeros only.
"""


# The mixed-integer program of worst-case linkage: the least that is not linked.


@dataclasses.dataclass(frozen=True, eq=False)
class Program:
    r"""Minimise ``costs`` over ``low ≤ x ≤ high`` with ``rows_low ≤ rows x ≤ rows_high``; the last
    ``whole`` are 0 or 1.

    .. math:: \min \sum_i (v_i - t_i) K_i + t_i L_i \quad \text{s.t.} \quad
              & C_p(d(a_i, b_j)) - C_p(d(a_i, b_i)) + M_{ij} K_i \ge \varepsilon \quad (j \ne i) \\
              & C_p(d(a_i, b_j)) - C_p(d(a_i, b_i)) + (M_{ij} - \varepsilon) L_i \ge 0, \quad L_i
              \le K_i

    :math:`K_i` = 1: the own record is not nearest alone, and what linking it is worth falls from
    :math:`v_i` to at most :math:`t_i`, its share of a tie; :math:`L_i` = 1: not even with a tie.
    """

    costs: Floats
    low: Floats
    high: Floats
    rows: Any
    rows_low: Floats
    rows_high: Floats
    whole: int


def large_constants(pool: Pool) -> Floats:
    r"""Per row the least M that never binds where K = 1.

    For families between the least and the greatest difference (weighted mean, OWA, Choquet)
    :math:`M = \varepsilon + \max_k (d_k(a_i, b_i) - d_k(a_i, b_j))_+`, with the differences in
    falling order for the OWA; for a square form of trace 1 the greatest eigenvalue
    of :math:`\delta_i \delta_i^T - \delta_j \delta_j^T` takes that place.
    """
    family = pool.family
    own = pool.own_roots[pool.rows[:, 0]]
    if family.kind == SQUARE_FORM:
        # A square form is at most the largest eigenvalue times the trace, which is 1.
        own_products = own[:, :, None] * own[:, None, :]
        root_products = pool.roots[:, :, None] * pool.roots[:, None, :]
        largest = np.linalg.eigvalsh(own_products - root_products)[:, -1]
        return np.asarray(MARGIN + np.maximum(0.0, largest))
    if family.kind == ORDERED:
        losses = np.maximum(0.0, (-pool.gains).max(axis=1))
        return np.asarray(MARGIN + losses)
    gaps = np.maximum(0.0, (own**2 - pool.roots**2).max(axis=1))
    return np.asarray(MARGIN + gaps)


def program_of(pool: Pool, cuts: Floats) -> Program:
    """The program over the pool's rows; ``cuts`` are further rows over the parameters that must not
    be negative.
    """
    from scipy.sparse import block_array, coo_array, csr_array, eye_array

    family = pool.family
    units = len(pool.units)
    rows = len(pool.rows)
    low, high, shape, shape_low, shape_high = parameter_bounds(family)
    missing_columns = len(low) - cuts.shape[1]
    padded_cuts = np.pad(cuts, ((0, 0), (0, missing_columns)))
    shape = csr_array(np.vstack([shape.toarray(), padded_cuts]))
    large = large_constants(pool)
    # Only where the other record can be nearer does a binary variable matter.
    weak = np.flatnonzero(large > MARGIN)  # all others are never nearer
    positions = np.arange(rows), pool.rows[:, 0]
    failing = coo_array((large, positions), shape=(rows, units))
    entries = np.arange(len(weak)), pool.rows[weak, 0]
    losing = coo_array((large[weak] - MARGIN, entries), shape=(len(weak), units))
    # Gains of every row times the parameters: what the other record lies farther away.
    linking = csr_array(np.pad(pool.gains, ((0, 0), (0, len(low) - family.width))))
    identity = eye_array(units)
    free = len(weak) + units
    losing_rows = [linking[weak], None, losing]
    failing_rows = [None, identity, -identity]
    return Program(
        np.concatenate([np.zeros(len(low)), pool.alone - pool.shared, pool.shared]),
        np.concatenate([low, np.zeros(2 * units)]),
        high=np.concatenate([high, np.ones(2 * units)]),
        rows=block_array(
            [[linking, failing, None], losing_rows, failing_rows, [shape, None, None]],
            format="csr",
        ),
        rows_low=np.concatenate(
            [np.full(rows, MARGIN), np.zeros(free), shape_low, np.zeros(len(cuts))]
        ),
        rows_high=np.concatenate(
            [np.full(rows + free, np.inf), shape_high, np.full(len(cuts), np.inf)]
        ),
        whole=2 * units,
    )


def parameter_bounds(family: Family) -> tuple[Any, Any, Any, Any, Any]:
    """Bounds of the parameters (and of what helps to state them), and rows with their bounds."""
    from scipy.sparse import csr_array

    size = family.columns
    if family.kind in (MEAN, ORDERED):
        return np.zeros(size), np.ones(size), csr_array(np.ones((1, size))), np.ones(1), np.ones(1)
    if family.kind == CHOQUET:
        return _measure(size)
    if family.kind == PAIRWISE:
        return _interactions(size)
    trace = np.concatenate([np.ones(size), np.zeros(family.width - size)])
    interactions = np.full(family.width - size, -0.5)
    low = np.concatenate([np.zeros(size), interactions])
    high = np.concatenate([np.ones(size), np.full(family.width - size, 0.5)])
    return low, high, csr_array(trace[None, :]), np.ones(1), np.ones(1)


def _measure(size: int) -> tuple[Any, Any, Any, Any, Any]:
    from scipy.sparse import coo_array

    sets = np.arange(1 << size)
    # Monotone: adding column k never makes the measure of a set smaller.
    smaller = np.concatenate([sets[sets >> k & 1 == 0] for k in range(size)])
    larger = np.concatenate([sets[sets >> k & 1 == 0] | 1 << k for k in range(size)])
    number = np.arange(len(smaller))
    ones = np.ones(len(number))
    entries = np.concatenate([ones, -ones])
    positions = np.tile(number, 2), np.concatenate([larger, smaller])
    rows = coo_array((entries, positions), shape=(len(number), len(sets)))
    low = np.zeros(len(sets))
    high = np.ones(len(sets))
    # No columns at all measure 0, all together 1.
    high[0] = 0.0
    low[-1] = 1.0
    return low, high, rows.tocsr(), np.zeros(len(number)), np.full(len(number), np.inf)


def _interactions(size: int) -> tuple[Any, Any, Any, Any, Any]:
    """Rows of a 2-additive measure; per pair a helper at least as large as what is negative of its
    interaction.
    """
    from scipy.sparse import csr_array

    first_column, second_column = np.triu_indices(size, 1)
    pairs = len(first_column)
    rows = np.zeros((1 + pairs + size, size + 2 * pairs))
    # Row 0: the measure of all columns is 1.
    rows[0, : size + pairs] = 1.0
    for pair in range(pairs):
        helper = size + pairs + pair
        # Helper plus interaction is at least 0, so the helper covers what is negative of it; the
        # weight of a column must cover the helpers of all its pairs, which keeps the measure
        # monotone.
        rows[1 + pair, size + pair] = 1.0
        rows[1 + pair, helper] = 1.0
        rows[1 + pairs + first_column[pair], helper] = -1.0
        rows[1 + pairs + second_column[pair], helper] = -1.0
    for k in range(size):
        rows[1 + pairs + k, k] = 1.0
    low = np.concatenate([np.zeros(size), np.full(pairs, -1.0), np.zeros(pairs)])
    row_low = np.zeros(len(rows))
    row_low[0] = 1.0
    row_high = np.full(len(rows), np.inf)
    row_high[0] = 1.0
    return low, np.ones(size + 2 * pairs), csr_array(rows), row_low, row_high


def extend_parameters(family: Family, parameters: Floats) -> Floats:
    """Parameters with what helps to state them."""
    if family.kind != PAIRWISE:
        return parameters
    missing_weights = np.maximum(0.0, -parameters[family.columns :])
    return np.concatenate([parameters, missing_weights])


# Solvers of mixed-integer programs: HiGHS by highspy, which starts from a known solution, or by
# scipy, which cannot.


@dataclasses.dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found: a point (or None), a value no point can go below, whether the point is
    optimal, and in how many nodes.

    ``stopped``: it was the clock that ended the search.
    """

    point: Floats | None
    bound: float
    optimal: bool
    nodes: int = 0
    stopped: bool = False


def choose_solver(solver: Solver) -> Solver:
    """The solver to use: highspy where it can be loaded, else scipy."""
    if solver == "auto":
        # its library may be there and yet not load: ortools brings another version of it into the
        # process
        try:
            require("highspy", extra="solvers", to="solve programs from a known start")
        except MissingExtra:
            return "scipy"
        return "highspy"
    if solver == "highspy":
        require("highspy", extra="solvers", to="solve programs from a known start")
    return solver


def affordable_nodes(program: Program, work: int, nodes: int) -> int:
    """How many nodes of a search some work is enough for, at most ``nodes``; less than 1 where it
    is not even enough to begin.
    """
    node_cost = max(1, NODE_COST * program.rows.nnz)
    affordable: int = work // node_cost - ROOT_NODES
    return min(nodes, affordable)


def search_cost(program: Program, nodes: int) -> int:
    """The work of a search over so many nodes."""
    cost: int = NODE_COST * program.rows.nnz * (nodes + ROOT_NODES)
    return cost


def solve(solver: Solver, program: Program, start: Floats, *, scene: Scene, nodes: int) -> Solution:
    """Solve within some nodes of the search tree; ``start`` satisfies the program. The clock stops
    the search, and the attack with it.
    """
    if solver == "scipy":
        solution = _by_scipy(program, max(1.0, scene.left), nodes)
    else:
        solution = _by_highspy(program, start, scene, nodes)
    if solution.stopped:
        scene.give_up()
    scene.require_time()
    return solution


def _by_scipy(program: Program, seconds: float, nodes: int) -> Solution:
    from scipy.optimize import Bounds, LinearConstraint, milp

    continuous = len(program.costs) - program.whole
    whole = np.concatenate([np.zeros(continuous), np.ones(program.whole)])
    bounds = Bounds(program.low, program.high)
    constraint = LinearConstraint(program.rows, program.rows_low, program.rows_high)
    options = {"time_limit": seconds, "node_limit": nodes, "mip_rel_gap": 0.0}
    solution = milp(
        program.costs,
        integrality=whole,
        bounds=bounds,
        constraints=constraint,
        options=options,
    )
    bound = getattr(solution, "mip_dual_bound", None)
    lower_bound = 0.0
    if bound is not None and np.isfinite(bound):
        lower_bound = float(bound)
    stopped = solution.status == 1 and "time limit" in solution.message.lower()
    return Solution(
        solution.x,
        lower_bound,
        optimal=solution.status == 0,
        nodes=int(solution.get("mip_node_count") or 0),
        stopped=stopped,
    )


def _by_highspy(program: Program, start: Floats, scene: Scene, nodes: int) -> Solution:
    highspy: Any = require("highspy", extra="solvers", to="solve programs from a known start")
    highs = highspy.Highs()
    options = {
        "output_flag": False,
        "time_limit": PATIENCE * max(1.0, scene.left),
        "mip_max_nodes": int(nodes),
        "mip_rel_gap": 0.0,
        "mip_abs_gap": 1e-6,
        "threads": 1,
        "random_seed": 0,
    }
    for name, value in options.items():
        highs.setOptionValue(name, value)
    model = highspy.HighsLp()
    model.num_col_ = len(program.costs)
    model.num_row_ = program.rows.shape[0]
    model.col_cost_ = program.costs
    model.col_lower_ = program.low
    model.col_upper_ = program.high
    model.row_lower_ = np.where(np.isfinite(program.rows_low), program.rows_low, -highspy.kHighsInf)
    model.row_upper_ = np.where(
        np.isfinite(program.rows_high), program.rows_high, highspy.kHighsInf
    )
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = program.rows.indptr
    model.a_matrix_.index_ = program.rows.indices
    model.a_matrix_.value_ = program.rows.data
    kinds = [highspy.HighsVarType.kContinuous] * (len(program.costs) - program.whole)
    model.integrality_ = kinds + [highspy.HighsVarType.kInteger] * program.whole
    highs.passModel(model)
    warm_start = highspy.HighsSolution()
    warm_start.col_value = start.tolist()
    # A start that satisfies the program prunes from the first node on.
    highs.setSolution(warm_start)

    def interrupt(
        kind: object, message: str, callback_output: object, answer: Any, data: object
    ) -> None:
        # seconds of computing, which the solver itself does not count
        if answer is not None and not scene.left:
            answer.user_interrupt = True

    highs.setCallback(interrupt, None)
    for moment in (highspy.cb.kCallbackMipInterrupt, highspy.cb.kCallbackSimplexInterrupt):
        highs.startCallback(moment)
    highs.run()
    info = highs.getInfo()
    values = np.array(highs.getSolution().col_value)
    bound = float(info.mip_dual_bound)
    status = highs.getModelStatus()
    states = highspy.HighsModelStatus
    optimal = status == states.kOptimal
    stopped = status in (states.kTimeLimit, states.kInterrupt)
    usable = (
        len(values) == len(program.costs)
        and info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    )
    point = values if usable else None
    lower_bound = bound if np.isfinite(bound) else 0.0
    return Solution(
        point, lower_bound, optimal=optimal, nodes=int(info.mip_node_count), stopped=stopped
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Worst:
    """Parameters, what they link, what no parameters can exceed, and whether the two were proved
    equal.
    """

    parameters: Floats
    linked: float
    bound: float
    proved: bool
    rows: int


def linkable(pool: Pool, parameters: Floats) -> float:
    r"""The worth of all units, shared where some other is plainly as near and nothing where it
    is nearer: it needs no solver.

    For a monotone distance a record cannot be nearest alone when some other is no farther in any
    column, nor nearest at all when it is nearer in all; for a square form
    when :math:`\delta_j \delta_j^T - \delta_i \delta_i^T` has no eigenvalue of at least ε, or only
    negative ones.
    """
    if pool.family.kind != SQUARE_FORM:
        reach = pool.look(parameters).reach
        return pool.worth(reach == 2, reach >= 1)
    own = pool.own_roots[pool.rows[:, 0]]
    root_products = pool.roots[:, :, None] * pool.roots[:, None, :]
    own_products = own[:, :, None] * own[:, None, :]
    apart = root_products - own_products
    # The best square form for one row alone is its top eigenvector: an upper bound for all.
    top = np.linalg.eigvalsh(apart)[:, -1]
    alone = np.ones(len(pool.units), dtype=bool)
    tied = np.ones(len(pool.units), dtype=bool)
    alone[pool.rows[top < MARGIN, 0]] = False
    tied[pool.rows[top < -TIE, 0]] = False
    return pool.worth(alone & tied, tied)


def worst_case(scene: Scene, pool: Pool, start: Floats, *, solver: Solver, nodes: int) -> Worst:
    r"""Improve on known parameters and bound all others, by a program whose rows are added as they
    are violated.

    The program over some of the rows has more solutions than that over all, so its bound holds for
    all. A square form is held to be semidefinite by cuts :math:`v^T Q v \ge 0` for the eigenvectors
    that violate it, which is a relaxation too.
    """
    total = float(pool.alone.sum())
    best = start
    best_links = float(pool.look(start).credit.sum())
    bound = linkable(pool, start)
    if solver == "none" or len(pool.units) > MOST_SOLVED or not len(pool.rows):
        proved = best_links >= bound - 1e-9
        return Worst(
            best, best_links, bound=max(bound, best_links), proved=proved, rows=len(pool.rows)
        )
    cuts = _pair_cuts(pool.family)
    proved = best_links >= bound - 1e-9
    work = SOLVER_SHARE * scene.work
    for _ in range(TURNS):
        if proved:
            break
        scene.require_time()
        program = program_of(pool, cuts)
        most_nodes = affordable_nodes(program, work, nodes)
        if most_nodes < min(1, nodes):
            break
        solution = solve(solver, program, _point(pool, best), scene=scene, nodes=most_nodes)
        work -= search_cost(program, solution.nodes)
        # The program minimises what is lost of the total, so its lower bound is an upper one here.
        bound = min(bound, total - solution.bound)
        if solution.point is None:
            break
        raw = solution.point[: pool.family.width]
        # The last two variables of every unit say whether it is shared and whether it fails.
        last_variables = solution.point[-2 * len(pool.units) :]
        shared, failed = last_variables.reshape(2, -1) > 0.5
        added = 0
        # The solver's point, the same with tiny numbers as zeros, and one off the edge: rounding
        # may cost the first a link that another keeps.
        for candidate in (
            raw,
            np.where(np.abs(raw) < EDGE, 0.0, raw),
            widen_margin(scene, pool, ~shared, cuts),
        ):
            near = pool.family.nearest_allowed(candidate)
            view = pool.look(near)
            if float(view.credit.sum()) > best_links:
                best = near
                best_links = float(view.credit.sum())
            # Only units that the program takes for linked and that are not: their nearest others
            # are the rows it lacks.
            unshared = ~shared & ~view.apart
            unfailed = ~failed & (view.credit == 0)
            added += pool.add(view.others, unshared | unfailed)
        fresh = _find_violation(pool.family, raw)
        cuts = np.vstack([cuts, fresh])
        proved = best_links >= bound - 1e-6
        if not added and not len(fresh):
            break
    return Worst(best, best_links, bound=max(bound, best_links), proved=proved, rows=len(pool.rows))


def widen_margin(scene: Scene, pool: Pool, linked_units: NDArray[np.bool_], cuts: Floats) -> Floats:
    """Parameters that link the wanted units with the widest margin: a solver's own stand on the
    edge, within its tolerance.
    """
    from scipy.optimize import linprog

    low, high, shape, shape_low, shape_high = parameter_bounds(pool.family)
    extra = len(low) - pool.family.width
    row_units = linked_units[pool.rows[:, 0]]
    gains = np.pad(pool.gains[row_units], ((0, 0), (0, extra)))
    linking = np.column_stack([-gains, np.ones(len(gains))])
    wide_cuts = np.pad(cuts, ((0, 0), (0, extra)))
    dense = np.vstack([shape.toarray(), wide_cuts])
    row_low = np.concatenate([shape_low, np.zeros(len(cuts))])
    row_high = np.concatenate([shape_high, np.full(len(cuts), np.inf)])
    flat = np.column_stack([dense, np.zeros(len(dense))])
    equal = row_low == row_high
    # The last variable is the margin; bounded, as without any row it would grow without end.
    bounds = np.column_stack([np.append(low, -10.0), np.append(high, 10.0)])
    upper = np.vstack([linking, -flat[~equal]])
    limits = np.concatenate([np.zeros(len(linking)), -row_low[~equal]])
    goal = np.append(np.zeros(len(low)), -1.0)
    solution = linprog(
        goal,
        upper,
        limits,
        flat[equal] if equal.any() else None,
        row_low[equal] if equal.any() else None,
        bounds,
        options={"time_limit": PATIENCE * max(1.0, scene.left)},
    )
    scene.require_time()
    if solution.x is not None:
        return np.asarray(solution.x[: pool.family.width])
    return pool.family.of_weights(np.full(pool.family.columns, 1 / pool.family.columns))


def _point(pool: Pool, parameters: Floats) -> Floats:
    """Parameters as a point of the program: whoever they do not distinguish shares, and whoever
    another is nearer to fails.
    """
    shared = np.zeros(len(pool.units))
    failed = np.zeros(len(pool.units))
    margins = pool.gains @ parameters
    shared[pool.rows[margins < MARGIN, 0]] = 1.0
    failed[pool.rows[margins < 0, 0]] = 1.0
    return np.concatenate([extend_parameters(pool.family, parameters), shared, failed])


def _pair_cuts(family: Family) -> Floats:
    r"""What two columns alone say of a
    semidefinite matrix: :math:`q_{kk} + q_{ll} \pm 2 q_{kl} \ge 0`.
    """
    if family.kind != SQUARE_FORM:
        return np.zeros((0, family.width))
    unit = np.eye(family.columns)
    vectors = []
    for k in range(family.columns):
        for m in range(k):
            for sign in (1, -1):
                vectors.append(unit[k] + sign * unit[m])
    return np.array([_cone_cut(family, v) for v in vectors]).reshape(-1, family.width)


def _find_violation(family: Family, parameters: Floats) -> Floats:
    if family.kind != SQUARE_FORM:
        return np.zeros((0, family.width))
    values, vectors = np.linalg.eigh(family.matrix(parameters))
    return np.array(
        [_cone_cut(family, v) for v, e in zip(vectors.T, values, strict=True) if e < -1e-6]
    ).reshape(-1, family.width)


def _cone_cut(family: Family, vector: Floats) -> Floats:
    outer = np.outer(vector, vector)
    above_diagonal = outer[np.triu_indices(family.columns, 1)]
    return np.concatenate([np.diag(outer), 2 * above_diagonal])
