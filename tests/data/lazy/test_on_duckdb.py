"""What DuckDB relations do for us: count, and give rows in batches."""

from __future__ import annotations

import pytest

from sfumato.data.lazy import on_duckdb
from tests.data.lazy.test_choice import little_memory  # noqa: F401 - a fixture


def test_an_engine_without_memory_says_so() -> None:
    duckdb = pytest.importorskip("duckdb")
    with pytest.raises(MemoryError), on_duckdb.guarded():
        raise duckdb.OutOfMemoryException("a value of somebody")
