"""Cuts of columns: what ranges are called, what is lost, and how a table is released by them."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.steps.taxonomy.cut import (
    Ground,
    bottommost,
    cells_of_cut,
    children_of,
    cut_recoding,
    group_of_ranks,
    nodes_of,
    recode_columns,
    topmost,
)

TREE = sf.tree(
    {"*": {"virus": ["flu", "HIV"], "injury": ["cut", "burn"], "age": {"old": ["gout"]}}}
)
SCHEMA = Schema(
    {
        "sick": Attribute((Role.QUASI,), hierarchy=TREE),
        "age": Attribute((Role.QUASI,), kind=Kind.NUMERIC),
        "stage": Attribute((Role.QUASI,), kind=Kind.ORDINAL, order=("low", "mid", "high")),
        "town": Attribute((Role.QUASI,)),
        "year": Attribute((Role.QUASI,), kind=Kind.NUMERIC, hierarchy=sf.intervals(5, 10)),
        "pays": Attribute((Role.KEEP,)),
    }
)
ROWS = {
    "sick": ["flu", "HIV", "cut", "burn", "gout", None, "flu", "flu"],
    "age": [31.0, 34.5, -0.0, 38.0, 0.0, 55.0, None, float("nan")],
    "stage": ["low", "high", "mid", "low", "low", "high", "mid", "mid"],
    "town": ["A", "B", "C", "A", "A", "B", "B", "C"],
    "year": [1, 4, 6, 12, 13, 29, 29, 1],
    "pays": ["y", "n"] * 4,
}


def dataset():
    return Table(pl.DataFrame(ROWS), SCHEMA)


def ground(**options):
    return Ground(dataset(), Goal(models=(KAnonymity(1),)), "a step", **options)


def axis(name, **options):
    return next(a for a in ground(**options).axes if a.column == name)


def test_a_hierarchy_is_a_tree_of_ranges():
    sick = axis("sick")
    assert sick.form == "tree"
    assert topmost(sick) == (0,)
    assert bottommost(sick) == (0, 1, 2, 3, 4, 5)
    found = {
        frozenset(sick.labels[low:high]): len(starts) + 1 for low, high, starts in nodes_of(sick)
    }
    # age and old hold nothing but gout: they are the same range and no node of their own
    assert found == {
        frozenset(["flu", "HIV", "cut", "burn", "gout", None]): 4,
        frozenset(["flu", "HIV"]): 2,
        frozenset(["cut", "burn"]): 2,
    }
    assert children_of(sick, 2, 3) == ()
    assert children_of(axis("age"), 0, 3) == ()


def test_ranges_are_called_by_their_node_their_ends_or_their_members():
    sick = axis("sick")
    assert sick.labels == ("gout", "burn", "cut", "HIV", "flu", None)
    assert cells_of_cut(sick, (0, 1, 3, 5)).labels == ("gout", "injury", "virus", None)
    # a range across two nodes has no name in the tree, so the column is written in sets
    assert cells_of_cut(sick, (0, 1, 4, 5)).labels == ("gout", "{burn, cut, HIV}", "flu", None)
    assert set(cells_of_cut(axis("stage"), (0, 2)).labels) == {"low..mid", "high"}
    assert cells_of_cut(axis("town"), (0, 1)).labels == ("A", "{B, C}")
    assert cells_of_cut(axis("year", trees=False), (0, 2)).labels == ("0-4", "5-29")
    assert cells_of_cut(axis("year"), (0,)).labels == ("*",)
    missing_too = cells_of_cut(axis("age"), (0, 2))
    assert missing_too.labels == ("[0, 32)", "*")
    assert missing_too.losses.tolist() == pytest.approx([32 / 55, 1.0])  # the width that is printed


def released(cuts, gone=None, **options):
    field = ground(**options)
    gone = np.zeros(len(field.classes), dtype=bool) if gone is None else gone(field.classes)
    chosen = [cuts.get(a.column, bottommost(a)) for a in field.axes]
    plan = cut_recoding(field.classes, field.axes, chosen, gone, method="by hand", notes={"n": 1})
    return plan, recode_columns(dataset(), plan)


def test_columns_are_released_as_cut_and_the_others_as_they_are():
    plan, after = released({"stage": (0, 2), "year": (0, 2)}, trees=False)
    assert after.column("stage").to_list() == [
        s if s == "high" else "low..mid" for s in ROWS["stage"]
    ]
    assert after.column("year").to_list() == [
        "0-4",
        "0-4",
        "5-29",
        "5-29",
        "5-29",
        "5-29",
        "5-29",
        "0-4",
    ]
    for name in ("sick", "town", "pays"):
        assert after.column(name).to_list() == ROWS[name]
    assert after.schema["stage"].order == ("low..mid", "high")
    assert after.schema["year"].kind is Kind.ORDINAL
    assert after.schema["year"].hierarchy is None  # its intervals do not know 6-29
    assert after.schema["sick"].hierarchy == TREE
    assert plan.changed == ("stage", "year")
    again = Table(after.to_polars(), after.schema)
    assert sf.judge(again, [KAnonymity(1)])[0].holds


def test_what_counts_as_equal_looks_equal():
    _, after = released({})
    ages = after.column("age").to_list()
    assert [math.copysign(1, ages[2]), math.copysign(1, ages[4])] == [1, 1]
    assert ages[6] is None and ages[7] is None


def test_losses_add_up_and_suppressed_records_lose_all():
    none, _ = released({})
    assert none.score == 0.0
    plan, after = released({"town": (0, 1)}, gone=lambda c: c.codes("town") == 0)
    assert plan.suppressed == 3
    assert len(after) == 5
    # five rows with {B, C} of A, B, C lose 1/2 in one of five columns, three rows lose everything
    assert plan.score == pytest.approx((5 * 0.5 + 3 * 5) / (8 * 5))
    assert plan.describe()["suppressed_records"] == 3


def test_a_plan_tells_numbers_and_no_value():
    plan, _ = released({"stage": (0, 2), "sick": (0, 1)})
    told = json.dumps([plan.describe(), plan.effort()])
    assert plan.describe()["columns"]["stage"] == {"values": 3, "released": 2}
    assert plan.effort()["n"] == 1
    for name in ("sick", "town", "stage"):
        assert not any(f'"{value}"' in told for value in ROWS[name])


def test_a_plan_refuses_values_that_are_new():
    plan, _ = released({"town": (0, 1)})
    changed = dataset().with_columns({"town": pl.Series("town", ["D"] * 8)})
    with pytest.raises(SchemaError, match="plan it again"):
        recode_columns(changed, plan)


def test_ranges_of_ranks():
    assert group_of_ranks((0,), 3).tolist() == [0, 0, 0]
    assert group_of_ranks((0, 1, 3), 4).tolist() == [0, 1, 1, 2]


def test_there_must_be_rows_and_a_promise():
    with pytest.raises(ParameterError, match="needs a promise"):
        Ground(dataset(), Goal(), "a step")
    with pytest.raises(SchemaError, match="no rows"):
        Ground(dataset().take(np.arange(0)), Goal(models=(KAnonymity(1),)), "a step")


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ("payss", "Did you mean 'pays'"),
        ("town", "role quasi"),
        ("same", "1 different value"),
        ("many", "300 different value"),
    ],
)
def test_a_class_label_must_be_one(label, told):
    rows = 300
    frame = pl.DataFrame(
        {
            "town": ["A"] * rows,
            "pays": ["y", "n"] * 150,
            "same": ["x"] * rows,
            "many": [str(i) for i in range(rows)],
        }
    )
    schema = Schema(
        {
            "town": Attribute((Role.QUASI,)),
            **{name: Attribute((Role.KEEP,)) for name in ("pays", "same", "many")},
        }
    )
    with pytest.raises(SchemaError, match=told) as refused:
        Ground(Table(frame, schema), Goal(models=(KAnonymity(1),)), "a step", label=label)
    assert "'A'" not in str(refused.value)
