"""Outputs of one session, two by two: those whose records differ by few persons tell of those few."""

from __future__ import annotations

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.results.checking.contributing_records import ContributingRecords
from sfumato.results.checking.output_pairs import (
    Universe,
    fewest_apart,
    in_ranges,
    pack_sample,
    unpack_sample,
)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from("ab"), st.booleans(), st.booleans()),
        min_size=1,
        max_size=30,
    ),
    st.booleans(),
)
def test_fewest_apart_like_counting_by_hand(rows, by_group):
    frame = pl.DataFrame(rows, schema=["who", "g", "one", "other"], orient="row")
    universe = Universe(ContributingRecords.of(frame, unit="who"))
    one, other = frame["one"].to_numpy(), frame["other"].to_numpy()
    apart: dict[str, set[int]] = {}
    for who, g, a, b in rows:
        if a != b:
            apart.setdefault(g if by_group else "", set()).add(who)
    naive = min((len(found) for found in apart.values()), default=0)
    assert fewest_apart(one, other, universe, ["g"] if by_group else []) == naive
    assert unpack_sample(pack_sample(one), len(one)).tolist() == one.tolist()


def test_numbers_in_few_words():
    assert in_ranges([]) == ""
    assert in_ranges([5, 3, 4, 9]) == "3–5, 9"
