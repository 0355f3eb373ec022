"""Rules in common use: dated, sourced, limited, and never more than their numeric part."""

from __future__ import annotations

import datetime

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.policy.compile import Use
from sfumato.policy.comply import comply
from sfumato.policy.dialects.dialect_detection import preset, preset_names
from sfumato.policy.lint import lint
from sfumato.policy.people import Policies
from sfumato.policy.policy import Policy


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_says_rule_source_date_and_limit(name):
    rule = preset(name).rule
    assert rule.title and rule.text and rule.source and rule.limit
    assert datetime.date(2000, 1, 1) < rule.as_of < datetime.date(2027, 1, 1)
    assert not lint(preset(name)).errors


@pytest.mark.parametrize(
    ("name", "k"),
    [
        ("cms_minimum_cell", 11),
        ("public_release_009", 12),
        ("sdc_practice_3", 3),
        ("sdc_practice_5", 5),
    ],
)
def test_class_sizes(name, k):
    ((model,),) = [p.models for p in preset(name).purposes]
    assert dict(model.parameters)["k"] == str(k)


def test_why_twelve():
    """1/11 = 0.0909… is above 0.09; 1/12 is not. The preset says which is enforced."""
    assert 1 / 11 > 0.09 > 1 / 12
    assert "Classes of 12 are enforced" in preset("public_release_009").rule.text


def test_unknown_presets():
    with pytest.raises(ParameterError, match="Did you mean 'cms_minimum_cell'"):
        Policy.load("preset:cms_minimum")


def table(**columns) -> sf.Table:
    return sf.read(pl.DataFrame(columns))


@pytest.mark.slow
def test_safe_harbor_on_a_release(tmp_path):
    people = table(age=[30] * 6 + [95] * 6, zip=["53711", "53712"] * 6)
    people = people.with_roles(quasi=["age", "zip"]).with_hierarchies(
        zip=sf.mask_right(5), age=sf.suppress()
    )
    sf.anonymize(people, [sf.KAnonymity(6)], [sf.GlobalRecoding(levels={"age": 0})]).write(
        tmp_path / "out"
    )
    numbers = {"age": ["age"], "zip": ["zip"]}
    found = comply(
        tmp_path / "out" / "share",
        Policies.load("preset:hipaa_safe_harbor"),
        Use("x"),
        numbers=numbers,
    )
    assert not found.holds
    assert {reason.split("column ")[1].split(":")[0] for reason in found.reasons} == {
        "'age'",
        "'zip'",
    }
    assert not any("95" in reason or "5371" in reason for reason in found.reasons)
    nothing = comply(
        tmp_path / "out" / "share", Policies.load("preset:hipaa_safe_harbor"), Use("x")
    )
    assert "name the columns" in nothing.reasons[0]
    young = table(age=[30] * 6, zip=["537**"] * 6).with_roles(quasi=["age", "zip"])
    sf.anonymize(young, [sf.KAnonymity(6)], [sf.GlobalRecoding()]).write(tmp_path / "young")
    fine = comply(
        tmp_path / "young" / "share",
        Policies.load("preset:hipaa_safe_harbor"),
        Use("x"),
        numbers=numbers,
    )
    assert fine.holds and fine.statements[0].startswith(
        "meets the numeric part of HIPAA Safe Harbor as of 2020-04-01"
    )
    assert "; no other column was checked" in fine.statements[0]
    assert "compliant" not in str(fine).lower()
