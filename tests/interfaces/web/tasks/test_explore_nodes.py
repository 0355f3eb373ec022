"""Lists of combinations: filters against a walk through all nodes by hand, order, pages, and those
around one of them.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from sfumato.core import recipe_files as recipes
from sfumato.core.recipe import Recipe
from sfumato.errors import ParameterError
from sfumato.interfaces.web.data_process import Bench, task_function
from tests.interfaces.web.people import RECIPE, written

FIGURES = ("score", "marketer_risk", "prosecutor_risk", "suppressed", "class_size")


def do(bench: Bench, task: str, **given: Any) -> Any:
    return task_function(task)(bench, lambda share, words="": None, **given)


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, Recipe, dict[int, Any]]:
    table, _ = written(tmp_path_factory.mktemp("people"))
    bench, recipe = Bench(), recipes.parse(RECIPE)
    do(bench, "open_data", path=str(table), example=None, options={})
    do(bench, "survey", recipe=recipe, open_recipe=recipe, made_for=1)
    front = do(bench, "front", recipe=recipe, open_recipe=recipe, axes=("score", "marketer_risk"))
    return bench, recipe, front["points"]


def listed(bench: Bench, recipe: Recipe, **changes: Any) -> Any:
    asked = {"filters": {}, "order": ("score", False), "part": (0, 500)} | changes
    return do(bench, "list_nodes", recipe=recipe, open_recipe=recipe, **asked)


def passes(node: dict[str, Any], filters: dict[str, Any]) -> bool:
    """The filters as they are meant, node by node."""
    for column, (low, high) in filters["levels"].items():
        if not low <= node["levels"][column] <= high:
            return False
    for name, most in filters["at_most"].items():
        if node[name] > most and not math.isclose(node[name], most, rel_tol=1e-12):
            return False
    return node["within_budget"] or not filters["within"]


def test_filters_pass_what_they_say(explored: Any) -> None:
    bench, recipe, points = explored
    draw = np.random.default_rng(11)
    columns = list(points[0]["levels"])
    for case in range(200):
        filters: dict[str, Any] = {"levels": {}, "at_most": {}, "within": bool(case % 2)}
        for column in columns:
            if draw.random() < 0.4:
                low, high = sorted(draw.integers(0, 4, 2).tolist())
                filters["levels"][column] = [low, high]
        for name in FIGURES[:4]:
            if draw.random() < 0.3:
                values = sorted(node[name] for node in points.values())
                filters["at_most"][name] = values[draw.integers(len(values))]
        page = listed(bench, recipe, filters=filters)
        wanted = {at for at, node in points.items() if passes(node, filters)}
        assert set(page["points"]) == wanted and page["total"] == len(wanted), filters
        front = do(
            bench,
            "front",
            recipe=recipe,
            open_recipe=recipe,
            axes=("score", "marketer_risk"),
            filters=filters,
        )
        assert front["passing"] == len(wanted)
        assert set(front["dots"]) <= wanted and set(front["front"]) == _unbeaten(points, wanted)


def _unbeaten(points: dict[int, Any], among: set[int]) -> set[int]:
    """Nodes within the budget that no other such node is at least as good as in both figures; of
    those alike in both, the lowest.
    """
    kept = [at for at in sorted(among) if points[at]["within_budget"] and points[at]["classes"]]

    def place(at: int) -> tuple[float, float]:
        return round(points[at]["score"], 12), points[at]["marketer_risk"]

    best = set()
    for at in kept:
        beaten = False
        for other in kept:
            (x, y), (u, v) = place(at), place(other)
            better = u <= x and v <= y and (u, v) != (x, y)
            heights = [(sum(points[node]["levels"].values()), node) for node in (other, at)]
            alike = (u, v) == (x, y) and heights[0] < heights[1]
            beaten |= better or alike
        if not beaten:
            best.add(at)
    return best


@pytest.mark.parametrize("sort", FIGURES)
@pytest.mark.parametrize("falling", [False, True])
def test_pages_together_are_all_in_order(explored: Any, sort: str, falling: bool) -> None:
    bench, recipe, points = explored
    pages = [
        listed(bench, recipe, order=(sort, falling), part=(first, 7))["points"]
        for first in range(0, len(points), 7)
    ]
    values = [node[sort] for page in pages for node in page.values()]
    assert values == sorted(values, reverse=falling)
    assert sorted(itertools.chain(*pages)) == sorted(points)


def test_shades_are_fifths_of_the_score(explored: Any) -> None:
    bench, recipe, points = explored
    page = listed(bench, recipe)
    shades = dict(zip(page["points"], page["shades"], strict=True))
    assert sorted(set(shades.values())) == [0, 1, 2, 3, 4]
    for at, other in itertools.product(points, repeat=2):
        if points[at]["score"] < points[other]["score"]:
            assert shades[at] <= shades[other]


def test_what_is_no_figure_is_refused(explored: Any) -> None:
    bench, recipe, _ = explored
    with pytest.raises(ParameterError, match="is not an axis"):
        listed(bench, recipe, order=("levels", False))
    with pytest.raises(ParameterError, match="is not an axis"):
        listed(bench, recipe, filters={"at_most": {"__class__": 1.0}})


def test_the_nearest_nodes_are_around_one(explored: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.interfaces.web.tasks import explore_nodes

    bench, recipe, points = explored
    monkeypatch.setattr(explore_nodes, "MOST_IN_LATTICE", 9)
    middle = points[41]["levels"]
    asked = {"recipe": recipe, "open_recipe": recipe, "filters": {}}
    around = do(bench, "nodes_around", levels=middle, **asked)

    def steps(node: dict[str, Any]) -> int:
        return sum(abs(level - middle[column]) for column, level in node["levels"].items())

    assert 41 in around and len(around) == 9
    others = [steps(node) for at, node in points.items() if at not in around]
    assert max(map(steps, around.values())) <= min(others)
    with pytest.raises(ParameterError, match="not among those"):
        do(bench, "nodes_around", levels=dict.fromkeys(middle, 77), **asked)
