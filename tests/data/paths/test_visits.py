"""A promise about the order of visits: whoever knows where a person went first and where then."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.data import Evidence
from sfumato.core.step import Goal
from sfumato.data.paths import KmVisits, PathRecoding
from tests.oracles import paths as oracle


@given(oracle.some_paths(5), st.integers(1, 3), st.integers(1, 3))
def test_visits_in_order(paths, k, m):
    people = oracle.people_of(paths)
    if people.people < k:
        return
    verdict = KmVisits(k, m=m).judge(Evidence(people))
    rare, who = oracle.rare_sequences(paths, m, k)
    assert (verdict.holds, len(verdict.failing), verdict.records) == (not rare, len(rare), len(who))
    ways = [oracle.sequences(path, m) for path in paths]
    assert verdict.attained == min(sum(q in other for other in ways) for own in ways for q in own)


def test_points_that_become_equal_may_break_visits():
    """Both went to a twice, at 2 and 3, and at 3 and 4: in buckets of two hours one of them still
    does.
    """
    people = oracle.people_of([{(2, "a"), (3, "a")}, {(3, "a"), (4, "a")}])
    step = PathRecoding(place_level=0, time_width="2h")
    assert KmVisits(2, m=2).judge(Evidence(people)).holds
    assert not KmVisits(2, m=2).judge(Evidence(step.apply(people, step.plan(people, Goal())))).holds
    assert not KmVisits(2).kept_by_coarsening(people)


def test_collapsing_after_coarsening_breaks_visits():
    """ab, ac, acb, cb keeps 2² of visits; a and b as g with repeats collapsed: g, gc, gcg, cg,
    where (g, g) is alone.
    """
    ways = ["ab", "ac", "acb", "cb"]
    assert (
        KmVisits(2, m=2)
        .judge(Evidence(oracle.people_of([list(enumerate(way)) for way in ways])))
        .holds
    )
    collapsed = ["a", "ac", "aca", "ca"]
    assert (
        not KmVisits(2, m=2)
        .judge(Evidence(oracle.people_of([list(enumerate(way)) for way in collapsed])))
        .holds
    )
