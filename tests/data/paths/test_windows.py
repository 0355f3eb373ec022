"""A promise about windows of time: whoever saw a person for a while."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.data.paths import KWindows
from tests.oracles import paths as oracle


@pytest.mark.parametrize(
    ("tau", "equals", "contains"),
    [("2h", 4, 4), ("4h", 7, 6), ("6h", 8, 7)],
    ids=["2h", "4h", "6h"],
)
def test_windows_of_the_worked_example(tau, equals, contains):
    people = examples.small_paths()
    assert KWindows(2, tau=tau).judge(Evidence(people)).records == equals
    assert KWindows(2, tau=tau, match="contains").judge(Evidence(people)).records == contains


@given(
    oracle.some_paths(),
    st.integers(1, 3),
    st.integers(1, 6),
    st.integers(1, 3),
    st.sampled_from(["equals", "contains"]),
)
def test_windows(paths, k, tau, every, match):
    people = oracle.people_of(paths)
    if people.people < k:
        return
    model = KWindows(k, tau=f"{tau}h", every=f"{every}h", match=match)
    low = oracle.small_windows(paths, tau, k, every, match)
    verdict = model.judge(Evidence(people))
    assert (verdict.holds, verdict.records) == (not low, len(low))
    assert model.broken(people) == bool(low)
