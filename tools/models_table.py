"""Write the table of all models into docs/reference/models.md, from the registry:
``python tools/models_table.py``.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from sfumato.core import registry
from sfumato.interfaces.cli.docstring_text import formula
from sfumato.interfaces.cli.explain import AGAINST

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "models.md"
BEGIN, END = "<!-- models: begin -->\n", "<!-- models: end -->"


def table() -> str:
    """One row a model: its name in a recipe, its formula, what it limits, whether coarser data keep
    it.
    """
    rows = ["| model | promise | it limits | coarser data keep it |", "|---|---|---|---|"]
    for name, cls in registry.family("models").items():
        described = registry.describe(cls)
        limits = AGAINST[described["facts"]["against"]].removeprefix("limits ")
        kept = "yes" if described["monotone"] else "no"
        if "monotone" in described.get("depends", {}):
            kept += ", but not in every variant"
        rows.append(f"| `{name}` | `{cell(inspect.getdoc(cls) or '')}` | {limits} | {kept} |")
    return "\n".join(rows) + "\n"


def cell(doc: str) -> str:
    """The formula of a docstring in plain signs, on one line."""
    block = re.search(r"\.\. math::(.*?)(?=\n\n\S|\Z)", doc, re.DOTALL)
    lines = re.split(r"\n\s*\n", block[1].strip()) if block else []
    return "; ".join(formula(line) for line in lines).replace("|", r"\|")


def page(text: str) -> str:
    """The page with the table as it should be."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
