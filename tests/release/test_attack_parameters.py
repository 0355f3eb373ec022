"""Attacks with parameters: in Python, in limits, in certificates and scripts, and told apart
wherever they are shown.
"""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.errors import ParameterError, RecipeError, ReleaseRefused
from sfumato.release.report.attacks import attack_words

DEVIATION = {"interval_disclosure": {"kind": "deviation"}}


def people(n: int = 80, seed: int = 3) -> sf.Table:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "zip": rng.integers(10, 30, n),
            "income": np.exp(rng.normal(10, 1, n)).round(),
            "illness": rng.choice(["flu", "cold", "cancer"], n),
        }
    )
    kinds = {"age": "numeric", "zip": "numeric", "income": "numeric"}
    table = sf.Table(frame).with_roles(quasi=["age", "zip"], sensitive=["income", "illness"])
    schema = table.schema
    for name, kind in kinds.items():
        schema = schema.replace(name, kind=kind)
    return table.with_schema(schema)


@pytest.fixture(scope="module")
def table() -> sf.Table:
    return people()


@pytest.fixture(scope="module")
def release(table):
    return sf.anonymize(
        table, [sf.KAnonymity(1)], [sf.AddNoise(columns=("age", "income"), alpha=0.2)], seed=1
    )


def test_every_attack_is_a_public_class():
    for cls in registry.attacks().values():
        assert getattr(sf, cls.__name__) is cls


@pytest.mark.parametrize(
    "asked",
    [
        sf.IntervalDisclosure(kind="deviation"),
        DEVIATION,
        {"interval-disclosure": {"kind": "deviation"}},
    ],
)
def test_an_attack_with_parameters_is_tried_with_them(release, asked):
    usual = release.attack(only=["interval_disclosure"], seconds=5)
    other = release.attack(
        only=asked if isinstance(asked, sf.IntervalDisclosure) else [asked], seconds=5
    )
    assert usual.value("interval_disclosure") != other.value("interval_disclosure")
    (tried,) = other.tried
    assert tried.finding.label == "interval_disclosure: {kind: deviation}"
    assert tried.to_dict()["parameters"] == {"kind": "deviation"}
    assert "parameters" not in usual.tried[0].to_dict()


def test_findings_with_other_parameters_are_told_apart(release):
    both = release.attack(
        only=["interval_disclosure", sf.IntervalDisclosure(kind="deviation")], seconds=5
    )
    assert list(both.values()) == ["interval_disclosure", "interval_disclosure: {kind: deviation}"]
    assert both.value("interval_disclosure") == both.tried[0].finding.value
    assert both.value(sf.IntervalDisclosure(kind="deviation")) == both.tried[1].finding.value
    assert both.to_frame()["attack"].to_list() == list(both.values())
    assert "interval disclosure (kind: deviation)" in both._repr_html_()
    assert [attack_words(one) for one in both.to_dict()["tried"]][
        1
    ] == "interval disclosure (kind: deviation)"


def test_the_learned_linkage_can_be_asked_for_with_another_aggregator(release):
    report = sf.attack(
        release.original, release.released, only=[sf.LearnedLinkage("owa")], seconds=5
    )
    done = [t.finding.label for t in report.tried] + [s.label for s in report.skipped]
    assert done == ["worst_case_linkage: {aggregator: owa}"]


def test_a_parameter_that_is_the_default_is_the_usual_attack(release):
    report = release.attack(
        only=["interval_disclosure", {"interval_disclosure": {"kind": "rank"}}], seconds=5
    )
    assert list(report.values()) == ["interval_disclosure"]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"interval_disclosure": {"sort": "x"}}, "no parameter 'sort'"),
        ({"interval_disclosure": {"kind": "x"}}, "kind"),
        ({"nobody": {"kind": "x"}}, "attack 'nobody' does not exist"),
        (["interval_disclosure"], "an attack is a name"),
        (7, "an attack is a name"),
        ("k_anonymity", "does not exist"),
        ("prosecutor_risk", "does not exist"),
    ],
)
def test_what_is_no_attack_is_refused(release, asked, says):
    with pytest.raises((ParameterError, RecipeError), match=says):
        release.attack(only=[asked], seconds=5)


# Limits.

RECIPE = """
columns:
  age: {role: quasi, kind: numeric}
  zip: {role: quasi, kind: numeric}
  income: {role: sensitive, kind: numeric}
  illness: sensitive
meet: [{k_anonymity: 1}]
steps: [{add_noise: {columns: [age, income], alpha: 0.2}}]
limits: LIMITS
"""


def with_limits(text: str) -> sf.Recipe:
    return recipes.parse(RECIPE.replace("LIMITS", text))


def test_a_limit_with_parameters_is_judged_with_them(table, release):
    found = release.attack(only=[DEVIATION], seconds=5, seed=release.seed).value(
        "interval_disclosure"
    )
    recipe = with_limits(f"{{interval_disclosure: {{kind: deviation, at_most: {found + 0.001}}}}}")
    made = sf.run(table, recipe, seed=1)
    (kept,) = made.limits
    assert (
        kept.value == pytest.approx(found)
        and kept.label == "interval_disclosure: {kind: deviation}"
    )
    assert kept.to_dict()["parameters"] == {"kind": "deviation"}
    assert kept.sentence.startswith("interval disclosure (kind: deviation) is")
    strict = with_limits(f"{{interval_disclosure: {{kind: deviation, at_most: {found - 0.001}}}}}")
    with pytest.raises(ReleaseRefused, match=r"kind: deviation"):
        sf.run(table, strict, seed=1)


def test_one_attack_may_have_several_limits(table):
    recipe = with_limits(
        "{interval_disclosure: [0.99, {kind: deviation, at_most: 0.98}], prosecutor_risk: 1}"
    )
    made = sf.run(table, recipe, seed=1)
    assert [kept.label for kept in made.limits] == [
        "interval_disclosure",
        "interval_disclosure: {kind: deviation}",
        "prosecutor_risk",
    ]
    report = made.attack(seconds=20, sample=40)
    limits = {t.finding.label: t.limit for t in report.tried if t.limit is not None}
    assert limits == {"interval_disclosure": 0.99, "interval_disclosure: {kind: deviation}": 0.98}


def test_python_takes_the_objects_themselves(table):
    limits = {sf.IntervalDisclosure(kind="deviation"): 0.99, "interval-disclosure": 0.98}
    noise = sf.AddNoise(columns=("age", "income"), alpha=0.2)
    made = sf.anonymize(table, [sf.KAnonymity(1)], [noise], limits=limits, seed=1)
    assert made.recipe.limits == {
        "interval_disclosure": [{"kind": "deviation", "at_most": 0.99}, 0.98]
    }
    assert recipes.parse(recipes.dump(made.recipe)).limits == made.recipe.limits


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ("{interval_disclosure: {kind: deviation}}", "needs one bound"),
        ("{interval_disclosure: {at_most: 0.1, at_least: 0.1}}", "needs one bound"),
        ("{interval_disclosure: {kind: deviation, at_least: 0.2}}", "limited by at_most"),
        ("{interval_disclosure: {kind: wrong, at_most: 0.2}}", "kind"),
        ("{interval_disclosure: {sort: x, at_most: 0.2}}", "no parameter 'sort'"),
        ("{interval_disclosure: {kind: deviation, at_most: true}}", "must be a number"),
        ("{interval_disclosure: {kind: deviation, at_most: -1}}", "must be a number"),
        ("{interval_disclosure: []}", "has no limit"),
        ("{interval_disclosure: [0.2, {kind: rank, at_most: 0.1}]}", "limited twice"),
        ("{composition: {confidence: 0.5, at_most: 0.1}}", "computed from a register"),
        ("{validity: {rules: {age: [3, 99]}, at_least: 0.1}}", "in the section contract"),
        ("{interval_disclosure: many}", "must be a number"),
        ("{7: 0.1}", "limits: no risk, attack or utility"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_with_the_recipe(limits, says):
    with pytest.raises(RecipeError, match=says):
        with_limits(limits)


def test_a_certificate_says_which_parameters_were_used_and_verify_takes_them(table, tmp_path):
    table.frame.write_csv(tmp_path / "t.csv")
    recipe = with_limits(
        "{interval_disclosure: {kind: deviation, at_most: 0.99}, records_at_risk: {threshold: 0.3,"
        " at_most: 1}}"
    )
    original = sf.read(tmp_path / "t.csv", recipe=recipe)
    made = sf.run(original, recipe, seed=1)
    made.write(tmp_path / "out")
    certificate = json.loads((tmp_path / "out/share/certificate.json").read_text())
    assert [said["parameters"] for said in certificate["limits"]] == [
        {"kind": "deviation"},
        {"threshold": 0.3},
    ]
    names = {
        claim.name: claim
        for claim in sf.verify(
            tmp_path / "out" / "share", original=original, owner=tmp_path / "out" / "owner"
        ).claims
    }
    assert not [claim for claim in names.values() if claim.status == "fails"]
    again = [
        claim
        for name, claim in names.items()
        if name.startswith("interval_disclosure: {kind: deviation}")
    ]
    assert [claim.status for claim in again if "original" in claim.name] == ["holds"]
    assert names["records_at_risk: {threshold: 0.3}"].status == "holds"


FORGED = {
    "the parameters of a verdict": lambda c: c["limits"][0]["parameters"].update(kind="rank"),
    "parameters that are left out": lambda c: c["limits"][0].pop("parameters"),
    "the parameters of the recipe": (
        lambda c: c["recipe"]["limits"]["interval_disclosure"].update(kind="rank")
    ),
    "a bound of the recipe": (
        lambda c: c["recipe"]["limits"]["interval_disclosure"].update(at_most=0.2)
    ),
    "a limit that is none": lambda c: c["recipe"]["limits"].update(interval_disclosure="x"),
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_certificate_with_other_parameters_fails(table, tmp_path, forged):
    from sfumato.release.recipe_checks import limits_kept
    from sfumato.release.replay import original_beside
    from sfumato.release.shared_folder import SharedFolder

    recipe = with_limits("{interval_disclosure: {kind: deviation, at_most: 0.99}}")
    made = sf.run(table, recipe, seed=1)
    certificate = {
        "recipe": json.loads(json.dumps(recipes.public_dict(made.recipe))),
        "limits": [kept.to_dict() for kept in made.limits],
        "shape": "table",
    }
    shared = SharedFolder(tmp_path, certificate)
    assert [
        claim.status for claim in limits_kept(certificate, shared, original_beside(shared))
    ] == ["needs original"]
    FORGED[forged](certificate)
    assert [
        claim.status for claim in limits_kept(certificate, shared, original_beside(shared))
    ] == ["fails"]


# The forms of limits, at random.


# The workbench.
