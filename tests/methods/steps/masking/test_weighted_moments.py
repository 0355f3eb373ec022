"""Weighted means and covariances of columns with gaps."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.steps.masking.weighted_moments import (
    correlation_of,
    covariance_of,
    means_of,
    root_of,
    semidefinite,
    varies,
)


def test_without_gaps_and_weights_it_is_the_usual_covariance():
    values = np.random.default_rng(2).normal(size=(50, 3))
    assert covariance_of(values, np.ones(50)) == pytest.approx(np.cov(values.T))


def test_means_leave_gaps_out_and_weigh():
    values = np.array([[1.0, np.nan], [3.0, np.nan]])
    assert means_of(values, np.array([3.0, 1.0])).tolist() == [1.5, 0.0]


def test_a_column_that_does_not_vary_has_no_variance_at_all():
    values = np.column_stack([np.full(30, 0.1), np.arange(30.0)])
    covariance = covariance_of(values, np.ones(30))
    assert covariance[0].tolist() == [0.0, 0.0]
    assert not varies(values[:, 0])
    assert correlation_of(covariance).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_a_root_of_a_singular_covariance_gives_it_back():
    values = np.random.default_rng(4).normal(size=(40, 2))
    covariance = np.cov(np.column_stack([values, values.sum(axis=1)]).T)
    root = root_of(covariance)
    assert root @ root.T == pytest.approx(covariance)
    assert root[2, 2] == 0.0


def test_a_sound_covariance_is_left_as_it_is():
    covariance = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert semidefinite(covariance) == (covariance, False)
