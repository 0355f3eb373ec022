"""Logistic regression: of two classes by Newton's method, of several by quasi-Newton steps."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RIDGE = 1e-6
"""Penalty per row on squared coefficients, the constant left out: it keeps them finite where classes can be separated."""
FARTHEST = 30.0
MOST_STEPS = 40
MOST_REFITS = 400
CLOSE_ENOUGH = 1e-8


@dataclasses.dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients (the constant first), fitted probabilities, and the covariance of the coefficients."""

    coefficients: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    covariance: NDArray[np.float64]


def with_constant(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """The features with a column of ones before them."""
    import numpy as np

    return np.concatenate([np.ones((len(features), 1)), features], axis=1)


def fit_logistic(features: NDArray[np.float64], truth: NDArray[np.float64], *, ridge: float = RIDGE) -> Fit:
    """Fit the probability that ``truth`` is 1, by iteratively reweighted least squares with a small ridge.

    >>> import numpy as np
    >>> fit = fit_logistic(np.zeros((4, 0)), np.array([0.0, 0, 0, 1]))
    >>> fit.probabilities.round(6).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    import numpy as np

    design = with_constant(features)
    penalty = np.full(design.shape[1], ridge * len(design))
    penalty[0] = 0.0
    share = min(max(float(truth.mean()), 1e-9), 1 - 1e-9)
    coefficients = np.zeros(design.shape[1])
    coefficients[0] = np.log(share / (1 - share))
    worst = _deviance(design, truth, coefficients, penalty)
    for _ in range(MOST_STEPS):
        chance = _chance(design @ coefficients)
        slope = design.T @ (truth - chance) - penalty * coefficients
        step = _solved(_curvature(design, chance, penalty), slope)
        for _ in range(MOST_STEPS):
            tried = _deviance(design, truth, coefficients + step, penalty)
            if tried <= worst + 1e-12 * abs(worst):
                break
            step = step / 2
        coefficients = coefficients + step
        if worst - tried <= CLOSE_ENOUGH * (abs(worst) + CLOSE_ENOUGH):
            break
        worst = tried
    chance = _chance(design @ coefficients)
    covariance = np.asarray(np.linalg.pinv(_curvature(design, chance, penalty), hermitian=True), dtype=np.float64)
    return Fit(coefficients, chance, covariance)


class Refit:
    """Fits of many truths to the same features: steps that a bound on the curvature makes safe need one factorisation.

    The curvature of a logistic regression is nowhere above a quarter of the features' products (Böhning & Lindsay 1988), and
    close to it where no feature tells much, as under a null hypothesis.
    """

    def __init__(self, features: NDArray[np.float64], *, ridge: float = RIDGE) -> None:
        import numpy as np
        from scipy.linalg import cho_factor

        self.design = with_constant(features)
        self.penalty = np.full(self.design.shape[1], ridge * len(self.design))
        bound = 0.25 * self.design.T @ self.design + np.diag(self.penalty + 1e-12 * len(self.design))
        self.penalty[0] = 0.0
        self.factor = cho_factor(bound)

    def probabilities(self, truth: NDArray[np.float64]) -> NDArray[np.float64]:
        """The fitted probabilities that ``truth`` is 1."""
        import numpy as np
        from scipy.linalg import cho_solve

        coefficients = np.zeros(self.design.shape[1])
        for _ in range(MOST_REFITS):
            slope = self.design.T @ (truth - _chance(self.design @ coefficients)) - self.penalty * coefficients
            step = cho_solve(self.factor, slope)
            coefficients += step
            if float(slope @ step) <= 1e-7 * len(truth):
                break
        return _chance(self.design @ coefficients)


def _solved(curvature: NDArray[np.float64], slope: NDArray[np.float64]) -> NDArray[np.float64]:
    """A Newton step; columns that depend on each other share it."""
    import numpy as np

    try:
        return np.asarray(np.linalg.solve(curvature, slope), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(curvature, slope, rcond=None)[0], dtype=np.float64)


def _chance(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    found: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-np.clip(scores, -FARTHEST, FARTHEST)))
    return found


def _curvature(
    design: NDArray[np.float64], chance: NDArray[np.float64], penalty: NDArray[np.float64]
) -> NDArray[np.float64]:
    import numpy as np

    weight = chance * (1 - chance)
    found: NDArray[np.float64] = (design * weight[:, None]).T @ design + np.diag(penalty)
    return found


def _deviance(
    design: NDArray[np.float64],
    truth: NDArray[np.float64],
    coefficients: NDArray[np.float64],
    penalty: NDArray[np.float64],
) -> float:
    import numpy as np

    scores = np.clip(design @ coefficients, -FARTHEST, FARTHEST)
    return float((np.logaddexp(0.0, scores) - truth * scores).sum() + 0.5 * (penalty * coefficients**2).sum())


def fit_classes(
    features: NDArray[np.float64], truth: NDArray[np.int64], classes: int, *, ridge: float = 1e-4
) -> NDArray[np.float64]:
    """Coefficients, one column a class, of multinomial logistic regression (the constant first).

    >>> import numpy as np
    >>> made = fit_classes(np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([0, 0, 1, 1]), 2)
    >>> predict(made, np.array([[0.0], [2.0]])).tolist()
    [0, 1]
    """
    import numpy as np
    from scipy.optimize import minimize

    design = with_constant(features)
    target = np.zeros((len(design), classes))
    target[np.arange(len(design)), truth] = 1.0
    shape = (design.shape[1], classes)
    free = np.ones(shape)
    free[0] = 0.0

    def cost(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = flat.reshape(shape)
        scores = design @ weights
        scores -= scores.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        value = -float((target * logs).sum()) / len(design) + 0.5 * ridge * float((free * weights**2).sum())
        slope = design.T @ (np.exp(logs) - target) / len(design) + ridge * free * weights
        return value, slope.ravel()

    found = minimize(cost, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    made: NDArray[np.float64] = found.x.reshape(shape)
    return made


def predict(coefficients: NDArray[np.float64], features: NDArray[np.float64]) -> NDArray[np.int64]:
    """The likeliest class of every row."""
    import numpy as np

    return np.asarray((with_constant(features) @ coefficients).argmax(axis=1), dtype=np.int64)
