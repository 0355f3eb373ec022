"""What lazy polars frames do for us: count, and give rows in batches."""

from __future__ import annotations

from collections import Counter

import narwhals as nw
import polars as pl
import pytest

from sfumato.data.lazy import on_polars
from sfumato.data.lazy.table import unheard


@pytest.mark.parametrize("rows", [0, 1, 50])
def test_polars_counts_batch_by_batch(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_polars, "BATCH", 7)
    frame = pl.DataFrame({"a": ["x", None] * 25, "b": list(range(50)), "c": [0.5] * 50}).head(rows)
    found = on_polars.counted(nw.from_native(frame.lazy()).lazy(), ["a", "b", "c"], 100, unheard)
    assert found is not None
    assert Counter({row[:-1]: row[-1] for row in found.rows()}) == Counter(frame.rows())
