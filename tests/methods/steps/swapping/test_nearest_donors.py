"""The nearest record of a second table for each record of the first."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from tests.methods.steps.exchange_tables import kept, plain, run


def test_partners_are_of_the_same_stratum_and_several_columns_go_together():
    table = plain(by=[1, 2, 3, 4], g=["a", "b", "a", "b"], x=[1, 2, 3, 4], y=[5, 6, 7, 8])
    made = run(sf.SwapSimilar(["x", "y"], by="by", within=["g"]), table)[1]
    assert made.column("x").to_list() == [3, 4, 1, 2]
    assert made.column("y").to_list() == [7, 8, 5, 6]


def test_how_far_partners_are_apart_is_measured():
    plan, _ = run(sf.SwapSimilar(["x"], by="by"), plain(by=[0.0, 1.0, 10.0, 13.0], x=[1, 2, 3, 4]))
    assert kept(plan, "relation to by").off_by == pytest.approx(2 / np.std([0, 1, 10, 13]))
