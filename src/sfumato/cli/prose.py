"""Docstrings as a person reads them on a terminal: no markup, formulas in plain signs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

SIGNS = {
    r"\ge": "≥", r"\le": "≤", r"\ne": "≠", r"\sum": "Σ", r"\prod": "Π", r"\max": "max", r"\min": "min", r"\log": "log",
    r"\ln": "ln", r"\exp": "exp", r"\cdot": "·", r"\times": "×", r"\in": "∈", r"\infty": "∞", r"\alpha": "α",
    r"\beta": "β", r"\delta": "δ", r"\epsilon": "ε", r"\varepsilon": "ε", r"\lambda": "λ", r"\sup": "sup", r"\int": "∫",
    r"\setminus": "∖", r"\quad": "  ", r"\,": " ", r"\left": "", r"\right": "", r"\lceil": "⌈", r"\rceil": "⌉", r"\lfloor": "⌊",
    r"\rfloor": "⌋", r"\dots": "…", r"\ldots": "…", r"\pi": "π", r"\theta": "θ", r"\mid": "|", r"\approx": "≈",
    r"\qquad": "; ", r"\tau": "τ", r"\sqsubseteq": "⊑", r"\ ": " ",
}  # fmt: skip
OPEN, CLOSE = "\ue000", "\ue001"
"""Stand for braces that are meant, while those that group are taken away."""


AGAINST = {
    "identity": "limits who can be recognised",
    "attribute": "limits what can be learned about somebody",
    "both": "limits who can be recognised and what can be learned about them",
    "membership": "limits what can be learned about who is in the table",
}
PROTECTS = {
    "respondent": "the people the data are about",
    "owner": "whoever holds the data",
    "user": "whoever asks questions of the data",
}
SETTING = {
    "publish": "a table is published",
    "share result": "results are shared",
    "compute result": "results are computed",
}


def nature(described: Mapping[str, Any]) -> list[str]:
    """What kind of promise a model makes, one line a fact."""
    facts, depends = described["facts"], described.get("depends", {})
    monotone, shrinking, by_class = described["monotone"], described["shrinking"], described["scope"] == "class"
    found = {
        "against": AGAINST[facts["against"]],
        "measure": "a yes or no" if facts["measure"] == "boolean" else "a number",
        "truthful": "what is released stays true" if facts["truthful"] else "released values may be changed at random",
        "protects": PROTECTS[facts["protects"]],
        "setting": SETTING[facts["setting"]],
        "monotone": f"making data coarser {'never breaks it' if monotone else 'can break it'}",
        "shrinking": f"coarser data {'never need' if shrinking else 'may need'} more records suppressed",
        "scope": "each class holds or fails by itself" if by_class else "it depends on all classes together",
    }
    lines = [
        f"{name}: {text}" + (f" ({plain(depends[name])})" if name in depends else "") for name, text in found.items()
    ]
    others = [name for name in described.get("implies", ()) if name != described["name"]]
    return [*lines, f"implies, when strong enough: {', '.join(others) or 'no other model'}"]


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
    >>> formula(r"\Bigl|\ln \frac{x_{i+1} - x_i}{2H}\Bigr| < \delta \quad\text{for all } i")
    '|ln (x_(i+1) - x_i)/(2H)| < δ for all i'
    """
    text = latex.replace(r"\{", OPEN).replace(r"\}", CLOSE)
    text = re.sub(r"\\(?:left|right|[Bb]igg?[lr]?)(?![a-zA-Z])", "", text)
    text = re.sub(r"\\text\{([^{}]*)\}", r" \1 ", text)
    text = re.sub(r"\\(?:mathrm|operatorname|mathcal)\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\hat\s*\{?(\w)\}?", "\\1\u0302", text)
    text = re.sub(r"([_^])\{([^{}]*)\}", lambda m: m[1] + (m[2] if len(m[2]) == 1 else f"({m[2]})"), text)
    text = re.sub(r"\\t?frac\s*(\{[^{}]*\}|\w)\s*(\{[^{}]*\}|\w)", lambda m: f"{_group(m[1])}/{_group(m[2])}", text)
    text = re.sub(r"\\[a-zA-Z]+|\\[, ]", lambda m: SIGNS.get(m[0], m[0].lstrip("\\")), text)
    text = text.replace("{", "(").replace("}", ")").replace(OPEN, "{").replace(CLOSE, "}")
    return re.sub(r" (?=;)|,(?=;)", "", re.sub(r"\s+", " ", text)).replace(",;", ";").strip()


def _group(part: str) -> str:
    inner = part.strip("{}").strip()
    return inner if re.fullmatch(r"\d+|\\?[a-zA-Z]+(_\w+)?|\|[^|]*\|", inner) else f"({inner})"


def paragraphs(doc: str) -> list[str]:
    """The paragraphs of a docstring, each on one line; formulas and examples keep their lines, indented."""
    found: list[str] = []
    within_formula = False
    for block in re.split(r"\n\s*\n", doc.strip()):
        within_formula = block.startswith(".. math::") or (within_formula and block.startswith(" "))
        if within_formula:
            found.append("    " + formula(block.removeprefix(".. math::")))
        elif block.lstrip().startswith(">>>") or block.startswith((" ", "::", "|", "..")):
            found.append(block)
        else:
            found.append(plain(re.sub(r"\s*\n\s*", " ", block)))
    return found
