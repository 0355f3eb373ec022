"""The eighteen kinds of identifiers of HIPAA's Safe Harbor, and the columns that look like one."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from sfumato.core.data_files import read_data_file
from sfumato.guidance.profiling.identifiers import detect_identifier
from sfumato.guidance.profiling.words import find_all

if TYPE_CHECKING:
    import polars as pl

SOURCE = "45 CFR 164.514(b)(2)(i)"


@dataclasses.dataclass(frozen=True)
class IdentifierKind:
    """One of the eighteen kinds: its letter in the rule, what it is, and the columns found that may
    be of it, each with the concept it was recognised as.
    """

    letter: str
    title: str
    columns: tuple[tuple[str, str], ...]


def identifier_kinds(frame: pl.DataFrame) -> tuple[IdentifierKind, ...]:
    """The kinds in the order of the rule, with the columns that names or values say may be of them.

    A column that nothing is found in may be of a kind all the same.

    >>> import polars as pl
    >>> found = identifier_kinds(pl.DataFrame({"zip": ["10115"], "phone": ["030"], "x": [1]}))
    >>> [(kind.letter, kind.columns) for kind in found if kind.columns]
    [('B', (('zip', 'postal code'),)), ('D', (('phone', 'phone number'),)), \
('E', (('phone', 'phone number'),))]
    """
    concepts = {name: _concepts(name, frame[name]) for name in frame.columns}
    kinds = []
    for entry in read_data_file(__package__, "safe_harbor_kinds"):
        columns = []
        for name, recognised in concepts.items():
            matching = [concept for concept in recognised if concept in entry["concepts"]]
            if matching:
                columns.append((name, matching[0]))
        kinds.append(IdentifierKind(entry["letter"], entry["title"], tuple(columns)))
    return tuple(kinds)


def _concepts(name: str, values: pl.Series) -> list[str]:
    """What a column may be, by its values and by its name, most certain first."""
    recognition = detect_identifier(name, values)
    concepts = []
    if recognition is not None:
        concepts.append(recognition.concept)
    return concepts + [match.concept for match in find_all(name)]
