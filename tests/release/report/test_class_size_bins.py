from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from sfumato.release.report.charts import bin_sizes, fill_bins

SIZES = st.dictionaries(st.integers(1, 3_000_000), st.integers(1, 1000), max_size=30)
KS = st.none() | st.integers(1, 5000)


@given(SIZES, KS)
def test_every_record_and_every_class_is_counted_once(sizes, k):
    into = bin_sizes(max(sizes, default=0), k)
    assert sum(fill_bins(into, sizes)) == sum(size * number for size, number in sizes.items())
    assert sum(fill_bins(into, sizes, classes=True)) == sum(sizes.values())


@given(SIZES, KS)
def test_a_record_is_counted_in_the_bin_of_its_class(sizes, k):
    into = bin_sizes(max(sizes, default=0), k)
    expected = [sum(s * n for s, n in sizes.items() if b.low <= s <= b.high) for b in into]
    assert fill_bins(into, sizes) == expected


@given(st.integers(0, 10**9), KS)
def test_bins_join_without_gap_and_reach_the_largest(largest, k):
    into = bin_sizes(largest, k)
    assert into[0].low == 1
    assert all(one.high + 1 == next_one.low for one, next_one in itertools.pairwise(into))
    assert all(b.low <= b.high for b in into)
    assert into[-1].high >= max(largest, k or 1)
    assert into[-1].low <= max(largest, k or 1), "no empty bins after the last class and k"


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_k_is_a_border(largest, k):
    assert k in {b.low for b in bin_sizes(largest, k)}


@given(st.integers(0, 10**9), KS)
def test_few_enough_to_read(largest, k):
    assert len(bin_sizes(largest, k)) <= 20


def test_the_bins_people_expect():
    assert [b.label for b in bin_sizes(1500, 5)] == [
        "1",
        "2",
        "3",
        "4",
        "5–9",
        "10–19",
        "20–49",
        "50–99",
        "100–199",
        "200–499",
        "500–999",
        "1,000–9,999",
    ]


def test_a_round_border_gives_way_to_a_near_k():
    assert [b.label for b in bin_sizes(30, 11)] == ["1", "2", "3", "4", "5–10", "11–19", "20–49"]
    assert [b.label for b in bin_sizes(30, 2)][:3] == ["1", "2", "3"], "but the single sizes stay"
