"""Fitted models and correlations: what they leave free, and whether they are what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.outputs.checking.behind import Behind, how_many
from sfumato.outputs.checking.confirming import MadeOf, errors_fit, solves, used_weights
from sfumato.outputs.checking.designs import SURE, TOO_MUCH_WORK, judge_design, largest_shares, rare_columns
from sfumato.outputs.checking.peeking import array_of, names_of, number_of, peek, read_once, vector_of
from sfumato.outputs.checking.verdict import OutputReason, OutputRules, OutputVerdict, broken, open_question, passed

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
    "params", "params.index", "coef_", "intercept_", "fit_intercept", "feature_names_in_", "bse", "tvalues", "pvalues", "nobs", "df_resid", "rsquared", "C", "alpha",
    "model.exog", "model.endog", "model.exog_names", "model.weights", "model.freq_weights",
)  # fmt: skip
"""What is read of a model."""


def judge_model(
    output: Any,
    rules: OutputRules,
    behind: Behind | None,
    *,
    features: list[str] | None,
    persons: float | None = None,
    column: str | None = None,
) -> OutputVerdict:
    """A regression, as statsmodels and scikit-learn leave it: judged by its design, by the persons behind it, and by whether it is what it says."""
    output = read_once(output, MODEL)
    shown = coefficients(output)
    design, answer, question = _design(output, behind, features, column)
    count = _parameters(output, design)
    reasons: list[OutputReason] = [] if question is None else [question]
    who, more = _who(design, behind)
    reasons += more + _contradictions(output, design, behind, persons)
    seen = how_many(who) if who is not None else None
    claims = [one for one in (number_of(peek(output, "nobs")), persons) if one is not None]
    known = min((one for one in (seen, *claims) if one is not None), default=None)
    sure, more = _confirmed(output, design, answer, behind)
    reasons += more
    if not claims and design is not None and not sure:
        reasons.append(
            open_question(
                "counts",
                "the model does not say how many persons it was fitted to; all of the data were taken for them",
                "say what it explains (column=...), so that it can be computed again, or counts=...",
            )
        )
    reasons += _freedom(known, count, number_of(peek(output, "df_resid")), rules)
    if design is not None and not _fits_columns(output, design.shape[1]):
        words = "the model has another number of coefficients than its design has columns"
        reasons.append(open_question("records", words, "name all features of the model (features=...)"))
    if design is not None and who is not None and len(who) == len(design):
        weights = used_weights(output, design, answer)
        reasons += judge_design(design, answer, who, rules, _terms(output, design.shape[1]), weights)
    elif question is None:
        reasons.append(
            open_question(
                "records",
                "the design of the model is not there, so that rare levels cannot be seen",
                "give data=... with the columns of the model",
            )
        )
    fit = number_of(peek(output, "rsquared"))
    if (fit is not None and fit >= SURE) or _without_error(design, answer):
        reasons.append(
            broken(
                "fit",
                "the model fits without error: its coefficients tell every value",
                "give out no model that fits perfectly",
            )
        )
    return OutputVerdict("regression", tuple(reasons), None if known is None else int(known), shown)


def _contradictions(
    output: Any, design: NDArray[np.float64] | None, behind: Behind | None, persons: float | None
) -> list[OutputReason]:
    """What is said of the number of persons and of what they leave free, against the design and the records."""
    rows = None if design is None else len(design)
    said, left = number_of(peek(output, "nobs")), number_of(peek(output, "df_resid"))
    weights = vector_of(peek(output, "model.freq_weights"))
    weighted = rows is not None and weights is not None and len(weights) == rows and bool((weights != 1).any())
    reasons = []
    if weighted:
        words = "the model counts frequency weights as observations: weights do not count persons"
        reasons.append(open_question("counts", words, "fit it without frequency weights"))
    elif rows is not None and said is not None and said != rows:
        words = "the model says another number of observations than its design has rows"
        reasons.append(broken("counts", words, "give the model as it was fitted"))
    if rows is not None and persons is not None and persons > rows:
        words = "more persons are said to be behind the model than its design has rows"
        reasons.append(broken("counts", words, "leave counts away: the design tells them"))
    if behind is not None and rows is not None and rows > len(behind):
        words = "the model has more rows than the data"
        reasons.append(broken("records", words, "give the records the model was fitted to"))
    if design is not None and left is not None and not weighted and left > _most_free(design) + 1e-6:
        words = "the model says that it leaves more degrees of freedom than its rows less its coefficients"
        reasons.append(broken("residual_df", words, "give the model as it was fitted"))
    return reasons


def _most_free(design: NDArray[np.float64]) -> int:
    return max(0, len(design) - int(np.linalg.matrix_rank(design)))


def _confirmed(
    output: Any, design: NDArray[np.float64] | None, answer: NDArray[np.float64] | None, behind: Behind | None
) -> tuple[bool, list[OutputReason]]:
    """Whether the coefficients are those of a fit to the design, and the design is made of the records; and questions where it is not known."""
    if design is None:
        return False, []
    if answer is None:
        words = "the coefficients were not computed again: what the model explains is not known"
        return False, [open_question("recomputed", words, "say it: column='cost'")]
    reasons = []
    if not solves(output, design, answer):
        words = "the coefficients are not those of a line, a logistic or a Poisson regression of these data"
        reasons.append(open_question("recomputed", words, "somebody must look at how it was fitted"))
    elif not errors_fit(output, design, answer):
        words = "the standard errors, statistics or p values are not such as these coefficients have"
        reasons.append(open_question("recomputed", words, "somebody must look at how it was fitted"))
    sure = not reasons
    if behind is not None and len(design) == len(behind) and peek(output, "model.exog") is not None:
        made = MadeOf(behind)
        strange = made.unexplained(design) + (not made.is_answer(answer))
        strange += not made.explains(used_weights(output, design, answer))
        if strange:
            words = (
                f"{strange:,} columns that the model was fitted to, or weighted by, are not made of columns of the data"
            )
            reasons.append(open_question("records", words, "give the data with the columns as the model saw them"))
    return sure, reasons


def _without_error(design: NDArray[np.float64] | None, answer: NDArray[np.float64] | None) -> bool:
    """Whether a straight line through the design tells every value, which differ."""
    if design is None or answer is None or len(answer) != len(design) or np.ptp(answer) == 0:
        return False
    if design.shape[0] * design.shape[1] ** 2 > TOO_MUCH_WORK:
        return False
    rest = answer - design @ np.linalg.lstsq(design, answer, rcond=None)[0]
    return bool(rest @ rest <= (1 - SURE) * ((answer - answer.mean()) ** 2).sum())


def coefficients(output: Any) -> pl.DataFrame | None:
    """What leaves of a model: its terms with coefficients and, where there are any, standard errors, statistics and p values."""
    values = vector_of(peek(output, "params"))
    if values is None:
        found = array_of(peek(output, "coef_"))
        values = None if found is None else found.reshape(-1)
        intercept = vector_of(peek(output, "intercept_"))
        values = np.r_[intercept, values] if values is not None and intercept is not None else values
    if values is None:
        return None
    columns: dict[str, Any] = {"term": _terms(output, len(values)), "coefficient": values}
    for name, path in (("standard_error", "bse"), ("statistic", "tvalues"), ("p_value", "pvalues")):
        found = vector_of(peek(output, path))
        if found is not None and len(found) == len(values):
            columns[name] = found
    return pl.DataFrame(columns)


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
    """The matrix that a model was fitted to and what it explains; a question where it cannot be had."""
    exog = array_of(peek(output, "model.exog")) if peek(output, "model.exog") is not None else None
    if exog is not None and exog.ndim == 2 and np.isfinite(exog).all():
        answer = vector_of(peek(output, "model.endog"))
        return exog, answer if answer is not None and len(answer) == len(exog) else None, None
    names = features or names_of(peek(output, "feature_names_in_"))
    if behind is None or names is None:
        return None, None, None
    lacking = [name for name in names if name not in behind.dataset.columns or not behind.is_numeric(name)]
    if lacking:
        return (
            None,
            None,
            open_question(
                "records",
                f"{len(lacking):,} features of the model are no columns of numbers of the data",
                "give the data as the model saw them",
            ),
        )
    columns = [behind.numbers(name) for name in names]
    design = np.column_stack([np.ones(len(behind)), *columns])
    answer = None if column is None else behind.numbers(column)
    if np.isnan(design).any() or (answer is not None and np.isnan(answer).any()):
        words = "columns of the model are missing in some records: which it was fitted to is not known"
        return None, None, open_question("records", words, "say which: where=...")
    return design, answer, None


def _fits_columns(output: Any, columns: int) -> bool:
    """Whether a model has a coefficient a column, or several sets of them; a constant may be told apart."""
    values = vector_of(peek(output, "params"))
    if values is not None:
        return len(values) == columns
    found = array_of(peek(output, "coef_"))
    return found is not None and found.ndim in (1, 2) and found.shape[-1] in (columns, columns - 1)


def _parameters(output: Any, design: NDArray[np.float64] | None) -> int | None:
    """How many coefficients a model has."""
    values = vector_of(peek(output, "params"))
    if values is not None:
        return len(values)
    found = array_of(peek(output, "coef_"))
    if found is not None:
        return int(found.size) + 1
    return None if design is None else design.shape[1]


def _who(
    design: NDArray[np.float64] | None, behind: Behind | None
) -> tuple[NDArray[np.int64] | None, list[OutputReason]]:
    """Per row of the design its person; a question where rows and persons cannot be brought together."""
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


def _freedom(known: float | None, count: int | None, said: float | None, rules: OutputRules) -> list[OutputReason]:
    """Whether a model leaves enough degrees of freedom: persons less coefficients."""
    if known is None or count is None:
        left = said
    else:
        left = min(known - count, known - count if said is None else said)
    if left is None:
        return [
            open_question(
                "residual_df",
                "how many persons and coefficients the model has is not known",
                "give data=..., or counts=...",
            )
        ]
    if left < rules.residual_df:
        return [
            broken(
                "residual_df",
                f"the model leaves fewer than {rules.residual_df} degrees of freedom",
                "fit fewer terms, or to more persons",
            )
        ]
    return [passed("residual_df", f"the model leaves at least {rules.residual_df} degrees of freedom")]


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
        "per record", "the model keeps records of persons inside", "give out a model that keeps coefficients only"
    )
    return OutputVerdict("model that keeps records", (reason,))


def judge_scale(rules: OutputRules) -> OutputVerdict:
    """A scale between the lowest and the highest value tells both."""
    words = "the object keeps the lowest and the highest values, which are those of single persons"
    return OutputVerdict("scale", (broken("extreme", words, "scale by means and deviations, or by public bounds"),))


def _correlations_of(columns: NDArray[np.float64], complete: NDArray[np.bool_], told: NDArray[np.float64]) -> bool:
    """Whether a matrix holds the correlations of columns, of their values or ranks, of complete rows or of pairs."""
    from scipy.stats import rankdata

    def of(one: NDArray[np.float64], ranks: bool) -> NDArray[np.float64]:
        both = np.apply_along_axis(rankdata, 0, one) if ranks else one
        with np.errstate(all="ignore"):
            return np.atleast_2d(np.corrcoef(both, rowvar=False))

    for ranks in (False, True):
        pairs = np.eye(columns.shape[1])
        for i in range(len(pairs)):
            for j in range(i):
                both = columns[:, [i, j]]
                pairs[i, j] = pairs[j, i] = of(both[~np.isnan(both).any(axis=1)], ranks)[0, 1]
        if any(np.allclose(told, one, atol=0.0051) for one in (of(columns[complete], ranks), pairs)):
            return True
    return False


def _few_vary(columns: NDArray[np.float64], who: NDArray[np.int64], rules: OutputRules) -> int:
    """Columns in which few persons have nearly all of the squared distance from the mean: such a column stands for them, like a dummy."""
    if not len(columns):
        return 0
    squares = (columns - columns.mean(axis=0)) ** 2
    largest = largest_shares(squares, who, rules.dominant)
    return int((largest.sum(axis=0) > rules.share / 100).sum())


def judge_correlation(
    frame: pl.DataFrame, behind: Behind | None, rules: OutputRules, persons: float | None
) -> OutputVerdict:
    """A matrix of correlations: enough persons with both values, and no two columns that are one."""
    names = [name for name in frame.columns if frame[name].dtype.is_numeric()]
    values = frame.select(names).cast(pl.Float64).fill_null(float("nan")).to_numpy()
    reasons: list[OutputReason] = []
    square = values.shape[0] == values.shape[1]
    beyond = bool((np.abs(values[~np.isnan(values)]) > 1 + 1e-9).any())
    if not square or beyond or not np.allclose(values, values.T, equal_nan=True):
        words = "this is no matrix of correlations: as many rows as columns, the same on both sides, between −1 and 1"
        reasons.append(open_question("kind", words, "give it out as the table it is (kind='table')"))
    apart = values[~np.eye(len(values), dtype=bool)] if square else values.reshape(-1)
    if (np.abs(apart[~np.isnan(apart)]) >= SURE).any():
        reasons.append(
            broken(
                "fit",
                "two columns are a straight line of each other: who knows one knows the other",
                "leave one of them out",
            )
        )
    if strange := [
        name for name in frame.columns if name not in names and not set(frame[name].to_list()) <= set(names)
    ]:
        words = f"{len(strange):,} columns hold something else than correlations and the names of columns"
        reasons.append(open_question("columns", words, "leave them out"))
    if behind is not None and all(name in behind.dataset.columns for name in names):
        columns = np.column_stack([behind.numbers(name) for name in names])
        complete: NDArray[np.bool_] = np.logical_not(np.isnan(columns).any(axis=1))
        told, persons = persons, float(how_many(behind.who[complete]))
        if told is not None and told not in (persons, float(behind.persons), float(len(behind))):
            words = "the counts given are not the number of persons that the records have"
            reasons.append(broken("counts", words, "leave counts away: the records tell them"))
        if square and not _correlations_of(columns, complete, values):
            words = "these are not the correlations of these records (Pearson's or Spearman's)"
            reasons.append(open_question("recomputed", words, "give the records they were computed from (where=...)"))
        if rare_columns(columns[complete], behind.who[complete], rules.threshold):
            reasons.append(
                broken("levels", f"some columns are about fewer than {rules.threshold} persons", "join rare levels")
            )
        elif few := _few_vary(columns[complete], behind.who[complete], rules):
            words = f"{few:,} columns differ from their means for few persons nearly alone: their correlations tell of these"
            reasons.append(broken("dominance", words, "cut off extreme values, or leave these columns out"))
    elif persons is not None:
        reasons.append(open_question("records", "rare levels of the columns cannot be seen", "give data=..."))
    reasons += _freedom(persons, 2, None, rules)
    return OutputVerdict("correlation", tuple(reasons), None if persons is None else int(persons), frame)
