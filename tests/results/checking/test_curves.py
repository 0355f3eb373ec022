"""Survival curves that are told as times and shares alone, without events and numbers at risk:
judged by the records they are of."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given

import sfumato as sf
from sfumato.results.checking.curve_points import Lifetimes
from sfumato.results.checking.curves import survival_at
from tests.results.checking.test_layout import LIVES


@given(LIVES)
def test_survival_like_counting_by_hand(lives):
    time, died = (np.array([one[at] for one in lives]) for at in (0, 1))
    share, by_hand = 1.0, {}
    for now in range(13):
        here = sum(1 for one in lives if one[0] == now and one[1])
        left = sum(1 for one in lives if one[0] >= now)
        share *= 1 - here / left if left else 1
        by_hand[now] = share
    found = survival_at(Lifetimes(time.astype(float), died, np.arange(len(lives))), np.arange(13.0))
    assert np.allclose(found, list(by_hand.values()))


def test_curves_of_times_and_shares():
    people = pl.DataFrame({"t": [1] * 12 + [2] * 4 + [3] * 9 + [4] * 75, "e": [1] * 55 + [0] * 45})
    asked = {"features": ["t", "e"]}
    good = pl.DataFrame({"time": [1, 3, 4], "survival": [0.88, 0.75, 0.45]})
    assert sf.check_output(good, people, **asked).passes
    assert sf.check_output(good, people, kind="survival", **asked).passes
    assert "features" in " ".join(sf.check_output(good, people).next_steps)
    assert sf.check_output(good).status == "review"
    wrong = good.with_columns(pl.Series("survival", [0.88, 0.75, 0.44]))
    assert sf.check_output(wrong, people, **asked).status == "review"
    fine = pl.DataFrame({"time": [1, 2, 3, 4], "survival": [0.88, 0.84, 0.75, 0.45]})
    assert sf.check_output(fine, people, **asked).status == "fail"  # four died on the second day
    more = people.vstack(pl.DataFrame({"t": [2] * 3, "e": [0] * 3}))  # three leave without an event
    shares = survival_at(
        Lifetimes(more["t"].to_numpy().astype(float), more["e"].to_numpy() == 1, np.arange(103)),
        np.array([1.0, 3]),
    )
    told = pl.DataFrame({"time": [1, 3], "survival": shares.round(3)})
    assert sf.check_output(told, more, **asked).status == "fail"
    assert (
        sf.check_output(told.with_columns(pl.Series("survival", shares)), more, **asked).status
        == "fail"
    )
