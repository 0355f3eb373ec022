"""Sentences about other tools: those that concern a release, and no others."""

from __future__ import annotations

import pytest

from sfumato.core import registry
from sfumato.release.report.differences import ATTACKED, BY_MODEL, BY_STEP, WILDCARD, differences_of
from tests.release.report import samples
from tests.release.report.samples import public_page
from tests.release.report.test_pages import Page


def test_every_name_is_one_a_recipe_may_use():
    assert set(BY_MODEL) <= set(registry.family("models"))
    assert set(BY_STEP) <= set(registry.family("steps"))


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ({"meet": [{"l_diversity": {"l": 3}}]}, [BY_MODEL["l_diversity"]]),
        (
            {"meet": ["beta_likeness"], "steps": ["pram"]},
            [BY_MODEL["beta_likeness"], BY_STEP["pram"]],
        ),
        ({"steps": [{"add_noise": {}}, {"add_noise": {}}]}, [BY_STEP["add_noise"]]),
        ({"steps": ["suppression"]}, [BY_STEP["suppression"]]),
        ({"meet": [{}], "steps": []}, []),
        ({}, []),
    ],
)
def test_only_what_concerns_the_release(recipe, said):
    assert differences_of({"recipe": recipe, "missing_rule": {}}) == said


def test_wildcards_and_attacks():
    certificate = {"recipe": {}, "missing_rule": {"age": "wildcard"}, "attacks": {"tried": []}}
    assert differences_of(certificate) == [WILDCARD, ATTACKED]


@pytest.mark.slow
def test_on_the_page():
    assert BY_STEP["global_recoding"] in Page(public_page(samples.certificate())).text
    silent = samples.certificate()
    silent["recipe"]["steps"] = []
    assert "If another tool says otherwise" not in public_page(silent)
