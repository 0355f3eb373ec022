"""Columns of every kind as points whose squared distances add up."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.core.schema import Schema
from sfumato.core.table import Table
from sfumato.errors import SchemaError
from sfumato.methods.steps import Microaggregate
from tests.methods.steps.microaggregation.test_microaggregation import GOAL, MIXED, table


def test_values_under_one_node_are_nearer_than_others():
    # flu and cold differ on one of two levels: squared distance 1/2; flu and ulcer on both: 1
    frame = pl.DataFrame({"illness": ["flu", "cold", "ulcer", "gastritis"]})
    ill = Table(frame, Schema({"illness": MIXED["illness"]}))
    plan = Microaggregate(["illness"], 2).plan(ill, GOAL)
    assert plan.columns["illness"].to_list() == ["lung", "lung", "stomach", "stomach"]
    # SSE: two groups with pairs at 1/2 each: 2 · 1/4; SST: pairs of all four: (2 · 1/2 + 4 · 1)/4
    assert plan.owner["sse_over_sst"] == pytest.approx(0.5 / 1.25)


def test_categories_without_end_are_refused():
    with pytest.raises(SchemaError, match="too many different values"):
        Microaggregate(["a"], 2).plan(table(a=[f"v{i}" for i in range(2100)]), GOAL)
