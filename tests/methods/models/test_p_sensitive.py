from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.evidence import gather
from sfumato.errors import ParameterError
from sfumato.methods.formulas.class_bounds import most_classes
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.models.l_diversity import LDiversity, PSensitive
from tests.methods.models.counted_tables import counted_classes, evidence_of, verdict_of
from tests.oracles import definitions as oracle


@given(classes=counted_classes(), p=st.integers(1, 2), k=st.integers(1, 8))
def test_large_classes_with_enough_values(classes, p, k):
    verdict = verdict_of(classes, PSensitive("secret", p=p, k=k))
    failing = [
        i
        for i, counts in enumerate(classes)
        if sum(counts) < k or oracle.distinct_values(counts) < p
    ]
    assert verdict.failing.tolist() == failing
    assert verdict.attained == min(oracle.distinct_values(counts) for counts in classes)


@given(classes=counted_classes(), p=st.integers(1, 2), k=st.integers(1, 8))
def test_is_k_anonymity_with_distinct_diversity(classes, p, k):
    evidence = evidence_of(classes, PSensitive("secret", p=p, k=k))
    both = KAnonymity(k).failing(evidence) | LDiversity("secret", l=p).failing(evidence)
    assert PSensitive("secret", p=p, k=k).failing(evidence).tolist() == both.tolist()


@pytest.mark.parametrize(
    ("counts", "p", "groups"),
    [
        ([995, 5], 2, 5),  # Sandhu: 1000 people, 5 with AIDS
        ([9900, 100], 2, 100),  # Sandhu: 10,000 people, 1 % positive
        ([4, 3, 2, 1], 1, 10),
        ([4, 3, 2, 1], 3, 3),  # min(⌊(10 − 7)/1⌋, ⌊(10 − 4)/2⌋)
        ([4, 3], 3, 0),
    ],
)
def test_most_groups(counts, p, groups):
    assert most_classes(counts, p) == groups


def test_a_group_needs_k_records_too():
    assert most_classes([500, 500], values=2, size=3) == 333


@given(classes=counted_classes(most=3), p=st.integers(1, 3), k=st.integers(1, 4))
def test_no_grouping_has_more_groups(classes, p, k):
    if all(sum(counts) >= k and oracle.distinct_values(counts) >= p for counts in classes):
        assert len(classes) <= most_classes(
            [sum(column) for column in zip(*classes, strict=True)], p, k
        )


@given(size=st.integers(1, 6), other=st.integers(0, 6))
def test_two_values_reach_the_bound(size, other):
    # pairing each record of the rarer value with one of the other forms exactly min(n₁, n₂) groups
    assert most_classes([size, other], values=2) == min(size, other)


def test_heart_patients_share_a_secret():
    # Li et al. 2007, table 2: 3-anonymous, and everyone of the first class has a heart disease
    data = examples.heart(grouping="similar")
    models = [PSensitive("disease", p=1, k=3), PSensitive("disease", p=2, k=3)]
    evidence = gather(data, models)
    assert [model.judge(evidence).holds for model in models] == [True, False]
    assert models[1].judge(evidence).records == 3


def test_sentence_gives_the_planning_hint():
    verdict = verdict_of([[995, 0], [0, 5]], PSensitive("secret", p=2, k=2))
    assert verdict.sentence.endswith("no recoding that keeps it can form more than 5 classes")


def test_more_values_than_the_column_has_cannot_be_shown():
    found = verdict_of([[3, 1]], PSensitive("secret", p=3, k=2))
    assert not found.holds
    assert found.sentence.endswith(
        "column 'secret' has only 2 different values, so no recoding can reach this"
    )


@pytest.mark.parametrize("given", [{"p": 0, "k": 2}, {"p": 2, "k": 0}, {"p": 1.5, "k": 2}])
def test_parameters_out_of_range_are_refused(given):
    with pytest.raises(ParameterError):
        PSensitive("secret", **given)


def test_most_classes_refuses_nonsense():
    with pytest.raises(ParameterError):
        most_classes([1, 2], values=0)
