"""Deleting points until no few of them tell who somebody is."""

from __future__ import annotations

import pytest

from sfumato import examples
from sfumato.core.data import Pair
from sfumato.core.step import Goal
from sfumato.data.paths import FAMILIES, PointSuppression
from sfumato.data.paths.lkc import LkcPrivacy
from tests.data.paths.test_utility import METRICS, recoded


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
