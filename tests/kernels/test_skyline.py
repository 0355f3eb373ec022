"""The skyline of points is what comparing all pairs says it is."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import kernels


@pytest.mark.parametrize("seed", range(12))
def test_no_point_of_the_skyline_is_beaten_and_every_other_is(seed):
    draw = np.random.default_rng(seed)
    shape = int(draw.integers(0, 60)), int(draw.integers(1, 5))
    points = draw.integers(0, 5, shape).astype(np.float64)
    order = np.lexsort(points.T[::-1])
    skyline = kernels.skyline.find_skyline(points, order).tolist()
    for i in range(len(points)):
        at_most = (points <= points[i]).all(axis=1)
        better = (at_most & (points < points[i]).any(axis=1)).any()
        equal = [j for j in order.tolist() if (points[j] == points[i]).all()]
        assert (i in skyline) == (not better and i == equal[0])
