"""A result as a widget of a notebook: the blocks that it has everywhere, with tables that can be
sorted and filtered. It is plain HTML with its own script, so it needs no server and no package.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Sequence
from pathlib import Path

from sfumato.core.block_html import render_notebook
from sfumato.core.blocks import Block, render_text

STYLE = (
    ".sfumato thead button { all: unset; cursor: pointer; font-weight: 600 }"
    ".sfumato thead button:focus-visible { outline: 2px solid }"
    '.sfumato th[aria-sort="ascending"] button::after { content: " ▲" }'
    '.sfumato th[aria-sort="descending"] button::after { content: " ▼" }'
)


@dataclasses.dataclass(frozen=True, repr=False)
class Widget:
    """Blocks that a notebook draws and that answer to clicks; as text elsewhere."""

    blocks: Sequence[Block]

    def __repr__(self) -> str:
        return render_text(self.blocks)

    def _repr_html_(self) -> str:
        """The blocks with a script that finds them by a name of their own: a notebook shows many.

        >>> from sfumato.core.blocks import Paragraph
        >>> html = Widget([Paragraph("</script><script>alert(1)</script>")])._repr_html_()
        >>> html.count("<script>"), html.count("</script>")
        (1, 1)
        """
        name = f"sfumato-{secrets.token_hex(8)}"
        script = Path(__file__).with_name("widget.js").read_text("utf-8")
        function = "\n".join(line for line in script.splitlines() if not line.startswith("//"))
        return (
            f'<style>{STYLE}</style><div id="{name}">{render_notebook(self.blocks)}</div>'
            f"<script>({function})(document.getElementById({name!r}));</script>"
        )
