"""The tasks behind the stage Look, against the release itself."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.blocks import ChartBlock, FoldBlock, ListBlock, VerdictBlock
from sfumato.core.words import count_of
from sfumato.errors import ParameterError
from sfumato.interfaces.web.data_process import Bench, task_function
from sfumato.release.evaluation import report_metrics
from tests.interfaces.web.people import JOB, RECIPE, people, written


def quiet(share: float, words: str = "") -> None:
    """Nobody is told."""


def do(bench: Bench, task: str, **given: Any) -> Any:
    return task_function(task)(bench, quiet, **given)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A bench that made a release of version 4."""
    table, _ = written(tmp_path_factory.mktemp("people"))
    made = Bench()
    do(made, "open_data", path=str(table), example=None, options={})
    do(
        made,
        "make",
        recipe=recipes.parse(RECIPE.replace("0.05", "0.5, levels: {age: [2, 2], zip: [3, 3]}")),
        key="4",
    )
    return made


def test_what_is_told_first(bench: Bench) -> None:
    release = bench.recall("release 4")
    told = do(bench, "look", of=4)
    assert do(bench, "made_versions") == [4]
    verdict, records = told["blocks"][:2]
    assert verdict.title == release.headline.text and verdict.holds
    assert records.text == f"{release.told_records}."
    assert told["shown"] == ["age", "sex", "zip", JOB, "illness"]
    with pytest.raises(ParameterError, match="version 5 no longer exists"):
        do(bench, "look", of=5)


def test_rows_are_joined_to_the_rows_they_came_from(bench: Bench) -> None:
    release, original = bench.recall("release 4"), people()
    page = do(bench, "look_rows", of=4, first=40, count=20, which="all")
    assert (
        page["total"] == 400
        and page["columns"] == ["age", "sex", "zip", JOB, "illness"]
        and len(page["rows"]) == 20
    )
    place = {int(row): at for at, row in enumerate(release.pair.rows.tolist())}
    frame = release.released.to_polars()
    for one in page["rows"]:
        was = original.row(one["row"], named=True)
        assert one["before"] == {name: str(was[name]) for name in page["columns"]}
        now = None if one["row"] not in place else frame.row(place[one["row"]], named=True)
        assert one["after"] == (
            None if now is None else {name: str(now[name]) for name in page["columns"]}
        )


def test_rows_can_be_those_that_are_gone_changed_or_alone(bench: Bench) -> None:
    release = bench.recall("release 4")
    gone = do(bench, "look_rows", of=4, first=0, count=100, which="suppressed")
    assert gone["total"] == release.suppressed > 0 and all(
        one["after"] is None for one in gone["rows"]
    )
    changed = do(bench, "look_rows", of=4, first=0, count=100, which="changed")
    assert all(one["before"] != one["after"] for one in changed["rows"])
    assert (
        do(bench, "look_rows", of=4, first=0, count=1, which="alone")["total"]
        == release.before.unique_records
    )
    with pytest.raises(ParameterError, match="not rows that can be shown"):
        do(bench, "look_rows", of=4, first=0, count=1, which="friends")
    assert (
        do(bench, "look_rows", of=4, first=390, count=1000, which="all")["rows"][-1]["row"] == 399
    )


def test_why_a_record_is_risky(bench: Bench) -> None:
    release = bench.recall("release 4")
    frame, quasi = people(), ["age", "sex", "zip", JOB]
    for row in (0, 17):
        told = do(bench, "why_risky", of=4, row=row)
        sets = tuple(map(" + ".join, sf.why_alone(release.original, row)))
        named = [block.entries for block in told if isinstance(block, ListBlock)]
        assert named == ([sets] if sets else [])
        same = np.all(
            [np.array(frame[name].to_list()) == frame[name][row] for name in quasi], axis=0
        )
        counts = told[1].text
        assert f": {count_of(int(same.sum()) - 1, 'other record')} before;" in counts
        place = np.flatnonzero(release.pair.rows == row)
        if len(place):
            shared = release.released.to_polars()
            like = np.all(
                [np.array(shared[n].to_list()) == shared[n][int(place[0])] for n in quasi], axis=0
            )
            assert like.sum() >= 5
            assert counts.endswith(f"; {like.sum() - 1:,} after.")
        else:
            assert counts.endswith("; nothing of it is released.")


def chart_in(blocks: list[Any], place: int = 0) -> ChartBlock:
    """A chart among blocks."""
    return [block for block in blocks if isinstance(block, ChartBlock)][place]


def values_of(chart: ChartBlock) -> dict[str, list[float]]:
    """The numbers of a chart by series."""
    return {one.name: [float(point.y or 0) for point in one.points] for one in chart.series}


def test_columns_and_pairs_are_shares_of_the_records(bench: Bench) -> None:
    frame = people()
    for card in do(bench, "look_columns", of=4, names=["sex", "illness"]):
        name, chart = card[0].text, chart_in(card)
        values = values_of(chart)
        shares = [(frame[name] == bin_name).mean() for bin_name in chart.x.names]
        assert values["before"] == pytest.approx(shares)
        assert sum(values["after"]) == pytest.approx(1)
    blocks = do(bench, "look_pair", of=4, first="sex", second="illness")
    for place, part in enumerate(("before", "after")):
        chart = chart_in(blocks, place)
        (series,) = chart.series
        assert series.name == part and sum(p.size for p in series.points) == pytest.approx(1)
        for point in series.points if part == "before" else ():
            sex, illness = chart.x.names[int(point.x)], chart.y.names[int(point.y or 0)]
            share = ((frame["sex"] == sex) & (frame["illness"] == illness)).mean()
            assert point.size == pytest.approx(share)


def test_classes_by_size_hold_all_records(bench: Bench) -> None:
    release = bench.recall("release 4")
    blocks = do(bench, "look_classes", of=4)
    chart = chart_in(blocks)
    values = values_of(chart)
    assert sum(values["before"]) == 400 and sum(values["after"]) == release.released.records
    assert sum(values["after"][:3]) == 0, "nobody belongs to a class below 5"
    small = sum(size * count for size, count in release.after.class_sizes.items() if 5 <= size < 10)
    assert chart.x.names[3] == "5–9" and values["after"][3] == small
    assert f"{release.after.smallest_class} after" in blocks[0].text


def test_the_contract_says_what_holds_and_what_happened_to_columns(bench: Bench) -> None:
    release = bench.recall("release 4")
    blocks = do(bench, "look_contract", of=4)
    assert [block for block in blocks if isinstance(block, VerdictBlock)] == [
        verdict.verdict_block for verdict in release.verdicts
    ]
    assert [row[0] for row in blocks[-1].rows] == [change.name for change in release.columns]


def test_what_nobody_tried_is_unknown_and_what_was_tried_is_kept(bench: Bench) -> None:
    verdict, people_who_try = do(bench, "look_attacks", of=4)
    assert verdict.holds is None and "Unknown is not a pass" in verdict.title
    assert [row[0] for row in people_who_try.rows][:2] == ["prosecutor", "journalist"]
    release = bench.recall("release 4")
    after = do(bench, "attack", of=4, seconds=1.0)
    try:
        report = bench.recall("release 4").attacks
        assert after == list(report.blocks()) == do(bench, "look_attacks", of=4)
        assert "attack" in do(bench, "look", of=4)["blocks"][0].title
    finally:
        bench.keep("release 4", release)


def test_utility_is_what_evaluate_says(bench: Bench) -> None:
    blocks = do(bench, "measure", of=4, thorough=False)
    release = bench.recall("release 4")
    evaluation = release.evaluate(report_metrics(release.pair))
    assert list(evaluation.blocks()) == blocks[:-1] and isinstance(blocks[-1], FoldBlock)


def test_reports_are_those_that_would_be_written_and_nothing_stays(
    bench: Bench, tmp_path: Path
) -> None:
    public, owner = do(bench, "draft_reports", of=4, folder=str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    assert "stays with the owner" in owner and "stays with the owner" not in public
    assert "<script" not in public + owner and "onerror=alert" not in public
    assert "<img" not in owner


def test_rows_that_are_nobodys_have_no_original_beside_them(tmp_path: Path) -> None:
    table, _ = written(tmp_path, 80)
    bench = Bench()
    do(bench, "open_data", path=str(table), example=None, options={})
    drawn = dataclasses.replace(
        recipes.parse(RECIPE),
        meet=(),
        steps=(registry.build("steps", "synthesize"),),
        limits={"recognised_members": 1},  # too few people to tell
    )
    do(bench, "make", recipe=drawn, key="1")
    page = do(bench, "look_rows", of=1, first=0, count=5, which="all")
    assert not page["aligned"] and page["rows"][0]["before"] is None
    assert "synthetic" in do(bench, "look_classes", of=1)[-1].text


def test_a_column_with_nothing_left_is_not_drawn_as_bars(tmp_path: Path) -> None:
    """At its highest level every cell stands for every value: no bar, no false peak."""
    table, _ = written(tmp_path)
    made = Bench()
    do(made, "open_data", path=str(table), example=None, options={})
    levels = "0.5, levels: {age: [0, 0], sex: [1, 1], zip: [4, 4]}"
    text = RECIPE.replace("k: 5", "k: 1").replace("0.05", levels)
    do(made, "make", recipe=recipes.parse(text), key="1")
    age, sex, zips = do(made, "look_columns", of=1, names=["age", "sex", "zip"])
    assert any(isinstance(block, ChartBlock) for block in age)
    for card in (sex, zips):
        assert not any(isinstance(block, ChartBlock) for block in card)
        assert "fully suppressed" in str(card)
