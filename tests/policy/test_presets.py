"""Rules in common use: dated, sourced, limited, and never more than their numeric part."""

from __future__ import annotations

import datetime
import random

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
from sfumato.policy.safe_harbor import check_numbers, small_areas, span_of


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


@pytest.mark.parametrize(
    ("kind", "values", "wrong"),
    [
        ("age", [30, 89], 0),
        ("age", [30, 90], 1),
        ("age", ["89", "90+", "90+"], 0),
        ("age", ["90-94", "95+"], 2),
        ("age", [None, 12], 0),
        ("zip", ["537**", "537", "***", "000**"], 0),
        ("zip", ["53711", "5371*"], 2),
        ("zip", ["036**", "893**"], 2),
        ("zip", [36, 59], 2),  # numbers lose their zeros
        ("zip", [36.0, 537.0], 1),
        ("zip", [53, 6, 537], 0),
        ("zip", [63], 1),
        ("zip", ["36", "537"], 1),
        ("zip", ["36**", "59**"], 2),  # 03601 and 05901 as numbers, masked
        ("zip", ["36**", "537**", "5***"], 1),
        ("zip", ["360*"], 1),
        ("zip", ["60*", "537**"], 1),  # 00601
        ("zip", ["6**", "537**"], 0),
        ("zip", ["36", "53"], 0),  # text of two digits all along: areas of two digits
        ("zip", ["36***", "3****"], 0),
        ("date", ["2020", "2019", "*"], 0),
        ("date", ["2020-03", "2020-03-04", "03/2020"], 3),
        ("date", ["[2010, 2015[", "2010 to 2014", "before 1990"], 0),
        ("date", ["20200304", "March 2020", "2020-Q1"], 3),
        ("age", ["95.5"], 1),
        ("age", ["90-94", "50"], 1),  # one category, and it has an upper end
        ("age", ["85-94"], 1),
        ("age", ["85+", "30-84"], 0),
        ("age", ["85+", "90+"], 2),
        ("age", ["95+"], 1),
        ("age", ["> 89", "≥90"], 2),
        ("age", ["> 89", "[80, 90)"], 0),
        ("age", ["[80, 90]", "90 or older"], 2),
        ("age", ["[90, inf)", "[60, 90["], 0),
        ("age", ["> 90"], 1),  # who is 90 is not in it
        ("age", ["90s"], 1),
        ("zip", ["205**", "369**", "753**", "772**"], 4),  # small by the census of 2020
        ("zip", ["790**"], 1),  # small by the census of 2000
        ("zip", ["090**", "962**"], 2),
        ("date", ["1920", "1931"], 2),  # born in these years: over 89
        ("date", ["1936", "1937"], 1),
        ("date", ["before 1937", "1937"], 0),
        ("date", ["1936 or earlier", "[1937, 1940["], 0),
        ("date", ["before 1930", "1930-1936"], 2),
        ("date", ["before 1930"], 1),
        ("date", ["1930-1939"], 1),
    ],
)
def test_safe_harbor_numbers(kind, values, wrong):
    told = check_numbers(table(x=values), {kind: ["x"]}, year=2026)
    assert (f"{wrong} values" in told[0]) if wrong else not told


def test_safe_harbor_says_when_nothing_was_named():
    assert "say which columns" in check_numbers(table(x=[1]), {}, year=2026)[0]
    assert "say which columns" in check_numbers(table(x=[1]), {"age": []}, year=2026)[0]
    assert check_numbers(table(x=[1]), {"zip": ["not released"]}, year=2026) == []
    with pytest.raises(ParameterError, match="no kind of number"):
        check_numbers(table(x=[1]), {"height": ["x"]}, year=2026)


def test_small_areas_of_both_censuses():
    assert {"063", "205", "340"} <= small_areas()  # of 2000 only, of 2020 only, of no census
    assert "100" not in small_areas()


@pytest.mark.parametrize("seed", range(50))
def test_ages_by_counting_who_is_told_apart(seed):
    """Random cuts of the ages with labels of every kind: it is broken just where two people over 89
    can be told apart, or one has an end.
    """
    draw = random.Random(seed)
    cuts = sorted(draw.sample(range(1, 110), draw.randint(1, 5)))
    ends = [*zip([0, *cuts], [*(cut - 1 for cut in cuts), None], strict=True)]
    forms = {
        "last": [
            lambda a: f"{a}+",
            lambda a: f">= {a}",
            lambda a: f"> {a - 1}",
            lambda a: f"{a} or older",
            lambda a: f"[{a}, inf)",
        ],
        "inner": [
            lambda a, b: f"{a}-{b}",
            lambda a, b: f"[{a}, {b + 1})",
            lambda a, b: f"[{a}, {b}]",
            lambda a, b: f"{a} to {b}",
        ],
    }
    last, inner = draw.choice(forms["last"]), draw.choice(forms["inner"])
    labels = [last(a) if b is None else inner(a, b) if a < b else str(a) for a, b in ends]
    people = [
        draw.choice([draw.randrange(90), draw.randrange(80, 106)])
        for _ in range(draw.randint(1, 12))
    ]
    places = [sum(cut <= age for cut in cuts) for age in people]
    shown = [labels[place] for place in places]
    spans = [(a, 10**6 if b is None else b) for a, b in (ends[place] for place in places)]
    over = {span for span in spans if span[1] > 89}  # categories that an age over 89 may stand in
    fine = not over or (
        len(over) == 1 and next(iter(over))[1] == 10**6 and next(iter(over))[0] <= 90
    )
    assert (check_numbers(table(x=shown), {"age": ["x"]}, year=2026) == []) is fine
    for label, (low, high) in zip(shown, spans, strict=True):
        assert span_of(label) == (low, float("inf") if high == 10**6 else high)


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
    assert "say which columns" in nothing.reasons[0]
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
    assert "(age age, zip zip); no other column was looked at" in fine.statements[0]
    assert "compliant" not in str(fine).lower()
