"""Tables of figures of a release, against what they mean, counted naively."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.core import recipe_files as recipes
from sfumato.core.blocks import TableBlock
from sfumato.core.words import number
from sfumato.interfaces.api import read
from sfumato.interfaces.web.data_process import Bench
from sfumato.interfaces.web.tasks.look_figures import uniqueness
from tests.interfaces.web.people import RECIPE, written
from tests.interfaces.web.tasks.test_look import do


@pytest.mark.parametrize("seed", range(6))
def test_uniqueness_and_separation_are_those_of_the_definition(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    count = int(draw.integers(1, 30))
    columns = {name: draw.choice(["a", "b", "c", None], count).tolist() for name in "xyz"}
    frame = pl.DataFrame(columns, schema=dict.fromkeys("xyz", pl.String))
    table = read(frame)
    for names in (("x",), ("x", "y"), ("x", "y", "z")):
        records = frame.select(names).rows()
        sizes = Counter(records)
        pairs = list(itertools.combinations(records, 2))
        unique = sum(1 for record in records if sizes[record] == 1) / count
        differing = sum(1 for one, other in pairs if one != other)
        expected = unique, differing / len(pairs) if pairs else 0.0
        assert uniqueness(table, names) == pytest.approx(expected)


def test_figures_of_a_release(tmp_path: Path) -> None:
    table, _ = written(tmp_path, rows=200)
    bench = Bench()
    do(bench, "open_data", path=str(table), example=None, options={})
    do(bench, "make", recipe=recipes.parse(RECIPE), key="1")
    combinations = do(bench, "look_combinations", of=1)[-1]
    assert isinstance(combinations, TableBlock)
    whole, *others = combinations.rows
    assert str(whole[0]).count(" + ") == 3 and whole[3].value == 0, "all are in classes of 5"
    assert len(others) == 4 + 6
    shares = [row[1].value for row in others]
    assert shares == sorted(shares, reverse=True)
    summary = do(bench, "look_summary", of=1)[-1]
    age = next(row for row in summary.rows if row[0] == "age")
    frame = pl.read_csv(table)
    assert age[1:5] == ("before", frame["age"].n_unique(), 0, number(frame["age"].mean()))
    assert not [row for row in summary.rows if row[0] == "name"], "dropped"
