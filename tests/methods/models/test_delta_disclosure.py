from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.evidence import gather
from sfumato.core.schema import Schema
from sfumato.errors import ParameterError
from sfumato.methods.models.beta_likeness import DeltaDisclosure
from tests.methods.models.counted_tables import counted_classes, evidence_of, table_of, verdict_of
from tests.oracles import definitions as oracle


@given(classes=counted_classes(), delta=st.sampled_from([0.1, 0.5, 1, 2]), skip=st.booleans())
def test_changes_are_those_of_the_definition(classes, delta, skip):
    verdict = verdict_of(
        classes, DeltaDisclosure("secret", delta=delta, absent="skip" if skip else "fail")
    )
    expected = [
        oracle.disclosure(counts, table_of(classes), skip_absent=skip) for counts in classes
    ]
    assert verdict.per_class.tolist() == pytest.approx(expected, abs=1e-12)
    assert verdict.failing.tolist() == [
        i for i, change in enumerate(expected) if change >= delta - 1e-9
    ]
    assert verdict.attained == pytest.approx(max(expected), abs=1e-12)


def test_is_strict():
    # q = 2/3 and 1/3 where p = 1/2: the larger change is |ln(2/3)| = ln 1.5
    classes = [[2, 1], [1, 2]]
    assert not verdict_of(classes, DeltaDisclosure("secret", delta=math.log(1.5)))
    assert verdict_of(classes, DeltaDisclosure("secret", delta=math.log(1.5) + 1e-6))


def test_a_value_a_class_lacks_fails_it():
    verdict = verdict_of([[2, 2, 0], [2, 2, 4]], DeltaDisclosure("secret", delta=9))
    assert verdict.failing.tolist() == [0]
    assert verdict.attained == math.inf
    assert "lack a value" in verdict.sentence


def test_merging_breaks_the_variant_that_skips():
    # (2, 8), (0, 30), (28, 82) of p = (.2, .8): 0, .223, .241; the first two together (2, 38):
    # 1.386
    data, model = (
        examples.disclosure_counterexample(),
        DeltaDisclosure("test", delta=0.25, absent="skip"),
    )
    verdict = model.judge(gather(data, [model]))
    assert sorted(verdict.per_class.tolist()) == pytest.approx([0, 0.2231, 0.2412], abs=5e-5)
    assert verdict.holds
    coarse = evidence_of([[2, 38], [28, 82]], DeltaDisclosure("secret", delta=0.25, absent="skip"))
    merged = DeltaDisclosure("secret", delta=0.25, absent="skip").judge(coarse)
    assert merged.attained == pytest.approx(1.3863, abs=5e-5)
    assert not merged.holds


def test_only_the_strict_form_may_prune():
    assert DeltaDisclosure("secret", delta=1).monotone
    assert not DeltaDisclosure("secret", delta=1, absent="skip").monotone
    skipping = DeltaDisclosure("secret", delta=0.25, absent="skip")
    assert skipping.forced(evidence_of([[2, 38], [28, 82]], skipping)).tolist() == [0, 0]


def test_base_two_is_another_delta():
    # ARX takes logarithms to base 2: its d is δ/ln 2 with absent values skipped
    classes = [[3, 1], [1, 3], [4, 4]]
    attained = verdict_of(classes, DeltaDisclosure("secret", delta=1, absent="skip")).attained
    assert attained / math.log(2) == pytest.approx(
        max(abs(math.log2(0.25 / 0.5)), abs(math.log2(0.75 / 0.5)))
    )


@pytest.mark.parametrize("delta", [0, -1, math.inf, math.nan])
def test_parameters_out_of_range_are_refused(delta):
    with pytest.raises(ParameterError, match="delta"):
        DeltaDisclosure("secret", delta=delta)


def test_needs_the_original_distribution():
    schema = Schema.from_roles({"quasi": "block", "sensitive": "secret"})
    assert DeltaDisclosure("secret", delta=1).needs(schema).reference
