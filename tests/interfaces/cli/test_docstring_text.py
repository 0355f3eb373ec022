"""What ``explain`` prints of docstrings: formulas in signs, tables in lines, and numbers of other
tools converted rightly.
"""

from __future__ import annotations

import inspect
import re

import pytest

from sfumato.core import registry
from sfumato.core.shape import Shape
from sfumato.interfaces.cli.docstring_text import formula, paragraphs
from sfumato.release.report.differences import BY_MODEL, BY_STEP

WORDS = frozenset({"max", "min", "log", "ln", "exp", "sup", "Pr", "arg", "deg", "sin", "C"})


def members():
    for family in registry.FAMILIES:
        for shape in [Shape.TABLE] if family == "hierarchies" else list(Shape):
            yield from registry.family(family, shape).values()


def commands(latex: str) -> set[str]:
    """The names of signs in a formula that are written as words."""
    text = re.sub(r"\\(?:text|mathrm|operatorname|mathsf)\{[^{}]*\}", "", latex)
    return (
        set(re.findall(r"\\([a-zA-Z]+)", text))
        - WORDS
        - {"left", "right", "begin", "end", "big", "Big"}
    )


def test_no_formula_keeps_the_name_of_a_sign():
    kept = set()
    for cls in members():
        doc = inspect.getdoc(cls) or ""
        for latex in re.findall(r":math:`([^`]*)`", doc) + re.findall(
            r"\.\. math::((?:.|\n(?!\n))*)", doc
        ):
            shown = set(re.findall(r"[a-zA-Z]+", formula(latex)))
            kept |= {
                (cls.name, name) for name in commands(latex) if name in shown and len(name) > 2
            }
    assert kept == set()


def test_no_table_is_printed_as_a_paragraph():
    for cls in members():
        assert not any("====" in block for block in paragraphs(inspect.getdoc(cls) or "")), cls.name


@pytest.mark.parametrize(
    ("variance_of_noise", "method"),
    [(lambda noise: (noise / 100) ** 2, "additive"), (lambda noise: noise / 100, "correlated")],
)
def test_the_noise_of_sdcmicro_is_converted_by_its_method(variance_of_noise, method):
    """addNoise draws with a standard deviation of noise % of the column's (additive), or a
    covariance of noise % (correlated, restr).
    """
    ways = {"100·√alpha": lambda noise: (noise / 100) ** 2, "100·alpha": lambda noise: noise / 100}
    said = dict(re.findall(r"(100·√?alpha) for (\w+)", BY_STEP["add_noise"]))
    (way,) = [formula_ for formula_, named in said.items() if named == method]
    assert ways[way](10) == variance_of_noise(10)


def test_sentences_about_other_tools_are_those_of_the_page_on_differences():
    assert "1e-9" in BY_MODEL["l_diversity"] and "exactly" not in BY_MODEL["l_diversity"]
    assert "per class" not in BY_MODEL["beta_likeness"]
    assert "greedily" in BY_STEP["suppression"]
