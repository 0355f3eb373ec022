"""Tables whose cells are changed instead of suppressed: controlled rounding, random rounding,
controlled adjustment.
"""

from __future__ import annotations

import dataclasses
import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import Unsatisfiable
from sfumato.results.tables.audit import MOST_NODES, ExposedCell, TableAudit, TableIntruder
from sfumato.results.tables.problem import NOBODY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.core.randomness import Seed
    from sfumato.results.tables.arrays import Floats
    from sfumato.results.tables.problem import Problem

MOST_UNITS = 1e8
"""Up to so many steps of its numbers a table is adjusted in whole steps: the solver takes what is
nearer than a millionth for whole.
"""
SHARES = 1e4
"""Parts of the largest cell in which all others are adjusted: the solver sees the same whatever the
numbers are.
"""
NEARLY = 1e-6


def round_cells(problem: Problem, base: float, *, reach: int = 1, nodes: int = 20_000) -> Floats:
    r"""Controlled rounding: every cell a multiple of ``base``, all sums as they must be, as near to
    the truth as possible.

    .. math:: \min \sum_i |z_i - a_i|,\quad Mz
        = 0,\quad z_i \in \{\lfloor a_i / b \rfloor b,\ \lfloor a_i / b \rfloor b + b\}

    Multiples of the base stay as they are. Tables of three and more columns may have no such
    rounding; then ``reach=2`` lets cells go one multiple further on both sides.

    Reference: Cox 1987, *A constructive procedure for unbiased controlled rounding*,
    doi:10.1080/01621459.1987.10478456.
    """
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    value, size = problem.value, problem.size
    # a quotient a hair below a whole number, by rounding errors, is that number
    floor = np.floor(value / base + 1e-9)
    exact = np.abs(value - floor * base) <= problem.slack
    low, high = floor - (reach - 1), np.where(exact, floor, floor + 1) + (reach - 1)
    low = np.maximum(low, np.ceil(problem.lower / base - 1e-9))
    # how far every cell is off stands in the second half of the columns
    eye = sparse.identity(size, format="csr")
    away = [
        # |z − a| ≤ d as two linear rows: z − d ≤ a and z + d ≥ a
        LinearConstraint(sparse.hstack([base * eye, -eye]), ub=value),
        LinearConstraint(sparse.hstack([base * eye, eye]), lb=value),
    ]
    sums = LinearConstraint(
        sparse.hstack([problem.matrix, sparse.csr_matrix(problem.matrix.shape)]), 0.0, 0.0
    )
    solution = milp(
        np.concatenate([np.zeros(size), np.ones(size)]),
        constraints=[sums, *away],
        bounds=Bounds(
            np.concatenate([low, np.zeros(size)]), np.concatenate([high, np.full(size, np.inf)])
        ),
        integrality=np.concatenate([np.ones(size), np.zeros(size)]),
        options={"node_limit": nodes},
    )
    if solution.x is None:
        if reach == 1:
            advice = "allow cells to move one multiple further (reach=2), or"
        else:
            advice = "choose another base, or"
        raise Unsatisfiable(
            f"rounding: no table of multiples of {base:g} within {reach} of the true cells has the"
            f" right sums; {advice} suppress instead",
            closest={"base": base, "reach": reach},
        )
    return np.asarray(np.round(solution.x[:size]) * base)


def told_small(problem: Problem, base: float, reach: int, threshold: int) -> int:
    """How many sensitive counts are told to be small whichever multiple they become: neither 0 nor
    ``threshold`` is within reach of any of them.

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


def random_rounded(value: Floats, base: int, seed: Seed, names: Sequence[str]) -> Floats:
    r"""Every count to a multiple of ``base`` above or below, up with probability *remainder /
    base*: right on average, not additive.

    The draw of a cell comes from the seed and the name of the cell, so that the same cell of
    another table is rounded alike.

    Reference: Hundepool et al. 2012, *Statistical Disclosure Control*, doi:10.1002/9781118348239,
    section 5.4.
    """
    key = seed.stream("outputs: random rounding").bytes(32)
    # a keyed hash as a number in [0, 1): without the seed nobody can repeat the draw of a cell
    draws = [
        int.from_bytes(hashlib.blake2b(name.encode(), key=key, digest_size=8).digest(), "big")
        / 2**64
        for name in names
    ]
    floor = np.floor(value / base) * base
    return np.asarray(floor + base * (np.array(draws) < (value - floor) / base))


def downwards(problem: Problem, threshold: int | None = None) -> Floats:
    """How far down a sensitive cell goes that is adjusted: a count below the threshold to nothing;
    one that cannot go down, as far as it would have to go up.
    """
    down = np.where(problem.down > problem.slack, problem.down, problem.up)
    if threshold is None:
        return down
    return np.where((problem.value > 0) & (problem.value < threshold), problem.value, down)


def moved_further(problem: Problem, seed: Seed, threshold: int | None) -> Problem:
    """The same with what must stay unknown up to doubled at random: who knows what the rules ask
    for would know the truth from a cell that moved by just that.

    A count below the threshold is left as it is: it becomes nothing, or the threshold.
    """
    factor = 1.0 + seed.stream("outputs: adjustment").random(problem.size)
    if threshold is not None:
        factor = np.where(problem.value < threshold, 1.0, factor)
    rise, fall = problem.upper - problem.value, problem.value - problem.lower
    # not beyond what the bounds allow, and never below what the rules ask for
    up = np.minimum(problem.up * factor, np.maximum(problem.up, rise))
    down = np.minimum(problem.down * factor, np.maximum(problem.down, fall))
    return dataclasses.replace(problem, up=up, down=down)


def _unit(problem: Problem, decimal_places: int | None) -> tuple[float, bool]:
    """What an adjustment counts in, and whether in whole numbers of it: the last decimal place of
    the table where it has few, so that no cell looks changed.
    """
    largest = float(np.abs(problem.value).max(initial=0.0))
    if decimal_places is not None and largest * 10.0**decimal_places <= MOST_UNITS:
        return 10.0**-decimal_places, True
    return max(largest / SHARES, np.finfo(float).tiny), False


def adjust_cells(
    problem: Problem,
    *,
    threshold: int | None = None,
    decimal_places: int | None = None,
    nodes: int = 20_000,
) -> tuple[Floats, float]:
    r"""Controlled tabular adjustment: every sensitive cell at least as far away as it must be, the
    others as near as possible; and what it costs.

    .. math:: z = a + d^+ - d^-,\quad Mz = 0,\quad d_p^+ \ge \mathrm{UPL}_p \text{ or } d_p^-
        \ge \mathrm{LPL}_p,\quad \min \sum_i (d_i^+ + d_i^-)

    With ``threshold`` no count becomes a small one: those below it go to nothing or as far up as
    they must, the others stay at the threshold at least. ``decimal_places`` is how many decimal
    places all numbers of the table have.

    Reference: Castro 2006, *Minimum-distance controlled perturbation methods for large-scale
    tabular data protection*, doi:10.1016/j.ejor.2004.08.034.
    """
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    size, primaries = problem.size, problem.primaries
    count = len(primaries)
    unit, whole = _unit(problem, 0 if problem.whole else decimal_places)
    if problem.aside is None:
        is_published = np.ones(size, dtype=bool)
    else:
        is_published = ~problem.aside
    if threshold is None:
        lowest = problem.lower
    else:
        lowest = np.where(is_published & (problem.value >= threshold), threshold, problem.lower)
    movable = problem.free | problem.unknown
    rise = np.where(movable, problem.upper - problem.value, 0.0) / unit
    fall = np.where(movable, problem.value - lowest, 0.0) / unit
    up, down = problem.up / unit, downwards(problem, threshold) / unit
    # what a cell may do is rounded down, what it must do is rounded up
    if whole:
        rise, fall = np.floor(rise + NEARLY), np.floor(fall + NEARLY)
        up, down = np.ceil(up - NEARLY), np.ceil(down - NEARLY)
    pick = sparse.csr_matrix((np.ones(count), (np.arange(count), primaries)), shape=(count, size))
    none = sparse.csr_matrix((count, size))

    def chosen(amount: Floats) -> Any:
        if count:
            return sparse.diags(amount[primaries])
        return sparse.csr_matrix((0, 0))

    # columns: up, down, and per sensitive cell whether it goes up
    wide = sparse.csr_matrix((problem.matrix.shape[0], count))
    rows = [LinearConstraint(sparse.hstack([problem.matrix, -problem.matrix, wide]), 0.0, 0.0)]
    if count:
        # a sensitive cell with 1 in the last columns goes up by what it must and not down; with 0
        # it is the other way round
        rows += [
            LinearConstraint(sparse.hstack([pick, none, -chosen(up)]), lb=0.0),
            LinearConstraint(sparse.hstack([pick, none, -chosen(rise)]), ub=0.0),
            LinearConstraint(sparse.hstack([none, pick, chosen(down)]), lb=down[primaries]),
            LinearConstraint(sparse.hstack([none, pick, chosen(fall)]), ub=fall[primaries]),
        ]
    kinds = np.concatenate([np.full(2 * size, float(whole)), np.ones(count)])
    price = is_published.astype(np.float64)  # what nobody publishes may be anything
    solution = milp(
        np.concatenate([price, price, np.zeros(count)]),
        constraints=rows,
        bounds=Bounds(0.0, np.concatenate([rise, fall, np.ones(count)])),
        integrality=kinds,
        options={"node_limit": nodes},
    )
    if solution.x is None:
        raise Unsatisfiable(
            f"adjustment: no table with the right sums moves all {count:,} sensitive cells far "
            "enough; suppress instead, or make the table coarser",
            closest={"sensitive": count},
        )
    change = solution.x[:size] - solution.x[size : 2 * size]
    if not whole:
        return problem.value + change * unit, float(np.abs(change).sum()) * unit
    change = np.round(change) * unit
    return np.round(problem.value + change, decimal_places or 0), float(np.abs(change).sum())


def audit_adjusted(problem: Problem, published: Floats, threshold: int | None = None) -> TableAudit:
    """Whether every sensitive cell is as far away as it must be, no count is told to be small, and
    all sums fit, those of a joint table too.

    ``published`` are the first cells of the problem; the others, which nobody publishes, must be
    able to be something that fits.
    """
    joint = fitting(problem, published)
    if joint is None:
        whole_table = np.concatenate([published, problem.value[len(published) :]])
    else:
        whole_table = joint
    change, cells = whole_table - problem.value, problem.primaries
    near = problem.slack
    far = (change[cells] >= problem.up[cells] - near) | (
        change[cells] <= near - downwards(problem, threshold)[cells]
    )
    uneven = joint is None or float(np.abs(problem.matrix @ joint).max(initial=0.0)) > 10 * near
    # where sums do not fit nothing is proved: all sensitive cells count as exposed
    exposed = [
        ExposedCell(int(cell), NOBODY, float(published[cell]), float(published[cell]))
        for cell in (cells if uneven else cells[~far])
    ]
    return TableAudit(
        cells,
        published[cells],
        published[cells],
        tuple(exposed),
        1,
        0,
        0.0,
        exact=True,
        whole=problem.whole,
    )


def fitting(problem: Problem, published: Floats) -> Floats | None:
    """Published cells and, after them, cells of joint tables that fit them; None where none do, so
    that the published tables cannot be the true ones.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    size = len(published)
    count = problem.size - size
    if not count:
        return published
    cells = problem.matrix.tocsc()
    right = -(cells[:, :size] @ published)
    # counts must fit exactly; sums may be off by what doubles are
    off = 0.0 if problem.whole else problem.slack
    solution = milp(
        np.zeros(count),
        constraints=LinearConstraint(cells[:, size:], right - off, right + off),
        bounds=Bounds(problem.lower[size:], problem.upper[size:]),
        integrality=np.full(count, float(problem.whole)),
        options={"node_limit": MOST_NODES},
    )
    if solution.x is None:
        return None
    return np.concatenate([published, np.round(solution.x) if problem.whole else solution.x])


def audit_rounded(problem: Problem, low: Floats, high: Floats, threshold: int | None) -> TableAudit:
    """What an intruder finds out who knows how far cells can be from what is published.

    A count below ``threshold`` must not be revealed to be small: 0, or the threshold, must remain
    possible. What is sensitive for another reason must stay unknown as far as the rules ask, both
    sides together.
    """
    import time

    started = time.perf_counter()
    empty = ~(problem.free | problem.unknown)  # as everybody may know
    joint_cells = problem.size - len(low)  # cells of joint tables, of which nothing is published
    low, high = (
        np.append(low, np.full(joint_cells, -np.inf)),
        np.append(high, np.full(joint_cells, np.inf)),
    )
    low, high = (np.where(empty, problem.value, bound) for bound in (low, high))
    published_problem = dataclasses.replace(
        problem, lower=np.maximum(problem.lower, low), upper=np.minimum(high, problem.upper)
    )
    # nothing is suppressed, but every cell is known within its bounds only: all are unknowns at
    # once
    intruder = TableIntruder(published_problem, np.arange(problem.size))
    exposed = []
    for cell in problem.primaries.tolist():
        low_bound, high_bound = intruder.extreme(cell, -1), intruder.extreme(cell, 1)
        if threshold is None or problem.value[cell] >= threshold:
            safe = high_bound - low_bound >= problem.up[cell] + problem.down[cell] - problem.slack
        else:
            # small counts: it is enough that an empty cell, or one at the threshold, remains
            # possible
            safe = low_bound <= problem.slack or high_bound >= threshold - problem.slack
        if not safe:
            exposed.append(ExposedCell(cell, NOBODY, low_bound, high_bound))
    cells = problem.primaries
    seconds = time.perf_counter() - started
    return TableAudit(
        cells,
        intruder.low[cells],
        intruder.high[cells],
        tuple(exposed),
        components=1,
        programs=intruder.programs,
        seconds=seconds,
        exact=intruder.tight,
        whole=problem.whole,
    )
