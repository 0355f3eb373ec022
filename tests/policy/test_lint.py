"""The consistency rules, one a row."""

from __future__ import annotations

import dataclasses
import datetime

import pytest

from sfumato.policy.dialects.dialect_detection import write_policy
from sfumato.policy.lint import lint, lint_text
from sfumato.policy.policy import (
    LegalBasis,
    Policy,
    PrivacyModel,
    Pseudonymization,
    Purpose,
    Recipient,
    Retention,
)
from tests.policy.written_policies import AGES, datum, k_anonymity, personal, purpose, study

TODAY = datetime.date(2026, 1, 1)
AGE = datum("age", "QID", 0, 2)


def one(*purposes: Purpose, hierarchy=()) -> Policy:
    return Policy("p", purposes=purposes, hierarchy=hierarchy)


def changed(**fields) -> Policy:
    return one(dataclasses.replace(purpose(AGE), **fields))


SOUND = purpose(AGE)
CASES = {
    "duplicate_purpose": one(SOUND, SOUND),
    "duplicate_datum": one(purpose(AGE, AGE)),
    "duplicate_recipient": changed(recipients=(Recipient("a"), Recipient("a"))),
    "unknown_datum": changed(models=(dataclasses.replace(k_anonymity(3), data=("zip",)),)),
    "min_above_max": one(purpose(datum("age", "QID", 2, 1))),
    "hierarchy_uneven": one(purpose(datum("age", "QID", 0, 1, [("1", "2"), ("1", "2", "3")]))),
    "min_above_hierarchy": one(purpose(datum("age", "QID", 5, 6, AGES.values()))),
    "required_but_refused": changed(required=True, accepted=False),
    "third_country_unprotected": changed(recipients=(Recipient("a", third_country=True),)),
    "legal_obligation_not_required": changed(legal_bases=(LegalBasis("tax", "Legal Obligation"),)),
    "expired_retention": changed(
        retention=Retention("fixed_date", date=datetime.date(2025, 12, 31))
    ),
    "retention_without_date": changed(retention=Retention("fixed_date")),
    "unknown_model": changed(models=(PrivacyModel("q-mystery"),)),
    "cyclic_purposes": one(SOUND, hierarchy=(("a", "research"), ("research", "a"))),
    "two_parents": one(SOUND, hierarchy=(("a", "research"), ("b", "research"))),
    "sub_purpose_wider": one(
        SOUND, purpose(AGE, datum("zip", "QID"), name="sub"), hierarchy=(("research", "sub"),)
    ),
    "sub_purpose_differs": one(
        SOUND,
        dataclasses.replace(purpose(AGE, name="sub"), opt_out=True),
        hierarchy=(("research", "sub"),),
    ),
    "no_purposes": Policy("p"),
}
WARNINGS = {
    "no_category": one(purpose(dataclasses.replace(AGE, categories=()))),
    "level_missing": one(purpose(datum("age", "QID", 1))),
    "no_data": one(purpose()),
    "no_model": changed(models=()),
    "unkeyed_hash": changed(pseudonymizations=(Pseudonymization("SHA-1", ("age",)),)),
    "unknown_purpose": one(SOUND, hierarchy=(("x", "y"),)),
}


def test_a_sound_policy_has_no_findings():
    assert not list(lint(one(SOUND), today=TODAY))
    assert not list(lint(personal("25", "53711", age_level=1), today=TODAY))


@pytest.mark.parametrize("rule", CASES)
def test_error(rule):
    found = lint(CASES[rule], today=TODAY)
    assert rule in {f.rule for f in found.errors}


@pytest.mark.parametrize("rule", WARNINGS)
def test_warning(rule):
    found = lint(WARNINGS[rule], today=TODAY)
    assert {(f.rule, f.severity) for f in found} == {(rule, "warning")}


def test_sub_purposes_that_fit_are_fine():
    sub = purpose(AGE, name="sub")
    assert not list(lint(one(SOUND, sub, hierarchy=(("research", "sub"),))))


def test_a_retention_of_today_has_not_passed():
    fine = changed(retention=Retention("fixed_date", date=TODAY))
    assert not list(lint(fine, today=TODAY))


def test_a_datum_that_the_table_lacks():
    found = lint(one(SOUND), columns=["ages", "zip"])
    assert [(f.rule, f.path) for f in found] == [("datum_not_in_table", "$.purposes[0].data[0]")]
    assert (
        "ages" not in next(iter(found)).message
    )  # half of the names is not enough to know that it is one


def test_a_datum_is_looked_for_among_names_that_are_confirmed():
    found = lint(personal("25", "53711"), columns=["Name", "Ages", "Zipcode", "Disease"])
    assert any("Did you mean 'Ages'?" in finding.message for finding in found)


@pytest.mark.parametrize("dialect", ["ours", "lpl-a", "lpl-b", "lpl-xml"])
def test_findings_about_meaning_have_a_line_in_every_dialect(dialect):
    policy = personal("25", "53711", age_level=2)
    wrong = dataclasses.replace(
        policy.purposes[0].data[1],
        anonymization=dataclasses.replace(policy.purposes[0].data[1].anonymization, maximum=1),
    )
    data = (policy.purposes[0].data[0], wrong, *policy.purposes[0].data[2:])
    text = write_policy(one(dataclasses.replace(policy.purposes[0], data=data)), dialect)
    (finding,) = [f for f in lint_text(text) if f.rule == "min_above_max"]
    assert finding.path == "$.purposes[0].data[1].anonymization"
    near = "\n".join(text.splitlines()[finding.line - 8 : finding.line + 8])
    assert "Age" in near


def test_findings_never_show_values_of_hierarchies():
    secret = [("s3cret", "x", "*"), ("s3cret", "y", "*"), ("s3cret2", "z")]
    found = list(lint(one(purpose(datum("age", "QID", 9, 1, secret)))))
    assert found and not any("s3cret" in str(f) for f in found)


def test_unreadable_text_is_a_finding():
    assert [f.rule for f in lint_text("{")] == ["unreadable"]
    assert [f.rule for f in lint_text('{"x": 1}')] == ["unknown_dialect"]


def test_a_policy_with_rows_for_all_is_sound():
    assert not list(lint(study(), today=TODAY))
