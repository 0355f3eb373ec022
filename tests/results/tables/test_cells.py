"""Cells of a table: who contributes to each, and how much; margins by the levels of hierarchies."""

from __future__ import annotations

from sfumato.results.tables.cells import apart
from tests.results.tables.test_changed_cells import state  # noqa: F401 - a fixture


def test_names_that_come_again_get_a_number_of_their_own():
    assert apart(["Total", "Total", "Total (2)", "a", "a"]) == (
        "Total",
        "Total (3)",
        "Total (2)",
        "a",
        "a (2)",
    )
