"""The reference is that of the code."""

from __future__ import annotations

import dataclasses
import re
import runpy
from pathlib import Path

import pytest
from pydantic import Field

import sfumato
from sfumato.core import registry
from sfumato.core.shape import Shape
from sfumato.interfaces.cli.app import COMMANDS

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[1] / "tools" / "reference.py"))


def text(name: str) -> str:
    return (TOOL["FOLDER"] / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TOOL["PAGES"])
def test_the_page_is_that_of_the_code(name):
    assert text(name) == TOOL["PAGES"][name](), "run python tools/reference.py"


def test_every_page_can_be_found():
    index = text("index")
    names = {path.stem for path in TOOL["FOLDER"].iterdir()} - {"index"}
    assert set(TOOL["PAGES"]) <= names
    assert all(re.search(rf"^{name}$", index, re.MULTILINE) for name in names)


PAGE_OF_SHAPE = {
    Shape.BASKETS: "baskets",
    Shape.PATHS: "paths",
    Shape.GRAPH: "graphs",
    Shape.TABLES: "relations",
}


def entries(page: str) -> list[str]:
    return re.findall(r"^### `(\w+)`$", text(page), re.MULTILINE)


@pytest.mark.parametrize("shape", PAGE_OF_SHAPE)
def test_every_member_has_one_entry(shape):
    expected = [name for family in TOOL["HEADINGS"] for name in registry.family(family, shape)]
    assert entries(PAGE_OF_SHAPE[shape]) == expected


def test_every_requirement_and_step_of_tables_has_one_entry():
    assert entries("requirements") == list(registry.family("models", Shape.TABLE))
    steps = [name for page in TOOL["STEP_PACKAGES"] for name in entries(page)]
    assert sorted(steps) == sorted(registry.family("steps", Shape.TABLE))


def test_every_command_and_name_has_a_row():
    assert all(f"| `sfumato {name}` |" in text("commands") for name in COMMANDS)
    assert all(f"`sf.{name}`" in text("names") for name in sfumato.__all__ if name != "__version__")


@pytest.mark.parametrize("name", TOOL["PAGES"])
def test_nothing_is_left_without_a_word(name):
    assert not re.search(r"^\|[^|]*\|(?:[^|]*\|)?\s*\|$", text(name), re.MULTILINE)
    assert not re.search(
        r":(math|func|class|mod|meth):`|\.\. \w+::|^>>> ", text(name), re.MULTILINE
    )


def test_defaults_are_those_of_a_recipe():
    @dataclasses.dataclass
    class Some:
        must: int
        plain: float = 0.5
        yes: bool = True
        nothing: str | None = None
        several: tuple[int, ...] = (1, 2)
        made: dict[str, int] = dataclasses.field(default_factory=dict)
        checked: int = Field(default=3, ge=1)

    told = [TOOL["default_of"](field) for field in dataclasses.fields(Some)]
    assert told == ["required", "0.5", "true", "–", "[1, 2]", "{}", "3"]


def test_small_letters_stay_small():
    class Some:
        r"""Written (K, C)\ :sub:`L`, and ``x``."""

    assert TOOL["told_by"](Some) == "Written (K, C)<sub>L</sub>, and `x`."
