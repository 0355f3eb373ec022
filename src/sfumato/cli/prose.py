"""Docstrings as a person reads them on a terminal: no markup, formulas in plain signs."""

from __future__ import annotations

import re

SIGNS = {
    r"\ge": "≥", r"\le": "≤", r"\ne": "≠", r"\sum": "Σ", r"\prod": "Π", r"\max": "max", r"\min": "min", r"\log": "log",
    r"\ln": "ln", r"\exp": "exp", r"\cdot": "·", r"\times": "×", r"\in": "∈", r"\infty": "∞", r"\alpha": "α",
    r"\beta": "β", r"\delta": "δ", r"\epsilon": "ε", r"\varepsilon": "ε", r"\lambda": "λ", r"\sup": "sup", r"\int": "∫",
    r"\setminus": "∖", r"\{": "{", r"\}": "}", r"\quad": "  ", r"\,": " ", r"\left": "", r"\right": "", r"\lceil": "⌈", r"\rceil": "⌉", r"\lfloor": "⌊",
    r"\rfloor": "⌋", r"\dots": "…", r"\ldots": "…", r"\pi": "π", r"\theta": "θ", r"\mid": "|", r"\approx": "≈",
}  # fmt: skip


def plain(text: str) -> str:
    r"""Text without reStructuredText markup.

    >>> plain(r"``k`` is :math:`\ge 1`, see :func:`judge` and *this*.")
    'k is ≥ 1, see judge and this.'
    """
    text = re.sub(r":math:`([^`]*)`", lambda m: formula(m[1]), text)
    text = re.sub(r":[a-z:]+:`~?([^`]*)`", lambda m: m[1].split(".")[-1], text)
    text = re.sub(r"``([^`]*)``", r"\1", text)
    return re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])", r"\1", text)


def formula(latex: str) -> str:
    r"""A formula in plain signs.

    >>> formula(r"\frac1N \sum_i \frac{1}{f_i} \ge \hat F")
    '1/N Σ_i 1/f_i ≥ F̂'
    """
    text = re.sub(r"\\frac\s*(\{[^{}]*\}|\w)\s*(\{[^{}]*\}|\w)", lambda m: f"{_group(m[1])}/{_group(m[2])}", latex)
    text = re.sub(r"\\hat\s*\{?(\w)\}?", "\\1\u0302", text)
    text = re.sub(r"\\(?:text|mathrm|operatorname)\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\[a-zA-Z]+|\\,", lambda m: SIGNS.get(m[0], m[0].lstrip("\\")), text)
    return re.sub(
        r"\s+", " ", re.sub(r"[_^]\{(\w)\}", lambda m: m[0][0] + m[1], text).replace("{", "(").replace("}", ")")
    ).strip()


def _group(part: str) -> str:
    inner = part.strip("{}")
    return inner if re.fullmatch(r"[\w\\]+(_\w+)?", inner) else f"({inner})"


def paragraphs(doc: str) -> list[str]:
    """The paragraphs of a docstring, each on one line; formulas and examples keep their lines, indented."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n", doc.strip()):
        if block.startswith(".. math::"):
            found.append("    " + formula(block.removeprefix(".. math::")))
        elif block.lstrip().startswith(">>>") or block.startswith((" ", "::", "|", "..")):
            found.append(block)
        else:
            found.append(plain(re.sub(r"\s*\n\s*", " ", block)))
    return found
