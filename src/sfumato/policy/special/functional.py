"""SPECIAL usage policies in OWL functional syntax: the fragment that policies use, and axioms for the vocabulary.

::

    ObjectIntersectionOf(
      ObjectSomeValuesFrom(spl:hasData ObjectIntersectionOf(svd:Demographic kAnonymous DataHasValue(has_k "10"^^xsd:integer)))
      ObjectSomeValuesFrom(spl:hasPurpose svpu:Research)
      ObjectSomeValuesFrom(spl:hasStorage DataSomeValuesFrom(spl:durationInDays
        DatatypeRestriction(xsd:integer xsd:minInclusive "0"^^xsd:integer xsd:maxInclusive "365"^^xsd:integer))))

A value may stand where OWL wants a range, as in lecture notes: ``DataSomeValueFrom(has_k "10"/xsd:integer)`` is read as the value 10.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import NoReturn

from sfumato.policy.documents import MAX_DEPTH, require_small
from sfumato.policy.findings import Finding, PolicyError
from sfumato.policy.special.concepts import And, Between, Concept, Named, Or, Some, core_property

SKIP = re.compile(r"(?:\s+|#[^\n]*)*")
TOKEN = re.compile(
    r'(?P<sign>[()=])|(?P<text>"[^"]*"(?:(?:\^\^|/)[^\s()]+|@[\w-]+)?)|(?P<name><[^<>\s]*>|[^\s()"=#<>]+)'
)
WHOLE = ("xsd:integer", "xsd:int", "xsd:nonNegativeInteger", "xsd:positiveInteger", "xsd:long")
LOW = ("xsd:minInclusive", "xsd:minExclusive")
HIGH = ("xsd:maxInclusive", "xsd:maxExclusive")


@dataclasses.dataclass(frozen=True)
class Ontology:
    """What a document says: at most one policy, classes above classes, and classes that nothing is both of."""

    policy: Concept | None
    parents: dict[str, list[str]]
    apart: list[tuple[str, ...]]


def parse_functional(text: str, name: str = "the policy") -> Ontology:
    """Read a policy (a class expression) and axioms ``SubClassOf`` and ``DisjointClasses`` of named classes."""
    require_small(text, name)
    reader = _Reader(text, name)
    made = Ontology(None, {}, [])
    while not reader.done:
        made = _top(reader, made)
    return made


def _top(reader: _Reader, made: Ontology) -> Ontology:
    start = reader.peek()
    if start in ("Prefix", "Declaration", "Import", "AnnotationAssertion", "Annotation"):
        reader.take()
        reader.skip_group()
        return made
    if start == "Ontology":
        return _inside(reader, made)
    if start in ("SubClassOf", "DisjointClasses"):
        reader.take()
        names = reader.names()
        if start == "SubClassOf" and len(names) == 2:
            made.parents.setdefault(names[0], []).append(names[1])
        elif start == "DisjointClasses" and len(names) > 1:
            made.apart.extend((a, b) for i, a in enumerate(names) for b in names[i + 1 :])
        else:
            reader.fail(f"{start} takes two named classes")
        return made
    if made.policy is not None:
        reader.fail("one policy is expected; join several with ObjectUnionOf")
    return dataclasses.replace(made, policy=_concept(reader, 0))


def _inside(reader: _Reader, made: Ontology) -> Ontology:
    reader.take()
    reader.expect("(")
    while reader.peek() != ")":
        if reader.peek().startswith("<"):
            reader.take()
        else:
            made = _top(reader, made)
    reader.expect(")")
    return made


def _concept(reader: _Reader, depth: int) -> Concept:
    if depth > MAX_DEPTH:
        reader.fail("the expression is nested too deeply")
    word = reader.take()
    if word in "()=":
        reader.fail("a class or an expression is expected")
    if reader.done or reader.peek() != "(":
        return Named(_short(word))
    reader.expect("(")
    if word in ("ObjectIntersectionOf", "ObjectUnionOf"):
        parts = []
        while reader.peek() != ")":
            parts.append(_concept(reader, depth + 1))
        if not parts:
            reader.fail(f"{word} needs parts")
        made: Concept = And(tuple(parts)) if word == "ObjectIntersectionOf" else Or(tuple(parts))
    elif word in ("ObjectSomeValuesFrom", "ObjectSomeValueFrom"):
        made = Some(core_property(_short(reader.take_name())), _concept(reader, depth + 1))
    elif word in ("DataHasValue", "DataSomeValuesFrom", "DataSomeValueFrom"):
        made = _data(reader, core_property(_short(reader.take_name())))
    else:
        reader.fail(f"{word} is not part of the policy language")
    reader.expect(")")
    return made


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
        if facet not in (*LOW, *HIGH) or ("Exclusive" in facet and not whole):
            reader.fail("a range has xsd:minInclusive and xsd:maxInclusive; Exclusive is for whole numbers only")
        if facet in LOW:
            low = max(low, value + (facet == "xsd:minExclusive"))
        else:
            high = min(high, value - (facet == "xsd:maxExclusive"))
    reader.expect(")")
    return Between(name, low, high, whole=whole)


def _short(name: str) -> str:
    """A full name in angle brackets without them."""
    return name[1:-1] if name.startswith("<") and name.endswith(">") else name


def _after_space(text: str, place: int) -> int:
    """The place after blanks and comments."""
    found = SKIP.match(text, place)
    return place if found is None else found.end()


class _Reader:
    """The tokens of a text, one after the other."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name, self.at = text, name, 0
        self.tokens: list[tuple[str, str, int]] = []
        place = _after_space(text, 0)
        while place < len(text):
            found = TOKEN.match(text, place)
            if found is None:
                self.tokens.append(("sign", "?", place))
                self.at = len(self.tokens) - 1
                self.fail("this cannot be read as functional syntax")
            self.tokens.append((str(found.lastgroup), found[0], place))
            place = _after_space(text, found.end())

    @property
    def done(self) -> bool:
        return self.at >= len(self.tokens)

    def peek(self) -> str:
        if self.done:
            self.fail("the text ends too early")
        return self.tokens[self.at][1]

    def take(self) -> str:
        word = self.peek()
        self.at += 1
        return word

    def take_name(self) -> str:
        if not self.done and self.tokens[self.at][0] != "name":
            self.fail("a name is expected")
        return self.take()

    def expect(self, sign: str) -> None:
        if self.take() != sign:
            self.at -= 1
            self.fail(f"{sign} is expected")

    def number(self) -> tuple[float, bool]:
        """A number and whether it is a whole one by its type, or by its look where no type is given."""
        literal = self.take()
        found = re.fullmatch(r'"?\s*([+-]?\d{1,15}(?:\.\d{1,20})?)\s*"?(?:(?:\^\^|/)(\S+))?', literal)
        if found is None:
            self.at -= 1
            self.fail("a number is expected")
        whole = found[2] in WHOLE if found[2] else "." not in found[1]
        return float(found[1]), whole

    def names(self) -> list[str]:
        self.expect("(")
        found = []
        while self.peek() != ")":
            found.append(_short(self.take_name()))
        self.expect(")")
        return found

    def skip_group(self) -> None:
        self.expect("(")
        depth = 1
        while depth:
            word = self.take()
            depth += (word == "(") - (word == ")")

    def fail(self, message: str) -> NoReturn:
        place = self.tokens[min(self.at, len(self.tokens) - 1)][2] if self.tokens else 0
        line = self.text.count("\n", 0, place) + 1
        raise PolicyError([Finding("functional_syntax", "error", "$", message, line)], self.name)
