from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.evidence import gather
from sfumato.errors import ParameterError
from sfumato.methods.models.l_diversity import LDiversity
from tests.methods.models.counted_tables import counted_classes, verdict_of
from tests.oracles import definitions as oracle


def judged(dataset, model):
    return model.judge(gather(dataset, [model]))


@given(classes=counted_classes(), l=st.integers(1, 2))
def test_distinct_counts_values(classes, l):  # noqa: E741
    verdict = verdict_of(classes, LDiversity("secret", l=l))
    expected = [oracle.distinct_values(counts) for counts in classes]
    assert verdict.per_class.tolist() == expected
    assert verdict.holds == all(n >= l for n in expected)
    assert verdict.attained == min(expected)
    assert verdict.required == l


@given(classes=counted_classes(), l=st.sampled_from([1, 1.5, 2]))
def test_entropy_is_that_of_the_definition(classes, l):  # noqa: E741
    verdict = verdict_of(classes, LDiversity("secret", l=l, kind="entropy"))
    expected = [oracle.effective_values(counts) for counts in classes]
    assert verdict.per_class.tolist() == pytest.approx(expected)
    assert verdict.holds == all(value >= l - 1e-9 for value in expected)
    assert verdict.attained == pytest.approx(min(expected))


@given(classes=counted_classes(), l=st.integers(1, 2), c=st.sampled_from([0.3, 0.5, 1, 1.5, 2, 5]))
def test_recursive_is_that_of_the_definition(classes, l, c):  # noqa: E741
    verdict = verdict_of(classes, LDiversity("secret", l=l, kind="recursive", c=c))
    expected = [oracle.recursively_diverse(counts, c, l) for counts in classes]
    assert verdict.failing.tolist() == [i for i, holds in enumerate(expected) if not holds]
    ranks = [
        max(n for n in range(1, 7) if oracle.recursively_diverse(counts, c, n))
        for counts in classes
    ]
    assert verdict.attained == min(ranks)


@given(classes=counted_classes())
def test_the_largest_l_that_holds_holds_and_no_larger_one(classes):
    values = len(classes[0])
    for kind in ("distinct", "entropy", "recursive"):
        c = 1.5 if kind == "recursive" else None
        attained = verdict_of(classes, LDiversity("secret", l=1, kind=kind, c=c)).attained
        assert verdict_of(classes, LDiversity("secret", l=attained, kind=kind, c=c)).holds
        larger = attained + (1e-6 if kind == "entropy" else 1)
        if larger <= values:
            assert not verdict_of(classes, LDiversity("secret", l=larger, kind=kind, c=c)).holds


@given(classes=counted_classes(), l=st.integers(2, 3))
def test_any_c_above_the_one_told_would_hold_and_that_one_not(classes, l):  # noqa: E741
    sentence = verdict_of(classes, LDiversity("secret", l=l, kind="recursive", c=1e6)).sentence
    told = re.search(r"any c above (\S+) would hold", sentence)
    if told is None:
        return
    c = float(told[1])
    above = c * 1.000001 + 1e-9
    assert all(oracle.recursively_diverse(counts, above, l) for counts in classes)
    below = c * 0.998
    assert below == 0 or not all(oracle.recursively_diverse(counts, below, l) for counts in classes)


def test_a_bound_of_c_is_rounded_up():
    # 100003 against 100000: a c of 1.00001 is above 1 and below their ratio
    verdict = verdict_of([[100003, 100000]], LDiversity("secret", l=2, kind="recursive", c=2))
    assert verdict.sentence.endswith("any c above 1.001 would hold")


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        # Faggioli's q-blocks recomputed (the slides round on the way: 1.25, .66, 1.46, .88, 1.41
        # nats)
        ("distinct", [4, 5, 5, 3, 5]),
        ("entropy", [3.5045, 1.9014, 4.3498, 2.4295, 4.0974]),
        ("recursive", [0.5556, 5.5, 0.5556, 1.4, 0.6154]),
    ],
)
def test_faggiolis_blocks(kind, values):
    model = LDiversity("income", l=2, kind=kind, c=1 if kind == "recursive" else None)
    assert judged(examples.faggioli_blocks(), model).per_class.tolist() == pytest.approx(
        values, abs=5e-5
    )


def test_entropies_of_faggiolis_blocks_in_nats():
    values = judged(examples.faggioli_blocks(), LDiversity("income", l=1, kind="entropy")).per_class
    assert [math.log(v) for v in values] == pytest.approx(
        [1.2540, 0.6426, 1.4701, 0.8877, 1.4104], abs=5e-5
    )


def test_recursive_is_strict():
    # S2's second block (110, 5, 5, 5, 5): c = 5.5 is just too small for l = 2; l = 3 needs c above
    # 110/15 = 7.33
    blocks = examples.faggioli_blocks()
    for l, limit in ((2, 110 / 20), (3, 110 / 15)):  # noqa: E741
        assert not judged(blocks, LDiversity("income", l=l, kind="recursive", c=limit))
        assert judged(blocks, LDiversity("income", l=l, kind="recursive", c=limit + 1e-6))


def test_recursive_is_strict_where_floating_point_is_not():
    # 1.1 · 10 is 11.000000000000002 in floating point: a plain 11 < c·tail would hold
    assert not verdict_of([[11, 10]], LDiversity("secret", l=2, kind="recursive", c=1.1))


def test_as_many_of_two_values_need_c_above_one():
    assert not verdict_of([[4, 4]], LDiversity("secret", l=2, kind="recursive", c=1))
    assert verdict_of([[4, 4]], LDiversity("secret", l=2, kind="recursive", c=1.001))


def test_three_equally_frequent_values_are_entropy_3_diverse():
    # Faggioli's 3/3/3 salaries: the entropy is log 3 exactly, so ">" would be wrong and truncation
    # gives 2
    verdict = judged(examples.ancona(), LDiversity("salary", l=3, kind="entropy"))
    assert verdict.holds
    assert verdict.attained == pytest.approx(3, abs=1e-12)
    assert not judged(examples.ancona(), LDiversity("salary", l=3.001, kind="entropy"))


def test_entropy_and_recursive_are_incomparable():
    # (8, 1, 1): 8 < 5·2 but H = .639 < log 2; (4, 4, 1, 1): exp(H) = 3.30 but 4 < 2 is false
    data = examples.diversity_counterexamples()
    entropy = judged(data, LDiversity("illness", l=2, kind="entropy"))
    assert [math.log(v) for v in entropy.per_class] == pytest.approx(
        [0.6390, math.log(3.2988)], abs=5e-5
    )
    assert entropy.failing.tolist() == [0]
    assert judged(data, LDiversity("illness", l=2, kind="recursive", c=5)).failing.tolist() == []
    assert judged(data, LDiversity("illness", l=3, kind="entropy")).failing.tolist() == [0]
    assert 1 in judged(data, LDiversity("illness", l=3, kind="recursive", c=1)).failing.tolist()


def test_one_diversity_always_holds():
    for kind, c in (("distinct", None), ("entropy", None), ("recursive", 0.01)):
        assert verdict_of([[5, 0], [0, 1]], LDiversity("secret", l=1, kind=kind, c=c))


def test_sentences_count_records_and_name_no_value():
    verdict = verdict_of([[3, 0], [2, 2]], LDiversity("secret", l=2))
    assert (
        verdict.sentence
        == "3 of 7 records (42.9 %) belong to a class with fewer than 2 values of secret; the least"
        " diverse has 1; no recoding that keeps it can form more than 2 classes"
    )
    assert (
        "2 different values of secret" in verdict_of([[2, 2]], LDiversity("secret", l=2)).sentence
    )


@pytest.mark.parametrize("kind", ["distinct", "entropy", "recursive"])
def test_more_values_than_the_column_has_cannot_be_shown(kind):
    model = LDiversity("secret", l=3, kind=kind, c=2 if kind == "recursive" else None)
    found = verdict_of([[3, 1]], model)
    assert not found.holds
    assert found.sentence.endswith(
        "column 'secret' has only 2 different values, so no recoding can reach this"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"l": 0}, "greater than or equal to 1"),
        ({"l": 2.5}, "whole number"),
        ({"l": 2.5, "kind": "recursive", "c": 1}, "whole number"),
        ({"l": 2, "kind": "recursive"}, "c must be given"),
        ({"l": 2, "c": 2}, "only there"),
        ({"l": 2, "kind": "recursive", "c": 0}, "greater than 0"),
        ({"l": math.inf}, "finite"),
        ({"l": 2, "kind": "shannon"}, "'distinct', 'entropy' or 'recursive'"),
    ],
)
def test_parameters_out_of_range_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        LDiversity("secret", **given)


def test_only_distinct_diversity_shrinks():
    assert LDiversity("secret", l=2).shrinking
    assert not LDiversity("secret", l=2, kind="entropy").shrinking
    assert not LDiversity("secret", l=2, kind="recursive", c=2).shrinking
