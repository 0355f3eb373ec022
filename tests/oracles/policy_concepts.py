"""Subsumption by brute force: every individual of a small world is tried.

An individual is a set of classes (closed upwards, no two disjoint), a number or none for the data
property, and at most one successor for each property, down to the depth at which concepts stop
looking.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping

from sfumato.policy.dialects.special import And, Between, Concept, NamedClass, Or, Some


@dataclasses.dataclass(frozen=True)
class Individual:
    classes: frozenset[str]
    number: float | None
    successor: Individual | None


def holds(concept: Concept, one: Individual) -> bool:
    """The meaning of a concept, by its definition."""
    if isinstance(concept, NamedClass):
        return concept.name in one.classes
    if isinstance(concept, And):
        return all(holds(part, one) for part in concept.parts)
    if isinstance(concept, Or):
        return any(holds(part, one) for part in concept.parts)
    if isinstance(concept, Some):
        return one.successor is not None and holds(concept.concept, one.successor)
    assert isinstance(concept, Between)
    return one.number is not None and concept.low <= one.number <= concept.high


def individuals(
    classes: tuple[str, ...],
    parents: Mapping[str, frozenset[str]],
    apart: frozenset[frozenset[str]],
    numbers: tuple[float, ...],
    depth: int,
) -> Iterator[Individual]:
    """Every individual of the world."""
    below = [None, *individuals(classes, parents, apart, numbers, depth - 1)] if depth else [None]
    for size in range(len(classes) + 1):
        for chosen in itertools.combinations(classes, size):
            found = frozenset(chosen)
            if any(not parents.get(name, frozenset()) <= found for name in found):
                continue
            if any(pair <= found for pair in apart):
                continue
            for number, successor in itertools.product((None, *numbers), below):
                yield Individual(found, number, successor)


def subsumed(special: Concept, general: Concept, world: list[Individual]) -> bool:
    """Whether no individual is in the first and not in the second."""
    return all(holds(general, one) for one in world if holds(special, one))
