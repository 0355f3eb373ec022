"""Better classes by flow: with the centres of the classes held, the best assignment within the
limits; then new centres."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.steps.microaggregation.bucket_classes import Limits, greedy
from sfumato.methods.steps.microaggregation.flow_assignment import (
    by_linear_program,
    by_network,
    improve_classes,
)
from sfumato.methods.steps.microaggregation.inputs import error_of


def test_flow_is_never_worse_than_greedy_and_both_solvers_agree():
    pytest.importorskip("ortools")
    rng = np.random.default_rng(3)
    points, buckets = rng.normal(size=(90, 2)), rng.permutation(np.repeat([0, 1, 2], 30))
    limits = Limits.of([10] * 9, [30] * 3, 2)
    groups, _ = greedy(points, buckets, limits)
    better, notes = improve_classes(
        points, buckets, groups, limits, rounds=5, near=9, progress=lambda *_: None
    )
    assert error_of(points, better) < error_of(points, groups)
    assert np.bincount(better).tolist() == [10] * 9
    records, classes = np.repeat(np.arange(90), 9), np.tile(np.arange(9), 90)
    costs = rng.random(810)
    one, other = (
        solve(records, classes, costs, buckets, limits) for solve in (by_network, by_linear_program)
    )
    total = [costs.reshape(90, 9)[np.arange(90), found].sum() for found in (one, other)]
    assert total[0] == pytest.approx(total[1], abs=1e-3)
    assert notes["solver"] == "ortools"
