"""k-anonymity: the verdict's numbers, its words, and what merging classes does to it."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.evidence import gather
from sfumato.core.model import ClassEvidence
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.models.k_anonymity import KAnonymity
from tests.oracles import definitions as oracle
from tests.random_tables import RandomTable, tables


def judged(dataset, k):
    return KAnonymity(k).judge(gather(dataset, [KAnonymity(k)]))


@given(table=tables(fewest_rows=0, most_rows=20), k=st.integers(1, 6))
def test_verdict_against_the_definition(table, k):
    sizes = oracle.class_sizes(table.rows)
    verdict = judged(table.dataset(), k)
    small = [n for n in sizes.values() if n < k]
    assert verdict.holds == bool(verdict) == (not small)
    assert verdict.attained == min(sizes.values(), default=None)
    assert verdict.required == k
    assert sorted(verdict.per_class.tolist()) == sorted(sizes.values())
    assert sorted(verdict.failing_sizes.tolist()) == sorted(small)
    assert verdict.records == sum(small)
    told = verdict.to_dict()
    assert (told["failing_classes"], told["failing_records"]) == (len(small), sum(small))
    assert told["missing_rule"] == "category"


@given(data=st.data(), table=tables(most_rows=20), k=st.integers(1, 5))
def test_coarser_tables_never_have_smaller_classes_nor_lose_more_records(data, table, k):
    model = KAnonymity(k)
    classes = gather(table.dataset(), [model]).classes
    node = {
        n: data.draw(st.integers(0, d - 1)) for n, d in zip(table.names, table.depths, strict=True)
    }
    fine, coarse = (
        model.judge(ClassEvidence(c, table.schema())) for c in (classes, classes.roll_up(node))
    )
    assert model.monotone
    assert model.shrinking
    assert coarse.attained >= fine.attained
    assert coarse.records <= fine.records
    assert coarse.holds >= fine.holds


@pytest.mark.parametrize(
    ("table", "attained"),
    # worked tables: Torra 2020 (2-anonymous), LeFevre et al. 2006 (original unique, both releases
    # 2-anonymous)
    [
        (examples.torra(), 2),
        (examples.torra(original=True), 1),
        (examples.patients(), 1),
        (examples.patients(release="single"), 2),
        (examples.patients(release="multi"), 2),
        (examples.faggioli(), 1),
    ],
    ids=["torra", "torra original", "patients", "single", "multi", "faggioli"],
)
def test_tables_of_the_literature(table, attained):
    assert judged(table, 2).attained == attained
    assert judged(table, 2).holds == (attained >= 2)


def test_sentences():
    pair = RandomTable([("a",), ("a",), ("b",)], [{v: (v,) for v in "ab"}])
    assert (
        repr(judged(pair.dataset(), 1))
        == "✓ 1-anonymity: everyone shares the quasi-identifiers with at least 0 other records"
    )
    verdict = judged(pair.dataset(), 2)
    assert (
        verdict.sentence
        == "1 of 3 records (33.3 %) belong to a class of fewer than 2 records; the smallest has 1"
    )
    assert repr(verdict).startswith("✗ 2-anonymity: ")
    assert (
        judged(pair.dataset([]), 5).sentence == "the table is empty, so there is nobody to protect"
    )
    assert judged(pair.dataset([]), 5).holds


def test_persons_not_rows():
    frame = pl.DataFrame({"zip": ["a", "a", "a"], "who": ["1", "1", "2"]})
    table = Table(
        frame, Schema({"zip": Attribute((Role.QUASI,)), "who": Attribute((Role.PERSON,))})
    )
    verdict = judged(table, 3)
    assert (verdict.attained, verdict.records, verdict.holds) == (2, 3, False)
    assert "fewer than 3 persons" in verdict.sentence
    household = table.with_schema(table.schema.replace("who", roles=("household",)))
    assert judged(household, 3).attained == 3


def test_weights_never_count():
    frame = pl.DataFrame({"zip": ["a"], "w": [1000.0]})
    table = Table(frame, Schema({"zip": Attribute((Role.QUASI,)), "w": Attribute((Role.WEIGHT,))}))
    assert judged(table, 2).attained == 1


def test_wildcards_are_named():
    frame = pl.DataFrame({"zip": ["a", None]})
    table = Table(frame, Schema({"zip": Attribute((Role.QUASI,), missing="wildcard")}))
    assert judged(table, 2).missing_rule == "wildcard"
    assert judged(table, 2).holds
    assert not judged(table.with_missing(zip="category"), 2).holds


@pytest.mark.parametrize("k", [0, -1, 1.5, "many", None, True])
def test_k_is_a_whole_number_from_one(k):
    with pytest.raises(ParameterError):
        KAnonymity(k)


def test_there_must_be_something_an_intruder_knows():
    with pytest.raises(SchemaError, match="role quasi"):
        judged(Table(pl.DataFrame({"a": [1]}), Schema({"a": Attribute((Role.KEEP,))})), 2)


def test_larger_k_implies_smaller_k():
    assert KAnonymity(5).implies(KAnonymity(3))
    assert KAnonymity(5).implies(KAnonymity(5))
    assert not KAnonymity(3).implies(KAnonymity(5))
