"""The tasks behind the stage Explore: a point is what a run of it gives, here and at the command
line.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.blocks import Paragraph
from sfumato.core.recipe import Recipe
from sfumato.errors import ParameterError
from sfumato.interfaces.api import CompareOptions
from sfumato.interfaces.api import compare as compare_verb
from sfumato.interfaces.cli import main
from sfumato.interfaces.web import choices
from sfumato.interfaces.web.data_process import Bench, Stopped, task_function
from tests.interfaces.web.people import JOB, RECIPE, people, written

AXES = {"axes": ("score", "marketer_risk")}


def quiet(share: float, words: str = "") -> None:
    """Nobody is told."""


def do(bench: Bench, task: str, **given: Any) -> Any:
    return task_function(task)(bench, quiet, **given)


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, Recipe, dict[str, Any]]:
    """A bench whose lattice was looked at."""
    table, _ = written(tmp_path_factory.mktemp("people"))
    bench, recipe = Bench(), recipes.parse(RECIPE)
    do(bench, "open_data", path=str(table), example=None, options={})
    do(bench, "survey", recipe=recipe, open_recipe=recipe, made_for=1)
    return bench, recipe, do(bench, "front", recipe=recipe, open_recipe=recipe, **AXES)


def test_the_front_is_known_and_the_search_is_in_use(explored: Any) -> None:
    bench, recipe, front = explored
    assert front["known"] and front["fresh"] and front["version"] == 1 and not front["by_hand"]
    assert front["in_use"] in front["front"]
    assert front["nodes"] == 100 and front["few"] and set(front["points"]) == set(range(100))
    assert sum(front["dots"].values()) <= 100
    do(bench, "make", recipe=recipe, key="1")
    levels = dict(bench.recall("release 1").plans[0][1].levels)
    assert front["points"][front["in_use"]]["levels"] == levels


@pytest.mark.parametrize("place", [1, -1])
def test_a_point_that_is_used_and_run_has_the_figures_it_showed(explored: Any, place: int) -> None:
    bench, recipe, front = explored
    point = front["points"][front["front"][place]]
    chosen = choices.with_node(
        recipe, point["levels"], lost=point["suppressed"], records=front["records"]
    )
    do(bench, "make", recipe=chosen, key="2")
    release = bench.recall("release 2")
    assert release.suppressed == point["suppressed"] and release.scores == {"loss": point["score"]}
    assert release.after.measure("marketer_risk") == pytest.approx(
        point["marketer_risk"], abs=1e-15
    )
    assert release.after.measure("prosecutor_risk") == pytest.approx(
        point["prosecutor_risk"], abs=1e-15
    )
    assert release.after.classes == point["classes"]


def test_a_point_beyond_the_budget_raises_it_and_the_same_landscape_is_read(
    explored: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The command line makes of the recipe what the point showed."""
    bench, recipe, front = explored
    at = next(
        i for i, one in front["points"].items() if not one["within_budget"] and one["classes"]
    )
    point = front["points"][at]
    chosen = choices.with_node(
        recipe, point["levels"], lost=point["suppressed"], records=front["records"]
    )
    again = do(
        bench, "front", recipe=chosen, open_recipe=choices.left_open(chosen, [recipe]), **AXES
    )
    assert again["fresh"] and again["in_use"] == at and again["by_hand"]
    assert (
        again["budget"] >= point["suppressed"] > front["budget"]
        and again["points"][at]["within_budget"]
    )
    table, file = written(tmp_path)
    file.write_text(recipes.dump(chosen), encoding="utf-8")
    monkeypatch.setattr(
        "sys.argv", ["sfumato", "run", str(table), "-r", str(file), "-o", str(tmp_path / "out")]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    certificate = json.loads((tmp_path / "out" / "share" / "certificate.json").read_text("utf-8"))
    assert certificate["suppressed_records"] == point["suppressed"]
    assert certificate["classes"]["risks"]["marketer_risk"] == pytest.approx(
        point["marketer_risk"], abs=1e-15
    )
    assert certificate["utility"]["loss"] == pytest.approx(point["score"], abs=1e-12)


def test_the_search_gets_its_choice_and_its_bounds_back() -> None:
    bounded = recipes.parse(RECIPE.replace("budget: 0.05", "budget: 0.05, levels: {zip: 3}"))
    levels = {"age": 3, "sex": 0, "zip": 3, JOB: 0}
    fixed = choices.with_node(bounded, levels, lost=0, records=400)
    assert choices.chosen_in(bounded) is None and choices.chosen_in(fixed) == levels
    assert recipes.parse(recipes.dump(fixed)).steps == fixed.steps
    assert choices.left_open(fixed, [fixed, bounded]).steps == bounded.steps
    assert choices.chosen_in(choices.left_open(fixed, [])) is None
    assert choices.lattice_key(choices.left_open(fixed, [bounded])) == choices.lattice_key(bounded)
    assert choices.lattice_key(bounded) != choices.lattice_key(recipes.parse(RECIPE))


def test_an_older_landscape_is_told_to_be_one(explored: Any) -> None:
    bench, recipe, _ = explored
    other = dataclasses.replace(recipe, meet=(registry.build("models", {"k_anonymity": {"k": 7}}),))
    front = do(bench, "front", recipe=other, open_recipe=other, **AXES)
    assert (
        front["known"] and not front["fresh"] and front["version"] == 1 and front["in_use"] is None
    )
    with pytest.raises(ParameterError, match="have not been examined yet"):
        do(bench, "nodes_near", recipe=other, open_recipe=other, at=(0.5, 0.1), **AXES)


def test_five_nodes_at_most_lie_near_a_place_and_the_nearest_is_first(explored: Any) -> None:
    bench, recipe, front = explored
    point = next(one for one in front["points"].values() if one["classes"])
    near = do(
        bench,
        "nodes_near",
        recipe=recipe,
        open_recipe=recipe,
        at=(point["score"], point["marketer_risk"]),
        **AXES,
    )
    assert len(near) == 5
    assert (near[0]["score"], near[0]["marketer_risk"]) == (point["score"], point["marketer_risk"])


def test_reasons_tell_what_finer_would_cost(explored: Any) -> None:
    bench, recipe, front = explored
    told = do(
        bench,
        "reasons",
        recipe=recipe,
        open_recipe=recipe,
        levels=front["points"][front["in_use"]]["levels"],
    )
    _, choice, finer, *_ = told
    assert choice.text.startswith("This is the best of all 100 nodes") and finer.entries
    assert all("one level finer" in words for words in finer.entries)
    other = front["points"][front["front"][-1]]["levels"]
    told = do(bench, "reasons", recipe=recipe, open_recipe=recipe, levels=other)
    assert not any(isinstance(block, Paragraph) for block in told)


def test_nothing_within_the_budget_still_has_a_landscape(tmp_path: Path) -> None:
    bench = Bench()
    do(bench, "open_data", path=str(written(tmp_path)[0]), example=None, options={})
    # some jobs have fewer than 80 people, some have more
    job_as_it_is = f"budget: 0.05, levels: {{'{JOB}': 0}}"
    recipe = recipes.parse(RECIPE.replace("k: 5", "k: 80").replace("budget: 0.05", job_as_it_is))
    do(bench, "survey", recipe=recipe, open_recipe=recipe, made_for=3)
    front = do(bench, "front", recipe=recipe, open_recipe=recipe, **AXES)
    assert (
        front["known"] and front["within"] == 0 and front["front"] == [] and front["in_use"] is None
    )
    assert front["budget"] == 20 and any(one["classes"] for one in front["points"].values())


def test_recipes_without_a_lattice_say_so(explored: Any) -> None:
    bench, recipe, _ = explored
    other = dataclasses.replace(recipe, steps=(registry.build("steps", "mondrian"),))
    assert do(bench, "front", recipe=other, open_recipe=other, **AXES) == {
        "known": False,
        "lattice": False,
    }
    with pytest.raises(ParameterError, match="no step of this recipe chooses from a lattice"):
        do(bench, "survey", recipe=other, open_recipe=other, made_for=1)


def test_examples_of_levels_are_values_that_several_have(explored: Any) -> None:
    bench, recipe, _ = explored
    examples = do(bench, "level_examples", recipe=recipe)
    assert set(examples) == {"age", "sex", "zip", JOB}
    assert examples["sex"][1] == "*" and len(examples["age"]) == 5
    frame = people()
    for column in ("age", "zip", JOB):
        most = frame[column].cast(str).value_counts(sort=True)
        named = examples[column][0]
        assert (
            named is None
            if most["count"][0] < 5
            else (frame[column].cast(str) == named).sum() == most["count"][0]
        )


def test_a_survey_can_be_stopped(explored: Any) -> None:
    bench, recipe, _ = explored

    def stop(share: float, words: str = "") -> None:
        raise Stopped

    with pytest.raises(Stopped):
        task_function("survey")(bench, stop, recipe=recipe, open_recipe=recipe, made_for=1)


# Candidates.


@pytest.fixture(scope="module")
def compared(explored: Any) -> tuple[dict[str, Any], Any]:
    bench, recipe, front = explored
    node = front["points"][front["front"][2]]
    chosen = choices.with_node(
        recipe, node["levels"], lost=node["suppressed"], records=front["records"]
    )
    impossible = dataclasses.replace(
        recipe,
        meet=(registry.build("models", {"k_anonymity": {"k": 399}}),),
        steps=(
            registry.build("steps", {"global_recoding": {"budget": 0.0, "levels": {"sex": 0}}}),
        ),
    )
    local = dataclasses.replace(recipe, steps=(registry.build("steps", "mondrian"),))
    pins = [("A", recipe), ("B", chosen), ("C", impossible), ("D", local)]
    return do(bench, "compare", pins=pins), dict(pins)


def test_candidates_are_what_compare_says_of_them(explored: Any, compared: Any) -> None:
    bench, *_ = explored
    found_now, pins = compared
    wanted = compare_verb(bench.data, pins, seed=5, options=CompareOptions(workers=1)).to_dict()
    for one, other in zip(found_now["candidates"], wanted["candidates"], strict=True):
        assert one["utilities"] == pytest.approx(dict(other["utilities"]), nan_ok=True)
        assert one["risks"].get("marketer_risk") == other["risks"].get("marketer_risk")
        assert (one["name"], one["holds"], one["suppressed"]) == (
            other["name"],
            other["holds"],
            other["suppressed"],
        )
    assert found_now["axes"] == wanted["axes"]
