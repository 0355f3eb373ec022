from __future__ import annotations

from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.classes import count_rows, projected
from sfumato.core.evidence import gather
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.models import KAnonymity, KOnCombinations, KOnSubsets
from tests.oracles.definitions import class_persons, compatible_rows, smallest_group
from tests.random_tables import tables


@given(tables(), st.integers(1, 3), st.data())
def test_subsets_are_their_definition(table, k, data):
    size = data.draw(st.integers(1, len(table.paths)))
    expected = smallest_group(table.rows, combinations(range(len(table.paths)), size))
    model = KOnSubsets(k, size=size)
    verdict = model.judge(gather(table.dataset(), [model]))
    _, rows = count_rows(table.dataset())
    assert verdict.per_class[rows].tolist() == expected
    assert (verdict.attained, verdict.holds) == (min(expected), min(expected) >= k)
    assert verdict.records == sum(size < k for size in expected)


@given(tables(), st.data())
def test_named_combinations(table, data):
    known = st.lists(st.integers(0, len(table.paths) - 1), min_size=1, max_size=3)
    chosen = data.draw(st.lists(known, min_size=1, max_size=3))
    model = KOnCombinations(
        2, combinations=[[table.names[c] for c in columns] for columns in chosen]
    )
    verdict = model.judge(gather(table.dataset(), [model]))
    _, rows = count_rows(table.dataset())
    assert verdict.per_class[rows].tolist() == smallest_group(table.rows, chosen)


@given(tables())
def test_all_columns_are_k_anonymity(table):
    evidence = gather(table.dataset(), [])
    assert (
        KOnSubsets(2, size=len(table.paths)).judge(evidence).attained
        == KAnonymity(2).judge(evidence).attained
    )


@given(tables(), st.data())
def test_wildcards_count_compatible_records(table, data):
    size = data.draw(st.integers(1, len(table.paths)))
    dataset = Table(table.frame(), table.schema(missing="wildcard"))
    expected = [len(table.rows)] * len(table.rows)
    for columns in combinations(range(len(table.paths)), size):
        part = [tuple(row[c] for c in columns) for row in table.rows]
        expected = [
            min(pair) for pair in zip(expected, compatible_rows(part, [True] * size), strict=True)
        ]
    model = KOnSubsets(1, size=size)
    verdict = model.judge(gather(dataset, [model]))
    _, rows = count_rows(dataset)
    assert verdict.per_class[rows].tolist() == expected
    assert verdict.missing_rule == "wildcard"


@given(tables(), st.data())
def test_persons_are_counted_once(table, data):
    persons = data.draw(
        st.lists(st.sampled_from("abcd"), min_size=len(table.rows), max_size=len(table.rows))
    )
    frame = table.frame().with_columns(pl.Series("who", persons))
    dataset = Table(frame, table.dataset().schema).with_roles(person="who")
    size = data.draw(st.integers(1, len(table.paths)))
    least = len(persons)
    for columns in combinations(range(len(table.paths)), size):
        least = min(
            least,
            *class_persons(
                [tuple(row[c] for c in columns) for row in table.rows], persons
            ).values(),
        )
    assert (
        KOnSubsets(2, size=size).judge(gather(dataset, [KOnSubsets(2, size=size)])).attained
        == least
    )


def test_special_uniques():
    """G31: records 5 and 8 are unique by one column, record 9 by three; every record but two is
    unique by four or three.
    """
    evidence = gather(examples.special_uniques(), [])
    one = KOnSubsets(2, size=1).judge(evidence)
    assert (one.attained, one.records) == (1, 2)
    assert KOnSubsets(2, size=2).judge(evidence).records == 2
    assert KOnSubsets(2, size=3).judge(evidence).records == 3
    pair = KOnCombinations(2, combinations=[["age", "income"], ["education"]]).judge(evidence)
    assert pair.records == 1  # the one person of sixty


@given(tables(), st.data())
def test_projection_keeps_everything(table, data):
    names = data.draw(st.lists(st.sampled_from(table.names), min_size=1, unique=True))
    classes, rows = count_rows(table.dataset())
    part, ids = projected(classes, names)
    direct, direct_rows = count_rows(table.dataset(), names)
    assert part.columns == tuple(names)
    assert part.records[ids[rows]].tolist() == direct.records[direct_rows].tolist()
    for name in names:
        a, b = part.columns.index(name), direct.columns.index(name)
        labels = [part.ladders[a].labels[0][c] for c in part.codes(name)[ids[rows]]]
        assert labels == [direct.ladders[b].labels[0][c] for c in direct.codes(name)[direct_rows]]


def test_implications():
    assert KAnonymity(3).implies(KOnSubsets(3, size=2))
    assert KAnonymity(3).implies(KOnCombinations(2, combinations=[["age"]]))
    assert not KAnonymity(2).implies(KOnSubsets(3, size=2))
    assert KOnSubsets(3, size=3).implies(KOnSubsets(2, size=2))
    assert not KOnSubsets(3, size=2).implies(KOnSubsets(2, size=3))
    assert KOnSubsets(3, size=2).implies(KOnCombinations(3, combinations=[["a", "b"], ["c"]]))
    assert not KOnSubsets(3, size=2).implies(KOnCombinations(3, combinations=[["a", "b", "c"]]))
    assert KOnCombinations(3, combinations=[["a", "b", "c"]]).implies(
        KOnCombinations(2, combinations=[["b"], ["a", "c"]])
    )
    assert not KOnCombinations(3, combinations=[["a"], ["b"]]).implies(
        KOnCombinations(3, combinations=[["a", "b"]])
    )
    assert not KOnSubsets(3, size=2).implies(KAnonymity(2))


def test_bad_input():
    for wrong in (
        lambda: KOnSubsets(0, size=1),
        lambda: KOnSubsets(2, size=0),
        lambda: KOnCombinations(2, combinations=[]),
    ):
        with pytest.raises(ParameterError):
            wrong()
    with pytest.raises(ParameterError):
        KOnCombinations(2, combinations=[[]])
    schema = examples.special_uniques().schema
    with pytest.raises(SchemaError, match="needs 5 columns with role quasi; there are 4"):
        KOnSubsets(2, size=5).needs(schema)
    with pytest.raises(SchemaError, match="Did you mean 'gender'"):
        KOnCombinations(2, combinations=[["age", "genders"]]).needs(schema)


def test_empty_table():
    table = Table(pl.DataFrame({"zip": []}, schema={"zip": pl.Int64})).with_roles(quasi=["zip"])
    for model in (KOnSubsets(3, size=1), KOnCombinations(3, combinations=[["zip"]])):
        verdict = model.judge(gather(table, [model]))
        assert (verdict.holds, verdict.attained) == (True, None)
