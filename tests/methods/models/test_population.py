from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.classes import count_rows
from sfumato.core.evidence import gather
from sfumato.core.schema import Schema
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import intervals
from sfumato.methods.models import DeltaPresence, KMap
from tests.oracles.definitions import class_sizes, generalised, population_matches, row_covers
from tests.random_tables import tables


@st.composite
def samples_of_a_population(draw):
    """A table, the population it is part of, and a node."""
    table = draw(tables())
    cell = [st.sampled_from([*paths, None]) for paths in table.paths]
    others = draw(st.lists(st.tuples(*cell), max_size=15))
    node = tuple(draw(st.integers(0, depth - 1)) for depth in table.depths)
    return table, table.rows + others, node


@given(samples_of_a_population(), st.sampled_from([0, 0.2, 0.5]), st.sampled_from([0.5, 0.7, 1]))
def test_chances_of_presence(drawn, low, high):
    table, people, node = drawn
    released = generalised(table.rows, table.paths, table.depths, node)
    sizes = class_sizes(released)
    matches = population_matches(released, people, table.paths)
    expected = [sizes[row] / n for row, n in zip(released, matches, strict=True)]
    absent = sum(not any(row_covers(row, one, table.paths) for row in released) for one in people)
    model = DeltaPresence(low, high)
    evidence = gather(table.dataset(released), [model], population=Table(table.frame(people)))
    verdict = model.judge(evidence)
    _, rows = count_rows(table.dataset(released))
    assert verdict.per_class[rows].tolist() == pytest.approx(expected)
    assert evidence.absent == absent
    assert verdict.attained == pytest.approx(max(expected))
    holds = (
        max(expected) <= high + 1e-9 and min([*expected, 0] if absent else expected) >= low - 1e-9
    )
    assert verdict.holds == holds
    if low == 0:  # without a least chance a class fails by itself
        assert verdict.records == sum(chance > high + 1e-9 for chance in expected)


def ages(*values, hierarchy=True):
    table = Table(pl.DataFrame({"age": list(values)}, schema={"age": pl.String})).with_roles(
        quasi=["age"]
    )
    return table.with_hierarchies(age=intervals(10)) if hierarchy else table


def test_worked_numbers():
    """Three of four people in their twenties and one of two in their thirties: between 1/2 and
    3/4.
    """
    release = ages("20-29", "20-29", "20-29", "30-39")
    register = ages("20", "21", "25", "29", "30", "31")
    evidence = gather(release, [DeltaPresence(0, 1)], population=register)
    assert DeltaPresence(0.5, 0.75).judge(evidence)
    assert DeltaPresence(0, 0.7).judge(evidence).failing_sizes.tolist() == [3]
    # somebody of forty is known to be absent: with a least chance nothing helps
    wider = gather(
        release, [DeltaPresence(0, 1)], population=ages("20", "21", "25", "29", "30", "31", "40")
    )
    assert DeltaPresence(0, 0.75).judge(wider)
    verdict = DeltaPresence(0.5, 0.75).judge(wider)
    assert (verdict.holds, verdict.records) == (False, 4)
    assert "1 people of the population match no released class" in verdict.sentence


def test_population_that_lacks_the_table():
    release = ages("20-29", "20-29", "30-39")
    evidence = gather(release, [DeltaPresence(0, 1)], population=ages("20", "30", "31"))
    verdict = DeltaPresence(0, 1).judge(evidence)
    assert verdict.failing_sizes.tolist() == [2]
    assert "that contains the whole table" in verdict.sentence


def test_persons_are_counted_once():
    table = Table(pl.DataFrame({"zip": [1, 1, 1, 2], "id": ["a", "a", "a", "b"]})).with_roles(
        quasi=["zip"], person="id"
    )
    register = Table(pl.DataFrame({"zip": [1, 1, 2, 2], "id": ["a", "c", "b", "d"]}))
    verdict = DeltaPresence(0, 0.5).judge(
        gather(table, [DeltaPresence(0, 0.5)], population=register)
    )
    assert verdict.per_class.tolist() == [0.5, 0.5]
    assert verdict.holds


def test_implications():
    assert DeltaPresence(0.1, 0.5).implies(DeltaPresence(0, 0.6))
    assert not DeltaPresence(0, 0.5).implies(DeltaPresence(0.1, 0.6))
    assert DeltaPresence(0, 0.2).implies(KMap(5))
    assert not DeltaPresence(0, 0.21).implies(KMap(6))
    assert not DeltaPresence(0, 0.2).implies(KMap(5, weights=True))
    assert not DeltaPresence(0, 0.2, population="a.csv").implies(KMap(5, population="b.csv"))


@given(samples_of_a_population(), st.sampled_from([0.2, 0.34, 0.5]))
def test_implies_k_map_in_fact(drawn, high):
    table, people, node = drawn
    released = table.dataset(generalised(table.rows, table.paths, table.depths, node))
    models = DeltaPresence(0, high), KMap({0.2: 5, 0.34: 3, 0.5: 2}[high])
    evidence = gather(released, models, population=Table(table.frame(people)))
    assert models[0].implies(models[1])
    if models[0].judge(evidence):
        assert models[1].judge(evidence)


@pytest.mark.parametrize("bounds", [(-0.1, 1), (0, 0), (0, 1.1), (0.6, 0.5)])
def test_bounds_out_of_range(bounds):
    with pytest.raises(ParameterError):
        DeltaPresence(*bounds)


def test_bad_tables():
    with pytest.raises(SchemaError, match="population="):
        gather(ages("20"), [DeltaPresence(0, 1)])
    with pytest.raises(SchemaError, match="role quasi"):
        DeltaPresence(0, 1).needs(Schema({}))
    with pytest.raises(SchemaError, match="judged without"):
        DeltaPresence(0, 1).judge(gather(ages("20"), []))


def test_empty_table():
    verdict = DeltaPresence(0.5, 1).judge(
        gather(ages(), [DeltaPresence(0.5, 1)], population=ages("20"))
    )
    assert verdict.holds
    assert verdict.attained is None
