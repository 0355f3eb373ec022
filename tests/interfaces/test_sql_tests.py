"""Promises as SQL: the query finds a class exactly where the verdict does, in two databases."""

from __future__ import annotations

import sqlite3
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from sfumato.core.recipe import Recipe
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.app import build_app
from sfumato.interfaces.sql_tests import sql_test

ROWS = st.lists(
    st.tuples(
        st.sampled_from(["x", "y", None]),
        st.sampled_from([1, 2, None]),
        st.sampled_from(["f", "g", None]),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=14,
)
NAMES = ("a b", 'c"d', "s", "person")
MODELS = st.sampled_from(
    [
        sf.KAnonymity(2),
        sf.KAnonymity(3),
        sf.LDiversity("s", l=2),
        sf.KOnSubsets(k=2, size=1),
        sf.PSensitive("s", p=2, k=2),
    ]
)


def dataset(rows: list[tuple[Any, ...]], *, persons: bool) -> sf.Table:
    columns = {name: [row[i] for row in rows] for i, name in enumerate(NAMES)}
    frame = pl.DataFrame(
        columns, schema={"a b": pl.String, 'c"d': pl.Int64, "s": pl.String, "person": pl.Int64}
    )
    roles = {
        "quasi": list(NAMES[:2]),
        "sensitive": ["s"],
        ("person" if persons else "keep"): ["person"],
    }
    return sf.read(frame).with_roles(**roles)


def failing_in_sqlite(query: str, rows: list[tuple[Any, ...]]) -> int:
    with sqlite3.connect(":memory:") as connection:
        connection.execute('CREATE TABLE t ("a b" TEXT, "c""d" INT, "s" TEXT, "person" INT)')
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        return len(connection.execute(query).fetchall())


@given(rows=ROWS, model=MODELS, persons=st.booleans())
def test_the_query_returns_rows_exactly_where_the_promise_breaks(
    rows: list[tuple[Any, ...]], model: Any, persons: bool
) -> None:
    table = dataset(rows, persons=persons)
    try:
        (verdict,) = sf.judge(table, model)
        query = sql_test(Recipe(table.schema, (model,)), "t")
    except sf.errors.SfumatoError:
        return  # more values asked for than there are, or not to be said in SQL
    assert (failing_in_sqlite(query, rows) == 0) == verdict.holds


def test_duckdb_reads_the_same_query() -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = [("x", 1, "f", 1), ("x", 1, "g", 2), ("y", 2, "f", 3)]
    table = dataset(rows, persons=False)
    released = table.to_polars()  # noqa: F841 - duckdb finds it by its name
    found = duckdb.sql(
        sql_test(Recipe(table.schema, (sf.KAnonymity(2), sf.LDiversity("s", l=2))), "released")
    ).fetchall()
    assert sorted(found) == [("2-anonymity", 1), ("2-diversity of s", 1)]


@pytest.mark.parametrize(
    "model", [sf.TCloseness("s", t=0.2), sf.LDiversity("s", l=2, kind="entropy")]
)
def test_what_sql_cannot_say_is_refused_by_name(model: Any) -> None:
    table = dataset([("x", 1, "f", 1)], persons=False)
    with pytest.raises(ParameterError, match="SQL cannot express"):
        sql_test(Recipe(table.schema, (sf.KAnonymity(2), model)), "t")


def test_wildcards_and_empty_promises_are_refused() -> None:
    table = dataset([("x", 1, "f", 1)], persons=False)
    with pytest.raises(ParameterError, match="promises nothing"):
        sql_test(Recipe(table.schema), "t")
    with pytest.raises(ParameterError, match="wildcard"):
        sql_test(Recipe(table.with_missing(**{"a b": "wildcard"}).schema, (sf.KAnonymity(2),)), "t")


def test_the_command_prints_the_query(tmp_path: Any) -> None:
    (tmp_path / "r.yaml").write_text(
        "columns: {age: {role: quasi}}\nmeet: [{k_anonymity: 5}]\nsteps: []\n"
    )
    done = CliRunner().invoke(
        build_app(),
        ["check", "--sql", "-r", str(tmp_path / "r.yaml"), "--table", "{{ ref('visits') }}"],
    )
    assert done.exit_code == 0
    first, second = done.output.splitlines()
    assert first == "SELECT '5-anonymity' AS promise, COUNT(*) AS records FROM {{ ref('visits') }}"
    assert second == 'GROUP BY "age" HAVING COUNT(*) < 5'
