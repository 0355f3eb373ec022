"""Regions of a table: which classes are released together, and the recoding that follows."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.evidence import gather, judge_all
from sfumato.core.schema import Kind
from sfumato.core.step import Goal
from sfumato.methods.models import KAnonymity
from sfumato.methods.steps.local.mondrian import Mondrian, plan_mondrian
from tests.methods.steps.local.test_mondrian_cuts import released_rows
from tests.methods.steps.mixed_tables import check_release, mixed_tables


def test_cells_are_written_by_kind():
    frame = pl.DataFrame(
        {
            "age": [20, 21, 40, 41],
            "gain": [-1.5, 2.0, 7.0, 7.5],
            "grade": ["low", "mid", "high", "top"],
            "day": (
                pl.Series(["2024-01-05", "2024-02-01", "2024-03-01", "2024-03-09"]).str.to_date()
            ),
            "team": ["A", "B", "C", "C"],
        }
    )
    people = sf.read(frame).with_roles(quasi=frame.columns)
    schema = people.schema.replace("grade", kind="ordinal", order=("low", "mid", "high", "top"))
    people = people.with_schema(schema)
    plan = plan_mondrian(people, Goal((KAnonymity(2),)))
    released, rows = released_rows(people, plan)
    # tenths of the interquartile ranges: 19.5/10, 6/10 and 48.5 days/10
    assert (
        rows[0] == rows[1] == ("20-21", "[-2, 3)", "low..mid", "2024-01-01..2024-02-04", "{A, B}")
    )
    assert rows[2] == rows[3] == ("40-41", "[7, 8)", "high..top", "2024-02-26..2024-03-10", "C")
    assert released.schema["age"].kind is Kind.ORDINAL
    assert plan.losses["team"].tolist() == [0.5, 0.0] or plan.losses["team"].tolist() == [0.0, 0.5]


@given(
    table=mixed_tables(most_rows=30),
    k=st.integers(1, 4),
    mode=st.sampled_from(["strict", "relaxed"]),
    budget=st.sampled_from([0.0, 0.1, 0.5]),
)
def test_released_cells_cover_their_values_and_lose_what_the_plan_says(table, k, mode, budget):
    if len(table.secrets) < k:
        return
    people, step = table.dataset(), Mondrian(mode=mode, budget=budget)
    plan = step.plan(people, Goal((KAnonymity(k),)))
    released = step.apply(people, plan)
    _, gone = check_release(table, plan, released)
    assert len(gone) <= budget * len(people) + 1e-9
    assert all(judge_all(gather(released, [KAnonymity(k)], original=people), [KAnonymity(k)]))
    if budget:
        assert plan.score <= plan_mondrian(people, Goal((KAnonymity(k),)), mode=mode).score + 1e-12
