from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.models.l_diversity import AlphaKAnonymity
from tests.methods.models.counted_tables import VALUES, counted_classes, verdict_of
from tests.oracles import definitions as oracle


@given(
    classes=counted_classes(),
    alpha=st.sampled_from([0.25, 0.4, 0.5, 2 / 3, 1]),
    k=st.integers(1, 6),
    protected=st.sampled_from([None, ("1",), ("1", "2")]),
)
def test_shares_of_protected_values(classes, alpha, k, protected):
    flags = [protected is None or value in protected for value in VALUES[: len(classes[0])]]
    verdict = verdict_of(classes, AlphaKAnonymity("secret", alpha=alpha, k=k, values=protected))
    expected = [oracle.largest_share(counts, flags) for counts in classes]
    assert verdict.per_class.tolist() == pytest.approx(expected)
    failing = [i for i, share in enumerate(expected) if share > alpha + 1e-9 or sum(classes[i]) < k]
    assert verdict.failing.tolist() == failing
    assert verdict.attained == pytest.approx(max(expected))


def test_equality_holds():
    # 1/3 and 3 · (1/3) in floating point
    assert verdict_of([[1, 1, 1]], AlphaKAnonymity("secret", alpha=1 / 3, k=3))
    assert verdict_of([[3, 7]], AlphaKAnonymity("secret", alpha=0.3, k=3, values=("1",)))


def test_only_protected_values_count():
    # Wong et al. 2006 protect HIV alone: flu may be as common as it likes
    classes, values = [[1, 9], [2, 2]], ("HIV", "flu")
    described = {"kind": "nominal", "hierarchy": None}
    assert verdict_of(
        classes, AlphaKAnonymity("secret", alpha=0.5, k=4, values=("HIV",)), values, **described
    )
    assert not verdict_of(classes, AlphaKAnonymity("secret", alpha=0.5, k=4), values, **described)


def test_a_protected_value_that_does_not_occur_is_refused_not_ignored():
    with pytest.raises(SchemaError, match="1 of 2 protected values do not occur") as raised:
        verdict_of([[1, 1]], AlphaKAnonymity("secret", alpha=0.5, k=1, values=("1", "one")))
    assert "one'" not in str(raised.value)


@pytest.mark.parametrize(
    "given",
    [
        {"alpha": 0, "k": 2},
        {"alpha": 1.1, "k": 2},
        {"alpha": 0.5, "k": 0},
        {"alpha": 0.5, "k": 2, "values": ()},
    ],
)
def test_parameters_out_of_range_are_refused(given):
    with pytest.raises(ParameterError):
        AlphaKAnonymity("secret", **given)


def test_sentence_names_both_reasons():
    verdict = verdict_of([[3, 1], [1, 1]], AlphaKAnonymity("secret", alpha=0.6, k=3))
    assert verdict.records == 6
    assert "the smallest class has 2, the largest share is 75 %" in verdict.sentence
