"""Promises about points: whoever knows a few times and places of a person."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.core.step import Goal
from sfumato.data.paths import KmPoints, KmVisits, KWindows, LkcPrivacy, PathRecoding
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from tests.oracles import paths as oracle


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
    with pytest.raises(ParameterError, match="only together with c"):
        LkcPrivacy(2, sensitive="illness")
    with pytest.raises(ParameterError, match="30min, 4h"):
        KWindows(2, tau="four hours")
    with pytest.raises(SchemaError, match="none of the 1 listed value"):
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
