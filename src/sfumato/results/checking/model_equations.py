r"""Whether coefficients are those of a fit: they solve its
equations, :math:`X^\top r = \lambda\beta`, where :math:`r` are the residuals of its rows.

Models are not fitted again by statsmodels. The equations have one solution whichever library and
method came to it (scikit-learn, lifelines and R among them), whereas a second fit would need the
same options, may end elsewhere, and takes as long as the first. Nor is the method of an object that
somebody handed in ever called. Where statsmodels is installed, tests check fits of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sfumato.results.checking.families import expected_means
from sfumato.results.checking.untrusted_objects import array_of, number_of, peek, vector_of

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Floats, Mask

SLACK = 0.03
"""How far a coefficient may be from the one that solves the equations, in its standard errors."""
ERRORS = 20.0
"""How many times a standard error may be that of the usual fit, whatever it is robust to."""
STEP = 0.1
"""How far the next step towards the best fit may move what is said of somebody, where the steps
come to an end.
"""
WITHIN = 0.05
"""How closely a variance must be the likeliest one."""
NORMAL_QUARTILE = 0.6744897501960817
"""The upper quartile of the standard normal distribution: the median of absolute residuals over it
estimates a standard deviation.
"""
HUBER, TUKEY = 1.345, 4.685
"""Bounds of robust lines that lose five percent of precision on normal residuals."""


@dataclasses.dataclass(frozen=True, eq=False)
class ModelFit:
    """A fit whose equations coefficients solve: its columns, its residuals, and how much it knows
    of every coefficient.
    """

    name: str
    x: Floats
    residuals: Floats
    """Per row; of several outcomes a column each."""
    weight: Floats
    """How much every row says of the line; of several outcomes a column each."""
    used: tuple[Floats, ...] = ()
    """Weights, offsets and groups that are not in the design."""
    prior: Floats | None = None
    """The weights of rows that somebody gave."""
    endless: bool = False
    """Whether coefficients may grow without end, where a term tells the answer of all it is about.
    """
    variances: tuple[tuple[str, float], ...] = ()
    """Variances that were estimated besides, by name."""

    @property
    def several_outcomes(self) -> bool:
        """Whether there is a set of coefficients for every outcome."""
        return self.residuals.ndim == 2

    def by_outcome(self) -> Iterator[tuple[Floats, Floats]]:
        """Per outcome the residuals of the rows and their weights."""
        return zip(np.atleast_2d(self.residuals.T), np.atleast_2d(self.weight.T), strict=True)

    @property
    def converges(self) -> bool:
        """Whether the next step of the fit stays near: it does not where a term tells the answer of
        everybody it is about (Albert and Anderson 1984, doi:10.1093/biomet/71.1.1).
        """
        if not self.endless:
            return True
        x = self.x / _column_scale(self.x)
        for residuals, weight in self.by_outcome():
            # Rows that say nothing would divide by zero.
            root = np.sqrt(np.maximum(weight, 1e-300))
            step = np.linalg.lstsq(x * root[:, None], residuals / root, rcond=1e-14)[0]
            if np.abs(x @ step).max(initial=0.0) > STEP:
                return False
        return True


def _column_scale(x: Floats) -> Floats:
    sizes = np.sqrt((x**2).mean(axis=0))
    return np.where(sizes > 0, sizes, 1.0)


def find_fit(output: object, design: Floats, answer: Floats) -> ModelFit | None:
    """The fit whose equations the coefficients of a model solve; None where they solve none that is
    known here.

    Known are generalised linear models (with weights, offsets and penalties that the model says it
    has), Cox's regression, several outcomes, robust lines, lines with random effects, and equations
    of groups whose rows go together alike.

    >>> from types import SimpleNamespace
    >>> x, y = np.column_stack([np.ones(4), [0.0, 1.0, 2.0, 3.0]]), np.array([1.0, 3.0, 4.0, 8.0])
    >>> find_fit(SimpleNamespace(params=[0.7, 2.2]), x, y).name
    'line'
    >>> find_fit(SimpleNamespace(params=[0.7, 8.0]), x, y) is None
    True
    """
    with np.errstate(all="ignore"):
        return next(_matching_fits(output, design, answer), None)


def _matching_fits(output: object, design: Floats, answer: Floats) -> Iterator[ModelFit]:
    for name in ("params", "params_", "coef_", "intercept_"):
        numbers = vector_of(peek(output, name))
        # What is no number is no further from any solution than allowed, nor from any other.
        if numbers is not None and not np.isfinite(numbers.astype(float)).all():
            return
    event = vector_of(peek(output, "model.status"))
    if event is not None:
        yield from _match_hazards(output, design, answer, event)
        return
    yield from _match_outcomes(output, design, answer)
    coefficients = read_coefficients(output, design.shape[1])
    if coefficients is None:
        yield from _match_dispersion(output, design, answer)
        yield from _match_random_effects(output, design, answer)
        return
    beta, columns = coefficients
    x = design[:, columns]
    variance_weights = _read_weights(output, "model.var_weights", len(x))
    yield from _match_lines(output, x, answer, beta, np.ones(len(x)))
    if np.ptp(variance_weights) > 0:
        yield from _match_lines(output, x, answer, beta, variance_weights)
    yield from _match_correlated_groups(output, x, answer, beta)
    yield from _match_robust_lines(output, x, answer, beta)
    yield from _match_random_effects(output, design, answer)
    weights = weights_of(output, len(x))
    if np.ptp(weights) > 0:
        yield from _match_lines(output, x, answer, beta, weights)


# Generalised linear models


def _match_lines(
    output: object, x: Floats, answer: Floats, beta: Floats, weight: Floats
) -> Iterator[ModelFit]:
    r"""Fits with :math:`r_i = w_i (y_i - \mu_i)\,\mu_i' / V(\mu_i)`,
    and :math:`w_i \mu_i'^2 / V(\mu_i)` as how much a row says.
    """
    offset = offset_of(output, len(x))
    penalty = _ridge_penalty(output, x, beta)
    used = _varying(weight, offset)
    for expected in expected_means(output, x @ beta + offset, answer):
        # Where the mean is the answer and cannot move any more, a row weighs nothing.
        moves = np.abs(answer - expected.mean) > 1e-9
        factor = weight * expected.slope / expected.variance
        factor = np.where(np.isfinite(factor) | moves, factor, 0.0)
        if not factor.any():
            continue
        residuals = factor * (answer - expected.mean)
        solved = _are_orthogonal(x, residuals, penalty, _digits_slack(x, answer, factor))
        # The equations of a lasso are others: where a coefficient is zero they are only bounds.
        if solved or (not used and _is_elastic_net(output, x, answer, beta)):
            information = weight * expected.slope**2 / expected.variance
            information = np.where(np.isfinite(information) | moves, information, 0.0)
            endless = expected.endless and not penalty.any()
            yield ModelFit("line", x, residuals, information, used, weight, endless)


def _varying(*columns: Floats) -> tuple[Floats, ...]:
    """The columns that are not constant."""
    return tuple(column for column in columns if np.ptp(column) > 0)


def offset_of(output: object, rows: int) -> Floats:
    """What a model adds to its line without a coefficient."""
    offsets = np.zeros(rows)
    for path in ("model.offset", "model.exposure"):
        offset = vector_of(peek(output, path))
        if offset is not None and len(offset) == rows and np.isfinite(offset).all():
            offsets = offsets + offset
    return offsets


def _digits_slack(x: Floats, answer: Floats, factor: Floats) -> Floats:
    """How far sums may be from nothing because numbers have only so many digits."""
    slack: Floats = 1e-9 * float(np.abs(answer).max(initial=0.0)) * (np.abs(factor) @ np.abs(x))
    return slack


def _are_orthogonal(
    x: Floats, residuals: Floats, penalty: Floats | float = 0.0, slack: Floats | float = 0.0
) -> bool:
    """Whether residuals are at right angles to every column, but for the penalty."""
    size = np.sqrt((x**2).sum(axis=0) * (residuals @ residuals))
    # Numbers that are too large, or too small, to be squared show nothing.
    if not np.isfinite(size).all() or (residuals.any() and not size.all()):
        return False
    # By chance the sum of n products is about ‖x‖·‖r‖/√n, so SLACK counts standard errors.
    share = min(1e-3, SLACK / np.sqrt(len(x)))
    return bool((np.abs(residuals @ x - penalty) <= share * size + slack).all())


def _ridge_penalty(output: object, x: Floats, beta: Floats) -> Floats:
    """What a penalty on squares pulls coefficients by; a constant term is not penalised."""
    c, alpha = number_of(peek(output, "C")), number_of(peek(output, "alpha"))
    strength = 1 / c if c else alpha or 0.0
    return np.where(np.ptp(x, axis=0) == 0, 0.0, max(0.0, strength) * beta)


def _is_elastic_net(output: object, x: Floats, answer: Floats, beta: Floats) -> bool:
    r"""Whether coefficients are those of a lasso or an
    elastic net: :math:`x_j^\top r / n = \alpha(\rho\,\mathrm{sign}\,\beta_j + (1 - \rho)\beta_j)`,
    and no more than :math:`\alpha\rho` where they are zero (Zou and Hastie 2005,
    doi:10.1111/j.1467-9868.2005.00503.x).
    """
    alpha, share = number_of(peek(output, "alpha")), number_of(peek(output, "l1_ratio"))
    if not alpha or share is None or alpha < 0 or not 0 <= share <= 1:
        return False
    residuals = answer - x @ beta
    free = np.ptp(x, axis=0) == 0
    gradient = residuals @ x / len(x)
    required = np.where(free, 0.0, alpha * (share * np.sign(beta) + (1 - share) * beta))
    size = np.sqrt((x**2).mean(axis=0) * (residuals @ residuals) / len(x))
    slack = 1e-3 * size + 1e-9
    bounded = np.abs(gradient) <= alpha * share + slack
    solved = np.abs(gradient - required) <= slack
    return bool(np.where((beta == 0) & ~free, bounded, solved).all())


def _read_weights(output: object, path: str, rows: int) -> Floats:
    vector = vector_of(peek(output, path))
    if vector is None or len(vector) != rows or not np.isfinite(vector).all():
        return np.ones(rows)
    if (vector < 0).any() or not vector.any():
        return np.ones(rows)
    # Only proportions matter: one on average.
    weights: Floats = vector.astype(np.float64) / vector.mean()
    return weights


def weights_of(output: object, rows: int) -> Floats:
    """What a model says that its rows were weighted by, one on average; ones where it says nothing,
    or nothing that could be.
    """
    return _read_weights(output, "model.weights", rows)


def read_coefficients(output: object, columns: int) -> tuple[Floats, slice] | None:
    """One coefficient a column, and which columns they are of; None where there are others."""
    values = vector_of(peek(output, "params"))
    if values is not None:
        if len(values) != columns:
            return None
        return (values.astype(float), slice(None))
    slopes = vector_of(peek(output, "coef_"))
    constant = vector_of(peek(output, "intercept_"))
    if slopes is None or len(slopes) != columns - 1:
        return None
    if constant is None or len(constant) != 1:
        return slopes.astype(float), slice(1, None)
    # scikit-learn writes a zero where no constant was fitted.
    if constant[0] == 0 and peek(output, "fit_intercept") is not True:
        return slopes.astype(float), slice(1, None)
    return np.r_[constant, slopes].astype(float), slice(None)


def _match_dispersion(output: object, design: Floats, answer: Floats) -> Iterator[ModelFit]:
    """Counts that spread more than Poisson's, with how much more as the last coefficient: the
    likeliest one.
    """
    values = vector_of(peek(output, "params"))
    if values is None or len(values) != design.shape[1] + 1:
        return
    if not values[-1] > 0 or (answer % 1 != 0).any():
        return
    beta, dispersion = values[:-1].astype(float), float(values[-1])
    offset = offset_of(output, len(design))
    mean = np.exp(design @ beta + offset)
    factor = 1 / (1 + dispersion * mean)
    residuals = factor * (answer - mean)
    # A little less and a little more must both be less likely.
    changes = (1 - WITHIN, 1.0, 1 + WITHIN)
    likelihoods = [_negative_binomial(answer, mean, dispersion * change) for change in changes]
    if not likelihoods[1] >= max(likelihoods) - 1e-6 * abs(likelihoods[1]):
        return
    if not _are_orthogonal(design, residuals, slack=_digits_slack(design, answer, factor)):
        return
    yield ModelFit(
        "counts",
        design,
        residuals,
        mean * factor,
        _varying(offset),
        endless=True,
        variances=(("alpha", dispersion),),
    )


def _negative_binomial(answer: Floats, mean: Floats, dispersion: float) -> float:
    """The logarithm of the likelihood, but for a constant."""
    from scipy.special import gammaln

    size = 1 / dispersion
    odds = dispersion * mean
    terms = gammaln(answer + size) - gammaln(size) + answer * np.log(odds)
    return float((terms - (answer + size) * np.log1p(odds)).sum())


# Several outcomes


def _match_outcomes(output: object, design: Floats, answer: Floats) -> Iterator[ModelFit]:
    r"""A column of coefficients for every outcome but the first, or
    for all: :math:`X^\top(1[y = k] - p_k) = \lambda\beta_k` (McFadden 1974).
    """
    beta = _coefficients_by_outcome(output, design.shape[1])
    if beta is None:
        return
    kinds, code = np.unique(answer, return_inverse=True)
    outcomes = beta.shape[1]
    if len(kinds) < 3 or outcomes not in (len(kinds), len(kinds) - 1):
        return
    penalty = np.column_stack([_ridge_penalty(output, design, column) for column in beta.T])
    if outcomes < len(kinds):  # the first outcome is the one that others are compared with
        beta = np.column_stack([np.zeros(len(beta)), beta])
    line = design @ beta
    # Less the largest: exp of large numbers would overflow, and shares stay the same.
    shares = np.exp(line - line.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    # Where the first outcome has no coefficients, its residuals are left out.
    residuals = ((code[:, None] == np.arange(len(kinds))) - shares)[:, -outcomes:]
    for outcome in range(outcomes):
        if not _are_orthogonal(design, residuals[:, outcome], penalty[:, outcome]):
            return
    information = (shares * (1 - shares))[:, -outcomes:]
    yield ModelFit("outcomes", design, residuals, information, endless=not penalty.any())


def _coefficients_by_outcome(output: object, columns: int) -> Floats | None:
    """Coefficients of several outcomes, a column each; None where there are others."""
    values = array_of(peek(output, "params"))
    if values is not None:
        fitting = values.ndim == 2 and values.shape[0] == columns and values.shape[1] > 1
        return values if fitting else None
    slopes = array_of(peek(output, "coef_"))
    constant = vector_of(peek(output, "intercept_"))
    if slopes is None or slopes.ndim != 2 or slopes.shape[1] != columns - 1 or len(slopes) < 2:
        return None
    if constant is None or len(constant) != len(slopes):
        return None
    return np.vstack([constant, slopes.T])


# Cox's regression


def _match_hazards(
    output: object, design: Floats, time: Floats, event: Floats
) -> Iterator[ModelFit]:
    """Cox's regression within strata, ties taken as Breslow or as Efron does; its residuals are
    those of martingales.
    """
    coefficients = read_coefficients(output, design.shape[1])
    strata = codes_of(peek(output, "model.strata"), len(time))
    if coefficients is None or strata is None:
        return
    if len(event) != len(time) or not np.isin(event, (0.0, 1.0)).all():
        return
    if peek(output, "model.entry") is not None or number_of(peek(output, "penalizer")):
        return
    offset = offset_of(output, len(time))
    line = design @ coefficients[0] + offset
    used = _varying(strata.astype(np.float64), offset)
    # Residuals add up to zero, so the means of columns would only widen the slack.
    centred = design - design.mean(axis=0)
    for efron in (False, True):
        hazard = np.zeros(len(time))
        for stratum in np.unique(strata):
            rows = strata == stratum
            hazard[rows] = cumulative_hazard(time[rows], event[rows] != 0, line[rows], efron=efron)
        residuals = event - hazard
        if _are_orthogonal(centred, residuals):
            yield ModelFit("risks", design, residuals, hazard, used, endless=True)


def cumulative_hazard(time: Floats, event: Mask, line: Floats, *, efron: bool) -> Floats:
    r"""What Cox's regression expects
    of everybody: :math:`e^{x_i\beta} \sum_{t \le t_i} d_t / \sum_{t_j \ge t} e^{x_j\beta}` (Breslow
    1974, doi:10.2307/2529620).

    Of :math:`d` ties Efron (1977, doi:10.1080/01621459.1977.10480613) takes the :math:`l`-th
    with :math:`l/d` of the tied ones at risk no more, for whom it counts in that part.

    >>> cumulative_hazard(
    ...     np.array([1.0, 2.0]), np.array([True, True]), np.zeros(2), efron=False
    ... ).tolist()
    [0.5, 1.5]
    """
    # A common factor cancels out of the hazard, and exp cannot overflow.
    risk = np.exp(line - line.max(initial=0.0))
    times, step_of_row = np.unique(time, return_inverse=True)
    steps = len(times)
    # Summed from the end: at risk are all who are observed as long, or longer.
    at_risk = np.cumsum(np.bincount(step_of_row, weights=risk, minlength=steps)[::-1])[::-1]
    tied = np.bincount(step_of_row, weights=risk * event, minlength=steps)
    events = np.bincount(step_of_row, weights=event, minlength=steps).astype(np.int64)
    hazards, own_part = np.zeros(steps), np.zeros(steps)
    for step in np.flatnonzero(events):
        part = np.zeros(events[step])
        if efron:
            part = np.arange(events[step]) / events[step]
        still_at_risk = at_risk[step] - part * tied[step]
        hazards[step] = (1 / still_at_risk).sum()
        own_part[step] = (part / still_at_risk).sum()
    cumulated = np.cumsum(hazards)[step_of_row]
    hazard: Floats = risk * (cumulated - np.where(event, own_part[step_of_row], 0.0))
    return hazard


def codes_of(groups: object, rows: int) -> Codes | None:
    """Groups as numbers, one for all where there are none; None where there is something else."""
    if groups is None:
        return np.zeros(rows, dtype=np.int64)
    try:
        labels = np.asarray(groups).reshape(-1).astype(str)
    except Exception:  # noqa: BLE001 - whatever somebody else's class raises
        return None
    codes = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return codes if len(codes) == rows else None


# Lines that distrust extreme values, and lines of groups


def _match_robust_lines(
    output: object, x: Floats, answer: Floats, beta: Floats
) -> Iterator[ModelFit]:
    r"""Huber's and Tukey's lines: :math:`X^\top\psi(r/s) = 0` with the median of :math:`|r|` over
    0.6745 as :math:`s` (Huber 1981, *Robust statistics*, 7.3).
    """
    stated_scale = number_of(peek(output, "scale"))
    residuals = answer - x @ beta
    scale = float(np.median(np.abs(residuals))) / NORMAL_QUARTILE
    # Told with the model, and the residuals must give it back; otherwise it could carry any number.
    if stated_scale is None or scale <= 0 or abs(stated_scale - scale) > 0.01 * scale:
        return
    z = residuals / stated_scale
    huber = np.clip(z, -HUBER, HUBER)
    tukey = np.where(np.abs(z) < TUKEY, z * (1 - (z / TUKEY) ** 2) ** 2, 0.0)
    for bounded in (huber, tukey):
        if _are_orthogonal(x, bounded):
            # ψ(z)/z is the weight of a row, one in the limit at zero.
            weight = np.where(z == 0, 1.0, bounded / np.where(z == 0, 1.0, z))
            yield ModelFit("robust line", x, bounded / stated_scale, weight / stated_scale**2)


def _match_correlated_groups(
    output: object, x: Floats, answer: Floats, beta: Floats
) -> Iterator[ModelFit]:
    r"""Equations of groups whose rows
    correlate alike: :math:`\sum_g D_g^\top V_g^{-1} (y_g - \mu_g) = 0` (Liang and Zeger 1986,
    doi:10.1093/biomet/73.1.13).
    """
    correlation = number_of(peek(output, "model.cov_struct.dep_params"))
    if correlation is None or peek(output, "model.groups") is None or not -1 < correlation < 1:
        return
    group = codes_of(peek(output, "model.groups"), len(x))
    if group is None:
        return
    # The inverse of a matrix with ones on the diagonal and one correlation elsewhere.
    size = np.bincount(group)[group]
    shared = correlation / (1 + (size - 1) * correlation)
    offset = offset_of(output, len(x))
    used = _varying(group.astype(np.float64), offset)
    for expected in expected_means(output, x @ beta + offset, answer):
        root = np.sqrt(expected.variance)
        standardised = (answer - expected.mean) / root
        group_sum = np.bincount(group, weights=standardised)[group]
        residuals = expected.slope / root * (standardised - shared * group_sum) / (1 - correlation)
        slack = _digits_slack(x, answer, expected.slope / expected.variance)
        if _are_orthogonal(x, residuals, slack=slack):
            information = expected.slope**2 / expected.variance
            yield ModelFit("groups", x, residuals, information, used, endless=expected.endless)


def _match_random_effects(output: object, design: Floats, answer: Floats) -> Iterator[ModelFit]:
    r"""A line with random effects of groups: :math:`X^\top V^{-1}(y - X\beta) = 0`, with the
    likeliest variances, of the whole or of the residuals (Laird and Ware 1982,
    doi:10.2307/2529876).
    """
    beta, scale = vector_of(peek(output, "fe_params")), number_of(peek(output, "scale"))
    spread, z = array_of(peek(output, "cov_re")), array_of(peek(output, "model.exog_re"))
    if beta is None or len(beta) != design.shape[1] or spread is None or z is None or not scale:
        return
    z = z.reshape(len(z), -1)
    if len(z) != len(design) or spread.shape != (z.shape[1], z.shape[1]):
        return
    # Further variance components are not computed again here.
    if peek(output, "model.groups") is None or number_of(peek(output, "model.k_vc")):
        return
    group = codes_of(peek(output, "model.groups"), len(design))
    if group is None:
        return
    mixed = _MixedModel.of(design, z, group, answer - design @ beta)
    residuals = mixed.weighted_residuals(scale, spread)
    information = np.full(len(design), 1 / scale)
    slack = _digits_slack(design, answer, information)
    if not _are_orthogonal(design, residuals, slack=slack):
        return
    if not mixed.is_likeliest(scale, spread):
        return
    variances = []
    for number, variance in enumerate(np.diag(spread).tolist(), start=1):
        variances.append((f"variance {number}", variance))
    variances.append(("variance left", scale))
    used = (group.astype(np.float64), *_varying(*z.T))
    yield ModelFit(
        "random effects", design, residuals, information, used, variances=tuple(variances)
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _MixedModel:
    """The sums per group that the likelihood of a line with random effects needs."""

    z: Floats
    group: Codes
    residuals: Floats
    zz: Floats
    zx: Floats
    zr: Floats
    xx: Floats

    @classmethod
    def of(cls, x: Floats, z: Floats, group: Codes, residuals: Floats) -> _MixedModel:
        """The sums of products of ``z`` with itself, ``x`` and the residuals, group by group."""

        def products(factors: Floats) -> Floats:
            sums = np.zeros((int(group.max()) + 1, z.shape[1], factors.shape[1]))
            np.add.at(sums, group, z[:, :, None] * factors[:, None, :])
            return sums

        zr = products(residuals[:, None])
        return cls(z, group, residuals, products(z), products(x), zr, x.T @ x)

    def _inner(self, scale: float, spread: Floats) -> Floats:
        """Per group the middle of the inverse of its covariance (Woodbury's identity)."""
        return spread @ np.linalg.inv(scale * np.eye(len(spread)) + self.zz @ spread)

    def weighted_residuals(self, scale: float, spread: Floats) -> Floats:
        """The residuals by the inverse of the covariance of their group."""
        effect = (self._inner(scale, spread) @ self.zr)[:, :, 0]
        effects = (self.z * effect[self.group]).sum(axis=1)
        residuals: Floats = (self.residuals - effects) / scale
        return residuals

    def likelihood(self, scale: float, spread: Floats, *, restricted: bool) -> float:
        """Its logarithm, but for a constant."""
        inner = self._inner(scale, spread)
        determinants = np.linalg.slogdet(np.eye(len(spread)) + self.zz @ spread / scale)[1]
        squares = self.residuals @ self.residuals - (self.zr * (inner @ self.zr)).sum()
        total = len(self.residuals) * np.log(scale) + determinants.sum() + squares / scale
        if restricted:
            information = (self.xx - np.einsum("gki,gkl,glj->ij", self.zx, inner, self.zx)) / scale
            total += np.linalg.slogdet(information)[1]
        return -0.5 * float(total)

    def is_likeliest(self, scale: float, spread: Floats) -> bool:
        """Whether variances a little smaller or larger are less likely."""
        neighbours = [(scale * (1 - WITHIN), spread), (scale * (1 + WITHIN), spread)]
        for effect in range(len(spread)):
            for change in (1 - WITHIN, 1 + WITHIN):
                changed = spread.copy()
                changed[effect, effect] *= change
                neighbours.append((scale, changed))
        # Both the restricted and the full likelihood are in use.
        for restricted in (True, False):
            bound = self.likelihood(scale, spread, restricted=restricted) + 1e-3
            if all(
                self.likelihood(*neighbour, restricted=restricted) <= bound
                for neighbour in neighbours
            ):
                return True
        return False


# Standard errors


def errors_fit(output: object, fit: ModelFit) -> bool:
    """Whether standard errors, statistics and p values told beside coefficients can be theirs."""
    beta, error = _flatten(peek(output, "params")), _flatten(peek(output, "bse"))
    statistic, p = _flatten(peek(output, "tvalues")), _flatten(peek(output, "pvalues"))
    if beta is None:
        return True
    if error is None:
        # Statistics without errors cannot be confirmed.
        return statistic is None and p is None
    if len(error) != len(beta) or not (np.nan_to_num(error, nan=1.0) >= 0).all():
        return False
    with np.errstate(all="ignore"):
        ratio = beta / error
        if statistic is not None and not np.allclose(
            statistic, ratio, rtol=1e-4, atol=1e-8, equal_nan=True
        ):
            return False
        if p is not None and not _are_p_values(p, ratio, len(fit.x) - fit.x.shape[1]):
            return False
        return _are_near_usual(error, fit)


def _flatten(obj: object) -> Floats | None:
    """Numbers of one or several outcomes in one row, outcome by outcome."""
    values = array_of(obj)
    if values is None or values.ndim > 2:
        return None
    return values.T.reshape(-1)


def _are_p_values(p: Floats, statistic: Floats, degrees: int) -> bool:
    from scipy import stats

    if len(p) != len(statistic):
        return False
    # Software uses the normal distribution or Student's.
    normal = 2 * stats.norm.sf(np.abs(statistic))
    student = 2 * stats.t.sf(np.abs(statistic), max(1, degrees))
    for expected in (normal, student):
        if np.allclose(p, expected, rtol=1e-3, atol=1e-6, equal_nan=True):
            return True
    return False


def _are_near_usual(error: Floats, fit: ModelFit) -> bool:
    """Whether errors are about as large as the usual ones of the fit, by its own spread or by that
    of the residuals.
    """
    errors, scaled = [], []
    for residuals, weight in fit.by_outcome():
        covariance = np.linalg.pinv((fit.x * weight[:, None]).T @ fit.x)
        usual = np.sqrt(np.abs(np.diag(covariance)))
        errors.append(usual)
        scaled.append(usual * np.sqrt(np.mean(residuals**2 / np.maximum(weight, 1e-300))))
    for expected in (np.concatenate(errors), np.concatenate(scaled)):
        # Variances that are told as well come after the coefficients of the line.
        stated = error[: len(expected)]
        if len(stated) != len(expected):
            return False
        not_larger = stated <= ERRORS * expected + 1e-12
        not_smaller = stated * ERRORS >= expected - 1e-12
        if (not_larger & not_smaller).all():
            return True
    return False
