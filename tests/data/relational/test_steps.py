"""Means for several tables: caps, coarser counts, people who go, pseudonyms; and steps of ordinary
tables in one of them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import re
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.core import registry
from sfumato.core.data import Evidence
from sfumato.core.keys import derived
from sfumato.core.randomness import Seed
from sfumato.core.shape import Shape
from sfumato.core.step import Goal
from sfumato.data.relational.steps import chosen
from sfumato.errors import ParameterError, RecipeError, SchemaError, Unsatisfiable
from tests.data.relational.random_relations import relations


def made(family, spec):
    return registry.build(family, spec, shape=Shape.TABLES)


def after(people, spec, *meet, seed=7):
    step = made("steps", spec)
    goal = Goal(tuple(made("models", one) for one in meet), Seed(seed))
    plan = step.plan(people, goal)
    return step.apply(people, plan), plan


@given(relations(), st.integers(1, 4), st.integers(0, 50))
@settings(max_examples=20)
def test_a_cap_keeps_as_many_rows_as_it_may(drawn, most, seed):
    people = sf.read_tables(drawn.frames, drawn.said)
    for rows in people.below:
        left, plan = after(people, {"cap_rows": {"table": rows.name, "at_most": most}}, seed=seed)
        assert (
            left.per_person(rows.name).tolist()
            == np.minimum(people.per_person(rows.name), most).tolist()
        )
        assert plan.describe()["rows_dropped"] == len(rows) - len(left[rows.name])
        assert left.people == people.people


def test_every_row_is_as_likely_to_stay():
    owner = np.repeat([0, 1], [5, 2])
    stays = Counter()
    draws = 4000
    stream = np.random.default_rng(5)
    for _ in range(draws):
        kept = chosen(owner, np.array([2, 2]), stream)
        stays[tuple(np.flatnonzero(kept[:5]))] += 1
        assert kept[5:].all()
    # ten pairs, each with probability 1/10: six standard deviations are passed once in 10^9 tests
    assert len(stays) == 10
    assert max(abs(count - draws / 10) for count in stays.values()) < 6 * np.sqrt(draws * 0.1 * 0.9)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=8))
@settings(max_examples=30)
def test_counts_become_the_largest_step_that_is_not_above(counts):
    if not any(counts):
        counts = [*counts, 1]
    people = pl.DataFrame({"id": range(len(counts))})
    rows = pl.DataFrame({"id": np.repeat(np.arange(len(counts)), counts), "x": "x"})
    said = {
        "people": {"key": "id", "columns": {}},
        "rows": {"belongs_to": {"people": "id"}, "columns": {"x": "quasi"}},
    }
    tables = sf.read_tables({"people": people, "rows": rows}, said)
    left, plan = after(tables, {"coarsen_counts": {"table": "rows", "to": [2, 5, 10]}})
    assert left.per_person("rows").tolist() == [
        max(step for step in (0, 2, 5, 10) if step <= n) for n in counts
    ]
    assert (
        plan.describe()["people_emptied"]
        == sum(n == 1 for n in counts)
        == (0 if not plan.warnings else counts.count(1))
    )


def test_people_go_by_how_many_rows_they_have():
    people = examples.clinic()
    counts = people.per_person("visits")
    left, plan = after(
        people, {"drop_people": {"table": "visits", "more_than": 6, "fewer_than": 1}}
    )
    assert sorted(left.per_person("visits").tolist()) == sorted(
        n for n in counts.tolist() if 1 <= n <= 6
    )
    assert plan.describe() == {
        "table": "visits",
        "people_dropped": int(((counts > 6) | (counts < 1)).sum()),
    }


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"cap_rows": {"table": "visits", "at_most": 0}}, "at_most"),
        ({"coarsen_counts": {"table": "visits", "to": [5, 2]}}, "ascending"),
        ({"coarsen_counts": {"table": "visits", "to": []}}, "at least 1 entry"),
        ({"drop_people": {"table": "visits"}}, "more_than or fewer_than"),
        ({"key_pseudonyms": {"key": "abc"}}, "key"),
        ({"nonsense": {"table": "visits"}}, "'nonsense' is not a known step"),
        ({"synthesize": {"table": "visits"}}, "synthesize: .* nobody"),
        (
            {"mondrian": {"table": "visits", "drop": "all"}},
            "mondrian: drop should be 'rows' or 'people'",
        ),
        ({"mondrian": {"table": 3}}, "mondrian: table should be the name of a table"),
        ({"mondrian": {}}, "say which: 'mondrian: {…, table: NAME}'"),
        ({"pseudonymize": {"columns": ["name"], "method": "counter", "table": "people"}}, "drop"),
        (
            {"mondrian": {"table": "people", "aim": [{"cap_rows": {}}]}},
            "aim: 'cap_rows' is not a known model",
        ),
        (
            {"mondrian": {"table": "people", "aim": "k_anonymity"}},
            "aim lists promises of ordinary tables",
        ),
        (
            {"in_table": {"table": "visits", "step": {"mondrian": {}}}},
            "like 'global_recoding: {budget: 0.02, table: visits}'",
        ),
    ],
)
def test_means_that_make_no_sense_are_refused(spec, told):
    with pytest.raises(RecipeError, match=told):
        made("steps", spec)


def test_tables_that_are_not_there_or_are_the_peoples_are_refused():
    with pytest.raises(
        ParameterError, match=r"table 'visit' does not exist\. Did you mean 'visits'"
    ):
        after(examples.clinic(), {"cap_rows": {"table": "visit", "at_most": 2}})
    with pytest.raises(ParameterError, match="'people' is the table of the people"):
        after(examples.clinic(), {"cap_rows": {"table": "people", "at_most": 2}})


# Dates.


def days(people, table, column):
    values = people[table].frame[column]
    text = values.cast(pl.String).str.slice(0, 10).str.to_date()
    return [None if day is None else day.toordinal() for day in text.to_list()]


# Pseudonyms.


def pseudonyms_of(people):
    return {
        name: dict(zip(rows[0].to_list(), rows[1].to_list(), strict=True))
        for name, rows in _keys(people).items()
    }


def _keys(people):
    return {
        rows.name: (rows.names, rows.labels) for rows in people.parts if rows.link.key is not None
    }


@pytest.fixture
def key_file(tmp_path):
    file = tmp_path / "a.key"
    file.write_text("0123456789abcdef0123456789abcdef")
    file.chmod(0o600)
    return file


def test_keyed_pseudonyms_are_hmac_in_the_domain_of_the_table(key_file):
    people, plan = after(examples.clinic(), {"key_pseudonyms": {"key": {"file": str(key_file)}}})
    secret = derived(key_file.read_bytes(), "pseudonym of rows", "visits")
    for raw, code in pseudonyms_of(people)["visits"].items():
        digest = hmac.digest(secret, str(raw).encode(), hashlib.sha256)[:8].hex()
        assert code == digest.translate(str.maketrans("0123456789abcdef", "bcdfghjkmnpqrstv"))
    again, _ = after(
        examples.clinic().shuffled(np.random.default_rng(1)),
        {"key_pseudonyms": {"key": {"file": str(key_file)}}},
        seed=8,
    )
    assert pseudonyms_of(again) == pseudonyms_of(people)
    assert any("can be joined" in warning for warning in plan.warnings)


def test_random_pseudonyms_are_fresh_and_in_no_order():
    one, other = (examples.clinic().sealed(Seed(seed)) for seed in (1, 2))
    codes = [
        set(rows.labels)
        for people in (one, other)
        for rows in people.parts
        if rows.labels is not None
    ]
    assert sum(map(len, codes)) == len(set().union(*codes))
    assert all(re.fullmatch("[bcdfghjkmnpqrstv]{16}", code) for code in set().union(*codes))
    labels = one.parts[0].labels.to_list()
    assert labels != sorted(labels)
    assert one.parts[0].labels.equals(examples.clinic().sealed(Seed(1)).parts[0].labels)


def test_split_tables_share_no_pseudonym_and_are_judged_apart():
    people, _ = after(examples.clinic(), {"key_pseudonyms": {"split": True}})
    sealed = people.sealed(Seed(3))
    written = sealed.to_tables()
    assert not set(written["people"]["person_id"]) & set(written["visits"]["person_id"])
    assert set(written["prescriptions"]["visit_id"]) <= set(written["visits"]["visit_id"])
    again = type(people).from_tables(written, people.schemas, people.source)
    assert again.split
    assert sealed.same(again)
    shown = again.shown()
    coming = len(np.unique(people["visits"].owner))
    assert shown.persons == people.people + coming
    assert set(shown.rows[0].person) == set(range(people.people, shown.persons))
    groups = Counter(written["visits"]["person_id"].to_list())
    assert sorted(np.bincount(shown.rows[0].person)[people.people :]) == sorted(groups.values())
    assert set(shown.own[people.people :]).isdisjoint(shown.own[: people.people])


def test_people_go_with_their_rows_after_the_split_too():
    people, _ = after(examples.clinic(), {"key_pseudonyms": {"split": True}})
    left = people.keep_people(np.arange(people.people) % 2 == 0)
    assert left.per_person("visits").tolist() == people.per_person("visits")[::2].tolist()


# Steps of ordinary tables.

K3 = {"k_anonymity": {"k": 3, "table": "people"}}
RECODE = {"suppress": "tuple", "budget": 0.3}


def test_promises_in_a_table_count_persons_not_rows():
    people = sf.read_tables(
        {
            "people": pl.DataFrame({"id": [1, 2]}),
            "rows": pl.DataFrame({"id": [1, 1, 1, 2], "x": ["a", "a", "b", "b"]}),
        },
        {
            "people": {"key": "id", "columns": {}},
            "rows": {"belongs_to": {"people": "id"}, "columns": {"x": "quasi"}},
        },
    )
    promise = made("models", {"k_anonymity": {"k": 2, "table": "rows"}})
    found = promise.judge(Evidence(people))
    assert (found.attained, found.holds, found.promise, found.model) == (
        1,
        False,
        "2-anonymity in rows",
        "k_anonymity",
    )
    assert promise.broken(people).tolist() == [True, False]


@given(relations(), st.integers(2, 4))
@settings(max_examples=20)
def test_promises_in_a_table_agree_with_counting(drawn, k):
    people = sf.read_tables(drawn.frames, drawn.said)
    for rows in people.parts:
        promise = made("models", {"k_anonymity": {"k": k, "table": rows.name}})
        crowds = {}
        for place, colour in enumerate(drawn.frames[rows.name]["colour"].to_list()):
            crowds.setdefault(colour, set()).add(drawn.owner_of(rows.name, place))
        assert promise.judge(Evidence(people)).attained == min(map(len, crowds.values()))
        small = set().union(*(crowd for crowd in crowds.values() if len(crowd) < k))
        assert set(np.flatnonzero(promise.broken(people))) == small


def test_a_step_needs_something_to_reach_and_says_where():
    with pytest.raises(
        ParameterError, match=r"table 'visits': .*k_anonymity: {k: 5, table: visits}"
    ):
        after(examples.clinic(), {"global_recoding": {**RECODE, "table": "visits"}}, K3)
    aim = [{"k_anonymity": {"k": 4}}]
    left, _ = after(
        examples.clinic(), {"global_recoding": {**RECODE, "table": "visits", "aim": aim}}
    )
    assert made("models", {"k_anonymity": {"k": 4, "table": "visits"}}).judge(Evidence(left)).holds
    huge = {"k_anonymity": {"k": 1000, "table": "people"}}
    with pytest.raises(Unsatisfiable, match="global_recoding, table 'people': no generalization"):
        after(examples.clinic(), {"global_recoding": {**RECODE, "table": "people"}}, huge)


def test_promises_that_need_a_second_table_are_refused():
    promise = made("models", {"k_map": {"k": 2, "table": "people"}})
    with pytest.raises(SchemaError, match="compares with a second table"):
        promise.judge(Evidence(examples.clinic()))


# What is left of them.


def test_plans_are_plain():
    people = examples.clinic()
    for spec in (
        {"cap_rows": {"table": "visits", "at_most": 2}},
        {"key_pseudonyms": {}},
        {"global_recoding": {**RECODE, "table": "people"}},
    ):
        _, plan = after(people, spec, K3)
        told = repr(plan.describe())
        assert not any(str(key) in told for key in people.parts[0].names)
        assert dataclasses.is_dataclass(plan)
