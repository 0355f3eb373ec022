"""What was read, made and measured once in the workbench is not read, made or measured again."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

import polars as pl
import pytest

from sfumato.core import recipe_files as recipes
from sfumato.core.blocks import TableBlock, VerdictBlock
from sfumato.core.words import score
from sfumato.interfaces import api
from sfumato.interfaces.web.data_process import Bench
from sfumato.interfaces.web.requests import WriteRequest
from sfumato.interfaces.web.tasks import data, write
from sfumato.release import alternatives, replay
from sfumato.release.evaluation import default_metrics, evaluate, report_metrics
from sfumato.release.replay import MADE_HERE
from sfumato.release.verification import HELD
from tests.interfaces.web.people import RECIPE, written
from tests.interfaces.web.tasks.test_look import do

RECODED = RECIPE.replace("0.05", "0.5, levels: {age: [2, 2], zip: [3, 3]}")
ROWS = "rows are the recoded original"


@pytest.fixture
def calls(monkeypatch) -> Counter[str]:
    """How often what is dear was done: reading, making, looking for alternatives, and each metric
    by its name.
    """
    counts: Counter[str] = Counter()

    def count(place, name, label):
        plain = getattr(place, name)

        def counted(*given, **options):
            counts[label] += 1
            return plain(*given, **options)

        monkeypatch.setattr(place, name, counted)

    for place in (api, replay, write):
        count(place, "make_release", "make")
    count(data, "read", "read")
    count(alternatives, "alternatives_of", "alternatives")
    for metric in default_metrics():
        count(type(metric), "measure", metric.name)
    return counts


def rows_of(blocks):
    """The measures that blocks list, each with its value."""
    return next(block for block in blocks if isinstance(block, TableBlock)).rows


@pytest.fixture
def bench(tmp_path, calls) -> Bench:
    """A bench with an open table and the release of version 1."""
    table, _ = written(tmp_path)
    opened = Bench()
    do(opened, "open_data", path=str(table), example=None, options={})
    do(opened, "make", recipe=recipes.parse(RECODED), key="1")
    return opened


def test_run_measure_report_and_write_do_everything_once(bench, calls, tmp_path):
    quick = do(bench, "measure", of=1, thorough=False)
    do(bench, "draft_reports", of=1, folder=str(tmp_path))
    do(bench, "attack", of=1, seconds=0.5)  # the release is another one, with what was found
    told = do(bench, "write", key="1", history="", request=WriteRequest(str(tmp_path / "out")))
    again = do(bench, "measure", of=1, thorough=False)
    thorough = do(bench, "measure", of=1, thorough=True)
    assert told["holds"] and quick == again
    assert calls["make"] == calls["read"] == calls["alternatives"] == 1
    measured = {metric.name for metric in report_metrics(bench.recall("release 1").pair)}
    assert all(calls[name] <= 1 for name in calls)
    assert sum(calls[name] for name in measured) == len(rows_of(quick))
    assert set(rows_of(quick)) <= set(rows_of(thorough))


def test_write_alone_measures_what_the_workbench_shows_afterwards(bench, calls, tmp_path):
    do(bench, "write", key="1", history="", request=WriteRequest(str(tmp_path / "out")))
    before = calls.copy()
    shown = do(bench, "measure", of=1, thorough=False)
    assert calls == before
    certificate = json.loads(
        (tmp_path / "out" / "share" / "certificate.json").read_text(encoding="utf-8")
    )
    assert sorted(score(value) for value in certificate["utility"].values()) == sorted(
        row[1] for row in rows_of(shown)
    )


def test_measures_are_those_of_a_fresh_evaluation(bench):
    do(bench, "measure", of=1, thorough=False)
    release = bench.recall("release 1")
    fresh = evaluate(release.pair, report_metrics(release.pair), per_record=False)
    shown = do(bench, "measure", of=1, thorough=False)
    assert rows_of(shown) == rows_of(fresh.blocks())


def test_another_version_is_measured_anew(bench, calls):
    do(bench, "measure", of=1, thorough=False)
    do(bench, "make", recipe=recipes.parse(RECODED.replace("age: [2, 2]", "age: [3, 3]")), key="2")
    first, second = (do(bench, "measure", of=version, thorough=False) for version in (1, 2))
    assert calls["make"] == calls["loss"] == 2
    assert first != second


def test_releases_that_share_a_table_do_not_share_what_was_worked_out(bench):
    """The same released table in another run: what is remembered of the one is not told of the
    other.
    """
    release = bench.recall("release 1")
    other = dataclasses.replace(release, recipe=dataclasses.replace(release.recipe))
    assert release.once("words", lambda: "of the first") == "of the first"
    assert release.once("words", lambda: "again") == "of the first"
    assert other.once("words", lambda: "of the other") == "of the other"
    assert dataclasses.replace(other, attacks=None).once("words", lambda: "again") == "of the other"


def claims_of(folder, table, **options):
    found = api.verify(
        folder / "share", original=api.read(table), owner=folder / "owner", **options
    )
    return {claim.name: (claim.status, claim.detail) for claim in found.claims}


def test_what_was_made_here_is_compared_with_the_file_and_said_so(bench, calls, tmp_path):
    folder = tmp_path / "out"
    told = do(bench, "write", key="1", history="", request=WriteRequest(str(folder)))
    verdicts = [block for block in told["blocks"] if isinstance(block, VerdictBlock)]
    claims = {block.title: block for block in verdicts if not block.headline}
    assert claims[ROWS] == VerdictBlock(True, ROWS, MADE_HERE)
    assert calls["make"] == 1
    elsewhere = claims_of(folder, bench.data)
    assert calls["make"] == 2
    assert elsewhere[ROWS] == ("holds", "produced again from recipe and seed, row for row")
    assert {name: block.holds for name, block in claims.items()} == {
        name: HELD[status] for name, (status, _) in elsewhere.items()
    }


def test_a_file_with_other_rows_is_found_out_without_making_it_again(bench, calls, tmp_path):
    """The rows of the file count, not that a release is at hand."""
    folder = tmp_path / "out"
    do(bench, "write", key="1", history="", request=WriteRequest(str(folder)))
    file = folder / "share" / "data.csv"
    text = file.read_text(encoding="utf-8")
    assert ",none\n" in text
    file.write_text(text.replace(",none\n", ",cancer\n", 1), encoding="utf-8")
    claims = claims_of(folder, bench.data, release=bench.recall("release 1"))
    assert claims[ROWS][0] == "fails"
    assert calls["make"] == 1


@pytest.mark.parametrize("other", ["seed", "recipe", "original"])
def test_another_release_vouches_for_nothing(bench, calls, tmp_path, other):
    """A release of another recipe, seed or table is not taken for the one that was written: it is
    made again.
    """
    folder = tmp_path / "out"
    do(bench, "write", key="1", history="", request=WriteRequest(str(folder)))
    table = bench.data
    if other == "original":
        longer = pl.concat([table.to_polars(), table.to_polars().head(1)])
        longer.write_csv(tmp_path / "longer.csv")
        do(bench, "open_data", path=str(tmp_path / "longer.csv"), example=None, options={})
    recipe = RECODED.replace("age: [2, 2]", "age: [3, 3]") if other == "recipe" else RECODED
    do(bench, "make", recipe=recipes.parse(recipe), key="2")
    before = calls["make"]
    claims = claims_of(folder, table, release=bench.recall("release 2"))
    assert calls["make"] == before + 1
    assert claims[ROWS] == ("holds", "produced again from recipe and seed, row for row")
