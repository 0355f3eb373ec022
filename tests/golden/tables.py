"""The inputs of golden releases: small invented tables, always the same."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from sfumato import examples

PATIENTS = (
    "patient_name",
    "age",
    "sex",
    "zip",
    "admission_date",
    "diagnosis",
    "cost",
    "length_of_stay",
)
HOMES = (
    "household",
    "region",
    "household_size",
    "age",
    "sex",
    "education",
    "income",
    "health",
    "weight",
)
CONSENTS = ("all uses", "research", "care")


@cache
def patients() -> pl.DataFrame:
    """120 patients of a hospital; some cells are missing."""
    frame = examples.hospital(rows=120, seed=5).to_polars().select(PATIENTS)
    number = pl.int_range(pl.len())
    missing_sex = pl.when(number % 17 == 3).then(None).otherwise(pl.col("sex"))
    missing_cost = pl.when(number % 23 == 5).then(None).otherwise(pl.col("cost"))
    return frame.with_columns(missing_sex.alias("sex"), missing_cost.alias("cost"))


@cache
def asked() -> pl.DataFrame:
    """The patients, each with what was consented to."""
    consents = np.array(CONSENTS)[np.arange(120) % 3]
    return patients().with_columns(pl.Series("consent", consents))


@cache
def brief() -> pl.DataFrame:
    """Age and sex of the patients, nothing missing."""
    return examples.hospital(rows=120, seed=5).to_polars().select("age", "sex")


@cache
def homes() -> pl.DataFrame:
    """150 people of households, with weights."""
    return examples.survey(rows=150, seed=5).to_polars().select(HOMES)


@cache
def visits() -> pl.DataFrame:
    """300 patients with all columns of the hospital."""
    return examples.hospital(rows=300, seed=9).to_polars()


@cache
def numbers() -> pl.DataFrame:
    """What is a number of the patients."""
    return visits().select("age", "length_of_stay", pl.col("cost").fill_null(0))


TABLES = {
    "numbers": numbers,
    "patients": patients,
    "asked": asked,
    "brief": brief,
    "homes": homes,
    "visits": visits,
}


def write_table(frame: pl.DataFrame, file: Path) -> None:
    """Write a table in the format that the name of its file ends with."""
    if file.suffix == ".csv":
        frame.write_csv(file)
    elif file.suffix == ".tsv":
        frame.write_csv(file, separator="\t")
    elif file.suffix == ".parquet":
        frame.write_parquet(file)
    elif file.suffix == ".arrow":
        frame.write_ipc(file)
    elif file.suffix == ".jsonl":
        frame.write_ndjson(file)
    elif file.suffix == ".xlsx":
        frame.write_excel(file)
    else:
        _write_statistics(frame, file)


def _write_statistics(frame: pl.DataFrame, file: Path) -> None:
    import pyreadstat

    writer = {".sav": "write_sav", ".dta": "write_dta", ".xpt": "write_xport"}[file.suffix]
    plain = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    getattr(pyreadstat, writer)(plain.to_pandas(), str(file))


TEN = (
    "a1 b1 b2",
    "a2 b1",
    "a2 b1 b2",
    "a1 a2 b2",
    "a1 a2 a3 c2",
    "a1 c1",
    "a2 c1 c2",
    "b1 c1",
    "a3 c2",
    "a3 b1 c1",
)


def write_baskets(folder: Path) -> None:
    """Ten people who have some of seven items."""
    rows = [
        (f"Person No {at}", at, item) for at, own in enumerate(TEN, start=1) for item in own.split()
    ]
    pl.DataFrame(rows, schema=["name", "person", "item"], orient="row").write_csv(
        folder / "baskets.csv"
    )


def write_purchases(folder: Path) -> None:
    """Sixty people who bought some of twelve products, some liked by all and most by few; with age
    and region.
    """
    draw = random.Random(7).random
    rows = []
    for customer in range(1, 61):
        age = 18 + int(60 * draw())
        region = ("north", "east", "south", "west")[int(4 * draw())]
        bought = [product for product in range(12) if draw() < 1.2 / (product + 1.5)] or [0]
        rows += [(customer, f"p{product:02d}", age, region) for product in bought]
    pl.DataFrame(rows, schema=["customer", "product", "age", "region"], orient="row").write_csv(
        folder / "baskets.csv"
    )


def write_paths(folder: Path) -> None:
    """Forty people on their ways through a city: for two days four points a day, at home, at work
    or elsewhere.
    """
    draw = random.Random(11).random
    rows = []
    for person in range(1, 41):
        home, work = (int(4 * draw()), int(4 * draw())), (int(3 * draw()), int(3 * draw()))
        income = ("low", "middle", "high")[int(3 * draw())]
        for day in (1, 2):
            for hour, place in ((7, home), (10, work), (15, work), (21, home)):
                x, y = place if draw() < 0.8 else (int(4 * draw()), int(4 * draw()))
                time = f"2024-01-{day:02d} {hour:02d}:{int(4 * draw()) * 15:02d}:00"
                rows.append((person, time, 500.0 * x, 500.0 * y, income))
    pl.DataFrame(rows, schema=["person", "time", "x", "y", "income"], orient="row").write_csv(
        folder / "paths.csv"
    )


def write_graph(folder: Path) -> None:
    """Thirty-two members of a club and their friendships, with a table of their own."""
    draw = random.Random(3).random
    edges = {(at // 2, at) for at in range(1, 32)}
    while len(edges) < 70:
        one, other = sorted((int(32 * draw() * draw()), int(32 * draw())))
        if one != other:
            edges.add((one, other))
    pl.DataFrame(sorted(edges), schema=["person", "friend"], orient="row").write_csv(
        folder / "friends.csv"
    )
    about = [
        (at, f"Member No {at}", "fm"[at % 2], "yes" if at % 5 == 0 else "no") for at in range(32)
    ]
    pl.DataFrame(about, schema=["id", "name", "sex", "ill"], orient="row").write_csv(
        folder / "people.csv"
    )


def write_clinic(folder: Path) -> None:
    """A clinic of sixty patients in three tables."""
    tables = examples.clinic_tables(60)
    for name, file in {
        "people": "people.csv",
        "visits": "visits.csv",
        "prescriptions": "rx.csv",
    }.items():
        tables[name].write_csv(folder / file)
