"""Draws that are keyed by what a record says: the same in any order, frame and pieces; distributed
as they should be.
"""

from __future__ import annotations

import datetime
import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import kernels
from sfumato.core.randomness import (
    Keyed,
    Marks,
    Numbering,
    Repeats,
    Seed,
    marked,
    numbered,
    row_keys,
)
from sfumato.core.table import Table

WORDS = st.integers(0, 2**64 - 1)
CELLS = st.tuples(
    st.one_of(st.none(), st.sampled_from(["", "a", "b", "ä"])),
    st.one_of(st.none(), st.integers(-(2**53), 2**53)),
    st.one_of(
        st.none(),
        st.just(math.nan),
        st.just(-0.0),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    st.one_of(st.none(), st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))),
    st.one_of(st.none(), st.booleans()),
)
SCHEMA = {
    "text": pl.String,
    "whole": pl.Int64,
    "number": pl.Float64,
    "day": pl.Date,
    "flag": pl.Boolean,
}


def frame_of(rows: list[tuple]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@given(st.integers(0, 2**128 - 1), st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5), WORDS)
def test_words_are_those_of_numpy(key: int, pairs: list[tuple[int, int]], number: int) -> None:
    keys, numbers = (np.array(column, dtype=np.uint64) for column in zip(*pairs, strict=True))
    found = Keyed(key).words(Marks.of_keys(keys, numbers), number)
    halves = np.array([key % 2**64, key >> 64], dtype=np.uint64)
    assert (
        found.tolist()
        == kernels.philox.draw_words(halves, keys, numbers, np.uint64(number)).tolist()
    )
    for (first, second), word in zip(pairs, found.tolist(), strict=True):
        counter = first + (second << 64) + (number << 128)
        generator = np.random.Philox(
            key=key, counter=(counter - 1) % 2**256
        )  # it counts on before it draws
        assert word == int(generator.random_raw(1)[0])


@given(st.lists(CELLS, min_size=1, max_size=12))
def test_row_keys_do_not_depend_on_frames_or_pieces(rows: list[tuple]) -> None:
    frame = frame_of(rows)
    found = row_keys(Table(frame)).tolist()
    assert row_keys(Table(frame.to_arrow())).tolist() == found
    assert row_keys(Table(frame.to_pandas())).tolist() == found
    assert row_keys(Table(frame.select(reversed(frame.columns)))).tolist() == found
    assert [int(row_keys(Table(frame[i : i + 1]))[0]) for i in range(len(rows))] == found


def test_what_is_equal_has_one_key_and_what_differs_another() -> None:
    same = [
        (pl.Series([1, 0, None]), pl.Series([1.0, -0.0, math.nan])),
        (pl.Series(["a", None]), pl.Series(["a", None], dtype=pl.Categorical)),
        (
            pl.Series([datetime.date(2020, 1, 2)]),
            pl.Series([datetime.datetime(2020, 1, 2)], dtype=pl.Datetime("ns")),
        ),
        (pl.Series([datetime.date(2020, 1, 2)]), pl.Series(["2020-01-02"])),
        (pl.Series([datetime.datetime(2020, 1, 2, 3)]), pl.Series(["2020-01-02T03:00:00.000000"])),
        (pl.Series([3], dtype=pl.Int8), pl.Series([3], dtype=pl.UInt64)),
        (pl.Series([2.5], dtype=pl.Float32), pl.Series([2.5], dtype=pl.Float64)),
    ]
    for one, other in same:
        assert np.array_equal(*(row_keys(Table(pl.DataFrame({"a": c}))) for c in (one, other)))
    different = pl.Series([0.5, 1.0, 1.5, -1.0, 2.0**63, 2.0**70, 1e-300, None])
    assert len(set(row_keys(Table(pl.DataFrame({"a": different}))).tolist())) == len(different)
    swapped = row_keys(Table(pl.DataFrame({"a": ["x", "y"], "b": ["y", "x"]})))
    assert swapped[0] != swapped[1]


def test_encoded_text_has_the_keys_of_the_text() -> None:
    frame = pl.DataFrame({"a": ["x", "y", None, "x"]})
    known = Table(frame)
    known.encoded("a")
    assert row_keys(known).tolist() == row_keys(Table(frame)).tolist()


@given(st.lists(st.integers(0, 3), max_size=30))
def test_numbers_among_equals(keys: list[int]) -> None:
    found = numbered(np.array(keys, dtype=np.uint64)).tolist()
    assert found == [keys[:i].count(key) for i, key in enumerate(keys)]


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=40),
    st.lists(st.integers(1, 10), min_size=1, max_size=10),
)
def test_marks_of_pieces_are_those_of_the_table(values: list[int], cuts: list[int]) -> None:
    table = Table(pl.DataFrame({"a": values}))
    ends = np.minimum(np.cumsum([0, *cuts, len(values)]), len(values)).tolist()
    pieces = [table.take(np.arange(a, b)) for a, b in itertools.pairwise(ends) if a < b]
    repeats = Repeats(len(values))
    for piece in pieces:
        repeats.see(piece)
    numbering = Numbering(repeats.learnt())
    found = [Marks.of(numbering.marked(piece)) for piece in pieces]
    pairs = sorted(
        (k, n) for m in found for k, n in zip(m.keys.tolist(), m.numbers.tolist(), strict=True)
    )
    whole = Marks.of(table)
    assert pairs == sorted(zip(whole.keys.tolist(), whole.numbers.tolist(), strict=True))


def test_many_rows_with_few_equals() -> None:
    random = np.random.default_rng(1)
    table = Table(pl.DataFrame({"a": random.integers(0, 100_000, 50_000)}))
    repeats = Repeats(50_000)
    pieces = [table.take(np.arange(a, a + 5000)) for a in range(0, 50_000, 5000)]
    for piece in pieces:
        repeats.see(piece)
    keys, counts = np.unique(row_keys(table), return_counts=True)
    assert set(keys[counts > 1].tolist()) <= set(repeats.learnt().tolist())
    assert len(repeats.learnt()) < (counts > 1).sum() + 5000


def test_marks_go_along_with_their_rows() -> None:
    table = marked(Table(pl.DataFrame({"a": [1, 2, 2, 3], "b": list("wxyz")})))
    some = table.drop(["b"]).with_columns({"a": pl.Series([0, 0, 0, 0])}).take(np.array([3, 1]))
    assert Marks.of(some).keys.tolist() == Marks.of(table).keys[[3, 1]].tolist()
    assert Marks.of(some.with_marks(None)).numbers.tolist() == [0, 1]


def test_draws_are_uniform_and_normal() -> None:
    """Kolmogorov's distance stays below 1.95/√n, which 99.9 % of samples do; the seed is fixed."""
    from scipy.special import ndtr

    count = 40_000
    marks = Marks.of_keys(
        np.arange(count, dtype=np.uint64), np.zeros(count, dtype=np.uint64)
    )  # neighbours as keys
    for purpose in ("a", "b"):
        draws = Seed(7).keyed(purpose)
        for sample in (draws.uniforms(marks), ndtr(draws.normals(marks, 1))):
            points = np.arange(1, count + 1) / count
            assert np.abs(np.sort(sample) - points).max() < 1.95 / math.sqrt(count)
            assert sample.min() >= 0 and sample.max() < 1
    assert np.isfinite(Seed(7).keyed("c").normals(marks)).all()


def test_purposes_records_copies_and_draws_are_independent() -> None:
    count = 40_000
    keys = np.random.default_rng(2).integers(0, 2**63, count).astype(np.uint64)
    first, second = (Marks.of_keys(keys, np.full(count, n, dtype=np.uint64)) for n in (0, 1))
    draws = Seed(3).keyed("a")
    samples = [draws.uniforms(first), draws.uniforms(second), draws.uniforms(first, 1)]
    samples += [Seed(3).keyed("b").uniforms(first), Seed(4).keyed("a").uniforms(first)]
    correlations = np.corrcoef(samples) - np.eye(len(samples))
    assert np.abs(correlations).max() < 4 / math.sqrt(count)
    assert abs(np.corrcoef(samples[0][:-1], samples[0][1:])[0, 1]) < 4 / math.sqrt(count)


@pytest.mark.parametrize("rows", [0, 1])
def test_small_tables(rows: int) -> None:
    table = Table(pl.DataFrame({"a": pl.Series([1] * rows, dtype=pl.Int64)}))
    assert len(Seed(1).keyed("a").uniforms(Marks.of(table))) == rows
