"""The page of all risks, attacks and utilities is that of the registry."""

from __future__ import annotations

import importlib
import re
import runpy
from pathlib import Path

import pytest

from sfumato.core import registry

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[1] / "tools" / "measures_page.py"))


@pytest.mark.parametrize("path", TOOL["PAGES"], ids=lambda path: path.name)
def test_the_page_is_that_of_the_registry(path):
    text = path.read_text(encoding="utf-8")
    assert TOOL["PAGES"][path](text) == text, "run python tools/measures_page.py"


def test_the_tables_have_a_row_for_everything():
    assert all(f"| `{name}` |" in TOOL["metrics"]() for name in registry.family("utility"))
    assert all(f"`{name}`" in TOOL["intruders"]() for name in registry.attacks())


def test_every_measure_has_one_entry():
    headings = re.findall(r"^### `(\w+)`$", TOOL["PAGE"].read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(headings) == sorted([*registry.family("risk"), *registry.family("utility")])


@pytest.mark.parametrize("name", ["risks", "attacks", "utility"])
def test_no_markup_of_docstrings_is_left(name):
    text = re.sub(r"\$\$.*?\$\$|\$[^$]*\$", "", TOOL["section"](name), flags=re.DOTALL)
    assert not re.search(r":(math|func|class|mod|meth):`|``|\.\. \w+::|^>>> ", text, re.MULTILINE)
    assert text.count("$") == 0


def test_a_definition_that_is_told_by_a_function_is_shown():
    assert r"{}_2F_1(f, f; f+1; 1-\hat p)" in TOOL["entry"](
        registry.family("risk")["individual_risk"], "risk"
    )


def test_markup_becomes_markdown():
    doc = (
        "Sum of ``x``, :math:`x\n\\ge 0` as in :class:`~a.b.Means`.\n\n.. math:: x\n     + 1\n\nSee"
        " doi:10.1/a.b.\n\n>>> 1\n1"
    )
    told = (
        "Sum of `x`, $x \\ge 0$ as in `Means`.\n\n$$\nx\n+ 1\n$$\n\nSee"
        " [doi:10.1/a.b](https://doi.org/10.1/a.b)."
    )
    assert TOOL["text_of"](doc) == told


def test_the_page_on_utility_names_every_metric():
    text = (TOOL["GUIDES"] / "utility.md").read_text(encoding="utf-8")
    assert not [name for name in registry.family("utility") if f"`{name}`" not in text]


def test_the_page_on_masking_tells_every_secret_parameter():
    text = (TOOL["GUIDES"] / "masking.md").read_text(encoding="utf-8")
    left_out = text.partition("## What the certificate leaves out")[2].partition("\n## ")[0]
    rows = [row for row in left_out.splitlines() if row.startswith("| `")]
    for name, cls in registry.family("steps").items():
        told = " ".join(row for row in rows if f"`{name}`" in row)
        assert not [field for field in getattr(cls, "secret", ()) if f"`{field}`" not in told]


def test_classes_are_where_the_page_says():
    named = re.findall(r"In Python `([\w.]+)\.(\w+)`", TOOL["PAGE"].read_text(encoding="utf-8"))
    assert len(named) > 60
    for module, name in named:
        assert isinstance(getattr(importlib.import_module(module), name), type)
