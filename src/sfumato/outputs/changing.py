"""Tables whose cells are changed instead of suppressed: controlled rounding, random rounding, controlled adjustment."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import Unsatisfiable
from sfumato.outputs.audit import Exposed, TableAudit, TableIntruder
from sfumato.outputs.problem import NOBODY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.core.randomness import Seed
    from sfumato.outputs.problem import Problem


def rounded(problem: Problem, base: float, *, reach: int = 1, nodes: int = 20_000) -> NDArray[np.float64]:
    r"""Controlled rounding: every cell a multiple of ``base``, all sums as they must be, as near to the truth as possible.

    .. math:: \min \sum_i |z_i - a_i|,\quad Mz = 0,\quad z_i \in \{\lfloor a_i / b \rfloor b,\ \lfloor a_i / b \rfloor b + b\}

    Multiples of the base stay as they are. Tables of three and more columns may have no such rounding; then ``reach=2`` lets cells go one multiple
    further on both sides.

    Reference: Cox 1987, *A constructive procedure for unbiased controlled rounding*, doi:10.1080/01621459.1987.10478456.
    """
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    value, size = problem.value, problem.size
    floor = np.floor(value / base + 1e-9)
    exact = np.abs(value - floor * base) <= problem.slack
    low, high = floor - (reach - 1), np.where(exact, floor, floor + 1) + (reach - 1)
    low = np.maximum(low, np.ceil(problem.lower / base - 1e-9))
    # how far every cell is off stands in the second half of the columns
    eye = sparse.identity(size, format="csr")
    away = [
        LinearConstraint(sparse.hstack([base * eye, -eye]), ub=value),
        LinearConstraint(sparse.hstack([base * eye, eye]), lb=value),
    ]
    sums = LinearConstraint(sparse.hstack([problem.matrix, sparse.csr_matrix(problem.matrix.shape)]), 0.0, 0.0)
    found = milp(
        np.concatenate([np.zeros(size), np.ones(size)]),
        constraints=[sums, *away],
        bounds=Bounds(np.concatenate([low, np.zeros(size)]), np.concatenate([high, np.full(size, np.inf)])),
        integrality=np.concatenate([np.ones(size), np.zeros(size)]),
        options={"node_limit": nodes},
    )
    if found.x is None:
        more = "allow cells to go one multiple further (reach=2), or" if reach == 1 else "choose another base, or"
        raise Unsatisfiable(
            f"rounding: no table of multiples of {base:g} within {reach} of the true cells has the right sums; {more} suppress instead",
            closest={"base": base, "reach": reach},
        )
    return np.asarray(np.round(found.x[:size]) * base)


def told_small(problem: Problem, base: float, reach: int, threshold: int) -> int:
    """How many sensitive counts are told to be small whichever multiple they become: neither 0 nor ``threshold`` is within reach of any of them.

    Said before a program looks for a rounding, for no sums can help such a cell.
    """
    value, away = problem.value[problem.primaries], base * reach - 1
    floor = np.floor(value / base + 1e-9)
    exact = np.abs(value - floor * base) <= problem.slack
    lowest, highest = (
        np.maximum(floor - (reach - 1), 0) * base,
        (np.where(exact, floor, floor + 1) + (reach - 1)) * base,
    )
    return int(((lowest > away) & (highest + away < threshold)).sum())


def random_rounded(value: NDArray[np.float64], base: int, seed: Seed, names: Sequence[str]) -> NDArray[np.float64]:
    r"""Every count to a multiple of ``base`` above or below, up with probability *remainder / base*: right on average, not additive.

    The draw of a cell comes from the seed and the name of the cell, so that the same cell of another table is rounded alike.

    Reference: Hundepool et al. 2012, *Statistical Disclosure Control*, doi:10.1002/9781118348239, section 5.4.
    """
    key = seed.stream("outputs: random rounding").bytes(32)
    draws = [
        int.from_bytes(hashlib.blake2b(name.encode(), key=key, digest_size=8).digest(), "big") / 2**64 for name in names
    ]
    floor = np.floor(value / base) * base
    return np.asarray(floor + base * (np.array(draws) < (value - floor) / base))


def downwards(problem: Problem) -> NDArray[np.float64]:
    """How far down a sensitive cell goes that is adjusted; one that cannot go down, as far as it would have to go up."""
    return np.where(problem.down > problem.slack, problem.down, problem.up)


def adjusted(problem: Problem, *, nodes: int = 20_000) -> tuple[NDArray[np.float64], float]:
    r"""Controlled tabular adjustment: every sensitive cell at least as far away as it must be, the others as near as possible; and what it costs.

    .. math:: z = a + d^+ - d^-,\quad Mz = 0,\quad d_p^+ \ge \mathrm{UPL}_p \text{ or } d_p^- \ge \mathrm{LPL}_p,\quad \min \sum_i (d_i^+ + d_i^-)

    Reference: Castro 2006, *Minimum-distance controlled perturbation methods for large-scale tabular data protection*, doi:10.1016/j.ejor.2004.08.034.
    """
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    size, primaries = problem.size, problem.primaries
    count = len(primaries)
    rise = np.where(problem.free | problem.primary, problem.upper - problem.value, 0.0)
    fall = np.where(problem.free | problem.primary, problem.value - problem.lower, 0.0)
    pick = sparse.csr_matrix((np.ones(count), (np.arange(count), primaries)), shape=(count, size))
    none = sparse.csr_matrix((count, size))

    def chosen(amount: NDArray[np.float64]) -> Any:
        return sparse.diags(amount[primaries]) if count else sparse.csr_matrix((0, 0))

    # columns: up, down, and per sensitive cell whether it goes up
    wide = sparse.csr_matrix((problem.matrix.shape[0], count))
    rows = [LinearConstraint(sparse.hstack([problem.matrix, -problem.matrix, wide]), 0.0, 0.0)]
    if count:
        rows += [
            LinearConstraint(sparse.hstack([pick, none, -chosen(problem.up)]), lb=0.0),
            LinearConstraint(sparse.hstack([pick, none, -chosen(rise)]), ub=0.0),
            LinearConstraint(sparse.hstack([none, pick, chosen(downwards(problem))]), lb=downwards(problem)[primaries]),
            LinearConstraint(sparse.hstack([none, pick, chosen(fall)]), ub=fall[primaries]),
        ]
    kinds = np.concatenate([np.full(2 * size, float(problem.whole)), np.ones(count)])
    found = milp(
        np.concatenate([np.ones(2 * size), np.zeros(count)]),
        constraints=rows,
        bounds=Bounds(0.0, np.concatenate([rise, fall, np.ones(count)])),
        integrality=kinds,
        options={"node_limit": nodes},
    )
    if found.x is None:
        raise Unsatisfiable(
            f"adjustment: no table with the right sums has all {count:,} sensitive cells as far away as they must be; suppress instead, or make the table coarser",
            closest={"sensitive": count},
        )
    change = found.x[:size] - found.x[size : 2 * size]
    change = np.round(change) if problem.whole else change
    return problem.value + change, float(np.abs(change).sum())


def audit_rounded(
    problem: Problem, low: NDArray[np.float64], high: NDArray[np.float64], threshold: int | None
) -> TableAudit:
    """What an intruder finds out who knows how far cells can be from what is published.

    A count below ``threshold`` must not be told to be small: 0, or the threshold, must remain possible. What is sensitive for another reason must stay unknown as far as the rules ask,
    both sides together.
    """
    import dataclasses
    import time

    started = time.perf_counter()
    known = dataclasses.replace(problem, lower=np.maximum(problem.lower, low), upper=np.minimum(high, problem.upper))
    intruder = TableIntruder(known, np.arange(problem.size))
    exposed = []
    for cell in problem.primaries.tolist():
        least, most = intruder.extreme(cell, -1), intruder.extreme(cell, 1)
        if threshold is None or problem.value[cell] >= threshold:
            safe = most - least >= problem.up[cell] + problem.down[cell] - problem.slack
        else:
            safe = least <= problem.slack or most >= threshold - problem.slack
        if not safe:
            exposed.append(Exposed(cell, NOBODY, least, most))
    cells = problem.primaries
    seconds = time.perf_counter() - started
    return TableAudit(
        cells, intruder.low[cells], intruder.high[cells], tuple(exposed), 1, intruder.programs, seconds, True
    )
