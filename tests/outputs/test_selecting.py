"""Which records a table is about: every operator against a naive filter, and what is no operator."""

from __future__ import annotations

import datetime
import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.outputs.selecting import conditions, selected

TOWNS = ["Bath", "Brighton and Hove", "O'Hara", "2023", "in", "x = 1", "a, b", None]
COMPARE = {
    "=": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "in": lambda one, others: one in others,
    "not in": lambda one, others: one not in others,
}


def records(seed):
    draw = random.Random(seed)
    return [
        {
            "year": draw.choice([2022, 2023, 2024, None]),
            "y": draw.choice(["2022", "2023", "2024"]),
            "body weight": draw.choice([1.5, 2.0, -3.25, float("nan"), None]),
            "town": draw.choice(TOWNS),
            "ill": draw.choice([True, False, None]),
            "day": draw.choice([datetime.date(2024, 1, 31), datetime.date(2024, 2, 1), None]),
            "at": draw.choice([datetime.datetime(2024, 1, 31, 12), datetime.datetime(2024, 2, 1), None]),
            "id": draw.choice([9007199254740992, 9007199254740993]),
        }
        for _ in range(40)
    ]


def naive(rows, column, how, wanted):
    """The rows that fulfil a condition, one by one."""
    found = []
    for place, row in enumerate(rows):
        value = row[column]
        missing = value is None or value != value  # not a number
        if not missing and COMPARE[how](value, wanted):
            found.append(place)
    return found


def spelled(value, draw):
    """A value as somebody may write it."""
    text = value.isoformat() if isinstance(value, datetime.date) else str(value)
    plain = all(sign not in text for sign in "=<>!,'\"") and not {"and", "in"} & set(text.split())
    if plain and not isinstance(value, str) and draw.random() < 0.5:
        return text
    if plain and isinstance(value, str) and not text[0].isdigit() and draw.random() < 0.5:
        return text
    quote = draw.choice("'\"")
    return quote + text.replace(quote, quote * 2) + quote


@pytest.mark.parametrize("seed", range(100))
def test_every_operator_keeps_what_a_naive_filter_keeps(seed):
    draw = random.Random(1000 + seed)
    rows = records(seed)
    column, how = draw.choice(list(rows[0])), draw.choice(list(COMPARE))
    there = [row[column] for row in rows if row[column] is not None and row[column] == row[column]]
    wanted = draw.sample(there, draw.choice([1, 2, 3])) if how in ("in", "not in") else draw.choice(there)
    told = ", ".join(spelled(one, draw) for one in wanted) if isinstance(wanted, list) else spelled(wanted, draw)
    name = draw.choice([column, f"'{column}'", f'"{column}"'])
    word = how.upper() if draw.random() < 0.3 else how
    found = selected(sf.read(pl.DataFrame(rows, infer_schema_length=None)), f"{name} {word} {told}").tolist()
    assert found == naive(rows, column, how, wanted), f"{name} {word} {told}"
    if how in ("=", "!=", "<=") and draw.random() < 0.5:  # no blanks needed around signs
        close = f"{name}{how}{told} And year >= 2023"
        both = selected(sf.read(pl.DataFrame(rows, infer_schema_length=None)), close).tolist()
        assert both == sorted(set(found) & set(naive(rows, "year", ">=", 2023)))


def test_a_quoted_year_is_left_out():
    people = pl.DataFrame({"y": ["2023", "2024"] * 20, "n": [2023, 2024] * 20, "sex": ["f"] * 40})
    for where in ("y != '2023'", 'y != "2023"', "y != 2023", "n != '2023'", "n!=2023", "n not in 2022, '2023'"):
        table = sf.tabulate(people, ["sex"], where=where)
        assert table.to_polars()["count"].to_list()[0] == 20, where


WRONG = [
    "y == 2023", "y <> 2023", "y => 2023", "y =< 2023", "y ~ 2023", "y like 20%", "y between 1 and 2", "y is null", "y is not null",
    "not y = 2023", "y = 2023 or y = 2024", "y = 1 && n = 2", "y = 1 | n = 2", "(y = 2023)", "y in (2023, 2024)", "y", "", "  ", "= 2023", "y =",
    "y in", "y in 2023,", "y in , 2023", "y not 2023", "y not", "y = 2023 and", "and y = 2023", "y = '2023", "y = 20'23'", "y = 1, 2", "y = 1 = 2",
    "y != = 2", "y ! = 2", "y = '1' '2'", "y; drop = 1", "y >< 3", "y === 2", "y !== 2", "y = a < b", "y NOT 3", "y in 1 or 2",
]  # fmt: skip


@pytest.mark.parametrize("where", WRONG)
def test_what_is_no_condition_is_an_error_with_the_grammar(where):
    people = pl.DataFrame({"y": ["2023", "2024"] * 20, "n": [2023, 2024] * 20})
    with pytest.raises(ParameterError, match=r"COLUMN OPERATOR VALUE.*not in.*quotes"):
        sf.tabulate(people, ["n"], where=where)


def test_values_that_a_column_cannot_hold_are_errors():
    people = pl.DataFrame(records(1), infer_schema_length=None)
    for where, match in {
        "year = abc": "holds numbers",
        "year in 2023, nan": "holds numbers",
        "ill != maybe": "true and false",
        "day = 31.1.2024": "holds dates",
        "at > soon": "holds dates",
        "y < 2024": "9 comes after 18",
    }.items():
        with pytest.raises(ParameterError, match=match) as raised:
            selected(sf.read(people), where)
        assert "abc" not in str(raised.value) and "soon" not in str(raised.value)
    assert len(selected(sf.read(people), "y < '2024'")) == people.filter(pl.col("y") < "2024").height


def test_names_and_values_with_quotes():
    [one] = conditions("\"it's\" = 'it''s'")
    assert (one.column, one.values[0].text) == ("it's", "it's")
    assert [one.column for one in conditions("body weight > 3 and 'a and b' = c")] == ["body weight", "a and b"]
