"""What the command line says: results to stdout, talk to stderr, progress on a terminal only."""

from __future__ import annotations

import codecs
import contextlib
import difflib
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.segment import Segment
from rich.text import Text

from sfumato.core.progress import Progress, must_compile, silent
from sfumato.errors import did_you_mean, printable, printable_json


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
    """Print a result for machines; where stdout does not take all letters they are escaped as JSON does."""
    plain = not _takes_all(sys.stdout)
    sys.stdout.write(printable_json(json.dumps(document, indent=2, ensure_ascii=plain, default=str)) + "\n")


def documents_to_stdout() -> Any:
    """Where a recipe or a table is printed that a program reads again: in UTF-8, whatever the terminal takes."""
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
    """Let streams that do not take all letters have others for them, instead of an error in the middle of a sentence."""
    codecs.register_error("sfumato", _stand_in)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not _takes_all(stream):
            stream.reconfigure(errors="sfumato")


def _stand_in(error: UnicodeError) -> tuple[str, int]:
    """ASCII for the signs that could not be written; of unknown ones their number, so that nothing is taken for another."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(STAND_INS.get(sign) or f"\\u{ord(sign):04x}" for sign in signs), error.end


def _takes_all(stream: Any) -> bool:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        return codecs.lookup(encoding).name.startswith("utf")
    except LookupError:
        return False


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


# Wrong usage of the command line, in our own words.

_OURS = (
    (r"Input should be a valid (number|decimal).*", "a number is needed"),
    (r"Input should be a valid integer.*", "a whole number is needed"),
    (r"Input should be a valid boolean.*", "true or false is needed"),
    (r"Input should be (greater|less) than or equal to (\S+)", r"it should be \1 than or equal to \2"),
    (r"Input should be (greater|less) than (\S+)", r"it should be \1 than \2"),
)


def in_our_words(error: Any) -> str:
    """What was wrong with the words of a command, and where its help is.

    ``error`` is what the command framework raised; its classes are private, so it is told by what it knows: the parameter
    that lacks a value or has a wrong one, the option that nobody has.
    """
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "sfumato")
    return f"{_reason(error, context)}\n{command} --help shows how it is used"


def _reason(error: Any, context: Any) -> str:
    parameter = getattr(error, "param", None)
    if hasattr(error, "param_type"):
        return f"{_called(parameter)} must be given{_meaning(parameter)}"
    if parameter is not None:
        return f"{_called(parameter)}: {_said(str(getattr(error, 'message', '')))}{_meaning(parameter)}"
    option = getattr(error, "option_name", None)
    if option is not None and hasattr(error, "possibilities"):
        options = [name for one in getattr(context.command, "params", ()) for name in one.opts] if context else []
        return f"there is no option {option}.{_nearest_option(option, options)}".rstrip(".")
    if option is not None:
        return f"{option} needs a value after it"
    return _about_words(str(getattr(error, "message", "")), context)


def _nearest_option(option: str, options: Iterable[str]) -> str:
    """The option that was meant, compared without the dashes that all have; else all of them, where they are few.

    >>> _nearest_option("--quite", ["--key", "--quiet"]), _nearest_option("--because", ["--key", "--quiet", "-q"])
    (" Did you mean '--quiet'?", ' There are: --key, --quiet.')
    """
    long = {name.removeprefix("--"): name for name in options if name.startswith("--")}
    near = difflib.get_close_matches(option.lstrip("-"), list(long), n=1, cutoff=0.5)
    return f" Did you mean {long[near[0]]!r}?" if near else did_you_mean("", long.values())


def _about_words(message: str, context: Any) -> str:
    """A command nobody has, or more words than a command takes."""
    if unknown := re.fullmatch(r"No such command '(.*)'\..*", message, flags=re.DOTALL):
        commands = list(getattr(context.command, "commands", ())) if context else []
        return f"there is no command {unknown[1]!r}.{did_you_mean(unknown[1], commands)}".rstrip(".")
    if more := re.fullmatch(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", message, flags=re.DOTALL):
        return f"more words than {context.command_path if context else 'the command'} takes: {more[1]}"
    return _said(message)


def _called(parameter: Any) -> str:
    names = list(getattr(parameter, "opts", ()))
    option = bool(names) and names[0].startswith("-")
    return " or ".join(names) if option else f"<{getattr(parameter, 'name', 'an argument')}>"


def _meaning(parameter: Any) -> str:
    meaning = getattr(parameter, "help", None)
    return f" ({meaning})" if meaning else ""


def _said(message: str) -> str:
    for pattern, ours in _OURS:
        if re.fullmatch(pattern, message, flags=re.DOTALL):
            return re.sub(pattern, ours, message, flags=re.DOTALL)
    return message[:1].lower() + message[1:]
