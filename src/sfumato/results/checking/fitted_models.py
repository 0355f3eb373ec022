"""Fitted models and correlations: what they leave free, and whether they are what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.results.checking.contributing_records import Behind, how_many
from sfumato.results.checking.designs import (
    SURE,
    TOO_MUCH_WORK,
    judge_design,
    judge_outcome,
    judge_quantiles,
)
from sfumato.results.checking.fitted_data import MadeOf
from sfumato.results.checking.layout import strange_number
from sfumato.results.checking.model_equations import (
    ModelFit,
    coefficients_in,
    errors_fit,
    fit_of,
    offset_of,
    weights_of,
)
from sfumato.results.checking.record_sets import CellSource, sets_of_levels
from sfumato.results.checking.untrusted_objects import (
    ReadOnce,
    array_of,
    names_of,
    number_of,
    peek,
    read_once,
    vector_of,
)
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    OutputVerdict,
    broken,
    open_question,
    passed,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

INFLUENCE = ("hat_matrix_diag", "cooks_distance", "dfbetas", "resid_studentized")
HOLDS_RECORDS = (
    "support_vectors_",
    "_fit_X",
    "X_train_",
    "X_fit_",
    "exemplars_",
    "cluster_centers_indices_",
    "core_sample_indices_",
    "medoid_indices_",
)
HOLDS_EXTREMES = ("data_min_", "data_max_", "max_abs_", "X_min_", "X_max_")

MODEL = (
    "params",
    "params.index",
    "coef_",
    "intercept_",
    "fit_intercept",
    "feature_names_in_",
    "bse",
    "tvalues",
    "pvalues",
    "nobs",
    "df_resid",
    "rsquared",
    "C",
    "alpha",
    "l1_ratio",
    "scale",
    "q",
    "fe_params",
    "cov_re",
    "penalizer",
    "params_",
    "params_.index",
    "standard_errors_",
    "duration_col",
    "event_col",
    "durations",
    "event_observed",
    "strata",
    "model.exog",
    "model.endog",
    "model.exog_names",
    "model.weights",
    "model.freq_weights",
    "model.var_weights",
    "model.offset",
    "model.exposure",
    "model.status",
    "model.strata",
    "model.entry",
    "model.groups",
    "model.exog_re",
    "model.k_vc",
    "model.cov_struct.dep_params",
    "model.family.alpha",
    "model.family.var_power",
)
"""What is read of a model."""
SAME_NAMES = {"params": "params_", "params.index": "params_.index", "bse": "standard_errors_"}
"""What lifelines calls otherwise."""


def read_model(output: Any) -> ReadOnce:
    """What is read of a model, each part once, under the names that statsmodels has for it."""
    read = read_once(output, MODEL)
    for ours, theirs in SAME_NAMES.items():
        if read.held[ours] is None:
            read.held[ours] = read.held[theirs]
    return read


def judge_model(
    output: Any,
    rules: OutputRules,
    behind: Behind | None,
    *,
    features: list[str] | None,
    persons: float | None = None,
    column: str | None = None,
) -> OutputVerdict:
    """A regression, as statsmodels, scikit-learn and lifelines leave it: judged by its design, by
    the persons behind it, and by whether it is what it says.
    """
    output = read_model(output)
    design, answer, question = _design(output, behind, features, column)
    reasons: list[OutputReason] = [] if question is None else [question]
    who, more = _who(design, behind)
    reasons += more + _contradictions(output, design, behind, persons)
    fit = None if design is None or answer is None else fit_of(output, design, answer)
    outcome = _outcome(output, answer)
    claims = [one for one in (number_of(peek(output, "nobs")), persons) if one is not None]
    data_counts = [] if who is None else [float(how_many(who))]
    persons_at_least = min((*data_counts, *claims), default=None)
    more = _confirmed(output, design, answer, fit, behind, rules)
    reasons += more
    if not claims and design is not None and any(one.rule == "recomputed" for one in more):
        reasons.append(
            open_question(
                "counts",
                "the model does not say how many persons it was fitted to; all of the data were"
                " taken for them",
                "say what it explains (column=...), so that it can be computed again, or"
                " counts=...",
            )
        )
    free = (
        persons_at_least
        if persons_at_least is None
        else min(persons_at_least, _with_event(output, outcome, who))
    )
    reasons += freedom(
        free, _parameters(output, design), number_of(peek(output, "df_resid")), rules
    )
    if design is not None and fit is None and not _fits_columns(output, design.shape[1]):
        words = "the model has another number of coefficients than its design has columns"
        reasons.append(
            open_question("records", words, "name all features of the model (features=...)")
        )
    if design is not None and who is not None and len(who) == len(design):
        reasons += _of_design(output, design, outcome, who, fit, rules)
    elif question is None:
        reasons.append(
            open_question(
                "records",
                "the design of the model is not there, so that rare levels cannot be seen",
                "give data=... with the columns of the model",
            )
        )
    r_squared = number_of(peek(output, "rsquared"))
    if (r_squared is not None and r_squared >= SURE) or _without_error(design, answer):
        reasons.append(
            broken(
                "fit",
                "the model fits without error: its coefficients tell every value",
                "give out no model that fits perfectly",
            )
        )
    table, persons_known = (
        coefficients(output, fit),
        None if persons_at_least is None else int(persons_at_least),
    )
    return OutputVerdict(
        "regression", tuple(reasons), persons_known, table, cells=_cells(design, answer, behind)
    )


def _cells(
    design: NDArray[np.float64] | None, answer: NDArray[np.float64] | None, behind: Behind | None
) -> CellSource | None:
    """What a model of levels alone tells, which is a table; None for models with other terms, of
    which only the whole of the records is compared.
    """
    if behind is None or design is None or answer is None or len(design) != len(behind):
        return None
    if not np.isin(design, (0.0, 1.0)).all():
        return None
    return lambda: sets_of_levels(design, MadeOf(behind).name_of(answer))


def _outcome(output: Any, answer: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """What coefficients are estimated from: of a time until something happens, whether it did."""
    happened = vector_of(peek(output, "model.status"))
    return (
        answer if happened is None or answer is None or len(happened) != len(answer) else happened
    )


def _with_event(
    output: Any, outcome: NDArray[np.float64] | None, who: NDArray[np.int64] | None
) -> float:
    """How many persons Cox's regression learns from: those to whom it happened; no bound for other
    models.
    """
    if (
        peek(output, "model.status") is None
        or outcome is None
        or who is None
        or len(who) != len(outcome)
    ):
        return float("inf")
    return float(how_many(who[outcome != 0]))


def _of_design(
    output: Any,
    design: NDArray[np.float64],
    outcome: NDArray[np.float64] | None,
    who: NDArray[np.int64],
    fit: ModelFit | None,
    rules: OutputRules,
) -> list[OutputReason]:
    """What the terms and the outcome of a model give away."""
    names = _terms(output, design.shape[1])
    several = fit is not None and fit.rest.ndim == 2
    weights = None  # several outcomes weigh rows differently
    if fit is None:
        weights = weights_of(output, len(design))
    elif not several:
        weights = fit.weight
    of_events = peek(output, "model.status") is not None
    reasons = judge_design(design, None if several else outcome, who, rules, names, weights)
    if outcome is None:
        return reasons
    more = judge_outcome(outcome, design, who, rules, names, kinds=several, of_events=of_events)
    if (
        fit is not None
        and not fit.ends
        and not any(one.status == "fail" for one in (*reasons, *more))
    ):
        words = (
            "the coefficients grow without end: some terms tell what everybody they are about has"
            " in common"
        )
        more.append(broken("separation", words, "leave these terms out, or join levels"))
    return [one for one in reasons if one.status != "pass" or not more] + more


def _contradictions(
    output: Any, design: NDArray[np.float64] | None, behind: Behind | None, persons: float | None
) -> list[OutputReason]:
    """What is said of the number of persons and of what they leave free, against the design and the
    records.
    """
    rows = None if design is None else len(design)
    observations, degrees = number_of(peek(output, "nobs")), number_of(peek(output, "df_resid"))
    weights = vector_of(peek(output, "model.freq_weights"))
    weighted = (
        rows is not None
        and weights is not None
        and len(weights) == rows
        and bool((weights != 1).any())
    )
    reasons = []
    if weighted:
        words = "the model counts frequency weights as observations: weights do not count persons"
        reasons.append(open_question("counts", words, "fit it without frequency weights"))
    elif rows is not None and observations is not None and observations != rows:
        words = "the model says another number of observations than its design has rows"
        reasons.append(broken("counts", words, "give the model as it was fitted"))
    if rows is not None and persons is not None and persons > rows:
        words = "more persons are said to be behind the model than its design has rows"
        reasons.append(broken("counts", words, "leave counts away: the design tells them"))
    if behind is not None and rows is not None and rows > len(behind):
        words = "the model has more rows than the data"
        reasons.append(broken("records", words, "give the records the model was fitted to"))
    if (
        design is not None
        and degrees is not None
        and not weighted
        and degrees > _most_free(design) + 1e-6
    ):
        words = (
            "the model says that it leaves more degrees of freedom than its rows less its"
            " coefficients"
        )
        reasons.append(broken("residual_df", words, "give the model as it was fitted"))
    return reasons


def _most_free(design: NDArray[np.float64]) -> int:
    return max(0, len(design) - int(np.linalg.matrix_rank(design)))


def _confirmed(
    output: Any,
    design: NDArray[np.float64] | None,
    answer: NDArray[np.float64] | None,
    fit: ModelFit | None,
    behind: Behind | None,
    rules: OutputRules,
) -> list[OutputReason]:
    """Questions where it is not known that the coefficients are those of a fit to the design, and
    the design is made of the records.
    """
    if design is None:
        return []
    if answer is None:
        words = "the coefficients were not computed again: what the model explains is not known"
        return [open_question("recomputed", words, "say it: column='cost'")]
    reasons = []
    look = "somebody must look at how it was fitted"
    level, beta = number_of(peek(output, "q")), coefficients_in(output, design.shape[1])
    if fit is None and level is not None and 0 < level < 1 and beta is not None:
        reasons += judge_quantiles(design[:, beta[1]], answer, beta[0], rules)
    elif fit is None:
        words = "the coefficients are not those of a fit that is computed again here, to these data"
        reasons.append(open_question("recomputed", words, look))
    elif not errors_fit(output, fit):
        words = (
            "the standard errors, statistics or p values are not such as these coefficients have"
        )
        reasons.append(open_question("recomputed", words, look))
    if peek(output, "model.exog") is None:
        return reasons + _chosen_numbers(output)
    if behind is None:
        words = (
            "the model was computed again from the columns that it keeps: whether they are those of"
            " the records is not known"
        )
        reasons.append(
            open_question("records", words, "give the records that it was fitted to (data=...)")
        )
    elif len(design) == len(behind):
        reasons += _made(output, design, answer, fit, MadeOf(behind), rules)
    return reasons + _chosen_numbers(output)


USUAL = (1.0, 2.0, 5.0)
SHARES = (0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99, 1.0)
"""Penalties, times powers of ten, and shares of them that are in use; others may be values."""


def _chosen_numbers(output: Any) -> list[OutputReason]:
    """Penalties and other numbers that somebody chose for a fit, where they are not such as
    people choose: coefficients tell them.
    """
    names = [
        number_of(peek(output, one))
        for one in ("C", "alpha", "penalizer", "model.family.alpha", "model.family.var_power")
    ]
    strange = sum(one is not None and one != 0 and not _is_usual(one) for one in names)
    share = number_of(peek(output, "l1_ratio"))
    strange += share is not None and not any(abs(share - one) <= 1e-12 for one in SHARES)
    if not strange:
        return []
    words = (
        f"{strange:,} numbers that were chosen for the fit (a penalty, say) are not round: the"
        " coefficients tell them"
    )
    return [
        open_question(
            "chosen", words, "choose a power of ten, or let somebody look at where it comes from"
        )
    ]


def _is_usual(number: float) -> bool:
    """Whether a number is one, two or five times a power of ten, or one and a half.

    >>> [_is_usual(one) for one in (0.05, 100.0, 1.5, 57.0)]
    [True, True, True, False]
    """
    if number == 1.5:  # a power of the variance between those of Poisson and gamma
        return True
    if number <= 0:
        return False
    lead = number / 10.0 ** np.floor(np.log10(number) + 1e-9)
    return any(abs(lead - one) <= 1e-9 for one in USUAL)


def _made(
    output: Any,
    design: NDArray[np.float64],
    answer: NDArray[np.float64],
    fit: ModelFit | None,
    sources: MadeOf,
    rules: OutputRules,
) -> list[OutputReason]:
    """Whether all that a model was fitted to is made of columns of the records, and its terms are
    called by them.
    """
    several = fit is not None and fit.rest.ndim == 2
    offset, weight = offset_of(output, len(design)), weights_of(output, len(design))
    besides = (weight,) if fit is None else fit.used
    happened = vector_of(peek(output, "model.status"))
    strange = sources.unexplained(design) + (
        not (sources.explains(answer) if several else sources.exactly(answer))
    )
    strange += bool(offset.any()) and not sources.exactly(offset)
    for one in (*besides, *(() if happened is None else (happened,))):
        if np.array_equal(one, offset):
            continue
        weighs = fit is None or (fit.prior is not None and np.array_equal(one, fit.prior))
        strange += not (
            sources.in_proportion(one)
            if weighs
            else sources.exactly(one) or sources.explains_groups(one)
        )
    reasons = []
    if strange:
        words = (
            f"{strange:,} columns that the model was fitted to, or weighted by, are not columns of"
            " the data, nor such as leave nothing to choose"
        )
        advice = (
            "give the data with the columns as the model saw them; fit it to columns, not to"
            " numbers computed on the way"
        )
        reasons.append(open_question("records", words, advice))
    terms = enumerate(_terms(output, design.shape[1]))
    names = sum(
        strange_number(name, place, sources.behind, rules.threshold) for place, name in terms
    )
    if names:
        words = f"the names of {names:,} terms hold numbers that may be values"
        reasons.append(open_question("columns", words, "call terms by their columns"))
    return reasons


def _without_error(design: NDArray[np.float64] | None, answer: NDArray[np.float64] | None) -> bool:
    """Whether a straight line through the design tells every value, which differ."""
    if design is None or answer is None or len(answer) != len(design) or np.ptp(answer) == 0:
        return False
    if design.shape[0] * design.shape[1] ** 2 > TOO_MUCH_WORK:
        return False
    rest = answer - design @ np.linalg.lstsq(design, answer, rcond=None)[0]
    return bool(rest @ rest <= (1 - SURE) * ((answer - answer.mean()) ** 2).sum())


def coefficients(output: Any, fit: ModelFit | None = None) -> pl.DataFrame | None:
    """What leaves of a model: its terms with coefficients and, where there are any, standard
    errors, statistics and p values; of several outcomes one block each.
    """
    values = array_of(peek(output, "params")) if peek(output, "params") is not None else None
    if values is None:
        slopes, constant = (
            array_of(peek(output, one)) if peek(output, one) is not None else None
            for one in ("coef_", "intercept_")
        )
        if slopes is None or slopes.ndim not in (1, 2):
            return None
        values = np.atleast_2d(slopes).T
        values = (
            values
            if constant is None or constant.size != values.shape[1]
            else np.vstack([constant.reshape(1, -1), values])
        )
    if values.ndim > 2 or not values.size:
        return None
    blocks = values.reshape(len(values), -1)
    columns: dict[str, Any] = {
        "term": _terms(output, len(blocks)) * blocks.shape[1],
        "coefficient": blocks.T.reshape(-1),
    }
    if blocks.shape[1] > 1:
        columns["outcome"] = np.repeat(np.arange(1, blocks.shape[1] + 1), len(blocks))
    for name, path in (("standard_error", "bse"), ("statistic", "tvalues"), ("p_value", "pvalues")):
        numbers = array_of(peek(output, path)) if peek(output, path) is not None else None
        if numbers is not None and numbers.shape == values.shape:
            columns[name] = numbers.reshape(len(values), -1).T.reshape(-1)
    table = pl.DataFrame(columns)
    own = fit.x.shape[1] if fit is not None and fit.more else len(table)
    return table if own == len(table) or fit is None else _with_variances(table.head(own), fit)


def _with_variances(terms: pl.DataFrame, fit: ModelFit) -> pl.DataFrame:
    """The terms of a line, and beside them the variances that were confirmed."""
    names, values = zip(*fit.more, strict=True)
    return pl.concat([terms, pl.DataFrame({"term": names, "coefficient": values})], how="diagonal")


def _terms(output: Any, count: int) -> list[str]:
    for path in ("params.index", "model.exog_names", "feature_names_in_"):
        names = names_of(peek(output, path))
        if names is not None and len(names) == count:
            return names
        if names is not None and len(names) == count - 1:
            return ["intercept", *names]
    return [f"term {number}" for number in range(1, count + 1)]


def _design(
    output: Any, behind: Behind | None, features: list[str] | None, column: str | None
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None, OutputReason | None]:
    """The matrix that a model was fitted to and what it explains; a question where it cannot be
    had.
    """
    exog = array_of(peek(output, "model.exog")) if peek(output, "model.exog") is not None else None
    if exog is not None and not exog.size:
        return (
            None,
            None,
            open_question("records", "the model was fitted to no records", "fit it to some"),
        )
    if exog is not None and exog.ndim == 2 and np.isfinite(exog).all():
        answer = vector_of(peek(output, "model.endog"))
        return exog, answer if answer is not None and len(answer) == len(exog) else None, None
    of_risks = peek(output, "durations") is not None
    names = features or names_of(peek(output, "params_.index" if of_risks else "feature_names_in_"))
    if behind is None or names is None:
        return None, None, None
    times = [peek(output, "duration_col"), peek(output, "event_col")] if of_risks else []
    strange = [
        one
        for one in (*names, *times)
        if one not in behind.dataset.columns or not behind.is_numeric(one)
    ]
    if strange:
        words = f"{len(strange):,} features of the model are no columns of numbers of the data"
        return None, None, open_question("records", words, "give the data as the model saw them")
    columns = [behind.numbers(name) for name in names]
    design = np.column_stack([*([] if of_risks else [np.ones(len(behind))]), *columns])
    answer = None if column is None else behind.ordered(column)
    if of_risks and peek(output, "strata") is not None:
        words = "the strata of the model were not looked at"
        return (
            None,
            None,
            open_question("recomputed", words, "fit it without strata, with them as terms"),
        )
    if of_risks:
        answer = behind.numbers(times[0])
        output.held["model.status"] = behind.numbers(times[1])
    if np.isnan(design).any() or (answer is not None and np.isnan(answer).any()):
        words = (
            "columns of the model are missing in some records: which it was fitted to is not known"
        )
        return None, None, open_question("records", words, "say which: where=...")
    return design, answer, None


def _fits_columns(output: Any, columns: int) -> bool:
    """Whether a model has a coefficient a column, or several sets of them; a constant may be told
    apart.
    """
    values = vector_of(peek(output, "params"))
    if values is not None:
        return len(values) == columns
    coefficients_read = array_of(peek(output, "coef_"))
    return (
        coefficients_read is not None
        and coefficients_read.ndim in (1, 2)
        and coefficients_read.shape[-1] in (columns, columns - 1)
    )


def _parameters(output: Any, design: NDArray[np.float64] | None) -> int | None:
    """How many coefficients a model has."""
    values = array_of(peek(output, "params")) if peek(output, "params") is not None else None
    if values is not None:
        return int(values.size)
    coefficients_read = array_of(peek(output, "coef_"))
    if coefficients_read is not None:
        return int(coefficients_read.size) + len(np.atleast_2d(coefficients_read))
    return None if design is None else design.shape[1]


def _who(
    design: NDArray[np.float64] | None, behind: Behind | None
) -> tuple[NDArray[np.int64] | None, list[OutputReason]]:
    """Per row of the design its person; a question where rows and persons cannot be brought
    together.
    """
    if behind is None:
        return (None if design is None else np.arange(len(design))), []
    if design is None or len(design) == len(behind):
        return behind.who, []
    return np.arange(len(design)), [
        open_question(
            "records",
            "the model has another number of rows than the data: whose they are is not known",
            "give the records the model was fitted to (where=...)",
        )
    ]


def freedom(
    persons: float | None, count: int | None, stated: float | None, rules: OutputRules
) -> list[OutputReason]:
    """Whether a model leaves enough degrees of freedom: persons less coefficients."""
    if persons is None or count is None:
        degrees = stated
    else:
        degrees = min(persons - count, persons - count if stated is None else stated)
    if degrees is None:
        return [
            open_question(
                "residual_df",
                "how many persons and coefficients the model has is not known",
                "give data=..., or counts=...",
            )
        ]
    if degrees < rules.residual_df:
        return [
            broken(
                "residual_df",
                f"the model leaves fewer than {rules.residual_df} degrees of freedom",
                "fit fewer terms, or to more persons",
            )
        ]
    return [
        passed("residual_df", f"the model leaves at least {rules.residual_df} degrees of freedom")
    ]


# What is no regression


def judge_influence(rules: OutputRules) -> OutputVerdict:
    """Leverages, residuals and their kin are figures per record."""
    reason = broken(
        "per record",
        "leverages, residuals and distances are figures per record, which are never given out",
        "tell how many records are beyond a bound instead",
    )
    return OutputVerdict("influence", (reason,))


def judge_keeper(rules: OutputRules) -> OutputVerdict:
    """A model that keeps records of persons gives them away."""
    reason = broken(
        "per record",
        "the model keeps records of persons inside",
        "give out a model that keeps coefficients only",
    )
    return OutputVerdict("model that keeps records", (reason,))


def judge_scale(rules: OutputRules) -> OutputVerdict:
    """A scale between the lowest and the highest value tells both."""
    words = "the object keeps the lowest and the highest values, which are those of single persons"
    return OutputVerdict(
        "scale", (broken("extreme", words, "scale by means and deviations, or by public bounds"),)
    )
