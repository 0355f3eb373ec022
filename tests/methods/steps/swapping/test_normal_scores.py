"""Ranks as normal scores."""

from __future__ import annotations

import numpy as np

from sfumato.methods.steps.swapping.normal_scores import average_ranks, positive, root


def test_ties_share_their_average_rank_and_missing_stays_missing():
    ranks = average_ranks(np.array([5.0, 1.0, 5.0, np.nan]))
    assert ranks[:3].tolist() == [2.5, 1.0, 2.5]
    assert np.isnan(ranks[3])


def test_a_matrix_that_is_no_correlation_is_repaired():
    matrix = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    repaired = positive(matrix)
    assert np.linalg.eigvalsh(repaired).min() > -1e-9
    assert np.allclose(np.diag(repaired), 1.0)
    half = root(repaired)
    assert np.allclose(half @ half.T, repaired, atol=1e-6)
