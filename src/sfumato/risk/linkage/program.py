"""The mixed-integer program of worst-case linkage: the least that is not linked."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from sfumato.risk.linkage.aggregators import CHOQUET, MEAN, ORDERED, PAIRWISE, SQUARE_FORM, Family
from sfumato.risk.linkage.units import MARGIN, Pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, eq=False)
class Program:
    r"""Minimise ``costs`` over ``low ≤ x ≤ high`` with ``rows_low ≤ rows x ≤ rows_high``; the last ``whole`` are 0 or 1.

    .. math:: \min \sum_i (v_i - t_i) K_i + t_i L_i \quad \text{s.t.} \quad
              & C_p(d(a_i, b_j)) - C_p(d(a_i, b_i)) + M_{ij} K_i \ge \varepsilon \quad (j \ne i) \\
              & C_p(d(a_i, b_j)) - C_p(d(a_i, b_i)) + (M_{ij} - \varepsilon) L_i \ge 0, \quad L_i \le K_i

    :math:`K_i` = 1: the own record is not nearest alone, and what linking it is worth falls from :math:`v_i` to at most
    :math:`t_i`, its share of a tie; :math:`L_i` = 1: not even with a tie.
    """

    costs: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    rows: Any
    rows_low: NDArray[np.float64]
    rows_high: NDArray[np.float64]
    whole: int


def large_constants(pool: Pool) -> NDArray[np.float64]:
    r"""Per row the least M that never binds where K = 1.

    For families between the least and the greatest difference (weighted mean, OWA, Choquet)
    :math:`M = \varepsilon + \max_k (d_k(a_i, b_i) - d_k(a_i, b_j))_+`, with the differences in falling order for the OWA; for a
    square form of trace 1 the greatest eigenvalue of :math:`\delta_i \delta_i^T - \delta_j \delta_j^T` takes that place.
    """
    import numpy as np

    family = pool.family
    own = pool.own_roots[pool.rows[:, 0]]
    if family.kind == SQUARE_FORM:
        apart = own[:, :, None] * own[:, None, :] - pool.roots[:, :, None] * pool.roots[:, None, :]
        return np.asarray(MARGIN + np.maximum(0.0, np.linalg.eigvalsh(apart)[:, -1]))
    if family.kind == ORDERED:
        return np.asarray(MARGIN + np.maximum(0.0, (-pool.gains).max(axis=1)))
    return np.asarray(MARGIN + np.maximum(0.0, (own**2 - pool.roots**2).max(axis=1)))


def program_of(pool: Pool, cuts: NDArray[np.float64]) -> Program:
    """The program over the pool's rows; ``cuts`` are further rows over the parameters that must not be negative."""
    import numpy as np
    from scipy.sparse import block_array, coo_array, csr_array, eye_array

    family, units, rows = pool.family, len(pool.units), len(pool.rows)
    low, high, shape, shape_low, shape_high = allowed(family)
    shape = csr_array(np.vstack([shape.toarray(), np.pad(cuts, ((0, 0), (0, len(low) - cuts.shape[1])))]))
    large = large_constants(pool)
    weak = np.flatnonzero(large > MARGIN)  # all others are never nearer
    failing = coo_array((large, (np.arange(rows), pool.rows[:, 0])), shape=(rows, units))
    losing = coo_array((large[weak] - MARGIN, (np.arange(len(weak)), pool.rows[weak, 0])), shape=(len(weak), units))
    linking = csr_array(np.pad(pool.gains, ((0, 0), (0, len(low) - family.width))))
    one = eye_array(units)
    free = len(weak) + units
    return Program(
        np.concatenate([np.zeros(len(low)), pool.alone - pool.shared, pool.shared]),
        np.concatenate([low, np.zeros(2 * units)]),
        np.concatenate([high, np.ones(2 * units)]),
        block_array(
            [[linking, failing, None], [linking[weak], None, losing], [None, one, -one], [shape, None, None]],
            format="csr",
        ),
        np.concatenate([np.full(rows, MARGIN), np.zeros(free), shape_low, np.zeros(len(cuts))]),
        np.concatenate([np.full(rows + free, np.inf), shape_high, np.full(len(cuts), np.inf)]),
        2 * units,
    )


def allowed(family: Family) -> tuple[Any, Any, Any, Any, Any]:
    """Bounds of the parameters (and of what helps to state them), and rows with their bounds."""
    import numpy as np
    from scipy.sparse import csr_array

    size = family.columns
    if family.kind in (MEAN, ORDERED):
        return np.zeros(size), np.ones(size), csr_array(np.ones((1, size))), np.ones(1), np.ones(1)
    if family.kind == CHOQUET:
        return _measure(size)
    if family.kind == PAIRWISE:
        return _interactions(size)
    trace = np.concatenate([np.ones(size), np.zeros(family.width - size)])
    low = np.concatenate([np.zeros(size), np.full(family.width - size, -0.5)])
    high = np.concatenate([np.ones(size), np.full(family.width - size, 0.5)])
    return low, high, csr_array(trace[None, :]), np.ones(1), np.ones(1)


def _measure(size: int) -> tuple[Any, Any, Any, Any, Any]:
    import numpy as np
    from scipy.sparse import coo_array

    sets = np.arange(1 << size)
    smaller = np.concatenate([sets[sets >> k & 1 == 0] for k in range(size)])
    larger = np.concatenate([sets[sets >> k & 1 == 0] | 1 << k for k in range(size)])
    number = np.arange(len(smaller))
    entries = np.concatenate([np.ones(len(number)), -np.ones(len(number))])
    rows = coo_array((entries, (np.tile(number, 2), np.concatenate([larger, smaller]))), shape=(len(number), len(sets)))
    low, high = np.zeros(len(sets)), np.ones(len(sets))
    high[0], low[-1] = 0.0, 1.0
    return low, high, rows.tocsr(), np.zeros(len(number)), np.full(len(number), np.inf)


def _interactions(size: int) -> tuple[Any, Any, Any, Any, Any]:
    """Rows of a 2-additive measure; per pair a helper at least as large as what is negative of its interaction."""
    import numpy as np
    from scipy.sparse import csr_array

    one, two = np.triu_indices(size, 1)
    pairs = len(one)
    rows = np.zeros((1 + pairs + size, size + 2 * pairs))
    rows[0, : size + pairs] = 1.0
    for pair in range(pairs):
        rows[1 + pair, size + pair] = rows[1 + pair, size + pairs + pair] = 1.0
        rows[1 + pairs + one[pair], size + pairs + pair] = rows[1 + pairs + two[pair], size + pairs + pair] = -1.0
    for k in range(size):
        rows[1 + pairs + k, k] = 1.0
    low = np.concatenate([np.zeros(size), np.full(pairs, -1.0), np.zeros(pairs)])
    least = np.zeros(len(rows))
    least[0] = 1.0
    most = np.full(len(rows), np.inf)
    most[0] = 1.0
    return low, np.ones(size + 2 * pairs), csr_array(rows), least, most


def extended(family: Family, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
    """Parameters with what helps to state them."""
    import numpy as np

    if family.kind != PAIRWISE:
        return parameters
    return np.concatenate([parameters, np.maximum(0.0, -parameters[family.columns :])])
