"""What several tables show of every person: the noun that promises and attacks over persons look at.

Rules, the same for every promise. A missing value is a category of its own. A cell that *we* suppressed is judged as a value of its own
too, never as a wildcard: verdicts say so. A row below the people shows its own quasi-identifiers; a row below such a row (a prescription of a
visit) is a row of the person at the top with its own quasi-identifiers, and what its visit shows counts in the table of visits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, eq=False)
class ShownRows:
    """The rows of one table below the people: whose each is, and what it shows to an intruder."""

    table: str
    person: NDArray[np.int64]
    """Per row the number of the person it belongs to, 0 … persons − 1."""
    shows: NDArray[np.int64]
    """Per row a code of what its quasi-identifiers show; equal codes are equal to an intruder."""


@dataclasses.dataclass(frozen=True, eq=False)
class ShownSensitive:
    """A sensitive column: per row the person and the code of the value; a missing value is a code of its own."""

    person: NDArray[np.int64]
    code: NDArray[np.int64]
    labels: tuple[str | None, ...] = dataclasses.field(default=(), repr=False)
    """What each code stands for, None for missing; data values, which no message shows."""


@dataclasses.dataclass(frozen=True, eq=False)
class Shown:
    """What all tables show of every person.

    ``rows`` holds every table below the people, with all its rows and also without quasi-identifiers (then all rows show one code).
    ``sensitive`` is by table and column: ``people.diagnosis``, ``visits.illness``.
    """

    persons: int
    own: NDArray[np.int64]
    """Per person the code of the own quasi-identifiers."""
    rows: tuple[ShownRows, ...] = ()
    sensitive: Mapping[str, ShownSensitive] = dataclasses.field(default_factory=dict)
