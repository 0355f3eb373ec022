"""What a release of paths is worth, by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from sfumato import examples
from sfumato.core.data import Pair
from sfumato.core.schema import Schema
from sfumato.core.source import Source
from sfumato.core.step import Goal
from sfumato.data.paths import (
    FAMILIES,
    FrequentSequences,
    HourHistogram,
    OriginDestination,
    PathLength,
    PathLoss,
    PathRecoding,
    PlaceHistogram,
    PointsKept,
    PointSuppression,
    RadiusOfGyration,
    TimeShift,
)
from sfumato.data.paths.lkc import LkcPrivacy
from sfumato.data.paths.trajectories import Trajectories
from tests.oracles import paths as oracle

METRICS = list(FAMILIES["utility"])


def recoded(people, **levels):
    step = PathRecoding(**levels)
    return step.apply(people, step.plan(people, Goal()))


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize(
    "people", [examples.small_paths(), examples.mobility(30)], ids=["names", "coordinates"]
)
def test_nothing_is_lost_where_nothing_is_done(name, people):
    metric = FAMILIES["utility"][name]()
    if metric.applies(Pair(people, people)) is None:
        shown = people.shuffled(np.random.default_rng(1))
        assert metric.measure(Pair(people, shown)).value == pytest.approx(
            1.0 if metric.better == "higher" else 0.0
        )


@given(oracle.some_paths())
def test_points_kept(paths):
    people = oracle.people_of(paths)
    kept = people.ticks % 3 > 0
    if not kept.any():
        return
    released = people.with_points(people.who[kept], people.ticks[kept], people.places[kept])
    wanted = sum(t % 3 > 0 for path in paths for t, _ in path) / sum(map(len, paths))
    assert PointsKept().measure(Pair(people, released)).value == pytest.approx(wanted)


def test_coarseness_of_the_worked_example():
    """Zones lose (3−1)/(6−1) of a place each, 4 h of the 12 h from 7 to 18 a third of the time."""
    people = examples.small_paths()
    measure = PathLoss().measure(Pair(people, recoded(people, place_level=1, time_width="4h")))
    assert measure.per_column == pytest.approx({"place": 0.4, "time": 1 / 3})
    assert measure.value == pytest.approx((0.4 + 1 / 3) / 2)
    gone = PathLoss().measure(Pair(people, recoded(people, place_level=2, time_width="all")))
    assert gone.value == pytest.approx(1.0)


def test_histograms_by_hand():
    """a, a, b and c as north: a third each instead of 1/2, 1/4, 1/4; hours 1, 1, 2, 3 in buckets of
    two.
    """
    people = oracle.people_of([{(1, "a"), (2, "b")}, {(1, "a"), (3, "c")}])
    coarse = people.with_points(
        people.who,
        people.ticks,
        np.zeros(4, dtype=np.int64),
        table=pl.DataFrame({"place": ["north"]}),
    )
    assert PlaceHistogram().measure(Pair(people, coarse)).value == pytest.approx(1 / 6)
    wide = recoded(
        people, place_level=0, time_width="2h"
    )  # true 0, 1/2, 1/4, 1/4; spread 1/4 each over 0…3
    assert HourHistogram().measure(Pair(people, wide)).value == pytest.approx(1 / 4)


def test_first_and_last_places_by_hand():
    people = oracle.people_of(
        [{(1, "a"), (2, "b")}, {(1, "a"), (2, "b")}, {(1, "b"), (2, "a")}, {(1, "b"), (2, "a")}]
    )
    kept = np.array([True] * 6 + [False, True])  # the last person now begins and ends at a
    released = people.with_points(people.who[kept], people.ticks[kept], people.places[kept])
    assert OriginDestination().measure(Pair(people, released)).value == pytest.approx(1 / 4)


@given(oracle.some_paths(5))
def test_frequent_pairs(paths):
    people = oracle.people_of(paths)
    kept = people.ticks % 3 > 0
    if not kept.any():
        return
    released = people.with_points(people.who[kept], people.ticks[kept], people.places[kept])
    least = max(1, int(np.ceil(0.4 * len(paths) - 1e-9)))

    def often(some):
        ways = [{q for q in oracle.sequences(path, 2) if len(q) == 2} for path in some]
        return {q for own in ways for q in own if sum(q in other for other in ways) >= least}

    before, after = often(paths), often(oracle.paths_of(released))
    measure = FrequentSequences(0.4).measure(Pair(people, released))
    assert measure.value == pytest.approx(len(before & after) / len(before) if before else 1.0)


def square(points):
    schema = Schema.from_roles({"person": "p", "time": "t", "place": ["x", "y"]})
    frame = pl.DataFrame(
        [(1, t, x, y) for t, (x, y) in enumerate(points)], schema=["p", "t", "x", "y"], orient="row"
    )
    return Trajectories.from_tables({"data": frame}, {"data": schema}, Source("square"))


def test_lengths_and_radius_by_hand():
    """Around a square of side 3: three sides are 9 long, and every corner is 3/√2 from the centre;
    cells of 2 move corners to 1 and 3.
    """
    people = square([(0.0, 0.0), (3.0, 0.0), (3.0, 3.0), (0.0, 3.0)])
    coarse = recoded(people, place_level=1, time_width="1h", cell=2)
    assert PathLength().measure(Pair(people, coarse)).value == pytest.approx((9 - 6) / 9)
    assert RadiusOfGyration().measure(Pair(people, coarse)).value == pytest.approx((3 - 2) / 3)
    assert PathLength().applies(Pair(examples.small_paths(), None)) == "places are not coordinates"


def test_shifted_points_are_kept():
    from sfumato.core.randomness import Seed

    people, step = examples.small_paths(), TimeShift("3h")
    moved = step.apply(people, step.plan(people, Goal(seed=Seed(2))))
    assert PointsKept().measure(Pair(people, moved)).value == 1


@pytest.mark.parametrize("name", METRICS)
def test_all_is_told_of_every_release(name):
    """Also where people are missing, places are coarse and there is no time; values stay between 0
    and 1 but for relative errors.
    """
    people = examples.mobility(40)
    step = PointSuppression()
    coarse = recoded(people, place_level=3, time_width="all", cell=500)
    released = step.apply(coarse, step.plan(coarse, Goal(models=(LkcPrivacy(4, l=2),))))
    metric = FAMILIES["utility"][name]()
    value = metric.measure(Pair(people, released)).value
    assert 0 <= value <= (1 if name not in ("path_length", "radius_of_gyration") else 10)
