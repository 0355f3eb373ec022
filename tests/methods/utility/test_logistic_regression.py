"""Logistic regression: of two classes by Newton's method, of several by quasi-Newton steps."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import sfumato as sf
from sfumato.core.pair import TablePair
from sfumato.methods.utility.logistic_regression import (
    Refit,
    features_of,
    fit_classes,
    fit_logistic,
    predict,
)
from sfumato.methods.utility.predictive import expected_between_samples


def test_features_of_generalised_categories():
    people = sf.examples.illnesses()
    groups = pl.Series(["Virus infection", "*", "Common cold", "gout"])
    pair = TablePair.of(people, people.with_columns({"illness": groups}))
    rows = np.arange(4)
    made = features_of(pair, ["illness"], rows, rows, blanks=True)
    # HIV (twice) is what the others are compared with; then Common cold, Pelvic fracture and the
    # mark of a blank
    assert made.owners == ("illness",) * 3
    assert made.before.tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert made.after.tolist() == [[0, 0, 0], [0.25, 0.25, 1], [1, 0, 0], [0.25, 0.25, 1]]


def test_independent_samples_reach_their_expectation():
    # The pMSE of k − 1 = 3 useless predictors is about (k−1)/4n · χ²₃/3: over 200 samples the mean
    # has a relative deviation of √(2/3)/√200 = 0.058. Five deviations: fails by chance once in 3
    # million. The draw is fixed anyway.
    draw = np.random.default_rng(8)
    truth = np.repeat([0.0, 1.0], 300)
    found = [
        ((fit_logistic(draw.normal(size=(600, 3)), truth).probabilities - 0.5) ** 2).mean()
        for _ in range(200)
    ]
    assert np.mean(found) == pytest.approx(expected_between_samples(4, 600, 0.5), rel=0.29)


def penalised(features, ridge):
    def cost(weights, truth):
        scores = weights[0] + features @ weights[1:]
        return (np.logaddexp(0, scores) - truth * scores).sum() + 0.5 * ridge * len(truth) * (
            weights[1:] ** 2
        ).sum()

    return cost


def test_fit_against_a_general_optimiser():
    draw = np.random.default_rng(11)
    features = draw.normal(size=(80, 3))
    truth = (draw.random(80) < 1 / (1 + np.exp(-features[:, 0]))).astype(float)
    fit = fit_logistic(features, truth)
    best = minimize(penalised(features, 1e-6), np.zeros(4), args=(truth,), tol=1e-12)
    assert fit.coefficients == pytest.approx(best.x, abs=1e-4)
    assert Refit(features).probabilities(truth[:, None])[:, 0] == pytest.approx(
        fit.probabilities, abs=1e-3
    )
    rows = np.concatenate([np.ones((80, 1)), features], axis=1)
    chances = 1 / (1 + np.exp(-rows @ best.x))
    curvature = sum(p * (1 - p) * np.outer(row, row) for p, row in zip(chances, rows, strict=True))
    assert fit.covariance == pytest.approx(np.linalg.inv(curvature), rel=1e-3, abs=1e-4)


def test_separable_classes_stay_finite():
    fit = fit_logistic(np.arange(10.0)[:, None], (np.arange(10) > 4).astype(float))
    assert np.isfinite(fit.coefficients).all()
    assert ((fit.probabilities > 0.5) == (np.arange(10) > 4)).all()


def test_dependent_columns():
    x = np.arange(10.0)
    fit = fit_logistic(np.stack([x, x], axis=1), (x % 2 == 0).astype(float), ridge=0.0)
    assert np.isfinite(fit.probabilities).all()


def test_several_classes():
    draw = np.random.default_rng(12)
    centres = np.array([[0, 0], [6, 0], [0, 6]])
    truth = np.arange(90) % 3
    features = centres[truth] + draw.normal(size=(90, 2))
    assert (predict(fit_classes(features, truth, 3), features) == truth).mean() > 0.95


def one_by_one(features, truth):
    """Fitted probabilities of one truth, step by step, with matrices as they are."""
    design = np.concatenate([np.ones((len(features), 1)), features], axis=1)
    penalty = np.full(design.shape[1], 1e-6 * len(design))
    bound = 0.25 * design.T @ design + np.diag(penalty + 1e-12 * len(design))
    penalty[0] = 0.0
    coefficients = np.zeros(design.shape[1])
    for _ in range(400):
        slope = (
            design.T @ (truth - 1 / (1 + np.exp(-np.clip(design @ coefficients, -30, 30))))
            - penalty * coefficients
        )
        step = np.linalg.solve(bound, slope)
        coefficients += step
        if slope @ step <= 1e-7 * len(truth):
            break
    return 1 / (1 + np.exp(-np.clip(design @ coefficients, -30, 30)))


@given(st.integers(0, 2**32 - 1))
def test_fits_side_by_side_are_those_one_by_one(seed):
    draw = np.random.default_rng(seed)
    features = draw.normal(size=(40, 3)) * (draw.random((40, 3)) < 0.6)
    truths = (draw.random((40, 6)) < 0.5).astype(float)
    expected = np.column_stack([one_by_one(features, truth) for truth in truths.T])
    assert Refit(features).probabilities(truths) == pytest.approx(expected, abs=1e-10)
