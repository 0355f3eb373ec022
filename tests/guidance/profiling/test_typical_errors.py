"""Errors that first proposals made on real tables, each on a small invented table like it."""

from __future__ import annotations

import random

import polars as pl
import pytest

from sfumato.core.schema import Kind, Role
from sfumato.core.source import Source
from sfumato.guidance.profiling.proposal import ColumnProposal, propose

DRAW = random.Random(11)
N = 400


def whole(low: int, high: int) -> list[int]:
    return [DRAW.randint(low, high) for _ in range(N)]


def labels(*values: str) -> list[str]:
    return [DRAW.choice(values) for _ in range(N)]


def weights() -> list[float]:
    """Survey weights scaled to a mean of one."""
    drawn = [DRAW.uniform(0.3, 3.0) for _ in range(N)]
    return [value * N / sum(drawn) for value in drawn]


def kilograms() -> list[float]:
    return [round(DRAW.gauss(70, 15), 2) for _ in range(N)]


def column_of(name: str, values: list[object], beside: dict[str, list[object]]) -> ColumnProposal:
    frame = pl.DataFrame({"age": whole(18, 90), **beside, name: values})
    return propose(frame, Source(name="table.csv"))[name]


ASKED_OR_SENSITIVE = {"sensitive", "quasi+sensitive", "ask"}
VOTERS = {"vote": labels("Clinton", "Dole")}
PEOPLE = {"sex": labels("f", "m")}
BODIES = {"sex": labels("f", "m"), "ht": [round(DRAW.gauss(168, 9), 1) for _ in range(N)]}
SURVEY = {"sex": labels("f", "m"), "happy": whole(0, 10)}


@pytest.mark.parametrize(
    ("name", "values", "beside", "roles"),
    [
        ("yearacc", whole(1997, 2002), {"injSeverity": whole(0, 5)}, {"quasi"}),
        ("grade", whole(7, 12), {"sex": labels("f", "m")}, {"quasi"}),
        ("Web_developer", whole(0, 1), {"Salary": whole(20_000, 90_000)}, {"quasi"}),
        ("mntlhlth", whole(0, 30), PEOPLE, {"sensitive"}),
        # An answer about a party is an opinion, and no person with several rows.
        ("PID", whole(0, 6), VOTERS, {"sensitive"}),
        ("pid7na", whole(1, 7), VOTERS, {"sensitive"}),
        ("PID", whole(0, 6), PEOPLE, {"sensitive", "ask", "quasi"}),
        # Mobility, not a phone number, which would be dropped.
        ("Mobil01", whole(1, 5), PEOPLE, {"sensitive", "ask", "quasi"}),
        ("Mobil01", whole(0, 1), PEOPLE, {"sensitive", "ask", "quasi"}),
        ("pspwght", weights(), SURVEY, {"weight"}),
        ("anweight", weights(), SURVEY, {"weight"}),
        # The weight of bodies in 1971.
        ("wt71", kilograms(), BODIES, {"quasi", "sensitive", "ask"}),
        ("wt71", kilograms(), PEOPLE, {"quasi", "sensitive", "ask"}),
        ("black", whole(0, 1), PEOPLE, ASKED_OR_SENSITIVE),
        ("black", labels("yes", "no"), PEOPLE, ASKED_OR_SENSITIVE),
        ("catholic", whole(0, 1), PEOPLE, ASKED_OR_SENSITIVE),
        ("catholic", labels("yes", "no"), PEOPLE, ASKED_OR_SENSITIVE),
        # Others know who is divorced, as they know any marital status.
        ("divorced", whole(0, 1), PEOPLE, ASKED_OR_SENSITIVE | {"quasi"}),
        ("divorced", labels("yes", "no"), PEOPLE, ASKED_OR_SENSITIVE | {"quasi"}),
        ("death", whole(0, 1), PEOPLE, {"sensitive"}),
        ("death", whole(0, 1), {"time": whole(1, 900)}, {"sensitive"}),
    ],
)
def test_roles_that_were_wrong_once(name, values, beside, roles):
    assert "+".join(column_of(name, values, beside).roles) in roles


def test_a_race_of_five_kilometres_is_no_ethnic_origin():
    column = column_of("race", labels("5k", "10k", "half marathon"), PEOPLE)
    assert not any("ethnic" in reason for reason in column.reasons)


def test_a_death_of_yes_or_no_is_no_date():
    column = column_of("death", whole(0, 1), PEOPLE)
    assert column.kind == "nominal"
    assert not any("date" in reason for reason in column.reasons)


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("village", 1, 119),
        ("villnum", 1, 119),
        ("village_id", 100, 219),
        ("village_number", 100, 219),
    ],
)
def test_numbers_of_villages_are_not_cut_into_ranges(name, first, last):
    column = column_of(name, whole(first, last), PEOPLE)
    assert "quasi" in column.roles
    assert column.kind == "nominal"
    assert not {"intervals", "mask_right"} & set(column.hierarchy or {})


def test_a_score_is_no_code_of_an_occupation():
    scores = [20 + i * 0.137 for i in range(300)]
    table = pl.DataFrame({"pcs": scores, "diagnosis": ["flu", "gout", "none"] * 100})
    column = propose(table, Source())["pcs"]
    assert column.roles != (Role.QUASI,) and column.kind is Kind.NUMERIC


def test_weights_that_no_body_has_are_asked_about():
    weights = [25.0] * 280 + [40_000.0 + i for i in range(20)]
    table = pl.DataFrame(
        {
            "weight": weights,
            "height": [150 + i % 40 for i in range(300)],
            "injury": ["a", "b"] * 150,
        }
    )
    assert propose(table, Source())["weight"].roles == (Role.ASK,)
    bodies = table.with_columns(weight=pl.Series([50.0 + i % 60 for i in range(300)]))
    assert propose(bodies, Source())["weight"].roles == (Role.QUASI,)


def test_years_become_periods_and_codes_do_not():
    years = [1980 + i % 8 for i in range(400)]
    table = pl.DataFrame({"Jahr": years, "code": [4100 + 300 * (i % 8) for i in range(400)]})
    proposal = propose(table, Source())
    assert proposal["Jahr"].kind is Kind.NUMERIC
    assert proposal["code"].kind is not Kind.NUMERIC
