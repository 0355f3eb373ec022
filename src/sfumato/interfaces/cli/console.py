"""What the command line says: results to stdout, talk and progress to stderr."""

from __future__ import annotations

import codecs
import contextlib
import difflib
import io
import json
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Protocol, TextIO

from rich.console import Console
from rich.markup import escape
from rich.segment import Segment
from rich.text import Text

from sfumato.core.blocks import (
    Block,
    Cell,
    ChartBlock,
    CodeBlock,
    FoldBlock,
    Heading,
    ListBlock,
    Paragraph,
    Share,
    TableBlock,
    VerdictBlock,
    cell_text,
    numeric_columns,
)
from sfumato.core.fields import Document
from sfumato.core.progress import Progress, must_compile, silent
from sfumato.core.words import join_words, percent
from sfumato.errors import did_you_mean, printable, printable_json


class SpellingConsole(Console):
    """A console that shows control characters of names and values spelled out, wherever they stand
    in what is printed.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        """Text with markup, spelled out before widths are measured."""
        return super().render_str(printable(text), **options)

    def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
        """The parts of what is printed, their text spelled out."""
        # Control segments move the cursor and pass as they are.
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)


@cache
def out() -> Console:
    """Where results go."""
    return SpellingConsole(highlight=False, soft_wrap=False)


@cache
def err() -> Console:
    """Where talk goes."""
    return SpellingConsole(stderr=True, highlight=False)


def tell(text: str, *, quiet: bool = False) -> None:
    """Say something to the user, not to the pipe."""
    if not quiet:
        err().print(text, soft_wrap=True)


def tell_next(command_line: str, *, quiet: bool = False) -> None:
    """Say which command comes next."""
    tell(f"next:  {escape(command_line)}", quiet=quiet)


def give_json(document: object) -> None:
    """Print a result for machines; where stdout does not take all letters they are escaped as JSON
    does.
    """
    plain = not _takes_all(sys.stdout)
    text = json.dumps(document, indent=2, ensure_ascii=plain, default=str)
    sys.stdout.write(f"{printable_json(text)}\n")


class Presentable(Protocol):
    """What a verb gives: blocks for people, plain data for machines."""

    def blocks(self) -> Sequence[Block]:
        """What is shown, without a data value of a person."""
        ...

    def to_dict(self) -> Document:
        """The same as plain data."""
        ...


def present(result: Presentable, *, json: bool) -> None:
    """Show the result of a verb: as blocks, or as JSON."""
    if json:
        give_json(result.to_dict())
    else:
        show_blocks(result.blocks())


def documents_to_stdout() -> TextIO:
    """Where a recipe or a table is printed that a program reads again: in UTF-8, whatever the
    terminal takes.
    """
    if not _takes_all(sys.stdout) and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    return sys.stdout


STAND_INS = {
    "✓": "[ok]",
    "✗": "[no]",
    "≈": "~",
    "→": "->",
    "–": "-",
    "—": "-",
    "−": "-",
    "…": "...",
    "·": "-",
    "•": "*",
    "█": "#",
    "░": ".",
    "×": "x",
    "≤": "<=",
    "≥": ">=",
    "ε": "epsilon",
    "δ": "delta",
    "β": "beta",
    "±": "+-",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "²": "^2",
}
"""What is printed for signs of ours where a terminal has none."""


def spell_out_signs() -> None:
    """Let streams that do not take all letters have others for them, instead of an error in the
    middle of a sentence.
    """
    # Streams take the name of an error handler, not a function.
    codecs.register_error("sfumato", _stand_in)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not _takes_all(stream):
            stream.reconfigure(errors="sfumato")


def _stand_in(error: UnicodeError) -> tuple[str, int]:
    """ASCII for the signs that could not be written; of unknown ones their number, so that nothing
    is taken for another.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(STAND_INS.get(sign) or f"\\u{ord(sign):04x}" for sign in signs), error.end


def _takes_all(stream: object) -> bool:
    # A stream that names no encoding, such as one in memory, takes all letters.
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        # UTF-8, UTF-16 and their kin take every letter.
        return codecs.lookup(encoding).name.startswith("utf")
    except LookupError:
        return False


def bar(value: float, width: int = 20) -> str:
    """A share as a bar of blocks.

    >>> bar(0.5, 4)
    '██░░'
    """
    full = round(max(0.0, min(1.0, value)) * width)
    return "█" * full + "░" * (width - full)


# Blocks of a result in colour; see core/blocks.py.

BAR = 8
"""Characters of a bar: tables of shares fit 80."""
_TONES = {"plain": "", "strong": "bold", "quiet": "dim", "warning": "yellow"}
_COLOURS = {"✓": "green", "✗": "red", "?": "yellow", "●": "green"}
_CODE = re.compile("`([^`]+)`")


def show_blocks(blocks: Iterable[Block]) -> None:
    """Print what a result says. Folded blocks are left to pages: a terminal has nothing to click
    on.
    """
    console = out()
    previous: Block | None = None
    for block in blocks:
        if isinstance(previous, TableBlock) and not getattr(block, "caption", ""):
            console.print()  # a table ends where something else begins
        match block:
            case Heading(text, _):
                console.print(f"\n[bold]{_inline(text)}[/]", soft_wrap=True)
            case Paragraph(text, tone):
                sign = "! " if tone == "warning" else ""
                console.print(Text.from_markup(f"{sign}{_inline(text)}", style=_TONES[tone]))
            case VerdictBlock(_, title, sentence, headline):
                colour = _COLOURS[block.mark]
                if headline:
                    console.print(f"[bold {colour}]{_inline(block.text)}[/]\n", soft_wrap=True)
                else:
                    about = f": {_inline(sentence)}" if sentence else ""
                    name = f"[bold]{_inline(title)}[/]" if sentence else _inline(title)
                    line = f"[{colour}]{block.mark}[/] {name}{about}"
                    console.print(line, soft_wrap=block.holds is not None)
            case ListBlock(entries, title):
                if title:
                    console.print(f"\n{_inline(title)}", soft_wrap=True)
                for entry in entries:
                    console.print(f"  {_inline(entry)}", soft_wrap=True)
            case TableBlock():
                _show_table(block)
            case CodeBlock(text, _):
                console.print(text, markup=False, soft_wrap=True)
            case ChartBlock() | FoldBlock():
                pass  # a terminal shows the table beside a chart, and has nothing to unfold
        previous = block


def _show_table(block: TableBlock) -> None:
    from rich.table import Table

    if block.caption:
        # What stands before the colon is a name, the rest says what the table shows.
        name, colon, story = block.caption.partition(": ")
        caption = _inline(name)
        if colon:
            caption = f"[bold]{caption}[/]{colon}[dim]{_inline(story)}[/]"
        out().print(f"\n{caption}")
    table = Table(box=None, pad_edge=False, header_style="dim", show_header=any(block.header))
    for head, numeric in zip(block.header, numeric_columns(block), strict=True):
        table.add_column(_inline(head), justify="right" if numeric else "left", overflow="fold")
    for row in block.rows:
        table.add_row(*map(_cell, row))
    out().print(table)


def _cell(cell: Cell) -> str:
    if isinstance(cell, Share) and cell.bar:
        return f"{bar(cell.value, BAR)} {percent(cell.value):>7}"
    words = _inline(cell_text(cell))
    # A cell that begins with a sign of a verdict: the sign alone is coloured.
    colour = _COLOURS.get(words[:1])
    if not colour:
        return words
    return f"[{colour}]{words[0]}[/]{words[1:]}"


def _inline(text: str) -> str:
    """A sentence without markup of its own; what stands between backticks is a command."""
    return _CODE.sub(r"[cyan]\1[/]", escape(text))


@contextlib.contextmanager
def progress(words: str, *, quiet: bool) -> Iterator[Progress]:
    """A progress bar on a terminal, elsewhere a line now and then. Says when the first run has to
    compile.
    """
    if must_compile():
        tell(
            "[dim]first run on this machine: compiling the fast loops once, a few seconds …[/]",
            quiet=quiet,
        )
    if quiet:
        yield silent
        return
    # A pipe or a log has no use for a bar that is drawn again and again.
    if not err().is_terminal:
        yield _lines_now_and_then(words)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err(), transient=True) as bars:
        task = bars.add_task(words, total=1.0)

        def update(share: float, words: str = "") -> None:
            bars.update(task, completed=share, description=words or None)

        yield update


LINE_EVERY = 15.0
"""Seconds between two lines of progress in a log; short work says nothing."""


def _lines_now_and_then(words: str) -> Progress:
    """Progress as lines: ``trying to meet the terms: Mondrian, 52 %``."""
    last_time, description = time.monotonic(), words

    def update(share: float, words: str = "") -> None:
        nonlocal last_time, description
        description = words or description
        now = time.monotonic()
        if now - last_time >= LINE_EVERY:
            last_time = now
            tell(f"[dim]{escape(description)}, {percent(share, 0)}[/]", quiet=False)

    return update


def notes(sentences: Iterable[str], *, quiet: bool) -> None:
    """Tell what reading decided."""
    for sentence in sentences:
        tell(f"[dim]note: {escape(sentence)}[/]", quiet=quiet)


# Wrong usage of the command line, in our own words.

_WORDS_OF_PYDANTIC = (
    (r"Input should be a valid (number|decimal).*", "a number is needed"),
    (r"Input should be a valid integer.*", "a whole number is needed"),
    (r"Input should be a valid boolean.*", "true or false is needed"),
    (
        r"Input should be (greater|less) than or equal to (\S+)",
        r"it should be \1 than or equal to \2",
    ),
    (r"Input should be (greater|less) than (\S+)", r"it should be \1 than \2"),
)
"""What the command framework says of a wrong value, and what we say."""
UNKNOWN_COMMAND = re.compile(r"No such command '(.*)'\..*", flags=re.DOTALL)
SURPLUS_WORDS = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", flags=re.DOTALL)
MOVED = {
    "check-sql": "check --sql",
    "choose-k": "explain k_anonymity --risk",
    "hierarchy": "profile --column",
    "integral": "outputs stable",
    "keygen": "key sign",
    "party keys": "key party",
    "plan": "explain bucketize --plan",
    "vault new-key": "key vault",
}
"""Commands by names they once had, and what they are called now."""


def in_our_words(error: Any) -> str:
    """What was wrong with the words of a command, and where its help is.

    ``error`` is what the command framework raised; its classes are private, so it is told by what
    it knows: the parameter that lacks a value or has a wrong one, the option that nobody has.
    """
    context = getattr(error, "ctx", None)
    message = str(getattr(error, "message", ""))
    unknown = UNKNOWN_COMMAND.fullmatch(message)
    if unknown is not None and context is not None:
        name = unknown[1]
        if context.parent is not None:
            name = f"{context.info_name} {name}"
        # Who knew the command by its old name is told the new one, not the nearest spelling.
        if name in MOVED:
            return f"sfumato {name} is now called sfumato {MOVED[name]}; use that"
    command = getattr(context, "command_path", "sfumato")
    return f"{_reason(error, message, context)}\nSee {command} --help"


def _reason(error: Any, message: str, context: Any) -> str:
    parameter = getattr(error, "param", None)
    # Only an error about a missing parameter has a type of parameter.
    if hasattr(error, "param_type"):
        return f"{_spelling(parameter)} is missing{_meaning(parameter)}"
    if parameter is not None:
        return f"{_spelling(parameter)}: {_translate(message)}{_meaning(parameter)}"
    option = getattr(error, "option_name", None)
    if option is None:
        return _about_words(message, context)
    # Only an option that nobody has comes with possibilities; else its value is missing.
    if not hasattr(error, "possibilities"):
        return f"{option} needs a value after it"
    options: list[str] = []
    if context is not None:
        for parameter in getattr(context.command, "params", ()):
            options += parameter.opts
    return f"option {option} does not exist.{_nearest_option(option, options)}".rstrip(".")


def _nearest_option(option: str, options: Iterable[str]) -> str:
    """The option that was meant, compared without the dashes that all have; else all of them, where
    they are few.

    >>> (
    ...     _nearest_option("--quite", ["--key", "--quiet"]),
    ...     _nearest_option("--because", ["--key", "--quiet", "-q"]),
    ... )
    (" Did you mean '--quiet'?", ' There are: --key, --quiet.')
    """
    long = {name.removeprefix("--"): name for name in options if name.startswith("--")}
    # A lower bar than the usual 0.6: option names are short, and one wrong letter weighs much.
    near = difflib.get_close_matches(option.lstrip("-"), list(long), n=1, cutoff=0.5)
    if near:
        return f" Did you mean {long[near[0]]!r}?"
    return did_you_mean("", long.values())


def _about_words(message: str, context: Any) -> str:
    """A command nobody has, or more words than a command takes."""
    if unknown := UNKNOWN_COMMAND.fullmatch(message):
        if context:
            commands = list(getattr(context.command, "commands", ()))
        else:
            commands = []
        hint = did_you_mean(unknown[1], commands)
        return f"command {unknown[1]!r} does not exist.{hint}".rstrip(".")
    if surplus := SURPLUS_WORDS.fullmatch(message):
        command = context.command_path if context else "the command"
        return f"{command} takes fewer arguments; remove {surplus[1]}"
    return _translate(message)


def _spelling(parameter: Any) -> str:
    """An option by its names, an argument in angle brackets."""
    names = list(getattr(parameter, "opts", ()))
    if names and names[0].startswith("-"):
        return join_words(names, "or")
    return f"<{getattr(parameter, 'name', 'an argument')}>"


def _meaning(parameter: Any) -> str:
    meaning = getattr(parameter, "help", None)
    return f" ({meaning})" if meaning else ""


def _translate(message: str) -> str:
    for pattern, words in _WORDS_OF_PYDANTIC:
        match = re.fullmatch(pattern, message, flags=re.DOTALL)
        if match is not None:
            return match.expand(words)
    return message[:1].lower() + message[1:]
