"""The worst distance of a family: the one that links most, and how many any could link."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from sfumato.risk.linkage.aggregators import SQUARE_FORM, Family
from sfumato.risk.linkage.program import allowed, extended, program_of
from sfumato.risk.linkage.search import TIE
from sfumato.risk.linkage.solvers import Solver, solve
from sfumato.risk.linkage.units import MARGIN, Pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene

MOST_SOLVED = 500
"""Units beyond which the program says nothing in any time there is."""
TURNS = 30
EDGE = 1e-6
"""Parameters below this are tried as zero too: a solver's zero is not one, and ties hold at exact zeros only."""


@dataclasses.dataclass(frozen=True, eq=False)
class Worst:
    """Parameters, what they link, what no parameters can exceed, and whether the two were proved equal."""

    parameters: NDArray[np.float64]
    linked: float
    bound: float
    proved: bool
    rows: int


def linkable(pool: Pool, parameters: NDArray[np.float64]) -> float:
    r"""The worth of all units, shared where some other is plainly as near and nothing where it is nearer: it needs no solver.

    For a monotone distance a record cannot be nearest alone when some other is no farther in any column, nor nearest at all when it
    is nearer in all; for a square form when :math:`\delta_j \delta_j^T - \delta_i \delta_i^T` has no eigenvalue of at least ε,
    or only negative ones.
    """
    import numpy as np

    if pool.family.kind != SQUARE_FORM:
        reach = pool.look(parameters).reach
        return pool.worth(reach == 2, reach >= 1)
    own = pool.own_roots[pool.rows[:, 0]]
    apart = pool.roots[:, :, None] * pool.roots[:, None, :] - own[:, :, None] * own[:, None, :]
    top = np.linalg.eigvalsh(apart)[:, -1]
    alone, tied = np.ones(len(pool.units), dtype=bool), np.ones(len(pool.units), dtype=bool)
    alone[pool.rows[top < MARGIN, 0]] = False
    tied[pool.rows[top < -TIE, 0]] = False
    return pool.worth(alone & tied, tied)


def worst_case(scene: Scene, pool: Pool, known: NDArray[np.float64], *, solver: Solver, nodes: int) -> Worst:
    r"""Improve on known parameters and bound all others, by a program whose rows are added as they are violated.

    The program over some of the rows has more solutions than that over all, so its bound holds for all. A square form is held
    to be semidefinite by cuts :math:`v^T Q v \ge 0` for the eigenvectors that violate it, which is a relaxation too.
    """
    import numpy as np

    total = float(pool.alone.sum())
    best, most = known, float(pool.look(known).credit.sum())
    bound = linkable(pool, known)
    if solver == "none" or len(pool.units) > MOST_SOLVED or not len(pool.rows):
        return Worst(best, most, max(bound, most), most >= bound - 1e-9, len(pool.rows))
    cuts = _pair_cuts(pool.family)
    proved = most >= bound - 1e-9
    for _ in range(TURNS):
        if proved or scene.left <= 0:
            break
        program = program_of(pool, cuts)
        found = solve(solver, program, _point(pool, best), seconds=scene.left, nodes=nodes)
        bound = min(bound, total - found.bound)
        if found.point is None:
            break
        raw = found.point[: pool.family.width]
        shared, failed = found.point[-2 * len(pool.units) :].reshape(2, -1) > 0.5
        added = 0
        for candidate in (raw, np.where(np.abs(raw) < EDGE, 0.0, raw), polished(pool, ~shared, cuts)):
            near = pool.family.nearest_allowed(candidate)
            view = pool.look(near)
            if float(view.credit.sum()) > most:
                best, most = near, float(view.credit.sum())
            added += pool.add(view.others, (~shared & ~view.apart) | (~failed & (view.credit == 0)))
        fresh = _violated(pool.family, raw)
        cuts = np.vstack([cuts, fresh])
        proved = most >= bound - 1e-6
        if not added and not len(fresh):
            break
    return Worst(best, most, max(bound, most), proved, len(pool.rows))


def polished(pool: Pool, wanted: NDArray[np.bool_], cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Parameters that link the wanted units with the widest margin: a solver's own stand on the edge, within its tolerance."""
    import numpy as np
    from scipy.optimize import linprog

    low, high, shape, shape_low, shape_high = allowed(pool.family)
    extra = len(low) - pool.family.width
    gains = np.pad(pool.gains[wanted[pool.rows[:, 0]]], ((0, 0), (0, extra)))
    linking = np.column_stack([-gains, np.ones(len(gains))])
    dense = np.vstack([shape.toarray(), np.pad(cuts, ((0, 0), (0, extra)))])
    least = np.concatenate([shape_low, np.zeros(len(cuts))])
    most = np.concatenate([shape_high, np.full(len(cuts), np.inf)])
    flat = np.column_stack([dense, np.zeros(len(dense))])
    equal = least == most
    bounds = np.column_stack([np.append(low, -10.0), np.append(high, 10.0)])
    upper = np.vstack([linking, -flat[~equal]])
    limits = np.concatenate([np.zeros(len(linking)), -least[~equal]])
    goal = np.append(np.zeros(len(low)), -1.0)
    found = linprog(
        goal, upper, limits, flat[equal] if equal.any() else None, least[equal] if equal.any() else None, bounds
    )
    return (
        np.asarray(found.x[: pool.family.width])
        if found.x is not None
        else pool.family.of_weights(np.full(pool.family.columns, 1 / pool.family.columns))
    )


def _point(pool: Pool, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
    """Parameters as a point of the program: whoever they do not tell apart shares, and whoever another is nearer to fails."""
    import numpy as np

    shared, failed = np.zeros(len(pool.units)), np.zeros(len(pool.units))
    margins = pool.gains @ parameters
    shared[pool.rows[margins < MARGIN, 0]] = 1.0
    failed[pool.rows[margins < 0, 0]] = 1.0
    return np.concatenate([extended(pool.family, parameters), shared, failed])


def _pair_cuts(family: Family) -> NDArray[np.float64]:
    r"""What two columns alone say of a semidefinite matrix: :math:`q_{kk} + q_{ll} \pm 2 q_{kl} \ge 0`."""
    import numpy as np

    if family.kind != SQUARE_FORM:
        return np.zeros((0, family.width))
    unit = np.eye(family.columns)
    vectors = [unit[k] + sign * unit[m] for k in range(family.columns) for m in range(k) for sign in (1, -1)]
    return np.array([_cut(family, v) for v in vectors]).reshape(-1, family.width)


def _violated(family: Family, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    if family.kind != SQUARE_FORM:
        return np.zeros((0, family.width))
    values, vectors = np.linalg.eigh(family.matrix(parameters))
    return np.array([_cut(family, v) for v, e in zip(vectors.T, values, strict=True) if e < -1e-6]).reshape(
        -1, family.width
    )


def _cut(family: Family, vector: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    outer = np.outer(vector, vector)
    return np.concatenate([np.diag(outer), 2 * outer[np.triu_indices(family.columns, 1)]])
