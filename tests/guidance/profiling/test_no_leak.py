"""No value of the table reaches the proposal, its reasons, its repr or the recipe."""

from __future__ import annotations

import dataclasses
import datetime
import json
import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.source import Source
from sfumato.guidance.profiling.columns import look_at
from sfumato.guidance.profiling.proposal import propose
from sfumato.guidance.profiling.yaml_text import recipe_text

DRAW = random.Random(8)
N = 60


def sentinels() -> pl.DataFrame:
    """Every kind of column, with values that occur nowhere else."""
    return pl.DataFrame(
        {
            "name": [f"Zzyzx{i}" for i in range(N)],
            "email": [f"zzyzx{i}@leak.example" for i in range(N)],
            "phone": [f"+49 30 9018{70000 + i}" for i in range(N)],
            "remarks": [
                f"zzyzx was seen in leakville on day {70000 + i} with pain" for i in range(N)
            ],
            "age": [70001 + i for i in range(N)],
            "height": [70001.25 + i for i in range(N)],
            "zip": [f"7{i:04d}" for i in range(70, 70 + N)],
            "region": [f"leakville-{i % 9}" for i in range(N)],
            "birth": [datetime.date(1777, 1, 1) + datetime.timedelta(days=i) for i in range(N)],
            "visit_date": [f"{1 + i % 28:02d}.07.1777" for i in range(N)],
            "group": ["70010-70019", "70020-70029", "<70010", ">=70090"] * (N // 4),
            "masked": ["zzy**", "leak*"] * (N // 2),
            "edu": ["low", "zzyzxlevel", "leaklevel", "high"] * (N // 4),
            "diagnosis": [f"leakitis {i % 7}" for i in range(N)],
            "income": [7000000001 + 13 * i for i in range(N)],
            "code": [f"zzyzx-{i}" for i in range(N)],
            "flag": [True, False] * (N // 2),
            "constant": ["zzyzx"] * N,
            "weight": [70000.5 + i for i in range(N)],
            "hhid": [f"leakhouse{i // 3}" for i in range(N)],
        }
    )


def forbidden(frame: pl.DataFrame) -> set[str]:
    """Texts of all cells that are long enough to be told from our own words."""
    cells = {str(value) for name in frame.columns for value in frame.get_column(name).to_list()}
    ours = {"True", "False", "low", "high"}
    return {cell for cell in cells - ours if len(cell) >= 3} | {"zzyzx", "leak", "7000", "1777"}


def everything_said(frame: pl.DataFrame) -> str:
    proposal = propose(frame, Source(name="visits.csv"))
    plain = json.dumps(dataclasses.asdict(proposal), default=str)
    looked = " ".join(repr(look_at(name, frame.get_column(name))) for name in frame.columns)
    return "\n".join([recipe_text(proposal), repr(proposal), plain, looked])


def test_no_sentinel_is_said():
    frame = sentinels()
    said = everything_said(frame).lower()
    assert [cell for cell in forbidden(frame) if cell.lower() in said] == []


@pytest.mark.parametrize("copies", [1, 40])
def test_no_sentinel_is_said_however_often_it_occurs(copies):
    frame = sentinels()
    frame = pl.concat([frame] * copies).drop(
        "group"
    )  # limits of open ends that many share are no one's value
    said = everything_said(frame).lower()
    assert [cell for cell in forbidden(frame) if cell.lower() in said] == []


def test_limits_of_open_ends_are_written_only_when_many_share_them():
    labels = ["20-29", "30-39", "40-49"] * 20
    few = pl.DataFrame({"age": [*labels, ">=7770"]})
    many = pl.DataFrame({"age": [*labels, *[">=80"] * 10]})
    assert "7770" not in recipe_text(propose(few, Source()))
    assert "open_above: 80" in recipe_text(propose(many, Source()))


words = st.text(
    st.characters(categories=["Lu", "Ll"], max_codepoint=0x2FF), min_size=6, max_size=12
)


@given(
    st.lists(words, min_size=1, max_size=30),
    st.sampled_from(["job", "city", "x", "diagnosis", "education", "sex", "name"]),
)
def test_no_label_of_a_random_column_is_said(labels, name):
    marked = [f"q{label}q" for label in labels]
    said = everything_said(pl.DataFrame({name: marked}))
    assert [label for label in marked if label in said] == []
