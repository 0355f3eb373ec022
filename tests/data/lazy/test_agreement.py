"""Random tables and recipes are released as in memory, whatever holds the table: a few cases here,
many more by ``make bench BENCH=engines``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.lazy import agreement

FIRST = {"polars": 1000, "duckdb": 2000, "workers": 3000, "lazy": 4000, "sqlite": 5000}
"""Where the cases of an engine begin: each sees other ones."""


@pytest.mark.parametrize("number", range(24))
@pytest.mark.parametrize("engine", FIRST)
def test_an_engine_releases_what_memory_releases(engine: str, number: int, tmp_path: Path) -> None:
    if engine == "duckdb":
        pytest.importorskip(engine)
    assert agreement.disagreement(FIRST[engine] + number, engine, tmp_path) is None


def test_cases_are_of_all_kinds() -> None:
    cases = [agreement.case(number) for number in range(150)]
    types = {dtype.base_type() for case in cases for dtype in case.frame.schema.values()}
    assert len(types) >= 15
    assert {step.name for case in cases for step in case.steps} >= {
        "global_recoding",
        "mondrian",
        "local_recoding",
        "pram",
        "add_noise",
        "sample",
        "top_bottom_coding",
        "recode",
        "round",
        "shift_dates",
    }
