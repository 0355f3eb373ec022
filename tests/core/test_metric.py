"""Measures: what is printed and stored of a number, and parts that are computed on demand."""

from __future__ import annotations

import numpy as np

from sfumato.core.metric import Measure, Metric


def test_parts_are_computed_once_and_only_when_somebody_asks():
    calls = []

    def parts():
        calls.append(1)
        return np.array([0.0, 1.0])

    measure = Measure("loss", 0.5, "lower", "mean loss of a cell", parts=parts)
    assert not calls
    assert measure.per_record.tolist() == [0.0, 1.0]
    assert measure.per_record.tolist() == [0.0, 1.0]
    assert len(calls) == 1
    assert Measure("loss", 0.5, "lower", "…").per_record is None


def test_a_stored_measure_has_nothing_per_record():
    measure = Measure(
        "loss", 0.5, "lower", "mean loss", raw=3.0, per_column={"age": 0.5}, parts=np.ones(4)
    )
    assert measure.to_dict() == {
        "name": "loss",
        "value": 0.5,
        "better": "lower",
        "meaning": "mean loss",
        "interval": None,
        "raw": 3.0,
        "per_column": {"age": 0.5},
    }
    # The interval is there even where there is none; the others only where they say something.
    plain = Measure("loss", 0.5, "lower", "mean loss").to_dict()
    assert set(plain) == {"name", "value", "better", "meaning", "interval"}


def test_a_printed_measure_lists_its_columns_and_interval():
    measure = Measure(
        "loss", 0.5, "lower", "mean loss", interval=(0.25, 0.75), per_column={"age": 0.125}
    )
    text = str(measure)
    assert "lower is better" in text
    assert "0.25 to 0.75" in text
    assert "age" in text and "0.125" in text


def test_a_metric_is_named_by_its_class_and_described_by_its_docstring():
    class RowsLeft(Metric):
        """Share of records that are still there.

        More text that no table shows.
        """

        name = "rows_left"

    class OwnWords(Metric):
        """Anything."""

        name, title, line = "own_words", "Own words", "said by itself"

    assert (RowsLeft.title, RowsLeft.line) == ("Rows left", "Share of records that are still there")
    assert (OwnWords.title, OwnWords.line) == ("Own words", "said by itself")
