"""Noise nobody knows: exact shares, enough with colluders, seen by an audit when it is not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta, nbinom

from sfumato.errors import ParameterError
from sfumato.parties.kinds import question_from
from sfumato.parties.noise import GaussianShare, JointNoise, PolyaShare, below

pytest.importorskip("opendp")

COUNT = question_from("count")
TWO = Fraction(2)  # scale of ε = .5 for a count


def mass(shape, a, reach):
    """P(difference of two NB(shape, a) = x), x from -reach to reach."""
    one = nbinom.pmf(np.arange(4 * reach), shape, 1 - a)
    both = np.convolve(one, one[::-1])
    middle = len(one) - 1
    return both[middle - reach : middle + reach + 1]


@pytest.mark.parametrize(
    ("honest", "wanted"),
    [(3, [0.7328, 0.1482, 0.0599, 0.0075]), (4, [0.7920, 0.1201, 0.0455, 0.0053])],
)
def test_one_sided_shares_have_their_distribution(honest, wanted):
    """ε = .5: the masses at 0, 1, 2, 5; five standard errors fail with a probability below 1e-6."""
    drawn = PolyaShare(TWO, honest).one_sided(10_000)
    for x, p in zip([0, 1, 2, 5], wanted, strict=True):
        assert abs(np.mean(drawn == x) - p) < 5 * math.sqrt(p / 10_000) + 1e-4


@pytest.mark.slow
def test_shares_of_all_add_up_to_the_discrete_laplace():
    a = math.exp(-0.5)
    drawn = sum(PolyaShare(TWO, 4).draw(10_000) for _ in range(4))
    for x in (0, 1, -3, 5):
        p = (1 - a) / (1 + a) * a ** abs(x)
        assert abs(np.mean(drawn == x) - p) < 5 * math.sqrt(p / 10_000)


def worst_loss(shape, shares, a, reach=200):
    """The largest log ratio of the honest parties' noise to the same moved by one, by exact
    convolution.
    """
    masses = mass(shape * shares, a, reach)
    inner = slice(reach - 20, reach + 21)
    return float(np.abs(np.log(masses[inner] / masses[reach - 21 : reach + 20])).max())


@pytest.mark.parametrize(("n", "c", "short"), [(4, 1, 0.7465), (10, 3, 0.8103)])
def test_shares_for_all_do_not_do_when_some_defect(n, c, short):
    a = math.exp(-0.5)
    assert worst_loss(1 / n, n - c, a) == pytest.approx(short, abs=5e-4)
    assert worst_loss(1 / (n - c), n - c, a) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.slow
def test_the_audit_sees_shares_that_are_too_small():
    """Four parties, one tells its noise: with shares for four the loss of ε = .5 is proved to be
    exceeded, with shares for three not.

    Answers differ by 1; the centre of the honest noise gives it away.
    """
    runs = 12_000
    short = [sum(PolyaShare(TWO, 4).draw(runs) for _ in range(3)) + x for x in (0, 1)]
    right = [sum(PolyaShare(TWO, 3).draw(runs) for _ in range(3)) + x for x in (0, 1)]
    assert centre(short) > 0.5
    assert centre(right) <= 0.5


def centre(answers):
    """The ε proved by the set {0}, by Clopper and Pearson's bounds with an error of 1e-7 each: what
    the noise does at its centre.
    """
    runs, hits = len(answers[0]), [int((some == 0).sum()) for some in answers]
    low = beta.ppf(1e-7, hits[0], runs - hits[0] + 1)
    high = beta.ppf(1 - 1e-7, hits[1] + 1, runs - hits[1])
    return math.log(low / high)


@pytest.mark.parametrize(
    ("epsilon", "colluders", "wanted"), [("0.5", 0, 56), ("0.5", 1, 59), ("0.1", 1, 296)]
)
def test_room_for_noise(epsilon, colluders, wanted):
    assert abs(JointNoise(epsilon, colluders=colluders).at_most(COUNT, 4) - wanted) <= 1


def test_the_loss_is_divided_between_sums_of_different_size():
    mean = question_from({"mean": {"column": "x", "bounds": ["0", "100"], "scale": 0}})
    count, total = JointNoise("1")._shares(mean, 3)
    assert (count.scale, total.scale) == (2, 100)  # 50 around the middle, at half of the loss


def test_sums_of_wide_numbers_are_told_in_steps():
    """A scale of some hundreds of steps, drawn exactly; one record moves the rounded sum by no more
    than the noise is for.
    """
    wide = question_from({"sum": {"column": "x", "bounds": ["0", "100000"], "scale": 10}})
    noise = JointNoise("0.5", colluders=1)
    [step], [share] = noise.units(wide, 4), noise._shares(wide, 4)
    assert share.scale * Fraction(1, 2) * step >= 100_000 * 1024 and 100 < share.scale < 600
    assert np.abs(noise.drawn(wide, 4)[0]).max() <= noise.at_most(wide, 4)
    rounded = lambda total: (total + step // 2) // step  # noqa: E731
    moved = [
        rounded(total + 100_000 * 1024) - rounded(total) for total in range(0, 3 * int(step), 7)
    ]
    assert max(moved) <= share.scale * Fraction(1, 2)


def test_gaussian_shares():
    share = GaussianShare(1.0, Fraction(1, 200), 3)
    assert share._noise.scale**2 == pytest.approx(100 / 3, rel=1e-9)
    drawn = sum(share.draw(10_000) for _ in range(3))
    assert np.var(drawn) == pytest.approx(100, rel=0.06)
    assert share.at_most(4, 2**-40) >= 7 * math.sqrt(4 / 3 * 100)
    with pytest.raises(ParameterError, match="variance"):
        GaussianShare(1.0, Fraction(1), 3)


def test_wrong_noise_is_refused():
    with pytest.raises(ParameterError, match="either epsilon"):
        JointNoise()
    with pytest.raises(ParameterError, match="at most 2 can collude"):
        JointNoise("1", colluders=3).drawn(COUNT, 3)


def test_whole_numbers_below_a_limit_are_fair():
    counts = np.bincount(below(7, 70_000), minlength=7)
    assert (
        counts.sum() == 70_000 and (np.abs(counts - 10_000) < 600).all()
    )  # 6.5 standard deviations
