"""Docstrings as a person reads them on a terminal: no markup, formulas in plain signs."""

from __future__ import annotations

import re

from sfumato.core.data_files import read_data_file

CALLIGRAPHIC = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "𝒜ℬ𝒞𝒟ℰℱ𝒢ℋℐ𝒥𝒦ℒℳ𝒩𝒪𝒫𝒬ℛ𝒮𝒯𝒰𝒱𝒲𝒳𝒴𝒵", strict=True))
OPEN, CLOSE = "\ue000", "\ue001"
"""Stand for braces that are meant, while those that group are taken away."""


def strip_markup(text: str) -> str:
    r"""Text without reStructuredText markup.

    >>> strip_markup(r"``k`` is :math:`\ge 1`, see :func:`judge` and *this*.")
    'k is ≥ 1, see judge and this.'
    """
    text = re.sub(r":math:`([^`]*)`", lambda match: formula(match[1]), text)
    text = re.sub(r":[a-z:]+:`~?([^`]*)`", lambda match: match[1].split(".")[-1], text)
    text = re.sub(r"``([^`]*)``", r"\1", text)
    return re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])", r"\1", text)


def formula(latex: str) -> str:
    r"""A formula in plain signs.

    >>> formula(r"\frac1N \sum_i \frac{1}{f_i} \ge \hat F")
    '1/N Σ_i 1/f_i ≥ F̂'
    >>> formula(r"\Bigl|\ln \frac{x_{i+1} - x_i}{2H}\Bigr| < \delta \quad\text{for all } i")
    '|ln (x_(i+1) - x_i)/(2H)| < δ for all i'
    >>> (
    ...     formula(r"s(X \cup Y) < \sigma"),
    ...     formula(r"\min_{A \in \mathcal A} f_A"),
    ...     formula(r"\bar x \sim N(0, \chi^2)"),
    ... )
    ('s(X ∪ Y) < σ', 'min_(A ∈ 𝒜) f_A', 'x̄ ~ N(0, χ^2)')
    """
    signs = read_data_file("sfumato.interfaces.cli", "latex_signs")
    text = latex.replace(r"\{", OPEN).replace(r"\}", CLOSE)
    # \left, \Bigl and the like only set the size of brackets.
    text = re.sub(r"\\(?:left|right|[Bb]igg?[lr]?)(?![a-zA-Z])", "", text)
    text = re.sub(r"\\text\{([^{}]*)\}", r" \1 ", text)
    text = re.sub(r"\\(?:mathrm|operatorname|mathsf)\{([^{}]*)\}", r"\1", text)
    letter = r"\s*(\{)?(\w)(?(1)\})"  # what a sign stands over: a letter, in braces or not
    text = re.sub(rf"\\mathsf{letter}", r"\2", text)
    text = re.sub(rf"\\mathcal{letter}", lambda match: CALLIGRAPHIC.get(match[2], match[2]), text)
    text = re.sub(rf"\\hat{letter}", "\\2\u0302", text)
    text = re.sub(rf"\\bar{letter}", "\\2\u0304", text)
    text = re.sub(r"\\binom\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r"C(\1, \2)", text)
    # One sign needs no parentheses: x_{i} → x_i, but x_{i+1} → x_(i+1).
    text = re.sub(r"([_^])\{([^{}])\}", r"\1\2", text)
    text = re.sub(r"([_^])\{([^{}]*)\}", r"\1(\2)", text)
    fraction = re.compile(r"\\t?frac\s*(\{[^{}]*\}|\w)\s*(\{[^{}]*\}|\w)")
    while fraction.search(text):  # from the inner ones outwards
        text = fraction.sub(lambda match: f"{_group(match[1])}/{_group(match[2])}", text)
    text = re.sub(
        r"\\[a-zA-Z]+|\\[, ]", lambda match: signs.get(match[0], match[0].lstrip("\\")), text
    )
    text = text.replace("{", "(").replace("}", ")").replace(OPEN, "{").replace(CLOSE, "}")
    text = re.sub(r"\s+", " ", text)
    return re.sub(r" (?=;)|,(?=;)", "", text).replace(",;", ";").strip()


def _group(part: str) -> str:
    """A part of a fraction, in parentheses where it is more than one sign."""
    inner = part.strip("{}").strip()
    if re.fullmatch(r"\d+|\\?[a-zA-Z]+(_\w+)?|\|[^|]*\|", inner):
        return inner
    return f"({inner})"


def paragraphs(doc: str) -> list[str]:
    """The paragraphs of a docstring, each on one line; formulas and examples keep their lines,
    indented.
    """
    blocks: list[str] = []
    within_formula = False
    for block in re.split(r"\n\s*\n", doc.strip()):
        table = simple_table(block)
        within_formula = block.startswith(".. math::") or (within_formula and block.startswith(" "))
        if within_formula:
            blocks.append("    " + formula(block.removeprefix(".. math::")))
        elif table is not None:
            rows = ["  " + "; ".join(strip_markup(cell) for cell in row if cell) for row in table]
            blocks.append("\n".join(rows))
        elif block.lstrip().startswith(">>>") or block.startswith((" ", "::", "|", "..")):
            blocks.append(block)
        else:
            blocks.append(strip_markup(re.sub(r"\s*\n\s*", " ", block)))
    return blocks


def simple_table(block: str) -> list[list[str]] | None:
    r"""The rows of a reStructuredText table whose columns stand under rules of ``=``; None for any
    other text.

    >>> simple_table("====  ===\nk     why\n====  ===\n3     a\n      b\n====  ===")
    [['k', 'why'], ['3', 'a b']]
    """
    lines = block.splitlines()
    if len(lines) < 4:
        return None
    rule = lines[0].strip()
    if not re.fullmatch(r"=+( +=+)+", rule) or lines[-1].strip() != rule:
        return None
    starts = [match.start() for match in re.finditer(r"=+", lines[0])]
    ends = [*starts[1:], None]
    rows: list[list[str]] = []
    for line in lines:
        if line.strip() == rule:
            continue
        cells = [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]
        if cells[0] or not rows:
            rows.append(cells)
            continue
        # A line without a first cell goes on with the row above it.
        above = rows[-1]
        rows[-1] = [
            f"{cell} {continuation}".strip()
            for cell, continuation in zip(above, cells, strict=True)
        ]
    return rows
