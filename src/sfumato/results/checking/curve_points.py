"""Marks on a curve: steps of a survival curve, points of a ROC curve.

Every mark must stand for enough persons. Where it does not, marks are joined until they do, and
that version is suggested.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.errors import ParameterError, SchemaError
from sfumato.results.checking.contributing_records import how_many
from sfumato.results.checking.fitted_data import MadeOf
from sfumato.results.checking.record_sets import RecordSet, sets_of_steps
from sfumato.results.checking.untrusted_objects import frame_of, peek, vector_of
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

    from sfumato.results.checking.contributing_records import Behind

SURVIVAL = {
    "time": r"time|timeline|event_at|surv_times|duration|t",
    "events": r"observed|events|n_events|num_events|deaths|d",
    "at_risk": r"at_risk|n_risk|num_at_risk|n",
    "survival": r"survival|surv_prob|km_estimate|s|estimate",
    "censored": r"censored|n_censored",
}
DIGITS = 3


def joined(counts: Sequence[float], least: float) -> list[tuple[int, int]]:
    """Neighbours put together until each group counts enough: first and one past the last of every
    group; what is left goes to the last.

    >>> joined([4, 7, 2, 12, 3], 10), joined([1, 2], 10)
    ([(0, 2), (2, 5)], [])
    """
    groups, start, total = [], 0, 0.0
    for place, count in enumerate(counts):
        total += count
        if total >= least:
            groups.append((start, place + 1))
            start, total = place + 1, 0.0
    if groups and start < len(counts):
        groups[-1] = (groups[-1][0], len(counts))
    return groups


# Survival


def survival_frame(output: Any) -> pl.DataFrame | None:
    """The steps of a survival curve: time, events, at_risk and, where it is told, survival; None
    for what is none.

    Taken are fitters like those of lifelines (``event_table``), results like those of statsmodels
    (``surv_times``), and frames.
    """
    table = frame_of(events) if (events := peek(output, "event_table")) is not None else None
    if table is None and peek(output, "surv_times") is not None:
        parts = {
            "time": "surv_times",
            "events": "n_events",
            "at_risk": "n_risk",
            "survival": "surv_prob",
        }
        arrays = {name: vector_of(peek(output, path)) for name, path in parts.items()}
        columns = {name: one for name, one in arrays.items() if one is not None}
        table = pl.DataFrame(columns) if len({len(one) for one in columns.values()}) == 1 else None
    if table is None:
        table = frame_of(output)
    return None if table is None else _with_our_names(table)


def _with_our_names(table: pl.DataFrame) -> pl.DataFrame | None:
    names: dict[str, str] = {}
    for ours, pattern in SURVIVAL.items():
        same = [
            one
            for one in table.columns
            if re.fullmatch(pattern, re.sub(r"\W+", "_", one.strip().lower()))
        ]
        numeric = [one for one in same if table[one].dtype.is_numeric()]
        if numeric and numeric[0] not in names:
            names[numeric[0]] = ours
    if not {"time", "events", "at_risk"} <= set(names.values()):
        return None
    return table.select(list(names)).rename(names).cast(pl.Float64).sort("time")


def judge_survival(
    output: Any,
    rules: OutputRules,
    behind: Behind | None = None,
    features: Sequence[str] | None = None,
) -> OutputVerdict:
    """Every step of a survival curve must be the events of enough persons, and enough must be left
    at its end, or nobody.

    With records ``features`` are how long it took and whether it happened; fitters that keep both
    are asked themselves. Then steps are counted again, by persons.
    """
    steps = survival_frame(output)
    kind = "survival curve"
    if steps is None:
        return OutputVerdict(
            kind,
            (
                open_question(
                    "marks",
                    "the numbers at risk and of events are not there",
                    "give a table with time, events and at_risk",
                ),
            ),
        )
    events, at_risk = (
        steps[name].fill_null(float("nan")).to_numpy() for name in ("events", "at_risk")
    )
    if np.isnan(events).any() or np.isnan(at_risk).any():
        return OutputVerdict(
            kind,
            (
                open_question(
                    "marks",
                    "numbers of events or at risk are missing in some steps",
                    "fill them in",
                ),
            ),
        )
    if (events < 0).any() or (at_risk < events).any():
        raise ParameterError(
            "events of a survival table are numbers of persons, and no more than are at risk"
        )
    happens = events > 0
    few = int((happens & (events < rules.threshold)).sum())
    persons_left = _left_after(steps, events, at_risk)
    reasons: list[OutputReason] = []
    if few:
        reasons.append(
            broken(
                "marks",
                f"{few:,} of {int(happens.sum()):,} steps are the events of fewer than"
                f" {rules.threshold} persons",
                "tell steps of enough events only",
            )
        )
    if rules.small(persons_left):
        reasons.append(
            broken(
                "marks",
                f"fewer than {rules.threshold} persons are left after the last step",
                "end the curve earlier",
            )
        )
    reasons += _censored(steps, rules) + _as_told(steps)
    joins = bool(few or rules.small(persons_left) or len(reasons) > 1)
    lives = lives_of(output, behind, features)
    reasons += _steps_counted(steps, lives, rules)
    if lives is not None and features is None:
        reasons += _kept_by_the_fitter(lives, behind)
    if not reasons:
        reasons.append(
            passed(
                "marks",
                f"each of {int(happens.sum()):,} steps is the events of at least {rules.threshold}"
                " persons",
            )
        )
    persons = int(at_risk.max(initial=0))
    return OutputVerdict(
        kind,
        tuple(reasons),
        persons,
        steps,
        binned_survival(steps, rules) if joins else None,
        cells=(
            None if behind is None or features is None else partial(_cells, steps, behind, features)
        ),
    )


def _cells(steps: pl.DataFrame, behind: Behind, features: Sequence[str]) -> list[RecordSet]:
    """The records that a survival table counts at every time that it tells."""
    time, happened = (behind.numbers(name) for name in features)
    event_times = np.where(np.isnan(happened), np.nan, time)
    return sets_of_steps(
        steps["time"].to_numpy(), event_times, (happened != 0) & ~np.isnan(happened)
    )


Lives = tuple["NDArray[np.float64]", "NDArray[np.bool_]", "NDArray[np.int64]"]
"""How long, whether it happened, and who."""


def lives_of(output: Any, behind: Behind | None, features: Sequence[str] | None) -> Lives | None:
    """The times and events that a curve is of: columns of the records, or what the fitter keeps;
    None where neither is there.
    """
    if features is not None:
        if behind is None or len(features) != 2:
            raise ParameterError(
                "features of a survival curve are two columns of the data: how long, and whether it"
                " happened"
            )
        time, happened = (behind.numbers(name) for name in features)
        complete = ~np.isnan(time) & ~np.isnan(happened)
        return time[complete], happened[complete] != 0, behind.who[complete]
    for long, event in (("durations", "event_observed"), ("time", "status")):
        arrays = [vector_of(peek(output, name)) for name in (long, event)]
        if arrays[0] is not None and arrays[1] is not None and len(arrays[0]) == len(arrays[1]):
            same = behind is not None and len(behind) == len(arrays[0])
            who = behind.who if behind is not None and same else np.arange(len(arrays[0]))
            return arrays[0], arrays[1] != 0, who
    return None


def _kept_by_the_fitter(lives: Lives, behind: Behind | None) -> list[OutputReason]:
    """A question where the times and events that a fitter keeps are not columns of the records."""
    if behind is not None and len(behind) == len(lives[0]):
        sources = MadeOf(behind)
        if sources.exactly(lives[0]) and sources.explains(lives[1].astype(np.float64)):
            return []
    words = (
        "the curve was computed again from the times that the fitter keeps: whether they are those"
        " of the records is not known"
    )
    return [open_question("records", words, "give data=... and features=['days', 'died']")]


def _steps_counted(
    steps: pl.DataFrame, lives: Lives | None, rules: OutputRules
) -> list[OutputReason]:
    """Whether steps are those of the records, and of enough persons; a question where there are no
    records.
    """
    if lives is None:
        words = (
            "the numbers of events and at risk are told, and cannot be confirmed without the"
            " records"
        )
        return [open_question("records", words, "give data=... and features=['days', 'died']")]
    time, happened, who = lives
    times = steps["time"].to_numpy()
    events = [happened & (time == one) for one in times]
    rows = np.array([int(one.sum()) for one in events], dtype=float)
    at_risk_counts = np.array([int((time >= one).sum()) for one in times], dtype=float)
    if not (
        np.array_equal(rows, steps["events"].to_numpy())
        and np.array_equal(at_risk_counts, steps["at_risk"].to_numpy())
    ):
        words = "the numbers of events and at risk are not those of these records"
        return [
            open_question(
                "recomputed",
                words,
                "give the records that the curve is of (where=...), without weights",
            )
        ]
    few = sum(rules.small(how_many(who[one])) for one in events)
    if few and (rows >= rules.threshold).any() and not (rows[rows > 0] < rules.threshold).any():
        words = (
            f"{few:,} steps are the events of fewer than {rules.threshold} persons, who have"
            " several"
        )
        return [broken("marks", words, "tell steps of enough persons only")]
    return []


def _left_after(
    steps: pl.DataFrame, events: NDArray[np.float64], at_risk: NDArray[np.float64]
) -> float:
    """Persons who are still at risk after the last step."""
    if not len(events):
        return 0.0
    gone = events[-1] + (float(steps["censored"][-1] or 0) if "censored" in steps.columns else 0.0)
    return float(at_risk[-1] - gone)


def _as_told(steps: pl.DataFrame) -> list[OutputReason]:
    """A survival that is told must be that of the events, rounded or not."""
    if "survival" not in steps.columns:
        return []
    events, at_risk = steps["events"].to_numpy(), steps["at_risk"].to_numpy()
    shares = steps["survival"].fill_null(float("nan")).to_numpy()
    if (np.abs(shares - kaplan_meier(events, at_risk)) <= 0.01).all():
        return []
    words = "the survival told is not that of these events and numbers at risk"
    return [
        open_question(
            "recomputed",
            words,
            "give the curve without weights, or leave its numbers to the checker",
        )
    ]


def _censored(steps: pl.DataFrame, rules: OutputRules) -> list[OutputReason]:
    counts = (
        steps["censored"].fill_null(0).to_numpy() if "censored" in steps.columns else np.zeros(0)
    )
    events, at_risk = steps["events"].to_numpy(), steps["at_risk"].to_numpy()
    apart = np.abs(
        at_risk[:-1] - events[:-1] - at_risk[1:]
    )  # who is at risk no more, and had no event
    few = max(int(((one > 0) & (one < rules.threshold)).sum()) for one in (counts, apart))
    if not few:
        return []
    return [
        broken(
            "marks",
            f"{few:,} steps tell of fewer than {rules.threshold} censored persons",
            "leave out the numbers censored and at risk",
        )
    ]


def kaplan_meier(events: NDArray[np.float64], at_risk: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share that survives every step.

    >>> kaplan_meier(np.array([1.0, 1.0]), np.array([4.0, 2.0])).tolist()
    [0.75, 0.375]
    """
    shares: NDArray[np.float64] = np.where(
        at_risk > 0, 1 - events / np.where(at_risk > 0, at_risk, 1), 1.0
    )
    return np.cumprod(shares).astype(np.float64)


def binned_survival(steps: pl.DataFrame, rules: OutputRules) -> pl.DataFrame | None:
    r"""The curve with steps joined until each is the events of enough persons: its value at the end
    of each, rounded.

    .. math:: S(t) = \prod_{t_i \le t} \left(1 - \frac{d_i}{n_i}\right)

    :math:`d_i` events and :math:`n_i` persons at risk (Kaplan and Meier 1958, doi:10.2307/2281868).
    Persons who leave without an event within a step are enough too, or none. A last step that would
    leave few persons is not told.
    """
    events, at_risk, time = (steps[name].to_numpy() for name in ("events", "at_risk", "time"))
    survival = kaplan_meier(events, at_risk)
    rest = at_risk - events
    before = (
        np.r_[at_risk[:1], rest[:-1]] - at_risk
    )  # who is at risk no more when a step comes, and had no event
    last = int(np.flatnonzero(events > 0)[-1]) if (events > 0).any() else -1
    points, happened, gone = [], 0.0, 0.0
    for place in range(last + 1):
        happened, gone = happened + events[place], gone + before[place]
        if happened >= rules.threshold and not rules.small(abs(gone)):
            points.append(place)
            happened = gone = 0.0
    if (
        points and happened and not rules.small(abs(gone)) and not rules.small(rest[last])
    ):  # the rest goes to the last
        points[-1] = last
    points = [place for place in points if not rules.small(rest[place])]
    if not points:
        return None
    return pl.DataFrame({"time": time[points], "survival": np.round(survival[points], DIGITS)})


# ROC


def judge_roc(
    output: Any,
    class_sizes: tuple[int, int] | None,
    rules: OutputRules,
    behind: Behind | None = None,
    column: str | None = None,
    features: Sequence[str] | None = None,
) -> OutputVerdict:
    """Between neighbouring points of a ROC curve enough persons must stand: Δtpr · positives + Δfpr
    · negatives.

    With records the ``column`` of the outcome tells how many have it and how many have not, and the
    score in ``features`` whether these points are on its curve.
    """
    fpr, tpr = _rates(output)
    curve = pl.DataFrame({"fpr": fpr, "tpr": tpr})
    kind = "ROC curve"
    persons_by_outcome = _with_outcome(behind, column)
    sizes = persons_by_outcome or class_sizes
    if sizes is None:
        words = "how many persons have the outcome, and how many have not, is not known"
        advice = (
            "give data=..., column='outcome', features=['score'], or at least counts=(with,"
            " without)"
        )
        return OutputVerdict(kind, (open_question("counts", words, advice),), shown=curve)
    positives, negatives = sizes
    if positives < 0 or negatives < 0:
        raise ParameterError("counts are numbers of persons; some are negative")
    points = list(zip(fpr, tpr, strict=True))
    fpr, tpr = _to_the_ends(fpr, tpr)
    steps = np.round(np.diff(tpr) * positives + np.diff(fpr) * negatives, 6)
    few = int(((steps > 0) & (steps < rules.threshold)).sum())
    reasons = [*(_too_few_with(positives, negatives, rules))]
    if (
        persons_by_outcome is not None
        and class_sizes is not None
        and class_sizes != persons_by_outcome
    ):
        words = (
            "the counts given are not the numbers of persons who have the outcome, or have it not"
        )
        reasons.append(broken("counts", words, "leave counts away: the records tell them"))
    if few:
        reasons.append(
            broken(
                "marks",
                f"{few:,} of {len(steps):,} steps stand for fewer than {rules.threshold} persons",
                "tell fewer points",
            )
        )
    reasons += _on_the_curve(points, behind, column, features)
    if not reasons:
        reasons.append(
            passed(
                "marks",
                f"each of {len(steps):,} steps stands for at least {rules.threshold} persons",
            )
        )
    thinner = (
        _thinned(fpr, tpr, steps, rules.threshold + 10.0**-DIGITS * (positives + negatives))
        if few
        else None
    )
    return OutputVerdict(kind, tuple(reasons), positives + negatives, curve, thinner)


def _with_outcome(behind: Behind | None, column: str | None) -> tuple[int, int] | None:
    """Persons with the outcome and without, by the records."""
    if column is None:
        return None
    if behind is None:
        raise ParameterError("column is the outcome in the records: give data=... too")
    values = behind.numbers(column)
    if not np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
        raise ParameterError(
            "the outcome of a ROC curve is a column of yes and no, or of ones and zeros"
        )
    return how_many(behind.who[values == 1]), how_many(behind.who[values == 0])


def _on_the_curve(
    points: Sequence[tuple[float, float]],
    behind: Behind | None,
    column: str | None,
    features: Sequence[str] | None,
) -> list[OutputReason]:
    """Whether points are on the curve of a score, either way round; a question where nobody can
    tell.
    """
    if behind is None or column is None or features is None or len(features) != 1:
        words = "the points were not computed again: the outcome and the score are not known"
        return [
            open_question("records", words, "give data=..., column='outcome', features=['score']")
        ]
    outcome, score = behind.numbers(column), behind.numbers(features[0])
    complete = ~np.isnan(outcome) & ~np.isnan(score)
    released = np.array(points)
    for sign in (-1.0, 1.0):
        order = np.argsort(sign * score[complete], kind="stable")
        last = np.r_[np.diff(score[complete][order]) != 0, True]
        yes = outcome[complete][order] == 1
        curve = np.column_stack([np.cumsum(~yes), np.cumsum(yes)])[last] / np.maximum(
            1, [(~yes).sum(), yes.sum()]
        )
        curve = np.vstack([[0.0, 0.0], curve])
        place = np.clip(np.searchsorted(curve[:, 0], released[:, 0] - 0.0006), 0, len(curve) - 1)
        if all(_beside(curve, at, one) for at, one in zip(place, released, strict=True)):
            return []
    words = "the points are not on the curve of this score and outcome"
    return [open_question("recomputed", words, "give the records that the curve is of (where=...)")]


def _beside(curve: NDArray[np.float64], start: int, point: NDArray[np.float64]) -> bool:
    """Whether a point of the curve from a place on is this one, rounded or not."""
    end = int(np.searchsorted(curve[:, 0], point[0] + 0.0006, side="right"))
    return bool((np.abs(curve[start:end] - point).max(axis=1, initial=0.0) <= 0.0006).any())


def _too_few_with(positives: int, negatives: int, rules: OutputRules) -> list[OutputReason]:
    if min(positives, negatives) >= rules.threshold:
        return []
    return [
        broken(
            "threshold",
            f"fewer than {rules.threshold} persons have the outcome, or have it not",
            "tell no curve",
        )
    ]


def _rates(output: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The false and true positive rates, rising."""
    frame = frame_of(output)
    if frame is not None:
        low = {name.lower(): name for name in frame.columns}
        pair: Any = [frame[low[name]] if name in low else None for name in ("fpr", "tpr")]
    else:
        pair = (
            output[:2]
            if isinstance(output, tuple | list)
            else (peek(output, "fpr"), peek(output, "tpr"))
        )
    arrays = [vector_of(one) for one in pair]
    if (
        len(arrays) != 2
        or arrays[0] is None
        or arrays[1] is None
        or len(arrays[0]) != len(arrays[1])
    ):
        raise SchemaError("a ROC curve has the columns fpr and tpr, of equal length")
    fpr, tpr = arrays[0], arrays[1]
    if (
        np.isnan(fpr).any()
        or np.isnan(tpr).any()
        or min(fpr.min(initial=0), tpr.min(initial=0)) < 0
        or max(fpr.max(initial=0), tpr.max(initial=0)) > 1
    ):
        raise SchemaError("rates of a ROC curve lie between 0 and 1")
    order = np.lexsort((tpr, fpr))
    return fpr[order], tpr[order]


def _to_the_ends(
    fpr: NDArray[np.float64], tpr: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The points with (0, 0) and (1, 1), where every curve begins and ends: few persons may stand
    before the first point told.
    """
    first = [] if len(fpr) and fpr[0] == tpr[0] == 0 else [0.0]
    last = [] if len(fpr) and fpr[-1] == tpr[-1] == 1 else [1.0]
    return np.r_[first, fpr, last], np.r_[first, tpr, last]


def _thinned(
    fpr: NDArray[np.float64], tpr: NDArray[np.float64], steps: NDArray[np.float64], least: float
) -> pl.DataFrame | None:
    """Fewer points, rounded; ``least`` leaves room for what rounding takes from a step."""
    ends = [end for _, end in joined(steps.tolist(), least)]
    positions = [0, *ends] if ends else []
    return (
        pl.DataFrame(
            {"fpr": np.round(fpr[positions], DIGITS), "tpr": np.round(tpr[positions], DIGITS)}
        )
        if positions
        else None
    )
