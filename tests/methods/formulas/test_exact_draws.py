from __future__ import annotations

import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.errors import ParameterError
from sfumato.methods.formulas.exact_draws import Draws, discrete_laplace
from tests.oracles.closeness_and_privacy import clopper_pearson, discrete_laplace_mass

WRONG = 1e-6
"""How probable it is that a correct sampler fails one of these tests."""


def fits(drawn, scale):
    """Whether whole numbers follow the discrete Laplace distribution, by a chi-square test."""
    edge = int(3 * scale) + 1
    seen = Counter(int(np.clip(x, -edge, edge)) for x in drawn)
    mass = {x: discrete_laplace_mass(x, scale) for x in range(-edge + 1, edge)}
    outside = (1 - sum(mass.values())) / 2
    mass |= {-edge: outside, edge: outside}
    expected = [mass[x] * len(drawn) for x in sorted(mass)]
    return chisquare([seen[x] for x in sorted(mass)], expected).pvalue > WRONG


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 3), Fraction(5)])
def test_own_sampler_follows_its_distribution(scale):
    assert fits([discrete_laplace(scale) for _ in range(5000)], float(scale))


def test_seeded_and_secure_draws_follow_it_too(monkeypatch):
    seeded = Draws(np.random.default_rng(1))
    assert fits(seeded.laplace(Fraction(3), 5000), 3.0)
    assert fits(Draws().laplace(Fraction(3), 5000), 3.0)
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)  # as if it were not installed
    assert fits(Draws().laplace(Fraction(3), 3000), 3.0)


@pytest.mark.parametrize("share", [0.001, 0.3, 0.9])
def test_coins(share):
    shown = int(Draws().kept(20_000, share).sum())
    low, high = clopper_pearson(shown, 20_000, 1 - WRONG)
    assert low <= share <= high


def test_permutations_are_equally_likely():
    seen = Counter(tuple(Draws().permutation(3).tolist()) for _ in range(3000))
    assert len(seen) == 6
    assert chisquare(list(seen.values())).pvalue > WRONG


def test_only_rehearsals_are_seeded():
    assert Draws.of(Goal(), "x").secure
    assert Draws.of(Goal(seed=Seed.fresh()), "x").secure
    one, other = (Draws.of(Goal(seed=Seed(7)), "x") for _ in range(2))
    assert not one.secure
    assert one.laplace(Fraction(9), 20).tolist() == other.laplace(Fraction(9), 20).tolist()
    fresh = Seed.fresh()
    repeated = [
        Draws.of(Goal(seed=fresh), "x").laplace(Fraction(10**6), 20).tolist() for _ in range(2)
    ]
    assert repeated[0] != repeated[1]


def test_noise_beyond_whole_numbers_is_refused():
    with pytest.raises(ParameterError, match="range of whole numbers"):
        Draws().laplace(Fraction(2) ** 60, 1)
