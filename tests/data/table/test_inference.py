"""Numbers are made only where nothing is lost, and never from codes."""

from __future__ import annotations

import re
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.table import inference

INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")


def convert(decimal=None, **columns):
    series = [pl.Series(name, values, dtype=pl.String) for name, values in columns.items()]
    mark, notes = inference.convert(series, decimal=decimal)
    return {s.name: s for s in series}, mark, notes


def one(values, decimal=None, name="amount"):
    return convert(decimal, **{name: values})[0][name]


def numeric_value(text: str, decimal: str) -> Decimal:
    """Oracle: the number a reader of this decimal mark sees."""
    group = "," if decimal == "." else "."
    return Decimal(text.replace(group, "").replace(decimal, "."))


_number = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.integers(0, 99999).map(lambda n: f"{n:05d}"),
    st.decimals(-1000, 1000, places=3).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(0, 10**7).map(lambda n: f"{n:,}"),
    st.integers(0, 10**7).map(lambda n: f"{n:,}".replace(",", ".")),
    st.from_regex(r"[-+]?[0-9]{0,3}[.,]?[0-9]{0,4}([eE][-+]?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(
        ["-0", "+1", "NA", "1e400", "1e-400", "0x10", "1_000", "inf", "NaN", "٣", " 1", "1 "]
    ),
).filter(bool)


@given(st.lists(st.none() | _number, min_size=1, max_size=6), st.sampled_from([None, ".", ","]))
def test_no_conversion_loses_anything(values, decimal):
    """Whatever comes out as a number is exactly the number that was written."""
    series, mark, _ = convert(decimal, amount=values)
    column = series["amount"]
    assert column.is_null().to_list() == [value is None for value in values]
    if column.dtype == pl.String:
        assert column.to_list() == values
        return
    for before, after in zip(values, column, strict=True):
        if before is not None:
            assert Decimal(repr(after)) == numeric_value(before, mark)


@given(
    st.lists(
        st.none()
        | st.integers(-(10**18), 10**18).map(str)
        | st.from_regex(r"-?[0-9]{1,6}", fullmatch=True),
        min_size=1,
    )
)
def test_integers_are_those_of_the_pattern(values):
    """Oracle: the pattern of whole numbers, no minus zero, not all of one width of five digits or
    more.
    """
    present = [value for value in values if value is not None]
    widths = {len(value) for value in present}
    code = len(widths) == 1 and min(widths) >= 5 and not any("-" in value for value in present)
    whole = bool(present) and all(INTEGER.fullmatch(value) and value != "-0" for value in present)
    column = one(values)
    assert (column.dtype == pl.Int64) == (whole and not code)
    if column.dtype == pl.Int64:
        assert [None if value is None else str(value) for value in column] == values


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_floats_as_python_writes_them_come_back(numbers):
    column = one([*map(repr, numbers), "0.5"])
    assert column.dtype == pl.Float64
    assert column.to_list() == [*numbers, 0.5]


TEXT = {
    "leading zero": ["01234", "98765", "1"],
    "plus": ["+1", "2"],
    "too many digits for an integer": ["1234567890123456789", "1"],
    "too many digits for a double": ["0.12345678901234567890", "1.5"],
    "leading zero of a decimal": ["007.5", "1.5"],
    "too large for a double": ["1e400", "1.5"],
    "too small for a double": ["1e-400", "1.5"],
    "an ISO date": ["2020-01-01", "2021-12-31"],
    "a German date": ["01.02.2020", "31.12.1999"],
    "hexadecimal": ["1E5", "2E7"],
    "percent": ["5%", "7%"],
    "version": ["1.2.3", "1.2.4"],
    "telephone": ["0151 234", "0160 999"],
    "two styles": ["1.5", "1,5"],
    "mixed groups": ["33.000", "1,234"],
    "five digits throughout": ["45500", "80331"],
    "a date without signs": ["19151111", "19991231"],
    "words": ["a", "b"],
    "infinity": ["inf", "1.5"],
}


@pytest.mark.parametrize("values", TEXT.values(), ids=TEXT)
def test_stays_text(values):
    column = one(values)
    assert column.dtype == pl.String
    assert column.to_list() == values


NUMBERS = {
    "integers": (["0", "-5", "123"], [0, -5, 123]),
    "four digits throughout": (["1999", "2020"], [1999, 2020]),
    "decimals": (["1.5", "2", "-0.25"], [1.5, 2.0, -0.25]),
    "decimals without a zero": ([".5", "-.25"], [0.5, -0.25]),
    "decimal commas": (["1,5", "2", "-0,25"], [1.5, 2.0, -0.25]),
    "points for thousands beside decimal commas": (
        ["1.234,56", "33.000", "1,5"],
        [1234.56, 33000.0, 1.5],
    ),
    "commas for thousands beside decimal points": (
        ["1,234.56", "33,000", "1.5"],
        [1234.56, 33000.0, 1.5],
    ),
    "three decimals below one": (["0.125", "0.250"], [0.125, 0.25]),
    "three decimals and others": (["33.000", "1.25"], [33.0, 1.25]),
    "exponents": (["1e-05", "2.5E+10"], [1e-05, 2.5e10]),
    "exponents only": (["1e-05", "1e-06"], [1e-05, 1e-06]),
    "all digits of a double": (["0.30000000000000004", "0.1"], [0.30000000000000004, 0.1]),
}


@pytest.mark.parametrize(("values", "numbers"), NUMBERS.values(), ids=NUMBERS)
def test_becomes_a_number(values, numbers):
    assert one(values).to_list() == numbers


def test_thousands_or_decimals_is_asked_not_guessed():
    series, mark, notes = convert(amount=["33.000", "1.500", "800"])
    assert series["amount"].dtype == pl.String
    assert mark == "."
    assert any(
        "decimal=','" in note and "decimal='.'" in note and "column 1 " in note for note in notes
    )
    assert one(["33.000", "1.234.567", "800"], decimal=",").to_list() == [33000, 1234567, 800]
    assert one(["33.000", "1.500", "800"], decimal=".").to_list() == [33.0, 1.5, 800.0]
    assert one(["33,000", "1,500"], decimal=".").to_list() == [33000, 1500]
    assert one(["33,000", "1,500"], decimal=",").to_list() == [33.0, 1.5]


def test_decimal_commas_elsewhere_decide_about_thousands():
    series, mark, notes = convert(income=["33.000", "1.500"], height=["1,82", "1,6"])
    assert series["income"].to_list() == [33000, 1500]
    assert mark == ","
    assert any("column 1:" in note for note in notes)


def test_decimal_points_elsewhere_do_not_make_thousands_decimals():
    series, _, _ = convert(income=["33.000", "1.500"], height=["1.82", "1.6"])
    assert series["income"].dtype == pl.String


def test_both_marks_elsewhere_decide_nothing():
    series, _, notes = convert(
        income=["33.000", "1.500"], height=["1,82", "1,6"], weight=["80.5", "70.25"]
    )
    assert series["income"].dtype == pl.String
    assert series["weight"].to_list() == [80.5, 70.25]
    assert any("both occur" in note for note in notes)


def test_another_mark_than_the_one_asked_for_stays_text():
    series, mark, notes = convert(",", height=["1.82", "1.6"])
    assert series["height"].dtype == pl.String
    assert mark == ","
    assert any("asked for" in note for note in notes)


@pytest.mark.parametrize("name", ["zip", "PLZ", "patient_id", "Telefon", "konto_nr", "IBAN"])
def test_codes_by_name_stay_text(name):
    series, _, notes = convert(**{name: ["1", "22", "333"]})
    assert series[name].to_list() == ["1", "22", "333"]
    assert any("name is that of a code" in note for note in notes)


def test_all_missing_stays_text():
    assert one([None, None]).dtype == pl.String


def test_values_beyond_the_sample_count():
    late = ["1"] * (inference.SAMPLE + 5)
    assert one([*late, "007"]).dtype == pl.String
    assert one([*late, "NA"]).dtype == pl.String
    assert one([*late, "2.5"]).dtype == pl.Float64
    assert one([None] * (inference.SAMPLE + 5) + ["7"]).dtype == pl.Int64


def test_notes_name_few_of_many_columns():
    columns = {f"zip_{i}": ["1"] for i in range(100)}
    _, _, notes = convert(**columns)
    assert len(notes) == 1
    assert "and 90 more" in notes[0]
