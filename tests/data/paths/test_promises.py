"""Promises about paths against their definitions, and the numbers of a worked example."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.core.step import Goal
from sfumato.data.paths import KmPoints, KmVisits, KWindows, LkcPrivacy, PathRecoding
from sfumato.data.paths.point_suppression import minimal_sets
from sfumato.data.paths.promises import point_sets
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from tests.oracles import paths as oracle

# Worked example of eight people and 29 points (7a: at hour 7 at place a).
MINIMAL = "7a; 10b; 13c; 8d9b; 8d12f; 9b12f; 9b18d; 9e12c; 9e12f; 12c17a; 12f17a; 12f18d"


def named(people, sets):
    points, places = people.points, people.table.to_series(0)
    return {
        "".join(f"{points.ticks[i]}{places[int(points.places[i])]}" for i in one) for one in sets
    }


def test_the_worked_example_has_twelve_minimal_sets():
    people = examples.small_paths()
    demand = LkcPrivacy(2, l=2).asked(people)
    found = minimal_sets(point_sets(people), [demand])
    assert named(people, found) == {one.strip() for one in MINIMAL.split(";")}
    paths = oracle.paths_of(people)
    assert (
        sum(oracle.breaks(paths, q, 2) for q in oracle.point_sets(paths, 2)) == 20
    )  # violating sets in all


def test_a_limit_on_one_value_adds_two():
    people = examples.small_paths()
    demand = LkcPrivacy(2, l=2, c=0.6, values=("x",)).asked(people)
    found = named(people, minimal_sets(point_sets(people), [demand]))
    assert found - {one.strip() for one in MINIMAL.split(";")} == {"8a", "9b12c"}


@pytest.mark.parametrize(
    ("tau", "equals", "contains"),
    [("2h", 4, 4), ("4h", 7, 6), ("6h", 8, 7)],
    ids=["2h", "4h", "6h"],
)
def test_windows_of_the_worked_example(tau, equals, contains):
    people = examples.small_paths()
    assert KWindows(2, tau=tau).judge(Evidence(people)).records == equals
    assert KWindows(2, tau=tau, match="contains").judge(Evidence(people)).records == contains


@given(oracle.some_paths(), st.integers(1, 3), st.integers(1, 3), st.data())
def test_sets_of_points(paths, k, length, data):
    values = data.draw(st.lists(st.sampled_from("xy"), min_size=len(paths), max_size=len(paths)))
    people = oracle.people_of(paths, values)
    if people.people < k:
        return
    plain = KmPoints(k, m=length).judge(Evidence(people))
    wanted = oracle.violating(paths, length, k)
    assert (plain.holds, len(plain.failing)) == (not wanted, len(wanted))
    assert plain.records == len({i for q in wanted for i in oracle.carriers(paths, q)})
    least = min(len(oracle.carriers(paths, q)) for q in oracle.point_sets(paths, length))
    assert plain.attained == least
    limited = LkcPrivacy(k, l=length, c=0.6).judge(Evidence(people))
    wanted = oracle.violating(paths, length, k, 0.6, values)
    assert (limited.holds, len(limited.failing)) == (not wanted, len(wanted))


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


@given(oracle.some_paths(5), st.sampled_from([KmPoints(2, m=2), LkcPrivacy(2, l=3)]))
def test_what_coarsening_keeps_is_kept(paths, model):
    """A promise that says so holds at every coarser level once it holds."""
    people = oracle.people_of(paths)
    held = set()
    for level in range(3):
        for width in ("1h", "2h", "8h", "all"):
            step = PathRecoding(place_level=level, time_width=width)
            coarse = step.apply(people, step.plan(people, Goal()))
            finer = [
                (a, b)
                for a, b in held
                if a <= level and (b == width or _minutes(b) <= _minutes(width))
            ]
            assert model.judge(Evidence(coarse)).holds or not finer
            if model.judge(Evidence(coarse)).holds:
                held.add((level, width))


def _minutes(width):
    return float("inf") if width == "all" else int(width[:-1])


def test_coarsening_may_break_a_share():
    """{x,s}, {x,y}, {y,s}: the share of s is 1/2 for x and y, and 2/3 once they are one."""
    paths = [{(0, "a"), (1, "d")}, {(0, "a"), (0, "b")}, {(0, "b"), (1, "d")}]
    values = ["s", "t", "s"]
    people = oracle.people_of(paths, values)
    model = LkcPrivacy(1, l=1, c=0.5, values=("s",))
    alone = {
        point: oracle.carriers([frozenset(p) for p in paths], frozenset({point}))
        for point in [(0, "a"), (0, "b")]
    }
    assert all(sum(values[i] == "s" for i in who) / len(who) == 0.5 for who in alone.values())
    assert not model.kept_by_coarsening(people)
    step = PathRecoding(place_level=1, time_width="1h")
    assert model.judge(Evidence(step.apply(people, step.plan(people, Goal())))).attained == 2


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


@pytest.mark.parametrize(
    "model", [LkcPrivacy(9), KmPoints(9), KmVisits(9), KWindows(9, tau="2h")], ids=lambda m: m.name
)
def test_too_few_people_keep_no_promise_and_one_alone_is_refused(model):
    verdict = model.judge(Evidence(examples.small_paths()))
    assert not verdict.holds
    assert verdict.sentence == "there are 8 people, fewer than 9"
    with pytest.raises(Unsatisfiable, match="8 people, fewer than 9"):
        PathRecoding().plan(examples.small_paths(), Goal(models=(model,)))
    with pytest.raises(SchemaError, match="one person only"):
        model.judge(Evidence(oracle.people_of([{(1, "a")}])))


def test_wrong_parameters():
    with pytest.raises(ParameterError, match="only with c"):
        LkcPrivacy(2, sensitive="illness")
    with pytest.raises(ParameterError, match="30min, 4h"):
        KWindows(2, tau="four hours")
    with pytest.raises(SchemaError, match="none of the 1 value"):
        LkcPrivacy(2, c=0.5, values=("nothing",)).judge(Evidence(examples.small_paths()))
    with pytest.raises(SchemaError, match="say which"):
        LkcPrivacy(2, c=0.5).judge(
            Evidence(
                examples.mobility(5, days=1).with_points(
                    *_all(examples.mobility(5, days=1)), schema=_without()
                )
            )
        )


def _all(people):
    return people.who, people.ticks, people.places


def _without():
    people = examples.mobility(5, days=1)
    return people.schema.replace("income", roles=("keep",))
