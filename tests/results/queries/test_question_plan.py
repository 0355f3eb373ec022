"""Audits: ε estimated from below on neighbouring tables never exceeds what is claimed.

A set of answers is chosen on half of the runs; on the other half its probabilities on the two
tables are bounded by Clopper and Pearson. If the claim is true, an audit here exceeds it with a
probability of at most 2e-7. That an audit can fail is shown on mechanisms that claim a third of
what they lose.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.declared import DeclaredTable, Relation, declared
from sfumato.results.queries import PrivacyLoss
from sfumato.results.queries.question import GroupAxis, Question
from sfumato.results.queries.question_plan import plan_question, scan
from tests.oracles.private_queries import clopper_pearson

RUNS = 3000
ERROR = 1e-7

FEW = {"who": ["a", "b"], "sex": ["f", "m"], "age": [0.0, 50.0]}
MORE = {
    "who": ["a", "b", "c", "c", "c"],
    "sex": ["f", "m", "f", "f", "f"],
    "age": [0.0, 50.0, 100.0, 100.0, 100.0],
}
ONE_MORE = {"who": ["a", "b", "c"], "sex": ["f", "m", "f"], "age": [0.0, 50.0, 100.0]}
CHANGED = {"who": ["a", "b", "c"], "sex": ["f", "m", "m"], "age": [0.0, 50.0, 0.0]}


def answers(question, rows, relation, loss):
    """Many answers to one question on one table: all values of every answer.

    The table is copied once a run, each copy with persons and groups of its own, so that one scan
    answers all runs; the noise is that of the plan for a single table.
    """
    copies = pl.DataFrame(rows | {"copy": [0] * len(rows["who"])})
    copies = pl.concat([copies.with_columns(copy=pl.lit(run)) for run in range(RUNS)])
    dataset = sf.read(copies.with_columns(who=pl.col("who") + pl.col("copy").cast(pl.String)))
    known = declared(dataset.schema, bounds={"age": (0, 100)}, domains={"sex": ["f", "m"]})
    plan = plan_question(question, known, relation, loss)
    cells = len(plan.groups)
    values, cell = scan(question, DeclaredTable.of(dataset, known, relation), cells)
    cell = np.where(cell == cells, cells * RUNS, cell + cells * dataset.column("copy").to_numpy())
    many = dataclasses.replace(plan, groups=plan.groups * RUNS).with_noise()
    if many.chooser is not None:
        return many.chooser.choose(values, cell, cells * RUNS, many.drawn[0]).reshape(RUNS, cells)
    return np.array(many._combined(values, cell).values).reshape(RUNS, cells)


def least_epsilon(on_one, on_other):
    """The largest ε that the answers prove, by sets of the form {value ≥ t} and {value ≤ t} of one
    value.
    """
    half = RUNS // 2
    best = 0.0
    for column in range(on_one.shape[1]):
        for sign in (1, -1):
            for more, less in ((on_one, on_other), (on_other, on_one)):
                best = max(best, _proved(sign * more[:, column], sign * less[:, column], half))
    return best


def _proved(more, less, half):
    limits = np.unique(
        np.quantile(np.concatenate([more[:half], less[:half]]), np.linspace(0, 1, 60))
    )
    shares = [
        (np.mean(more[:half] >= t) + 0.02) / (np.mean(less[:half] >= t) + 0.02) for t in limits
    ]
    t = limits[int(np.argmax(shares))]
    # several sets are tried: the error of each is a part of the whole
    low = clopper_pearson(int(np.sum(more[half:] >= t)), len(more) - half, ERROR / 40)[0]
    high = clopper_pearson(int(np.sum(less[half:] >= t)), len(less) - half, ERROR / 40)[1]
    return math.log(low / high) if low > 0 else 0.0


SEX = (GroupAxis("sex"),)
CANDIDATES = tuple(float(c) for c in range(0, 101, 25))
CASES = {
    "count": (Question("count"), FEW, ONE_MORE, Relation()),
    "count, changed": (
        Question("count", by=SEX),
        ONE_MORE,
        CHANGED,
        Relation(neighbours="change_one"),
    ),
    "sum": (Question("sum", "age"), FEW, ONE_MORE, Relation()),
    "mean": (Question("mean", "age"), FEW, ONE_MORE, Relation()),
    "variance": (Question("variance", "age"), ONE_MORE, CHANGED, Relation(neighbours="change_one")),
    "quantile": (
        Question("quantile", "age", level=0.5, candidates=CANDIDATES),
        FEW,
        ONE_MORE,
        Relation(),
    ),
    "quantile by group": (
        Question("quantile", "age", by=SEX, level=0.9, candidates=CANDIDATES[::2]),
        ONE_MORE,
        CHANGED,
        Relation(neighbours="change_one"),
    ),
    "three rows, two count": (
        Question("count", by=SEX),
        FEW,
        MORE,
        Relation("who", "add_remove", 2),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_proved_loss_is_at_most_the_claimed(case):
    question, one, other, relation = case
    loss = PrivacyLoss.of(epsilon=1.0)
    found = [answers(question, rows, relation, loss) for rows in (one, other)]
    assert least_epsilon(*found) <= 1.0


def test_gaussian_answers_keep_their_claim():
    """ρ = 0.125 is (ε, δ) for many; at δ = 0.01: P ≤ e^ε·Q + δ."""
    from sfumato.core.budget import epsilon_of_rho

    found = [
        answers(Question("count"), rows, Relation(), PrivacyLoss.of(rho=0.125))
        for rows in (FEW, ONE_MORE)
    ]
    delta, half = 0.01, RUNS // 2
    epsilon = epsilon_of_rho(0.125, delta)
    for t in range(8):
        low = clopper_pearson(int(np.sum(found[1][half:, 0] >= t)), half, ERROR)[0]
        high = clopper_pearson(int(np.sum(found[0][half:, 0] >= t)), half, ERROR)[1]
        assert low <= math.exp(epsilon) * high + delta


@pytest.mark.slow
@pytest.mark.parametrize("name", ["count", "sum", "quantile"])
def test_an_audit_notices_a_third_of_the_noise(name):
    question, one, other, relation = CASES[name]
    found = [
        answers(question, rows, relation, PrivacyLoss.of(epsilon=3.0)) for rows in (one, other)
    ]
    assert least_epsilon(*found) > 1.0


def test_an_audit_notices_surplus_rows():
    """Counting all three rows of a person while only one is claimed to count."""
    found = [
        answers(Question("count"), rows, Relation(), PrivacyLoss.of(epsilon=1.0))
        for rows in (FEW, MORE)
    ]
    assert least_epsilon(*found) > 1.0
