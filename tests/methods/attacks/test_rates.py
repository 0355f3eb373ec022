"""Rates of an attack and of its control, the risk between them, and how well a score tells members
from others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.attacks.rates import ExcessRisk, Rate, Successes, area, true_positives


@pytest.mark.parametrize(
    ("a", "h", "excess"),
    [
        (2507, 449, 0.2155),
        (1638, 739, 0.0971),
        (1215, 912, 0.0333),
    ],  # leaves of 5, 20 and 100 on a half of Adult
)
def test_the_excess_of_worked_examples(a, h, excess):
    assert Successes(a, 10_000, h, 10_000).excess == pytest.approx(excess, abs=5e-5)


def test_the_interval_holds_the_excess():
    for found in (
        Successes(0, 5, 0, 5),
        Successes(5, 5, 0, 5),
        Successes(3, 400, 0, 100),
        Successes(1, 9, 3, 4),
    ):
        low, high = found.interval
        assert 0 <= low <= min(1, max(0, found.excess)) <= high <= 1


def test_worked_rates():
    # ALGORITHMS 10.6 (G35): 30 of 100 against 10 of 100, 95 %
    attack, control = Rate.of(30, 100), Rate.of(10, 100)
    assert (attack.centre, attack.error) == pytest.approx((0.307399, 0.088450), abs=1e-6)
    assert (control.centre, control.error) == pytest.approx((0.114797, 0.059568), abs=1e-6)
    risk = ExcessRisk.of(attack, control)
    assert (risk.value, risk.error) == pytest.approx((0.217579, 0.112944), abs=1e-6)


@given(st.integers(1, 200), st.data())
def test_risks_are_within_their_intervals(trials, data):
    hits, chance = (data.draw(st.integers(0, trials)) for _ in range(2))
    risk = ExcessRisk.of(Rate.of(hits, trials), Rate.of(chance, trials))
    low, high = risk.interval
    assert 0 <= low <= risk.clipped <= high <= 1


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=12),
    st.lists(st.integers(0, 5), min_size=1, max_size=12),
    st.floats(0.001, 0.9),
)
def test_curves_against_counting(members, others, share):
    near, far = np.array(members, dtype=float), np.array(others, dtype=float)
    options = [
        (sum(m <= cut for m in members) / len(members), sum(o <= cut for o in others) / len(others))
        for cut in sorted({*members, *others})
    ]
    allowed = [(hit, alarm) for hit, alarm in options if alarm <= share]
    assert true_positives(near, far, share) == pytest.approx(max(allowed, default=(0.0, 0.0)))
    pairs = [(m < o) + (m == o) / 2 for m in members for o in others]
    assert area(near, far) == pytest.approx(sum(pairs) / len(pairs))
