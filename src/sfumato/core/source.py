"""Where a table came from, and what is needed to write one of the same form."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from sfumato.core.fields import Document, Fields
from sfumato.core.words import inflect, join_words
from sfumato.errors import ParameterError, did_you_mean, nearest

# How a table is read: what somebody said about it, in a recipe, on the command line or in Python.

Code = str | int | float
"""A value that stands for a missing one."""

LAYOUT = ("delimiter", "encoding", "decimal", "header")
"""What a delimited text needs to be cut into cells."""

TEXT_RULES = {"unicode": ("nfc",), "blanks": ("strip",)}
KEYS = (*LAYOUT, "sheet", "rename_duplicates", "missing_values", "text")
"""The words of a recipe that are about reading."""

_SPELLED = {"tab": "\t", "\\t": "\t"}


class IntakeKeywords(TypedDict, total=False):
    """How a table is read, as keywords of verbs; see :class:`Intake`."""

    delimiter: str | None
    encoding: str | None
    decimal: str | None
    header: bool | None
    sheet: str | None
    rename_duplicates: bool | None
    missing_values: Sequence[Code] | None
    unicode: str | None
    blanks: str | None


class ReadKeywords(IntakeKeywords, total=False):
    """The same, the name of the format, and whether all columns of a CSV stay text."""

    format: str | None
    text: bool


@dataclasses.dataclass(frozen=True)
class Intake:
    """How a table is read, as far as it was said; None means: find out, or leave as it is.

    ``delimiter, encoding, decimal`` and ``header`` are about delimited text (``header`` about Excel
    too). ``sheet`` is the name of a sheet of a workbook; where none is said the first one is read.
    ``rename_duplicates`` gives a column whose name is taken a number (``a, a_2``); otherwise it is
    refused. ``missing_values`` are codes that stand for a missing value, ``missing_in`` those of
    single columns, which take the place of the general ones there. Columns of numbers compare codes
    as numbers (``-9`` is ``-9.0``), all others as text. ``unicode="nfc"`` makes equal what looks
    equal (an accent composed or not), ``blanks="strip"`` what differs by outer blanks only: before
    anything is compared, so that the release holds the common form.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    header: bool | None = None
    sheet: str | None = None
    rename_duplicates: bool | None = None
    missing_values: tuple[Code, ...] | None = None
    missing_in: Mapping[str, tuple[Code, ...]] = dataclasses.field(default_factory=dict)
    unicode: str | None = None
    blanks: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            # One sign between the cells of a line; a tab may be spelled out.
            delimiter: object = self.delimiter
            mark = _SPELLED.get(str(delimiter), str(delimiter))
            is_sign = len(mark) == 1 and mark.isascii() and not mark.isalnum()
            if not isinstance(delimiter, str) or not is_sign or mark in '"\r\n':
                raise ParameterError(
                    "delimiter must be one ASCII character such as , ; | or a tab, not "
                    f"{delimiter!r}"
                )
            object.__setattr__(self, "delimiter", mark)
        if self.missing_values is not None:
            object.__setattr__(self, "missing_values", checked_codes(self.missing_values))
        single = {column: checked_codes(codes) for column, codes in self.missing_in.items()}
        object.__setattr__(self, "missing_in", single)
        if not isinstance(self.encoding, str | None):
            raise ParameterError("encoding must be a name, like utf-8 or cp1252")
        if self.sheet == "" or not isinstance(self.sheet, str | None):
            raise ParameterError("sheet must be the name of a sheet; quote a name that is a number")
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"decimal must be '.' or ',', not {self.decimal!r}")
        for name in ("header", "rename_duplicates"):
            if not isinstance(getattr(self, name), bool | None):
                raise ParameterError(f"{name} must be true or false")
        for name, allowed in TEXT_RULES.items():
            if getattr(self, name) not in (None, *allowed):
                raise ParameterError(f"{name} must be {allowed[0]} or left out")

    @classmethod
    def of(cls, options: Fields) -> Intake:
        """From options by name, as :func:`sfumato.read` takes them; unknown ones are refused."""
        names = [field.name for field in dataclasses.fields(cls)]
        unknown = [str(name) for name in options if name not in names]
        if unknown:
            raise ParameterError(
                f"{unknown[0]!r} is not an option of reading.{did_you_mean(unknown[0], names)}"
            )
        return cls(**options)

    @classmethod
    def from_recipe(cls, document: Fields, missing_in: Fields) -> Intake:
        """From the words of a recipe that are about reading, and the codes its columns name."""
        fields = {key: document[key] for key in KEYS if key in document and key != "text"}
        rules = document.get("text") or {}
        if not isinstance(rules, Mapping) or any(name not in TEXT_RULES for name in rules):
            raise ParameterError(
                "text takes unicode and blanks, like 'text: {unicode: nfc, blanks: strip}'"
            )
        return cls(**fields, missing_in=missing_in, **rules)

    def to_recipe(self) -> Document:
        """The words of a recipe, all but the codes of single columns: those stand with their
        column.
        """
        fields = {}
        for name in KEYS:
            if name != "text" and getattr(self, name) is not None:
                fields[name] = getattr(self, name)
        rules = {}
        for name in TEXT_RULES:
            if getattr(self, name) is not None:
                rules[name] = getattr(self, name)
        if self.missing_values is None:
            codes = {}
        else:
            codes = {"missing_values": list(self.missing_values)}
        return {**fields, **codes, **({"text": rules} if rules else {})}

    def options(self) -> Document:
        """The fields that say something, by name."""
        every = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in every.items() if value is not None and value != {}}

    def over(self, other: Intake) -> Intake:
        """What is said here, and where nothing is, what the other says.

        General codes said here also take the place of the codes the other has for single columns.

        >>> Intake(header=False).over(Intake(header=True, missing_values=("NA",))).missing_values
        ('NA',)
        """
        single = {} if self.missing_values is not None else other.missing_in
        return dataclasses.replace(other, **{"missing_in": single, **self.options()})

    @property
    def layout(self) -> Intake:
        """What holds for a release too: how its text is cut. Its missing values are empty, not
        codes.
        """
        return Intake(**{name: getattr(self, name) for name in LAYOUT})

    @property
    def about_values(self) -> Intake:
        """What is about values, and not about how a file is cut into them."""
        return dataclasses.replace(
            self,
            delimiter=None,
            encoding=None,
            decimal=None,
            header=None,
            sheet=None,
            rename_duplicates=None,
        )

    def sentences(self) -> list[str]:
        """What readers of a release should know about how its values were read.

        >>> Intake(missing_values=("NA", -9), unicode="nfc").sentences()
        ['The codes NA, -9 were read as missing values.', 'Text was compared after Unicode
        normalisation (NFC).']
        """
        sentences = []
        if self.missing_values:
            sentences.append(
                f"The codes {', '.join(map(str, self.missing_values))} were read as missing values."
            )
        single = [column for column, codes in self.missing_in.items() if codes]
        if single:
            sentences.append(
                f"Codes of their own were read as missing values in {', '.join(single)}."
            )
        ways = []
        for name, words in (
            ("unicode", "Unicode normalisation (NFC)"),
            ("blanks", "leaving out outer blanks"),
        ):
            if getattr(self, name) is not None:
                ways.append(words)
        return [*sentences, *([f"Text was compared after {join_words(ways)}."] if ways else [])]


def checked_codes(code_list: object) -> tuple[Code, ...]:
    """Codes for missing values: words and numbers, one or a list of them.

    >>> checked_codes(["NA", -9]), checked_codes("?")
    (('NA', -9), ('?',))
    """
    codes: list[Code] = []
    for code in code_list if isinstance(code_list, list | tuple) else [code_list]:
        if isinstance(code, bool) or not isinstance(code, str | int | float):
            raise ParameterError(
                "missing_values takes words and numbers, like [NA, '?', -9]; quote everything else"
            )
        if isinstance(code, float) and not math.isfinite(code):
            raise ParameterError(
                "missing_values takes finite numbers; quote the word if the file spells it so"
            )
        codes.append(code)
    return tuple(codes)


NOTHING_SAID = Intake()


@dataclasses.dataclass(frozen=True)
class Source:
    """The form of a table as it was read.

    ``format`` is one of ``csv, parquet, arrow, jsonl, excel, spss, stata, sas, frame``; ``notes``
    are decisions worth telling (a delimiter sniffed, a column kept as text and why), never data
    values; ``labels`` is what the format knows besides the values (variable and value labels,
    user-missing codes) and what a writer of the same format needs back; ``digest`` is the SHA-256
    of the file's bytes, or None; ``intake`` is what was said about how to read it; ``types_found``
    says that the types of columns were found by looking at all their cells, so that one record may
    decide about them; ``identity`` is what a database itself tells its table from others by,
    however it is addressed: never shown, and only compared; ``schemas`` is what was said of the
    columns of each table, direct identifiers included, where people are described by more than a
    row.
    """

    name: str = "the table"
    format: str = "frame"
    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    header: bool = True
    labels: Fields = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    digest: str | None = None
    intake: Intake = dataclasses.field(default_factory=Intake)
    types_found: bool = False
    identity: str | None = dataclasses.field(default=None, repr=False, compare=False)
    schemas: Fields = dataclasses.field(default_factory=dict, repr=False, compare=False)


# Columns that were asked for and are not there, told without showing what may be a person.
#
# The first row of a delimited text or a workbook names its columns, or it is the first record of a
# file without such a row. So a name from it is told only when the header is *confirmed*: more than
# half of the names that the recipe or the call uses stand in it. Otherwise columns are counted and
# told by their position. Formats that store names (Parquet, Arrow, JSON lines, SPSS, Stata, SAS)
# and frames need no confirmation.

GUESSED = ("csv", "excel")
MOST_NAMED = 10
ASK = "if its first row holds data, use --no-header (header: false)"


UNKNOWN = Source("the table", "csv")
"""A table of which only the columns are at hand: nothing vouches for their names."""


def confirmed(columns: Sequence[str], source: Source, names_in_use: Iterable[str]) -> bool:
    """Whether the names of columns are names: by the format, or since most names that were said are
    among them.
    """
    names, column_names = set(names_in_use), set(columns)
    return source.format not in GUESSED or 2 * len(names & column_names) > len(names)


def missing_column_problems(
    columns: Sequence[str],
    source: Source,
    requested: Iterable[str],
    names_in_use: Iterable[str] = (),
) -> list[str]:
    """A sentence about every column that was asked for and is not there, or one about all of which
    there is no more to say.

    ``names_in_use`` are other names in use, which confirm a header.

    >>> missing_column_problems(["zip", "age"], Source("t.csv", "csv"), ["zipcode", "age"], ["zip"])
    ["t.csv has no column 'zipcode'. Did you mean 'zip'?"]
    >>> missing_column_problems(["Alice", "41"], Source("t.csv", "csv"), ["age", "sex"])
    ["t.csv lacks columns 'age', 'sex': 0 of the 2 columns asked for are among its 2; if its first
    row holds data, use --no-header (header: false)"]
    """
    requested_names = dict.fromkeys(requested)
    missing = [name for name in requested_names if name not in columns]
    if not missing:
        return []
    if not confirmed(columns, source, {*requested_names, *names_in_use}):
        share = (
            f"{len(requested_names) - len(missing):,} of the {len(requested_names):,} columns "
            f"asked for are among its {len(columns):,}"
        )
        return [f"{source.name} lacks {_column_names(missing)}: {share}; {ASK}"]
    hints = {name: nearest(str(name), columns) for name in missing}
    alike = [name for name in missing if not hints[name]]
    if alike:
        sentences = [f"{source.name} has no {_column_names(alike)}"]
    else:
        sentences = []
    hints_with_columns = []
    for name, hint in hints.items():
        if hint:
            hints_with_columns.append(f"{source.name} has no column {name!r}.{hint}")
    return sentences + hints_with_columns


def without_role(
    columns: Sequence[str], source: Source, names_in_use: Iterable[str], roles: str
) -> list[str]:
    """A sentence about the columns of which nothing was said: by name, or by position where they
    cannot be named.
    """
    decided = set(names_in_use)
    undecided = [i for i, name in enumerate(columns, start=1) if name not in decided]
    if not undecided:
        return []
    if confirmed(columns, source, decided):
        which = _column_names([columns[i - 1] for i in undecided])
    else:
        which = placed(undecided)
    if len(undecided) > 1:
        have = "have no role; give each"
    else:
        have = "has no role; give it"
    return [f"{which} of {source.name} {have} one ({roles}), 'keep' if it is none of the others"]


def _column_names(names: Sequence[str]) -> str:
    return f"{inflect(len(names), 'column')} {and_more([repr(name) for name in names])}"


def and_more(which: Sequence[str], limit: int = MOST_NAMED) -> str:
    """A few of a list in a sentence, and how many more there are."""
    if len(which) > limit:
        remainder = f" and {len(which) - limit:,} more"
    else:
        remainder = ""
    return ", ".join(which[:limit]) + remainder


def placed(positions: Sequence[int], limit: int = MOST_NAMED) -> str:
    """Columns by their position (from 1) in a sentence, at most a few of them.

    >>> placed([3]), placed([1, 4, 9], limit=2)
    ('column 3', 'columns 1, 4 and 1 more')
    """
    return f"{inflect(len(positions), 'column')} {and_more([str(i) for i in positions], limit)}"


class ColumnNote(str):
    """A note about columns, which tells them by position; ``named`` is the same by name, for where
    names are known to be names.

    >>> note = ColumnNote.of("{} stay text", [1, 3], ["age", "sex", "zip"])
    >>> str(note), note.named
    ('columns 1, 3 stay text', "columns 'age', 'zip' stay text")
    """

    named: str

    @classmethod
    def of(cls, sentence: str, positions: Sequence[int], columns: Sequence[str]) -> ColumnNote:
        """From a sentence with ``{}`` for the columns, and their positions, counted from 1."""
        note = cls(sentence.format(placed(positions)))
        note.named = sentence.format(_column_names([columns[i - 1] for i in positions]))
        return note


def with_names(source: Source, columns: Sequence[str], names_in_use: Iterable[str]) -> Source:
    """A source whose notes name columns, where the format or the names in use vouch for them."""
    if not confirmed(columns, source, names_in_use):
        return source
    notes = tuple(note.named if isinstance(note, ColumnNote) else note for note in source.notes)
    return dataclasses.replace(source, notes=notes)
