"""What the command line says: results to stdout, talk to stderr, progress on a terminal only."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.segment import Segment
from rich.text import Text

from sfumato.core.progress import must_compile, silent
from sfumato.errors import printable, printable_json

if TYPE_CHECKING:
    from sfumato.core.progress import Progress


@cache
def out() -> Console:
    """Where results go."""
    return _console(highlight=False, soft_wrap=False)


@cache
def err() -> Console:
    """Where talk goes."""
    return _console(stderr=True, highlight=False)


def _console(**options: Any) -> Console:
    """A console that shows control characters of names and values spelled out, wherever they stand in what is printed."""

    class Spelling(Console):
        def render_str(self, text: str, **options: Any) -> Text:  # before widths are measured
            return super().render_str(printable(text), **options)

        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else printable(text), style, control)

    return Spelling(**options)


def tell(text: str, *, quiet: bool = False) -> None:
    """Say something to the user, not to the pipe."""
    if not quiet:
        err().print(text, soft_wrap=True)


def give_json(document: Any) -> None:
    """Print a result for machines."""
    sys.stdout.write(printable_json(json.dumps(document, indent=2, ensure_ascii=False, default=str)) + "\n")


def share(value: float) -> str:
    """A share as a percentage a person can read.

    What is not nothing never looks as if it were.

    >>> share(0.0009), share(0.25), share(0.0), share(1.0), share(1 / 199_523)
    ('0.09%', '25.0%', '0%', '100%', '<0.01%')
    """
    if 0 < value < 0.0001:
        return "<0.01%"
    if value in (0.0, 1.0):
        return f"{value:.0%}"
    return f"{value:.2%}" if value < 0.01 else f"{value:.1%}"


def bar(value: float, width: int = 20) -> str:
    """A share as a bar of blocks.

    >>> bar(0.5, 4)
    '██░░'
    """
    full = round(max(0.0, min(1.0, value)) * width)
    return "█" * full + "░" * (width - full)


@contextlib.contextmanager
def progress(words: str, *, quiet: bool) -> Iterator[Progress]:
    """A progress bar on a terminal; silence elsewhere. Says when the first run has to compile."""
    if must_compile():
        tell("[dim]first run on this machine: compiling the fast loops once, a few seconds …[/]", quiet=quiet)
    if quiet or not err().is_terminal:
        yield silent
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err(), transient=True) as shown:
        task = shown.add_task(words, total=1.0)

        def update(share: float, words: str = "") -> None:
            shown.update(task, completed=share, description=words or None)

        yield update


def notes(found: Mapping[str, Any] | tuple[str, ...], *, quiet: bool) -> None:
    """Tell what reading decided."""
    for note in found:
        tell(f"[dim]note: {escape(str(note))}[/]", quiet=quiet)
