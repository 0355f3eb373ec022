"""Columns of numbers in an order that depends on what rows say alone, with the survey's design:
what random masking computes on."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.table import Table
from sfumato.methods.steps.masking.block import block_of
from sfumato.methods.steps.masking.normal_noise import BlockNoise
from sfumato.methods.steps.masking.weighted_moments import covariance_of
from tests.oracles import masking as oracle


@given(
    values=st.lists(st.floats(-1e4, 1e4), min_size=3, max_size=12).filter(
        lambda v: max(v) - min(v) > 1
    ),
    alpha=st.floats(0.01, 4),
)
def test_kim_is_the_formula(values, alpha):
    table = Table(pl.DataFrame({"x": values}))
    block = block_of(table, ["x"])
    normals = np.random.default_rng(1).standard_normal((len(values), 1))
    made = BlockNoise(block, normals, alpha, {0: covariance_of(block.values, block.weights)}).kim(
        np.arange(len(values))
    )[:, 0]
    noise = normals[:, 0] * np.sqrt(alpha * np.var(block.values, ddof=1))
    assert made == pytest.approx(
        oracle.kim(block.values[:, 0].tolist(), noise.tolist(), alpha), rel=1e-6, abs=1e-6
    )
    assert made.mean() == pytest.approx(np.mean(values), rel=1e-9, abs=1e-7)
