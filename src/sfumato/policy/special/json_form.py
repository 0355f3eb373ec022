"""SPECIAL usage policies as JSON.

A concept is a class name, or an object with one of the keys ``and``, ``or``, ``some``, ``interval``, ``value``; an object with other keys is
an intersection of properties, so that the minimum core model can be written down as it is thought::

    {"hasData": {"and": ["Demographic", "kAnonymous", {"value": {"has_k": 10}}]},
     "hasPurpose": "Research",
     "hasStorage": {"hasLocation": "EU", "durationInDays": [0, 365]}}

A list of two numbers (null: no end) is an interval, a number an exact value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from sfumato.policy.places import Place
from sfumato.policy.special.concepts import And, Between, Concept, Named, Or, Some, core_property

WORDS = ("and", "or", "some", "interval", "value")


def read_concept(place: Place) -> Concept:
    """The concept at a place; what cannot be read leaves a finding and stands for everything."""
    value = place.value
    if isinstance(value, str) and value.strip():
        return Named(value.strip())
    if isinstance(value, list):
        return Or(tuple(read_concept(part) for part in _parts(place)))
    if not isinstance(value, Mapping) or not value:
        place.error("not_a_concept", "a class name or an object is expected here")
        return And(())
    return (
        And(tuple(_conjunct(place, str(key)) for key in value))
        if len(value) > 1
        else _conjunct(place, str(next(iter(value))))
    )


def _conjunct(place: Place, key: str) -> Concept:
    below = Place(place.value[key], f"{place.path}.{key}", place.document, place.findings)
    if key in ("and", "or"):
        parts = tuple(read_concept(part) for part in _parts(below))
        return And(parts) if key == "and" else Or(parts)
    if key in ("some", "interval", "value"):
        if not isinstance(below.value, Mapping):
            below.error("not_a_concept", f"{key} needs an object with the property as its key")
            return And(())
        return And(tuple(_property(below, str(name)) for name in below.value))
    return _property(place, key)


def _parts(place: Place) -> list[Place]:
    if not isinstance(place.value, list) or not place.value:
        place.error("not_a_list", "a list with at least one part is expected here")
        return []
    return [Place(v, f"{place.path}[{i}]", place.document, place.findings) for i, v in enumerate(place.value)]


def _property(place: Place, name: str) -> Concept:
    value = place.value[name]
    below = Place(value, f"{place.path}.{name}", place.document, place.findings)
    name = core_property(name)
    if _is_number(value):
        return Between(name, float(value), float(value), exact=True, whole=isinstance(value, int))
    if isinstance(value, list) and len(value) == 2 and all(v is None or _is_number(v) for v in value):
        low, high = value
        whole = all(v is None or isinstance(v, int) for v in value)
        return Between(
            name, -math.inf if low is None else float(low), math.inf if high is None else float(high), whole=whole
        )
    return Some(name, read_concept(below))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15


def to_json(concept: Concept) -> Any:
    """A concept as JSON data, the inverse of :func:`read_concept` up to the order of properties."""
    if isinstance(concept, Named):
        return concept.name
    if isinstance(concept, And):
        return {"and": [to_json(part) for part in concept.parts]}
    if isinstance(concept, Or):
        return {"or": [to_json(part) for part in concept.parts]}
    if isinstance(concept, Some):
        return {"some": {concept.property: to_json(concept.concept)}}
    ends = [None if math.isinf(v) else int(v) if concept.whole else v for v in (concept.low, concept.high)]
    return {"value": {concept.property: ends[0]}} if concept.exact else {"interval": {concept.property: ends}}


def to_functional(concept: Concept) -> str:
    """A concept in functional syntax, the inverse of :func:`sfumato.policy.special.functional.parse_functional`."""
    if isinstance(concept, Named):
        return concept.name
    if isinstance(concept, And | Or):
        word = "ObjectIntersectionOf" if isinstance(concept, And) else "ObjectUnionOf"
        return f"{word}({' '.join(to_functional(part) for part in concept.parts)})"
    if isinstance(concept, Some):
        return f"ObjectSomeValuesFrom({concept.property} {to_functional(concept.concept)})"
    kind = "xsd:integer" if concept.whole else "xsd:decimal"
    if concept.exact:
        return f"DataHasValue({concept.property} {_literal(concept.low, kind)})"
    low = "" if math.isinf(concept.low) else f" xsd:minInclusive {_literal(concept.low, kind)}"
    high = "" if math.isinf(concept.high) else f" xsd:maxInclusive {_literal(concept.high, kind)}"
    return f"DataSomeValuesFrom({concept.property} DatatypeRestriction({kind}{low}{high}))"


def _literal(value: float, kind: str) -> str:
    text = str(int(value)) if kind == "xsd:integer" else format(Decimal(repr(value)), "f")
    return f'"{text}"^^{kind}'
