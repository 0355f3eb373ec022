r"""Whether coefficients are those of a fit: they solve its
equations, :math:`X^\top r = \lambda\beta`, where :math:`r` is what the fit leaves of every row.

Models are not fitted again by statsmodels. The equations have one solution whichever library and
method came to it (scikit-learn, lifelines and R among them), whereas a second fit would need the
same options, may end elsewhere, and takes as long as the first. Nor is the method of an object that
somebody handed in ever called. Where statsmodels is installed, tests check fits of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.results.checking.families import means
from sfumato.results.checking.untrusted_objects import array_of, number_of, peek, vector_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int64]

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


@dataclasses.dataclass(frozen=True, eq=False)
class ModelFit:
    """A fit whose equations coefficients solve: its columns, what it leaves, and how much it knows
    of every coefficient.
    """

    name: str
    x: Floats
    rest: Floats
    weight: Floats
    """How much every row says of the line."""
    used: tuple[Floats, ...] = ()
    """Weights, offsets and groups that are not in the design."""
    prior: Floats | None = None
    endless: bool = False
    """Whether coefficients may grow without end, where a term tells the answer of all it is about.
    """
    more: tuple[tuple[str, float], ...] = ()
    """Variances that were estimated besides."""

    @property
    def ends(self) -> bool:
        """Whether the next step of the fit stays near: it does not where a term tells the answer of
        everybody it is about (Albert and Anderson 1984, doi:10.1093/biomet/71.1.1).
        """
        if not self.endless:
            return True
        rest = self.rest if self.rest.ndim == 2 else self.rest[:, None]
        weight = self.weight if self.weight.ndim == 2 else self.weight[:, None]
        return all(_next_step(self.x, *one) <= STEP for one in zip(rest.T, weight.T, strict=True))


def _next_step(x: Floats, rest: Floats, weight: Floats) -> float:
    root = np.sqrt(np.maximum(weight, 1e-300))
    move = np.linalg.lstsq(x * root[:, None] / _scale(x), rest / root, rcond=1e-14)[0]
    return float(np.abs(x / _scale(x) @ move).max(initial=0.0))


def _scale(x: Floats) -> Floats:
    sizes = np.sqrt((x**2).mean(axis=0))
    return np.where(sizes > 0, sizes, 1.0)


def solves(output: Any, design: Floats, answer: Floats) -> bool:
    """Whether coefficients are those of a fit that is known here.

    >>> from types import SimpleNamespace
    >>> x, y = np.column_stack([np.ones(4), [0.0, 1.0, 2.0, 3.0]]), np.array([1.0, 3.0, 4.0, 8.0])
    >>> (
    ...     solves(SimpleNamespace(params=[0.7, 2.2]), x, y),
    ...     solves(SimpleNamespace(params=[0.7, 8.0]), x, y),
    ... )
    (True, False)
    """
    return fit_of(output, design, answer) is not None


def fit_of(output: Any, design: Floats, answer: Floats) -> ModelFit | None:
    """The fit whose equations the coefficients of a model solve; None where they solve none that is
    known here.

    Known are generalised linear models (with weights, offsets and penalties that the model says it
    has), Cox's regression, several outcomes, robust lines, lines with random effects, and equations
    of groups whose rows go together alike.
    """
    with np.errstate(all="ignore"):
        return next(_fits(output, design, answer), None)


def _fits(output: Any, design: Floats, answer: Floats) -> Iterator[ModelFit]:
    if (happened := vector_of(peek(output, "model.status"))) is not None:
        yield from _of_risks(output, design, answer, happened)
        return
    yield from _of_outcomes(output, design, answer)
    coefficients = coefficients_in(output, design.shape[1])
    if coefficients is None:
        yield from _with_dispersion(output, design, answer)
        yield from _with_groups(output, design, answer)
        return
    beta, columns = coefficients
    x, even = design[:, columns], np.ones(len(design))
    varied = _said(output, "model.var_weights", even)
    yield from _of_lines(output, x, answer, beta, even)
    if np.ptp(varied) > 0:
        yield from _of_lines(output, x, answer, beta, varied)
    yield from _with_alike_groups(output, x, answer, beta)
    yield from _robust(output, x, answer, beta)
    yield from _with_groups(output, design, answer)
    weighted = weights_of(output, len(design))
    if np.ptp(weighted) > 0:
        yield from _of_lines(output, x, answer, beta, weighted)


# Generalised linear models


def _of_lines(
    output: Any, x: Floats, answer: Floats, beta: Floats, weight: Floats
) -> Iterator[ModelFit]:
    r"""Fits with :math:`r_i = w_i (y_i - \mu_i)\,\mu_i' / V(\mu_i)`,
    and :math:`w_i \mu_i'^2 / V(\mu_i)` as how much a row says.
    """
    shift = offset_of(output, len(x))
    penalty = _penalty(output, x, beta)
    used = tuple(one for one in (weight, shift) if np.ptp(one) > 0)
    for one in means(output, x @ beta + shift, answer):
        by = _unless_told(weight * one.slope / one.variance, answer, one.mean)
        rest = by * (answer - one.mean)
        if not by.any():
            continue
        if _solved(x, rest, penalty, _near(x, answer, by)) or (
            not used and _shrunk(output, x, answer, beta)
        ):
            says = _unless_told(weight * one.slope**2 / one.variance, answer, one.mean)
            yield ModelFit("line", x, rest, says, used, weight, one.endless and not penalty.any())


def _unless_told(by: Floats, answer: Floats, mean: Floats) -> Floats:
    """What rows weigh; nothing, where the mean is the answer and cannot move any more."""
    return np.where(np.isfinite(by) | (np.abs(answer - mean) > 1e-9), by, 0.0)


def offset_of(output: Any, rows: int) -> Floats:
    """What a model adds to its line without a coefficient."""
    offsets = np.zeros(rows)
    for path in ("model.offset", "model.exposure"):
        one = vector_of(peek(output, path))
        if one is not None and len(one) == rows and np.isfinite(one).all():
            offsets = offsets + one
    return offsets


def _near(x: Floats, answer: Floats, by: Floats) -> Floats:
    """How far sums may be from nothing because numbers have only so many digits."""
    slack: Floats = 1e-9 * float(np.abs(answer).max(initial=0.0)) * (np.abs(by) @ np.abs(x))
    return slack


def _solved(x: Floats, rest: Floats, penalty: Floats | float, near: Floats | float) -> bool:
    """Whether what is left is at right angles to every column, but for the penalty."""
    size = np.sqrt((x**2).sum(axis=0) * (rest @ rest))
    if not np.isfinite(size).all() or (
        rest.any() and not size.all()
    ):  # numbers that are too large, or too small
        return False
    slack = min(1e-3, SLACK / np.sqrt(len(x)))
    return bool((np.abs(rest @ x - penalty) <= slack * size + near).all())


def _penalty(output: Any, x: Floats, beta: Floats) -> Floats:
    c, alpha = number_of(peek(output, "C")), number_of(peek(output, "alpha"))
    penalty: Floats = max(0.0, 1 / c if c else alpha or 0.0) * beta
    penalty[np.ptp(x, axis=0) == 0] = 0.0
    return penalty


def _shrunk(output: Any, x: Floats, answer: Floats, beta: Floats) -> bool:
    r"""Whether coefficients are those of a lasso or an
    elastic net: :math:`x_j^\top r / n = \alpha(\rho\,\mathrm{sign}\,\beta_j + (1 - \rho)\beta_j)`,
    and no more than :math:`\alpha\rho` where they are zero (Zou and Hastie 2005,
    doi:10.1111/j.1467-9868.2005.00503.x).
    """
    alpha, share = number_of(peek(output, "alpha")), number_of(peek(output, "l1_ratio"))
    if not alpha or share is None or alpha < 0 or not 0 <= share <= 1:
        return False
    rest = answer - x @ beta
    free = np.ptp(x, axis=0) == 0
    pulled = rest @ x / len(x)
    required = np.where(free, 0.0, alpha * (share * np.sign(beta) + (1 - share) * beta))
    slack = 1e-3 * np.sqrt((x**2).mean(axis=0) * (rest @ rest) / len(x)) + 1e-9
    zero = (beta == 0) & ~free
    return bool(
        np.where(
            zero, np.abs(pulled) <= alpha * share + slack, np.abs(pulled - required) <= slack
        ).all()
    )


def _said(output: Any, path: str, even: Floats) -> Floats:
    vector = vector_of(peek(output, path))
    if (
        vector is None
        or len(vector) != len(even)
        or not np.isfinite(vector).all()
        or (vector < 0).any()
        or not vector.any()
    ):
        return even
    weights: Floats = vector.astype(np.float64) / vector.mean()
    return weights


def weights_of(output: Any, rows: int) -> Floats:
    """What a model says that its rows were weighted by, one on average; ones where it says nothing,
    or nothing that could be.
    """
    return _said(output, "model.weights", np.ones(rows))


def coefficients_in(output: Any, columns: int) -> tuple[Floats, slice] | None:
    """One coefficient a column, and which columns they are of; None where there are others."""
    values = vector_of(peek(output, "params"))
    if values is not None:
        return (values.astype(float), slice(None)) if len(values) == columns else None
    coefficients = vector_of(peek(output, "coef_"))
    constant = vector_of(peek(output, "intercept_"))
    if coefficients is None or len(coefficients) != columns - 1:
        return None
    if constant is None or len(constant) != 1:
        return coefficients.astype(float), slice(1, None)
    if constant[0] == 0 and peek(output, "fit_intercept") is not True:
        return coefficients.astype(float), slice(1, None)
    return np.r_[constant, coefficients].astype(float), slice(None)


def _with_dispersion(output: Any, design: Floats, answer: Floats) -> Iterator[ModelFit]:
    """Counts that spread more than Poisson's, with how much more as the last coefficient: the
    likeliest one.
    """
    values = vector_of(peek(output, "params"))
    if (
        values is None
        or len(values) != design.shape[1] + 1
        or not values[-1] > 0
        or (answer % 1 != 0).any()
    ):
        return
    beta, spread = values[:-1].astype(float), float(values[-1])
    shift = offset_of(output, len(design))
    mean = np.exp(design @ beta + shift)
    by = 1 / (1 + spread * mean)
    rest = by * (answer - mean)
    likely = [_of_spread(answer, mean, spread * by) for by in (1 - WITHIN, 1.0, 1 + WITHIN)]
    if _solved(design, rest, 0.0, _near(design, answer, by)) and likely[1] >= max(
        likely
    ) - 1e-6 * abs(likely[1]):
        used = (shift,) if np.ptp(shift) > 0 else ()
        says = mean / (1 + spread * mean)
        yield ModelFit(
            "counts", design, rest, says, used, None, endless=True, more=(("alpha", spread),)
        )


def _of_spread(answer: Floats, mean: Floats, spread: float) -> float:
    from scipy.special import gammaln

    size = 1 / spread
    odds = spread * mean
    parts = (
        gammaln(answer + size)
        - gammaln(size)
        + answer * np.log(odds)
        - (answer + size) * np.log1p(odds)
    )
    return float(parts.sum())


# Several outcomes


def _of_outcomes(output: Any, design: Floats, answer: Floats) -> Iterator[ModelFit]:
    r"""A column of coefficients for every outcome but the first, or
    for all: :math:`X^\top(1[y = k] - p_k) = \lambda\beta_k` (McFadden 1974).
    """
    lines = several(output, design.shape[1])
    if lines is None:
        return
    kinds, code = np.unique(answer, return_inverse=True)
    if lines.shape[1] not in (len(kinds), len(kinds) - 1) or len(kinds) < 3:
        return
    outcomes = lines.shape[1]
    beta = lines if outcomes == len(kinds) else np.column_stack([np.zeros(len(lines)), lines])
    line = design @ beta
    share = np.exp(line - line.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    rest = ((code[:, None] == np.arange(len(kinds))) - share)[:, -outcomes:]
    penalty = np.column_stack([_penalty(output, design, one.copy()) for one in beta.T[-outcomes:]])
    if all(_solved(design, one, less, 0.0) for one, less in zip(rest.T, penalty.T, strict=True)):
        says = (share * (1 - share))[:, -outcomes:]
        yield ModelFit("outcomes", design, rest, says, endless=not penalty.any())


def several(output: Any, columns: int) -> Floats | None:
    """Coefficients of several outcomes, a column each; None where there are others."""
    values = array_of(peek(output, "params")) if peek(output, "params") is not None else None
    if values is not None:
        return (
            values
            if values.ndim == 2 and values.shape[0] == columns and values.shape[1] > 1
            else None
        )
    slopes = array_of(peek(output, "coef_")) if peek(output, "coef_") is not None else None
    constant = vector_of(peek(output, "intercept_"))
    if slopes is None or slopes.ndim != 2 or slopes.shape[1] != columns - 1 or len(slopes) < 2:
        return None
    if constant is None or len(constant) != len(slopes):
        return None
    return np.vstack([constant, slopes.T])


# Cox's regression


def _of_risks(output: Any, design: Floats, time: Floats, happened: Floats) -> Iterator[ModelFit]:
    """Cox's regression within strata, ties taken as Breslow or as Efron does; what it leaves are
    martingale residuals.
    """
    coefficients = coefficients_in(output, design.shape[1])
    if (
        coefficients is None
        or len(happened) != len(time)
        or not np.isin(happened, (0.0, 1.0)).all()
    ):
        return
    if peek(output, "model.entry") is not None or number_of(peek(output, "penalizer")):
        return
    strata = codes_of(peek(output, "model.strata"), len(time))
    if strata is None:
        return
    shift = offset_of(output, len(time))
    line = design @ coefficients[0] + shift
    used = tuple(one for one in (strata.astype(np.float64), shift) if np.ptp(one) > 0)
    middle = design - design.mean(axis=0)
    for efron in (False, True):
        hazard = np.zeros(len(time))
        for one in np.unique(strata):
            here = strata == one
            hazard[here] = cumulative_hazard(
                time[here], happened[here] != 0, line[here], efron=efron
            )
        rest = happened - hazard
        if _solved(middle, rest, 0.0, 0.0):
            yield ModelFit("risks", design, rest, hazard, used, endless=True)


def cumulative_hazard(
    time: Floats, happened: NDArray[np.bool_], line: Floats, *, efron: bool
) -> Floats:
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
    risk = np.exp(line - line.max(initial=0.0))
    times, place = np.unique(time, return_inverse=True)
    at_risk = np.cumsum(np.bincount(place, weights=risk, minlength=len(times))[::-1])[::-1]
    tied = np.bincount(place, weights=risk * happened, minlength=len(times))
    events = np.bincount(place, weights=happened, minlength=len(times)).astype(np.int64)
    step, less = np.zeros(len(times)), np.zeros(len(times))
    for one in np.flatnonzero(events):
        part = np.arange(events[one]) / events[one] if efron else np.zeros(events[one])
        below = at_risk[one] - part * tied[one]
        step[one], less[one] = (1 / below).sum(), (part / below).sum()
    hazard: Floats = risk * (np.cumsum(step)[place] - np.where(happened, less[place], 0.0))
    return hazard


def codes_of(thing: Any, rows: int) -> Codes | None:
    """Groups as numbers, one for all where there are none; None where there is something else."""
    if thing is None:
        return np.zeros(rows, dtype=np.int64)
    try:
        codes = np.unique(np.asarray(thing).reshape(-1).astype(str), return_inverse=True)[1].astype(
            np.int64
        )
    except Exception:  # noqa: BLE001 - whatever somebody else's class raises
        return None
    return codes if len(codes) == rows else None


# Lines that distrust extreme values, and lines of groups


def _robust(output: Any, x: Floats, answer: Floats, beta: Floats) -> Iterator[ModelFit]:
    r"""Huber's and Tukey's lines: :math:`X^\top\psi(r/s) = 0` with the median of :math:`|r|` over
    0.6745 as :math:`s` (Huber 1981, *Robust statistics*, 7.3; bounds 1.345 and 4.685).
    """
    stated_scale = number_of(peek(output, "scale"))
    rest = answer - x @ beta
    scale = float(np.median(np.abs(rest))) / 0.6744897501960817
    if stated_scale is None or scale <= 0 or abs(stated_scale - scale) > 0.01 * scale:
        return
    z = rest / stated_scale
    for pulled in (
        np.clip(z, -1.345, 1.345),
        np.where(np.abs(z) < 4.685, z * (1 - (z / 4.685) ** 2) ** 2, 0.0),
    ):
        if _solved(x, pulled, 0.0, 0.0):
            weight = np.where(z == 0, 1.0, pulled / np.where(z == 0, 1.0, z))
            yield ModelFit("robust line", x, pulled / stated_scale, weight / stated_scale**2)


def _with_alike_groups(output: Any, x: Floats, answer: Floats, beta: Floats) -> Iterator[ModelFit]:
    r"""Equations of groups whose rows
    correlate alike: :math:`\sum_g D_g^\top V_g^{-1} (y_g - \mu_g) = 0` (Liang and Zeger 1986,
    doi:10.1093/biomet/73.1.13).
    """
    alike = number_of(peek(output, "model.cov_struct.dep_params"))
    group = (
        None
        if peek(output, "model.groups") is None
        else codes_of(peek(output, "model.groups"), len(x))
    )
    if alike is None or group is None or not -1 < alike < 1:
        return
    size = np.bincount(group)[group]
    shift = offset_of(output, len(x))
    used = tuple(one for one in (group.astype(np.float64), shift) if np.ptp(one) > 0)
    for one in means(output, x @ beta + shift, answer):
        root = np.sqrt(one.variance)
        apart = (answer - one.mean) / root
        summed = np.bincount(group, weights=apart)[group]
        rest = one.slope / root * (apart - alike / (1 + (size - 1) * alike) * summed) / (1 - alike)
        if _solved(x, rest, 0.0, _near(x, answer, one.slope / one.variance)):
            yield ModelFit("groups", x, rest, one.slope**2 / one.variance, used, None, one.endless)


def _with_groups(output: Any, design: Floats, answer: Floats) -> Iterator[ModelFit]:
    r"""A line with random effects of groups: :math:`X^\top V^{-1}(y - X\beta) = 0`, with the
    likeliest variances, of the whole or of what is left (Laird and Ware 1982, doi:10.2307/2529876).
    """
    beta, scale = vector_of(peek(output, "fe_params")), number_of(peek(output, "scale"))
    spread = array_of(peek(output, "cov_re")) if peek(output, "cov_re") is not None else None
    z = (
        array_of(peek(output, "model.exog_re"))
        if peek(output, "model.exog_re") is not None
        else None
    )
    group = (
        None
        if peek(output, "model.groups") is None
        else codes_of(peek(output, "model.groups"), len(design))
    )
    if (
        beta is None
        or len(beta) != design.shape[1]
        or spread is None
        or z is None
        or group is None
        or not scale
    ):
        return
    z = z.reshape(len(z), -1)
    if (
        len(z) != len(design)
        or spread.shape != (z.shape[1], z.shape[1])
        or number_of(peek(output, "model.k_vc"))
    ):
        return
    mixed = _Mixed.of(design, z, group, answer - design @ beta)
    rest = mixed.weighed(scale, spread)
    if not _solved(
        design, rest, 0.0, _near(design, answer, np.full(len(design), 1 / scale))
    ) or not mixed.likeliest(scale, spread):
        return
    more = (
        *((f"variance {at + 1}", float(one)) for at, one in enumerate(np.diag(spread))),
        ("variance left", scale),
    )
    used = (group.astype(np.float64), *(column for column in z.T if np.ptp(column) > 0))
    yield ModelFit("random effects", design, rest, np.full(len(design), 1 / scale), used, more=more)


@dataclasses.dataclass(frozen=True, eq=False)
class _Mixed:
    """The sums per group that the likelihood of a line with random effects needs."""

    z: Floats
    group: Codes
    rest: Floats
    zz: Floats
    zx: Floats
    zr: Floats
    xx: Floats

    @classmethod
    def of(cls, x: Floats, z: Floats, group: Codes, rest: Floats) -> _Mixed:
        def summed(other: Floats) -> Floats:
            sums = np.zeros((int(group.max()) + 1, z.shape[1], other.shape[1]))
            np.add.at(sums, group, z[:, :, None] * other[:, None, :])
            return sums

        return cls(z, group, rest, summed(z), summed(x), summed(rest[:, None]), x.T @ x)

    def _inner(self, scale: float, spread: Floats) -> Floats:
        return spread @ np.linalg.inv(scale * np.eye(len(spread)) + self.zz @ spread)

    def weighed(self, scale: float, spread: Floats) -> Floats:
        """What is left of every row, by the inverse of how rows of its group go together."""
        effect = (self._inner(scale, spread) @ self.zr)[:, :, 0]
        residuals: Floats = (self.rest - (self.z * effect[self.group]).sum(axis=1)) / scale
        return residuals

    def likelihood(self, scale: float, spread: Floats, *, restricted: bool) -> float:
        """Its logarithm, but for a constant."""
        inner = self._inner(scale, spread)
        inside = np.linalg.slogdet(np.eye(len(spread)) + self.zz @ spread / scale)[1].sum()
        squares = self.rest @ self.rest - (self.zr * (inner @ self.zr)).sum()
        total = len(self.rest) * np.log(scale) + inside + squares / scale
        if restricted:
            information = (self.xx - np.einsum("gki,gkl,glj->ij", self.zx, inner, self.zx)) / scale
            total += np.linalg.slogdet(information)[1]
        return -0.5 * float(total)

    def likeliest(self, scale: float, spread: Floats) -> bool:
        """Whether variances a little smaller or larger are less likely."""
        others = [(scale * by, spread) for by in (1 - WITHIN, 1 + WITHIN)]
        for at in range(len(spread)):
            for by in (-WITHIN, WITHIN):
                changed = spread.copy()
                changed[at, at] *= 1 + by
                others.append((scale, changed))
        for restricted in (True, False):
            likelihood = self.likelihood(scale, spread, restricted=restricted)
            if all(
                self.likelihood(*one, restricted=restricted) <= likelihood + 1e-3 for one in others
            ):
                return True
        return False


# Standard errors


def errors_fit(output: Any, fit: ModelFit) -> bool:
    """Whether standard errors, statistics and p values told beside coefficients can be theirs."""
    beta, error, statistic, p = (
        _flat(peek(output, name)) for name in ("params", "bse", "tvalues", "pvalues")
    )
    if beta is None:
        return True
    if error is None:
        return statistic is None and p is None
    if len(error) != len(beta) or not (np.nan_to_num(error, nan=1.0) >= 0).all():
        return False
    with np.errstate(all="ignore"):
        own = beta / error
        if statistic is not None and not np.allclose(
            statistic, own, rtol=1e-4, atol=1e-8, equal_nan=True
        ):
            return False
        if p is not None and not _are_p_values(p, own, len(fit.x) - fit.x.shape[1]):
            return False
        return _near_usual(error, fit)


def _flat(thing: Any) -> Floats | None:
    values = None if thing is None else array_of(thing)
    return None if values is None or values.ndim > 2 else values.T.reshape(-1)


def _are_p_values(p: Floats, statistic: Floats, degrees: int) -> bool:
    from scipy import stats

    ways = [
        2 * stats.norm.sf(np.abs(statistic)),
        2 * stats.t.sf(np.abs(statistic), max(1, degrees)),
    ]
    return any(
        len(p) == len(one) and np.allclose(p, one, rtol=1e-3, atol=1e-6, equal_nan=True)
        for one in ways
    )


def _near_usual(error: Floats, fit: ModelFit) -> bool:
    """Whether errors are about as large as the usual ones of the fit, by its own spread or by that
    of what is left.
    """
    rest, weight = (one if one.ndim == 2 else one[:, None] for one in (fit.rest, fit.weight))
    usual, spread = [], []
    for residuals, says in zip(rest.T, weight.T, strict=True):
        usual.append(np.sqrt(np.abs(np.diag(np.linalg.pinv((fit.x * says[:, None]).T @ fit.x)))))
        spread.append(
            np.full(fit.x.shape[1], np.sqrt(np.mean(residuals**2 / np.maximum(says, 1e-300))))
        )
    own, by = np.concatenate(usual), np.concatenate(spread)
    stated_errors = error[: len(own)]
    return len(stated_errors) == len(own) and any(
        bool(
            (
                (stated_errors <= ERRORS * one + 1e-12) & (stated_errors * ERRORS >= one - 1e-12)
            ).all()
        )
        for one in (own, own * by)
    )
