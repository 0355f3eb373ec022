"""Moving all times of a person by the same draw; and taking stays for one visit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.data.paths import CollapseRepeats, PathRecoding, TimeShift
from sfumato.errors import ParameterError
from tests.data.paths.test_point_suppression import applied
from tests.oracles import paths as oracle


@given(oracle.some_paths(), st.integers(0, 1000))
def test_shifts_keep_gaps(paths, seed):
    people = oracle.people_of(paths)
    moved = applied(TimeShift("5h"), people, seed=seed)
    for before, after in zip(oracle.paths_of(people), oracle.paths_of(moved), strict=True):
        shift = min(after)[0] - min(before)[0]
        assert abs(shift) <= 5
        assert after == {(t + shift, p) for t, p in before}
    assert moved.shifted == 5


def test_shifts_are_uniform():
    """11 shifts from −5 to 5, 2 200 people: each 200 times; chi-squared with 10 degrees of freedom
    is below 35.6 but for 1 in 10 000.
    """
    people = oracle.people_of([{(0, "a")}] * 2200)
    counts = np.bincount(applied(TimeShift("5h"), people).ticks + 5, minlength=11)
    assert ((counts - 200) ** 2 / 200).sum() < 35.6


def test_shifts_promise_nothing_and_say_so():
    plan = TimeShift("2h").plan(examples.small_paths(), Goal(seed=Seed(1)))
    assert plan.describe() == {"at_most": "2h", "people": 8, "guarantee": "none"}
    assert "promises nothing" in plan.warnings[0]
    coarse = applied(PathRecoding(place_level=0, time_width="4h"), examples.small_paths())
    with pytest.raises(ParameterError, match="less than the time buckets"):
        applied(TimeShift("2h"), coarse)
    assert set(applied(TimeShift("8h"), coarse).ticks % 4) == {0}
    with pytest.raises(ParameterError, match="no times"):
        applied(
            TimeShift(),
            applied(PathRecoding(place_level=0, time_width="all"), examples.small_paths()),
        )


def test_repeats_collapse_before_coarsening_only():
    people = oracle.people_of([[(1, "a"), (2, "a"), (3, "b"), (4, "a")], [(1, "a"), (2, "b")]])
    assert [sorted(path) for path in oracle.paths_of(applied(CollapseRepeats(), people))] == [
        [(1, "a"), (3, "b"), (4, "a")],
        [(1, "a"), (2, "b")],
    ]
    coarse = applied(PathRecoding(place_level=1, time_width="1h"), people)
    with pytest.raises(ParameterError, match="before places or times"):
        applied(CollapseRepeats(), coarse)
