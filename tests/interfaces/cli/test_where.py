"""Conditions of a table on the command line: every operator against a naive filter, and what is
none.
"""

from __future__ import annotations

import json

import polars as pl
import pytest

from tests.results.tables.test_record_selection import COMPARE, naive


@pytest.mark.parametrize("how", list(COMPARE))
def test_every_operator(sfumato, how, tmp_path):
    rows = [{"year": 2020 + place % 5, "town": "abc"[place % 3]} for place in range(90)]
    pl.DataFrame(rows).write_csv(tmp_path / "people.csv")
    wanted, told = ([2021, 2023], "2021, '2023'") if how in ("in", "not in") else (2022, "'2022'")
    where = ["--where", f"year {how} {told}", "--protect", "--threshold", 2, "-o", tmp_path / "out"]
    assert sfumato("table", tmp_path / "people.csv", "town: count", *where).code == 0
    first = (tmp_path / "out" / "share" / "table.csv").read_text().splitlines()[1]
    assert first == f"Total,{len(naive(rows, 'year', how, wanted))}"
    lock = json.loads((tmp_path / "out" / "owner" / "lock.json").read_text())
    assert lock["where"] == f"year {how} {told}"


@pytest.mark.parametrize(
    "where", ["year == 2022", "year <> 2022", "year = 2022 or year = 2023", "year like 20%"]
)
def test_an_unknown_operator(sfumato, where, tmp_path):
    pl.DataFrame({"year": [2022, 2023] * 20}).write_csv(tmp_path / "people.csv")
    ran = sfumato("table", tmp_path / "people.csv", "year: count", "--where", where)
    assert ran.code == 2 and "COLUMN OPERATOR VALUE" in " ".join(ran.err.split())
