"""Which records a table is about: every operator against a naive filter, and what is no
operator.
"""

from __future__ import annotations

import datetime
import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.results.tables.record_selection import conditions, select_records

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
            "at": draw.choice(
                [datetime.datetime(2024, 1, 31, 12), datetime.datetime(2024, 2, 1), None]
            ),
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
    wanted = (
        draw.sample(there, draw.choice([1, 2, 3]))
        if how in ("in", "not in")
        else draw.choice(there)
    )
    told = (
        ", ".join(spelled(one, draw) for one in wanted)
        if isinstance(wanted, list)
        else spelled(wanted, draw)
    )
    name = draw.choice([column, f"'{column}'", f'"{column}"'])
    word = how.upper() if draw.random() < 0.3 else how
    found = select_records(
        sf.read(pl.DataFrame(rows, infer_schema_length=None)), f"{name} {word} {told}"
    ).tolist()
    assert found == naive(rows, column, how, wanted), f"{name} {word} {told}"
    if how in ("=", "!=", "<=") and draw.random() < 0.5:  # no blanks needed around signs
        close = f"{name}{how}{told} And year >= 2023"
        both = select_records(sf.read(pl.DataFrame(rows, infer_schema_length=None)), close).tolist()
        assert both == sorted(set(found) & set(naive(rows, "year", ">=", 2023)))


def test_a_quoted_year_is_left_out():
    people = pl.DataFrame({"y": ["2023", "2024"] * 20, "n": [2023, 2024] * 20, "sex": ["f"] * 40})
    for where in (
        "y != '2023'",
        'y != "2023"',
        "y != 2023",
        "n != '2023'",
        "n!=2023",
        "n not in 2022, '2023'",
    ):
        table = sf.tabulate(people, ["sex"], where=where)
        assert table.to_polars()["count"].to_list()[0] == 20, where


WRONG = [
    "y == 2023",
    "y <> 2023",
    "y => 2023",
    "y =< 2023",
    "y ~ 2023",
    "y like 20%",
    "y between 1 and 2",
    "y is null",
    "y is not null",
    "not y = 2023",
    "y = 2023 or y = 2024",
    "y = 1 && n = 2",
    "y = 1 | n = 2",
    "(y = 2023)",
    "y in (2023, 2024)",
    "y",
    "",
    "  ",
    "= 2023",
    "y =",
    "y in",
    "y in 2023,",
    "y in , 2023",
    "y not 2023",
    "y not",
    "y = 2023 and",
    "and y = 2023",
    "y = '2023",
    "y = 20'23'",
    "y = 1, 2",
    "y = 1 = 2",
    "y != = 2",
    "y ! = 2",
    "y = '1' '2'",
    "y; drop = 1",
    "y >< 3",
    "y === 2",
    "y !== 2",
    "y = a < b",
    "y NOT 3",
    "y in 1 or 2",
]


@pytest.mark.parametrize("where", WRONG)
def test_what_is_no_condition_is_an_error_with_the_grammar(where):
    people = pl.DataFrame({"y": ["2023", "2024"] * 20, "n": [2023, 2024] * 20})
    with pytest.raises(ParameterError, match=r"COLUMN OPERATOR VALUE.*not in"):
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
            select_records(sf.read(people), where)
        assert "abc" not in str(raised.value) and "soon" not in str(raised.value)
    assert (
        len(select_records(sf.read(people), "y < '2024'"))
        == people.filter(pl.col("y") < "2024").height
    )


def test_names_and_values_with_quotes():
    [one] = conditions("\"it's\" = 'it''s'")
    assert (one.column, one.values[0].text) == ("it's", "it's")
    assert [one.column for one in conditions("body weight > 3 and 'a and b' = c")] == [
        "body weight",
        "a and b",
    ]


@pytest.mark.parametrize(
    ("kind", "values", "where", "rows"),
    [
        (pl.Int64, [1234567890123456789, 1234567890123456788], "x = 1234567890123456789", [0]),
        (pl.Int64, [2**53, 2**53 + 1], "x = 9007199254740992.0", [0]),
        (pl.UInt64, [2**53, 2**53 + 1, 2**64 - 1], "x > 9007199254740992", [1, 2]),
        (pl.UInt64, [2**53, 2**53 + 1, 2**64 - 1], "x not in 9007199254740993, -1", [0, 2]),
        (pl.Int64, [1, 2, 3], "x < 1e40", [0, 1, 2]),
        (pl.Int64, [1, 2, 3], "x >= 1.5", [1, 2]),
        (pl.Float32, [0.1, 0.2, 0.3], "x <= 0.3", [0, 1, 2]),
        (pl.Float32, [0.1, 0.2, 0.3], "x in 0.1, 0.2", [0, 1]),
        (
            pl.Date,
            [datetime.date(2024, 12, 31), datetime.date(2025, 1, 1)],
            "x < 2024-12-31T12:00",
            [0],
        ),
    ],
)
def test_numbers_and_days_are_compared_exactly(kind, values, where, rows):
    dataset = sf.read(pl.DataFrame({"x": pl.Series(values, dtype=kind)}))
    assert select_records(dataset, where).tolist() == rows


def test_a_moment_with_a_zone_is_that_moment():
    night = pl.Series(
        "x", ["2024-12-31 23:30:00", "2025-01-01 00:00:00", "2025-01-01 01:00:00"]
    ).str.to_datetime()
    dataset = sf.read(night.dt.replace_time_zone("Europe/Berlin").to_frame())
    assert select_records(dataset, "x >= '2025-01-01T00:00:00+00:00'").tolist() == [2]
    assert select_records(dataset, "x >= '2025-01-01T00:00:00'").tolist() == [1, 2]
    with pytest.raises(ParameterError, match="time zone"):
        select_records(dataset, "x in '2025-01-01T00:00:00Z', 2025-01-01")
    with pytest.raises(ParameterError, match="time zone"):
        select_records(sf.read(night.to_frame()), "x >= '2025-01-01T00:00:00Z'")


def test_lists_are_not_compared():
    with pytest.raises(ParameterError, match="lists"):
        select_records(sf.read(pl.DataFrame({"x": [[1], [2]]})), "x = 1")
