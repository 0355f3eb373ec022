from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core import consistency
from sfumato.core.evidence import gather
from sfumato.core.schema import Schema
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import suppress
from sfumato.methods.models import (
    KAnonymity,
    KConcealment,
    KKAnonymity,
    KOneAnonymity,
    OneKAnonymity,
)
from tests.oracles.definitions import match_counts, released_label, row_covers
from tests.random_tables import tables

NOTIONS = OneKAnonymity, KOneAnonymity, KKAnonymity, KConcealment


@st.composite
def locally_recoded(draw, most_rows=6):
    """A table and a release in which every cell has a level of its own."""
    table = draw(tables(most_rows=most_rows, most_leaves=4))
    released = [
        tuple(
            released_label(value, path, draw(st.integers(0, depth - 1)), depth)
            for value, path, depth in zip(row, table.paths, table.depths, strict=True)
        )
        for row in table.rows
    ]
    return table, released


def judged(model, table, released):
    return model.judge(gather(table.dataset(released), [model], original=table.dataset()))


@pytest.mark.slow
@given(locally_recoded(), st.integers(1, 3))
def test_counts_of_the_consistency_graph(drawn, k):
    table, released = drawn
    fits = [[row_covers(y, x, table.paths) for y in released] for x in table.rows]
    left = [sum(row) for row in fits]
    right = [sum(column) for column in zip(*fits, strict=True)]
    one, other, both = (judged(notion(k), table, released) for notion in NOTIONS[:3])
    assert one.attained == min(left)
    assert other.attained == min(right)
    assert both.attained == min(left + right)
    assert one.records == sum(n < k for n in left)
    assert other.records == sum(n < k for n in right)
    assert both.records == sum(a < k or b < k for a, b in zip(left, right, strict=True))
    assert [v.holds for v in (one, other, both)] == [
        min(left) >= k,
        min(right) >= k,
        min(left + right) >= k,
    ]


@given(locally_recoded(), st.integers(1, 3))
def test_matches_lie_in_perfect_matchings(drawn, k):
    table, released = drawn
    expected = match_counts(table.rows, released, table.paths)
    verdict = judged(KConcealment(k), table, released)
    assert verdict.attained == min(expected)
    assert verdict.records == sum(n < k for n in expected)
    assert verdict.holds == (min(expected) >= k)


@given(locally_recoded(most_rows=4), st.integers(2, 3), st.integers(1, 3))
def test_repeated_records_are_interchangeable(drawn, times, k):
    """Equal pairs of original and released record: classes must say what single records would."""
    table, released = drawn
    rows, cells = table.rows[:2] * times + table.rows[2:], released[:2] * times + released[2:]
    many = type(table)(rows, table.paths)
    assert judged(KConcealment(k), many, cells).attained == min(
        match_counts(rows, cells, table.paths)
    )


@given(locally_recoded())
def test_k_anonymity_implies_all_and_concealment_is_between(drawn):
    table, released = drawn
    models = [notion(1) for notion in NOTIONS]
    evidence = gather(table.dataset(released), models, original=table.dataset())
    k = KAnonymity(1).judge(evidence).attained
    one, other, both, concealed = (model.judge(evidence).attained for model in models)
    assert k <= concealed <= one
    assert k <= both == min(one, other)


def sets(*cells):
    return Table(pl.DataFrame({"place": list(cells)}, schema={"place": pl.String})).with_roles(
        quasi=["place"]
    )


def test_g16_ring_of_four():
    models = [KAnonymity(2), *(notion(2) for notion in NOTIONS)]
    evidence = gather(examples.ring(released=True), models, original=examples.ring())
    assert [model.judge(evidence).attained for model in models] == [1, 2, 2, 2, 2]


def test_g16_released_side_alone_is_weak():
    """Originals 1, 2, 3 released as {1,2,3}, {2,3}, {2,3}: (2,1) holds, but original 1 has one
    neighbour only.
    """
    models = [notion(2) for notion in NOTIONS]
    evidence = gather(sets("1,2,3", "2,3", "2,3"), models, original=sets("1", "2", "3"))
    one, other, both, concealed = (model.judge(evidence) for model in models)
    assert (one.holds, other.holds, both.holds, concealed.holds) == (False, True, False, False)
    assert (one.attained, other.attained, concealed.attained) == (1, 2, 1)
    assert concealed.records == 1


def test_neighbours_that_are_no_matches():
    """Released {1}, {1,2}: person 1 fits both, but then person 2 would have none."""
    models = OneKAnonymity(2), KConcealment(2)
    evidence = gather(sets("1", "1,2"), models, original=sets("1", "2"))
    # person 2 fits one record only; person 1 fits two and has one match
    pairs = evidence.pairs
    assert sorted(pairs.neighbours_of_originals().tolist()) == [1, 2]
    assert pairs.matches_of_originals().tolist() == [1, 1]


def test_suppressed_records_count_on_neither_side():
    original = sets("1", "1", "2", "3")
    released = sets("1,2", "1,2", "1,2", "3").take(np.array([2, 0, 1]))
    model = KConcealment(3)
    verdict = model.judge(gather(released, [model], original=original))
    assert (verdict.attained, verdict.holds) == (3, True)


def test_implications():
    assert KKAnonymity(3).implies(OneKAnonymity(2))
    assert KKAnonymity(3).implies(KOneAnonymity(3))
    assert KConcealment(3).implies(OneKAnonymity(3))
    assert not KConcealment(3).implies(KOneAnonymity(3))
    assert not OneKAnonymity(3).implies(KConcealment(2))
    for notion in NOTIONS:
        assert KAnonymity(3).implies(notion(3))
        assert notion(3).implies(notion(2))
        assert not notion(2).implies(notion(3))
        assert not notion(3).implies(KAnonymity(2))


@pytest.mark.parametrize("notion", NOTIONS)
def test_bad_input(notion):
    model = notion(2)
    with pytest.raises(ParameterError):
        notion(0)
    with pytest.raises(SchemaError, match="role quasi"):
        model.needs(Schema({}))
    with pytest.raises(SchemaError, match="original="):
        gather(sets("1"), [model])
    with pytest.raises(SchemaError, match="judged without the original"):
        model.judge(gather(sets("1"), []))
    with pytest.raises(SchemaError, match="cannot be aligned"):
        gather(sets("1"), [model], original=sets("1", "2"))
    with pytest.raises(ParameterError, match="cannot be reached"):
        model.failing(gather(sets("1"), [model], original=sets("1")))
    with pytest.raises(SchemaError, match="1 of 2 released records do not generalise") as raised:
        gather(sets("1,2", "zurich"), [model], original=sets("1", "2"))
    assert "zurich" not in str(raised.value)


def test_original_without_the_columns():
    other = Table(pl.DataFrame({"town": ["1"]}))
    with pytest.raises(SchemaError, match="no column 'place'"):
        gather(sets("1"), [KConcealment(1)], original=other)


def test_persons_with_several_rows_are_refused():
    frame = pl.DataFrame({"place": ["1", "1", "2"], "who": ["a", "a", "b"]})
    twice = Table(frame).with_roles(quasi=["place"], person="who")
    once = Table(frame.with_columns(who=pl.Series(["a", "b", "c"]))).with_roles(
        quasi=["place"], person="who"
    )
    with pytest.raises(SchemaError, match="1 of them repeat a person"):
        KConcealment(1).judge(gather(twice, [KConcealment(1)], original=twice))
    assert KConcealment(1).judge(gather(once, [KConcealment(1)], original=once))


def test_empty_table():
    for notion in NOTIONS:
        verdict = notion(2).judge(gather(sets(), [notion(2)], original=sets()))
        assert (verdict.holds, verdict.attained) == (True, None)


def test_missing_values():
    original, released = sets(None, "1"), sets(None, None)
    with pytest.raises(SchemaError, match="1 of 2"):  # a missing cell equals only a missing value
        gather(released, [KConcealment(2)], original=original)
    wild = released.with_missing(place="wildcard")
    verdict = KConcealment(2).judge(gather(wild, [KConcealment(2)], original=original))
    assert (verdict.attained, verdict.missing_rule) == (2, "wildcard")


def test_too_many_pairs_are_refused(monkeypatch):
    monkeypatch.setattr(consistency, "MOST_EDGES", 5)
    table = sets("1", "2", "3").with_hierarchies(place=suppress())
    mixed = sets("*", "*", "3").with_hierarchies(place=suppress())
    assert KConcealment(1).judge(gather(mixed, [KConcealment(1)], original=table))
    monkeypatch.setattr(consistency, "MOST_EDGES", 2)
    with pytest.raises(SchemaError, match="pairs of classes"):
        gather(mixed, [KConcealment(1)], original=table)
