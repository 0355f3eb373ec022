"""Text as numbers while rows wait or are counted: nothing is lost, and no number shows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import narwhals as nw
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.dataset import Dataset
from sfumato.engines import on_polars
from sfumato.engines.codes import Coder, tallied
from sfumato.engines.table import unheard

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
    parts = [tallied(coder.coded(Dataset(b)), columns, "n") for b in in_batches(frame, size)]  # type: ignore[arg-type]
    found = coder.decoded(tallied(coder.together(parts), columns, "n"), columns) if parts else pl.DataFrame()
    assert Counter({row[:-1]: row[-1] for row in found.rows()}) == Counter(frame.rows())
    assert not parts or found.schema == {**frame.schema, "n": pl.Int64}


@given(tables(), st.integers(1, 20), st.integers(1, 5))
@settings(deadline=None)
def test_coded_rows_come_back_and_hash_as_their_content_does(frame: pl.DataFrame, size: int, most: int) -> None:
    few, none = Coder(most), Coder(0)
    batches = [(few.coded(Dataset(b)), none.coded(Dataset(b))) for b in in_batches(frame, size)]  # type: ignore[arg-type]
    for coded, plain in batches:
        assert few.hashes(coded, 7).to_list() == none.hashes(plain, 7).to_list()
    if batches:
        assert few.decoded(few.together([coded for coded, _ in batches])).equals(frame)


def test_labels_that_hardly_repeat_stay_text() -> None:
    coder = Coder()
    rows = Dataset(pl.DataFrame({"name": [str(i) for i in range(100)], "sex": ["f", "m"] * 50}))  # type: ignore[arg-type]
    assert coder.coded(rows).schema == {"name": pl.String, "sex": pl.UInt8}


@pytest.mark.parametrize("rows", [0, 1, 50])
def test_polars_counts_batch_by_batch(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_polars, "BATCH", 7)
    frame = pl.DataFrame({"a": ["x", None] * 25, "b": list(range(50)), "c": [0.5] * 50}).head(rows)
    found = on_polars.counted(nw.from_native(frame.lazy()).lazy(), ["a", "b", "c"], 100, unheard)
    assert found is not None
    assert Counter({row[:-1]: row[-1] for row in found.rows()}) == Counter(frame.rows())
