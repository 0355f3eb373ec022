"""Metadata of µ-Argus: a table of fixed or free format and its recode files, read as a recipe.

A metadata file (``.rda``) names each variable with the position and the width it has in the data,
its codes for missing values, and what it is: identifying, a weight, numeric. A recode file
(``.grc``) says which codes become one.

Reference: Hundepool et al. 2014, *µ-Argus user's manual*, version 5.1.
"""

from __future__ import annotations

import csv
import dataclasses
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sfumato.core.fields import Document, Fields
from sfumato.core.files import MEGABYTE, read_plain
from sfumato.core.words import join_words
from sfumato.core.yaml_text import write_yaml
from sfumato.errors import ParameterError, UnreadableInput

MOST_METADATA = 16 * MEGABYTE
MOST_TABLE = 4 * 1024 * MEGABYTE
DATA_SUFFIXES = (".asc", ".dat", ".txt", ".csv")
MOST_NAMED = 20
"""So many variables with a word that is not taken over are named."""
TAG = re.compile(r"<\s*(\w+)\s*>\s*(.*)")
ROLE_TAGS = {"WEIGHT": "weight", "HOUSE_ID": "household"}
UNDERSTOOD = {"RECODEABLE", "RECODABLE", "IDLEVEL", "TRUNCABLE", "NUMERIC", "DECIMALS", *ROLE_TAGS}
USUAL_K = 3
"""Thresholds are set in a session of µ-Argus and are in none of its files."""


@dataclasses.dataclass
class Variable:
    """A variable as the metadata describe it; ``start`` counts from 1, None in free format."""

    name: str
    start: int | None
    width: int
    missing: tuple[str, ...]
    tags: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def role(self) -> str:
        """What the variable is to us; ``ask`` where the metadata do not say."""
        for tag, role in ROLE_TAGS.items():
            if tag in self.tags:
                return role
        if self.tags.get("IDLEVEL", "0").strip() not in ("", "0"):
            return "quasi"
        return "ask"

    def cell(self, text: str) -> str:
        """A value without blanks around it; empty where it is missing."""
        value = text.strip()
        return "" if value in self.missing else value


@dataclasses.dataclass(frozen=True)
class RecodeFile:
    r"""Which codes become one: a label, and the ends of the ranges of codes that get it.

    >>> recoding = read_recoding("1: -17\n2: 18-25, 30\n3: 66-\n", "age.grc")
    >>> [recoding.label(code) for code in ("9", "18", "30", "40", "99")]
    ['1', '2', '2', '40', '3']
    """

    ranges: tuple[tuple[str, str, str], ...]
    missing: tuple[str, ...] = ()

    def label(self, code: str) -> str:
        """The label of a code; one that no range holds stays as it is."""
        for label, low, high in self.ranges:
            if _is_between(code, low, high):
                return "" if label in self.missing else label
        return code


@dataclasses.dataclass(frozen=True)
class ArgusTable:
    """What the files of µ-Argus say: a recipe as plain data, its table and its hierarchies, and
    what could not be taken over.
    """

    name: str
    document: Fields
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    hierarchies: Mapping[str, Sequence[Sequence[str]]]
    not_taken: tuple[str, ...]

    table = "data.csv"
    """The table is always there."""

    def __str__(self) -> str:
        head = (
            f"{self.name}: metadata of µ-Argus, {len(self.header)} columns, "
            f"{len(self.rows):,} records, {len(self.hierarchies)} recode files"
        )
        return "\n".join([head, *(f"  not taken over: {sentence}" for sentence in self.not_taken)])

    def write(self, folder: str | Path) -> Path:
        """Write ``recipe.yaml``, the hierarchies and the table into a new folder, or nothing."""
        target = Path(folder)
        if target.exists():
            raise ParameterError(f"{target} already exists; name a folder that does not")
        # Made beside the target and renamed when whole: there is a complete folder or none.
        making = target.with_name(f".{target.name}.making")
        shutil.rmtree(making, ignore_errors=True)
        try:
            self._write_into(making)
            making.rename(target)
        except OSError as error:
            raise ParameterError(f"cannot write {target}: {error.strerror}") from None
        finally:
            shutil.rmtree(making, ignore_errors=True)
        return target

    def _write_into(self, making: Path) -> None:
        # Hierarchies and the table hold values of people: nobody else may look.
        (making / "hierarchies").mkdir(parents=True, mode=0o700)
        making.chmod(0o700)
        columns = {name: dict(spec) for name, spec in self.document["columns"].items()}
        for number, (name, paths) in enumerate(self.hierarchies.items(), 1):
            file = f"hierarchies/{number:02d}.csv"
            _write_csv(making / file, paths, delimiter=";")
            columns[name]["hierarchy"] = {"file": {"path": file}}
        _write_csv(making / self.table, [self.header, *self.rows])
        text = write_yaml({**self.document, "columns": columns})
        notes = [f"# {line}" for line in str(self).splitlines()]
        (making / "recipe.yaml").write_text("\n".join([*notes, text]), encoding="utf-8")


def read_argus(path: str | Path) -> ArgusTable:
    """Read metadata of µ-Argus (``.rda``) with the data and the recode files beside them.

    The data have the same name and end in .asc, .dat, .txt or .csv; a recode file has the name of
    its variable and ends in .grc.
    """
    metadata = Path(path)
    separator, variables = read_metadata(_text(metadata, MOST_METADATA), metadata.name)
    rows = tuple(_records(metadata, separator, variables))
    not_taken = [*_tags_not_taken(variables)]
    not_taken.append(
        f"thresholds: they are in no file; {USUAL_K}-anonymity of all identifying variables stands "
        "for them"
    )
    columns: dict[str, Document] = {}
    hierarchies = {}
    for place, variable in enumerate(variables):
        column: Document = {"role": variable.role, "kind": "nominal"}
        if "NUMERIC" in variable.tags or variable.role == "weight":
            column["kind"] = "numeric"
        if variable.role == "quasi":
            recoding = _recoding_beside(metadata, variable)
            values = sorted({row[place] for row in rows if row[place]})
            if recoding is not None:
                paths = [(value, recoding.label(value) or "*", "*") for value in values]
                hierarchies[variable.name] = tuple(paths)
            elif "TRUNCABLE" in variable.tags:
                column["hierarchy"] = {"mask_right": {"length": variable.width, "pad": "0"}}
            else:
                column["hierarchy"] = {"suppress": {}}
        columns[variable.name] = column
    document = {
        "sfumato": 1,
        "columns": columns,
        "meet": [{"k_anonymity": {"k": USUAL_K}}],
        "steps": [{"global_recoding": {"algorithm": "argus", "suppress": "cell"}}],
    }
    header = tuple(variable.name for variable in variables)
    return ArgusTable(metadata.name, document, header, rows, hierarchies, tuple(not_taken))


def read_metadata(text: str, name: str) -> tuple[str | None, list[Variable]]:
    r"""The separator of free format (None: fixed) and the variables of a metadata file.

    >>> read_metadata("REGION 1 2 99\n  <IDLEVEL> 1\n", "survey.rda")[1][0].role
    'quasi'
    """
    separator: str | None = None
    variables: list[Variable] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        tag = TAG.match(line.strip())
        if tag and tag[1].upper() == "SEPARATOR" and not variables:
            separator = tag[2].strip().strip("\"'") or " "
        elif tag and tag[1].upper() in ("SPSS", "NAMESINFRONT"):
            raise UnreadableInput(
                f"{name}, line {number}: <{tag[1]}> is not read; save the data in fixed format"
            )
        elif tag and variables:
            variables[-1].tags[tag[1].upper()] = tag[2].strip().strip("\"'")
        elif words and not tag:
            variables.append(
                _variable(words, fixed=separator is None, where=f"{name}, line {number}")
            )
    if not variables:
        raise UnreadableInput(f"{name} names no variable; is it metadata of µ-Argus (.rda)?")
    names = [variable.name for variable in variables]
    if len(set(names)) < len(names):
        raise UnreadableInput(f"{name} names a variable twice; rename one")
    return separator, variables


def read_recoding(text: str, name: str) -> RecodeFile:
    """The ranges of a recode file: ``new: 1-5, 8, 20-``; a missing end is open."""
    ranges: list[tuple[str, str, str]] = []
    missing: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        tag = TAG.match(line.strip())
        if tag and tag[1].upper() == "MISSING":
            missing = tuple(tag[2].split())
        if tag or not line.strip():
            continue
        label, colon, codes = line.partition(":")
        if not colon or not label.strip() or not codes.strip():
            raise UnreadableInput(f"{name}, line {number}: a recoding is written like 2: 18-25, 30")
        for part in codes.split(","):
            low, dash, high = part.strip().partition("-")
            # A code by itself is a range of one.
            last = high if dash else low
            ranges.append((label.strip(), low.strip(), last.strip()))
    return RecodeFile(tuple(ranges), missing)


def _variable(words: Sequence[str], *, fixed: bool, where: str) -> Variable:
    """A variable by its line: name, start (fixed format only), width, codes for missing values."""
    numbers = 2 if fixed else 1
    places = words[1 : 1 + numbers]
    if len(places) < numbers or not all(place.isdigit() and int(place) > 0 for place in places):
        expected = "its name and width"
        if fixed:
            expected = "its name, first position and width"
        raise UnreadableInput(f"{where}: a variable needs {expected}")
    start = int(places[0]) if fixed else None
    return Variable(words[0], start, int(places[-1]), tuple(words[1 + numbers :]))


def _records(
    metadata: Path, separator: str | None, variables: Sequence[Variable]
) -> Iterator[tuple[str, ...]]:
    data = _beside(metadata, metadata.stem, DATA_SUFFIXES)
    if data is None:
        endings = ", ".join(DATA_SUFFIXES)
        raise UnreadableInput(
            f"no data beside {metadata.name}: put them there as {metadata.stem} with {endings}"
        )
    lines = _text(data, MOST_TABLE).splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if separator is None:
            cells = _fixed_cells(line, variables)
        else:
            cells = next(csv.reader([line], delimiter=separator[0], skipinitialspace=True))
        if len(cells) != len(variables):
            raise UnreadableInput(
                f"{data.name}, line {number}: {len(cells)} values, and {len(variables)} variables"
            )
        yield tuple(variable.cell(cell) for variable, cell in zip(variables, cells, strict=True))


def _fixed_cells(line: str, variables: Sequence[Variable]) -> list[str]:
    cells = []
    for variable in variables:
        start = (variable.start or 1) - 1
        cells.append(line[start : start + variable.width])
    return cells


def _recoding_beside(metadata: Path, variable: Variable) -> RecodeFile | None:
    file = _beside(metadata, variable.name, (".grc",))
    if file is None:
        return None
    return read_recoding(_text(file, MOST_METADATA), file.name)


def _beside(metadata: Path, stem: str, suffixes: Sequence[str]) -> Path | None:
    """The first file of this name in the folder of the metadata, whatever its capitals."""
    for suffix in suffixes:
        for file in sorted(metadata.parent.iterdir()):
            if file.name.lower() == f"{stem}{suffix}".lower():
                return file
    return None


def _tags_not_taken(variables: Sequence[Variable]) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for variable in variables:
        for tag in variable.tags:
            if tag not in UNDERSTOOD:
                names.setdefault(tag, []).append(variable.name)
    for tag, columns in names.items():
        yield f"<{tag}> of {join_words(columns[:MOST_NAMED])}"


def _is_between(code: str, low: str, high: str) -> bool:
    """Whether a code lies between two others, as numbers where all are; a missing end is open."""
    value = _number(code)
    ends = [_number(end) for end in (low, high) if end]
    if value is None or None in ends:
        return (not low or code >= low) and (not high or code <= high)
    return (not low or value >= float(low)) and (not high or value <= float(high))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _text(file: Path, limit: int) -> str:
    data = read_plain(file, limit=limit, purpose="a file of µ-Argus")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # µ-Argus writes in the code page of Windows.
        return data.decode("cp1252", errors="replace")


def _write_csv(file: Path, rows: Sequence[Sequence[str]], delimiter: str = ",") -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=delimiter).writerows(rows)
