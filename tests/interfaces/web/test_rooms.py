"""The workbench keeps apart what draws and what does not, and markup never comes from data."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import sfumato.interfaces.web

ROOM = Path(sfumato.interfaces.web.__file__).parent
DRAWING = {"nicegui", "fastapi", "starlette", "uvicorn"}


def imported(tree: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names


@pytest.mark.parametrize(
    "file", sorted(ROOM.glob("*.py")) + sorted((ROOM / "tasks").glob("*.py")), ids=lambda f: f.name
)
def test_only_pages_and_the_server_draw(file: Path) -> None:
    # rest.py answers requests of programs with JSON.
    if file.name not in ("server.py", "rest.py"):
        assert not imported(ast.parse(file.read_text("utf-8"))) & DRAWING


@pytest.mark.parametrize("file", sorted((ROOM / "pages").glob("*.py")), ids=lambda f: f.name)
def test_no_value_can_become_markup_or_script(file: Path) -> None:
    """``props`` takes a string that is parsed; ``html``, ``markdown``, ``add_slot`` and
    ``run_javascript`` take markup or script.
    """
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        name = node.func.attr
        assert name not in (
            "html",
            "markdown",
            "add_slot",
        ), f"{file.name}:{node.lineno} makes markup"
        if name in ("props", "run_javascript", "add_head_html", "add_body_html", "style"):
            fixed = all(
                isinstance(a, ast.Constant) or (isinstance(a, ast.Name) and a.id.isupper())
                for a in node.args
            )
            assert fixed, f"{file.name}:{node.lineno}: {name} with something that is not constant"
