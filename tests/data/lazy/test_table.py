"""A table that an engine holds: described like any other, counted and read by its engine."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.lazy.table import LazyTable
from sfumato.errors import UnreadableInput
from tests.data.lazy.test_choice import (
    little_memory,  # noqa: F401 - a fixture
    recipe,
    table,
)
from tests.data.lazy.test_refusals import (
    STEPS,
    described,
    people,
    small,  # noqa: F401 - a fixture
)


def test_distinct_rows_are_left_to_an_engine(tmp_path: Path) -> None:
    held = sf.read(table(tmp_path, distinct=True), engine="auto", recipe=recipe())
    assert isinstance(held, LazyTable)
    assert "5,000 rows" in held.source.notes[0] and "--engine memory" in held.source.notes[0]


def test_a_query_that_gives_other_rows_the_second_time_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = described(sf.read(people().lazy()))
    others = described(sf.read(people().with_columns(pl.col("age").reverse()).lazy()))
    monkeypatch.setattr(
        LazyTable,
        "batches",
        lambda self, *rest: batches(others if self.frame is table.frame else self, *rest),
    )
    with pytest.raises(UnreadableInput, match="changed while it was being released"):
        sf.anonymize(table, [sf.KAnonymity(3)], STEPS, seed=5)


batches = LazyTable.batches
