"""Our own simplex says what a general solver says; an interval that must be wide is looked for
wherever it can lie.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import sfumato as sf
from sfumato.errors import ParameterError, ReleaseRefused, SchemaError
from sfumato.results.tables.audit import audit
from sfumato.results.tables.differencing import few_between
from sfumato.results.tables.linear_programs import SmallProgram


def table_of(draw, whole):
    """A random table of one to three columns with its margins: equations and values."""
    shape = tuple(draw.integers(2, 4, size=int(draw.integers(1, 4))))
    inner = (
        draw.integers(0, 6, size=shape).astype(float)
        if whole
        else draw.lognormal(2, 2, size=shape).round(2)
    )
    for axis in range(len(shape)):
        inner = np.concatenate([inner.sum(axis=axis, keepdims=True), inner], axis=axis)
    number = np.arange(inner.size).reshape(inner.shape)
    rows = []
    for axis in range(len(shape)):
        for line in np.moveaxis(number, axis, 0).reshape(inner.shape[axis], -1).T:
            row = np.zeros(inner.size)
            row[line] = 1.0
            row[line[0]] = -1.0
            rows.append(row)
    return np.array(rows), inner.reshape(-1)


@given(st.integers(0, 2**32), st.booleans())
def test_the_small_program_is_as_good_as_the_solver(number, whole):
    draw = np.random.default_rng(number)
    matrix, value = table_of(draw, whole)
    hidden = draw.random(len(value)) < draw.choice([0.4, 0.8])
    top = max(1.0, value.max())
    low, high = np.where(hidden, 0.0, value), np.where(hidden, top, value)
    small = SmallProgram.of(sparse.csr_matrix(matrix), 1e-6 * top)
    for at in draw.permutation(np.flatnonzero(hidden))[:4].tolist():
        for sign in (1, -1):
            met = small.pushed(value, low, high, at, sign)
            aim = np.zeros(len(value))
            aim[at] = -sign
            best = linprog(
                aim, A_eq=matrix, b_eq=np.zeros(len(matrix)), bounds=np.column_stack([low, high])
            )
            assert met is not None
            assert np.abs(matrix @ met).max() <= 1e-6 * top
            assert (met >= low - 1e-6 * top).all()
            assert (met <= high + 1e-6 * top).all()
            assert met[at] == pytest.approx(best.x[at], abs=1e-6 * top)


def wild_program(draw):
    """Equations of few cells from a thousandth to 1e12, many of them at a bound, some equations
    twice, and which cell is pushed.
    """
    rows, columns = int(draw.integers(1, 7)), int(draw.integers(3, 14))
    matrix = draw.choice([-1.0, 0.0, 0.0, 1.0], (rows, columns))
    if draw.random() < 0.3:
        matrix *= 10.0 ** draw.integers(-3, 4, (rows, 1))
    matrix = np.concatenate([matrix, matrix[: int(draw.integers(0, 3))]])
    value = 10.0 ** draw.uniform(-3, draw.choice([1, 6, 12]), columns) * (
        draw.random(columns) < 0.7
    )
    top = max(1.0, value.max())
    low = np.where(draw.random(columns) < 0.3, value, 0.0)
    high = np.where(
        draw.random(columns) < 0.3, value, np.where(draw.random(columns) < 0.3, 2 * value, top)
    )
    return matrix, value, low, high, int(draw.integers(columns)), int(draw.choice([-1, 1]))


def test_no_wild_program_gets_a_wrong_answer():
    """Two thousand programs, degenerate and badly scaled: an answer is the solver's, or none is
    given.
    """
    draw, answered = np.random.default_rng(11), 0
    for _ in range(2_000):
        matrix, value, low, high, at, sign = wild_program(draw)
        top = max(1.0, value.max())
        slack = max(1e-6, 1e-9 * top)
        met = SmallProgram(matrix, slack).pushed(value, low, high, at, sign)
        if met is None:
            continue
        assert np.abs(matrix @ (met - value)).sum() <= slack
        aim = np.zeros(len(value))
        aim[at] = -sign
        scale = np.abs(matrix).max(axis=1, keepdims=True).clip(min=1e-9)
        bounds = np.column_stack([low - value, high - value]) / top
        best = linprog(aim, A_eq=matrix / scale, b_eq=np.zeros(len(matrix)), bounds=bounds)
        if best.x is not None:  # the solver takes some of them to be infeasible, which none is
            assert met[at] - value[at] == pytest.approx(top * best.x[at], abs=1e-6 * top)
            answered += 1
    assert answered > 1_800


def test_a_program_without_an_answer_gets_none():
    matrix = np.array([[1.0, 1.0, -1.0]])
    value = np.array([1.0, 2.0, 3.0])
    with np.errstate(all="ignore"):
        unbounded = SmallProgram(matrix, 1e-6).pushed(value, np.zeros(3), np.full(3, np.inf), 0, 1)
        outside = SmallProgram(matrix, 1e-6).pushed(value, np.full(3, 5.0), np.full(3, 6.0), 0, 1)
        nothing = SmallProgram(matrix, 1e-6).pushed(
            value * np.nan, np.zeros(3), np.full(3, 9.0), 0, 1
        )
    assert unbounded is None
    assert outside is None
    assert nothing is None


def widest(problem, cell):
    """The interval of a cell when all that may be is suppressed."""
    everything = problem.free | problem.primary
    return audit(problem, everything).interval(cell)


def test_a_set_of_records_is_found_once():
    """All records, and all but those of the last atom: the nested cells and the sums of cells tell
    the same two atoms.
    """
    codes = [np.array([[0, 0, 1, 1]]), np.array([[0, -1, 1, -1]])]
    held = [sparse.csr_matrix(np.array([[1.0, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]]))]
    held += [sparse.csr_matrix(np.array([[1.0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0]]))]
    found = few_between(
        held,
        np.array([9, 2, 8, 3]),
        codes,
        [np.zeros(3, dtype=bool), np.ones(3, dtype=bool)],
        [[[0]], [[0]]],
    )
    told = [tuple(one.tolist()) for one in found]
    assert sorted(told) == sorted(set(told))
    assert {(1,), (3,), (1, 3)} <= set(told)


COUNTED = {"r": ["a"] * 100 + ["b"] * 100, "s": ["y"] * 100 + ["y", "z"] * 50}


def table(**columns):
    import polars as pl

    return pl.DataFrame(columns)


def test_rounding_to_ones_tells_groups():
    judged = sf.tabulate(table(**COUNTED), ["r", "s"]).sensitive(
        sf.Threshold(3), sf.GroupDisclosure("s")
    )
    with pytest.raises(ReleaseRefused, match="too closely"):
        judged.protect("rounding", base=1)
    assert judged.protect("rounding", base=5).audit().holds


@pytest.mark.parametrize(
    "options",
    [
        {"base": 0},
        {"base": -5},
        {"options": sf.ProtectOptions(reach=0)},
        {"options": sf.ProtectOptions(slide=float("inf"))},
        {"options": sf.ProtectOptions(prior=-1.0)},
    ],
)
def test_numbers_that_mean_nothing_are_refused(options):
    judged = sf.tabulate(table(**COUNTED), ["r", "s"]).sensitive(sf.Threshold(3))
    with pytest.raises(ParameterError, match=r"from [01] on"):
        judged.protect("auto", **options)


def test_sums_beyond_numbers_are_refused():
    with pytest.raises(SchemaError, match="too large"):
        sf.tabulate(table(r=["a", "b"] * 20, x=[1e307] * 40), ["r"], "sum(x)")


def test_nothing_is_compared_with_no_number():
    with pytest.raises(ParameterError, match="compare it with a number"):
        sf.tabulate(table(r=["a", "b"], x=[1.0, 2.0]), ["r"], where="x < nan")
