"""Groups of records that follow one another in some order."""

from __future__ import annotations

import numpy as np

from sfumato.methods.steps.microaggregation.inputs import PointGround, error_of
from sfumato.methods.steps.microaggregation.runs import (
    best_runs,
    by_score,
    first_component,
    first_dimension,
    runs_of,
)


def test_the_last_run_takes_the_remainder():
    assert runs_of(np.array([5.0, 1, 4, 2, 3]), 2).tolist() == [1, 0, 1, 0, 1]


def test_the_best_runs_are_no_worse_than_runs_of_k():
    points = np.sort(np.random.default_rng(7).exponential(size=(40, 1)), axis=0)
    ground = PointGround(points, [np.arange(40)], 3, np.random.default_rng)
    best = best_runs(ground, first_dimension).groups
    plain = by_score(ground, first_dimension).groups
    assert np.bincount(best).min() >= 3
    assert np.bincount(best).max() < 6
    assert error_of(points, best) < error_of(points, plain)


def test_the_largest_loading_of_the_first_component_is_positive():
    points = np.array([[0.0, 0.0], [1.0, -3.0]])
    assert first_component(points)[0] > 0 > first_component(points)[1]
