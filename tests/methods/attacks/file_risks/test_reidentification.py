"""Risks that follow from class sizes, against their definitions record by record."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.classes import count_classes
from sfumato.core.evidence import wildcard_frequencies
from sfumato.core.model import ClassEvidence
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import ParameterError
from sfumato.methods.attacks.file_risks.reidentification import (
    JournalistRisk,
    MarketerRisk,
    ProsecutorRisk,
    ShareAtRisk,
    UniqueRecords,
)
from tests.oracles import definitions as oracle
from tests.random_tables import tables


def evidence_of(dataset, weight=None):
    classes = count_classes(dataset, weight=weight)
    return ClassEvidence(
        classes, dataset.schema, wildcard=wildcard_frequencies(classes, dataset.schema)
    )


def expected(frequencies, threshold):
    n = len(frequencies)
    return {
        ProsecutorRisk(): max((1 / f for f in frequencies), default=0),
        JournalistRisk(): max((1 / f for f in frequencies), default=0),
        MarketerRisk(): sum(1 / f for f in frequencies) / n if n else 0,
        ShareAtRisk(threshold): sum(1 / f > threshold + 1e-12 for f in frequencies) / n if n else 0,
        UniqueRecords(): sum(f == 1 for f in frequencies) / n if n else 0,
    }


@given(
    table=tables(fewest_rows=0, most_rows=20),
    threshold=st.sampled_from([0.05, 0.2, 1 / 3, 0.5, 1.0]),
)
def test_risks_against_their_definitions(table, threshold):
    sizes = oracle.class_sizes(table.rows)
    for metric, value in expected([sizes[row] for row in table.rows], threshold).items():
        measure = metric.measure(evidence_of(table.dataset()))
        assert measure.value == pytest.approx(value)
        assert measure.better == "lower"
        assert measure.name == metric.name


@pytest.mark.slow
@given(table=tables(most_rows=15))
def test_risks_where_missing_values_match_everything(table):
    dataset = Table(table.frame(), table.schema(missing="wildcard"))
    frequencies = oracle.compatible_rows(table.rows, [True] * len(table.names))
    for metric, value in expected(frequencies, 0.3).items():
        assert metric.measure(evidence_of(dataset)).value == pytest.approx(value)


@given(data=st.data(), table=tables())
def test_the_journalist_looks_at_the_population(data, table):
    weights = [data.draw(st.sampled_from([0.0, 0.25, 1.0, 7.5])) for _ in table.rows]
    frame = table.frame().with_columns(pl.Series("w", weights))
    dataset = Table(frame, Schema({**table.schema().attributes, "w": Attribute((Role.WEIGHT,))}))
    totals = {}
    for row, weight in zip(table.rows, weights, strict=True):
        totals[row] = totals.get(row, 0) + weight
    measure = JournalistRisk().measure(evidence_of(dataset, weight="w"))
    assert measure.value == pytest.approx(max(1 / max(1, total) for total in totals.values()))
    assert "estimated by the weights" in measure.meaning


def test_a_class_of_five_is_not_above_one_fifth():
    frame = pl.DataFrame({"a": ["x"] * 5 + ["y"] * 4})
    dataset = Table(frame, Schema({"a": Attribute((Role.QUASI,))}))
    assert ShareAtRisk(0.2).measure(evidence_of(dataset)).value == pytest.approx(4 / 9)


@pytest.mark.parametrize("threshold", [0, -0.1, 1.1, float("nan"), True])
def test_thresholds_are_shares(threshold):
    with pytest.raises(ParameterError):
        ShareAtRisk(threshold)
