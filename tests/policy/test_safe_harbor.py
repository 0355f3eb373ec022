"""The numeric part of HIPAA's Safe Harbor, checked on the values that are released: 45 CFR
164.514(b)(2)(i)(B) and (C)."""

from __future__ import annotations

import random

import pytest

from sfumato.errors import ParameterError
from sfumato.policy.safe_harbor import check_numbers, small_areas, span_of
from tests.policy.test_presets import table


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
    assert "name the columns" in check_numbers(table(x=[1]), {}, year=2026)[0]
    assert "name the columns" in check_numbers(table(x=[1]), {"age": []}, year=2026)[0]
    assert check_numbers(table(x=[1]), {"zip": ["not released"]}, year=2026) == []
    with pytest.raises(ParameterError, match="not a kind of number"):
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
