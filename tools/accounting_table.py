"""Write the table of what steps do to a certified ε into docs/explanation/bridge.md, from the registry:
``python tools/accounting_table.py``.
"""

from __future__ import annotations

from pathlib import Path

from sfumato.core import registry
from sfumato.core.step import LOOKS, declaration_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "bridge.md"
BEGIN, END = "<!-- accounting: begin -->\n", "<!-- accounting: end -->"


def table() -> str:
    """One row a step that declares something; those that declare nothing together, as what they are
    then.
    """
    rows = ["| step | what it does to ε | when; otherwise it looks |", "|---|---|---|"]
    silent = []
    for name, cls in registry.family("steps").items():
        declared = declaration_of(cls)
        if declared == LOOKS:
            silent.append(f"`{name}`")
        else:
            rows.append(f"| `{name}` | {declared.effect} | {declared.when} |")
    rows.append(f"| {', '.join(silent)} | {LOOKS.effect} | {LOOKS.when} |")
    return "\n".join(rows) + "\n"


def page(text: str) -> str:
    """The page with the table as it should be."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
