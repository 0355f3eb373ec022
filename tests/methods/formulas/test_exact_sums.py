"""Sums of floating-point numbers without rounding: the same in any order, and from any pieces."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.formulas.exact_sums import exact_sums, round_exact

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=64).map(lambda x: x / 4)


@given(st.lists(st.tuples(NUMBERS, st.integers(0, 2)), max_size=30), st.randoms())
def test_sums_are_exact(rows: list[tuple[float, int]], random) -> None:
    def summed(pairs):
        values, groups = (
            np.array([v for v, _ in pairs]),
            np.array([g for _, g in pairs], dtype=np.int64),
        )
        return exact_sums(values, groups, 3)

    found = summed(rows)
    for group in range(3):
        exact = sum((Fraction(v) for v, g in rows if g == group), Fraction(0))
        assert Fraction(found[group], 1 << 1127) == exact
        if abs(exact) < 1e308:
            assert round_exact(found[group]) == float(exact)
    mixed = random.sample(rows, len(rows))
    pieces = [summed(mixed[: len(rows) // 2]), summed(mixed[len(rows) // 2 :])]
    assert [a + b for a, b in zip(*pieces, strict=True)] == found
