"""``sfumato query``: a budget on the command line."""

from __future__ import annotations

import json
import time

import pytest

pytest.importorskip("opendp")
pytest.importorskip("sqlglot")
pytest.importorskip("fcntl")

RECIPE = """
sfumato: 1
columns:
  patient: person
  sex: {role: quasi, domain: [f, m]}
  age: {role: quasi, kind: numeric, bounds: [0, 110]}
  cost: {role: sensitive, kind: numeric, bounds: [0, 5000]}
"""
DATA = "patient,sex,age,cost\n" + "".join(
    f"p{i % 40},{'fmx'[i % 3]},{20 + i % 50},{100 + i}\n" for i in range(90)
)
BY_SEX = "SELECT sex, AVG(cost) AS mean, COUNT(*) FROM people GROUP BY sex"


@pytest.fixture
def people(tmp_path):
    (tmp_path / "people.yaml").write_text(RECIPE)
    (tmp_path / "data.csv").write_text(DATA)
    return tmp_path / "people.yaml", tmp_path / "data.csv"


@pytest.fixture
def ask(sfumato, people):
    """Ask on the table; the quantum is short, and overruns on a busy machine are none of these
    tests' business.
    """
    return lambda *more: sfumato("query", *people, *more, "--quantum", "0.2")


START = ("--budget", "1", "--contributions", "3")


@pytest.mark.slow
def test_the_way_through(ask, people):
    first = ask(BY_SEX, "--epsilon", "0.3", *START)
    assert first.code == 0, first.err
    assert (
        "mean (mean of cost by sex)" in first.out
        and "(outside):" in first.out
        and "ε = 0.15" in first.out
    )
    assert (
        "one patient (at most 3 rows of each count)" in first.out
        and "0.3 spent of ε = 1" in first.err
    )
    again = json.loads(ask(BY_SEX, "--epsilon", "0.3", "--json").out)
    assert again["spent"] == 0.3 and all(answer["repeated"] for answer in again["answers"])
    assert [len(answer["values"]) for answer in again["answers"]] == [3, 3]
    people[1].write_text(DATA.replace("p1,", "p2,", 1))
    fresh = json.loads(ask(BY_SEX, "--epsilon", "0.3", "--json", "--fresh").out)
    assert fresh["spent"] == 0.6, "an edited byte does not refill the budget"
    refused = ask(BY_SEX, "--epsilon", "0.5")
    assert refused.code == 1 and "would exceed it" in refused.err and not refused.out
    state = ask()
    assert state.code == 0 and state.out.count("mean of cost by sex (ε = 0.15)") == 2


def test_a_ledger_elsewhere_in_zcdp(ask, tmp_path):
    path = tmp_path / "other.ledger"
    done = ask(
        "SELECT COUNT(*) FROM visits",
        "--rho",
        "0.01",
        "--ledger",
        path,
        "--budget-rho",
        "0.05",
        "--name",
        "visits",
        "--contributions",
        "1",
        "--neighbours",
        "change_one",
        "--json",
    )
    assert done.code == 0, done.err
    assert json.loads(done.out)["budget"] == {"rho": 0.05} and path.exists()


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        ((BY_SEX, "--epsilon", "0.1"), 2, "a budget is missing"),
        ((BY_SEX, "--epsilon", "0.1", "--budget", "1"), 2, "the number of rows of one patient"),
        (
            (BY_SEX, "--epsilon", "0.1", "--budget", "0", "--contributions", "1"),
            2,
            "greater than 0",
        ),
        ((BY_SEX, "--epsilon", "0", *START), 2, "above 0"),
        ((BY_SEX, *START), 2, "either epsilon"),
        (
            (BY_SEX, "--epsilon", "0.1", "--delta", "0.1", "--contributions", "1"),
            2,
            "either as epsilon or as rho",
        ),
        (("SELECT * FROM people", "--epsilon", "0.1", *START), 2, "'*' in SELECT is not supported"),
        (("SELECT AVG(zip) FROM people", "--epsilon", "0.1", *START), 2, "no declared bounds"),
        ((BY_SEX, "--epsilon", "0.1", *START, "--protects", "nobody"), 2, "no column 'nobody'"),
        ((BY_SEX, "--epsilon", "0.1", *START, "--protects", "row"), 2, "would not protect them"),
        ((BY_SEX, "--epsilon", "2", *START), 1, "would exceed it"),
    ],
    ids=str,
)
def test_refusals(ask, more, code, said):
    done = ask(*more)
    assert done.code == code and not done.out
    assert said in " ".join(done.err.split())


def test_a_damaged_ledger_and_missing_files(ask, sfumato, people, tmp_path):
    (tmp_path / "people.ledger").write_text("{}\n")
    assert ask(BY_SEX, "--epsilon", "0.1").code == 5
    assert (
        sfumato(
            "query",
            people[0],
            tmp_path / "none.csv",
            BY_SEX,
            "--epsilon",
            "0.1",
            "--quantum",
            "0.1",
        ).code
        == 5
    )
    assert (
        sfumato(
            "query",
            tmp_path / "none.yaml",
            people[1],
            BY_SEX,
            "--epsilon",
            "0.1",
            "--quantum",
            "0.1",
        ).code
        == 2
    )


@pytest.mark.slow
def test_replies_wait_for_their_quantum(sfumato, people):
    for statement in (BY_SEX, "SELECT nonsense"):
        start = time.monotonic()
        sfumato("query", *people, statement, "--epsilon", "0.1", *START, "--quantum", "0.7")
        assert time.monotonic() - start >= 0.7


@pytest.mark.slow
def test_what_is_said_does_not_depend_on_the_data(ask, people):
    """A table whose cells do not fit what is declared gives the same words and exit codes."""
    ask("--budget", "100", "--contributions", "3")
    outcomes = []
    for data in (
        DATA,
        DATA.replace(",100\n", ",very much\n"),
        DATA.replace("f,", "\x1b,"),
        DATA.splitlines()[0] + "\n",
    ):
        people[1].write_text(data)
        done = ask(BY_SEX, "--epsilon", "1", "--json", "--fresh", "--quiet")
        assert done.code == 0, done.err
        found = json.loads(done.out)
        outcomes.append([(a["question"], a["groups"], a["mechanism"]) for a in found["answers"]])
    assert all(one == outcomes[0] for one in outcomes)


@pytest.mark.parametrize(
    "record",
    [b"p1,f,20,100,7,8\n", b"p1,f\n", b'p1,"f,20,100\n', b"p1,\xff\xfe,20,100\n"],
    ids=["long", "short", "quote", "sign"],
)
def test_a_record_that_cannot_be_read_stops_every_question_alike(ask, people, record):
    """The table is read before anything else is looked at: no reply is about one odd record."""
    whole = DATA.encode()
    people[1].write_bytes(whole + record)
    told = set()
    for more in [
        (),
        (BY_SEX, "--epsilon", "0.1"),
        ("SELECT nonsense", "--epsilon", "nan"),
        (BY_SEX, "--epsilon", "9"),
    ]:
        done = ask(*more, *START)
        assert done.code == 5 and not done.out
        told.add(done.err[done.err.index("error:") :])
    assert len(told) == 1 and "questions are re" in told.pop()
    assert not people[0].with_suffix(".ledger").exists(), "nothing is started and nothing is spent"
    people[1].write_bytes(whole)
    assert ask(BY_SEX, "--epsilon", "0.1", *START).code == 0


@pytest.mark.parametrize("amount", ["1e-320", "5e-324", "1e308", "nan", "inf", "-inf"])
@pytest.mark.parametrize("option", ["--epsilon", "--rho", "--budget", "--budget-rho", "--quantum"])
def test_extreme_numbers_are_wrong_usage(sfumato, people, option, amount):
    given = {
        "--quantum": "0.1",
        "--budget": "1",
        "--contributions": "3",
        "--epsilon": "0.1",
        option: amount,
    }
    if option in ("--rho", "--budget-rho"):
        given.pop({"--rho": "--epsilon", "--budget-rho": "--budget"}[option])
    done = sfumato("query", *people, BY_SEX, *(word for pair in given.items() for word in pair))
    assert done.code == 2 and not done.out, done.err


def test_no_ledger_is_begun_for_a_question_that_cannot_be_read(ask, tmp_path):
    path = tmp_path / "new.ledger"
    done = ask(
        "SELECT COUNT(*) FROM nowhere", "--epsilon", "0.1", "--budget", "1", "--ledger", path
    )
    assert done.code == 2 and "nowhere" in done.err and not path.exists()
