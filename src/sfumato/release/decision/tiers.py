"""The tiers of the decision: what each asks of a release, where the numbers are from, and what
whoever shares at this tier is obliged to.

ρ is 1/k: nobody may be found more often than one person in a class of k. Two of three numbers of
publication could be checked in a secondary source only, and which number fits which context is our
reading. No number makes a release lawful.
"""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from typing import Literal

TERMS_VERSION = 2
"""Counts up whenever a number or a line of the terms changes."""
TERMS_DATE = "2026-11-19"
"""The day on which the terms were last changed."""

Harm = Literal["low", "medium", "high"]
HARMS: tuple[Harm, ...] = ("low", "medium", "high")
SMALL_POPULATION = 20_000
"""People below which a population counts as small: those of an area that may be told under the US
Safe Harbor rule are more.
"""


class Tier(StrEnum):
    """Who may get a release, from anybody to nobody."""

    PUBLICATION = "publication"
    CONTRACT = "contract"
    INTERNAL = "internal"
    NONE = "none"

    @property
    def letter(self) -> str:
        """The short name: P, C, I or N."""
        return self.value[0].upper()

    @property
    def rank(self) -> int:
        """How many may get it: 0 for nobody, 3 for anybody."""
        return _ORDER.index(self)

    @property
    def headline(self) -> str:
        """The decision in one line."""
        return _HEADLINES[self]

    @property
    def meaning(self) -> str:
        """Who may get it, in a sentence."""
        return _MEANINGS[self]

    @property
    def obligations(self) -> tuple[str, ...]:
        """What whoever shares at this tier takes on."""
        return _OBLIGATIONS[self]

    @property
    def purpose(self) -> str:
        """What it is for, as in *not for publication*."""
        return _PURPOSES[self]

    @property
    def next_higher(self) -> Tier | None:
        """The tier above; None above publication."""
        position = self.rank + 1
        if position < len(_ORDER):
            return _ORDER[position]
        return None


_ORDER = (Tier.NONE, Tier.INTERNAL, Tier.CONTRACT, Tier.PUBLICATION)
GRANTED = (Tier.PUBLICATION, Tier.CONTRACT, Tier.INTERNAL)
"""The tiers that can be granted, the highest first."""
_HEADLINES = {
    Tier.PUBLICATION: "Meets the terms for publication",
    Tier.CONTRACT: "Meets the terms for sharing under contract",
    Tier.INTERNAL: "Internal use only",
    Tier.NONE: "Do not share",
}
_PURPOSES = {
    Tier.PUBLICATION: "publication",
    Tier.CONTRACT: "sharing under contract",
    Tier.INTERNAL: "internal use",
    Tier.NONE: "sharing",
}
_MEANINGS = {
    Tier.PUBLICATION: "Anybody may get it; an attempt to recognise people is taken as certain.",
    Tier.CONTRACT: (
        "Named recipients may get it who are bound in writing not to identify people, link the data"
        " or pass them on."
    ),
    Tier.INTERNAL: (
        "It stays with the organisation that lawfully holds the original. To be treated as personal"
        " data."
    ),
    Tier.NONE: "It does not meet the terms for internal use either.",
}
_OBLIGATIONS = {
    Tier.PUBLICATION: (
        "Publish this version only.",
        "Compute the decision again before anything else about these people is released.",
    ),
    Tier.CONTRACT: (
        "Name the recipients.",
        "Have them sign that they will not identify people, link the data or pass them on.",
        "Compute the decision again before anything else about these people is released.",
    ),
    Tier.INTERNAL: (
        "Name the staff who use it, log their access, and export nothing.",
        "Treat it as personal data.",
    ),
    Tier.NONE: ("Keep it where the original is.",),
}

CLASS_SIZES: dict[Tier, dict[Harm, int]] = {
    Tier.PUBLICATION: {"low": 11, "medium": 15, "high": 20},
    Tier.CONTRACT: {"low": 5, "medium": 5, "high": 11},
    Tier.INTERNAL: {"low": 3, "medium": 5, "high": 11},
}
"""Tier → how bad it would be → the smallest class."""
SAFE_ROOM: dict[Harm, int] = {"low": 3, "medium": 3, "high": 5}
"""What would do where people work in a safe room, and only results leave it: told, and no tier."""

EPSILON_LIMITS = {Tier.PUBLICATION: 1.0, Tier.CONTRACT: 3.0, Tier.INTERNAL: 8.0}
"""The largest certified ε of one person: ours, nobody published numbers. At ε = 1 who took part is
recognised with at most 2.7 % + δ at 1 % false alarms.
"""
DELTA_SHARE = 10
"""δ is at most 1/(10 n) for n people, a number that is public."""


@dataclasses.dataclass(frozen=True)
class NumberSource:
    """Where a number is from, and how far that could be checked."""

    text: str
    checked: str


_IPC = (
    "the table of the Ontario IPC's guidelines (2025): 0.09, 0.075 and 0.05 taken as 11, 15 and 20"
)
_SDC = "SDC Practice Guide (World Bank and IHSN, 2019): 3 and 5 are typical of official microdata"
SEEN, SECONDARY, OUR_OWN = "seen at the source", "secondary source", "our own"
SOURCES: dict[int, NumberSource] = {
    3: NumberSource(_SDC, SEEN),
    5: NumberSource(f"{_SDC}; ARX (2025) takes a highest risk of 0.2", SEEN),
    11: NumberSource(
        f"EMA Policy 0070 (2016) and Health Canada PRCI (2019): 0.09 taken as 11; {_IPC}", SECONDARY
    ),
    15: NumberSource(_IPC, SECONDARY),
    20: NumberSource(_IPC, SECONDARY),
}
OUR_READING = "that it fits this context is our reading, not theirs"
EPSILON_SOURCE = NumberSource("limits of this package: nobody published numbers", OUR_OWN)


def class_size(tier: Tier, harm: Harm) -> int:
    """The smallest class that a tier asks for.

    >>> class_size(Tier.PUBLICATION, "medium"), class_size(Tier.INTERNAL, "low")
    (15, 3)
    """
    return CLASS_SIZES[tier][harm]


def risk_limit(tier: Tier, harm: Harm) -> float:
    """The largest risk that a tier allows: ρ = 1/k."""
    return 1 / class_size(tier, harm)


def source_of(tier: Tier, harm: Harm) -> NumberSource:
    """Where the number of a tier is from.

    >>> source_of(Tier.CONTRACT, "low").checked
    'seen at the source'
    """
    source = SOURCES[class_size(tier, harm)]
    if tier is Tier.PUBLICATION:
        return source
    return NumberSource(f"{source.text}; {OUR_READING}", source.checked)


def required_diversity(harm: Harm, distinct: int) -> int:
    """How many values of a sensitive column a class must have for publication: 3 at high harm, else
    2, and never more than the column has.

    >>> required_diversity("high", 2), required_diversity("high", 9), required_diversity("low", 9)
    (2, 3, 2)
    """
    return min(3 if harm == "high" else 2, distinct)


def is_small(population: int | None) -> bool:
    """Whether the people may know each other; an unknown number of people is small."""
    return population is None or population <= SMALL_POPULATION


def harm_of(sensitivity: str, population: int | None) -> Harm:
    """How bad it would be: as answered, and a step worse where the population is small. What is not
    answered is high.

    >>> harm_of("low", 5000), harm_of("low", 10**6), harm_of("unknown", 10**6)
    ('medium', 'low', 'high')
    """
    step = len(HARMS) - 1
    for position, harm in enumerate(HARMS):
        if sensitivity == harm:
            step = position
    return HARMS[min(len(HARMS) - 1, step + is_small(population))]


def requested_tier(recipient: str, contract: str) -> Tier:
    """The tier that a context asks for: whoever is not bound is anybody.

    >>> requested_tier("researchers", "yes"), requested_tier("researchers", "unknown")
    (<Tier.CONTRACT: 'contract'>, <Tier.PUBLICATION: 'publication'>)
    """
    if contract != "yes":
        return Tier.PUBLICATION
    if recipient == "internal":
        return Tier.INTERNAL
    # Work in a safe room is under contract as well; what would do there is told as a note.
    if recipient in ("researchers", "trusted"):
        return Tier.CONTRACT
    return Tier.PUBLICATION
