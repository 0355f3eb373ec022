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
from sfumato.core.blocks import render_text
from sfumato.core.recipe import Recipe
from sfumato.errors import ParameterError
from sfumato.interfaces.api import judge
from sfumato.interfaces.web.data_process import Bench
from sfumato.interfaces.web.requests import PolicyRequest, PolicySource
from sfumato.interfaces.web.tasks import policies, promises


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

    def forget_decision(self, version: int) -> None:
        """Nothing was decided."""

    async def do(self, *what: Any, **given: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_run_belongs_to_its_version_and_a_cancelled_one_says_so() -> None:
    pytest.importorskip("nicegui")
    from sfumato.interfaces.web.release_runs import begin, outcomes_of
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
