"""Small linear programs over one set of equations, one after the other: the simplex method with
bounds, in a dense table.

Arrays. ``tableau`` is equations × variables, float64, the equations solved for the variables
``basis`` (one per row); ``point`` has the value of every variable.

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
    """Solve the equations for as many variables as there are independent ones (Gauss–Jordan
    elimination): tableau, and the variable of every row.

    Of the columns that could be solved for, those with the highest ``preference`` are taken. Costs
    rows² × columns.
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
        # Partial pivoting: the largest entry of the column, for accuracy. A column without one
        # depends on those before it.
        for row in range(done, rows):
            if abs(tableau[row, column]) > size:
                best = row
                size = abs(tableau[row, column])
        if best < 0:
            continue
        if best != done:
            # Exchange two rows.
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
    """Solve one row for a column, and subtract it from the others so that the column is 0 there."""
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
                # Entries that should have cancelled are set to 0, so that rounding does not build
                # up.
                if abs(tableau[row, other]) < 1e-12:
                    tableau[row, other] = 0.0
        tableau[row, column] = 0.0


@njit(cache=True, nogil=True)
def _price(tableau, basis, column, sign, prices):
    """The rate at which a step of every variable moves the goal; the variable that is pushed may be
    in the basis or not.
    """
    at = -1
    for row in range(basis.size):
        if basis[row] == column:
            at = row
    # In the basis, the goal moves with the row that is solved for it; else only by itself.
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
    sign. Returns the prices of the last basis, and whether it is optimal: nothing can be said when
    ``most`` steps did not suffice.
    """
    low, high = bounds
    column, sign = goal
    rows, columns = tableau.shape
    prices = np.zeros(columns)
    stalled = 0
    # Bounded primal simplex (Dantzig 1963): a step costs rows × columns.
    for _ in range(most):
        _price(tableau, basis, column, sign, prices)
        # The entering variable: the largest price among those that have room (Dantzig's rule).
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
                # After many steps of length 0 the first that will do (Bland's rule): no cycling.
                if stalled > 20:
                    break
        # No variable can improve the goal: optimal.
        if entering < 0:
            return prices, True
        way = 1.0 if prices[entering] > 0 else -1.0
        step = high[entering] - point[entering] if way > 0 else point[entering] - low[entering]
        # The ratio test: the basis variable that reaches a bound first leaves. Among near equals
        # the largest slope, for accuracy; when stalled the lowest number (Bland's rule).
        leaving, size = -1, 0.0
        # All variables of the basis move along.
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
        # The entering variable reached its own other bound: the basis stays.
        if leaving < 0:
            point[entering] = high[entering] if way > 0 else low[entering]
            continue
        held = basis[leaving]
        slope = -way * tableau[leaving, entering]
        # Set exactly to its bound, so that rounding errors do not build up.
        if abs(point[held] - (high[held] if slope > 0 else low[held])) <= 10 * near:
            point[held] = high[held] if slope > 0 else low[held]
        pivoted(tableau, leaving, entering)
        basis[leaving] = entering
    return prices, False
