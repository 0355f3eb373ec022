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
from sfumato.errors import ParameterError
from sfumato.interfaces.web.data_process import Bench, found
from sfumato.release.evaluation import report_metrics
from tests.interfaces.web.people import JOB, RECIPE, people, written


def quiet(share: float, words: str = "") -> None:
    """Nobody is told."""


def do(bench: Bench, task: str, **given: Any) -> Any:
    return found(task)(bench, quiet, **given)


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
    release = bench.kept("release 4")
    told = do(bench, "look", of=4)
    assert do(bench, "made_versions") == [4]
    assert told["headline"] == release.headline.text and told["state"] == "holds"
    assert told["records"] == 400 and told["released"] == release.released.records
    assert told["shown"] == ["age", "sex", "zip", JOB, "illness"]
    with pytest.raises(ParameterError, match="version 5 is not there any more"):
        do(bench, "look", of=5)


def test_rows_are_joined_to_the_rows_they_came_from(bench: Bench) -> None:
    release, original = bench.kept("release 4"), people()
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
    release = bench.kept("release 4")
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
    with pytest.raises(ParameterError, match="no rows that can be asked for"):
        do(bench, "look_rows", of=4, first=0, count=1, which="friends")
    assert (
        do(bench, "look_rows", of=4, first=390, count=1000, which="all")["rows"][-1]["row"] == 399
    )


def test_why_a_record_is_risky(bench: Bench) -> None:
    release = bench.kept("release 4")
    frame, quasi = people(), ["age", "sex", "zip", JOB]
    for row in (0, 17):
        told = do(bench, "why_risky", of=4, row=row)
        assert (
            told["sets"] == [list(one) for one in sf.why_alone(release.original, row)]
            and told["most"] == 4
        )
        same = np.all(
            [np.array(frame[name].to_list()) == frame[name][row] for name in quasi], axis=0
        )
        assert told["before"] == int(same.sum())
        place = np.flatnonzero(release.pair.rows == row)
        if len(place):
            shared = release.released.to_polars()
            like = np.all(
                [np.array(shared[n].to_list()) == shared[n][int(place[0])] for n in quasi], axis=0
            )
            assert told["after"] == int(like.sum()) >= 5
        else:
            assert told["after"] is None


def test_columns_and_pairs_are_shares_of_the_records(bench: Bench) -> None:
    cards = do(bench, "look_columns", of=4, names=["sex", "illness"])
    frame = people()
    for card in cards:
        shares = {name: (frame[card["column"]] == name).mean() for name in card["bins"]}
        assert card["before"] == pytest.approx([shares[name] for name in card["bins"]])
        assert sum(card["after"]) == pytest.approx(1)
    pair = do(bench, "look_pair", of=4, one="sex", other="illness")
    both = [
        [((frame["sex"] == a) & (frame["illness"] == b)).mean() for b in pair["names"][1]]
        for a in pair["names"][0]
    ]
    assert np.allclose(pair["before"], both) and np.sum(pair["after"]) == pytest.approx(1)


def test_classes_by_size_hold_all_records(bench: Bench) -> None:
    release = bench.kept("release 4")
    told = do(bench, "look_classes", of=4)
    assert sum(told["before"]) == 400 and sum(told["after"]) == release.released.records
    assert sum(told["after"][:3]) == 0, "nobody stands in a class below 5"
    small = sum(size * count for size, count in release.after.class_sizes.items() if 5 <= size < 10)
    assert told["bins"][3] == "5–9" and told["after"][3] == small
    assert told["figures"]["after"]["smallest"] == release.after.smallest_class


def test_what_nobody_tried_is_unknown_and_what_was_tried_is_kept(bench: Bench) -> None:
    before = do(bench, "look_attacks", of=4)
    assert before["tried"] is None and [one["name"] for one in before["who"]][:2] == [
        "prosecutor",
        "journalist",
    ]
    release = bench.kept("release 4")
    after = do(bench, "attack", of=4, seconds=1.0)
    try:
        report = bench.kept("release 4").attacks
        assert len(after["tried"]) == len(report.tried) and len(after["unknown"]) == len(
            report.unknown
        )
        assert {one["verdict"] for one in after["tried"]} <= {
            "Beyond the usual 20 %",
            "not beyond the usual 20 %",
        }
        assert do(bench, "look_attacks", of=4) == after
        assert "attack" in do(bench, "look", of=4)["headline"]
    finally:
        bench.keep("release 4", release)


def test_worth_is_what_evaluate_says(bench: Bench) -> None:
    told = do(bench, "worth", of=4, thorough=False)
    release = bench.kept("release 4")
    wanted = release.evaluate(report_metrics(release.pair))
    assert sorted(one["value"] for one in told["measures"]) == pytest.approx(
        sorted(m.value for m in wanted.measures)
    )
    assert len(told["skipped"]) == len(wanted.skipped)


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
    told = do(bench, "look", of=1)
    page = do(bench, "look_rows", of=1, first=0, count=5, which="all")
    assert told["drawn"] and not page["aligned"] and page["rows"][0]["before"] is None
