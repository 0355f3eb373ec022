"""Candidates to be compared: what is kept of one, and the figures of all side by side."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from sfumato.core import recipe_files as recipes
from sfumato.interfaces.web.pinned_candidates import (
    digest_of,
    figures_of,
    of_node,
    of_recipe,
    recipe_of,
)
from sfumato.interfaces.web.project import Project
from tests.interfaces.web.people import JOB, RECIPE
from tests.interfaces.web.tasks.test_explore import (
    compared,  # noqa: F401 - a fixture
    explored,  # noqa: F401 - a fixture
)


def test_best_is_the_least_of_what_is_known_and_may_be_released(compared: Any) -> None:  # noqa: F811
    found_now, _ = compared
    lines = {title: (cells, best) for title, cells, best in figures_of(found_now)}
    cells, best = lines["marketer risk"]
    risks = [one["risks"].get("marketer_risk") for one in found_now["candidates"]]
    assert cells[2] == "unknown" and 2 not in best
    assert best == {
        place for place, risk in enumerate(risks) if risk == min(r for r in risks if r is not None)
    }
    assert lines["records lost"][0][2] == "unknown" and lines["may be released"][0][2].startswith(
        "no: "
    )
    assert (
        lines["level of age"][0][3] == "no one level"
        and lines["level of age"][0][2] == "no one level"
    )


def test_pins_hold_a_recipe_that_is_the_same_again(tmp_path: Path) -> None:
    project = Project.open(tmp_path / "project")
    try:
        recipe = dataclasses.replace(recipes.parse(RECIPE), base=project.folder)
        node = of_node(1, {"age": 3, "sex": 0, "zip": 3, JOB: 0}, recipe, {"score": 0.5})
        other = of_recipe("a file", recipe)
        project.set_pins((node, other))
        assert json.loads((tmp_path / "project" / "project.json").read_text("utf-8"))["pins"] == [
            node,
            other,
        ]
        assert all(recipe_of(project, pin) == recipe for pin in project.pins)
        assert (
            digest_of([node], {})
            != digest_of([other], {})
            != digest_of([other], {"file": "releases.db"})
        )
    finally:
        project.close()
