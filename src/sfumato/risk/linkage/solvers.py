"""Solvers of mixed-integer programs: HiGHS by highspy, which starts from a known solution, or by scipy, which cannot."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

from sfumato.core.extras import require
from sfumato.errors import MissingExtra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.risk.linkage.program import Program

Solver = Literal["auto", "highspy", "scipy", "none"]


@dataclasses.dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found: a point (or None), a value no point can go below, and whether the point is optimal."""

    point: NDArray[np.float64] | None
    bound: float
    optimal: bool


def chosen(solver: Solver) -> Solver:
    """The solver to use: highspy where it can be loaded, else scipy."""
    if solver == "auto":
        try:  # its library may be there and yet not load: ortools brings another version of it into the process
            require("highspy", extra="solvers", to="solve programs from a known start")
        except MissingExtra:
            return "scipy"
        return "highspy"
    if solver == "highspy":
        require("highspy", extra="solvers", to="solve programs from a known start")
    return solver


def solve(solver: Solver, program: Program, start: NDArray[np.float64], *, seconds: float, nodes: int) -> Solution:
    """Solve within some seconds and some nodes of the search tree; ``start`` satisfies the program."""
    if solver == "scipy":
        return _by_scipy(program, seconds, nodes)
    return _by_highspy(program, start, seconds, nodes)


def _by_scipy(program: Program, seconds: float, nodes: int) -> Solution:
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    whole = np.concatenate([np.zeros(len(program.costs) - program.whole), np.ones(program.whole)])
    found = milp(
        program.costs,
        integrality=whole,
        bounds=Bounds(program.low, program.high),
        constraints=LinearConstraint(program.rows, program.rows_low, program.rows_high),
        options={"time_limit": seconds, "node_limit": nodes, "mip_rel_gap": 0.0},
    )
    bound = getattr(found, "mip_dual_bound", None)
    return Solution(found.x, 0.0 if bound is None or not np.isfinite(bound) else float(bound), found.status == 0)


def _by_highspy(program: Program, start: NDArray[np.float64], seconds: float, nodes: int) -> Solution:
    import numpy as np

    highspy: Any = require("highspy", extra="solvers", to="solve programs from a known start")
    highs = highspy.Highs()
    options = {
        "output_flag": False, "time_limit": float(seconds), "mip_max_nodes": int(nodes), "mip_rel_gap": 0.0,
        "mip_abs_gap": 1e-6, "threads": 1, "random_seed": 0,
    }  # fmt: skip
    for name, value in options.items():
        highs.setOptionValue(name, value)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(program.costs), program.rows.shape[0]
    model.col_cost_, model.col_lower_, model.col_upper_ = program.costs, program.low, program.high
    model.row_lower_ = np.where(np.isfinite(program.rows_low), program.rows_low, -highspy.kHighsInf)
    model.row_upper_ = np.where(np.isfinite(program.rows_high), program.rows_high, highspy.kHighsInf)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_, model.a_matrix_.index_ = program.rows.indptr, program.rows.indices
    model.a_matrix_.value_ = program.rows.data
    kinds = [highspy.HighsVarType.kContinuous] * (len(program.costs) - program.whole)
    model.integrality_ = kinds + [highspy.HighsVarType.kInteger] * program.whole
    highs.passModel(model)
    known = highspy.HighsSolution()
    known.col_value = start.tolist()
    highs.setSolution(known)
    highs.run()
    info = highs.getInfo()
    values = np.array(highs.getSolution().col_value)
    bound = float(info.mip_dual_bound)
    optimal = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    usable = (
        len(values) == len(program.costs)
        and info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    )
    return Solution(values if usable else None, bound if np.isfinite(bound) else 0.0, optimal)
