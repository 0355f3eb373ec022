"""Everything that can go wrong, and the exit code each ends with.

::

    SfumatoError
    ├── ParameterError     2  a value of a model, step or option is out of its range
    ├── SchemaError        2  roles, kinds or hierarchies do not fit the table
    ├── RecipeError        2  the recipe file cannot be understood
    ├── OutputError        2  the release cannot be written where it was asked for
    ├── MissingExtra       2  an optional package is not installed
    ├── FittingFailed      2  a process that fits a model ran out of time or memory, or died
    ├── BudgetExceeded     1  a differential-privacy budget would be overspent
    ├── ReleaseRefused     1  the output was judged and a promise or limit does not hold
    ├── Unsatisfiable      4  nothing reachable satisfies the recipe (``.closest`` is the nearest
    miss) ├── UnreadableInput    5  a file is not what it says it is
    ├── PartyError         6  another party is missing, left, or says what does not fit (its kinds
    say which) └── InternalError      3  our bug

A message says who, the rule, what was given and what to do next. It never holds a data value of a
direct, quasi or sensitive column: names and counts only.
"""

from __future__ import annotations

import difflib
import importlib
import re
import warnings
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any, ClassVar

CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Signs that move a cursor, colour or erase a terminal, or turn the direction of a line; a line end
is none of them.
"""


def printable(text: str) -> str:
    r"""Text from a table as it may be shown: signs that would steer a terminal or a page are
    spelled out.

    >>> print(printable("\x1b[2Jage\u202e"))
    \x1b[2Jage\u202e
    """
    return CONTROLS.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def printable_json(text: str) -> str:
    """JSON text in which such signs are escaped as JSON does; outside of strings it has none."""
    return CONTROLS.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


class SfumatoError(Exception):
    """Base of all errors sfumato raises on purpose. Its text can be shown on a terminal, whatever
    columns are called.
    """

    exit_code: ClassVar[int] = 2

    def __str__(self) -> str:
        return printable(super().__str__())


class ParameterError(SfumatoError, ValueError):
    """A parameter of a model, step or option is out of its range."""


class SchemaError(SfumatoError, ValueError):
    """Roles, kinds or hierarchies do not fit the table. ``problems`` lists every one found."""

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems: tuple[str, ...] = (
            (problems,) if isinstance(problems, str) else tuple(problems)
        )
        super().__init__("\n".join(self.problems))


class RecipeError(SfumatoError, ValueError):
    """The recipe cannot be understood. ``problems`` lists every one found."""

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems: tuple[str, ...] = (
            (problems,) if isinstance(problems, str) else tuple(problems)
        )
        super().__init__("\n".join(self.problems))


class OutputError(SfumatoError, OSError):
    """The release cannot be written where it was asked for."""


class MissingExtra(SfumatoError, ImportError):
    """An optional package is needed and not installed."""


class NotInstalled(MissingExtra):
    """A part of sfumato that can be left out is not there."""


class FittingFailed(SfumatoError):
    """A process that fits a model ran out of time or memory, or died."""


class BudgetExceeded(SfumatoError):
    """A differential-privacy budget would be overspent."""

    exit_code: ClassVar[int] = 1


class ReleaseRefused(SfumatoError):
    """The output was judged and a promise or a limit does not hold."""

    exit_code: ClassVar[int] = 1


class Unsatisfiable(SfumatoError):
    """Nothing reachable satisfies the recipe; ``closest`` describes the nearest miss."""

    exit_code: ClassVar[int] = 4

    def __init__(self, message: str, *, closest: Any = None) -> None:
        self.closest = closest
        super().__init__(message)


class UnreadableInput(SfumatoError):
    """A file cannot be read as what it says it is."""

    exit_code: ClassVar[int] = 5


class PartyError(SfumatoError):
    """A computation of several parties cannot go on because of another one; there is no partial
    result.
    """

    exit_code: ClassVar[int] = 6

    def __init__(self, message: str, *, party: int | None = None) -> None:
        self.party = party
        super().__init__(message)


class PartyMissing(PartyError):
    """A party did not come within the time of the study."""


class PartyLeft(PartyError):
    """A party was there and left before the end."""

    def __init__(self, party: int, phase: str) -> None:
        super().__init__(
            f"party {party} left in phase {phase!r}; nothing was answered, try again", party=party
        )
        self.phase = phase


class WrongMessage(PartyError):
    """A party sent something that does not fit: other length, phase, session or order."""

    def __init__(self, party: int, phase: str) -> None:
        super().__init__(
            f"party {party} sent an unexpected message in phase {phase!r}; nothing was answered, "
            "ask the party why",
            party=party,
        )
        self.phase = phase


class WrongStudy(PartyError):
    """A party reads another study than we do."""


class WrongCertificate(PartyError):
    """A party shows a certificate that is not the one of the study, or one that has expired."""


class Declined(PartyError):
    """A party declines to answer; it does not say why."""


class Disagreement(PartyError):
    """Parties heard different things: somebody told different stories."""


class InternalError(SfumatoError):
    """A state that cannot happen did: our bug."""

    exit_code: ClassVar[int] = 3


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'zip'?`` for the nearest known name, or nothing.

    >>> nearest("zipcode", ["zip", "age"]), nearest("income", ["zip", "age"])
    (" Did you mean 'zip'?", '')
    """
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'zip'?`` for the nearest known name, or the list of all, or nothing.

    >>> did_you_mean("zipcode", ["zip", "age"])
    " Did you mean 'zip'?"
    """
    names = list(known)
    if near := nearest(name, names):
        return near
    if names and len(names) <= 12:
        return f" There are: {', '.join(names)}."
    return ""


# Optional packages: imported where they are needed, named when they are missing.


def require(module: str, *, extra: str, to: str) -> ModuleType:
    """Import an optional module, or say which extra brings it.

    >>> require("surely_not_installed", extra="excel", to="read Excel files")
    Traceback (most recent call last):
    ...
    sfumato.errors.MissingExtra: to read Excel files, install the extra: pip install
    'sfumato[excel]'

    That a package itself uses something outdated is for its authors to know, not for whoever asked
    for a table.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(f"to {to}, install the extra: pip install 'sfumato[{extra}]'") from error


def import_part(module: str) -> ModuleType:
    """Import a module of a part of sfumato that an installation may leave out, such as the parties.

    >>> import_part("sfumato.surely_left_out.study")
    Traceback (most recent call last):
    ...
    sfumato.errors.NotInstalled: sfumato.surely_left_out is not installed; install the whole
    package: pip install --force-reinstall sfumato
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # something that the module imports, which is another problem
        raise not_installed(error.name) from None


def not_installed(part: str) -> NotInstalled:
    """What to raise where a part of sfumato is missing, and what to do."""
    return NotInstalled(
        f"{part} is not installed; install the whole package: pip install --force-reinstall sfumato"
    )
