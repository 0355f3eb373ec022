"""DPV and ODRL in JSON-LD: what comes in, what goes out, what is permitted."""

from __future__ import annotations

import dataclasses
import datetime
import json

import pytest

from sfumato.policy.dialects.dialect_detection import (
    parse_policy,
    permits_use,
    usage_of_release,
    write_policy,
)
from sfumato.policy.dialects.dpv import read_usages, release_to_dpv
from sfumato.policy.dialects.subsumption import built_in
from sfumato.policy.dialects.usages import Category, TechnicalMeasure, Usage, allows
from sfumato.policy.documents import Findings, PolicyError, read_json
from sfumato.policy.policy import Group, LegalBasis, Policy, PrivacyModel, Recipient, Retention
from sfumato.release.certificate_files import read_certificate
from tests.policy.written_policies import datum, people, purpose, study

DPV = {
    "@context": {
        "dpv": "https://w3id.org/dpv#",
        "pd": "https://w3id.org/dpv/pd#",
        "ex": "https://example.org/",
        "sf": "urn:sfumato:vocabulary#",
        "purpose": "dpv:hasPurpose",
    },
    "@graph": [
        {
            "@id": "ex:study",
            "@type": "dpv:Process",
            "purpose": {"@id": "dpv:AcademicResearch"},
            "dpv:hasPersonalData": [{"@id": "pd:Age"}, {"@id": "ex:zip"}],
            "https://w3id.org/dpv#hasProcessing": {"@id": "dpv:Use"},
            "dpv:hasRecipient": {"@id": "ex:university"},
            "dpv:hasLegalBasis": "dpv:Consent",
            "dpv:hasTechnicalOrganisationalMeasure": {"@type": "sf:KAnonymity", "sf:has_k": 5},
            "dpv:hasStorageCondition": {
                "@type": "dpv:StorageCondition",
                "dpv:hasDuration": "P1Y",
                "dpv:hasLocation": {"@id": "ex:EU"},
            },
        },
        {
            "@id": "ex:zip",
            "@type": "pd:Location",
            "sf:column": {"@value": "zip"},
            "sf:group": "QID",
            "sf:minimumLevel": 2,
        },
    ],
}


def usages(tree) -> tuple[Usage, ...]:
    findings = Findings()
    return read_usages(read_json(json.dumps(tree), "doc", findings), findings)


def test_dpv_in():
    assert usages(DPV) == (
        Usage(
            purposes=("dpv:AcademicResearch",),
            data=(Category("pd:Age"), Category("pd:Location", "zip", "QID", 2)),
            processing=("dpv:Use",),
            recipients=("https://example.org/university",),
            measures=(TechnicalMeasure("sf:KAnonymity", (("has_k", 5.0),)),),
            locations=("https://example.org/EU",),
            days=365,
            legal_bases=("dpv:Consent",),
        ),
    )


def test_dpv_as_a_policy():
    policy, findings = parse_policy(json.dumps(DPV), name="study.jsonld")
    (research,) = policy.purposes
    assert policy.name == "study" and research.name == "AcademicResearch"
    assert [(d.name, d.group) for d in research.data] == [("Age", Group.QID), ("zip", Group.QID)]
    assert research.data[1].anonymization.minimum == 2
    assert research.recipients == (Recipient("university"),)
    assert research.retention == Retention("after_purpose", amount=365)
    assert research.models == (PrivacyModel("k_anonymity", (), (("k", "5"),)),)
    assert [f.rule for f in findings] == ["group_guessed"]


def test_a_policy_survives_the_way_through_dpv():
    """What DPV and our few terms can say: purposes, columns, groups, levels, recipients, models,
    days.
    """
    data = (datum("Name", "EI"), datum("Age", "QID", 1, 2), datum("Disease", "SD"))
    said = purpose(
        *(dataclasses.replace(d, categories=("dpv:PersonalData",)) for d in data),
        models=(
            PrivacyModel("k_anonymity", (), (("k", "3"),)),
            PrivacyModel("l_diversity", ("Disease",), (("l", "2"),)),
        ),
        retention=Retention("after_purpose", amount=30),
        legal_bases=(LegalBasis("consent"),),
    )
    policy = Policy("study", purposes=(said,))
    again, findings = parse_policy(write_policy(policy, "dpv"), name="study.jsonld")
    assert again == policy and not list(findings)


ODRL = {
    "@context": [
        "http://www.w3.org/ns/odrl.jsonld",
        {"ex": "https://example.org/", "dpv": "https://w3id.org/dpv#"},
    ],
    "@type": "Set",
    "uid": "ex:policy",
    "permission": [
        {
            "target": "pd:Health",
            "action": "use",
            "constraint": [
                {
                    "leftOperand": "purpose",
                    "operator": "isA",
                    "rightOperand": {"@id": "dpv:ResearchAndDevelopment"},
                },
                {
                    "leftOperand": "recipient",
                    "operator": "eq",
                    "rightOperand": {"@id": "ex:university"},
                },
                {
                    "leftOperand": "elapsedTime",
                    "operator": "lteq",
                    "rightOperand": {"@value": "P365D"},
                },
            ],
            "duty": [
                {
                    "action": "anonymize",
                    "constraint": [
                        {
                            "leftOperand": "sf:has_k",
                            "operator": "gteq",
                            "rightOperand": {"@value": "10"},
                        }
                    ],
                }
            ],
        }
    ],
    "prohibition": [
        {
            "target": "pd:Health",
            "action": "use",
            "constraint": [
                {
                    "leftOperand": "purpose",
                    "operator": "isA",
                    "rightOperand": {"@id": "dpv:CommercialResearch"},
                }
            ],
        }
    ],
}


def request(purpose="dpv:AcademicResearch", k=12.0, days=30, **changes) -> Usage:
    wanted = Usage(
        purposes=(purpose,),
        data=(Category("pd:HealthRecord"),),
        processing=("dpv:Analyse",),
        recipients=("https://example.org/university",),
        measures=(TechnicalMeasure("sf:KAnonymity", (("has_k", k),)),),
        days=days,
    )
    return dataclasses.replace(wanted, **changes)


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (request(), ""),
        (request(k=10.0), ""),
        (request(k=9.0), "has_k is 9, allowed is 10"),
        (request("dpv:Marketing"), "dpv:Marketing is not dpv:ResearchAndDevelopment"),
        (request("dpv:CommercialResearch"), "a prohibition covers it"),
        (request(days=400), "durationInDays"),
        (request(recipients=("https://example.org/press",)), "press is not"),
        (request(data=(Category("pd:HealthRecord"), Category("pd:Age"))), "pd:Age"),
        (request(measures=()), "is not sf:KAnonymity"),
    ],
)
def test_odrl_permissions_and_prohibitions(wanted, reason):
    answer = allows(wanted, usages(ODRL))
    assert answer.allowed is (not reason)
    assert reason in answer.reason


def test_a_permission_with_a_constraint_we_cannot_check_permits_nothing():
    tree = json.loads(json.dumps(ODRL))
    tree["permission"][0]["constraint"].append(
        {"leftOperand": "count", "operator": "lt", "rightOperand": 3}
    )
    findings = Findings()
    found = read_usages(read_json(json.dumps(tree), "doc", findings), findings)
    assert not [u for u in found if u.permitted]
    assert "odrl_constraint" in {f.rule for f in findings}
    assert allows(request(), found).reason == "nothing is permitted"


@pytest.mark.parametrize(
    ("operator", "today", "reason"),
    [
        ("lteq", "2030-06-30", ""),
        ("lt", "2030-06-30", "ended"),
        ("lteq", "2030-07-01", "ended"),
        ("lt", "2030-06-29", ""),
    ],
)
def test_permissions_end(operator, today, reason):
    tree = json.loads(json.dumps(ODRL))
    last = {
        "leftOperand": "dateTime",
        "operator": operator,
        "rightOperand": {"@value": "2030-06-30"},
    }
    tree["permission"][0]["constraint"].append(last)
    answer = allows(request(), usages(tree), today=datetime.date.fromisoformat(today))
    assert answer.allowed is (not reason) and reason in answer.reason
    policy, _ = parse_policy(json.dumps(tree), name="x")
    assert policy.purposes[0].retention.kind == "fixed_date"


def test_prohibited_purposes_are_not_agreed_to():
    tree = json.loads(json.dumps(ODRL))
    tree["prohibition"][0]["constraint"][0]["rightOperand"] = {"@id": "dpv:ResearchAndDevelopment"}
    policy, _ = parse_policy(json.dumps(tree), name="x")
    assert [p.accepted for p in policy.purposes] == [False]


def test_documents_that_describe_nothing():
    with pytest.raises(PolicyError, match="no_usage"):
        usages({"@context": {}, "@graph": []})


def test_remote_contexts_are_not_fetched():
    findings = Findings()
    tree = {**DPV, "@context": ["https://example.org/context.jsonld", DPV["@context"]]}
    assert read_usages(read_json(json.dumps(tree), "doc", findings), findings) == usages(DPV)
    assert [f.rule for f in findings] == ["remote_context"]


def test_differential_privacy_counts_as_deidentification():
    words = built_in()
    assert words.within(["dpv:DifferentialPrivacy"], "dpv:Deidentification")
    assert words.within(["sf:KAnonymity"], "dpv:Anonymisation")
    assert not words.within(["dpv:Pseudonymisation"], "dpv:Anonymisation")


# --- releases


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("linked") / "out"
    study().enforce(people(), purpose="research", recipient="university").write(folder)
    return read_certificate(folder / "share")


@pytest.mark.slow
def test_a_release_in_dpv_terms(certificate):
    made = release_to_dpv(
        certificate, {"purpose": "dpv:AcademicResearch", "recipient": "university"}
    )
    (measure,) = made["dpv:hasTechnicalOrganisationalMeasure"]
    assert measure == {"@type": "sf:KAnonymity", "sf:has_k": 3, "sf:promised_k": 3}
    assert [d["sf:column"]["@value"] for d in made["dpv:hasPersonalData"]] == [
        "Age",
        "Zipcode",
        "Disease",
    ]
    assert made["dpv:hasPurpose"] == {"@id": "dpv:AcademicResearch"}
    assert not any(value in json.dumps(made) for value in ("20-30", "537", "Flu"))
    (again,) = usages(made)
    assert again.measures == (TechnicalMeasure("sf:KAnonymity", (("has_k", 3.0),)),)
    assert again.purposes == ("dpv:AcademicResearch",) and len(again.data) == 3


CONSENT = """ObjectIntersectionOf(
  ObjectSomeValuesFrom(spl:hasData ObjectIntersectionOf(pd:Health kAnonymous DataHasValue(has_k "{k}"^^xsd:integer)))
  ObjectSomeValuesFrom(spl:hasPurpose dpv:ResearchAndDevelopment))"""


@pytest.mark.parametrize(("k", "allowed"), [(2, True), (3, True), (4, False)])
def test_a_release_against_a_special_policy(certificate, tmp_path, k, allowed):
    file = tmp_path / "consent.owl"
    file.write_text(CONSENT.format(k=k))
    use = usage_of_release(
        certificate, purpose="dpv:AcademicResearch", categories=["pd:HealthRecord"]
    )
    answer = permits_use(file, use)
    assert answer.allowed is allowed
    if not allowed:
        assert answer.reason == "hasData: has_k is 3, allowed is 4 to ∞"


def test_categories_that_are_not_said_are_not_allowed(certificate, tmp_path):
    file = tmp_path / "consent.owl"
    file.write_text(CONSENT.format(k=2))
    answer = permits_use(file, usage_of_release(certificate, purpose="dpv:AcademicResearch"))
    assert not answer and "is not pd:Health" in answer.reason
