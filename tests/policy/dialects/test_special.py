"""SPECIAL policies as functional syntax and as JSON."""

from __future__ import annotations

import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import SfumatoError
from sfumato.policy.dialects.special import (
    And,
    Between,
    NamedClass,
    Or,
    Some,
    parse_functional,
    read_concept,
    to_functional,
    to_json,
)
from sfumato.policy.documents import Findings, Place, PolicyError, read_json

NAMES = st.sampled_from(["A", "svd:Demographic", "dpv:AcademicResearch"])
NUMBERS = st.integers(0, 10**6)


def intervals(name: str):
    whole = (
        st.tuples(NUMBERS, NUMBERS)
        .map(sorted)
        .map(lambda ends: Between(name, float(ends[0]), float(ends[1])))
    )
    open_ended = NUMBERS.map(lambda low: Between(name, float(low), math.inf))
    exact = NUMBERS.map(lambda v: Between(name, float(v), float(v), exact=True))
    real = st.tuples(NUMBERS, NUMBERS).map(sorted)
    return (
        whole
        | open_ended
        | exact
        | real.map(
            lambda ends: Between(
                name, ends[0] / 1000 + 0.0005, ends[1] / 1000 + 0.0005, whole=False
            )
        )
    )


CONCEPTS = st.recursive(
    st.builds(NamedClass, NAMES) | intervals("has_k") | intervals("my:size"),
    lambda inner: (
        st.builds(And, st.lists(inner, min_size=2, max_size=3).map(tuple))
        | st.builds(Or, st.lists(inner, min_size=2, max_size=3).map(tuple))
        | st.builds(Some, st.sampled_from(["hasData", "my:owner"]), inner)
    ),
    max_leaves=8,
)


@given(CONCEPTS)
def test_functional_round_trip(concept):
    assert parse_functional(to_functional(concept)).policy == concept


def from_json(tree):
    findings = Findings()
    concept = read_concept(Place.root(read_json(json.dumps(tree), "p", findings), findings))
    findings.raise_errors()
    return concept


def flat(concept):
    """Without intersections of one part, which JSON objects with one key make."""
    if isinstance(concept, And | Or):
        parts = tuple(flat(part) for part in concept.parts)
        return parts[0] if len(parts) == 1 else type(concept)(parts)
    return Some(concept.property, flat(concept.concept)) if isinstance(concept, Some) else concept


@given(CONCEPTS)
def test_json_round_trip(concept):
    assert flat(from_json(to_json(concept))) == flat(concept)


# SPECIAL deliverable D2.5 as quoted in Gerl's lecture: 10-anonymous demographic data, written with
# a value for a range (S4-31).
LECTURE = 'ObjectIntersectionOf(Demographic kAnonymous DataSomeValueFrom(has_k "10"/xsd:integer))'


def test_the_lecture_s_example():
    ten = Between("has_k", 10, 10, exact=True)
    assert parse_functional(LECTURE).policy == And(
        (NamedClass("Demographic"), NamedClass("kAnonymous"), ten)
    )
    right = LECTURE.replace("DataSomeValueFrom", "DataHasValue").replace("/xsd", "^^xsd")
    assert parse_functional(right).policy == parse_functional(LECTURE).policy


def test_ontologies_with_axioms():
    text = """
    Prefix(spl:=<http://www.specialprivacy.eu/langs/usage-policy#>)   # a comment
    Ontology(<http://example.org/x>
      Declaration(Class(svd:Demographic))
      SubClassOf(svd:Age svd:Demographic)
      DisjointClasses(svd:Age svd:Name svd:Zip)
      ObjectIntersectionOf(ObjectSomeValuesFrom(spl:hasData svd:Demographic)
        ObjectSomeValuesFrom(spl:hasStorage DataSomeValuesFrom(spl:durationInDays
          DatatypeRestriction(xsd:integer xsd:minInclusive "0"^^xsd:integer xsd:maxExclusive "366"^^xsd:integer)))))
    """
    made = parse_functional(text)
    assert made.parents == {"svd:Age": ["svd:Demographic"]}
    assert made.apart == [("svd:Age", "svd:Name"), ("svd:Age", "svd:Zip"), ("svd:Name", "svd:Zip")]
    storage = Some("hasStorage", Between("durationInDays", 0, 365))
    assert made.policy == And((Some("hasData", NamedClass("svd:Demographic")), storage))


def test_json_reads_as_the_core_model_is_thought():
    tree = {
        "hasData": {"and": ["Demographic", {"value": {"has_k": 10}}]},
        "hasPurpose": ["Research", "Statistics"],
        "hasStorage": {"hasLocation": "EU", "durationInDays": [0, 365]},
        "hasRecipient": {"some": {"my:in": "EU"}},
    }
    data, purpose, storage, _ = from_json(tree).parts
    assert data == Some(
        "hasData", And((NamedClass("Demographic"), And((Between("has_k", 10, 10, exact=True),))))
    )
    assert purpose == Some("hasPurpose", Or((NamedClass("Research"), NamedClass("Statistics"))))
    assert storage == Some(
        "hasStorage",
        And((Some("hasLocation", NamedClass("EU")), Between("durationInDays", 0, 365))),
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("ObjectIntersectionOf(A", 1),
        ("ObjectIntersectionOf()", 1),
        ("ObjectUnionOf(A\nB))", 2),
        ("ObjectComplementOf(A)", 1),
        ('DataHasValue(has_k "ten"^^xsd:integer)', 1),
        ("DataHasValue(has_k)", 1),
        ("A B", 1),
        ("SubClassOf(A)", 1),
        ('ObjectSomeValuesFrom("x" A)', 1),
        ("ObjectUnionOf(A\n\n<b)", 3),
        (
            (
                "DataSomeValuesFrom(f DatatypeRestriction(xsd:decimal xsd:minExclusive"
                ' "1"^^xsd:decimal))'
            ),
            1,
        ),
        ('DataSomeValuesFrom(f DatatypeRestriction(xsd:integer xsd:length "1"^^xsd:integer))', 1),
    ],
)
def test_wrong_syntax_names_the_line(text, line):
    with pytest.raises(PolicyError) as refused:
        parse_functional(text)
    assert refused.value.findings[0].line == line


def test_nesting_is_bounded():
    with pytest.raises(PolicyError, match="nested too deeply"):
        parse_functional("ObjectUnionOf(" * 5000)


@pytest.mark.parametrize(
    "tree",
    [{"and": []}, {"and": "A"}, {"some": "A"}, {"hasData": {}}, {"hasData": True}, {"or": [1]}],
)
def test_wrong_json(tree):
    with pytest.raises(PolicyError):
        from_json(tree)


@given(st.text('ObjectUnionOf(A) \n"<>^#:0.9=@/', max_size=40))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(SfumatoError):
        parse_functional(text)
