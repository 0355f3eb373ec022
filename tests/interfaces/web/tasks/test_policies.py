"""Tasks about privacy policies: read one, and say which recipe it would make of the table."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato import examples
from sfumato.core import recipe_files
from sfumato.core.blocks import render_text
from sfumato.errors import ParameterError, SfumatoError, UnreadableInput
from sfumato.interfaces.api import read
from sfumato.interfaces.web.data_process import Bench, Stopped
from sfumato.interfaces.web.requests import (
    ComplianceRequest,
    PolicyRequest,
    PolicySource,
    WriteRequest,
)
from sfumato.interfaces.web.tasks import data, policies
from sfumato.interfaces.web.tasks import write as writing
from tests.interfaces.web.people import people
from tests.interfaces.web.tasks.test_bounded_work import silent
from tests.interfaces.web.test_rough import NEEDS_PIPES

MANY = 60_000


OPENED = "ObjectIntersectionOf("


BOMBS = {
    "the same key again and again": (
        "{" + ",".join(f'"{number % (MANY // 2)}":1' for number in range(MANY)) + "}"
    ),
    "brackets": "[" * 400_000,
    "objects in objects": '{"a":' * 200_000,
    "a number without end": '{"sfumato_policy":' + "9" * 400_000 + "}",
    "entities": '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>',
    "items": "<x>" + "<item/>" * MANY + "</x>",
    "elements of other names": "<x>" + "".join(f"<a{number}/>" for number in range(MANY)) + "</x>",
    "unions that multiply": OPENED + "ObjectUnionOf(a b)" * 30_000 + ")",
    "classes that are apart": (
        "DisjointClasses(" + " ".join(f"c{number}" for number in range(20_000)) + ")"
    ),
    "expressions in expressions": OPENED * 40_000,
    "YAML aliases": "a: &a [x, x]\n" + "b: &b [" + "*a, " * 9 + "]\n",
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    path: Path = tmp_path_factory.mktemp("bounded") / "people.csv"
    people(20).write_csv(path)
    return Bench(table=read(path))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_with_words(name: str, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "SECONDS", 2.0)
    before, begun = set(threading.enumerate()), time.process_time()
    with contextlib.suppress(SfumatoError):
        found = policies.read_policy(bench, silent, source=PolicySource(text=BOMBS[name]))
        assert 0 < len(render_text(found["blocks"])) < 50_000
    assert time.process_time() - begun < 8
    for thread in set(threading.enumerate()) - before:
        thread.join(60)  # it was told to end
        assert not thread.is_alive()


def test_a_text_that_is_too_long_is_refused(bench: Bench) -> None:
    with pytest.raises(ParameterError, match="save it as a file"):
        policies.read_policy(bench, silent, source=PolicySource(text="[" * (policies.LONG + 1)))


@pytest.mark.parametrize("task", ["compile", "comply"])
def test_what_a_policy_asks_of_the_table_is_computed_only_for_so_long(
    task: str, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = [0]

    def endless(*_: object, **__: object) -> None:
        while True:
            turns[0] += 1

    def wished(share: float, words: str = "") -> None:
        if turns[0]:
            raise Stopped

    source = PolicySource("preset:sdc_practice_3")

    def ask(progress: Callable[..., None]) -> None:
        if task == "compile":
            recipe = recipe_files.parse("{columns: {age: quasi}, meet: [{k_anonymity: {k: 2}}]}")
            policies.compile_policy(
                bench, progress, recipe=recipe, source=source, request=PolicyRequest("research")
            )
        else:
            request = ComplianceRequest("research", folder=str(tmp_path))
            policies.comply_policy(
                bench,
                progress,
                key="1",
                within=str(tmp_path),
                request=request,
                source=source,
            )

    monkeypatch.setattr(policies, "SECONDS_ON_THE_TABLE", 0.1)
    monkeypatch.setattr(policies, "compile_policies", endless)
    monkeypatch.setattr(policies, "hold_against", endless)
    before = threading.active_count()
    with pytest.raises(ParameterError, match=f"'sfumato policy {task}', which has no limit"):
        ask(silent)
    assert turns[0] and threading.active_count() == before
    monkeypatch.setattr(policies, "SECONDS_ON_THE_TABLE", 1e9)
    turns[0] = 0
    with pytest.raises(Stopped):
        ask(wished)
    assert threading.active_count() == before


@NEEDS_PIPES
@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no such device")
@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_devices_and_pipes_are_refused_before_a_byte_is_read(tmp_path: Path, kind: str) -> None:
    path = Path("/dev/zero")
    if kind == "pipe":
        path = tmp_path / "pipe.csv"
        os.mkfifo(path)
    bench = Bench(table=examples.load("hospital", rows=30))
    with pytest.raises(UnreadableInput, match=kind):
        data.open_data(bench, quietly, path=str(path), example=None, options={})
    with pytest.raises(UnreadableInput, match=kind):
        policies.read_policy(bench, quietly, source=PolicySource(str(path)))
    bench.keep("release 1", object())
    with pytest.raises(UnreadableInput, match=kind):
        writing.write(
            bench, quietly, key="1", history="", request=WriteRequest("out", sign=str(path))
        )
    assert not (tmp_path / "out").exists()


def quietly(share: float, words: str = "") -> None:
    """Progress that nobody follows."""
