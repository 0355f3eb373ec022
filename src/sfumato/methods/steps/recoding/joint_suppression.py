r"""Which classes go so that several sums over the rest are small enough at once and the fewest
records are lost.

Promises about the whole table each ask :math:`\sum_{E \text{ kept}} x_{mE} \le s_m`. What one after
the other would drop can be more than is needed together: a class that helps both may cost less than
one for each. Classes with equal numbers are alike, so what is asked for is how many of each kind
go, a small integer program:

.. math:: \min \sum_g n_g z_g \quad\text{with}\quad \sum_g x_{mg} z_g \ge \sum_E x_{mE} - s_m
    \text{ for all } m, \qquad 0 \le z_g \le c_g
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.groups import places_in_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable

    Sums = Sequence[tuple[NDArray[np.float64], float]]

NEAR = 1e-12
"""Share of a whole sum that rounding may hide."""


def fewest_together(
    classes: ClassTable, sums: Sums, fallback: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """The classes to drop so that all sums hold; ``fallback`` where the solver finds nothing with
    fewer records.

    Of classes that are alike those go first whose values come first, so the order of the rows does
    not matter.
    """
    numbers = [classes.records, *(gains for gains, _ in sums)]
    kinds, of, counts = np.unique(
        np.column_stack(numbers),
        axis=0,
        return_inverse=True,
        return_counts=True,
    )
    gone = _how_many(kinds, counts, sums)
    # Only a solution with fewer records than the known one is of use.
    if gone is None or gone @ kinds[:, 0] >= classes.records[fallback].sum():
        return fallback
    # Within a kind, classes are ranked by their keys; the first ``gone`` of each kind are dropped.
    of = of.reshape(-1)
    order = np.lexsort((*classes.keys.T[::-1], of))
    rank = np.empty(len(of), dtype=np.int64)
    rank[order] = places_in_groups(counts)
    dropped: NDArray[np.bool_] = rank < gone[of]
    # The solver works with floating-point numbers: its answer is checked against the sums.
    if all(_holds(sum_, dropped) for sum_ in sums):
        return dropped
    return fallback


def _how_many(
    kinds: NDArray[np.float64], counts: NDArray[np.int64], sums: Sums
) -> NDArray[np.int64] | None:
    from scipy.optimize import Bounds, LinearConstraint, milp

    # What must go: the whole sum beyond its limit, less what rounding may hide.
    needs = []
    for gains, slack in sums:
        tolerance = NEAR * np.abs(gains).sum()
        needs.append(gains.sum() - slack - tolerance)
    constraint = LinearConstraint(kinds[:, 1:].T, lb=needs)
    solution = milp(
        kinds[:, 0],
        integrality=np.ones(len(kinds)),
        bounds=Bounds(0, counts),
        constraints=constraint,
        options={"mip_rel_gap": 0.0},
    )
    if solution.x is None:
        return None
    counts_gone: NDArray[np.int64] = np.rint(solution.x).astype(np.int64)
    return counts_gone


def _holds(limit: tuple[NDArray[np.float64], float], dropped: NDArray[np.bool_]) -> bool:
    gains, slack = limit
    tolerance = NEAR * np.abs(gains).sum()
    return bool(gains[~dropped].sum() <= slack + tolerance)
