"""Loops of the lattice searches: roll up classes and add up what the objectives need."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels import lattice


@given(st.data())
def test_numpy_rolls_up_and_tallies_as_the_loops_do(data):
    """The stand-ins give what the compiled loops give, to the last bit."""
    widths = np.array(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)))
    shifts = np.cumsum([0, *widths[:-1]])
    offsets = np.cumsum([0, *(2 ** widths[:-1])])
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    rows = data.draw(st.integers(0, 60))
    keys = rng.integers(0, 1 << int(widths.sum()), rows).astype(np.uint64)
    records = rng.integers(1, 9, rows)
    climbs = np.concatenate([rng.integers(0, 2**width, 2**width) for width in widths])
    of_columns = (shifts, widths, climbs, offsets)
    for ours, loops in zip(
        lattice._roll_up_by_numpy(keys, records, *of_columns),
        lattice._roll_up_word(keys, records, *of_columns),
        strict=True,
    ):
        assert ours.dtype == loops.dtype
        np.testing.assert_array_equal(ours, loops)
    gone = np.where(rng.random(rows) < 0.5, rng.integers(0, records + 1), 0)
    before, words = rng.random(widths.size), np.zeros(widths.size, np.int64)
    lost, again = before.copy(), before.copy()
    facts = (
        keys.reshape(-1, 1),
        records,
        gone,
        lattice.CostedColumns(words, shifts, widths, rng.random(climbs.size), offsets),
    )
    assert lattice._tally_by_numpy(*facts, lost) == lattice._tally(*facts, again)
    np.testing.assert_array_equal(lost, again)
