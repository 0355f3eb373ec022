"""Controlled rounding: sums stay, cells become neighbours, and the expected value is the cell."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.kernels.rounding import round_table


def fractions_with_whole_sums(random, rows, columns):
    """Random fractions; a last row and column make all sums whole."""
    inner = random.random((rows, columns))
    table = np.zeros((rows + 1, columns + 1))
    table[:-1, :-1] = inner
    table[:-1, -1] = -inner.sum(axis=1) % 1
    table[-1] = -table[:-1].sum(axis=0) % 1
    return table


def rounded(random, table):
    result = np.full(table.shape, np.nan)
    round_table(table, random.random(table.size), result)
    return result


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (5, 2), (9, 6)])
def test_sums_stay_and_cells_become_0_or_1(shape):
    random = np.random.default_rng(sum(shape))
    for _ in range(20):
        table = fractions_with_whole_sums(random, *shape)
        result = rounded(random, table)
        assert set(np.unique(result)) <= {0.0, 1.0}
        assert np.allclose(result.sum(axis=0), table.sum(axis=0))
        assert np.allclose(result.sum(axis=1), table.sum(axis=1))


def test_the_expected_value_of_a_cell_is_the_cell():
    random = np.random.default_rng(3)
    table = fractions_with_whole_sums(random, 2, 2)
    runs = 4_000
    mean = sum(rounded(random, table) for _ in range(runs)) / runs
    # Four standard errors of a share.
    assert np.abs(mean - table).max() < 4 * 0.5 / np.sqrt(runs)


def test_whole_cells_are_left_alone():
    table = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert rounded(np.random.default_rng(1), table).tolist() == table.tolist()
