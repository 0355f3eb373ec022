"""Log-linear risk: what a model of the whole table of keys says about those who are unique in the
sample.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.attack import Attack, Finding, NothingToAttack, not_a_sample, rows_of
from sfumato.core.design import weights_of
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError
from sfumato.methods.formulas.uniqueness import SamplingFraction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.table import Table

    Floats = NDArray[np.float64]

MOST_CELLS = 4_000_000
ROUNDS, CLOSE = 200, 1e-8


@dataclasses.dataclass(frozen=True, eq=False)
class LogLinearRisk:
    """Per record that is unique in the sample: P(F=1 | f=1) and E[1/F | f=1]; 0 for all others. τ₁
    and τ₂ are their sums.
    """

    unique: Floats
    inverse: Floats

    @property
    def tau1(self) -> float:
        """Expected number of sample uniques that are unique in the population."""
        return float(self.unique.sum())

    @property
    def tau2(self) -> float:
        """Expected number of right matches among the sample uniques."""
        return float(self.inverse.sum())


def log_linear_risk(
    dataset: Table, columns: tuple[str, ...], fraction: float, *, interactions: int = 2
) -> LogLinearRisk:
    r"""Poisson log-linear risk of the sample uniques.

    Sample counts of the keys are Poisson, :math:`f_k \sim \text{Po}(\pi\lambda_k)`, with a
    log-linear model of μ = πλ over the whole grid of keys: main effects (``interactions=1``) or all
    two-way interactions (2), fitted by iterative proportional fitting, whose fixed point is the
    maximum-likelihood fit. Then :math:`\lambda = \mu/\pi` and

    .. math:: P(F=1 \mid f=1) = e^{-\lambda(1-\pi)}, \qquad E[1/F \mid f=1] =
        \frac{1-e^{-\lambda(1-\pi)}}{\lambda(1-\pi)}

    Dividing by π matters: with λ = 2 and π = 0.1 the first is 0.165, and 0.835 with μ in its place,
    which is what sdcMicro's ``modRisk`` computes. Missing values are a category. Grids of more than
    4 million cells are refused.
    References: Skinner & Holmes 1998; Elamir & Skinner 2006.
    """
    if not 0 < fraction <= 1:
        raise ParameterError("the sampling fraction must be above 0 and at most 1")
    encoded = [dataset.encoded(c) for c in columns]
    shape = tuple(len(e.labels) for e in encoded)
    if math.prod(shape) > MOST_CELLS:
        raise ParameterError(
            f"the grid of {len(columns)} columns has {math.prod(shape):,} cells, more than"
            f" {MOST_CELLS:,}; take fewer or coarser columns"
        )
    cells = np.ravel_multi_index([e.codes for e in encoded], shape)
    counts = np.bincount(cells, minlength=math.prod(shape)).astype(np.float64)
    fitted = fit_log_linear(counts.reshape(shape), interactions).reshape(-1)
    # λ(1 − π): people of the cell who were not sampled, by the fitted model.
    rate = fitted / fraction * (1 - fraction)
    alone = (counts == 1)[cells]
    cell_rates = rate[cells]
    chance = np.exp(-cell_rates)
    inverse = np.where(
        # (1 − e^{−x})/x goes to 1; near 0 the quotient is lost to rounding.
        cell_rates > 1e-12,
        -np.expm1(-cell_rates) / np.maximum(cell_rates, 1e-300),
        1.0,
    )
    return LogLinearRisk(np.where(alone, chance, 0.0), np.where(alone, inverse, 0.0))


def fit_log_linear(table: Floats, interactions: int) -> Floats:
    """Maximum-likelihood fit of a log-linear model with all interactions up to an order, by
    proportional fitting.
    """
    axes = range(table.ndim)
    kept_axes = list(itertools.combinations(axes, min(interactions, table.ndim)))
    margins = [(tuple(a for a in axes if a not in keep), keep) for keep in kept_axes]
    target_margins = [table.sum(axis=summed_axes, keepdims=True) for summed_axes, _ in margins]
    fitted = np.full(table.shape, table.sum() / table.size)
    for _ in range(ROUNDS):
        far = 0.0
        for (summed_axes, _), margin in zip(margins, target_margins, strict=True):
            now = fitted.sum(axis=summed_axes, keepdims=True)
            far = max(far, float(np.abs(now - margin).max()))
            # Cells of an empty margin stay empty; all others are scaled to the margin in turn.
            fitted = fitted * np.divide(margin, now, out=np.zeros_like(margin), where=now > 0)
        if far <= CLOSE * max(1.0, float(table.sum())):
            break
    return fitted


@parameters
class LogLinear(Attack):
    """The expected share of released records that a register would match rightly, by a log-linear
    model of the keys.

    See :func:`sfumato.methods.attacks.log_linear.log_linear_risk`; the value is τ₂ over the number
    of records.
    """

    fraction: SamplingFraction = None
    interactions: Annotated[
        int, Field(ge=1, le=3, description="1: main effects; 2: all pairs; 3: all triples")
    ] = 2

    name: ClassVar[str] = "log_linear"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "A register of the population is matched to the records"
    tried_by: ClassVar[tuple[str, ...]] = ("journalist",)
    turn: ClassVar[int] = 2

    def applies(self, scene: Scene) -> str | None:
        """None when the sampling fraction is known and the grid of keys is not too large."""
        columns = self._known_columns(scene)
        if not columns:
            return NothingToAttack("this intruder knows no column of the release")
        if self.fraction is None and weights_of(scene.pair.released) is None:
            return not_a_sample(scene)
        cells = math.prod(len(scene.pair.reading(c).labels) for c in columns)
        if cells <= MOST_CELLS:
            return None
        return f"the grid of the keys has {cells:,} cells"

    def attack(self, scene: Scene) -> Finding:
        """Fit the model and add up the risks of the sample uniques."""
        weights = weights_of(scene.pair.released)
        fraction = self.fraction
        if fraction is None and weights is not None:
            fraction = min(1.0, len(weights) / max(float(weights.sum()), 1e-300))
        fitted = log_linear_risk(
            scene.pair.released,
            self._known_columns(scene),
            fraction or 1.0,
            interactions=self.interactions,
        )
        hit = fitted.inverse > 0.5
        sentence = (
            f"about {fitted.tau2:,.3g} matches with unique records would be correct; "
            f"{fitted.tau1:,.3g} are unique in the population"
        )
        details = {"tau1": fitted.tau1, "tau2": fitted.tau2}
        return Finding(
            self.name,
            fitted.tau2 / len(fitted.inverse),
            sentence,
            victims=rows_of(scene, hit),
            details=details,
        )

    def _known_columns(self, scene: Scene) -> tuple[str, ...]:
        return tuple(c for c in scene.intruder.knows if c in scene.pair.released.columns)
