"""Normal noise on blocks of numbers: one stratum at a time, one draw a unit where a column has one
value a unit."""

from __future__ import annotations

from sfumato.methods.steps.masking.normal_noise import large_enough


def test_small_strata_are_put_together():
    sizes = {("a",): 5, ("b",): 2, ("c",): 1, (None,): 6}
    assert large_enough(sizes, 3) == ({("a",): 0, ("b",): 2, ("c",): 2, (None,): 1}, 2)
    assert large_enough({("a",): 5, ("b",): 2}, 3) == (
        {("a",): 0, ("b",): 0},
        1,
    )  # two rows are too few alone
    assert large_enough({("a",): 2}, 3) == ({("a",): 0}, 1)
