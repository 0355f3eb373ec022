"""What somebody who knows items of a person finds in a release: an item matches itself, or a group
that it belongs to."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.core.schema import Schema
from sfumato.core.source import Source
from sfumato.data.baskets.baskets import Baskets
from sfumato.data.baskets.knowledge import Sight
from sfumato.data.baskets.scoreboard import Scoreboard
from tests.data.baskets.test_attacks import scene


def test_days_add_to_how_alike_items_are():
    schema = Schema.from_roles({"person": "user", "item": "film", "keep": "day"})

    def watched(day):
        rows = {"user": ["u", "u", "v"], "film": ["f", "g", "f"], "day": [day, 7, 60]}
        return Baskets.from_tables({"data": pl.DataFrame(rows)}, {"data": schema}, Source())

    people, other = watched(0), watched(30)
    attack, place = Scoreboard(days="day"), scene(people, others=(other,))
    described = dict(attack._descriptions(place, Sight.of(place)))[0]
    found = attack.scores(people, described, np.ones(2))
    assert found == pytest.approx(
        [np.exp(-1) + 1, np.exp(-1)]
    )  # u: f 30 days off, g on the day; v: f 30 days off
