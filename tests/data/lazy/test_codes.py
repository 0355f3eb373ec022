"""Text as numbers while rows wait or are counted: nothing is lost, and no number shows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.table import Table
from sfumato.data.lazy.codes import Coder, tallied

CELLS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "text": (pl.String, st.none() | st.sampled_from(["", "a", "b", "ä", "-"])),
    "small": (pl.Int16, st.none() | st.integers(-3, 3)),
    "wide": (pl.Int64, st.none() | st.sampled_from([-(2**63), 0, 2**63 - 1])),
    "yes": (pl.Boolean, st.none() | st.booleans()),
    "number": (pl.Float64, st.none() | st.sampled_from([0.5, 1e300])),
}


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    names = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, unique=True))
    rows = draw(st.integers(0, 40))
    cells = {n: draw(st.lists(CELLS[n][1], min_size=rows, max_size=rows)) for n in names}
    return pl.DataFrame(cells, schema={n: CELLS[n][0] for n in names})


def in_batches(frame: pl.DataFrame, size: int) -> list[pl.DataFrame]:
    return [frame.slice(start, size) for start in range(0, frame.height, size)]


@given(tables(), st.integers(1, 20), st.integers(1, 5))
@settings(deadline=None)
def test_batches_are_counted_as_rows_are(frame: pl.DataFrame, size: int, most: int) -> None:
    coder, columns = Coder(most), frame.columns
    parts = [tallied(coder.coded(Table(b)), columns, "n") for b in in_batches(frame, size)]  # type: ignore[arg-type]
    found = (
        coder.decoded(tallied(coder.together(parts), columns, "n"), columns)
        if parts
        else pl.DataFrame()
    )
    assert Counter({row[:-1]: row[-1] for row in found.rows()}) == Counter(frame.rows())
    assert not parts or found.schema == {**frame.schema, "n": pl.Int64}


@given(tables(), st.integers(1, 20), st.integers(1, 5))
@settings(deadline=None)
def test_coded_rows_come_back_and_hash_as_their_content_does(
    frame: pl.DataFrame, size: int, most: int
) -> None:
    few, none = Coder(most), Coder(0)
    batches = [(few.coded(Table(b)), none.coded(Table(b))) for b in in_batches(frame, size)]  # type: ignore[arg-type]
    for coded, plain in batches:
        assert few.hashes(coded, 7).to_list() == none.hashes(plain, 7).to_list()
    if batches:
        assert few.decoded(few.together([coded for coded, _ in batches])).equals(frame)


def test_labels_that_hardly_repeat_stay_text() -> None:
    coder = Coder()
    rows = Table(pl.DataFrame({"name": [str(i) for i in range(100)], "sex": ["f", "m"] * 50}))  # type: ignore[arg-type]
    assert coder.coded(rows).schema == {"name": pl.String, "sex": pl.UInt8}


def test_batches_without_new_labels_are_coded_as_others_are() -> None:
    """The third batch on takes the quick way, the sixth has a label that nobody knew, the eighth a
    missing one.
    """
    batches = [["f", "m"] * 20] * 5 + [
        ["f", "x"] * 20,
        ["m", "x"] * 20,
        ["f", None] * 20,
        ["x", "m"] * 20,
    ]
    coder, frames = Coder(), [pl.DataFrame({"sex": cells}) for cells in batches]
    coded = [coder.coded(Table(frame)) for frame in frames]  # type: ignore[arg-type]
    assert coder.decoded(coder.together(coded)).equals(pl.concat(frames))
    assert all(coder.is_coded(rows["sex"]) for rows in coded)


@pytest.mark.parametrize("missing", [False, True])
def test_many_rows_are_tallied_by_bits_as_by_sorting(
    missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = np.random.default_rng(1).integers(0, 500, (2, 5000))
    frame = pl.DataFrame({"a": numbers[0], "b": numbers[1] - 250})
    frame = (
        frame.with_columns(pl.when(pl.col("a") == 3).then(None).otherwise(pl.col("a")).alias("a"))
        if missing
        else frame
    )
    few = tallied(frame, ["a", "b"], "n")
    monkeypatch.setattr("sfumato.kernels.keys.FEW", 0)
    assert tallied(frame, ["a", "b"], "n").sort("a", "b").equals(few.sort("a", "b"))
