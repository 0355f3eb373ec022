"""What is proposed for column names and value shapes of real tables."""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import real_columns

LEAST_RIGHT = 0.95
"""Share of all columns that must be proposed for the role they should have; what should be plain
may be asked about.
"""

LEAST = {"drop": (0.98, 0.98), "quasi": (0.93, 0.98), "sensitive": (0.9, 0.95)}
"""Role → precision and recall that are required; columns of which nothing is known are sensitive in
tables about what must not be learned, so that some are too many.
"""

MOST_ASKED = 0.14
"""Share of columns somebody may be asked about: a recipe full of questions is none."""


@functools.cache
def outcomes() -> tuple[tuple[str, str, str, str], ...]:
    return tuple(real_columns.outcomes())


def test_there_are_enough_of_them():
    assert len(outcomes()) >= 400
    assert len({name for _, name, _, _ in outcomes()}) >= 350


def test_no_column_that_finds_people_is_released_as_it_is():
    unsafe = [found for found in outcomes() if real_columns.is_unsafe(found[2], found[3])]
    assert unsafe == []


def test_most_columns_get_the_role_they_should_have():
    right = sum(
        expected == proposed or (expected, proposed) == ("keep", "ask")
        for _, _, expected, proposed in outcomes()
    )
    assert right >= LEAST_RIGHT * len(outcomes())
    asked = sum(proposed == "ask" for _, _, _, proposed in outcomes())
    assert asked <= MOST_ASKED * len(outcomes())


@pytest.mark.parametrize("role", LEAST)
def test_precision_and_recall(role):
    expected = {(t, n) for t, n, e, _ in outcomes() if role in e.split("+")}
    proposed = {(t, n) for t, n, _, p in outcomes() if role in p.split("+")}
    precision, recall = LEAST[role]
    assert len(expected & proposed) >= precision * len(proposed)
    assert len(expected & proposed) >= recall * len(expected)


def test_the_table_can_find_a_danger():
    """Names that a proposal would publish are counted as unsafe."""
    assert real_columns.is_unsafe("drop", "quasi")
    assert real_columns.is_unsafe("quasi+sensitive", "keep")
    assert not real_columns.is_unsafe("drop", "ask")
    assert not real_columns.is_unsafe("keep", "quasi")


def test_the_benchmark_counts_the_same(capsys):
    file = Path(__file__).parents[3] / "benchmarks" / "roles.py"
    spec = importlib.util.spec_from_file_location("roles_benchmark", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.show(
        pl.DataFrame(outcomes(), schema=["table", "column", "expected", "proposed"], orient="row")
    )
    told = capsys.readouterr().out
    assert f"{len(outcomes())} columns" in told
    assert "0 unsafe" in told
