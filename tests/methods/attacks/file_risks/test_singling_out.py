"""Columns that give people away, against trying every set of columns."""

from __future__ import annotations

import itertools

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.classes import count_classes
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import ParameterError
from sfumato.methods.attacks.file_risks import singling_out
from sfumato.methods.attacks.file_risks.singling_out import (
    contributions,
    smallest_exposing_sets,
    unique_records,
    why_alone,
)
from tests.oracles import definitions as oracle
from tests.random_tables import tables


@given(table=tables(most_columns=4, most_rows=15))
@settings(max_examples=30)
def test_contributions_are_shapley_values(table):
    found = contributions(count_classes(table.dataset()))
    assert [found[name] for name in table.names] == pytest.approx(
        oracle.unique_shares(table.rows, len(table.names))
    )
    assert list(found.values()) == sorted(found.values(), reverse=True)
    everyone = oracle.unique_rows(table.rows, range(len(table.names))) / len(table.rows)
    assert sum(found.values()) == pytest.approx(everyone)


@given(table=tables(most_columns=4, most_rows=15, most_leaves=6), most=st.integers(1, 6))
def test_smallest_exposing_sets(table, most):
    expected = oracle.exposing_sets(table.rows, len(table.names))
    named = [(-n, tuple(table.names[c] for c in columns)) for columns, n in expected.items()]
    found = smallest_exposing_sets(count_classes(table.dataset()), limit=most)
    assert [(-e.unique_records, e.columns) for e in found] == sorted(named)[:most]


@pytest.mark.slow
@given(data=st.data(), table=tables(most_columns=3))
def test_one_person_with_several_records_is_still_alone(data, table):
    who = [data.draw(st.sampled_from("pqr")) for _ in table.rows]
    frame = table.frame().with_columns(pl.Series("who", who))
    dataset = Table(frame, Schema({**table.schema().attributes, "who": Attribute((Role.PERSON,))}))
    chosen = data.draw(st.lists(st.sampled_from(table.names), unique=True, min_size=1))
    places = [table.names.index(n) for n in chosen]
    found = unique_records(count_classes(dataset), chosen)
    assert found == oracle.rows_of_lonely_persons(table.rows, who, places)


def many_columns(width, rows):
    frame = pl.DataFrame(
        {f"c{a:02}": [f"{(i >> (a % 4)) & 1}" for i in range(rows)] for a in range(width)}
    )
    return Table(frame, Schema({c: Attribute((Role.QUASI,)) for c in frame.columns}))


def test_many_columns_take_turns_and_still_sum_to_the_share_of_uniques():
    classes = count_classes(many_columns(12, 16))
    assert sum(contributions(classes).values()) == pytest.approx(1.0)
    assert set(contributions(classes)) == set(classes.columns)


def test_column_order_changes_no_contribution():
    table = many_columns(9, 16)
    turned = Table(table.to_polars().select(table.columns[::2] + table.columns[1::2]), table.schema)
    found = contributions(count_classes(table))
    assert contributions(count_classes(turned)) == pytest.approx(found)
    assert len(set(found.values())) > 1


def test_the_search_for_small_sets_stops_where_there_are_too_many(monkeypatch):
    classes = count_classes(many_columns(12, 16))
    found = smallest_exposing_sets(classes)
    assert len(found[0].columns) == 4
    monkeypatch.setattr(singling_out, "MOST_SETS", 50)
    assert smallest_exposing_sets(classes) == ()


def test_empty_tables_expose_nobody():
    classes = count_classes(many_columns(3, 0))
    assert contributions(classes) == {"c00": 0.0, "c01": 0.0, "c02": 0.0}
    assert smallest_exposing_sets(classes) == ()
    assert unique_records(classes, ["c00"]) == 0


def test_one_record_is_alone_on_every_column():
    classes = count_classes(many_columns(2, 1))
    assert [e.columns for e in smallest_exposing_sets(classes)] == [("c00",), ("c01",)]
    assert sum(contributions(classes).values()) == pytest.approx(1)


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.tuples(*[st.sampled_from("xyz")] * width), min_size=1, max_size=10
        )
    ),
    st.data(),
)
def test_why_alone_against_every_subset(rows, data):
    names = [f"c{i}" for i in range(len(rows[0]))]
    table = Table(
        pl.DataFrame({n: [row[i] for row in rows] for i, n in enumerate(names)})
    ).with_roles(quasi=names)
    at = data.draw(st.integers(0, len(rows) - 1))

    def alone(chosen):
        return sum(all(row[i] == rows[at][i] for i in chosen) for row in rows) == 1

    subsets = [
        c
        for size in range(1, len(names) + 1)
        for c in itertools.combinations(range(len(names)), size)
    ]
    found = [
        c
        for c in subsets
        if alone(c) and not any(alone(p) for p in itertools.combinations(c, len(c) - 1) if p)
    ]
    assert why_alone(table, at) == tuple(tuple(names[i] for i in c) for c in found)


def test_why_alone_refuses_records_that_are_not_there():
    with pytest.raises(ParameterError, match="there is no record 10"):
        why_alone(examples.special_uniques(), 10)
