"""``sfumato profile`` on more rows than are looked at together."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest


@pytest.mark.slow
def test_the_command_says_how_many_rows_it_looked_at(sfumato, tmp_path):
    rows = 200_001
    draw = np.random.default_rng(2)
    file = tmp_path / "visits.parquet"
    pl.DataFrame(
        {"age": draw.integers(0, 90, rows), "sex": draw.choice(["f", "m"], rows)}
    ).write_parquet(file)
    done = sfumato("profile", file)
    assert done.code == 0 and "in 200,000 of these rows at most" in done.out
    assert "200,001 rows, 2 columns examined, together in 200,000 of the rows" in done.err


def test_warnings_of_rows_go_to_stderr_and_into_the_header(sfumato, tmp_path):
    file = tmp_path / "stops.csv"
    cities = ["Menomonie", "MENOMONIE", "Eau Claire", "Hudson"] * 30
    pl.DataFrame({"age": [20, 30, 40, 50] * 30, "city": cities}).write_csv(file)
    done = sfumato("profile", file)
    warnings = (
        "No sensitive column found: is that right?",
        "100 % of the rows repeat another: is every row one person?",
        "city (2 values)",
    )
    assert done.code == 0
    for warning in warnings:
        assert warning in done.err and warning in done.out
    assert "enomonie" not in done.err.lower() + done.out.lower()
    assert "repeat another" not in sfumato("profile", file, "--quiet").err
