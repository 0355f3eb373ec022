"""Concepts of SPECIAL's policy language: classes, intersections, unions, properties, intervals.

The fragment of OWL 2 that usage policies are written in (PL): ``⊓`` and ``⊔`` of classes, ``∃R.C``
with functional properties R, and ``∃f.[l,u]`` with functional data properties f.

Reference: Bonatti, Ioffredo, Petrova, Sauro & Siahaan 2020, *Real-time reasoning in OWL2 for GDPR
compliance*, doi:10.1016/j.artint.2020.103389.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Literal, NoReturn

from sfumato.errors import ParameterError
from sfumato.policy.dialects import Dialect, PermittedUses
from sfumato.policy.documents import (
    MAX_DEPTH,
    ROOT,
    Document,
    Findings,
    Place,
    PolicyError,
    Remark,
    TreeView,
    require_small,
)

# Disjuncts that a concept may have once unions are moved outside.
MAX_UNION = 20_000

AT_LEAST = ("has_k", "has_l", "has_p", "hask", "hasl", "hasp")
AT_MOST = (
    "has_t",
    "has_epsilon",
    "has_delta",
    "has_beta",
    "has_alpha",
    "has_risk",
    "hast",
    "hasepsilon",
    "hasdelta",
    "hasbeta",
    "hasalpha",
    "hasrisk",
)


@dataclasses.dataclass(frozen=True)
class NamedClass:
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

    ``exact`` marks a value that was given as such (``DataHasValue``): what it means depends on the
    side it stands on. ``whole`` marks properties of whole numbers, between which there is nothing.
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


Concept = NamedClass | Some | Between | And | Or


@dataclasses.dataclass(frozen=True)
class Simple:
    """A concept without unions: named classes, one filler per property, one interval per data
    property.
    """

    names: frozenset[str] = frozenset()
    fillers: Mapping[str, Simple] = dataclasses.field(default_factory=dict)
    intervals: Mapping[str, Between] = dataclasses.field(default_factory=dict)


CORE = (
    "hasData",
    "hasPurpose",
    "hasProcessing",
    "hasStorage",
    "hasRecipient",
    "hasLocation",
    "durationInDays",
)


def core_property(name: str) -> str:
    """A property of the core model or a parameter of ours without its prefix; other properties keep
    theirs.

    >>> core_property("spl:hasData"), core_property("sf:has_k"), core_property("my:owner")
    ('hasData', 'has_k', 'my:owner')
    """
    plain = name.rsplit(":", 1)[-1].rsplit("#", 1)[-1]
    if plain in CORE or plain.startswith("has_"):
        return plain
    return name


def direction(property_name: str) -> Literal["at least", "at most", "exactly"]:
    """Which way a parameter protects: more of k, less of t.

    >>> direction("has_k"), direction("spl:has_t"), direction("durationInDays")
    ('at least', 'at most', 'exactly')
    """
    plain = property_name.rsplit(":", 1)[-1].rsplit("#", 1)[-1].lower()
    if plain in AT_LEAST:
        return "at least"
    return "at most" if plain in AT_MOST else "exactly"


def as_policy(concept: Concept) -> Concept:
    """A concept as a policy means it: an exact value of a protecting parameter is the least
    protection asked for.

    ``has_k = 10`` becomes ``has_k ∈ [10, ∞)`` and ``has_t = 0.2`` becomes ``has_t ∈ [0, 0.2]``;
    otherwise 12-anonymous data would not satisfy a policy that asks for 10-anonymity.
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
            # unions multiply: (a or b) and (c or d) has four alternatives
            if len(combined) * len(ways) > MAX_UNION:
                raise ParameterError(
                    f"the policy has more than {MAX_UNION} alternatives after expanding its "
                    "unions; simplify it"
                )
            combined = [(*before, *way) for before in combined for way in ways]
        yield from combined
    elif isinstance(concept, Some):
        for way in _spread(concept.concept):
            yield (Some(concept.property, And(way)),)
    else:
        yield (concept,)


# SPECIAL usage policies in OWL functional syntax: the fragment that policies use, and axioms for
# the vocabulary.
#
# ::
#
#     ObjectIntersectionOf(
#       ObjectSomeValuesFrom(spl:hasData ObjectIntersectionOf(svd:Demographic kAnonymous
#       DataHasValue(has_k "10"^^xsd:integer))) ObjectSomeValuesFrom(spl:hasPurpose svpu:Research)
#       ObjectSomeValuesFrom(spl:hasStorage DataSomeValuesFrom(spl:durationInDays
#         DatatypeRestriction(xsd:integer xsd:minInclusive "0"^^xsd:integer xsd:maxInclusive
#         "365"^^xsd:integer))))
#
# A value may stand where OWL wants a range, as in lecture notes:
# ``DataSomeValueFrom(has_k "10"/xsd:integer)`` is read as the value 10.

SKIP = re.compile(r"(?:\s+|#[^\n]*)*")
TOKEN = re.compile(
    r"(?P<sign>[()=])"
    r'|(?P<text>"[^"]*"(?:(?:\^\^|/)[^\s()]+|@[\w-]+)?)'
    r'|(?P<name><[^<>\s]*>|[^\s()"=#<>]+)'
)
WHOLE = ("xsd:integer", "xsd:int", "xsd:nonNegativeInteger", "xsd:positiveInteger", "xsd:long")
LOW = ("xsd:minInclusive", "xsd:minExclusive")
HIGH = ("xsd:maxInclusive", "xsd:maxExclusive")


@dataclasses.dataclass(frozen=True)
class Ontology:
    """What a document says: at most one policy, classes above classes, and classes that nothing is
    both of.
    """

    policy: Concept | None
    parents: dict[str, list[str]]
    apart: list[tuple[str, ...]]


def parse_functional(text: str, name: str = "the policy") -> Ontology:
    """Read a policy (a class expression) and axioms ``SubClassOf`` and ``DisjointClasses`` of named
    classes.
    """
    require_small(text, name)
    reader = _Reader(text, name)
    ontology = Ontology(None, {}, [])
    while not reader.at_end:
        ontology = _top(reader, ontology)
    return ontology


def _top(reader: _Reader, ontology: Ontology) -> Ontology:
    start = reader.peek()
    # what says nothing about data
    if start in ("Prefix", "Declaration", "Import", "AnnotationAssertion", "Annotation"):
        reader.take()
        reader.skip_group()
        return ontology
    if start == "Ontology":
        return _inside(reader, ontology)
    if start in ("SubClassOf", "DisjointClasses"):
        reader.take()
        names = reader.names()
        if start == "SubClassOf" and len(names) == 2:
            ontology.parents.setdefault(names[0], []).append(names[1])
        # disjoint pairwise
        elif start == "DisjointClasses" and len(names) > 1:
            ontology.apart.extend((a, b) for i, a in enumerate(names) for b in names[i + 1 :])
        else:
            reader.fail(f"{start} needs two named classes")
        return ontology
    if ontology.policy is not None:
        reader.fail("one policy is expected; join several with ObjectUnionOf")
    return dataclasses.replace(ontology, policy=_concept(reader, 0))


def _inside(reader: _Reader, ontology: Ontology) -> Ontology:
    reader.take()
    reader.expect("(")
    while reader.peek() != ")":
        if reader.peek().startswith("<"):
            reader.take()
        else:
            ontology = _top(reader, ontology)
    reader.expect(")")
    return ontology


def _concept(reader: _Reader, depth: int) -> Concept:
    if depth > MAX_DEPTH:
        reader.fail("the expression is nested too deeply; simplify it")
    word = reader.take()
    if word in "()=":
        reader.fail("a class or an expression is expected")
    if reader.at_end or reader.peek() != "(":
        return NamedClass(_short(word))
    reader.expect("(")
    if word in ("ObjectIntersectionOf", "ObjectUnionOf"):
        parts = []
        while reader.peek() != ")":
            parts.append(_concept(reader, depth + 1))
        if not parts:
            reader.fail(f"{word} needs parts")
        concept: Concept = And(tuple(parts)) if word == "ObjectIntersectionOf" else Or(tuple(parts))
    elif word in ("ObjectSomeValuesFrom", "ObjectSomeValueFrom"):
        concept = Some(core_property(_short(reader.take_name())), _concept(reader, depth + 1))
    elif word in ("DataHasValue", "DataSomeValuesFrom", "DataSomeValueFrom"):
        concept = _data(reader, core_property(_short(reader.take_name())))
    else:
        reader.fail(f"{word} is not part of the policy language")
    reader.expect(")")
    return concept


def _data(reader: _Reader, name: str) -> Between:
    if reader.peek() != "DatatypeRestriction":
        value, whole = reader.number()
        return Between(name, value, value, exact=True, whole=whole)
    reader.take()
    reader.expect("(")
    whole = reader.take_name() in WHOLE
    low, high = -math.inf, math.inf
    while reader.peek() != ")":
        facet = reader.take_name()
        value, _ = reader.number()
        # of real numbers, an open end would need another form of interval
        if facet not in (*LOW, *HIGH) or ("Exclusive" in facet and not whole):
            reader.fail(
                "a range must use xsd:minInclusive and xsd:maxInclusive; Exclusive is for whole "
                "numbers only"
            )
        # of whole numbers, more than 3 is at least 4
        if facet in LOW:
            low = max(low, value + (facet == "xsd:minExclusive"))
        else:
            high = min(high, value - (facet == "xsd:maxExclusive"))
    reader.expect(")")
    return Between(name, low, high, whole=whole)


def _short(name: str) -> str:
    """A full name in angle brackets without them."""
    if name.startswith("<") and name.endswith(">"):
        return name[1:-1]
    return name


def _after_space(text: str, position: int) -> int:
    """The place after blanks and comments."""
    match = SKIP.match(text, position)
    return position if match is None else match.end()


class _Reader:
    """The tokens of a text, one after the other."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name, self.at = text, name, 0
        self.tokens: list[tuple[str, str, int]] = []
        position = _after_space(text, 0)
        while position < len(text):
            token = TOKEN.match(text, position)
            if token is None:
                self.tokens.append(("sign", "?", position))
                self.at = len(self.tokens) - 1
                self.fail("this cannot be read as functional syntax")
            self.tokens.append((str(token.lastgroup), token[0], position))
            position = _after_space(text, token.end())

    @property
    def at_end(self) -> bool:
        return self.at >= len(self.tokens)

    def peek(self) -> str:
        if self.at_end:
            self.fail("the text ends too early")
        return self.tokens[self.at][1]

    def take(self) -> str:
        word = self.peek()
        self.at += 1
        return word

    def take_name(self) -> str:
        if not self.at_end and self.tokens[self.at][0] != "name":
            self.fail("a name is expected")
        return self.take()

    def expect(self, sign: str) -> None:
        # step back, so that the message names the line of the wrong sign
        if self.take() != sign:
            self.at -= 1
            self.fail(f"{sign} is expected")

    def number(self) -> tuple[float, bool]:
        """A number and whether it is a whole one by its type, or by its look where no type is
        given.
        """
        literal = self.take()
        match = re.fullmatch(
            r'"?\s*([+-]?\d{1,15}(?:\.\d{1,20})?)\s*"?(?:(?:\^\^|/)(\S+))?', literal
        )
        if match is None:
            self.at -= 1
            self.fail("a number is expected")
        if match[2]:
            whole = match[2] in WHOLE
        else:
            whole = "." not in match[1]
        return float(match[1]), whole

    def names(self) -> list[str]:
        self.expect("(")
        names = []
        while self.peek() != ")":
            names.append(_short(self.take_name()))
        self.expect(")")
        return names

    def skip_group(self) -> None:
        self.expect("(")
        depth = 1
        while depth:
            word = self.take()
            depth += (word == "(") - (word == ")")

    def fail(self, message: str) -> NoReturn:
        position = 0
        if self.tokens:
            position = self.tokens[min(self.at, len(self.tokens) - 1)][2]
        line = self.text.count("\n", 0, position) + 1
        raise PolicyError([Remark("functional_syntax", "error", "$", message, line)], self.name)


# SPECIAL usage policies as JSON.
#
# A concept is a class name, or an object with one of the keys ``and``, ``or``, ``some``,
# ``interval``, ``value``; an object with other keys is an intersection of properties, so that the
# minimum core model can be written down as it is thought::
#
#     {"hasData": {"and": ["Demographic", "kAnonymous", {"value": {"has_k": 10}}]},
#      "hasPurpose": "Research",
#      "hasStorage": {"hasLocation": "EU", "durationInDays": [0, 365]}}
#
# A list of two numbers (null: no end) is an interval, a number an exact value.

WORDS = ("and", "or", "some", "interval", "value")


def read_concept(node: Place) -> Concept:
    """The concept at a place; what cannot be read leaves a finding and stands for everything."""
    value = node.value
    if isinstance(value, str) and value.strip():
        return NamedClass(value.strip())
    if isinstance(value, list):
        return Or(tuple(read_concept(part) for part in _parts(node)))
    if not isinstance(value, Mapping) or not value:
        node.error("not_a_concept", "a class name or an object is expected here")
        return And(())
    if len(value) > 1:
        return And(tuple(_conjunct(node, str(key)) for key in value))
    return _conjunct(node, str(next(iter(value))))


def _conjunct(node: Place, key: str) -> Concept:
    below = Place(node.value[key], f"{node.path}.{key}", node.document, node.findings)
    if key in ("and", "or"):
        parts = tuple(read_concept(part) for part in _parts(below))
        return And(parts) if key == "and" else Or(parts)
    if key in ("some", "interval", "value"):
        if not isinstance(below.value, Mapping):
            below.error("not_a_concept", f"{key} needs an object with the property as its key")
            return And(())
        return And(tuple(_property(below, str(name)) for name in below.value))
    return _property(node, key)


def _parts(node: Place) -> list[Place]:
    if not isinstance(node.value, list) or not node.value:
        node.error("not_a_list", "a list with at least one part is expected here")
        return []
    return [
        Place(v, f"{node.path}[{i}]", node.document, node.findings)
        for i, v in enumerate(node.value)
    ]


def _property(node: Place, name: str) -> Concept:
    value = node.value[name]
    below = Place(value, f"{node.path}.{name}", node.document, node.findings)
    name = core_property(name)
    if _is_number(value):
        return Between(name, float(value), float(value), exact=True, whole=isinstance(value, int))
    if (
        isinstance(value, list)
        and len(value) == 2
        and all(v is None or _is_number(v) for v in value)
    ):
        low, high = value
        whole = all(v is None or isinstance(v, int) for v in value)
        return Between(
            name,
            -math.inf if low is None else float(low),
            math.inf if high is None else float(high),
            whole=whole,
        )
    return Some(name, read_concept(below))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15


def to_json(concept: Concept) -> Any:
    """A concept as JSON data, the inverse of :func:`read_concept` up to the order of properties."""
    if isinstance(concept, NamedClass):
        return concept.name
    if isinstance(concept, And):
        return {"and": [to_json(part) for part in concept.parts]}
    if isinstance(concept, Or):
        return {"or": [to_json(part) for part in concept.parts]}
    if isinstance(concept, Some):
        return {"some": {concept.property: to_json(concept.concept)}}
    # JSON has no infinity: an open end is null
    ends: list[float | None] = []
    for end in (concept.low, concept.high):
        if math.isinf(end):
            ends.append(None)
        else:
            ends.append(int(end) if concept.whole else end)
    if concept.exact:
        return {"value": {concept.property: ends[0]}}
    return {"interval": {concept.property: ends}}


def to_functional(concept: Concept) -> str:
    """A concept in functional syntax, the inverse
    of :func:`sfumato.policy.dialects.special.parse_functional`.
    """
    if isinstance(concept, NamedClass):
        return concept.name
    if isinstance(concept, And | Or):
        word = "ObjectUnionOf"
        if isinstance(concept, And):
            word = "ObjectIntersectionOf"
        return f"{word}({' '.join(to_functional(part) for part in concept.parts)})"
    if isinstance(concept, Some):
        return f"ObjectSomeValuesFrom({concept.property} {to_functional(concept.concept)})"
    kind = "xsd:integer" if concept.whole else "xsd:decimal"
    if concept.exact:
        return f"DataHasValue({concept.property} {_literal(concept.low, kind)})"
    low = ""
    if not math.isinf(concept.low):
        low = f" xsd:minInclusive {_literal(concept.low, kind)}"
    high = ""
    if not math.isinf(concept.high):
        high = f" xsd:maxInclusive {_literal(concept.high, kind)}"
    return f"DataSomeValuesFrom({concept.property} DatatypeRestriction({kind}{low}{high}))"


def _literal(value: float, kind: str) -> str:
    if kind == "xsd:integer":
        text = str(int(value))
    else:
        text = format(Decimal(repr(value)), "f")
    return f'"{text}"^^{kind}'


KEYS = ("hasData", "hasPurpose", "hasProcessing", "hasStorage", "hasRecipient", *WORDS)


class Special(Dialect):
    """SPECIAL's policies as JSON: a concept, and nothing about columns."""

    name = "special"
    title = "SPECIAL"
    prescribes = False
    permits = True

    def speaks(self, tree: TreeView) -> bool:
        """Whether a property of the core model or a word for concepts is there."""
        return any(str(key).rsplit(":", 1)[-1] in KEYS for key in tree)

    def permission(self, document: Document, findings: Findings) -> PermittedUses:
        """What :func:`read_concept` reads."""
        return PermittedUses(read_concept(Place.root(document, findings)))


class SpecialFunctional(Special):
    """SPECIAL's policies in OWL's functional syntax, with axioms about their classes."""

    name = "special-functional"
    openings = ("Object", "Data", "Prefix(", "Ontology(", "SubClassOf(")

    def speaks(self, tree: TreeView) -> bool:
        """No JSON is functional syntax."""
        return False

    def document(self, text: str, name: str, findings: Findings) -> Document:
        """The text itself, read when somebody asks what it permits."""
        return Document(text, name, text, {ROOT: 1})

    def permission(self, document: Document, findings: Findings) -> PermittedUses:
        """What :func:`parse_functional` reads, which must hold a policy."""
        ontology = parse_functional(document.text, document.name)
        if ontology.policy is None:
            findings.fail("no_policy", ROOT, "the document has axioms but no policy")
        return PermittedUses(ontology.policy, ontology.parents, ontology.apart)
