"""Concepts of SPECIAL's policy language: classes, intersections, unions, properties, intervals.

The fragment of OWL 2 that usage policies are written in (PL): ``⊓`` and ``⊔`` of classes, ``∃R.C`` with functional properties R, and
``∃f.[l,u]`` with functional data properties f.

Reference: Bonatti, Ioffredo, Petrova, Sauro & Siahaan 2020, *Real-time reasoning in OWL2 for GDPR compliance*,
doi:10.1016/j.artint.2020.103389.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Literal

from sfumato.errors import ParameterError

MAX_UNION = 20_000
"""Disjuncts that a concept may have once unions are moved outside."""

AT_LEAST = ("has_k", "has_l", "has_p", "hask", "hasl", "hasp")
AT_MOST = ("has_t", "has_epsilon", "has_delta", "has_beta", "has_alpha", "has_risk", "hast", "hasepsilon", "hasdelta",
           "hasbeta", "hasalpha", "hasrisk")  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Named:
    """A class of the vocabulary; ``Thing`` is all there is."""

    name: str


@dataclasses.dataclass(frozen=True)
class Some:
    """``∃R.C``: the property leads to something of the concept."""

    property: str
    concept: Concept


@dataclasses.dataclass(frozen=True)
class Between:
    """``∃f.[l,u]``: the value of a data property lies between two numbers, both included.

    ``exact`` marks a value that was given as such (``DataHasValue``): what it means depends on the side it stands on.
    ``whole`` marks properties of whole numbers, between which there is nothing.
    """

    property: str
    low: float
    high: float
    exact: bool = False
    whole: bool = True


@dataclasses.dataclass(frozen=True)
class And:
    """``C ⊓ D ⊓ …``; without parts it is all there is."""

    parts: tuple[Concept, ...]


@dataclasses.dataclass(frozen=True)
class Or:
    """``C ⊔ D ⊔ …``; without parts it is nothing."""

    parts: tuple[Concept, ...]


Concept = Named | Some | Between | And | Or
THING = And(())


@dataclasses.dataclass(frozen=True)
class Simple:
    """A concept without unions: named classes, one filler per property, one interval per data property."""

    names: frozenset[str] = frozenset()
    fillers: Mapping[str, Simple] = dataclasses.field(default_factory=dict)
    intervals: Mapping[str, Between] = dataclasses.field(default_factory=dict)


CORE = ("hasData", "hasPurpose", "hasProcessing", "hasStorage", "hasRecipient", "hasLocation", "durationInDays")


def core_property(name: str) -> str:
    """A property of the core model or a parameter of ours without its prefix; other properties keep theirs.

    >>> core_property("spl:hasData"), core_property("sf:has_k"), core_property("my:owner")
    ('hasData', 'has_k', 'my:owner')
    """
    plain = name.rsplit(":", 1)[-1].rsplit("#", 1)[-1]
    return plain if plain in CORE or plain.startswith("has_") else name


def direction(property_name: str) -> Literal["at least", "at most", "exactly"]:
    """Which way a parameter protects: more of k, less of t.

    >>> direction("has_k"), direction("spl:has_t"), direction("durationInDays")
    ('at least', 'at most', 'exactly')
    """
    plain = property_name.rsplit(":", 1)[-1].rsplit("#", 1)[-1].lower()
    return "at least" if plain in AT_LEAST else "at most" if plain in AT_MOST else "exactly"


def as_policy(concept: Concept) -> Concept:
    """A concept as a policy means it: an exact value of a protecting parameter is the least protection asked for.

    ``has_k = 10`` becomes ``has_k ∈ [10, ∞)`` and ``has_t = 0.2`` becomes ``has_t ∈ [0, 0.2]``; otherwise 12-anonymous data would
    not satisfy a policy that asks for 10-anonymity.
    """
    if isinstance(concept, Some):
        return Some(concept.property, as_policy(concept.concept))
    if isinstance(concept, And):
        return And(tuple(as_policy(part) for part in concept.parts))
    if isinstance(concept, Or):
        return Or(tuple(as_policy(part) for part in concept.parts))
    if isinstance(concept, Between) and concept.exact:
        ways = {
            "at least": (concept.low, math.inf),
            "at most": (0.0, concept.high),
            "exactly": (concept.low, concept.high),
        }
        low, high = ways[direction(concept.property)]
        return dataclasses.replace(concept, low=low, high=high, exact=False)
    return concept


def disjuncts(concept: Concept) -> tuple[tuple[Concept, ...], ...]:
    """Unions moved outside: each part is a list of conjuncts without a union in it."""
    return tuple(_spread(concept))


def _spread(concept: Concept) -> Iterator[tuple[Concept, ...]]:
    if isinstance(concept, Or):
        for part in concept.parts:
            yield from _spread(part)
    elif isinstance(concept, And):
        combined: list[tuple[Concept, ...]] = [()]
        for part in concept.parts:
            ways = list(_spread(part))
            if len(combined) * len(ways) > MAX_UNION:
                raise ParameterError(
                    f"the policy has more than {MAX_UNION} alternatives once its unions are spread out"
                )
            combined = [(*before, *way) for before in combined for way in ways]
        yield from combined
    elif isinstance(concept, Some):
        for way in _spread(concept.concept):
            yield (Some(concept.property, And(way)),)
    else:
        yield (concept,)
