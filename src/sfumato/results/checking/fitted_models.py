"""Fitted models: the degrees of freedom they leave, whether their coefficients are those of a fit
to the records, and what their terms and outcome reveal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.fields import Document
from sfumato.results.checking.contributing_records import ContributingRecords, count_persons
from sfumato.results.checking.designs import (
    SURE,
    TOO_MUCH_WORK,
    judge_design,
    judge_outcome,
    judge_quantiles,
)
from sfumato.results.checking.fitted_data import SourceColumns
from sfumato.results.checking.layout import has_unknown_number
from sfumato.results.checking.model_equations import (
    ModelFit,
    errors_fit,
    find_fit,
    offset_of,
    read_coefficients,
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
    confirmation,
    open_question,
    violation,
)

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Floats

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
"""Attributes of objects that hold figures per record, records, or extreme values."""

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
LIFELINES = {"params": "params_", "params.index": "params_.index", "bse": "standard_errors_"}
"""What lifelines calls otherwise than statsmodels."""
CHOSEN = ("C", "alpha", "penalizer", "model.family.alpha", "model.family.var_power")
"""Numbers that somebody chooses for a fit."""
ROUND = (1.0, 2.0, 5.0)
"""Penalties that are in use, times powers of ten; others may be values."""
L1_SHARES = (0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99, 1.0)
"""Shares of the lasso in an elastic net that are in use."""


def read_model(output: object) -> ReadOnce:
    """The parts of a model, each read once, under the names that statsmodels has for it."""
    model = read_once(output, MODEL)
    # Under one set of names the rest of the code need not know the library.
    for name, lifelines_name in LIFELINES.items():
        if model.parts[name] is None:
            model.parts[name] = model.parts[lifelines_name]
    return model


def judge_model(
    output: object,
    rules: OutputRules,
    records: ContributingRecords | None,
    *,
    features: list[str] | None,
    persons: float | None = None,
    column: str | None = None,
) -> OutputVerdict:
    """A regression, as statsmodels, scikit-learn and lifelines leave it: judged by its design, by
    the persons behind it, and by whether it is what it says.
    """
    model = read_model(output)
    design, answer, question = _find_design(model, records, features, column)
    reasons: list[OutputReason] = [] if question is None else [question]
    person_ids, questions = _match_persons(design, records)
    reasons += questions + _judge_contradictions(model, design, records, persons)
    if design is None or answer is None:
        fit = None
    else:
        fit = find_fit(model, design, answer)
    # Cox's regression explains a time; what it tells of somebody is whether the event happened.
    event = vector_of(peek(model, "model.status"))
    outcome = answer
    if answer is not None and event is not None and len(event) == len(answer):
        outcome = event
    # The smallest number of persons that the data, the model or the researcher says.
    claims = [claim for claim in (number_of(peek(model, "nobs")), persons) if claim is not None]
    counts = list(claims)
    if person_ids is not None:
        counts.append(float(count_persons(person_ids)))
    least_persons = min(counts, default=None)
    confirmation_reasons = _judge_coefficients(model, design, answer, fit, records, rules)
    reasons += confirmation_reasons
    not_recomputed = any(reason.rule == "recomputed" for reason in confirmation_reasons)
    if not claims and design is not None and not_recomputed:
        reasons.append(
            open_question(
                "counts",
                "the model does not say how many persons it was fitted to; all persons of the "
                "data are assumed",
                "say what it explains (column=...), so that it can be computed again, or give "
                "counts=...",
            )
        )
    informative = least_persons
    if least_persons is not None:
        informative = min(least_persons, _persons_with_event(model, outcome, person_ids))
    degrees = number_of(peek(model, "df_resid"))
    reasons += judge_freedom(informative, _count_coefficients(model, design), degrees, rules)
    # Where a fit was found, the number of columns was part of it.
    if design is not None and fit is None and not _fits_columns(model, design.shape[1]):
        words = "the model has another number of coefficients than its design has columns"
        reasons.append(
            open_question("records", words, "name all features of the model (features=...)")
        )
    if design is not None and person_ids is not None and len(person_ids) == len(design):
        reasons += _judge_terms(model, design, outcome, person_ids, fit, rules)
    elif question is None:
        words = "the design of the model is missing, so rare levels cannot be found"
        advice = "give data=... with the columns of the model"
        reasons.append(open_question("records", words, advice))
    r_squared = number_of(peek(model, "rsquared"))
    if (r_squared is not None and r_squared >= SURE) or _fits_without_error(design, answer):
        words = "the model fits without error: its coefficients reveal every value"
        reasons.append(violation("fit", words, "never release a model that fits perfectly"))
    return OutputVerdict(
        "regression",
        tuple(reasons),
        None if least_persons is None else int(least_persons),
        coefficient_table(model, fit),
        cells=_find_cells(design, answer, records),
    )


def _persons_with_event(model: ReadOnce, outcome: Floats | None, person_ids: Codes | None) -> float:
    """How many persons Cox's regression learns from: those with an event; no bound for other
    models.
    """
    if peek(model, "model.status") is None or outcome is None or person_ids is None:
        return float("inf")
    if len(person_ids) != len(outcome):
        return float("inf")
    return float(count_persons(person_ids[outcome != 0]))


def _find_cells(
    design: Floats | None, answer: Floats | None, records: ContributingRecords | None
) -> CellSource | None:
    """What a model of levels alone tells, which is a table; None for models with other terms, of
    which only the whole of the records is compared.
    """
    if records is None or design is None or answer is None or len(design) != len(records):
        return None
    # Dummies and the constant only: each column is the set of records that have the level.
    if not np.isin(design, (0.0, 1.0)).all():
        return None
    return lambda: sets_of_levels(design, SourceColumns(records).name_of(answer))


def _judge_terms(
    model: ReadOnce,
    design: Floats,
    outcome: Floats | None,
    person_ids: Codes,
    fit: ModelFit | None,
    rules: OutputRules,
) -> list[OutputReason]:
    """What the terms and the outcome of a model reveal."""
    names = _term_names(model, design.shape[1])
    by_outcome = fit is not None and fit.several_outcomes
    weights = None  # several outcomes weigh rows differently
    if fit is None:
        weights = weights_of(model, len(design))
    elif not by_outcome:
        weights = fit.weight
    explained = None if by_outcome else outcome
    reasons = judge_design(design, explained, person_ids, rules, names, weights)
    if outcome is None:
        return reasons
    of_events = peek(model, "model.status") is not None
    outcome_reasons = judge_outcome(
        outcome, design, person_ids, rules, names, kinds=by_outcome, of_events=of_events
    )
    fails = any(reason.status == "fail" for reason in (*reasons, *outcome_reasons))
    if fit is not None and not fails and not fit.converges:
        words = (
            "the coefficients grow without bound: some terms reveal what all their persons have "
            "in common"
        )
        advice = "leave these terms out, or join levels"
        outcome_reasons.append(violation("separation", words, advice))
    # A confirmation beside a failure of the same model would contradict it.
    if outcome_reasons:
        reasons = [reason for reason in reasons if reason.status != "pass"]
    return reasons + outcome_reasons


def _judge_contradictions(
    model: ReadOnce,
    design: Floats | None,
    records: ContributingRecords | None,
    persons: float | None,
) -> list[OutputReason]:
    """What is said of the number of persons and of what they leave free, against the design and the
    records.
    """
    if design is None:
        return []
    rows, reasons = len(design), []
    observations, degrees = number_of(peek(model, "nobs")), number_of(peek(model, "df_resid"))
    weights = vector_of(peek(model, "model.freq_weights"))
    weighted = weights is not None and len(weights) == rows and bool((weights != 1).any())
    if weighted:
        words = "the model counts frequency weights as observations: weights do not count persons"
        reasons.append(open_question("counts", words, "fit it without frequency weights"))
    elif observations is not None and observations != rows:
        words = "the model says another number of observations than its design has rows"
        reasons.append(violation("counts", words, "give the model as it was fitted"))
    if persons is not None and persons > rows:
        words = "more persons are given for the model than its design has rows"
        reasons.append(violation("counts", words, "leave counts away: they follow from the design"))
    if records is not None and rows > len(records):
        words = "the model has more rows than the data"
        reasons.append(violation("records", words, "give the records the model was fitted to"))
    # Frequency weights count rows several times, so degrees may exceed the rows.
    if degrees is not None and not weighted:
        largest_degrees = max(0, rows - int(np.linalg.matrix_rank(design)))
        if degrees > largest_degrees + 1e-6:
            words = "the model claims more degrees of freedom than its rows minus its coefficients"
            reasons.append(violation("residual_df", words, "give the model as it was fitted"))
    return reasons


def _judge_coefficients(
    model: ReadOnce,
    design: Floats | None,
    answer: Floats | None,
    fit: ModelFit | None,
    records: ContributingRecords | None,
    rules: OutputRules,
) -> list[OutputReason]:
    """Questions where it is not known that the coefficients are those of a fit to the design, and
    the design is made of the records.
    """
    if design is None:
        return []
    if answer is None:
        words = "the coefficients were not computed again: the explained column is unknown"
        return [open_question("recomputed", words, "say it: column='cost'")]
    reasons = []
    look = "a person must check how it was fitted"
    level, coefficients = number_of(peek(model, "q")), read_coefficients(model, design.shape[1])
    if fit is None and level is not None and 0 < level < 1 and coefficients is not None:
        beta, columns = coefficients
        reasons += judge_quantiles(design[:, columns], answer, beta, rules)
    elif fit is None:
        words = "the coefficients differ from those of a repeated fit to these data"
        reasons.append(open_question("recomputed", words, look))
    elif not errors_fit(model, fit):
        words = "the standard errors, statistics or p values do not match these coefficients"
        reasons.append(open_question("recomputed", words, look))
    if peek(model, "model.exog") is not None and records is None:
        words = (
            "the model was computed again from the columns that it stores: whether they are those "
            "of the records is unknown"
        )
        advice = "give the records that it was fitted to (data=...)"
        reasons.append(open_question("records", words, advice))
    elif peek(model, "model.exog") is not None and records is not None:
        sources = SourceColumns(records)
        # Columns can be compared only where the rows of the model are those of the records.
        if len(design) == len(records):
            reasons += _judge_sources(model, design, answer, fit, sources, rules)
    return reasons + _judge_chosen_numbers(model)


def _judge_chosen_numbers(model: ReadOnce) -> list[OutputReason]:
    """Penalties and other numbers that somebody chose for a fit, where they are not such as
    people choose: coefficients tell them.
    """
    unusual = 0
    for path in CHOSEN:
        number = number_of(peek(model, path))
        unusual += number is not None and number != 0 and not _is_usual(number)
    share = number_of(peek(model, "l1_ratio"))
    if share is not None and min(abs(share - usual) for usual in L1_SHARES) > 1e-12:
        unusual += 1
    if not unusual:
        return []
    words = (
        f"{unusual:,} numbers that were chosen for the fit (a penalty, say) are not round and may "
        "encode data"
    )
    advice = "choose a power of ten, or let a person check where it comes from"
    return [open_question("chosen", words, advice)]


def _is_usual(number: float) -> bool:
    """Whether a number is one, two or five times a power of ten, or one and a half.

    >>> [_is_usual(number) for number in (0.05, 100.0, 1.5, 57.0)]
    [True, True, True, False]
    """
    if number == 1.5:  # a power of the variance between those of Poisson and gamma
        return True
    if number <= 0:
        return False
    # 1e-9: the logarithm of 1000 may be a hair below 3, and the lead would be 10 instead of 1.
    lead = number / 10.0 ** np.floor(np.log10(number) + 1e-9)
    return any(abs(lead - digit) <= 1e-9 for digit in ROUND)


def _judge_sources(
    model: ReadOnce,
    design: Floats,
    answer: Floats,
    fit: ModelFit | None,
    sources: SourceColumns,
    rules: OutputRules,
) -> list[OutputReason]:
    """Whether all that a model was fitted to is made of columns of the records, and its terms are
    called by them.
    """
    by_outcome = fit is not None and fit.several_outcomes
    offset = offset_of(model, len(design))
    event = vector_of(peek(model, "model.status"))
    if fit is None:
        besides = [weights_of(model, len(design))]
    else:
        besides = list(fit.used)
    if event is not None:
        besides.append(event)
    unexplained = sources.count_unexplained(design)
    # Kinds of outcomes have no scale that could carry a value; numbers must be as they are.
    unexplained += not (sources.explains(answer) if by_outcome else sources.has_form(answer))
    unexplained += bool(offset.any()) and not sources.has_form(offset)
    for column in besides:
        # The offset was looked at above.
        if np.array_equal(column, offset):
            continue
        if fit is None or (fit.prior is not None and np.array_equal(column, fit.prior)):
            unexplained += not sources.is_proportional(column)
        else:
            unexplained += not (sources.has_form(column) or sources.explains_groups(column))
    reasons = []
    if unexplained:
        words = (
            f"{unexplained:,} columns of the fit or its weights are not columns of the data, nor "
            "determined by them"
        )
        advice = (
            "give the data with the columns as the model used them; fit it to columns, not to "
            "intermediate numbers"
        )
        reasons.append(open_question("records", words, advice))
    unclear = 0
    for position, name in enumerate(_term_names(model, design.shape[1])):
        unclear += has_unknown_number(name, position, sources.records, rules.threshold)
    if unclear:
        words = f"the names of {unclear:,} terms hold numbers that may be values"
        reasons.append(open_question("columns", words, "name terms after their columns"))
    return reasons


def _fits_without_error(design: Floats | None, answer: Floats | None) -> bool:
    """Whether a straight line through the design tells every value, which differ."""
    if design is None or answer is None or len(answer) != len(design) or np.ptp(answer) == 0:
        return False
    if design.shape[0] * design.shape[1] ** 2 > TOO_MUCH_WORK:
        return False
    residuals = answer - design @ np.linalg.lstsq(design, answer, rcond=None)[0]
    # In units of the variance of the answer: the same bound as for its explained share.
    return bool(residuals @ residuals <= (1 - SURE) * ((answer - answer.mean()) ** 2).sum())


def coefficient_table(model: ReadOnce, fit: ModelFit | None = None) -> pl.DataFrame | None:
    """What leaves of a model: its terms with coefficients and, where there are any, standard
    errors, statistics and p values; of several outcomes one block each.
    """
    values = array_of(peek(model, "params"))
    if values is None:
        slopes, constant = array_of(peek(model, "coef_")), array_of(peek(model, "intercept_"))
        if slopes is None or slopes.ndim not in (1, 2):
            return None
        # scikit-learn has a row per outcome, statsmodels a column.
        values = np.atleast_2d(slopes).T
        if constant is not None and constant.size == values.shape[1]:
            values = np.vstack([constant.reshape(1, -1), values])
    if values.ndim > 2 or not values.size:
        return None
    blocks = values.reshape(len(values), -1)
    terms, outcomes = blocks.shape
    columns: Document = {
        "term": _term_names(model, terms) * outcomes,
        "coefficient": blocks.T.reshape(-1),
    }
    if outcomes > 1:
        columns["outcome"] = np.repeat(np.arange(1, outcomes + 1), terms)
    for name, path in (("standard_error", "bse"), ("statistic", "tvalues"), ("p_value", "pvalues")):
        numbers = array_of(peek(model, path))
        if numbers is not None and numbers.shape == values.shape:
            columns[name] = numbers.reshape(terms, -1).T.reshape(-1)
    table = pl.DataFrame(columns)
    if fit is None or not fit.variances or fit.x.shape[1] == len(table):
        return table
    # Beside the terms of the line the variances that were confirmed, and no other numbers.
    names, variances = zip(*fit.variances, strict=True)
    confirmed = pl.DataFrame({"term": names, "coefficient": variances})
    return pl.concat([table.head(fit.x.shape[1]), confirmed], how="diagonal")


def _term_names(model: ReadOnce, count: int) -> list[str]:
    for path in ("params.index", "model.exog_names", "feature_names_in_"):
        names = names_of(peek(model, path))
        if names is not None and len(names) == count:
            return names
        # Names without the constant, which comes first.
        if names is not None and len(names) == count - 1:
            return ["intercept", *names]
    return [f"term {number}" for number in range(1, count + 1)]


def _find_design(
    model: ReadOnce,
    records: ContributingRecords | None,
    features: list[str] | None,
    column: str | None,
) -> tuple[Floats | None, Floats | None, OutputReason | None]:
    """The matrix that a model was fitted to and what it explains; a question where it cannot be
    had.
    """
    exog = array_of(peek(model, "model.exog"))
    if exog is not None and not exog.size:
        words = "the model was fitted to no records"
        return None, None, open_question("records", words, "fit it to some records")
    if exog is not None and exog.ndim == 2 and np.isfinite(exog).all():
        answer = vector_of(peek(model, "model.endog"))
        if answer is not None and not (len(answer) == len(exog) and np.isfinite(answer).all()):
            answer = None
        return exog, answer, None
    # A model that keeps no design: its columns are taken from the records.
    of_hazards = peek(model, "durations") is not None
    names = features or names_of(
        peek(model, "params_.index" if of_hazards else "feature_names_in_")
    )
    if records is None or names is None:
        return None, None, None
    if of_hazards:
        times = [peek(model, "duration_col"), peek(model, "event_col")]
    else:
        times = []
    unknown = 0
    for name in (*names, *times):
        unknown += name not in records.dataset.columns or not records.is_numeric(name)
    if unknown:
        words = f"{unknown:,} features of the model are not numeric columns of the data"
        return None, None, open_question("records", words, "give the data as the model used them")
    columns = [records.numbers(name) for name in names]
    answer = None if column is None else records.ordered(column)
    if of_hazards:
        if peek(model, "strata") is not None:
            words = "the strata of the model were not checked"
            advice = "fit it without strata, with them as terms"
            return None, None, open_question("recomputed", words, advice)
        answer = records.numbers(times[0])
        model.parts["model.status"] = records.numbers(times[1])
    else:
        columns.insert(0, np.ones(len(records)))
    design = np.column_stack(columns)
    # Which rows a library left out is not told, so no row can be matched.
    if np.isnan(design).any() or (answer is not None and np.isnan(answer).any()):
        words = (
            "columns of the model are missing in some records, so the fitted records are unknown"
        )
        return None, None, open_question("records", words, "say which: where=...")
    return design, answer, None


def _fits_columns(model: ReadOnce, columns: int) -> bool:
    """Whether a model has a coefficient a column, or several sets of them; a constant may be told
    apart.
    """
    values = vector_of(peek(model, "params"))
    if values is not None:
        return len(values) == columns
    slopes = array_of(peek(model, "coef_"))
    if slopes is None or slopes.ndim not in (1, 2):
        return False
    return slopes.shape[-1] in (columns, columns - 1)


def _count_coefficients(model: ReadOnce, design: Floats | None) -> int:
    """How many coefficients a model has; of one that does not say, a constant and the others of its
    design, or one.
    """
    values, slopes = array_of(peek(model, "params")), array_of(peek(model, "coef_"))
    if values is not None:
        return int(values.size)
    if slopes is not None:
        return int(slopes.size) + len(np.atleast_2d(slopes))
    return 2 if design is None else max(2, design.shape[1])


def _match_persons(
    design: Floats | None, records: ContributingRecords | None
) -> tuple[Codes | None, list[OutputReason]]:
    """Per row of the design its person; a question where rows and persons cannot be brought
    together.
    """
    if records is None:
        return (None if design is None else np.arange(len(design))), []
    if design is None or len(design) == len(records):
        return records.person_ids, []
    words = "the model has another number of rows than the data, so its records are unknown"
    advice = "give the records the model was fitted to (where=...)"
    return np.arange(len(design)), [open_question("records", words, advice)]


def judge_freedom(
    persons: float | None, coefficients: int, stated: float | None, rules: OutputRules
) -> list[OutputReason]:
    """Whether a model leaves enough degrees of freedom: persons less coefficients."""
    degrees = stated
    if persons is not None:
        degrees = persons - coefficients
        if stated is not None:
            # The more cautious of what is said and what is counted.
            degrees = min(degrees, stated)
    if degrees is None:
        words = "the numbers of persons and coefficients of the model are unknown"
        return [open_question("residual_df", words, "give data=..., or counts=...")]
    if degrees < rules.residual_df:
        words = f"the model leaves fewer than {rules.residual_df} degrees of freedom"
        return [violation("residual_df", words, "fit fewer terms, or to more persons")]
    words = f"the model leaves at least {rules.residual_df} degrees of freedom"
    return [confirmation("residual_df", words)]


# Objects of libraries that are no regression, and never leave


def refuse_influence() -> OutputVerdict:
    """Leverages, residuals and their kin are figures per record."""
    words = "leverages, residuals and distances are figures per record, which are never released"
    advice = "release how many records exceed a bound instead"
    return OutputVerdict("influence", (violation("per record", words, advice),))


def refuse_kept_records() -> OutputVerdict:
    """A model that keeps records of persons gives them away."""
    words = "the model stores records of persons inside"
    advice = "release a model that stores coefficients only"
    return OutputVerdict("model that stores records", (violation("per record", words, advice),))


def refuse_scale() -> OutputVerdict:
    """A scale between the lowest and the highest value tells both."""
    words = "the object stores the lowest and the highest values, which are those of single persons"
    advice = "scale by means and deviations, or by public bounds"
    return OutputVerdict("scale", (violation("extreme", words, advice),))
