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
def reduce_equations(matrix, preference):
    """Solve the equations for as many variables as there are independent ones (Gauss–Jordan
    elimination): tableau, and the variable of every row.

    Of the columns that could be solved for, those with the highest ``preference`` are taken. Costs
    rows² × columns.
    """
    rows, columns = matrix.shape
    tableau = matrix.copy()
    basis = np.full(rows, -1, np.int64)
    order = np.argsort(-preference)
    solved_rows = 0
    for position in range(columns):
        if solved_rows == rows:
            break
        column = order[position]
        best, size = -1, 1e-7
        # Partial pivoting: the largest entry of the column, for accuracy. A column without one
        # depends on those before it.
        for row in range(solved_rows, rows):
            if abs(tableau[row, column]) > size:
                best = row
                size = abs(tableau[row, column])
        if best < 0:
            continue
        if best != solved_rows:
            # Exchange two rows.
            for j in range(columns):
                entry = tableau[solved_rows, j]
                tableau[solved_rows, j] = tableau[best, j]
                tableau[best, j] = entry
        pivot_tableau(tableau, solved_rows, column)
        basis[solved_rows] = column
        solved_rows += 1
    return tableau[:solved_rows].copy(), basis[:solved_rows].copy()


@njit(cache=True, nogil=True)
def pivot_tableau(tableau, pivot_row, column):
    """Solve one row for a column, and subtract it from the others so that the column is 0 there."""
    rows, columns = tableau.shape
    factor = tableau[pivot_row, column]
    for j in range(columns):
        tableau[pivot_row, j] /= factor
    tableau[pivot_row, column] = 1.0
    for row in range(rows):
        if row == pivot_row:
            continue
        factor = tableau[row, column]
        if factor == 0.0:
            continue
        for j in range(columns):
            if tableau[pivot_row, j] != 0.0:
                tableau[row, j] -= factor * tableau[pivot_row, j]
                # Entries that should have cancelled are set to 0, so that rounding does not build
                # up.
                if abs(tableau[row, j]) < 1e-12:
                    tableau[row, j] = 0.0
        tableau[row, column] = 0.0


@njit(cache=True, nogil=True)
def _price_variables(tableau, basis, column, sign, prices):
    """The rate at which a step of every variable moves the goal; the variable that is pushed may be
    in the basis or not.
    """
    at = -1
    for row in range(basis.size):
        if basis[row] == column:
            at = row
    # In the basis, the goal moves with the row that is solved for it; else only by itself.
    for j in range(prices.size):
        prices[j] = 0.0 if at < 0 else -sign * tableau[at, j]
    if at < 0:
        prices[column] = sign
    for row in range(basis.size):
        prices[basis[row]] = 0.0


@njit(cache=True, nogil=True)
def push_variable(tableau, basis, point, bounds, goal, near, limit):
    """Push one variable as far up (sign 1) or down as the equations and bounds let it; ``point``
    goes along.

    ``bounds`` is the lowest and highest value of every variable, ``goal`` the variable and its
    sign. Returns the prices of the last basis, and whether it is optimal: nothing can be said when
    ``limit`` steps did not suffice.
    """
    low, high = bounds
    column, sign = goal
    rows, columns = tableau.shape
    prices = np.zeros(columns)
    stalled = 0
    # Bounded primal simplex (Dantzig 1963): a step costs rows × columns.
    for _ in range(limit):
        _price_variables(tableau, basis, column, sign, prices)
        # The entering variable: the largest price among those that have room (Dantzig's rule).
        entering, best = -1, TINY
        for j in range(columns):
            price = prices[j]
            if price > TINY:
                room = high[j] - point[j]
            elif price < -TINY:
                room = point[j] - low[j]
            else:
                continue
            if room > near and abs(price) > best:
                entering = j
                best = abs(price)
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
            variable = basis[row]
            room = (
                (high[variable] - point[variable]) / slope
                if slope > 0
                else (low[variable] - point[variable]) / slope
            )
            room = max(room, 0.0)
            if stalled > 20:
                better = room < step or (
                    room == step and leaving >= 0 and variable < basis[leaving]
                )
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
        variable = basis[leaving]
        slope = -way * tableau[leaving, entering]
        # Set exactly to its bound, so that rounding errors do not build up.
        if abs(point[variable] - (high[variable] if slope > 0 else low[variable])) <= 10 * near:
            point[variable] = high[variable] if slope > 0 else low[variable]
        pivot_tableau(tableau, leaving, entering)
        basis[leaving] = entering
    return prices, False
