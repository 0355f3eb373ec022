"""SQL: the subset means what Python means, and everything else is refused by name, before anything
is spent.
"""

from __future__ import annotations

import contextlib
import re

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.declared import declared
from sfumato.core.schema import Schema
from sfumato.errors import MissingExtra, ParameterError, SfumatoError
from sfumato.results.queries import SessionOptions
from sfumato.results.queries.sql import questions

sqlglot = pytest.importorskip("sqlglot")

KNOWN = declared(
    Schema({}),
    bounds={"age": (0, 110), "cost": (0, 5000)},
    domains={"sex": ["f", "m"], "ward": ["A", "B"], "flag": ["true", "false"]},
)
PEOPLE = pl.DataFrame({"age": [30], "cost": [1.0], "sex": ["f"], "ward": ["A"], "flag": [True]})


def asked(statement):
    return [str(question) for _, question in questions(statement, KNOWN, "people")]


@pytest.mark.parametrize(
    ("statement", "meaning"),
    [
        ("SELECT COUNT(*) FROM people", ["count"]),
        ("select count(*) n, sum(cost) as s from PEOPLE p", ["count", "sum of cost"]),
        ("SELECT sex, AVG(cost) FROM people GROUP BY sex", ["mean of cost by sex"]),
        ("SELECT AVG(cost) FROM people GROUP BY sex, ward", ["mean of cost by sex, ward"]),
        ("SELECT VARIANCE(age), VAR_SAMP(age) FROM people", ["variance of age", "variance of age"]),
        ("SELECT MIN(age), MAX(age) FROM people", ["0.01 quantile of age", "0.99 quantile of age"]),
        ("SELECT MEDIAN(age) FROM people", ["0.5 quantile of age"]),
        (
            "SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age) FROM people",
            ["0.25 quantile of age"],
        ),
        (
            "SELECT PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY age) FROM people",
            ["0.9 quantile of age"],
        ),
        (
            "SELECT COUNT(*) FROM people WHERE 40 <= age AND (sex = 'f')",
            ["count where age >= 40 and sex in (f)"],
        ),
        (
            "SELECT COUNT(*) FROM people WHERE age BETWEEN -1.5 AND 7",
            ["count where age <= 7 and age >= -1.5"],
        ),
        (
            "SELECT COUNT(*) FROM people WHERE sex NOT IN ('f','m')",
            ["count where sex not in (f, m)"],
        ),
        ("SELECT AVG(p.cost) FROM people AS p WHERE P.age > 3", ["mean of cost where age > 3"]),
        ("SELECT people.sex, COUNT(*) FROM people GROUP BY people.sex", ["count by sex"]),
        ("SELECT COUNT(*) FROM people WHERE flag = TRUE", ["count where flag in (true)"]),
        (
            "SELECT COUNT(*) FROM people WHERE sex <> 'f' -- a comment",
            ["count where sex not in (f)"],
        ),
    ],
)
def test_the_subset(statement, meaning):
    assert asked(statement) == meaning


OUTSIDE = {
    "SELECT * FROM people": "'*' in SELECT",
    "SELECT age FROM people": "column 'age' outside an aggregate",
    "SELECT sex FROM people GROUP BY sex": "without an aggregate",
    "SELECT sex AS s, COUNT(*) FROM people GROUP BY sex": "AS behind a column",
    "SELECT COUNT(age) FROM people": "COUNT(age)",
    "SELECT COUNT(DISTINCT sex) FROM people": "COUNT(DISTINCT sex)",
    "SELECT SUM(DISTINCT age) FROM people": "'DISTINCT age' in SUM",
    "SELECT AVG(age + 1) FROM people": "'age + 1' in AVG",
    "SELECT AVG(age) * 2 FROM people": "'AVG(age) * 2' in SELECT",
    "SELECT STDDEV(age) FROM people": "'STDDEV(age)' in SELECT",
    "SELECT VAR_POP(age) FROM people": "(age)' in SELECT",
    "SELECT MAX(age, cost) FROM people": "'MAX(age, cost)' in SELECT",
    "SELECT COUNT(*) OVER () FROM people": "OVER ()",
    "SELECT COUNT(*) FILTER (WHERE sex = 'f') FROM people": "FILTER",
    "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age DESC) FROM people": "WITHIN GROUP",
    "SELECT DISTINCT COUNT(*) FROM people": "DISTINCT",
    "SELECT COUNT(*) FROM people HAVING COUNT(*) > 1": "HAVING",
    "SELECT COUNT(*) FROM people ORDER BY 1": "ORDER BY",
    "SELECT COUNT(*) FROM people LIMIT 1": "LIMIT",
    "SELECT COUNT(*) FROM people JOIN other USING (id)": "JOIN",
    "SELECT COUNT(*) FROM people, other": "JOIN",
    "WITH a AS (SELECT 1) SELECT COUNT(*) FROM people": "WITH",
    "SELECT COUNT(*) FROM (SELECT 1)": "a subquery in FROM",
    "SELECT COUNT(*) FROM db.people": "DB in FROM",
    "SELECT COUNT(*)": "without FROM",
    "SELECT COUNT(*) FROM people GROUP BY ROLLUP (sex)": "ROLLUP",
    "SELECT COUNT(*) FROM people GROUP BY ALL": "GROUP BY ALL",
    "SELECT COUNT(*) FROM people GROUP BY 1": "'1' in GROUP BY",
    "SELECT COUNT(*) FROM people WHERE sex = 'f' OR sex = 'm'": "OR",
    "SELECT COUNT(*) FROM people WHERE NOT sex = 'f'": "NOT",
    "SELECT COUNT(*) FROM people WHERE age IS NULL": "IS NULL",
    "SELECT COUNT(*) FROM people WHERE sex LIKE 'f%'": "LIKE",
    "SELECT COUNT(*) FROM people WHERE age < cost": "'cost' in WHERE",
    "SELECT COUNT(*) FROM people WHERE age IN (SELECT 1)": "a subquery in IN",
    "SELECT COUNT(*) FROM people WHERE age BETWEEN SYMMETRIC 7 AND 1": "SYMMETRIC in BETWEEN",
    "SELECT COUNT(*) FROM people AS p(sex, age)": "COLUMNS in TABLE ALIAS",
    "SELECT AVG(other.age) FROM people": "the qualifier 'other'",
    "SELECT AVG(people.age) FROM people AS p": "the qualifier 'people'",
    "SELECT COUNT(*) FROM people WHERE other.age > 3": "the qualifier 'other'",
    "SELECT COUNT(*) FROM people GROUP BY other.sex": "the qualifier 'other'",
    "SELECT AVG(db.people.age) FROM people": "DB in COLUMN",
    "SELECT COUNT(* EXCEPT (age)) FROM people": "EXCEPT in STAR",
    "SELECT PERCENTILE_CONT(0.5, cost) WITHIN GROUP (ORDER BY age) FROM people": (
        "EXPRESSION in PERCENTILE CONT"
    ),
    "SELECT COUNT(*) FROM people TABLESAMPLE (10 PERCENT)": "SAMPLE in FROM",
    "SELECT COUNT(*) FROM people; DROP TABLE people": "2 statements",
    "DROP TABLE people": "DROP",
    "SELECT 1 UNION SELECT 2": "UNION",
    "": "an empty statement",
}


@pytest.mark.parametrize(("statement", "part"), OUTSIDE.items(), ids=OUTSIDE.keys())
def test_what_is_outside_is_named(statement, part):
    with pytest.raises(ParameterError, match="not supported in SQL here") as caught:
        questions(statement, KNOWN, "people")
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT COUNT(*) FROM persons", "no table 'persons'.*people"),
        ("SELECT COUNT(*) FROM people GROUP BY age", "no declared domain"),
        ("SELECT COUNT(*) FROM people GROUP BY zip", "no declared domain"),
        ("SELECT COUNT(*) FROM people GROUP BY sex, sex", "twice"),
        ("SELECT AVG(sex) FROM people", "no declared bounds"),
        ("SELECT MEDIAN(name) FROM people", "no declared bounds"),
        ("SELECT COUNT(*) FROM people WHERE name = 'x'", "cannot be filtered by"),
        ("SELECT COUNT(*) FROM people WHERE sex = 'q'", "not in the declared domain"),
        ("SELECT COUNT(*) FROM people WHERE sex > 'f'", "compared by"),
        ("SELECT COUNT(*) FROM people WHERE age > 'f'", "finite numbers"),
        ("SELECT COUNT(*) FROM people WHERE age > 1e999", "finite numbers"),
        ("SELECT PERCENTILE_CONT(7) WITHIN GROUP (ORDER BY age) FROM people", "level"),
        ("SELECT FROM WHERE", "cannot be read at line 1, column 17"),
        ("SELECT 'a", "cannot be read"),
        ("SELECT " + "(" * 4000, "cannot be read|nested"),
        ("SELECT COUNT(*) FROM people " + "-" * 10_000, "at most 10,000"),
    ],
)
def test_what_is_wrong_is_said(statement, said):
    with pytest.raises(ParameterError, match=said):
        questions(statement, KNOWN, "people")


TOKENS = st.lists(
    st.sampled_from(
        [
            "SELECT",
            "COUNT(*)",
            "AVG",
            "(",
            "age",
            ")",
            "sex",
            ",",
            "FROM",
            "people",
            "WHERE",
            "GROUP",
            "BY",
            "AND",
            "OR",
            "=",
            "<",
            "'f'",
            "3",
            "IN",
            "NOT",
            "NULL",
            "*",
            ";",
            "BETWEEN",
            "AS",
            "x",
        ]
    ),
    max_size=14,
).map(" ".join)


@given(st.one_of(TOKENS, st.text(max_size=40)))
@example("SELECT COUNT(*) FROM people WHERE age IN ()")
@example("SELECT COUNT(*), FROM people")
@example("EXPLAIN SELECT 1")
def test_any_text_is_a_question_or_a_refusal(statement):
    try:
        found = questions(statement, KNOWN, "people")
    except SfumatoError:
        return
    assert found


# the documented grammar once more, as one pattern over what the parser understood, written out in
# full
NAME = r"(?:(?:people|p|x)\.)?\"?\w+\"?"
VALUE = r"(?:-?\d+(?:\.\d+)?|'[^']*'|TRUE|FALSE)"
LIST = rf"{VALUE}(?:, {VALUE})*"
ONE = (
    rf"(?:{NAME} (?:=|<>|<|<=|>|>=) {VALUE}|{VALUE} (?:=|<>|<|<=|>|>=) {NAME}"
    rf"|{NAME} BETWEEN {VALUE} AND {VALUE}|(?:NOT )?{NAME} IN \({LIST}\))"
)
ALL = rf"\(*{ONE}\)*(?: AND \(*{ONE}\)*)*"
AGGREGATE = (
    rf"(?:COUNT\(\*\)|(?:SUM|AVG|VARIANCE|MEDIAN|MIN|MAX)\({NAME}\)"
    rf"|PERCENTILE_(?:CONT|DISC)\({VALUE}\) WITHIN GROUP \(ORDER BY {NAME}(?: ASC)?(?: NULLS"
    r" FIRST)?\))(?: AS \"?\w+\"?)?"
)
GRAMMAR = re.compile(
    rf"SELECT (?:{NAME}, |{AGGREGATE}, )*(?:{AGGREGATE}|{NAME}) FROM \"?people\"?(?: AS \w+)?(?:"
    rf" WHERE {ALL})?"
    rf"(?: GROUP BY {NAME}(?:, {NAME})*)?",
    re.IGNORECASE,
)
GOOD = [
    (
        "SELECT sex , AVG ( cost ) AS x FROM people AS p WHERE age BETWEEN 1 AND 7 AND p.sex IN ("
        " 'f' , 'm' ) GROUP BY sex"
    ),
    "SELECT COUNT ( * ) FROM people WHERE ( 40 <= age AND NOT sex IN ( 'f' ) ) AND flag = TRUE",
    (
        "SELECT PERCENTILE_CONT ( 0.25 ) WITHIN GROUP ( ORDER BY age ) , MAX ( people.cost ) FROM"
        " people"
    ),
]
STRAY_WORDS = """SYMMETRIC ASYMMETRIC ( sex ) DISTINCT ALL ANY other.age people.age db.people.age DESC ASC NULLS FIRST LAST FILTER OVER
IGNORE RESPECT NULLS EXCEPT EXCLUDE REPLACE LIMIT 1 OFFSET TOP ONLY LATERAL FINAL SAMPLE TABLESAMPLE ( 10 PERCENT ) PIVOT USING
AS x y ( + ) :: INT CAST COLLATE NOT NULL IS TRUE LIKE ILIKE ESCAPE '%' OR XOR + - * / % || && ~ ! @x $1 ? : [ 0 ] { } N'f' X'1' E'f'
INTERVAL DATE '2020-01-01' CASE WHEN THEN END ROLLUP CUBE GROUPING SETS TOTALS HAVING QUALIFY WINDOW UNION INTERSECT FOR UPDATE
SYSTEM_TIME OF VERSION ORDINALITY UNNEST ( x ) GLOBAL 1e3 0x1F 1_000 .5 TRUE FALSE AND , ;"""


@settings(max_examples=400)
@given(
    st.sampled_from(GOOD),
    st.lists(
        st.tuples(
            st.integers(0, 40),
            st.lists(st.sampled_from(STRAY_WORDS.split()), min_size=1, max_size=4),
            st.integers(0, 1),
        ),
        min_size=1,
        max_size=2,
    ),
)
def test_nothing_that_was_written_is_left_unread(statement, edits):
    """Any words put into a good statement, or in place of its own: it is refused, or the grammar
    has it whole.
    """
    words = statement.split(" ")
    for place, stray, dropped in edits:
        words[place % len(words) : place % len(words) + dropped] = stray
    try:
        questions(" ".join(words), KNOWN, "people")
    except SfumatoError:
        return
    # An empty statement before or after, as in "; SELECT ...", says nothing.
    statements = [tree for tree in sqlglot.parse(" ".join(words)) if tree is not None]
    assert len(statements) == 1
    assert GRAMMAR.fullmatch(statements[0].sql(comments=False)), " ".join(words)


@pytest.mark.parametrize("statement", GOOD)
def test_every_part_of_every_node_is_read_or_refused(statement, monkeypatch):
    """Whatever the parser could hang on a node of a good statement: a part that nothing here reads
    is refused.
    """
    untouched = asked(statement)
    for place, node in enumerate(sqlglot.parse_one(statement).walk()):
        for part in type(node).arg_types:
            tree = sqlglot.parse_one(statement)
            twin = list(tree.walk())[place]
            if twin.args.get(part) or part in (
                "quoted",
                "big_int",
                "nulls_first",
                "alias",
                "where",
                "group",
            ):
                continue  # ways to write the same, and parts that are conditions of their own
            twin.set(part, sqlglot.exp.Identifier(this="other"))
            monkeypatch.setattr(sqlglot, "parse", lambda _, tree=tree: [tree])
            with contextlib.suppress(SfumatoError):
                assert asked("patched") != untouched, f"{part} of {type(node).__name__} is not read"
            monkeypatch.undo()


def test_names_are_kept_and_the_loss_is_shared():
    people = sf.dp.session(
        sf.read(PEOPLE),
        budget=1.0,
        options=SessionOptions(name="people", domains=KNOWN.domains),
        bounds=KNOWN.bounds,
    )
    found = people.sql(
        "SELECT COUNT(*) AS visits, AVG(cost), MEDIAN(cost) FROM people", epsilon=0.9
    )
    assert [a.label for a in found] == ["visits", None, None] and "visits (count)" in str(found[0])
    assert [a.epsilon for a in found] == [pytest.approx(0.3)] * 3 and people.spent == 0.9
    again = people.sql("SELECT COUNT(*) AS n FROM people", epsilon=0.3)[0]
    assert again.repeated and again.label == "n" and again.values == found[0].values


def test_a_missing_extra_is_named(monkeypatch):
    def lost(name):
        raise ImportError(name)

    monkeypatch.setattr("sfumato.errors.importlib.import_module", lost)
    with pytest.raises(MissingExtra, match=r"sfumato\[dp\]"):
        questions("SELECT COUNT(*) FROM people", KNOWN, "people")


@pytest.mark.parametrize(
    "statement", ["EXPLAIN SELECT COUNT(*) FROM people", "explain analyze select 1", "SHOW TABLES"]
)
def test_statements_that_the_parser_passes_on_are_refused_in_our_words(statement, caplog, capfd):
    word = statement.split()[0].upper()
    with pytest.raises(
        ParameterError, match=f"^{word} is not supported in SQL here; give one SELECT"
    ):
        questions(statement, declared(Schema({})), "people")
    assert not caplog.records and not capfd.readouterr().err
