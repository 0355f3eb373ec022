"""The Data Privacy Vocabulary: processes in, policies and releases out."""

from __future__ import annotations

import json

import pytest

from sfumato.policy.dialects.dpv import RULES
from sfumato.policy.lint import lint_text
from tests.policy.test_methods import column, dpv


def dpv_errors(tree) -> list[str]:
    return [
        finding.rule
        for finding in lint_text(json.dumps(tree), name="p.jsonld")
        if finding.severity == "error"
    ]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"dpv:hasPersonalData": column(**{"sf:group": "QUASI"})}, "unknown_privacy_group"),
        (
            {"dpv:hasPersonalData": column(**{"sf:group": "QID", "sf:minimumLevel": "two"})},
            "level_not_a_number",
        ),
        (
            {"dpv:hasPersonalData": column(**{"sf:group": "QID", "sf:minimumLevel": 1.5})},
            "level_not_a_number",
        ),
        (
            {"dpv:hasPersonalData": column(**{"sf:group": "QID", "sf:maximumLevel": -1})},
            "level_not_a_number",
        ),
        (
            {
                "dpv:hasTechnicalOrganisationalMeasure": {
                    "@type": "sf:KAnonymity",
                    "sf:has_k": "ten",
                }
            },
            "parameter_not_a_number",
        ),
        (
            {"dpv:hasTechnicalOrganisationalMeasure": {"@id": "dpv:Pseudonymisation"}},
            "unknown_measure",
        ),
        (
            {"dpv:hasTechnicalOrganisationalMeasure": {"@id": "dpv:DifferentialPrivacy"}},
            "unknown_measure",
        ),
        ({"dpv:hasTechnicalOrganisationalMeasure": {"@type": "sf:OtherModel"}}, "unknown_measure"),
        ({"dpv:hasStorageCondition": {"dpv:hasDuration": "a while"}}, "unreadable_duration"),
        *(({name: {"@id": "sf:x"}}, "not_read") for name in RULES),
    ],
)
def test_dpv_refuses_by_name(changes, rule):
    assert rule in dpv_errors(dpv(**changes))
