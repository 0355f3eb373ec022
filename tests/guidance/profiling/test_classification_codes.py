"""Classifications are offered where values fit, and not where they fit by accident."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.core import registry
from sfumato.guidance.profiling.classification_codes import classified
from sfumato.guidance.profiling.columns import look_at
from sfumato.guidance.profiling.proposed_hierarchies import suggest
from sfumato.methods.hierarchies import code_lists

PAIRS = [pair for pairs in code_lists.countries()["countries"].values() for pair in pairs]
STATES = {
    code: name
    for states in code_lists.us_states()["divisions"].values()
    for code, name in states.items()
}
BOTH = [code for code in STATES if code in {two for two, _ in PAIRS}]
NACE = ["01.11", "62.01", "47.11", "10.71", "56.10", "86.21", "85.20", "43.21", "49.41", "68.20"]
ICD = ["I21.4", "I21.0", "J45.9", "E11.9", "F32.1", "K35.8", "C50.9", "A09.0", "N39.0", "M54.5"]
NUTS = ["FR101", "DE212", "ITC11", "ES300", "PL911", "AT130", "SE110", "FI1B1", "DK011", "BE100"]
ISCO = [f"2{a}{b}{c}" for a in "123" for b in "12" for c in "1234"]


@pytest.mark.parametrize(
    ("name", "labels", "of"),
    [
        ("x", ICD, "icd10"),
        ("diagnosis_code", ["I21", "E11", "J45"], "icd10"),
        ("x", NACE, "nace"),
        ("nace", ["62", "47", "01"], "nace"),
        ("industry", ["62.01", "47.11"], "nace"),
        ("isco", ["2512", "2611"], "isco08"),
        ("occupation", ISCO, "isco08"),
        ("x", NUTS, "nuts"),
        ("nuts3", ["DE111", "DE112"], "nuts"),
        ("isced", ["0", "3", "8"], "isced"),
        ("x", ["ED0", "ED3", "ED5"], "isced"),
        ("x", [two for two, _ in PAIRS[:40]], "countries"),
        ("x", [three for _, three in PAIRS[:6]], "countries"),
        ("birthCountry", ["FR", "DE"], "countries"),
        ("x", list(STATES), "us_states"),
        ("x", list(STATES.values())[:4], "us_states"),
        ("country", BOTH, "countries"),
        ("state", BOTH, "us_states"),
    ],
)
def test_offered(name, labels, of):
    offer = classified(name, labels, numbers=False)
    assert offer is not None
    assert offer.hierarchy["classification"]["of"] == of
    assert not any(label in offer.reason for label in labels if len(label) > 3)


@pytest.mark.parametrize(
    ("name", "labels", "numbers"),
    [
        ("x", BOTH, False),
        ("grade", ["A", "B", "C"], False),
        ("sector", ["A", "B", "C", "D", "E", "F"], False),
        ("blood", ["A", "B", "AB", "O"], False),
        ("year", [str(year) for year in range(1950, 2024)], True),
        ("n", [str(n) for n in range(9)], True),
        ("education", ["1", "2", "3", "4", "5"], True),
        ("age", [str(n) for n in range(10, 99)], True),
        ("price", [f"{n}.{m}" for n in range(10, 30) for m in (11, 25, 99)], True),
        ("amount", ISCO, True),
        ("room", ["A12", "B07", *(f"D{n:02}" for n in range(20))], False),
        (
            "initials",
            ["AB", "CD", "EF", "GH", "IJ", "KL", "MN", "OP", "QR", "ST", "UV", "WX"],
            False,
        ),
        ("currency", ["EUR", "USD", "GBP", "CHF", "JPY", "SEK"], False),
        ("part", [f"DE{n}" for n in range(100, 140)], False),
        ("state", ["open", "closed"], False),
        ("isco", ["110", "2512"], True),
        ("nace", ["62.1", "62.01"], True),
        ("x", [], False),
    ],
)
def test_false_friends(name, labels, numbers):
    assert classified(name, labels, numbers=numbers) is None


def test_a_few_values_that_are_no_codes_go_under_other():
    labels = [*(f"I{n}.{m}" for n in range(10, 20) for m in range(4)), "unknown"]
    offer = classified("x", labels, numbers=False)
    assert offer.hierarchy == {"classification": {"of": "icd10", "other": "other"}}
    assert "97.6 % of the distinct values" in offer.reason
    built = registry.build("hierarchies", offer.hierarchy)
    assert built.paths(labels, [1] * len(labels)).rows[-1] == ("unknown", "other", "other", "*")
    assert classified("x", [*ICD, "unknown"], numbers=False) is None  # 91 %


def test_profile_suggests_it():
    suggestion = suggest(look_at("nace", pl.Series(NACE)))
    assert suggestion.hierarchy == {"classification": {"of": "nace"}}
    assert "NACE Rev. 2" in suggestion.reason
