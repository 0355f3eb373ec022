"""Logistic regression across parties: the figures of an answer belong to the same coefficients."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.parties.regression import LogisticRegression


@pytest.mark.parametrize("rounds", [3, 4])
def test_a_last_step_that_overshoots_does_not_mix_two_rounds(rounds, monkeypatch):
    """The last round answers with a lower likelihood: the answer is the round before."""
    monkeypatch.setattr(LogisticRegression, "rounds", rounds)
    stream = np.random.default_rng(5)
    x = stream.uniform(0, 100, 300)
    is_ill = stream.uniform(size=300) < 1 / (1 + np.exp(-(x - 70) / 8))
    table = sf.read(pl.DataFrame({"x": x, "d": np.where(is_ill, "1", "0")}))
    question = LogisticRegression("d", ("0", "1"), {"x": ("0", "100")})

    conversation = question.ask(table)
    sums = next(conversation)
    for _ in range(rounds - 1):
        before = sums
        sums = conversation.send(sums)
    overshoot = [*sums[:-1], sums[-1] - (100 << question.scale)]
    with pytest.raises(StopIteration) as end:
        conversation.send(overshoot)
    answer = end.value.value

    _, _, hessian, likelihood = question._read(before)
    errors = np.sqrt(np.diag(np.linalg.inv(hessian)))
    assert answer["log_likelihood"] == pytest.approx(likelihood, abs=1e-9)
    assert answer["standard_errors"]["x"] * 50 == pytest.approx(errors[1], rel=1e-9)
    intercept, slope = answer["coefficients"].values()
    beta = np.array([intercept + 50 * slope, 50 * slope])
    rows, outcomes = question._rows(table)
    again = question._at(rows, outcomes, beta)
    assert question._read(again)[3] == pytest.approx(likelihood, abs=1e-4)
