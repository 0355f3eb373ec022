"""Tasks that make a release, and say what to change where none can be made."""

from __future__ import annotations

import sfumato as sf
from sfumato.core.blocks import Heading
from sfumato.interfaces.web.data_process import Bench
from sfumato.interfaces.web.tasks import run
from tests.interfaces.web.tasks.test_promises import (
    bench,  # noqa: F401 - a fixture
    quiet,
    recipe,
)


def test_a_release_is_kept_and_told_as_on_the_command_line(bench: Bench) -> None:  # noqa: F811
    asked = recipe(sf.KAnonymity(3), steps=(sf.GlobalRecoding(budget=0.1),))
    words: list[str] = []
    told = run.make(bench, lambda share, say="": words.append(say), recipe=asked, key="7")
    kept = bench.recall("release 7")
    assert told["made"]
    told_again = kept.blocks()
    assert told["blocks"][: len(told_again)] == told_again
    headings = [block.text for block in told["blocks"] if isinstance(block, Heading)]
    assert headings[-3:] == [
        "Why this and not another?",
        "One level finer or coarser",
        "Another budget, or less risk",
    ]
    assert told["effect"]["suppressed"] == kept.suppressed
    assert kept.seed.rehearsal is False
    assert any("class" in word or "node" in word or "search" in word for word in words)


def test_where_nothing_satisfies_the_changes_that_are_offered_do(bench: Bench) -> None:  # noqa: F811
    steps = (sf.GlobalRecoding(budget=0.0, levels={"age": 1, "zip": 1}),)
    told = run.make(bench, quiet, recipe=recipe(sf.KAnonymity(8), steps=steps), key="8")
    assert not told["made"]
    assert bench.recall("release 8") is None
    assert "of 400 records" in "\n".join(map(str, told["blocks"]))
    assert 1 <= len(told["ways"]) <= run.MOST_WAYS
    for way in told["ways"]:
        assert run.make(bench, quiet, recipe=way["recipe"], key="9")["made"], way["words"]


def test_a_smaller_k_is_the_largest_that_leads_to_a_release(bench: Bench) -> None:  # noqa: F811
    """Against a search that tries one after the other."""
    steps = (sf.GlobalRecoding(budget=0.05, levels={"age": 2, "zip": 1}),)
    asked = recipe(sf.KAnonymity(60), steps=steps)
    told = run.make(bench, quiet, recipe=asked, key="8")
    offered = next(way for way in told["ways"] if way["words"].startswith("k = "))

    def leads(k: int) -> bool:
        return bool(
            run.make(bench, quiet, recipe=recipe(sf.KAnonymity(k), steps=steps), key="x")["made"]
        )

    assert offered["recipe"].meet[0].k == max(k for k in range(1, 60) if leads(k))


def test_one_promise_less_is_offered_where_that_helps(bench: Bench) -> None:  # noqa: F811
    asked = recipe(sf.KAnonymity(2), sf.LDiversity("ill", l=30), steps=(sf.GlobalRecoding(),))
    told = run.make(bench, quiet, recipe=asked, key="8")
    assert "Without 30-diversity of ill" in [way["words"] for way in told["ways"]]
