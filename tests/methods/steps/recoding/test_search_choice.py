"""Lattices too large to decide: the search ends by itself, says so, and says how far off it can
be.
"""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import Unsatisfiable
from sfumato.methods.hierarchies import TableHierarchy
from sfumato.methods.models import KAnonymity, LDiversity
from sfumato.methods.steps import GlobalRecoding, LocalRecoding
from sfumato.methods.steps.recoding import search_choice
from tests.random_tables import tables

BITS = TableHierarchy(
    [tuple(f"{i:05b}"[: 5 - level] + "*" * level for level in range(6)) for i in range(32)]
)


def wide(columns, rows=40):
    """So many columns with five levels above their values."""
    draw = np.random.default_rng(1)
    frame = pl.DataFrame(
        {f"c{a:02}": [f"{v:05b}" for v in draw.integers(0, 32, rows)] for a in range(columns)}
    )
    return (
        Table(frame)
        .with_roles(quasi=frame.columns)
        .with_hierarchies(**dict.fromkeys(frame.columns, BITS))
    )


@pytest.fixture
def short(monkeypatch):
    """A short search beyond reach."""
    monkeypatch.setattr(search_choice, "EFFORT", 300)


STEPS = {
    "global": GlobalRecoding(),
    "local": LocalRecoding(),
    "local, columns dropped": LocalRecoding(suppress="attribute"),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_thirty_columns_of_five_levels_end_by_themselves(short, step):
    table, told = wide(30), []
    goal = Goal((KAnonymity(3),), progress=lambda share, words="": told.append((share, words)))
    plan = step.plan(table, goal)
    assert told[0] == (0.0, "counting the classes")
    assert all(words for _, words in told)
    assert sf.judge(step.apply(table, plan), [KAnonymity(3)])[0]
    if step.suppress != "attribute":  # dropping columns may leave a lattice within reach
        assert "too many to decide" in told[1][1] and len(told) > 50
        (warning,) = plan.warnings
        assert (
            "2.21e+23 nodes" in warning
            and "the gap is" in warning
            and "of 300 evaluated nodes" in warning
        )
        assert plan.describe()["warning"] == warning


def test_the_gap_is_between_a_proved_bound_and_what_was_found(short):
    plan = GlobalRecoding().plan(wide(30), Goal((KAnonymity(3),)))
    effort = plan.effort()
    assert (effort["algorithm"], effort["nodes_looked_at"], effort["stopped_by"]) == (
        "anytime",
        300,
        "effort",
    )
    assert effort["gap"] == pytest.approx(plan.score - effort["lower_bound"])
    assert 0 < effort["lower_bound"] < plan.score


def test_the_same_table_gives_the_same_plan_in_any_order(short):
    table = wide(30)
    one, other = (
        GlobalRecoding().plan(rows, Goal((KAnonymity(3),)))
        for rows in (table, table.take(np.arange(len(table))[::-1]))
    )
    assert (one.levels, one.score, one.warnings) == (other.levels, other.score, other.warnings)


@given(tables(most_rows=16), st.integers(1, 4))
def test_within_reach_nothing_changes(table, k):
    goal = Goal((KAnonymity(k),))
    try:
        expected = GlobalRecoding(algorithm="optimal").plan(table.dataset(), goal)
    except Unsatisfiable:
        with pytest.raises(Unsatisfiable):
            GlobalRecoding().plan(table.dataset(), goal)
        return
    found = GlobalRecoding().plan(table.dataset(), goal)
    assert (found.describe(), found.effort()) == (expected.describe(), expected.effort())
    assert not found.warnings


@given(tables(most_rows=16), st.integers(1, 4))
def test_what_is_proved_beyond_reach_is_the_optimum_without_a_warning(table, k):
    goal = Goal((KAnonymity(k),))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(search_choice, "REACH", 0)
        try:
            found = GlobalRecoding().plan(table.dataset(), goal)
        except Unsatisfiable:
            return
        exact = GlobalRecoding(algorithm="optimal").plan(table.dataset(), goal)
    assert exact.algorithm == "optimal" and "stopped_by" not in exact.effort()
    assert found.algorithm == "anytime" and not found.warnings
    assert (found.levels, found.score) == (exact.levels, exact.score)


def test_objectives_that_need_minimal_nodes_are_decided(monkeypatch):
    monkeypatch.setattr(search_choice, "REACH", 0)
    plan = GlobalRecoding(objective="minimum_suppression").plan(wide(2), Goal((KAnonymity(3),)))
    assert plan.algorithm == "optimal" and not plan.warnings


def test_the_warning_stands_wherever_the_release_is_told(short, tmp_path):
    table = (
        wide(30).with_columns({"ill": pl.Series(["flu", "gout"] * 20)}).with_roles(sensitive="ill")
    )
    release = sf.anonymize(
        table, [KAnonymity(3), LDiversity("ill", l=2)], [GlobalRecoding()], seed=1
    )
    (warning,) = release.warnings
    assert "too many to decide" in warning and warning in str(release)
    folder = release.write(tmp_path / "out")
    certificate = json.loads((folder / "share" / "certificate.json").read_text())
    assert certificate["plan"][0]["warning"] == warning
    start = warning[:60]
    assert start in (folder / "owner" / "report.html").read_text()
    assert start in (folder / "share" / "report.html").read_text()
