"""The eighteen kinds of HIPAA's Safe Harbor, and the columns that may be of one."""

from __future__ import annotations

from sfumato import examples
from sfumato.core.data_files import read_data_file
from sfumato.guidance.profiling import lexicon
from sfumato.guidance.profiling.safe_harbor_kinds import identifier_kinds

FAMILIES = ("direct", "quasi", "design")


def test_kinds_are_those_of_the_rule_and_concepts_those_of_the_lexicon() -> None:
    kinds = read_data_file("sfumato.guidance.profiling", "safe_harbor_kinds")
    assert [kind["letter"] for kind in kinds] == list("ABCDEFGHIJKLMNOPQR")
    known = {concept for family in FAMILIES for concept in lexicon.terms_of(family)}
    for kind in kinds:
        assert kind["concepts"] == sorted(set(kind["concepts"]))
        assert set(kind["concepts"]) <= known, kind["title"]
    mentioned = {concept for kind in kinds for concept in kind["concepts"]}
    assert set(lexicon.terms_of("direct")) <= mentioned


def test_columns_of_a_hospital() -> None:
    kinds = {
        kind.letter: [name for name, _ in kind.columns]
        for kind in identifier_kinds(examples.load("hospital").to_polars())
    }
    assert kinds["A"] == ["patient_name"] and kinds["F"] == ["email"]
    assert {"zip"} <= set(kinds["B"]) and {"age", "admission_date"} <= set(kinds["C"])
    assert "insurance_number" in kinds["I"] and not kinds["O"]
