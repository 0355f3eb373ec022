"""Which released columns tell more about a quasi-identifier than its released label does: every
pair, lines, and sums of up to three."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.pair import TablePair
from sfumato.methods.formulas.dependence_search import find_dependences


def test_one_row_of_a_person_is_looked_at() -> None:
    rng = np.random.default_rng(18)
    person = np.repeat(np.arange(400), 10)
    age, noise = np.repeat(rng.integers(20, 80, 400), 10), np.repeat(rng.permutation(400), 10)
    original = sf.read(pl.DataFrame({"p": person, "age": age, "noise": noise.astype(str)}))
    original = original.with_roles(person="p", quasi="age", keep="noise")
    shared = original.with_columns({"age": pl.Series("age", age // 10).cast(pl.String)})
    found = find_dependences(TablePair.of(original, shared), k=5)
    assert not found.found, "the rows of a person know each other, other people do not"
    assert len(found.rows) in (0, 400)


def test_a_column_that_the_class_tells_already_tells_nothing_more() -> None:
    rng = np.random.default_rng(21)
    age = rng.integers(20, 80, 4000)
    table = pl.DataFrame({"age": age, "year": 2018 - age, "group": age // 10})
    original = sf.read(table).with_roles(quasi=["age", "year"], keep=["group"])
    shared = original.with_columns(
        {
            "age": pl.Series("age", age // 10).cast(pl.String),
            "year": pl.Series("year", ["*"] * 4000),
        }
    )
    assert not find_dependences(TablePair.of(original, shared), k=5).found
    hidden = shared.with_columns({"age": pl.Series("age", ["*"] * 4000)})
    assert {each.quasi for each in find_dependences(TablePair.of(original, hidden), k=5).found} == {
        "age",
        "year",
    }


@pytest.mark.parametrize("seed", range(25))
def test_the_order_of_the_rows_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    records = int(rng.integers(40, 220))
    age = rng.integers(18, 90, records)
    # Near the limits: halves and permutations decide.
    year = 2020 - age + rng.normal(0, rng.choice([2.0, 3.0, 4.0, 6.0]), records).round()
    people = pl.DataFrame(
        {"age": age, "town": rng.choice(list("abcd"), records), "year": year.astype(int)}
    )
    shared = people.with_columns((pl.col("age") // 10 * 10).cast(pl.String).alias("age"))
    outcomes = set()
    for turn in range(4):
        order = np.random.default_rng(turn).permutation(records) if turn else np.arange(records)
        original = sf.read(people[order]).with_roles(quasi=["age", "town"], keep=["year"])
        released = original.with_columns({"age": shared["age"][order]})
        dependences = find_dependences(TablePair.of(original, released), k=5)
        outcomes.add(repr([(d.quasi, d.columns, d.finding, d.figures) for d in dependences.found]))
    assert len(outcomes) == 1
