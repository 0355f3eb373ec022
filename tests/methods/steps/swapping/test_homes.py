"""Households at risk in their area, and the households elsewhere that take their place."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.randomness import Seed
from sfumato.methods.steps.swapping.homes import Exchange, Homes, households_of
from tests.methods.steps.swapping.test_record_swap import census, censuses
from tests.oracles import exchange as oracle


@given(censuses(), st.integers(1, 4))
def test_who_must_change_places_is_found(table, k):
    homes = Homes.of(
        table, households_of(table, ["land"], "test"), ["land", "town"], ["trait"], [["size"]]
    )
    rows = [
        (h, (a, b), t)
        for h, a, b, t in table.to_polars().select("h", "land", "town", "trait").rows()
    ]
    expected = oracle.levels_at_risk(rows, k)
    names = table.column("h").to_numpy()[homes.carriers.rows]
    found = dict(zip(names.tolist(), homes.needs(k).tolist(), strict=True))
    assert {h: level for h, level in found.items() if level < 2} == expected


def test_donors_are_drawn_in_proportion_to_risk():
    # one seeker in town 0; in town 2 a household with a unique trait (risk 1) and one that shares
    # its trait with two others of its own (risk 1/3): the first is chosen three times as often
    sizes, towns = [1, 1, 3], [0, 2, 2]
    table = census(sizes, towns, [0, 1, 2, 2, 2], [0, 0, 0])
    homes = Homes.of(table, households_of(table, [], "test"), ["town"], ["trait"], [()])
    names = table.column("h").to_numpy()[homes.carriers.rows]
    seeker = int(np.flatnonzero(names == 0)[0])
    n, first = 4000, 0
    for seed in range(n):
        exchange = Exchange(homes, Seed(seed).stream("test"))
        exchange._find(0, np.array([seeker]), np.array([1, 1]))
        first += int(names[exchange.partner[seeker]] == 1)
    assert abs(first / n - 0.75) <= 5 * np.sqrt(0.75 * 0.25 / n)
