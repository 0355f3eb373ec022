"""The records behind an output: which of them are in each cell, whose they are, and what they
contribute."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.results.checking.contributing_records import ContributingRecords, find_members
from sfumato.results.checking.least_squares import fit_line
from sfumato.results.checking.output_pairs import Universe


def test_dummies_beside_the_commonest_value_and_missing_rows():
    people = pl.DataFrame(
        {"g": ["a"] * 30 + ["b"] * 20 + [None], "y": [1.0] * 30 + [3.0] * 20 + [9.0]}
    )
    line, rows = fit_line(ContributingRecords.of(people), "y", ["g"])
    assert line.model.exog_names == ("intercept", "g[b]")
    assert line.params == pytest.approx([1.0, 2.0])
    assert int(rows.sum()) == 50


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 6), st.integers(0, 30)),
        min_size=1,
        max_size=40,
    ),
    st.integers(1, 3),
)
def test_contributions_like_sorting_by_hand(rows, depth):
    people = pl.DataFrame(rows, schema=["g", "who", "x"], orient="row")
    behind = ContributingRecords.of(people, unit="who")
    table = people.select("g").unique(maintain_order=True)
    cells = find_members(table, ["g"], behind).contributions(behind, behind.numbers("x"), depth)
    for place, group in enumerate(table["g"]):
        each: dict[int, float] = {}
        for g, who, x in rows:
            if g == group:
                each[who] = each.get(who, 0.0) + x
        ranked = sorted(each.values(), reverse=True)
        assert cells.n[place] == len(ranked)
        assert cells.size[place] == sum(ranked)
        assert cells.top[place].tolist() == [*ranked[:depth], *[0.0] * (depth - len(ranked))]
        assert cells.least[place] == ranked[-1]


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["a", None])), min_size=1, max_size=20),
    st.data(),
)
def test_a_part_of_the_records_is_found_by_what_it_says(rows, data):
    frame = pl.DataFrame(rows, schema={"x": pl.Int64, "g": pl.String}, orient="row")
    keep = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    part = frame.filter(pl.Series(keep, dtype=pl.Boolean)).reverse()
    found = Universe(ContributingRecords.of(frame)).sample(part, None)
    assert found is not None
    assert frame.filter(pl.Series(found)).sort("x", "g").equals(part.sort("x", "g"))
