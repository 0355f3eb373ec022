"""Risks of a release, against what they mean, counted naively."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from sfumato.core import recipe_files as recipes
from sfumato.core.blocks import ChartBlock, TableBlock
from sfumato.errors import ParameterError
from sfumato.interfaces.web.data_process import Bench
from sfumato.interfaces.web.tasks.risk_figures import RISKS, records_by_risk
from sfumato.methods.formulas.uniqueness import population_uniques
from tests.interfaces.web.people import RECIPE, written
from tests.interfaces.web.tasks.test_look import do

KNOWN = ("age", "sex", "zip", 'job <b>"x"</b>')


@pytest.mark.parametrize("seed", range(20))
def test_records_lie_in_the_interval_of_their_risk(seed: int) -> None:
    draw = np.random.default_rng(seed)
    sizes = Counter(draw.integers(1, 150, int(draw.integers(1, 60))).tolist())
    expected = [0] * len(RISKS)
    for size, count in sizes.items():
        # as whole numbers: 1/size is above a/b where b is above a times size
        ends = [(1, 100), (1, 50), (1, 20), (1, 10), (1, 5), (1, 3), (1, 2), (1, 1)]
        place = next(at for at, (a, b) in enumerate(ends) if b <= a * size)
        expected[place] += size * count
    assert records_by_risk(sizes) == expected


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    table, _ = written(tmp_path_factory.mktemp("people"))
    bench = Bench()
    do(bench, "open_data", path=str(table), example=None, options={})
    do(bench, "make", recipe=recipes.parse(RECIPE), key="1")
    return bench


def tables(blocks: list[Any]) -> list[TableBlock]:
    return [block for block in blocks if isinstance(block, TableBlock)]


def sizes_of(table: Any) -> dict[tuple[Any, ...], int]:
    frame = table.to_polars()
    return Counter(frame.select([name for name in KNOWN if name in frame.columns]).rows())


@pytest.mark.parametrize("threshold", [0.05, 0.1, 0.2, 1 / 3, 1.0])
def test_attackers_against_a_threshold(made: Bench, threshold: float) -> None:
    release = made.recall("release 1")
    attackers, counts, *_ = tables(do(made, "look_risks", of=1, threshold=threshold))
    for column, table in ((3, release.original), (4, release.released)):
        sizes = sizes_of(table)
        records = sum(sizes.values())
        highest = 1 / min(sizes.values())
        figures = {row[0]: row[column].value for row in attackers.rows}
        assert figures["prosecutor"] == figures["journalist"] == pytest.approx(highest)
        assert figures["marketer"] == pytest.approx(len(sizes) / records)
        above = sum(size for size in sizes.values() if 1 / size > threshold + 1e-9)
        unique = sum(1 for size in sizes.values() if size == 1)
        assert counts.rows[0][column - 2].value == pytest.approx(above / records)
        assert counts.rows[1][column - 2].value == pytest.approx(unique / records)
    for row in attackers.rows:
        assert str(row[5]).startswith("above") == (row[4].value > threshold + 1e-9)


def test_the_population_is_estimated_only_where_its_share_is_said(made: Bench) -> None:
    before = list(sizes_of(made.recall("release 1").original).values())
    blocks = do(made, "look_risks", of=1)
    assert isinstance(blocks[1], ChartBlock) and len(tables(blocks)) == 3
    *_, population, _ = tables(do(made, "look_risks", of=1, fraction=0.1))
    expected = population_uniques(before, 0.1)
    assert population.rows[0][1:3] == (round(expected.number), expected.population)
    *_, population, _ = tables(do(made, "look_risks", of=1, fraction=1.0))
    assert population.rows[0][1] == sum(1 for size in before if size == 1)


def test_what_happened_to_identifiers_is_said(made: Bench) -> None:
    rows = {row[0]: row[2] for row in tables(do(made, "look_risks", of=1))[-1].rows}
    assert len(rows) == 18 and "name: dropped" in str(rows["A"]) and "zip:" in str(rows["B"])
    assert rows["O"] == "none recognised"


@pytest.mark.parametrize(
    "wrong", [{"threshold": 0.0}, {"threshold": 1.1}, {"fraction": 0.0}, {"fraction": float("nan")}]
)
def test_shares_that_are_none_are_refused(made: Bench, wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="is a share above 0 %"):
        do(made, "look_risks", of=1, **wrong)
