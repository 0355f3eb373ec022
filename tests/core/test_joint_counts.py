"""Combinations of columns counted as one."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.classes import count_classes
from sfumato.core.encoding import SEPARATOR, encode_column, joint_label, value_counts
from sfumato.core.schema import Schema
from sfumato.core.table import Table
from sfumato.errors import SchemaError

CELL = st.sampled_from([None, "", "a", "b", "-", "=", f"a{SEPARATOR}=b", SEPARATOR])
ROWS = st.lists(st.tuples(st.sampled_from("xy"), CELL, CELL, CELL), min_size=1, max_size=12)


def dataset(rows):
    columns = {
        name: pl.Series([row[a] for row in rows], dtype=pl.String) for a, name in enumerate("qabc")
    }
    return Table(
        pl.DataFrame(columns), Schema.from_roles({"quasi": "q", "sensitive": ["a", "b", "c"]})
    )


@given(rows=ROWS)
def test_rows_have_the_same_code_when_all_parts_are_the_same(rows):
    encoded = encode_column(dataset(rows), ("a", "b", "c"))
    for one, left in zip(rows, encoded.codes, strict=True):
        for other, right in zip(rows, encoded.codes, strict=True):
            assert (left == right) == (one[1:] == other[1:])
    assert len(set(encoded.labels)) == len(encoded.labels) == len({row[1:] for row in rows})
    assert encoded.counts.sum() == len(rows)


@given(rows=ROWS)
def test_combinations_are_counted_per_class(rows):
    counts = count_classes(dataset(rows), counted=[("a", "b")]).counts["a", "b"]
    expected = Counter((row[0], joint_label(row[1:3])) for row in rows)
    found = Counter()
    for i, block in enumerate(sorted({row[0] for row in rows})):
        for j in range(counts.starts[i], counts.starts[i + 1]):
            found[block, counts.labels[counts.codes[j]]] += int(counts.counts[j])
    assert found == expected


def test_only_a_combination_of_missing_parts_is_missing():
    rows = [("x", None, None, None), ("x", None, "a", None)]
    assert value_counts(dataset(rows), ("a", "b"))[None] == 1
    assert sum(value_counts(dataset(rows), ("a", "b")).values()) == 2


def test_an_unknown_part_is_named():
    with pytest.raises(SchemaError, match="no column 'd'"):
        count_classes(dataset([("x", "a", "a", "a")]), counted=[("a", "d")])
