from __future__ import annotations

import datetime
import random

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.schema import Attribute, Kind, Role
from sfumato.core.source import Source
from sfumato.guidance.profiling.proposal import propose

DRAW = random.Random(3)
N = 400


def roles(frame: pl.DataFrame) -> dict[str, tuple[str, ...]]:
    return {
        column.name: tuple(map(str, column.roles)) for column in propose(frame, Source()).columns
    }


def some(values: list[object]) -> list[object]:
    return [DRAW.choice(values) for _ in range(N)]


def hospital() -> pl.DataFrame:
    """Visits of patients who come more than once."""
    patients = sorted(DRAW.randrange(150) for _ in range(N))
    return pl.DataFrame(
        {
            "visit_id": [f"V{i:06d}" for i in range(N)],
            "patient_id": [f"P{p:04d}" for p in patients],
            "surname": [f"Family{p}" for p in patients],
            "birth_date": [
                datetime.date(1940, 1, 1) + datetime.timedelta(days=97 * p) for p in patients
            ],
            "sex": some(["f", "m"]),
            "zip": [f"{DRAW.randrange(10**5):05d}" for _ in range(N)],
            "ethnicity": some(["a", "b", "c", "d"]),
            "diagnosis": some(["flu", "gout", "gastritis", "cancer", "asthma"]),
            "ward": some(["w1", "w2", "w3", "w4"]),
            "cost": [round(DRAW.random() * 9000, 2) for _ in range(N)],
            "remarks": [
                f"seen by the doctor on duty number {i} who found nothing" for i in range(N)
            ],
            "country": ["NL"] * N,
        }
    )


def test_a_hospital_table():
    assert roles(hospital()) == {
        "visit_id": ("drop",),
        "patient_id": ("person",),
        "surname": ("drop",),
        "birth_date": ("quasi",),
        "sex": ("quasi",),
        "zip": ("quasi",),
        "ethnicity": ("quasi", "sensitive"),
        "diagnosis": ("sensitive",),
        "ward": ("quasi",),
        "cost": ("sensitive",),
        "remarks": ("drop",),
        "country": ("keep",),
    }


def test_the_proposal_of_a_column_is_complete():
    proposal = propose(hospital(), Source(name="visits.csv"))
    zip_code = proposal["zip"]
    assert zip_code.hierarchy == {"mask_right": {"length": 5}}
    assert zip_code.missing_share == 0.0
    assert zip_code.distinct > 300
    assert 0 < zip_code.confidence < 1
    assert zip_code.reasons[0] == "the name says postal code: outsiders may know it"
    assert proposal["remarks"].kind is Kind.TEXT
    assert proposal["diagnosis"].hierarchy is None
    assert proposal["patient_id"].roles == (Role.PERSON,)
    assert proposal.rows == N
    assert {c.name for c in proposal.ranking} >= {"birth_date", "sex", "zip", "diagnosis", "cost"}
    assert proposal.identifying is not None
    assert proposal.identifying.reached
    assert "zip" in proposal.identifying.columns


def test_every_proposal_is_a_valid_attribute():
    for column in propose(hospital(), Source()).columns:
        Attribute(column.roles, column.kind)


def test_a_household_survey():
    households = sorted(DRAW.randrange(120) for _ in range(N))
    frame = pl.DataFrame(
        {
            "hhid": households,
            "stratum": some([1, 2, 3]),
            "sampling_weight": [100.0 + DRAW.random() for _ in range(N)],
            "household_weight": [25.0 + DRAW.random() for _ in range(N)],
            "age": [DRAW.randrange(95) for _ in range(N)],
            "religion": some(["a", "b", "c"]),
            "income": [DRAW.randrange(10**6) for _ in range(N)],
        }
    )
    proposal = propose(frame, Source())
    assert proposal["hhid"].roles == (Role.HOUSEHOLD,)
    assert proposal["stratum"].roles == (Role.STRATUM,)
    assert proposal["sampling_weight"].roles == (Role.WEIGHT,)
    assert proposal["household_weight"].roles == (
        Role.ASK,
    )  # a table has one weight, and these values name records
    assert proposal["religion"].roles == (Role.SENSITIVE,)
    assert "GDPR Art. 9" in proposal["religion"].reasons[0]
    assert proposal["income"].roles == (Role.SENSITIVE,)
    assert "GDPR" not in proposal["income"].reasons[0]


def test_one_household_a_row_numbers_the_records():
    assert roles(pl.DataFrame({"household_id": [f"h{i}" for i in range(50)], "x": [1.5] * 50}))[
        "household_id"
    ] == ("drop",)


def test_one_row_a_person_makes_a_person_id_direct():
    frame = pl.DataFrame(
        {"patient_id": [f"P{i}" for i in range(50)], "age": [30 + i % 40 for i in range(50)]}
    )
    assert roles(frame) == {"patient_id": ("drop",), "age": ("quasi",)}


@pytest.mark.parametrize(
    ("values", "others", "role"),
    [
        ([1000.0 + i for i in range(50)], {}, "weight"),  # people behind a record
        ([0.9 + 0.2 * (i % 2) for i in range(50)], {}, "weight"),  # scaled to a mean of one
        ([50.0 + i for i in range(50)], {}, "quasi"),  # kilograms
        (
            [1000.0 + i for i in range(50)],
            {"height": [170] * 25 + [180] * 25},
            "quasi",
        ),  # beside a height: grams
    ],
)
def test_weight_of_a_body_or_of_a_record(values, others, role):
    assert roles(pl.DataFrame({"weight": values, **others}))["weight"] == (role,)


def test_names_that_contradict_the_values_are_not_believed():
    frame = pl.DataFrame(
        {
            "age": [DRAW.random() * 10**6 for _ in range(N)],
            "cp": [DRAW.randrange(4) for _ in range(N)],  # chest pain, not code postal
            "lon": [20_000 + DRAW.randrange(90_000) for _ in range(N)],  # lön: wages, not longitude
            "sex": [f"genre {i % 40}" for i in range(N)],
        }
    )
    assert roles(frame) == {
        "age": ("sensitive",),  # beside wages, a measurement of which nothing is known
        "cp": ("sensitive",),
        "lon": ("sensitive",),
        "sex": ("quasi",),
    }
    assert (
        propose(frame, Source())["sex"].reasons[0].startswith("unknown name, but it distinguishes")
    )


def test_columns_without_a_known_name_go_by_what_they_tell():
    frame = pl.DataFrame(
        {
            "q1": some([1, 2, 3, 4, 5]),
            "q2": [f"label {DRAW.randrange(90)}" for _ in range(N)],
            "q3": [DRAW.random() for _ in range(N)],
            "q4": [DRAW.randrange(10**5) for _ in range(N)],
            "q5": some([1, 1, 1, 1, 2]),
        }
    )
    assert roles(frame) == {
        "q1": ("quasi",),
        "q2": ("quasi",),
        "q3": ("ask",),
        "q4": ("ask",),
        "q5": ("ask",),
    }
    assert all(column.confidence < 0.6 for column in propose(frame, Source()).columns)


def test_a_prefix_all_columns_share_is_looked_through():
    frame = pl.DataFrame(
        {"iage": [*range(20, 60)], "isex": [0, 1] * 20, "irace": [0, 1, 2, 3] * 10}
    )
    assert roles(frame) == {"iage": ("quasi",), "isex": ("quasi",), "irace": ("quasi", "sensitive")}


def test_tables_with_nothing_in_them():
    assert propose(pl.DataFrame(), Source()).columns == ()
    empty = hospital().clear()
    assert roles(empty)["surname"] == ("drop",)
    assert roles(empty)["birth_date"] == ("quasi",)
    assert propose(empty, Source()).identifying is None
    missing = pl.DataFrame({"age": [None] * 5, "surname": [None] * 5, "x": [None] * 5})
    assert roles(missing) == {"age": ("keep",), "surname": ("drop",), "x": ("keep",)}
    assert roles(pl.DataFrame({"age": [30], "sex": ["f"]})) == {
        "age": ("keep",),
        "sex": ("keep",),
    }


def test_only_one_person_and_one_weight_are_proposed():
    frame = pl.DataFrame(
        {
            "patient_id": [i // 2 for i in range(100)],
            "customer_id": [i // 2 + 500 for i in range(100)],
            "pweight": [10.0] * 99 + [11.0],
            "dweight": [12.0] * 99 + [11.0],
        }
    )
    assert sorted(roles(frame).values()) == [("drop",), ("keep",), ("person",), ("weight",)]


@pytest.mark.slow
def test_four_thousand_columns():
    values = np.random.default_rng(0).integers(0, 50, (20, 4_000))
    frame = pl.DataFrame(
        {f"c{i}": values[:, i] for i in range(3_600)}
        | {f"age_{i}": values[:, i] for i in range(400)}
    )
    proposal = propose(frame, Source())
    assert len(proposal.columns) == 4_000
    assert proposal["age_399"].roles == (Role.QUASI,)


columns = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(-(2**62), 2**62)), min_size=6, max_size=6),
    st.lists(st.one_of(st.none(), st.floats()), min_size=6, max_size=6),
    st.lists(st.one_of(st.none(), st.text(max_size=12)), min_size=6, max_size=6),
    st.lists(st.one_of(st.none(), st.dates()), min_size=6, max_size=6),
    st.lists(st.one_of(st.none(), st.datetimes()), min_size=6, max_size=6),
    st.lists(st.one_of(st.none(), st.booleans()), min_size=6, max_size=6),
    st.lists(st.one_of(st.none(), st.binary(max_size=4)), min_size=6, max_size=6),
    st.lists(st.one_of(st.none(), st.decimals(-1000, 1000, places=2)), min_size=6, max_size=6),
    st.lists(st.one_of(st.none(), st.lists(st.integers(0, 3), max_size=2)), min_size=6, max_size=6),
)
names = st.one_of(
    st.text(max_size=10),
    st.sampled_from(
        ["age", "weight", "id", "name", "zip", "birth", "hhid", "lat", "stratum", "wgt"]
    ),
)


@given(st.dictionaries(names, columns, max_size=5))
def test_any_table_is_survived(table):
    frame = pl.DataFrame({name: pl.Series(values, strict=False) for name, values in table.items()})
    proposal = propose(frame, Source())
    assert [column.name for column in proposal.columns] == list(table)
    for column in proposal.columns:
        Attribute(column.roles, column.kind)
        assert (column.hierarchy is not None) == (Role.QUASI in column.roles)
        assert 0 <= column.uniqueness <= 1
        assert 0 <= column.separation <= 1
