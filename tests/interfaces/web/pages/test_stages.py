"""What stages declare: the sections of the recipe they edit, the tasks whose blocks they show, and
the part they need; and that nothing of the workbench knows a method by its class.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
from pathlib import Path

import pytest

import sfumato.interfaces.web
from sfumato.core import registry
from sfumato.core.recipe import Recipe
from sfumato.interfaces.web.forms import form_of, starting_values
from sfumato.interfaces.web.pages.stages import STAGES, all_stages
from sfumato.interfaces.web.tasks import TASKS
from sfumato.methods.hierarchies import Intervals, Order

WEB = Path(sfumato.interfaces.web.__file__).parent
SHARED = ("file", "leaf_lists", "ordered_values")
"""Modules of hierarchies whose functions, not classes, the workbench calls."""


def test_sections_are_those_of_a_recipe_and_views_are_tasks() -> None:
    sections = {section for stage in STAGES for section in stage.sections}
    assert sections <= {field.name for field in dataclasses.fields(Recipe)}
    assert sections >= {"schema", "meet", "steps", "limits", "contract"}, "all can be edited"
    assert {task for stage in STAGES for _, task in stage.views} <= set(TASKS)


def test_a_stage_without_its_part_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Policies" in [stage.name for stage in all_stages()]
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: None if name == "sfumato.policy" else found(name, *more),
    )
    assert "Policies" not in [stage.name for stage in all_stages()]


@pytest.mark.parametrize("file", sorted(WEB.rglob("*.py")), ids=lambda file: file.stem)
def test_no_page_and_no_task_imports_the_class_of_a_method(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        if module.startswith(("sfumato.methods.", "sfumato.policy")) and "formulas" not in module:
            policies = file.name == "policies.py" and module.startswith("sfumato.policy")
            assert policies or module.rsplit(".", 1)[-1] in SHARED, module
            names = [name.name for name in node.names]  # type: ignore[union-attr]
            assert policies or all(name[0].islower() for name in names), names


def test_widths_are_multiples_with_presets_wherever_they_are_declared() -> None:
    widths = form_of(Intervals([5, 10]))[0]
    assert widths.kind == "multiples" and (10, 50) in widths.examples
    assert {field.name: field.kind for field in form_of(Order)}["sizes"] == "multiples"
    assert starting_values(Intervals, None) == {"widths": (5, 10, 20)}


@pytest.mark.parametrize("name", sorted(registry.family("hierarchies")))
def test_every_kind_of_hierarchy_says_what_the_workbench_asks(name: str) -> None:
    kind = registry.family("hierarchies")[name]
    assert kind.title and kind.by_hand in ("yes", "as a list", "no")
    rows = [("nurse", "health", "*"), ("cook", "food", "*")]
    listed = kind.from_paths(rows, "rest")
    assert (listed is not None) == (kind.by_hand == "yes")
    if listed is not None:
        assert listed.paths(["nurse", "cook"], [1, 1]).rows == tuple(rows)
        assert listed.catch_all == "rest" and listed.adopting("x").catch_all == "x"
    first = kind.from_values({"12": 3, "7": 1})
    assert first is None or first.name == name
