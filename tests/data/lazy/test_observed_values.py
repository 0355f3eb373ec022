"""What is learnt of rows as they go by depends on the rows alone, and is what a look at the whole
table would tell.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.encoding import encode
from sfumato.core.free_text import is_free_text
from sfumato.data.lazy.observed_values import Fingerprint, SampledRows, Texts, hashes

KEY = 12345


def table(rows: int, values: int, seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    text = [None if v == 0 else f"v{v}" for v in draw.integers(0, values, rows)]
    return pl.DataFrame(
        {"text": text, "*": draw.integers(0, values, rows), "x": draw.integers(0, 3, rows) / 2}
    )


def in_pieces(frame: pl.DataFrame, cuts: list[int], see: Callable[[pl.DataFrame], None]) -> None:
    bounds = sorted({0, frame.height, *(cut % (frame.height + 1) for cut in cuts)})
    for low, high in itertools.pairwise(bounds):
        see(frame[low:high])


def drawn(frame: pl.DataFrame, cuts: list[int], size: int) -> pl.DataFrame:
    sample = SampledRows(size, KEY)
    in_pieces(frame, cuts, sample.see)
    return sample.taken()


@given(
    st.integers(1, 60),
    st.integers(1, 9),
    st.integers(1, 30),
    st.lists(st.integers(0, 99), max_size=5),
    st.integers(0, 9),
)
def test_a_sample_does_not_depend_on_pieces_or_order(
    rows: int, values: int, size: int, cuts: list[int], seed: int
) -> None:
    frame = table(rows, values, seed)
    one = drawn(frame, [], size)
    other = drawn(frame[np.random.default_rng(seed).permutation(rows)], cuts, size)
    assert one.equals(other)
    assert one.columns == frame.columns
    if rows <= size:
        assert one.select(pl.all().sort()).equals(frame.select(pl.all().sort()))


@given(st.integers(1, 80), st.integers(1, 6), st.integers(1, 20), st.integers(0, 9))
def test_a_sample_holds_the_rows_of_lowest_hash_as_often_as_they_deserve(
    rows: int, values: int, size: int, seed: int
) -> None:
    frame = table(rows, values, seed)
    marked = (
        frame.with_columns(hashes(frame, KEY).alias("hash"))
        .group_by("hash")
        .len()
        .sort("hash")
        .head(size)
    )
    total, taken = int(marked["len"].sum()), drawn(frame, [], size)
    found = taken.with_columns(hashes(taken, KEY).alias("hash")).group_by("hash").len()
    counts = dict(found.rows())
    for mark, copies in marked.rows():
        share = copies * min(1.0, size / total)
        assert np.floor(share) <= counts.pop(mark, 0) <= np.ceil(share)
    assert not counts


def test_a_sample_of_a_table_with_few_different_rows_is_neither_empty_nor_all_of_it() -> None:
    frame = pl.DataFrame({"a": [1] * 9000 + [2] * 1000})
    taken = drawn(frame, [3000, 7000], 100)
    assert taken["a"].value_counts(sort=True)["count"].to_list() in (
        [90, 10],
        [91, 10],
        [90, 11],
        [91, 11],
    )


@pytest.mark.parametrize("words", [1, 4, 7])
@pytest.mark.parametrize("distinct", [40, 250, 500, 1000])
def test_free_text_is_told_as_from_the_whole_column(words: int, distinct: int) -> None:
    texts = pl.Series(
        "t",
        [" ".join([f"word{i % distinct}", *["more"] * (words - 1)]) for i in range(1000)]
        + [None] * 50,
    )
    for most in (50, 10_000):
        seen = Texts(["t"], KEY, most)
        in_pieces(texts.to_frame(), [100, 555], seen.see)
        assert (seen.free() == ["t"]) == is_free_text(texts)


def test_categories_and_numbers_are_looked_at_as_what_they_are() -> None:
    text = [f"came in late with a broken arm number {i}" for i in range(60)]
    frame = pl.DataFrame(
        {
            "c": pl.Series(text, dtype=pl.Categorical),
            "e": pl.Series(text, dtype=pl.Enum(text)),
            "n": range(60),
        }
    )
    seen = Texts(["c", "e", "n"], KEY)
    seen.see(frame)
    assert seen.free() == ["c", "e"]


@given(st.integers(1, 40), st.lists(st.integers(0, 99), max_size=4), st.integers(0, 9))
def test_fingerprints_are_of_the_rows_in_any_order(rows: int, cuts: list[int], seed: int) -> None:
    frame = table(rows, 4, seed)

    def of(frame: pl.DataFrame, cuts: list[int]) -> str:
        found = Fingerprint(frame.columns, (1, 2))
        in_pieces(frame, cuts, found.see)
        return found.text

    assert of(frame, []) == of(frame[np.random.default_rng(seed).permutation(rows)], cuts)
    counted = frame.rename({"*": "n"}).group_by("text", "n", "x").len().rename({"n": "*"})
    by_counts = Fingerprint(frame.columns, (1, 2))
    by_counts.see(counted.drop("len"), counted["len"].to_numpy().astype(np.int64))
    assert by_counts.text == of(frame, [])
    changed = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(99).otherwise(pl.col("x")).alias("x")
    )
    assert of(changed, cuts) != of(frame, cuts)
    assert of(pl.concat([frame, frame[:1]]), []) != of(frame, [])


def test_minus_zero_width_and_categories_make_no_difference() -> None:
    one = pl.DataFrame({"x": [0.0, 1.5], "n": pl.Series([1, 2], dtype=pl.Int8), "c": ["a", "b"]})
    other = pl.DataFrame(
        {"x": [-0.0, 1.5], "n": [1, 2], "c": pl.Series(["a", "b"], dtype=pl.Categorical)}
    )
    assert hashes(one, KEY).equals(hashes(other, KEY))


@given(
    st.lists(st.none() | st.sampled_from(["one", "two", "three"]), min_size=1, max_size=30),
    st.integers(1, 10),
)
def test_texts_are_seen_by_their_labels_as_cell_by_cell(cells: list[str | None], size: int) -> None:
    by_cell, by_label = Texts(["t"], KEY, max_texts=2), Texts(["t"], KEY, max_texts=2)
    frame = pl.DataFrame({"t": cells}, schema={"t": pl.String})
    for start in range(0, frame.height, size):
        piece = frame.slice(start, size)
        by_cell.see(piece)
        by_label.see(piece, {"t": encode(piece["t"])})
    assert by_label.cells == by_cell.cells
    assert by_label.kept["t"].equals(by_cell.kept["t"])
