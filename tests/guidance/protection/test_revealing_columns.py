"""What is dropped must not be released by another column: planted copies of a quasi-identifier."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import SchemaError
from sfumato.guidance.protection.changes import changes_of, require_hidden, revealing_columns


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(7)
    age = random.integers(18, 90, 500)
    frame = pl.DataFrame(
        {
            "age": age,
            "sex": random.choice(["f", "m"], 500),
            "code": 7 * age + 3,
            "cost": random.gamma(2, 500, 500).round(2),
        }
    )
    return sf.read(frame).with_roles(quasi=["age", "sex"], keep=["code"], sensitive="cost")


def test_a_copy_reveals_what_is_dropped_and_other_columns_do_not(table):
    without = table.with_roles(drop="age", quasi="sex", keep="code", sensitive="cost")
    assert revealing_columns(without, "age") == ("code",)
    harmless = table.with_roles(drop=["age", "code"], quasi="sex", sensitive="cost")
    assert revealing_columns(harmless, "age") == ()


def test_dropping_a_column_beside_its_copy_is_refused(table):
    without = table.with_roles(drop="age", quasi="sex", keep="code", sensitive="cost")
    with pytest.raises(SchemaError, match="hide nothing: code would be released"):
        require_hidden(changes_of(("drop age",)), without, ["age", "sex"])
    require_hidden(changes_of(("drop age",)), without, ["sex"])
    require_hidden(changes_of(("drop code", "k 7")), table, ["age", "sex"])


def test_the_copy_is_left_out_and_never_the_quasi_identifier(table):
    protection = sf.protect(
        table,
        recipient="researchers",
        contract=True,
        harm="low",
        population=10_000_000,
        first_release=True,
        seed=3,
    )
    released = protection.release.released_columns
    assert "code" not in released
    assert "age" in released
