"""The table of models in the documentation is the registry's."""

from __future__ import annotations

import runpy
from pathlib import Path

from sfumato.core import registry

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[1] / "tools" / "models_table.py"))


def test_the_table_is_that_of_the_registry():
    text = TOOL["PAGE"].read_text(encoding="utf-8")
    assert TOOL["page"](text) == text, "run python tools/models_table.py"
    assert all(f"| `{name}` |" in text for name in registry.family("models"))


def test_every_model_has_a_formula_without_markup():
    rows = TOOL["table"]().splitlines()[2:]
    assert len(rows) == len(registry.family("models"))
    for row in rows:
        formula = row.split("`")[3].replace(r"\|", "|")
        assert formula and "\\" not in formula and "frac" not in formula
