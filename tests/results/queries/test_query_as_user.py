"""``sfumato query`` as somebody uses it who makes mistakes, and as somebody does who means harm."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("opendp")
pytest.importorskip("sqlglot")
pytest.importorskip("fcntl")

import polars as pl

from sfumato.core import recipe_files as recipes
from sfumato.core.declared import DeclaredTable, Relation, declared
from sfumato.core.source import Intake
from sfumato.core.table import Table
from sfumato.interfaces.cli.query import _read_whole
from tests.interfaces.cli.conftest import sfumato  # noqa: F401 - a fixture

RECIPE = """
sfumato: 1
columns:
  sex: {role: quasi, domain: [f, m]}
  cost: {role: sensitive, kind: numeric, bounds: [0, 1000]}
"""
COUNT = "SELECT COUNT(*) FROM people"

BOUNDED = recipes.parse("columns: {cost: {role: keep, bounds: [0, 100]}}")


@pytest.fixture
def ask(sfumato, tmp_path):  # noqa: F811
    """Ask about a CSV of the given text."""
    (tmp_path / "people.yaml").write_text(RECIPE)

    def asked(text: str, *more: str):
        (tmp_path / "people.csv").write_text(text)
        return sfumato(
            "query", tmp_path / "people.yaml", tmp_path / "people.csv", *more, "--quantum", "0.05"
        )

    return asked


# --- one row must not decide how the others are read

CELLS = {
    "decimal comma": (["0,5", "1,5", "2,5"], ",", ["abc", "1.5", "", "1.000,5"], [0.5, 1.5, 2.5]),
    "thousands or decimals": (["1.001", "1.002"], None, ["2,5", "x"], [1.001, 1.002]),
    "thousands": (["1.001", "1.002"], ",", ["2,5", "x"], [1001.0, 1002.0]),
    "grouped": (["1,001.5", "2,002"], None, ["x", "1,5"], [1001.5, 2002.0]),
    "whole numbers": (
        ["1", "2"],
        None,
        ["1.5", "x", "", "99999999999999999999", "007", "NaN"],
        [1.0, 2.0],
    ),
    "blanks": ([" 1", "2 "], None, ["x"], [1.0, 2.0]),
}


@pytest.mark.parametrize("case", CELLS)
def test_numbers_are_read_cell_by_cell(tmp_path, case):
    """The values of the others are the same whatever one more row holds: otherwise no noise would
    hide that row.
    """
    cells, decimal, others, expected = CELLS[case]
    for other in ([], *([one] for one in others)):
        file = tmp_path / "t.csv"
        file.write_text(
            "id;cost\n" + "".join(f"p{i};{cell}\n" for i, cell in enumerate([*cells, *other]))
        )
        dataset = _read_whole(str(file), Intake(decimal=decimal), BOUNDED)
        known = declared(dataset.schema, bounds={"cost": (0, 10_000)})
        values, present = DeclaredTable.of(
            dataset, known, Relation("row", "add_remove", 1)
        ).numbers("cost")
        assert present[: len(cells)].all() and values[: len(cells)].tolist() == expected


@pytest.mark.parametrize(
    "column",
    [[1, 2, 1], [1.0, 2.0, 1.0], ["1", "2", "1"], ["1.0", "2.0", "1.0"], ["1", "2", "1.0"]],
)
def test_a_number_is_in_a_domain_whatever_the_type_of_its_column(column):
    dataset = Table(pl.DataFrame({"code": column}))
    known = declared(dataset.schema, domains={"code": ["1", "2"]})
    table = DeclaredTable.of(dataset, known, Relation("row", "add_remove", 1))
    np.testing.assert_array_equal(table.codes("code"), [0, 1, 0])


def test_the_decimal_mark_is_said_and_not_found(ask):
    text = "sex;cost\n" + "f;100,5\n" * 50
    done = ask(
        text,
        "SELECT AVG(cost) FROM people",
        "--epsilon",
        "500",
        "--budget",
        "1000",
        "--decimal",
        ",",
        "--json",
    )
    assert done.code == 0, done.err
    assert json.loads(done.out)["answers"][0]["values"][0] == pytest.approx(100.5, abs=1)
    assert ask(text, COUNT, "--epsilon", "1", "--decimal", "x").code == 2


# --- tables that hold nothing


@pytest.mark.parametrize(
    "text",
    ["sex,cost\n", "sex,cost\nf,\n,\n", "sex,cost\nx,inf\nf,-inf\n,nan\n", "sex,cost\nf,1\n"],
)
def test_a_table_with_next_to_nothing_is_answered_like_any_other(ask, text):
    by_sex = (
        "SELECT sex, COUNT(*), AVG(cost), VARIANCE(cost), MEDIAN(cost) FROM people GROUP BY sex"
    )
    done = ask(text, by_sex, "--epsilon", "0.4", "--budget", "1", "--json")
    assert done.code == 0, done.err
    answers = json.loads(done.out)["answers"]
    assert [len(answer["values"]) for answer in answers] == [3, 3, 3, 3]
    assert all(np.isfinite(answer["values"]).all() for answer in answers)


# --- refusals


REFUSED = {
    "too dear": (COUNT, "--epsilon", "7"),
    "huge": (COUNT, "--epsilon", "1e300"),
    "tiny": (COUNT, "--epsilon", "1e-300"),
    "NaN": (COUNT, "--epsilon", "nan"),
    "infinite": (COUNT, "--epsilon", "inf"),
    "negative": (COUNT, "--epsilon", "-1"),
    "two statements": (f"{COUNT}; DROP TABLE people", "--epsilon", "0.1"),
    "always true": (f"{COUNT} WHERE sex = 'm' OR 1 = 1", "--epsilon", "0.1"),
    "a word that occurs but is not declared": (f"{COUNT} WHERE sex = 'x'", "--epsilon", "0.1"),
    "no domain": ("SELECT cost, COUNT(*) FROM people GROUP BY cost", "--epsilon", "0.1"),
    "no bounds": ("SELECT AVG(sex) FROM people", "--epsilon", "0.1"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_says_the_same_whatever_the_data(ask, tmp_path, case):
    told = []
    for text in ("sex,cost\nf,1\nm,2\n", "sex,cost\n" + "x,999\n" * 300):
        (tmp_path / "people.ledger").unlink(missing_ok=True)
        assert ask(text, COUNT, "--epsilon", "0.5", "--budget", "1").code == 0
        done = ask(text, *REFUSED[case])
        told.append((done.code, [line for line in done.err.splitlines() if "quanta" not in line]))
        assert (
            done.code in (1, 2)
            and not done.out
            and json.loads(ask(text, "--json").out)["spent"] == 0.5
        )
    assert told[0] == told[1]


def test_a_table_whose_name_sql_cannot_say_is_quoted(ask):
    start = ("--epsilon", "0.1", "--budget", "1", "--name", "my-people")
    unsaid = ask("sex,cost\nf,1\n", "SELECT COUNT(*) FROM my-people", *start)
    assert unsaid.code == 2 and 'the table is called "my-people"' in unsaid.err
    assert ask("sex,cost\nf,1\n", 'SELECT COUNT(*) FROM "my-people"', *start).code == 0
    assert ask("sex,cost\nf,1\n", 'SELECT COUNT(*) FROM "my-people"', "--epsilon", "0.1").code == 0


@pytest.mark.parametrize("damage", ["edited", "cut out", "emptied", "no ledger"])
def test_a_damaged_ledger_answers_nothing(ask, tmp_path, damage):
    text = "sex,cost\nf,1\n"
    ledger = tmp_path / "people.ledger"
    for where in ("sex = 'f'", "sex = 'm'"):
        assert ask(text, f"{COUNT} WHERE {where}", "--epsilon", "0.3", "--budget", "1").code == 0
    lines = ledger.read_text().splitlines(keepends=True)
    damaged = {
        "edited": "".join(lines).replace("3/10", "1/10", 1),
        "cut out": "".join(lines[:1] + lines[3:]),
        "emptied": "",
        "no ledger": "hello\n",
    }
    ledger.write_text(damaged[damage])
    done = ask(text, COUNT, "--epsilon", "0.1")
    assert done.code == 5 and "was changed after it was written" in done.err and not done.out
