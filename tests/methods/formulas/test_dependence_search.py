"""Which released columns tell more about a quasi-identifier than its released label does: every
pair, lines, and sums of up to three."""

from __future__ import annotations

import numpy as np
import polars as pl

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
