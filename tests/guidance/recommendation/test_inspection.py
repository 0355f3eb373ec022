"""What a recommendation looks at: the table, what its columns are, and the rows that candidates are
tried on."""

from __future__ import annotations

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.guidance.recommendation.answers import ContextAnswers
from sfumato.guidance.recommendation.inspection import drawn_from, looked_at, table_of


def test_a_decision_for_quasi_brings_a_hierarchy():
    frame = pl.DataFrame(
        {"code": [f"{i % 7}{i % 3}" for i in range(60)], "age": list(range(20, 80))}
    )
    looked = looked_at(
        table_of(frame), ContextAnswers(decide={"code": "quasi", "age": "quasi+sensitive"}), None
    )
    assert looked.recipe.schema["code"].hierarchy is not None
    assert looked.recipe.schema.sensitive == ("age",)


def test_a_sample_holds_whole_persons_and_no_order():
    visits = sf.examples.visits(rows=900)
    drawn = drawn_from(visits, 300)
    assert 0 < len(drawn) <= 300
    sizes = dict(visits.to_polars().group_by("patient").len().rows())
    assert all(
        count == sizes[patient]
        for patient, count in drawn.to_polars().group_by("patient").len().rows()
    )
    again = drawn_from(visits.take(np.arange(len(visits))[::-1].copy()), 300)
    assert again.to_polars().sort(drawn.columns).equals(drawn.to_polars().sort(drawn.columns))
    assert len(drawn_from(sf.examples.hospital(rows=500), 200)) == 200
