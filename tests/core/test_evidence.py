"""What models are shown: counts and the reference distribution, under the same labels."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.evidence import gather, judge_all, needed
from sfumato.core.model import Facts, Model, Needs
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import SchemaError
from sfumato.methods.models.k_anonymity import KAnonymity


@dataclasses.dataclass(frozen=True)
class Counting(Model):
    """A promise that needs a column counted, or refuses the schema."""

    columns: tuple
    name = "counting"
    facts = Facts(against="attribute")
    monotone = True
    shrinking = True
    scope = "class"
    promise = "counting"

    def needs(self, schema):
        problems = [
            f"no column {c!r}"
            for c in self.columns
            if isinstance(c, str) and c not in schema.attributes
        ]
        if problems:
            raise SchemaError(problems)
        return Needs(counts=self.columns, reference=True)


def illness(rows):
    frame = pl.DataFrame(
        {c: pl.Series([r[i] for r in rows], dtype=pl.String) for i, c in enumerate(("zip", "ill"))}
    )
    return Table(
        frame, Schema({"zip": Attribute((Role.QUASI,)), "ill": Attribute((Role.SENSITIVE,))})
    )


ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.one_of(st.none(), st.sampled_from("xyz"))), max_size=12
)


@given(original=ROWS, keep=st.lists(st.booleans(), min_size=12, max_size=12))
def test_the_reference_is_the_original_even_where_the_release_lost_or_gained_values(original, keep):
    released = [row for row, kept in zip(original, keep, strict=False) if kept] + [("a", "new")]
    evidence = gather(illness(released), [Counting(("ill",))], original=illness(original))
    counts, reference = evidence.classes.counts["ill"], evidence.reference["ill"]
    assert len(reference) == len(counts.labels)
    assert dict(Counter(v for _, v in original)) == {
        label: n for label, n in zip(counts.labels, reference.tolist(), strict=True) if n
    }
    assert dict(Counter(v for _, v in released)) == {
        label: n for label, n in zip(counts.labels, counts.total().tolist(), strict=True) if n
    }


@given(rows=ROWS)
def test_without_an_original_the_table_is_its_own_reference(rows):
    evidence = gather(illness(rows), [Counting(("ill", ("zip", "ill")))])
    for column in ("ill", ("zip", "ill")):
        assert np.array_equal(evidence.reference[column], evidence.classes.counts[column].total())


def test_columns_are_counted_once_and_problems_told_at_once():
    schema = illness([]).schema
    assert needed(
        [Counting(("ill",)), KAnonymity(2), Counting(("ill", ("zip", "ill")))], schema
    ).counts == (
        "ill",
        ("zip", "ill"),
    )
    with pytest.raises(SchemaError) as refused:
        needed([Counting(("one",)), Counting(("two", "three")), KAnonymity(2)], Schema({}))
    assert len(refused.value.problems) == 4  # and k-anonymity misses its quasi-identifiers


def test_several_models_judge_the_same_evidence():
    table = illness([("a", "x"), ("a", "y"), ("b", "x")])
    models = [KAnonymity(1), KAnonymity(2)]
    verdicts = judge_all(gather(table, models), models)
    assert [v.holds for v in verdicts] == [True, False]
    assert [v.attained for v in verdicts] == [1, 1]


def test_persons_are_the_size_of_a_class():
    frame = pl.DataFrame({"zip": ["a", "a", "a", "b"], "who": ["1", "1", "2", "3"]})
    table = Table(
        frame, Schema({"zip": Attribute((Role.QUASI,)), "who": Attribute((Role.PERSON,))})
    )
    assert gather(table, [KAnonymity(2)]).frequencies.tolist() == [2, 1]
