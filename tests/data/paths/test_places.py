"""Places and what is coarser than them: the levels of a hierarchy, or cells of a grid for
coordinates."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.schema import Schema
from sfumato.data.paths.places import images, tower_of
from sfumato.errors import ParameterError, SchemaError
from tests.data.paths.test_trajectories import read, rows


def test_a_hierarchy_that_misses_places():
    people = read(rows(place=["a", "q", "r"]))
    with pytest.raises(SchemaError, match=r"2 (of 3|value)"):
        tower_of(people)


COORDINATE = st.floats(-1e4, 1e4).map(lambda value: round(value, 3))


@given(
    st.lists(st.tuples(COORDINATE, COORDINATE), min_size=1, max_size=8),
    st.sampled_from([0.1, 1.0, 250.0, 1 / 3]),
)
def test_grids_nest_and_cells_contain_their_points(points, cell):
    frame = pl.DataFrame(
        {
            "p": range(len(points)),
            "t": [1] * len(points),
            "x": [a for a, _ in points],
            "y": [b for _, b in points],
        }
    )
    schema = Schema.from_roles({"person": "p", "time": "t", "place": ["x", "y"]})
    people = read(frame, schema)
    levels = tower_of(people, cell=cell)
    for level in range(1, levels.top + 1):
        below, above = levels.codes[level - 1], levels.codes[level]
        assert len(set(zip(below.tolist(), above.tolist(), strict=True))) == len(
            set(below.tolist())
        )
        coarse = people.with_points(
            people.who, people.ticks, above[people.places], table=levels.tables[level]
        )
        again = read(coarse.to_tables()["data"], schema)
        found = images(people, again)
        assert again.table[found].equals(levels.tables[level][above])
        assert (np.diff(levels.loss[level]) == 0).all()


def test_longitude_and_latitude_are_halved_in_turn():
    frame = pl.DataFrame({"p": [1, 2], "t": [1, 1], "lat": [52.5, 48.1], "lon": [13.4, 11.6]})
    schema = Schema.from_roles({"person": "p", "time": "t", "place": ["lat", "lon"]})
    levels = tower_of(read(frame, schema), bits=12)
    assert levels.sides[1] == (180 / 2**6, 360 / 2**6)
    assert levels.tables[1]["lat"].to_list() == ["[47.8125, 50.625)", "[50.625, 53.4375)"]
    with pytest.raises(ParameterError, match="not longitude and latitude"):
        tower_of(read(frame.with_columns(lon=pl.Series([500.0, 4.0])), schema))


def test_coordinates_that_are_none():
    schema = Schema.from_roles({"person": "p", "time": "t", "place": ["x", "y"]})
    frame = pl.DataFrame({"p": [1, 2], "t": [1, 1], "x": [1.0, float("inf")], "y": [1.0, 2.0]})
    with pytest.raises(SchemaError, match="1 of 2 points have a coordinate"):
        read(frame, schema)
    with pytest.raises(SchemaError, match="must both be numbers"):
        read(frame.with_columns(x=pl.Series(["here", "there"])), schema)
    mixed = read(
        frame.with_columns(x=pl.Series(["here", "there"]), y=pl.Series(["[0, 1)", "[0, 1)"])),
        schema,
    )
    with pytest.raises(SchemaError, match="generalised coordinates are not intervals"):
        images(examples.mobility(3, days=1), mixed)
