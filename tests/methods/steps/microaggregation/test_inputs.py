"""What the methods start from, and what they hand back."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.steps.microaggregation.inputs import error_of
from tests.methods.steps.microaggregation.test_methods import SIX


def test_total_is_error_plus_what_lies_between_the_groups():
    # SSA + SST: 112 + 1009.5 = 1121.5 (golden G45) after the four cheapest unions of Ward: (12,16),
    # (25,29), then 96
    groups = np.array([0, 1, 1, 1, 1, 2])
    x = np.array(SIX)[:, None]
    means = np.array([x[groups == g].mean() for g in groups])
    between = float(((means - x.mean()) ** 2).sum())
    assert error_of(x, np.array([0, 1, 1, 2, 2, 3])) == 16.0
    assert error_of(x, groups) + between == pytest.approx(1121.5)
