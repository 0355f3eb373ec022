"""The table that is microaggregated: rows in canonical order, columns as points, strata and gaps as
parts."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import SchemaError
from sfumato.methods.steps import Microaggregate
from tests.methods.steps.microaggregation.test_microaggregation import GOAL, table


def test_strata_by_role_are_taken_when_nothing_is_said():
    frame = pl.DataFrame({"a": [1.0, 1.1, 9, 9.1], "s": ["x", "y", "x", "y"]})
    schema = Schema({"a": Attribute((Role.KEEP,), Kind.NUMERIC), "s": Attribute((Role.STRATUM,))})
    plan = Microaggregate(["a"], 2).plan(Table(frame, schema), GOAL)
    assert plan.columns["a"].to_list() == pytest.approx([5, 5.1, 5, 5.1])


@pytest.mark.parametrize(
    ("columns", "options", "told"),
    [
        ({"a": []}, {}, "no rows"),
        ({"b": [1, 2]}, {}, "no column 'a'"),
        ({"a": [1]}, {}, "k = 2 needs as many"),
        ({"a": [1, 2], "s": ["x", "y"]}, {"within": ["s"]}, "2 of 2 strata"),
        ({"a": [1, 2, None]}, {}, "1 record.s. lack a value in a"),
        ({"a": [None, None]}, {"missing": "leave"}, "every record lacks"),
        ({"a": ["p", "q"]}, {"method": "z_score_sum"}, "cannot"),
        ({"a": [1.0, float("inf")]}, {}, "infinite"),
        ({"a": [1, 2], "s": ["x", "y"]}, {"method": "single_axis", "axis": "s"}, "can be ordered"),
        ({"a": [1, 2, 3, None]}, {"missing": "pattern"}, "1 of 2 strata"),
    ],
)
def test_tables_that_do_not_fit_are_refused(columns, options, told):
    with pytest.raises(SchemaError, match=told):
        Microaggregate(["a"], 2, **options).plan(table(**columns), GOAL)


def test_missing_values_are_grouped_by_pattern_or_left():
    gaps = table(a=[1.0, 2, 3, 4, None, None], b=[1.0, 2, 3, 4, 10, 20])
    by_pattern = Microaggregate(["a", "b"], 2, missing="pattern").plan(gaps, GOAL)
    assert by_pattern.columns["a"].to_list() == [1.5, 1.5, 3.5, 3.5, None, None]
    assert by_pattern.columns["b"].to_list() == [1.5, 1.5, 3.5, 3.5, 15, 15]
    left = Microaggregate(["a", "b"], 2, missing="leave").plan(gaps, GOAL)
    assert left.columns["b"].to_list() == [1.5, 1.5, 3.5, 3.5, 10, 20]
    assert any("2 record(s) with missing values" in w for w in left.warnings)
