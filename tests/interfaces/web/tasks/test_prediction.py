"""What can be learned from a release, for a column that is chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.core import recipe_files as recipes
from sfumato.core.blocks import ChartBlock, Paragraph, TableBlock
from sfumato.errors import ParameterError
from sfumato.interfaces.web.data_process import Bench
from tests.interfaces.web.tasks.test_look import do

RECIPE = """\
sfumato: 1
columns:
  age: {role: quasi, kind: numeric, hierarchy: {intervals: [5, 10, 20]}}
  noise: {role: keep, kind: numeric}
  ill: {role: keep}
  cost: {role: keep, kind: numeric}
meet: [k_anonymity: {k: 5}]
steps: [global_recoding: {budget: 0.0, levels: {age: LEVEL}}]
"""


def made(folder: Path, level: int) -> Bench:
    """Illness and cost follow age; the release has age at a level."""
    draw = np.random.default_rng(3)
    age = draw.integers(0, 100, 900)
    ill = np.where(age + draw.normal(0, 8, 900) > 50, "yes", "no")
    cost = age * 10.0 + draw.normal(0, 400, 900).round(2)
    table = folder / "ill.csv"
    frame = pl.DataFrame({"age": age, "noise": draw.normal(size=900), "ill": ill, "cost": cost})
    frame.write_csv(table)
    bench = Bench()
    do(bench, "open_data", path=str(table), example=None, options={})
    recipe = recipes.parse(RECIPE.replace("LEVEL", f"[{level}, {level}]"))
    do(bench, "make", recipe=recipe, key="1")
    return bench


def found(bench: Bench, target: str) -> tuple[list[TableBlock], list[ChartBlock], str]:
    blocks: list[Any] = do(bench, "look_prediction", of=1, target=target)
    tables = [block for block in blocks if isinstance(block, TableBlock)]
    charts = [block for block in blocks if isinstance(block, ChartBlock)]
    return tables, charts, " ".join(b.text for b in blocks if isinstance(b, Paragraph))


def test_what_is_still_told_is_predicted_and_what_is_suppressed_is_not(tmp_path: Path) -> None:
    areas = {}
    for level in (1, 4):
        (tmp_path / str(level)).mkdir()
        tables, charts, words = found(made(tmp_path / str(level), level), "ill")
        assert "accuracy" in words and len(charts) == 2
        for row in tables[0].rows:
            assert 0.9 < float(row[2]) <= 1
        areas[level] = float(tables[0].rows[0][3])
        for series in charts[0].series:
            assert (series.points[0].x, series.points[0].y) == (0, 0)
            assert (series.points[-1].x, series.points[-1].y) == (1, 1)
            heights = [point.y for point in series.points]
            assert heights == sorted(heights)
    # of age nothing is left at level 4: only cost, which follows it from afar, tells something
    assert areas[1] > 0.9 > areas[4]


def test_numbers_are_regressed(tmp_path: Path) -> None:
    tables, charts, words = found(made(tmp_path, 1), "cost")
    assert not charts and "Not predicted: cost has more than 100" in words
    assert {row[0] for row in tables[0].rows} == {"age", "noise", "ill"}
    assert all(0 <= float(row[1]) <= 1 for row in tables[0].rows)


def test_a_column_that_is_not_released_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="is not released"):
        found(made(tmp_path, 1), "name")
