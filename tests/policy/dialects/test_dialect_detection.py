"""Every dialect says the same: written and read again, a policy is the same policy."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from sfumato.errors import ParameterError, SfumatoError
from sfumato.policy.dialects import ALL, Dialect
from sfumato.policy.dialects.dialect_detection import load_policy, parse_policy, write_policy
from sfumato.policy.dialects.own_format import json_schema
from sfumato.policy.documents import PolicyError
from sfumato.policy.policy import Anonymization, Group, Policy, Purpose, Retention
from tests.policy.written_policies import POLICIES, study

LOSSLESS = ("ours", "lpl-a", "lpl-b", "lpl-xml")


@pytest.mark.slow
@pytest.mark.parametrize("dialect", LOSSLESS)
@given(policy=POLICIES)
def test_round_trip(dialect, policy):
    again, findings = parse_policy(write_policy(policy, dialect))
    assert not findings.errors
    assert again == policy


@pytest.mark.parametrize(
    "wrong",
    [
        {"sfumato_policy": 1},
        {"name": "x"},
        {"sfumato_policy": 2, "name": "x"},
        {"sfumato_policy": 1, "name": "x", "purpose": []},
        {
            "sfumato_policy": 1,
            "name": "x",
            "purposes": [{"name": "r", "data": [{"name": "a", "group": "XX"}]}],
        },
    ],
)
def test_the_schema_and_the_reader_refuse_the_same(wrong):
    import jsonschema

    assert not jsonschema.Draft202012Validator(json_schema()).is_valid(wrong)
    with pytest.raises(PolicyError):
        parse_policy(json.dumps(wrong))


# The forms in use, written by hand: A as PriPoCoG's editors write it, B as the older viewer reads
# it.
DIALECT_A = """{
  "name": "shop", "version": "1.0", "lang": "en",
  "head": [{"lang": "en", "value": "Shop"}], "desc": [],
  "purposeList": [{
    "name": "research", "optOut": false, "required": true,
    "dataList": [{
      "name": "age", "required": true, "dataType": "Number", "privacyGroup": "qi",
      "anonymizationMethod": {"name": "Generalization",
        "anonymizationMethodAttributeList": [{"key": "Minimum Level", "value": "1"}, {"key": "Maximum Level", "value": "2"}],
        "hierarchyEntityList": [{"value": "25"}, {"value": "20-30"}, {"value": "<50"}]},
      "dataCategoryList": [{"name": "demographic"}], "dataGroupList": []}],
    "dataRecipientList": [{"name": "university", "thirdCountryTransfer": false}],
    "retention": {"type": "fixedDate", "pointInTime": "2030-12-31"},
    "privacyModelList": [{"name": "k-Anonymity", "nameOfDataList": [{"name": "age"}],
      "privacyModelAttributeList": [{"key": "k", "value": "3"}]}],
    "legalBasisList": [{"name": "consent", "lbCategory": "Consent"}], "pseudonymizationMethodList": []}],
  "purposeHierarchy": []
}"""
DIALECT_B = """{
  "name": "shop", "version": "1.0", "lang": "en",
  "headerList": {"label": [{"lang": "en", "value": "Shop"}]},
  "purposeList": {"purpose": [{
    "name": "research", "optOut": "false", "required": "true",
    "dataList": {"data": [{
      "name": "age", "required": "true", "dataType": "NUMBER", "privacyGroup": "QID",
      "anonymizationMethod": {"name": "Generalization",
        "attributeList": {"anonymizationMethodAttribute": [{"key": "min", "value": "1"}, {"key": "max", "value": "2"}]},
        "hierarchy": {"HierarchyEntryList": {"HierarchyEntry": ["25", "20-30", "<50"]}}},
      "dataCategoryList": {"dataCategory": [{"name": "demographic"}]}}]},
    "dataRecipientList": {"dataRecipient": [{"name": "university"}]},
    "retention": {"type": "FIXEDDATE", "pointInTime": "2030-12-31"},
    "privacyModelList": {"privacyModel": [{"name": "k-Anonymity", "nameOfDataList": {"nameOfData": [{"name": "age"}]},
      "attributeList": {"privacyModelAttribute": [{"key": "k", "value": "3"}]}}]},
    "legalBasisList": {"legalBasis": [{"name": "consent", "lbCategory": "Consent"}]}}]}
}"""


def test_both_json_dialects_are_the_same_policy():
    one, found_in_a = parse_policy(DIALECT_A)
    other, found_in_b = parse_policy(DIALECT_B)
    assert one == other
    assert not list(found_in_a) and not list(found_in_b)
    age = one.purposes[0].data[0]
    assert age.group is Group.QID
    assert age.anonymization == Anonymization("Generalization", 1, 2, (("25", "20-30", "<50"),))


def test_durations_of_dialect_b():
    tree = json.loads(DIALECT_B)
    tree["purposeList"]["purpose"][0]["retention"] = {
        "type": "AFTERPURPOSE",
        "pointInTime": {"type": "month", "value": "6"},
    }
    policy, _ = parse_policy(json.dumps(tree))
    assert policy.purposes[0].retention == Retention("after_purpose", amount=6, unit="month")


def test_the_answer_of_the_viewer_is_read():
    tree = json.loads(DIALECT_B)
    tree["purposeList"]["purpose"][0]["accepted"] = False
    assert parse_policy(json.dumps(tree))[0].purposes[0].accepted is False
    tree["purposeList"]["purpose"][0]["accepted"] = True
    tree["accepted"] = "false"
    assert parse_policy(json.dumps(tree))[0].purposes[0].accepted is False


def test_a_finding_names_line_and_path():
    text = DIALECT_A.replace('"privacyGroup": "qi"', '"privacyGroup": "secret"')
    (finding,) = parse_policy(text)[1].errors
    assert finding.rule == "unknown_privacy_group"
    assert finding.path == "$.purposeList[0].dataList[0].privacyGroup"
    assert finding.line == 7


def study_of_one_row() -> Policy:
    return parse_policy(DIALECT_A)[0]


def test_what_is_not_understood_is_told():
    text = DIALECT_A.replace('"lang": "en",\n', '"lang": "en", "colour": "blue",\n', 1)
    policy, found = parse_policy(text)
    assert policy == study_of_one_row()
    assert [(f.rule, f.severity) for f in found] == [("not_read", "note")]


def test_a_group_that_cannot_be_read_is_protected_most():
    policy, _ = parse_policy(DIALECT_A.replace('"privacyGroup": "qi"', '"privacyGroup": ""'))
    assert policy.purposes[0].data[0].group is Group.EI


def test_what_a_language_cannot_say_is_refused_not_dropped():
    with pytest.raises(PolicyError, match="not_sayable"):
        write_policy(study(), "lpl-a")
    with pytest.raises(PolicyError, match="not_sayable"):
        write_policy(Policy("p", purposes=(Purpose("any", any_data=True),)), "lpl-b")


def test_unknown_dialects():
    with pytest.raises(PolicyError, match="unknown_dialect"):
        parse_policy('{"rules": []}')
    with pytest.raises(PolicyError, match="unknown_dialect"):
        parse_policy("[1, 2]")
    with pytest.raises(ParameterError, match="cannot be written"):
        write_policy(study(), "p3p")


def test_a_language_is_called_as_it_is_entered_and_does_something():
    for name, dialect in ALL.items():
        assert dialect.name == name
        assert dialect.title
        assert dialect.prescribes or dialect.permits
        assert dialect.writable == (dialect.text is not Dialect.text)
        assert dialect.prescribes == (dialect.policy is not Dialect.policy)
        assert dialect.permits == (dialect.permission is not Dialect.permission)


def test_files(tmp_path):
    file = tmp_path / "study.json"
    file.write_text(write_policy(study(), "ours"), encoding="utf-8")
    assert load_policy(file) == study() == Policy.load(file)
    with pytest.raises(SfumatoError, match="cannot read"):
        load_policy(tmp_path / "absent.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(SfumatoError, match="UTF-8"):
        load_policy(tmp_path / "binary.json")
