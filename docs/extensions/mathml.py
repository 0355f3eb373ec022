"""Formulas as MathML, which browsers draw by themselves: the usual renderer would load a script from the network."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator


logger = logging.getLogger(__name__)


def _mathml(node: nodes.Node, *, block: bool) -> str:
    formula = re.sub(
        r"\\dots(?![a-zA-Z])", r"\\ldots", node.astext()
    )  # known by the longer name only
    try:
        return latex2mathml.tex2mathml(formula, as_block=block)
    except MathError as error:
        logger.warning("this formula cannot be drawn: %s", error, location=node)
        return html.escape(node.astext())


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a sentence."""
    self.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight"))
    self.body.append(_mathml(node, block=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
