"""What is tabulated, as it is typed."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ParameterError
from sfumato.interfaces.cli.table import read_request


@pytest.mark.parametrize(
    ("typed", "columns", "measure"),
    [
        ("'a x b' × c: sum('cost: net')", [["a x b", "c"]], "sum(cost: net)"),
        ('"a × b" x "c, d"', [["a × b", "c, d"]], "count"),
        ("'a;b'; c: rows", [["a;b"], ["c"]], "rows"),
        ("'it''s x' * men's: count", [["it's x", "men's"]], "count"),
        ("'total: all'", [["total: all"]], "count"),
        ("a: sum(c (net))", [["a"]], "sum(c (net))"),
    ],
)
def test_names_in_quotes_stand_as_they_are(typed, columns, measure):
    assert read_request(typed) == (columns, measure)


@pytest.mark.parametrize("typed", ["'a x b × c: count", "'a'b x c", "a: sum('x)", "\"a' x b"])
def test_a_quote_that_is_not_closed_is_said(typed):
    with pytest.raises(ParameterError, match="enclose a whole name and be closed"):
        read_request(typed)


def test_odd_names_are_published(sfumato, tmp_path):
    frame = pl.DataFrame(
        {"a x b": ["u", "v"] * 20, "c: d, e": ["y"] * 30 + ["z"] * 10, "cost × n": [1.0] * 40}
    )
    frame.write_csv(tmp_path / "data.csv")
    made = sfumato(
        "table",
        tmp_path / "data.csv",
        "'a x b' x 'c: d, e': sum('cost × n')",
        "--protect",
        "--threshold",
        "3",
    )
    assert (made.code, made.out.splitlines()[0]) == (0, 'a x b,"c: d, e",sum(cost × n)')


def test_what_is_unknown_of_linked_tables_is_told_when_talk_is_not(sfumato, tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.results.tables.joint_table.MOST_JOINT", 5)
    draw = np.random.default_rng(1)
    pl.DataFrame({name: draw.choice(["u", "v", "w"], 200) for name in "abc"}).write_csv(
        tmp_path / "people.csv"
    )
    asked = [
        "table",
        tmp_path / "people.csv",
        "a x b; b x c; a x c: count",
        "--protect",
        "--threshold",
        4,
    ]
    quiet = sfumato(*asked, "-o", tmp_path / "out", "--quiet")
    assert quiet.code == 0 and quiet.out.startswith("! whether the tables hold together is unknown")
    told = json.loads(sfumato(*asked, "--json").out)
    assert (
        told["audit"] == {"scope": "each table by itself", "bounds": "whole-number"}
        and told["gap"] is None
    )
    said = sfumato("verify", tmp_path / "out" / "share", "--owner", tmp_path / "out" / "owner")
    assert "tables together" in said.out and "unknown" in said.out
