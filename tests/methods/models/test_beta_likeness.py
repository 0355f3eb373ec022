from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.evidence import gather
from sfumato.errors import ParameterError
from sfumato.methods.models.beta_likeness import BetaLikeness
from tests.methods.models.counted_tables import counted_classes, table_of, verdict_of
from tests.oracles import definitions as oracle

KINDS = st.sampled_from(["basic", "enhanced"])


@given(classes=counted_classes(), beta=st.sampled_from([0.1, 0.5, 1, 3, 10]), kind=KINDS)
def test_gains_are_those_of_the_definition(classes, beta, kind):
    verdict = verdict_of(classes, BetaLikeness("secret", beta=beta, kind=kind))
    enhanced = kind == "enhanced"
    expected = [
        oracle.like(counts, table_of(classes), beta, enhanced=enhanced) for counts in classes
    ]
    assert verdict.failing.tolist() == [i for i, holds in enumerate(expected) if not holds]


@given(classes=counted_classes(), kind=KINDS)
def test_the_smallest_beta_that_holds_holds_and_no_smaller_one(classes, kind):
    attained = verdict_of(classes, BetaLikeness("secret", beta=1, kind=kind)).attained
    if 1e-3 < attained < math.inf:
        assert verdict_of(classes, BetaLikeness("secret", beta=attained, kind=kind)).holds
        assert not verdict_of(
            classes, BetaLikeness("secret", beta=attained - 1e-6, kind=kind)
        ).holds
    if attained == math.inf:
        assert not verdict_of(classes, BetaLikeness("secret", beta=1e6, kind=kind)).holds


def test_faggiolis_blocks():
    # the largest ratio q/p is that of the multiplicative distance where it is a gain: 50/140 over
    # 65/740 = 4.0659
    model = BetaLikeness("income", beta=1)
    assert model.judge(gather(examples.faggioli_blocks(), [model])).per_class[2] == pytest.approx(
        3.0659, abs=5e-5
    )


def test_both_limits_of_the_enhanced_kind_hold():
    # p = (.5, .5), q = (.875, .125): a gain of .75 is below β = 1 but above −ln .5 = .693
    classes = [[7, 1], [1, 7]]
    assert verdict_of(classes, BetaLikeness("secret", beta=1))
    assert not verdict_of(classes, BetaLikeness("secret", beta=1, kind="enhanced"))
    assert verdict_of(classes, BetaLikeness("secret", beta=0.75)).attained == pytest.approx(0.75)


def test_losses_do_not_count():
    # the first class lacks the second value altogether; its gain of the first is 10/16 → 1: 60 %
    assert verdict_of([[5, 0], [5, 6]], BetaLikeness("secret", beta=0.61))


@pytest.mark.parametrize("given", [{"beta": 0}, {"beta": math.inf}, {"beta": 1, "kind": "strong"}])
def test_parameters_out_of_range_are_refused(given):
    with pytest.raises(ParameterError):
        BetaLikeness("secret", **given)
