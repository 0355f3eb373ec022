"""From risk to k and back, and the trap in between."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.methods.formulas.choice_of_k import RULE_OF_THUMB, k_for, published_thresholds, risk_of
from sfumato.methods.formulas.uniqueness import individual_risk


def test_nine_in_a_hundred_is_not_one_in_eleven():
    # 1/11 = 0.0909… > 0.09 ≥ 1/12 = 0.0833…: the published 0.09 strictly needs 12 and is taken as
    # 11 (EMA Policy 0070)
    assert k_for(0.09) == 12 and k_for(0.09, strict=False) == 11
    assert Fraction(1, 11) > Fraction(9, 100) >= Fraction(1, 12)


def test_published_pairs_are_what_practice_takes():
    # Ontario IPC 2025: 0.09 ≈ 11, 0.075 ≈ 15, 0.05 = 20; strictly 12, 14, 20
    assert [k_for(r, strict=False) for r in (0.09, 0.075, 0.05)] == [11, 15, 20]
    assert [k_for(r) for r in (0.09, 0.075, 0.05)] == [12, 14, 20]


@given(st.fractions(Fraction(1, 10_000), 1, max_denominator=10_000))
def test_strict_is_the_smallest_k_that_keeps_the_risk(risk):
    exact = math.ceil(1 / risk)  # in fractions: no rounding
    assert k_for(float(risk)) == exact
    assert Fraction(1, exact) <= risk and (exact == 1 or Fraction(1, exact - 1) > risk)


@given(st.integers(1, 10**6))
def test_there_and_back(k):
    assert k_for(risk_of(k)) == k == k_for(risk_of(k), strict=False)


@pytest.mark.parametrize("risk", [0, -0.1, 1.0001, math.nan, math.inf, True])
def test_a_risk_is_a_share(risk):
    with pytest.raises(ParameterError, match="above 0 and at most 1"):
        k_for(risk)


@pytest.mark.parametrize("k", [0, -3, True])
def test_k_is_a_count(k):
    with pytest.raises(ParameterError, match="whole number of at least 1"):
        risk_of(k)


def test_both_readings_and_their_sources_are_told():
    told = str(sf.choose_k(0.09)).splitlines()
    assert told[0] == "Strictly: k = 12, because 1/12 = 0.08333 is at most 0.09."
    assert (
        told[1]
        == "In practice: k = 11, but 1/11 = 0.09091 is more than 0.09: do not claim a risk of at"
        " most 0.09."
    )
    assert any("EMA Policy 0070" in line and "secondary source" in line for line in told)
    assert (
        str(sf.choose_k(0.075)).splitlines()[1]
        == "In practice: k = 15; 1/15 = 0.06667 is at most 0.075 as well."
    )
    assert str(sf.choose_k(0.05)).splitlines()[1] == "In practice: the same."
    assert "In practice" not in str(sf.choose_k(0.33)), "nobody published that one"


def test_plain_data_has_both_risks():
    plain = sf.choose_k(0.09).to_dict()
    assert (plain["strict"], plain["practice"]) == (12, 11)
    assert plain["strict_risk"] == pytest.approx(1 / 12) and plain[
        "practice_risk"
    ] == pytest.approx(1 / 11)


@pytest.mark.slow
@given(st.floats(0.01, 1), st.integers(1, 5000), st.integers(1, 20))
def test_a_sample_needs_the_smallest_class_whose_estimated_risk_is_tolerable(risk, records, times):
    chosen = sf.choose_k(risk, population=records * times, records=records)
    sizes = range(1, chosen.strict + 1)
    enough = [f for f in sizes if individual_risk([f], [f * times])[0] <= risk * (1 + 1e-9)]
    assert chosen.sample == min(enough) <= chosen.strict


def test_everybody_in_the_file_is_no_sample():
    assert sf.choose_k(0.09, population=500, records=500).sample == 12


def test_a_population_needs_records_and_must_hold_them():
    for wrong in ({"population": 10}, {"records": 10}):
        with pytest.raises(ParameterError, match="together"):
            sf.choose_k(0.1, **wrong)
    for population, records in ((10, 11), (10, 0)):
        with pytest.raises(ParameterError, match="at most the population"):
            sf.choose_k(0.1, population=population, records=records)


def test_the_tables_are_in_order():
    assert [need for need, _, _ in RULE_OF_THUMB] == ["low", "medium", "high"]
    assert RULE_OF_THUMB[0][1:] == (3, 5) and RULE_OF_THUMB[2][1:] == (10, 20)
    # What could be checked nowhere is not listed.
    assert {one.seen for one in published_thresholds()} == {
        "seen at the source",
        "secondary source",
    }
    # no published pair is further from the strict reading than one
    assert all(
        abs(k_for(one.risk) - one.k) <= 1 for one in published_thresholds() if one.risk is not None
    )


def test_the_page_names_every_source_and_how_far_it_was_checked():
    page = (
        Path(__file__)
        .parents[3]
        .joinpath("docs", "explanation", "choosing_k.md")
        .read_text(encoding="utf-8")
    )
    rows = [line for line in page.splitlines() if line.startswith("|")]
    for one in published_thresholds():
        source = one.source.split(":")[0]
        assert any(source in row and str(one.k) in row and one.seen in row for row in rows), (
            one.name
        )
