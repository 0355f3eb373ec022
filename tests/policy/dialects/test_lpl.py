"""Reading the Layered Privacy Language from a tree, whatever dialect the tree came from."""

from __future__ import annotations

import json

import pytest

from sfumato.policy.dialects.dialect_detection import parse_policy, write_policy
from sfumato.policy.dialects.lpl import GROUPS, MAXIMUM, MINIMUM, TYPES
from sfumato.policy.lint import lint_text
from sfumato.policy.policy import DELETION, GENERALIZATION, METHOD_NAMES, Anonymization, Policy
from tests.policy.test_methods import USE, errors, with_method
from tests.policy.written_policies import people


@pytest.mark.parametrize("name", METHOD_NAMES)
@pytest.mark.parametrize("key", [*MINIMUM, *MAXIMUM, "level", "replacement"])
def test_every_method_and_attribute_of_lpl(name, key):
    tree = json.loads(
        write_policy(with_method("Zipcode", Anonymization(GENERALIZATION, 1, 1)), "lpl-a")
    )
    method = tree["purposeList"][0]["dataList"][2]["anonymizationMethod"]
    method["name"] = name
    method["anonymizationMethodAttributeList"] = [{"key": key, "value": "1"}]
    policy, _ = parse_policy(json.dumps(tree), name="p")
    if key not in MINIMUM + MAXIMUM or (name == "suppression" and key in MAXIMUM):
        assert errors(policy) == ["unknown_method"]
        return
    attributes = policy.compile(people(), **USE).schema.attributes
    steps = policy.compile(people(), **USE).steps
    if METHOD_NAMES[name] == DELETION:
        assert [str(role) for role in attributes["Zipcode"].roles] == ["drop"]
    elif key in MINIMUM:
        assert {"Zipcode": 1} in [getattr(step, "levels", None) for step in steps]


@pytest.mark.parametrize("said", GROUPS)
def test_every_privacy_group_of_lpl(said):
    tree = json.loads(write_policy(base_without_entries(), "lpl-a"))
    tree["purposeList"][0]["dataList"][2]["privacyGroup"] = said
    policy, _ = parse_policy(json.dumps(tree), name="p")
    assert policy.purposes[0].data[2].group == GROUPS[said]
    tree["purposeList"][0]["dataList"][2]["privacyGroup"] = "PUBLIC"
    assert "unknown_privacy_group" in [
        f.rule for f in lint_text(json.dumps(tree)) if f.severity == "error"
    ]


def base_without_entries() -> Policy:
    return with_method("Zipcode", Anonymization(GENERALIZATION, 1, 1))


@pytest.mark.parametrize("kind", TYPES)
def test_data_types_have_no_effect(kind):
    tree = json.loads(write_policy(base_without_entries(), "lpl-a"))
    tree["purposeList"][0]["dataList"][2]["dataType"] = kind
    policy, findings = parse_policy(json.dumps(tree), name="p")
    assert not list(findings)
    assert (
        policy.compile(people(), **USE).steps
        == base_without_entries().compile(people(), **USE).steps
    )
