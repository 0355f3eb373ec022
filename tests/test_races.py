"""Races of benchmarks/: what the table says of a figure, a peer and a wrong result. No time is
asserted here.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def race(monkeypatch):
    """The module as its scripts import it; afterwards nobody else finds modules of such short
    names.
    """
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = dict(sys.modules)
    yield importlib.import_module("race")
    for name in {file.stem for file in BENCHMARKS.glob("*.py")} - set(before):
        sys.modules.pop(name, None)


@pytest.fixture
def held(race):
    """Hold a race in which we take one second, or what is said, and a peer two."""

    def hold(figure=1.0, *, holds=True, ours_aim=None, **options):
        ours = race.Ours(figure, holds, "seen", aim=ours_aim)
        return race.run(
            race.Race("task", "what makes it right", lambda _: ours, **options), race.Options()
        )

    return hold


def test_an_aim_is_met_or_missed(held):
    assert held(aim=1.0).result == "met"
    assert held(aim=0.9).result == "missed"
    assert held().result == "done"
    assert held(aim=0.5, ours_aim=1.5).result == "met"


def test_a_wrong_result_is_lost_however_fast(held):
    assert held(holds=False, aim=9.0).result == "wrong"


def test_a_stored_figure_is_marked_with_its_source(race, held):
    line = held(stored=race.Theirs("ARX", 2.0, "a file"), times=1.0)
    assert (line.result, line.mark, line.source, line.ratio, line.aim) == (
        "met",
        "stored",
        "a file",
        None,
        2.0,
    )
    assert "ARX*" in race.columns(line)
    assert "* stored: a file: task" in race.notes([line])


def test_a_peer_in_the_same_run_goes_before_its_stored_figure(race, held):
    stored = race.Theirs("peer", 9.0, "a file")
    line = held(peer=lambda _: race.Theirs("peer", 2.0), stored=stored)
    assert (line.mark, line.theirs, line.source) == ("same run", 2.0, "")


def test_a_peer_that_is_absent_is_said(race, held):
    def absent(_):
        raise race.Skip("peer is not installed")

    line = held(peer=absent)
    assert (line.mark, line.note, race.columns(line)[1]) == (
        "absent",
        "peer is not installed",
        "absent",
    )
    line = held(peer=absent, stored=race.Theirs("peer", 3.0, "a file"))
    assert (line.mark, line.theirs, line.note) == ("stored", 3.0, "peer is not installed")


def test_results_are_compared_with_a_peer_that_ran_and_only_with_it(race, held):
    def differ(_ours, _theirs):
        return False

    assert held(peer=lambda _: race.Theirs("peer", 2.0), agrees=differ).result == "wrong"
    assert held(stored=race.Theirs("peer", 2.0, "a file"), agrees=differ).result == "done"


def test_a_slow_peer_waits_until_it_is_asked(race, held):
    line = held(
        peer=lambda _: race.Theirs("peer", 99.0),
        stored=race.Theirs("peer", 98.0, "a file"),
        slow_peer=True,
    )
    assert (line.mark, line.note) == ("stored", "the peer takes long: --slow")


def test_a_race_without_its_table_is_skipped_and_one_that_breaks_has_failed(race):
    def skips(_):
        raise race.Skip("no data")

    def breaks(_):
        raise ValueError("no luck")

    skipped, failed = (
        race.run(race.Race("t", "c", work), race.Options()) for work in (skips, breaks)
    )
    assert (skipped.result, skipped.note) == ("skipped", "no data")
    assert (failed.result, failed.note) == ("failed", "ValueError: no luck")


def test_rows_that_were_not_asked_for_are_skipped(race):
    work = race.at(10**7, lambda rows: race.Ours(rows, True, ""))
    with pytest.raises(race.Skip, match="--rows 1e7"):
        work(race.Options(rows=10**6))
    assert work(race.Options(rows=10**7)).figure == 10**7


def test_growth_is_the_exponent_over_all_sizes(race):
    line = race.growth(lambda rows: race.Ours(rows**1.5, True, ""))
    assert line(race.Options(rows=10**7)).figure == pytest.approx(1.5)
    assert line(race.Options(rows=10**6)).figure == pytest.approx(1.5)
    assert not race.growth(lambda rows: race.Ours(rows, rows < 10**6, ""))(race.Options()).holds
    with pytest.raises(race.Skip, match="two sizes"):
        line(race.Options(rows=10**5))


def test_the_best_of_several_keeps_the_result_and_starts_afresh(race):
    given = iter(range(3))
    cpu, wall, last = race.best_of(3, lambda number: number * 10, lambda: next(given))
    assert last == 20
    assert cpu >= 0
    assert wall >= 0


@pytest.mark.parametrize("width", [80, 100, 140])
def test_lines_fit_the_terminal(race, held, width):
    line = held(stored=race.Theirs("a peer with a long name 1.2.3", 20.0, "a file"), aim=0.5)
    told = race.text_line(
        race.columns(dataclasses.replace(line, task="a task whose name is long " * 5)), width
    )
    assert len(told) <= width
    assert "…*" in told
    assert "missed" in told


def test_holding_prints_writes_and_fails_on_wrong_results(race, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(race, "HOME", tmp_path)
    right = race.Race("first", "c", lambda _: race.Ours(1.0, True, "fine"), aim=2.0)
    wrong = race.Race(
        "second", "the sum is right", lambda _: race.Ours(1.0, False, "another sum"), unit="MB"
    )
    file = tmp_path / "build" / "x.json"
    assert race.hold([right], race.Options(), file) == 0
    assert race.hold([right, wrong], race.Options(), file) == 1
    told = capsys.readouterr().out
    assert "second: WRONG: the sum is right; seen: another sum" in told
    found = json.loads(file.read_text(encoding="utf-8"))
    assert [line["result"] for line in found["races"]] == ["met", "wrong"]
    assert {"date", "cores", "python", "versions", "load", "busy"} <= set(found["machine"])


def test_the_page_is_written_between_its_marks(race, held, tmp_path):
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{race.BEGIN}\nold\n{race.END}\nafter\n", encoding="utf-8")
    about = {**race.machine(), "load": 3.0, "highest_load": 3.0}
    there, stored = race.Theirs("ARX", 2.0), race.Theirs("sdcMicro", 3.0, "a file")
    lines = [
        held(aim=2.0, peer=lambda _: there),
        held(stored=stored),
        held(figure=1.02, unit="n^", aim=1.1),
        held(),
    ]
    lines = [dataclasses.asdict(line) for line in (*lines, held(holds=False))]
    for _ in range(2):
        race.write_page({"machine": about, "races": lines}, page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert (
        "| task | ARX | 2× |\n| task | – | n^1.02 |\n\n- task: WRONG: what makes it right; seen:"
        " seen" in text
    )
    assert "sdcMicro" not in text and " s |" not in text  # of another day; seconds of one machine
    assert "**Busy machine**" in text


def test_a_machine_is_busy_when_others_want_it(race):
    quiet = {"load": 1.5, "cores": 2, "highest_load": 3.4}
    assert not race.is_busy(quiet)
    assert race.is_busy({**quiet, "load": 1.6})
    assert race.is_busy({**quiet, "highest_load": 3.6})


@pytest.mark.parametrize(
    "name",
    [
        "whole",
        "search",
        "judge",
        "local",
        "suppression",
        "risk",
        "linkage",
        "utility",
        "microaggregation",
        "masking",
        "synthesis",
    ],
)
def test_every_race_names_its_check_and_every_stored_figure_its_source(race, name):
    races = importlib.import_module(name).RACES
    assert len({one.task for one in races}) == len(races) > 0
    for one in races:
        assert len(one.check) > 10
        assert one.stored is None or one.stored.source


def test_all_scripts_of_the_default_set_are_there(race):
    assert all((BENCHMARKS / f"{name}.py").is_file() for name in race.SCRIPTS)


@pytest.fixture
def growth(race):
    """The benchmark of growth, imported as the races are."""
    return importlib.import_module("growth")


def test_growth_is_the_power_between_the_first_and_the_last_table(growth):
    points = [(100_000, 1.0), (1_000_000, 30.0), (10_000_000, 100.0)]
    assert growth.exponent(points, 0.1) == (pytest.approx(1.0), 100_000)
    assert growth.described(points, 0.1) == "n^1.00"


def test_growth_above_the_limit_is_marked(growth):
    assert growth.described([(100, 1.0), (10_000, 100**1.06)], 0.1) == "n^1.06  TOO MUCH"
    assert growth.described([(100, 1.0), (10_000, 100**1.04)], 0.1) == "n^1.04"


def test_growth_is_not_told_from_tables_that_cost_no_more_than_the_start(growth):
    assert (
        growth.described([(100, 0.0), (1000, 1.0), (10_000, 100.0)], 0.1)
        == "n^2.00 from 1,000 rows  TOO MUCH"
    )
    assert growth.described([(100, -0.1), (1000, 0.05)], 0.1) == "hardly more than the start"
    assert growth.described([(100, -0.1), (1000, 5.0)], 0.1).startswith("unknown")


def test_the_start_is_subtracted(growth):
    assert growth.Cost(1000, 3.0, 500).beyond(growth.Cost(100, 1.0, 200)) == growth.Cost(
        1000, 2.0, 300
    )
