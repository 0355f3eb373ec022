"""Small linear programs over one set of equations, one after the other: the simplex method with
bounds, in a dense table.

The intruder's programs all start from a point that is known to fulfil the equations, the true
table, so that no first phase is needed: a variable outside the basis stands where the point has it,
at a bound or between. The reduced equations (the *tableau*) are those of any basis and stay for the
next program. A caller checks the answer against its own equations; one that stops too early is
never too large.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit

TINY = 1e-9


@njit(cache=True, nogil=True)
def reduced(matrix, preference):
    """The equations solved for as many variables as there are independent ones: tableau, and the
    variable of every row.

    Of the columns that could be solved for, those with the highest ``preference`` are taken.
    """
    rows, columns = matrix.shape
    tableau = matrix.copy()
    basis = np.full(rows, -1, np.int64)
    order = np.argsort(-preference)
    done = 0
    for place in range(columns):
        if done == rows:
            break
        column = order[place]
        best, size = -1, 1e-7
        for row in range(done, rows):
            if abs(tableau[row, column]) > size:
                best = row
                size = abs(tableau[row, column])
        if best < 0:
            continue
        if best != done:
            for other in range(columns):
                kept = tableau[done, other]
                tableau[done, other] = tableau[best, other]
                tableau[best, other] = kept
        pivoted(tableau, done, column)
        basis[done] = column
        done += 1
    return tableau[:done].copy(), basis[:done].copy()


@njit(cache=True, nogil=True)
def pivoted(tableau, at, column):
    """Solve one row for a column, and take it out of the others."""
    rows, columns = tableau.shape
    factor = tableau[at, column]
    for other in range(columns):
        tableau[at, other] /= factor
    tableau[at, column] = 1.0
    for row in range(rows):
        if row == at:
            continue
        factor = tableau[row, column]
        if factor == 0.0:
            continue
        for other in range(columns):
            if tableau[at, other] != 0.0:
                tableau[row, other] -= factor * tableau[at, other]
                if abs(tableau[row, other]) < 1e-12:
                    tableau[row, other] = 0.0
        tableau[row, column] = 0.0


@njit(cache=True, nogil=True)
def _price(tableau, basis, column, sign, prices):
    """What a step of every variable is worth; the variable that is pushed may be in the basis or
    not.
    """
    at = -1
    for row in range(basis.size):
        if basis[row] == column:
            at = row
    for other in range(prices.size):
        prices[other] = 0.0 if at < 0 else -sign * tableau[at, other]
    if at < 0:
        prices[column] = sign
    for row in range(basis.size):
        prices[basis[row]] = 0.0


@njit(cache=True, nogil=True)
def pushed(tableau, basis, point, bounds, goal, near, most):
    """Push one variable as far up (sign 1) or down as the equations and bounds let it; ``point``
    goes along.

    ``bounds`` is the lowest and highest value of every variable, ``goal`` the variable and its
    sign. The answer is the prices of the last basis, and whether it is the best one: nothing can be
    said when ``most`` steps did not suffice.
    """
    low, high = bounds
    column, sign = goal
    rows, columns = tableau.shape
    prices = np.zeros(columns)
    stalled = 0
    # Bounded primal simplex (Dantzig 1963): a step costs rows × columns.
    for _ in range(most):
        _price(tableau, basis, column, sign, prices)
        entering, best = -1, TINY
        for other in range(columns):
            worth = prices[other]
            if worth > TINY:
                room = high[other] - point[other]
            elif worth < -TINY:
                room = point[other] - low[other]
            else:
                continue
            if room > near and abs(worth) > best:
                entering = other
                best = abs(worth)
                if stalled > 20:  # the first that will do: no circles
                    break
        # No variable can improve the goal: optimal.
        if entering < 0:
            return prices, True
        way = 1.0 if prices[entering] > 0 else -1.0
        step = high[entering] - point[entering] if way > 0 else point[entering] - low[entering]
        leaving, size = -1, 0.0
        for row in range(rows):
            slope = -way * tableau[row, entering]
            if abs(slope) < 1e-9:
                continue
            held = basis[row]
            room = (
                (high[held] - point[held]) / slope
                if slope > 0
                else (low[held] - point[held]) / slope
            )
            room = max(room, 0.0)
            if stalled > 20:
                better = room < step or (room == step and leaving >= 0 and held < basis[leaving])
            else:
                better = room < step - near or (
                    room < step + near and abs(slope) > size and leaving >= 0
                )
                better = better or (room < step and leaving < 0)
            if better:
                step = min(room, step)
                leaving = row
                size = abs(slope)
        if step > near:
            stalled = 0
        else:
            stalled += 1
        for row in range(rows):
            point[basis[row]] -= way * step * tableau[row, entering]
        point[entering] += way * step
        if leaving < 0:
            point[entering] = high[entering] if way > 0 else low[entering]
            continue
        held = basis[leaving]
        slope = -way * tableau[leaving, entering]
        if abs(point[held] - (high[held] if slope > 0 else low[held])) <= 10 * near:
            point[held] = high[held] if slope > 0 else low[held]
        pivoted(tableau, leaving, entering)
        basis[leaving] = entering
    return prices, False
