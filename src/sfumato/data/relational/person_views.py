"""What several tables show of every person: the noun that promises and attacks over persons look
at.

Rules, the same for every promise. A missing value is a category of its own. A cell that *we*
suppressed is judged as a value of its own too, never as a wildcard: verdicts say so. A row below
the people shows its own quasi-identifiers; a row below such a row (a prescription of a visit) is a
row of the person at the top, and whoever knows it knows what its visit shows as well
(see :mod:`sfumato.data.relational.knowledge`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato import kernels
from sfumato.core.encoding import label

if TYPE_CHECKING:
    from sfumato.core.schema import Attribute
    from sfumato.data.relational.rows import TableRows


@dataclasses.dataclass(frozen=True, eq=False)
class ShownRows:
    """The rows of one table below the people: whose each is, and what it shows to an intruder."""

    table: str
    person: NDArray[np.int64]
    """Per row the number of the person it belongs to, 0 … persons − 1."""
    shows: NDArray[np.int64]
    """Per row a code of what its quasi-identifiers show; equal codes are equal to an intruder."""
    parent: str | None = None
    """The table that its rows belong to, where that is not the people's."""
    above: NDArray[np.int64] | None = None
    """Per row the number of the row of that table it belongs to."""


@dataclasses.dataclass(frozen=True, eq=False)
class ShownSensitive:
    """A sensitive column: per row the person and the code of the value; a missing value is a code
    of its own.
    """

    person: NDArray[np.int64]
    code: NDArray[np.int64]
    kinds: pl.Series | None = dataclasses.field(default=None, repr=False)
    """What each code stands for, but for a missing value, whose code is behind them; data values,
    which no message shows.
    """
    attribute: Attribute | None = None
    """What is said of the column: its kind, order and hierarchy."""

    @property
    def labels(self) -> tuple[str | None, ...]:
        """What each code stands for, as hierarchies know it; None for missing. Data values."""
        labels_known: list[str | None] = (
            [] if self.kinds is None else list(map(label, self.kinds.to_list()))
        )
        # A code behind the last label only occurs where values are missing.
        if int(self.code.max(initial=-1)) == len(labels_known):
            return (*labels_known, None)
        return tuple(labels_known)


@dataclasses.dataclass(frozen=True, eq=False)
class Shown:
    """What all tables show of every person.

    ``rows`` holds every table below the people, with all its rows and also without
    quasi-identifiers (then all rows show one code). ``sensitive`` is by table and column:
    ``people.diagnosis``, ``visits.illness``.
    """

    persons: int
    own: NDArray[np.int64]
    """Per person the code of the own quasi-identifiers."""
    rows: tuple[ShownRows, ...] = ()
    sensitive: Mapping[str, ShownSensitive] = dataclasses.field(default_factory=dict)


def shown_of(parts: Sequence[TableRows], *, split: bool = False) -> Shown:
    """What tables show, the people first.

    Tables that do not join with the people (``split``) are judged each by itself, as whoever has
    them can look at them: the persons of every branch below the people count as other persons than
    the people, with an own code of the branch, and the people have no rows.
    """
    people, below = parts[0], parts[1:]
    own = codes_of(people.frame, people.described.quasi, len(people))
    persons, owners = len(people), {rows.name: rows.owner for rows in below}
    # Other persons for each branch: who has two branches cannot see that they are the same people.
    if split:
        own, persons, owners = _apart(own, below, people.name)
    # Directly below the people, or below nobody: there is no row above to look at.
    top = {people.name, None}
    row_views = []
    for rows in below:
        codes = codes_of(rows.frame, rows.described.quasi, len(rows))
        parent: str | None = None
        above: NDArray[np.int64] | None = None
        if rows.link.parent not in top:
            parent, above = rows.link.parent, rows.above
        row_views.append(ShownRows(rows.name, owners[rows.name], codes, parent, above))
    everyone = np.arange(len(people), dtype=np.int64)
    sensitive = {}
    for rows in parts:
        row_owners = owners.get(rows.name, everyone)
        for column in rows.described.sensitive:
            values = _sensitive(rows.frame[column], row_owners, rows.described[column])
            sensitive[f"{rows.name}.{column}"] = values
    return Shown(persons, own, tuple(row_views), sensitive)


def _apart(
    own: NDArray[np.int64], below: Sequence[TableRows], people: str
) -> tuple[NDArray[np.int64], int, dict[str, NDArray[np.int64]]]:
    """Own codes of the people and of the persons of every branch, how many these are, and whose
    every row then is.

    A branch that still joins with the people is theirs.
    """
    branch: dict[str, str] = {people: people}
    for rows in below:
        # Tables come behind their parents, so the branch above is known.
        if rows.link.parent is None:
            branch[rows.name] = rows.name
        else:
            branch[rows.name] = branch[rows.link.parent]
    owners = {rows.name: rows.owner for rows in below if branch[rows.name] == people}
    codes, size = [own], len(own)
    # A code that no person of the people has: the branch says nothing of own columns.
    fresh = int(own.max(initial=-1)) + 1
    for top in dict.fromkeys(name for name in branch.values() if name != people):
        members = [rows for rows in below if branch[rows.name] == top]
        persons = np.unique(np.concatenate([rows.owner for rows in members]))
        for rows in members:
            # Persons of the branch numbered behind all before: owners 4,9,4 → size + 0,1,0.
            owners[rows.name] = size + np.searchsorted(persons, rows.owner)
        codes.append(np.full(len(persons), fresh, dtype=np.int64))
        size, fresh = size + len(persons), fresh + 1
    return np.concatenate(codes), size, owners


def codes_of(frame: pl.DataFrame, columns: Sequence[str], rows: int) -> NDArray[np.int64]:
    """Per row a code of what some columns show, equal where all are equal; 0 for all without
    columns.

    >>> codes_of(
    ...     pl.DataFrame({"a": ["x", None, "x", None], "b": [1, 1, 1, 2]}), ["a", "b"], 4
    ... ).tolist()
    [0, 1, 0, 2]
    """
    if not columns or not rows:
        return np.zeros(rows, dtype=np.int64)
    words = np.stack([_codes(frame[name])[0] for name in columns], axis=1).astype(np.uint64)
    codes: NDArray[np.int64] = kernels.keys.group(words)[0]
    return codes


def _codes(values: pl.Series) -> tuple[NDArray[np.int64], pl.Series]:
    """Per value the number of its kind, in order of their values, and the kinds; missing, which NaN
    is too, comes last.
    """
    # NaN is missing too: as a value, each would differ from every other.
    if values.dtype.is_float():
        values = values.fill_nan(None)
    kinds = values.drop_nulls().unique().sort()
    codes: NDArray[np.int64] = (
        (values.rank("dense").cast(pl.Int64) - 1).fill_null(len(kinds)).to_numpy()
    )
    return codes, kinds


def _sensitive(
    values: pl.Series, person: NDArray[np.int64], attribute: Attribute
) -> ShownSensitive:
    codes, kinds = _codes(values)
    return ShownSensitive(person, codes, kinds, attribute)
