"""Random tables with odd values: every statistic by every protocol against plain Python, and what
one record moves against what noise is for.
"""

from __future__ import annotations

import asyncio
import math
import random
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, ReleaseRefused
from sfumato.parties.channel import Network
from sfumato.parties.control import Rules
from sfumato.parties.kinds import question_from
from sfumato.parties.noise import JointNoise, _largest_move
from sfumato.parties.one_process import together
from sfumato.parties.protocols import Additive
from sfumato.parties.question import Meeting
from tests.oracles import parties as plain

SEXES = ["f", "m", "x", None, "F", ""]
TOWNS = [0, 1, 2, 3, 17]
EDGES = [["0", "10", "20.5", "50", "100"], ["-100", "0", "100"], ["0.1", "0.2", "0.3"]]
BOUNDS = [
    ("-50", "50"),
    ("0", "120"),
    ("0.5", "99.25"),
    ("-7.3", "-1.1"),
    ("0", "1000000000"),
    ("1000000000", "1000000120"),
]


def a_value(rng, style):
    """A raw value: styles are columns of whole numbers, decimals, text, yes and no."""
    if rng.random() < 0.15:
        return None
    if style == "int":
        return rng.choice(
            [
                rng.randint(-60, 130),
                rng.randint(-3, 3),
                rng.choice([10**9 + 50, -(10**12), 2**53 + 1]),
            ]
        )
    if style == "bool":
        return rng.random() < 0.5
    number = rng.choice(
        [
            rng.uniform(-60, 130),
            rng.randint(-5, 100) / 4,
            math.inf,
            -math.inf,
            math.nan,
            1e300,
            0.1,
            0.2,
        ]
    )
    if style == "float":
        return number
    return rng.choice(
        [
            str(rng.randint(-60, 130)),
            repr(number),
            "odd word",
            "",
            "True",
            "1e2",
            f" {rng.randint(0, 9)}",
            "12.50",
        ]
    )


SCHEMA = {"int": pl.Int64, "float": pl.Float64, "text": pl.String, "bool": pl.Boolean}


def some_parties(rng, records=14):
    """Parties' rows and tables; the same column may be of different types at different parties."""
    everyone, tables = [], []
    for number in range(rng.randint(3, 6)):
        size = (
            rng.choice([0, 1, rng.randint(2, records), records])
            if number > 1
            else rng.randint(2, records)
        )
        styles = {name: rng.choice(["int", "float", "text", "bool"]) for name in "xz"}
        rows = [
            {
                **{name: a_value(rng, style) for name, style in styles.items()},
                "sex": rng.choice(SEXES),
                "town": rng.choice(TOWNS),
            }
            for _ in range(size)
        ]
        schema = {
            **{name: SCHEMA[style] for name, style in styles.items()},
            "sex": pl.String,
            "town": pl.Int64,
        }
        everyone.append(rows)
        tables.append(sf.read(pl.DataFrame(rows, schema=schema, strict=False)))
    return everyone, tables


def a_filter(rng, without=()):
    filters = {
        "sex": rng.sample(["f", "m", "x"], rng.randint(1, 3)),
        "town": rng.sample(["0", "1", "2", "99"], 2),
    }
    return {
        name: words for name, words in filters.items() if rng.random() < 0.3 and name not in without
    }


def close(one, other, rel=1e-9):
    return (one is None) == (other is None) and (
        one is None or math.isclose(one, other, rel_tol=rel, abs_tol=rel)
    )


def large(groups, least):
    """Whether no count is below the least, else nothing is told."""
    return all(len(group) >= least for group in groups)


def numeric(rng):
    return {
        "column": rng.choice("xz"),
        "bounds": rng.choice(BOUNDS),
        "scale": rng.choice([0, 4, 10]),
    }


def chosen(rows, asked, where, *, around=True):
    return plain.numbers(
        rows, asked["column"], asked["bounds"], asked["scale"], where, around=around
    )


def case_count(rng, least):
    where = a_filter(rng)

    def check(rows, answer):
        return answer["count"] == plain.count(rows, where)

    return (
        {"count": {"where": where}},
        lambda rows: large([[r for r in rows if plain.counts_in(r, where)]], least),
        check,
    )


def case_moments(rng, least):
    asked, where = numeric(rng), a_filter(rng)
    name = rng.choice(["sum", "mean", "variance"])

    def check(rows, answer):
        values = chosen(rows, asked, where, around=name != "sum")
        wanted = {
            "sum": sum(values, Fraction(0)),
            "mean": plain.mean(values),
            "variance": plain.variance(values),
        }[name]
        return close(answer[name], None if wanted is None else float(wanted), 1e-12)

    return (
        {name: {**asked, "where": where}},
        lambda rows: large([chosen(rows, asked, where)], least),
        check,
    )


def case_welch(rng, least):
    asked, where = numeric(rng), a_filter(rng, ["sex"])

    def groups(rows):
        return [chosen(rows, asked, {**where, "sex": [sex]}) for sex in ("m", "f")]

    def check(rows, answer):
        wanted = plain.welch(*groups(rows)) or (None, None)
        return close(answer["t"], wanted[0], 1e-6) and close(answer["df"], wanted[1], 1e-6)

    question = {"mean_difference": {**asked, "by": "sex", "groups": ["m", "f"], "where": where}}
    return question, lambda rows: large(groups(rows), least), check


def a_side(rng, taken=()):
    sides = [
        {"column": "sex", "domain": ["m", "f", "q"]},
        {"column": "town", "domain": ["2", "0", "3"]},
        {"column": rng.choice("xz"), "edges": rng.choice(EDGES)},
    ]
    return rng.choice([side for side in sides if side["column"] not in taken])


def case_counts(rng, least):
    first = a_side(rng)
    sides = rng.choice([[first], [first, a_side(rng, [first["column"]])]])
    where = a_filter(rng, [side["column"] for side in sides])

    def check(rows, answer):
        wanted = plain.large_cells(plain.cells(rows, sides, where), least)
        sizes = [len(side.get("domain") or side["edges"][1:]) for side in sides]
        small = 0 if least == 1 else None
        if len(sides) == 1:
            return list(answer["counts"].values()) == [
                wanted.get((i,), small) for i in range(sizes[0])
            ]
        table = [[wanted.get((i, j), small) for j in range(sizes[1])] for i in range(sizes[0])]
        if any(None in line for line in table):
            return (
                answer["counts"] == table
                and answer["chi_square"] is None
                and "withheld" in answer["why"]
            )
        return answer["counts"] == table and close(answer["chi_square"], plain.chi_square(table))

    question = (
        {"histogram": {"axis": first}}
        if len(sides) == 1
        else {"contingency_table": {"axes": sides}}
    )
    next(iter(question.values()))["where"] = where
    return question, lambda rows: True, check


def case_quantiles(rng, least):
    side = {"column": rng.choice("xz"), "edges": rng.choice(EDGES)}
    where, levels = a_filter(rng), ["0.1", "0.5", "0.875"]

    def check(rows, answer):
        found = plain.cells(rows, [side], where)
        sizes = [found.get((i,), 0) for i in range(len(side["edges"]) - 1)]
        sizes, edges = plain.joined_bins(sizes, side["edges"], least)
        told = list(answer["counts"].values()) == sizes
        return told and all(
            close(answer["quantiles"][p], plain.quantile(sizes, edges, p)) for p in levels
        )

    return {"quantiles": {"axis": side, "levels": levels, "where": where}}, lambda rows: True, check


def case_line(rng, least):
    where, scale = a_filter(rng), 6
    bounds = {"x": rng.choice(BOUNDS[:3]), "z": rng.choice(BOUNDS[:3])}

    def pairs(rows):
        found = [
            [plain.bounded(row[c], bounds[c], scale) for c in "xz"]
            for row in rows
            if plain.counts_in(row, where)
        ]
        return [pair for pair in found if None not in pair]

    def check(rows, answer):
        wanted = plain.least_squares([[x] for x, _ in pairs(rows)], [z for _, z in pairs(rows)])
        told = answer["coefficients"]
        if wanted is None or told is None:
            return (wanted is None) == (told is None)
        return all(
            close(b, float(w), 1e-5) for b, w in zip(told.values(), wanted[0], strict=True)
        ) and close(answer["rss"], float(wanted[1]), 1e-5)

    question = {
        "linear_regression": {
            "outcome": "z",
            "outcome_bounds": bounds["z"],
            "predictors": {"x": bounds["x"]},
            "scale": scale,
            "where": where,
        }
    }
    return question, lambda rows: large([pairs(rows)], least), check


def case_logistic(rng, least):
    bounds = rng.choice(BOUNDS[:2])
    low, high = map(float, bounds)

    def pairs(rows):
        found = [
            (plain.bounded(row["x"], bounds, 40), plain.word(row["sex"], ["f", "m"]))
            for row in rows
        ]
        return [
            ((float(x) - (low + high) / 2) / ((high - low) / 2), y)
            for x, y in found
            if x is not None and y is not None
        ]

    def enough(rows):
        return large([[y for _, y in pairs(rows) if y == side] for side in (0, 1)], least)

    def check(rows, answer):
        wanted = plain.logistic([[x] for x, _ in pairs(rows)], [y for _, y in pairs(rows)])
        if wanted is None or answer is None or not answer["converged"]:
            return wanted is None or max(map(abs, wanted[0])) > 2  # eight steps may not be enough
        slope = answer["coefficients"]["x"] * (high - low) / 2
        return close(slope, wanted[0][1], 1e-3) and close(answer["log_likelihood"], wanted[1], 1e-4)

    question = {
        "logistic_regression": {"outcome": "sex", "values": ["f", "m"], "predictors": {"x": bounds}}
    }
    return question, enough, check


CASES = [
    case_count,
    case_moments,
    case_welch,
    case_counts,
    case_quantiles,
    case_line,
    case_logistic,
]


def contributing(question, tables):
    return sum(bool(question_from(question).rows(table).any()) for table in tables)


def asked(tables, question, **more):
    """The answer, or the words of a refusal."""
    try:
        return together(tables, question, **more).value
    except (ReleaseRefused, ParameterError) as error:
        return str(error)


def rightly_refused(said, question, tables, enough, check, pooled, least):
    """Whether the oracle finds a reason for a refusal."""
    if "logistic_regression:" in said:
        return check(pooled, None)
    if "do not fit" in said or "may exceed 2^59" in said:
        return True
    some = sum(int(question_from(question).rows(table).sum()) for table in tables)
    return not enough(pooled) or contributing(question, tables) < 2 or some < least


def examine(seed, case, protocol):
    """One random table; whether there was an answer."""
    rng = random.Random(seed)
    least = rng.choice([1, 1, 3])
    question, enough, check = case(rng, least)
    everyone, tables = some_parties(rng)
    pooled = [row for rows in everyone for row in rows]
    rules = Rules(least_records=least, least_parties=2, least_own=0, dominance=0)
    answer = asked(
        tables, question, protocol=protocol, rules=rules, records_at_most=max(1, len(pooled))
    )
    if isinstance(answer, str):
        assert rightly_refused(answer, question, tables, enough, check, pooled, least), (
            seed,
            question,
            answer,
        )
        return False
    assert enough(pooled), (seed, question)
    assert check(pooled, answer), (seed, question, answer)
    return True


@pytest.mark.parametrize("protocol", ["additive", "shamir"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_answers_are_those_of_plain_python(case, protocol):
    answered = [examine(seed, case, protocol) for seed in range(8)]
    assert any(answered)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_answers_of_encrypted_sums_are_those_of_plain_python(case):
    pytest.importorskip("tenseal")
    answered = [examine(seed, case, "encrypted") for seed in range(4)]
    assert any(answered)


NOISY = [
    {"count": {"where": {"sex": ["f"]}}},
    *(
        {name: {"column": "x", "bounds": bounds, "scale": 3}}
        for name in ("sum", "mean", "variance")
        for bounds in BOUNDS
    ),
    *(
        {
            "mean_difference": {
                "column": "x",
                "bounds": b,
                "by": "sex",
                "groups": ["m", "f"],
                "scale": 2,
            }
        }
        for b in BOUNDS
    ),
    {"histogram": {"axis": {"column": "x", "edges": EDGES[0]}}},
    {
        "contingency_table": {
            "axes": [{"column": "x", "edges": EDGES[0]}, {"column": "sex", "domain": ["m", "f"]}]
        }
    },
    {"quantiles": {"axis": {"column": "x", "edges": EDGES[1]}}},
    {
        "linear_regression": {
            "outcome": "z",
            "outcome_bounds": ["0", "9.5"],
            "predictors": {"x": ["-7.3", "120"]},
            "scale": 5,
        }
    },
]
LOSSES = [{"epsilon": "0.001"}, {"epsilon": "1"}, {"epsilon": "20"}, {"rho": "0.001"}]


def extreme(rng):
    """A row that moves sums as far as it can."""
    value = [
        "inf",
        "-inf",
        "1e300",
        "-1e300",
        "nan",
        "odd",
        "",
        "True",
        "0",
        "-7.3",
        "120",
        "1000000060",
        "99.25",
        "-50",
        "50",
    ]
    return {
        "x": rng.choice(value),
        "z": rng.choice(value),
        "sex": rng.choice(["m", "f", "q", None]),
    }


def coarse_sums(question, rows, steps):
    """What a party with these rows adds before noise; the type of a column follows from all its
    rows, as in a file.
    """
    frame = pl.DataFrame(rows, schema=dict.fromkeys(("x", "z", "sex"), pl.String))
    columns = [frame[name].cast(pl.Float64, strict=False) for name in ("x", "z")]
    for column in columns:
        if column.null_count() == 0:
            frame = frame.with_columns(column)
    own = next(question.ask(sf.read(frame)))
    return [int(n) for n in (own + steps // 2) // steps]


def examine_neighbours(given, neighbours, tries):
    question, rng = question_from(given), random.Random(str(given))
    for attempt in range(tries):
        noise = JointNoise(**LOSSES[attempt % len(LOSSES)], neighbours=neighbours)
        steps, loss = noise.units(question, 3), noise._loss(question)
        rows = [extreme(rng) for _ in range(rng.randint(0, 5))]
        place = rng.randint(0, len(rows))
        other = [*rows[:place], extreme(rng), *rows[place:]]
        if neighbours == "change_one":
            rows = [*rows[:place], extreme(rng), *rows[place:]]
        moved = np.subtract(coarse_sums(question, rows, steps), coarse_sums(question, other, steps))
        start = 0
        for part in question.parts(neighbours):
            mine = [int(n) for n in moved[start : start + part.cells]]
            assert sum(map(abs, mine)) <= _largest_move(part, noise._step(part, loss)), (
                given,
                rows,
                other,
            )
            assert (
                math.sqrt(sum(n * n for n in mine)) <= part.l2 * (1 + 1e-12) or noise.rho is None
            ), (
                given,
                rows,
                other,
            )
            start += part.cells
        assert start == question.cells


@pytest.mark.parametrize("neighbours", ["add_remove", "change_one"])
@pytest.mark.parametrize("given", NOISY, ids=lambda q: next(iter(q)))
def test_one_record_moves_sums_no_farther_than_noise_is_for(given, neighbours):
    examine_neighbours(given, neighbours, 40)


def some_amounts(rng):
    """Amounts of three to six parties, often with one or two that are far larger than the
    others.
    """
    parties = [
        [rng.randint(0, 400) / 4 for _ in range(rng.randint(1, 8))]
        for _ in range(rng.randint(3, 6))
    ]
    for _ in range(rng.choice([0, 1, 2, 2])):
        rng.choice(parties).append(float(rng.choice([1000, 5000, 9000])))
    return parties


@pytest.mark.parametrize("seed", range(30))
def test_dominance_is_that_of_plain_python(seed):
    """In coarse units the rule may refuse a little more than it must, never less."""
    rng = random.Random(seed)
    parties, percent = some_amounts(rng), rng.choice([5, 10, 50])
    sign = rng.choice([1.0, -1.0])
    tables = [sf.read(pl.DataFrame({"x": [sign * v for v in some]})) for some in parties]
    question = {
        rng.choice(["sum", "mean", "variance"]): {
            "column": "x",
            "bounds": ["-10000", "10000"],
            "scale": 4,
        }
    }
    rules = Rules(least_records=1, least_parties=2, least_own=0, dominance=percent)
    refused = isinstance(
        asked(tables, question, rules=rules, records_at_most=sum(map(len, parties))), str
    )
    amounts = [[Fraction(v) for v in some] for some in parties]
    if plain.dominated(amounts, percent):
        assert refused
    elif not plain.dominated(amounts, percent + 1):
        assert not refused


def columns_of(*parties):
    return [sf.read(pl.DataFrame({"x": some}, schema={"x": pl.Float64})) for some in parties]


ANY = Rules(least_records=1, least_parties=2, least_own=0, dominance=0)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("scale", [0, 10, 20, 30, 40])
@pytest.mark.parametrize("high", [10**6, 10**9, 10**12])
def test_sums_at_the_edge_of_what_fits_are_exact(high, scale, sign):
    """Every record at a bound, as many as the study allows: nothing wraps around, or it is
    refused.
    """
    question = {"column": "x", "bounds": [str(-high), str(high)], "scale": scale}
    tables = columns_of([sign * 2.0 * high] * 3, [sign * 1e300] * 2, [sign * math.inf])
    for name, wanted in [
        ("sum", 6.0 * sign * high),
        ("mean", 1.0 * sign * high),
        ("variance", 0.0),
    ]:
        for protocol in ("additive", "shamir"):
            answer = asked(
                tables, {name: question}, protocol=protocol, rules=ANY, records_at_most=6
            )
            assert "do not fit" in answer if isinstance(answer, str) else answer[name] == wanted, (
                name,
                protocol,
            )


def test_noise_beyond_64_bits_does_not_wrap_around():
    question = {"sum": {"column": "x", "bounds": ["0", "1000000000000"], "scale": 12}}
    noise = JointNoise(epsilon="0.001")
    meeting = Meeting(Network(3).channel(0), Echo(), 1)
    noise.prepare(meeting, question_from(question), {0: np.array([10**7])})
    told = asyncio.run(meeting.total(np.array([5]), 10**6))
    assert int(told[0]) == 10**7 * int(meeting.noise_units[0]) > 2**63


class Echo(Additive):
    """A sum of one party."""

    async def total(self, channel, own, bound, draw):
        return own
