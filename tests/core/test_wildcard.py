"""Missing values that match everything: counted pattern by pattern, compared with comparing every
pair of rows.
"""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.classes import count_rows
from sfumato.core.evidence import compatible_records, gather, wildcard_columns
from sfumato.core.schema import Attribute, Missing, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import SchemaError
from sfumato.methods.models.k_anonymity import KAnonymity
from tests.oracles import definitions as oracle
from tests.random_tables import tables

RULES = {True: Missing.WILDCARD, False: Missing.CATEGORY}


def with_rules(table, wild):
    attributes = table.schema().attributes
    rules = {
        n: {"hierarchy": a.hierarchy, "missing": RULES[w]}
        for (n, a), w in zip(attributes.items(), wild, strict=True)
    }
    return Table(
        table.frame(), Schema({n: Attribute((Role.QUASI,), **rule) for n, rule in rules.items()})
    )


@given(data=st.data(), table=tables(most_columns=4, most_rows=20, fewest_rows=0))
def test_frequencies_are_those_of_comparing_every_pair(data, table):
    wild = [data.draw(st.booleans()) for _ in table.names]
    dataset = with_rules(table, wild)
    classes, ids = count_rows(dataset)
    columns = wildcard_columns(dataset.schema, classes.columns)
    assert columns == tuple(n for n, w in zip(table.names, wild, strict=True) if w)
    found = compatible_records(classes, columns)
    assert found[ids].tolist() == oracle.compatible_rows(table.rows, wild)


@given(data=st.data(), table=tables(most_columns=3))
def test_frequencies_after_generalising(data, table):
    wild = [data.draw(st.booleans()) for _ in table.names]
    node = [data.draw(st.integers(0, d - 1)) for d in table.depths]
    classes, _ = count_rows(with_rules(table, wild))
    rolled = classes.roll_up(dict(zip(table.names, node, strict=True)))
    released = oracle.generalised(table.rows, table.paths, table.depths, node)
    expected = dict(zip(released, oracle.compatible_rows(released, wild), strict=True))
    labels = [
        [ladder.labels[level][c] for c in rolled.codes(name).tolist()]
        for name, ladder, level in zip(rolled.columns, rolled.ladders, rolled.levels, strict=True)
    ]
    found = compatible_records(
        rolled, wildcard_columns(with_rules(table, wild).schema, rolled.columns)
    )
    assert dict(zip(zip(*labels, strict=True), found.tolist(), strict=True)) == expected


@given(table=tables(most_columns=4, most_rows=20))
def test_wildcards_never_make_a_crowd_smaller(table):
    classes, _ = count_rows(table.dataset())
    assert (compatible_records(classes, table.names) >= classes.sizes).all()


@pytest.mark.parametrize(
    # A. Gerl's seven people, lecture on anonymisation, University of Passau, after the sdcMicro
    # practice guide
    ("hidden", "expected"),
    [
        ("none", [1, 3, 3, 3, 3, 3, 3]),
        ("education", [4, 3, 3, 3, 4, 4, 4]),
        ("gender", [4, 4, 4, 4, 3, 3, 3]),
    ],
)
def test_local_suppression_of_the_literature(hidden, expected):
    table = examples.regions(suppressed=hidden)
    rows = count_rows(table)[1]
    assert gather(table, [KAnonymity(3)]).frequencies[rows].tolist() == expected
    category = table.with_missing(**dict.fromkeys(table.schema.quasi, "category"))
    assert gather(category, [KAnonymity(3)]).frequencies[rows][0] == 1, (
        "as a category the first one stays unique"
    )


def test_wildcards_and_persons_cannot_be_counted_together():
    frame = pl.DataFrame({"a": ["x", None], "p": ["1", "2"]})
    schema = Schema(
        {"a": Attribute((Role.QUASI,), missing="wildcard"), "p": Attribute((Role.PERSON,))}
    )
    with pytest.raises(SchemaError, match=r"cannot be counted by person .'p'."):
        gather(Table(frame, schema), [KAnonymity(2)])


def test_more_patterns_than_bits_are_refused():
    frame = pl.DataFrame({f"c{i}": [None, "x"] for i in range(63)})
    schema = Schema({c: Attribute((Role.QUASI,), missing="wildcard") for c in frame.columns})
    with pytest.raises(SchemaError, match=r"63 columns .* at most 62"):
        gather(Table(frame, schema), [KAnonymity(2)])
    assert gather(Table(frame, schema).drop(["c0"]), [KAnonymity(2)]).frequencies.tolist() == [2, 2]
