"""The tasks that decide about a release, say what to know before it is written, and price promises."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.interfaces.web.data_process import Bench
from sfumato.interfaces.web.requests import WriteRequest
from sfumato.interfaces.web.tasks import decide
from sfumato.release.decision.record import read_decision
from tests.interfaces.web.people import RECIPE, written
from tests.interfaces.web.tasks.test_look import do

CONTEXT = {
    "recipient": "researchers",
    "contract": "yes",
    "sensitivity": "low",
    "population": 1_000_000,
    "first_release": "nothing of them was released before",
}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A bench with the release of version 1."""
    table, _ = written(tmp_path, rows=240)
    opened = Bench()
    do(opened, "open_data", path=str(table), example=None, options={})
    do(opened, "make", recipe=recipes.parse(RECIPE), key="1")
    return opened


def decided(bench: Bench, folder: Path, **context: object) -> dict:
    answers = {**CONTEXT, **context}
    return do(
        bench, "decide", recipe=recipes.parse(RECIPE), key="1", context=answers, folder=str(folder)
    )


def test_the_written_decision_is_the_one_that_was_shown(bench: Bench, tmp_path: Path) -> None:
    """What is written follows from its evidence, verifies beside the original, and no draft stays."""
    before = set(tmp_path.iterdir())
    shown = decided(bench, tmp_path)
    assert set(tmp_path.iterdir()) == before
    offers = do(bench, "help_decision", recipe=recipes.parse(RECIPE), key="1")
    out = tmp_path / "out"
    do(bench, "write", key="1", history="", request=WriteRequest(str(out)), decided=True)
    record = read_decision(out)
    assert record.follows and record.decision.tier.value == shown["tier"]
    assert len(record.decision.changes) == len(offers)
    verification = sf.verify(out / "share", original=tmp_path / "people.csv", owner=out / "owner")
    assert not [claim for claim in verification.claims if claim.status == "fails"]
    assert any("decision" in claim.name for claim in verification.claims)


def test_other_answers_take_no_second_attack(bench: Bench, tmp_path: Path, monkeypatch) -> None:
    first = decided(bench, tmp_path)
    monkeypatch.setattr(decide, "collect_evidence", lambda *_, **__: pytest.fail("attacked again"))
    second = decided(bench, tmp_path, sensitivity="high")
    assert first["limit"] != second["limit"]
    do(bench, "write", key="1", history="", request=WriteRequest(str(tmp_path / "o")), decided=True)


def test_another_format_is_attacked_as_it_is_written(bench: Bench, tmp_path: Path) -> None:
    decided(bench, tmp_path)
    out = tmp_path / "out"
    request = WriteRequest(str(out), format="parquet")
    do(bench, "write", key="1", history="", request=request, decided=True)
    verification = sf.verify(out / "share", original=tmp_path / "people.csv", owner=out / "owner")
    assert not [claim for claim in verification.claims if claim.status == "fails"]


def test_each_change_leads_to_a_recipe_with_that_change_alone(bench: Bench, tmp_path: Path) -> None:
    decided(bench, tmp_path)
    for offer in do(bench, "help_decision", recipe=recipes.parse(RECIPE), key="1"):
        if "recipe" in offer:
            assert offer["recipe"] != recipes.parse(RECIPE)
            made = do(bench, "make", recipe=offer["recipe"], key="2")
            assert made["made"], offer["words"]


def test_what_an_owner_is_warned_of_before_writing(bench: Bench, tmp_path: Path) -> None:
    """Unknown is not a pass: no attack, no decision and no promise are said each."""
    recipe = recipes.parse(RECIPE)
    warnings = do(bench, "before_writing", recipe=recipe, key="1", decided=True)["warnings"]
    said = " ".join(warnings)
    assert "Nobody has attacked" in said and "not decided" in said and "illness" in said
    decided(bench, tmp_path)
    known = do(bench, "before_writing", recipe=recipe, key="1", decided=True)
    assert "Nobody has attacked" not in " ".join(known["warnings"])
    outdated = do(bench, "before_writing", recipe=recipe, key="1", decided=False)["warnings"]
    assert outdated == warnings


def test_a_sensitive_column_without_a_promise_gets_one_and_its_price(bench: Bench) -> None:
    recipe = recipes.parse(RECIPE)
    (offer,) = do(bench, "unpromised", recipe=recipe)
    assert offer["column"] == "illness" and not do(bench, "unpromised", recipe=offer["recipe"])
    assert set(do(bench, "price_of_promises", recipe=recipe)) == {"illness"}
    assert do(bench, "make", recipe=offer["recipe"], key="2")["made"]
    released = bench.recall("release 2").released.to_polars()
    classes = released.group_by("age", "sex", "zip", 'job <b>"x"</b>')
    assert classes.agg(pl.col("illness").n_unique())["illness"].min() >= 2
