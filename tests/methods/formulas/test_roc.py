"""Curves and areas against pairs counted one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.methods.formulas.roc import area_under, roc_curve


@pytest.mark.parametrize("seed", range(60))
def test_the_area_is_the_chance_of_a_right_order(seed: int) -> None:
    draw = np.random.default_rng(seed)
    count = int(draw.integers(2, 40))
    has = draw.random(count) < 0.4
    has[:2] = True, False
    scores = draw.integers(0, 6, count).astype(float)
    false, true = roc_curve(has, scores)
    for at, threshold in enumerate(sorted(set(scores), reverse=True), 1):
        assert true[at] == pytest.approx(np.mean(scores[has] >= threshold))
        assert false[at] == pytest.approx(np.mean(scores[~has] >= threshold))
    assert (false[0], true[0], false[-1], true[-1]) == (0, 0, 1, 1)
    pairs = list(itertools.product(scores[has], scores[~has]))
    right = sum((one > other) + 0.5 * (one == other) for one, other in pairs) / len(pairs)
    assert area_under(false, true) == pytest.approx(right)
