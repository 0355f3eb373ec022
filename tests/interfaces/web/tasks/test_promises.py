"""What the stages Promises, Run and Policies ask the process that holds the data, without a
browser.
"""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.blocks import Heading, render_text
from sfumato.core.recipe import Recipe
from sfumato.errors import ParameterError
from sfumato.interfaces.api import judge
from sfumato.interfaces.web.catalogue import catalogue, sentence_of, summary_of, title_of
from sfumato.interfaces.web.data_process import Bench
from sfumato.interfaces.web.forms import form_of
from sfumato.interfaces.web.requests import PolicyRequest, PolicySource
from sfumato.interfaces.web.tasks import policies, promises, run


def quiet(share: float, words: str = "") -> None:
    """Tell nobody."""


@pytest.fixture(scope="module")
def bench() -> Bench:
    draw = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "age": draw.integers(20, 80, 400),
            "zip": draw.integers(10_000, 10_060, 400).astype(str),
            "ill": draw.choice(["flu", "cold", "ulcer", "gout"], 400),
            "name": [f"person {n}" for n in range(400)],
        }
    )
    return Bench(table=sf.read(frame))


def recipe(*meet: Any, steps: tuple[Any, ...] = (), **more: Any) -> Recipe:
    document = {
        "columns": {
            "age": {
                "role": "quasi",
                "kind": "numeric",
                "hierarchy": {"intervals": {"widths": [5, 20]}},
            },
            "zip": {"role": "quasi", "hierarchy": {"mask_right": {"length": 5}}},
            "ill": "sensitive",
            "name": "drop",
        }
    }
    return dataclasses.replace(recipes.from_dict(document), meet=meet, steps=steps, **more)


def test_the_table_of_today_is_counted_as_the_verb_judges_it(bench: Bench) -> None:
    asked = recipe(sf.KAnonymity(5), sf.LDiversity("ill", l=2))
    told = promises.standing(bench, quiet, recipe=asked)
    verdicts = judge(bench.data.with_schema(asked.schema), asked.meet)
    assert [one["records"] for one in told["promises"]] == [verdict.records for verdict in verdicts]
    assert (
        [one["holds"] for one in told["promises"]]
        == [verdict.holds for verdict in verdicts]
        == [False, False]
    )
    assert told["promises"][0]["attained"] == "k = 1"
    assert told["promises"][1]["attained"] == "l = 1"
    assert "k_map" in told["promises"][0]["strong_enough"]
    today = promises.today(bench, quiet, recipe=asked)
    small = sum(n for size, n in zip(today["sizes"], today["records"], strict=True) if size < 5)
    assert small == verdicts[0].records


def test_a_promise_that_cannot_be_judged_says_why_and_leaves_the_others(bench: Bench) -> None:
    told = promises.standing(
        bench, quiet, recipe=recipe(sf.TCloseness("illness", t=0.2), sf.KAnonymity(3))
    )["promises"]
    assert told[0]["holds"] is None
    assert "illness" in told[0]["problem"]
    assert told[1]["holds"] is False


def test_what_follows_from_a_promise_of_the_same_recipe_is_told(bench: Bench) -> None:
    told = promises.standing(bench, quiet, recipe=recipe(sf.KAnonymity(9), sf.KAnonymity(3)))[
        "promises"
    ]
    assert told[0]["implies"] == ["3-anonymity"]
    assert told[1]["implies"] == []


def test_columns_that_are_not_there_are_told_once(bench: Bench) -> None:
    schema = recipe().schema
    more = recipes.from_dict(
        {"columns": {**dict.fromkeys(schema.attributes, "quasi"), "height": "quasi"}}
    )
    told = promises.standing(
        bench, quiet, recipe=dataclasses.replace(more, meet=(sf.KAnonymity(3),))
    )
    assert ["height" in problem for problem in told["problems"]] == [True]
    assert [(one["holds"], one["problem"]) for one in told["promises"]] == [
        (None, "not judged: see above")
    ]


def test_combinations_are_the_levels_that_the_step_allows(bench: Bench) -> None:
    """Age has 4 levels (exact, 5, 20, all), the code 6 (0 to 5 signs hidden)."""
    free, bound = sf.GlobalRecoding(), sf.GlobalRecoding(levels={"age": (1, 2), "zip": 3})
    assert promises.combinations(bench, quiet, recipe=recipe(steps=(free,))) == {
        "combinations": 4 * 6
    }
    assert promises.combinations(bench, quiet, recipe=recipe(steps=(bound,))) == {
        "combinations": 2 * 4
    }
    assert promises.combinations(bench, quiet, recipe=recipe(steps=(sf.Mondrian(),))) == {
        "combinations": None
    }


def test_combinations_are_those_that_the_search_tells_of(bench: Bench) -> None:
    asked = recipe(sf.KAnonymity(3), steps=(sf.GlobalRecoding(budget=0.1, levels={"zip": (0, 4)}),))
    counted = promises.combinations(bench, quiet, recipe=asked)["combinations"]
    release = sf.run(bench.data, asked, seed="00" * 16)
    assert release.plans[-1][1].effort()["lattice_nodes"] == counted


def test_a_release_is_kept_and_told_as_on_the_command_line(bench: Bench) -> None:
    asked = recipe(sf.KAnonymity(3), steps=(sf.GlobalRecoding(budget=0.1),))
    words: list[str] = []
    told = run.make(bench, lambda share, say="": words.append(say), recipe=asked, key="7")
    kept = bench.recall("release 7")
    assert told["made"]
    told_again = kept.blocks()
    assert told["blocks"][: len(told_again)] == told_again
    headings = [block.text for block in told["blocks"] if isinstance(block, Heading)]
    assert headings[-3:] == [
        "Why this and not another",
        "One level finer or coarser",
        "Another budget, or less risk",
    ]
    assert told["effect"]["suppressed"] == kept.suppressed
    assert kept.seed.rehearsal is False
    assert any("class" in word or "node" in word or "search" in word for word in words)


def test_where_nothing_satisfies_the_changes_that_are_offered_do(bench: Bench) -> None:
    steps = (sf.GlobalRecoding(budget=0.0, levels={"age": 1, "zip": 1}),)
    told = run.make(bench, quiet, recipe=recipe(sf.KAnonymity(8), steps=steps), key="8")
    assert not told["made"]
    assert bench.recall("release 8") is None
    assert "of 400 records" in "\n".join(map(str, told["blocks"]))
    assert 1 <= len(told["ways"]) <= run.MOST_WAYS
    for way in told["ways"]:
        assert run.make(bench, quiet, recipe=way["recipe"], key="9")["made"], way["words"]


def test_a_smaller_k_is_the_largest_that_leads_to_a_release(bench: Bench) -> None:
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


def test_one_promise_less_is_offered_where_that_helps(bench: Bench) -> None:
    asked = recipe(sf.KAnonymity(2), sf.LDiversity("ill", l=30), steps=(sf.GlobalRecoding(),))
    told = run.make(bench, quiet, recipe=asked, key="8")
    assert "Without 30-diversity of ill" in [way["words"] for way in told["ways"]]


# policies


def test_presets_have_their_source(bench: Bench) -> None:
    listed = policies.presets(bench, quiet)
    assert {"hipaa_safe_harbor", "sdc_practice_5"} <= {rule["name"] for rule in listed}
    assert all(rule["source"] and rule["text"] and rule["title"] for rule in listed)


def test_a_policy_is_read_from_a_file_and_compiled(bench: Bench, tmp_path: Path) -> None:
    from sfumato.policy.dialects.dialect_detection import preset, write_policy

    file = tmp_path / "policy.json"
    file.write_text(write_policy(preset("sdc_practice_5"), "ours"), encoding="utf-8")
    read = policies.read_policy(bench, quiet, source=PolicySource(str(file)))
    assert read["prescribes"]
    assert list(read["purposes"]) == ["any"]
    use: dict[str, Any] = {"source": read["source"], "request": PolicyRequest("any", keep=False)}
    made = policies.compile_policy(bench, quiet, recipe=recipe(sf.KAnonymity(2)), **use)
    assert [model.promise for model in made["recipe"].meet] == ["5-anonymity"]
    kept = policies.compile_policy(
        bench,
        quiet,
        recipe=recipe(sf.LDiversity("ill", l=2)),
        source=read["source"],
        request=PolicyRequest("any"),
    )
    assert {model.promise for model in kept["recipe"].meet} == {"5-anonymity", "2-diversity of ill"}


def test_what_is_wrong_with_a_policy_is_found_and_not_raised(bench: Bench) -> None:
    read = policies.read_policy(
        bench,
        quiet,
        source=PolicySource(
            text='{"sfumato_policy": 1, "name": "x", "purposes": [{"name": "a", "modls": []}]}'
        ),
    )
    assert "modls" in render_text(read["blocks"])
    broken = policies.read_policy(bench, quiet, source=PolicySource(text="{"))
    assert broken["blocks"][1].title == "It cannot be used"
    assert not broken["purposes"] and not broken["language"]
    with pytest.raises(ParameterError):
        policies.read_policy(bench, quiet, source=PolicySource(text="  "))


# what pages say


def test_everything_can_be_added_and_has_a_line() -> None:
    for family in ("models", "steps", "utility"):
        entries = catalogue(family)
        assert {entry.name for entry in entries} == set(registry.family(family))
        assert all(entry.line and entry.group and entry.title for entry in entries)
        assert not any("``" in entry.line or ":class:" in entry.line for entry in entries)


@pytest.mark.parametrize(
    ("name", "said"),
    [("l_diversity", "l-diversity"), ("rank_swap", "Rank swap"), ("k_map", "k-map")],
)
def test_names_are_said_as_people_say_them(name: str, said: str) -> None:
    assert title_of(name) == said


def test_sentences_and_summaries_hold_no_data_value() -> None:
    hidden = sf.AlphaKAnonymity("ill", alpha=0.5, k=2, values=("Miller",))
    recoded = sf.Recode(["ill"], mapping={"Miller": "somebody"})
    for thing in (hidden, recoded):
        assert "Miller" not in summary_of(thing)
        for field in form_of(thing):
            assert "Miller" not in sentence_of(thing.name, field, thing)
    fields = {field.name: field for field in form_of(hidden)}
    assert (
        sentence_of("alpha_k_anonymity", fields["alpha"], hidden)
        == "Alpha k anonymity: alpha = 50 %"
    )
    assert (
        sentence_of("alpha_k_anonymity", fields["values"], hidden)
        == "Alpha k anonymity: values changed"
    )


class FakeBench:
    """A workbench whose run ends as it is told."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.job, self.remembered, self.notes = answer, None, {}, {}
        self.project, self.register = self, dict[str, str]()

    version, data = 3, type("Data", (), {"digest": "d"})

    def note(self, version: int, effect: Any) -> None:
        self.notes[version] = effect

    def tell(self) -> None:
        self.told = True

    async def do(self, *what: Any, **given: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_run_belongs_to_its_version_and_a_cancelled_one_says_so() -> None:
    pytest.importorskip("nicegui")
    from sfumato.interfaces.web.pages.run import begin, outcomes_of
    from sfumato.interfaces.web.worker import Cancelled, TaskFailed

    async def ended(answer: Any) -> FakeBench:
        fake = FakeBench(answer)
        await begin(fake)  # type: ignore[misc, arg-type]
        return fake

    made = asyncio.run(ended({"made": True, "effect": {"loss": 0.5}}))
    assert made.notes == {3: {"loss": 0.5}}
    assert outcomes_of(made)[3]["made"]  # type: ignore[arg-type]
    cancelled = asyncio.run(ended(Cancelled("Cancelled.")))
    assert outcomes_of(cancelled)[3] == {"said": "Cancelled. Nothing was written."}  # type: ignore[arg-type]
    failed = asyncio.run(ended(TaskFailed("ReleaseRefused", "it does not hold")))
    assert outcomes_of(failed)[3] == {"said": "it does not hold", "failed": True}  # type: ignore[arg-type]
    assert failed.notes == cancelled.notes == {}
