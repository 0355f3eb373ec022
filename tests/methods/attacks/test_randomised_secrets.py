"""What an intruder infers who knows the transition matrix."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.attacks.randomised_secrets import KnownMatrix, likeliest

CHANCES = np.array([[0.75, 0.25], [0.25, 0.75]])


def test_the_likeliest_shares_explain_the_counts():
    shares = likeliest(np.array([[40.0, 60.0]]), CHANCES, np.array([0.5, 0.5]), weight=0.0)
    assert shares[0] == pytest.approx([0.3, 0.7], abs=1e-3)
    assert shares[0] @ CHANCES == pytest.approx([0.4, 0.6], abs=1e-3)


def test_a_heavy_prior_decides():
    shares = likeliest(np.array([[0.0, 4.0]]), CHANCES, np.array([0.9, 0.1]), weight=1e6)
    assert shares[0] == pytest.approx([0.9, 0.1], abs=1e-3)


def test_beliefs_follow_from_bayes_rule():
    beliefs = KnownMatrix(CHANCES, np.array([0.2, 0.8])).beliefs
    assert beliefs[0] == pytest.approx([0.15 / 0.35, 0.2 / 0.35])
    assert beliefs.sum(axis=1) == pytest.approx([1.0, 1.0])
