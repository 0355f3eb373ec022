"""Survival curves that are told as times and shares alone, without events and numbers at risk:
judged by the records they are of.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.errors import ParameterError
from sfumato.results.checking.contributing_records import ContributingRecords, count_persons
from sfumato.results.checking.curve_points import (
    DIGITS,
    find_column,
    find_lifetimes,
    judge_survival,
    kaplan_meier,
)
from sfumato.results.checking.statistics_of_columns import step_of
from sfumato.results.checking.untrusted_objects import frame_of
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    OutputVerdict,
    confirmation,
    open_question,
    violation,
)

if TYPE_CHECKING:
    from sfumato.results.checking.curve_points import Lifetimes
    from sfumato.results.tables.arrays import Floats

KIND = "survival curve"
NAMES = {"time": r"time|timeline|surv_times", "survival": r"survival|surv_prob|km_estimate"}
"""The columns of a curve, and what libraries call them."""
NO_RECORDS = open_question(
    "records",
    "the events and persons behind every step are unknown without the records",
    "give data=... and features=[...]: the columns with the duration, and whether the "
    "event happened",
)


def curve_of(output: object) -> pl.DataFrame | None:
    """A curve as times and the share that survives each; None for what is none."""
    frame = frame_of(output)
    if frame is None or not frame.height:
        return None
    columns = []
    for name, pattern in NAMES.items():
        matching = find_column(frame, pattern)
        if len(matching) != 1 or not frame[matching[0]].dtype.is_numeric():
            return None
        columns.append(pl.col(matching[0]).cast(pl.Float64).alias(name))
    if len(frame.columns) > len(columns):
        return None
    curve = frame.select(columns).sort("time")
    rows = curve.fill_null(float("nan"))
    time, survival = rows["time"].to_numpy(), rows["survival"].to_numpy()
    # A share of survivors lies between 0 and 1 and never rises; a table of means seldom does so.
    is_share = (survival >= 0).all() and (survival <= 1).all()
    falls = is_share and (np.diff(survival) <= 0).all()
    rises = np.isfinite(time).all() and (np.diff(time) > 0).all()
    return curve if falls and rises else None


def judge_curve(
    curve: pl.DataFrame,
    rules: OutputRules,
    records: ContributingRecords | None,
    features: Sequence[str] | None,
) -> OutputVerdict:
    """Between two times that are told enough persons must have the event, and no few leave without
    one; enough must be left at the end, or nobody.
    """
    lifetimes = None
    if records is not None and features is not None:
        lifetimes = find_lifetimes(None, records, features)
    if lifetimes is None:
        return OutputVerdict(KIND, (NO_RECORDS,), None, curve)
    reasons = _judge_digits(curve) + _judge_shares(curve, lifetimes)
    reasons += _judge_steps(curve["time"].to_numpy(), lifetimes, rules)
    if not reasons:
        words = (
            f"each of {curve.height:,} steps has the events of at least {rules.threshold} persons"
        )
        reasons.append(confirmation("marks", words))
    return OutputVerdict(KIND, tuple(reasons), count_persons(lifetimes.person_ids), curve)


def judge_steps(
    output: object,
    rules: OutputRules,
    records: ContributingRecords | None,
    features: Sequence[str] | None,
    by: Sequence[str] | None = None,
) -> OutputVerdict:
    """Judge a survival curve of either kind, or one for every value of a column (``by``); a version
    that would not pass by persons is not suggested.
    """
    if by is not None:
        return _judge_groups(output, rules, records, features, by)
    curve = curve_of(output)
    if curve is not None:
        return judge_curve(curve, rules, records, features)
    verdict = judge_survival(output, rules, records, features)
    if verdict.suggestion is None:
        return verdict
    lifetimes = find_lifetimes(output, records, features)
    if lifetimes is None:
        return verdict
    times = verdict.suggestion["time"].to_numpy()
    # Steps were joined by their events; a person with several of them may leave too few.
    if _judge_shares(verdict.suggestion, lifetimes) or _judge_steps(times, lifetimes, rules):
        return dataclasses.replace(verdict, suggestion=None)
    return verdict


def _judge_groups(
    output: object,
    rules: OutputRules,
    records: ContributingRecords | None,
    features: Sequence[str] | None,
    by: Sequence[str],
) -> OutputVerdict:
    """Curves of several groups in one table, each judged by the records of its group."""
    frame = frame_of(output)
    if isinstance(by, str) or len(by) != 1 or frame is None or by[0] not in frame.columns:
        raise ParameterError(
            "by of survival curves must be the one column of their table that distinguishes them: "
            "by=['sex']"
        )
    if records is None or features is None:
        return OutputVerdict(KIND, (NO_RECORDS,), None, frame)
    records.dataset.require(list(by))
    labels = records.dataset.column(by[0]).cast(pl.String)
    reasons: list[OutputReason] = []
    safe_curves: list[pl.DataFrame] = []
    for (label,), part in frame.group_by(pl.col(by[0]).cast(pl.String), maintain_order=True):
        rows = (labels == label).fill_null(value=False).to_numpy()
        group = ContributingRecords.of(records.dataset, unit=records.unit, where=rows)
        verdict = judge_steps(part.drop(by[0]), rules, group, features)
        reasons += verdict.reasons
        curve = verdict.shown if verdict.passes else verdict.suggestion
        if curve is not None:
            safe_curves.append(curve.insert_column(0, pl.Series(by[0], [label] * curve.height)))
    suggestion = None
    if safe_curves and any(reason.status != "pass" for reason in reasons):
        suggestion = pl.concat(safe_curves, how="diagonal")
    return OutputVerdict(
        KIND, tuple(dict.fromkeys(reasons)), records.persons, frame, suggestion, tuple(by)
    )


def _judge_digits(curve: pl.DataFrame) -> list[OutputReason]:
    """Shares with many digits tell how many were at risk."""
    step = step_of(curve["survival"].to_numpy())
    # 1 − 1e-9 forgives the error of 10.0**-3.
    if step >= 10.0**-DIGITS * (1 - 1e-9):
        return []
    words = (
        f"the surviving share has more than {DIGITS} digits, from which numbers at risk can be "
        "computed"
    )
    return [violation("exact", words, f"round it to {DIGITS} digits")]


def survival_at(lifetimes: Lifetimes, times: Floats) -> Floats:
    """The share that survives some times, from how long it took and whether it happened."""
    event_times, events = np.unique(lifetimes.time[lifetimes.event], return_counts=True)
    # At risk is everybody who was not observed for a shorter time, this time included.
    earlier = np.searchsorted(np.sort(lifetimes.time), event_times, side="left")
    at_risk = len(lifetimes.time) - earlier
    survival = kaplan_meier(events.astype(np.float64), at_risk.astype(np.float64))
    # Before the first event all survive: that is the 1 in front.
    shares: Floats = np.r_[1.0, survival][np.searchsorted(event_times, times, side="right")]
    return shares


def _judge_shares(curve: pl.DataFrame, lifetimes: Lifetimes) -> list[OutputReason]:
    """Whether shares are those of the records, up to rounding."""
    released = curve["survival"].to_numpy()
    # Half of the last digit told; no rounding at all leaves the error of doubles.
    slack = max(0.5 * step_of(released) * (1 + 1e-9), 1e-9)
    expected = survival_at(lifetimes, curve["time"].to_numpy())
    if slack < 0.01 and (np.abs(released - expected) <= slack).all():
        return []
    words = "the surviving share is not that of these records"
    advice = "give the records that the curve is of (where=...), without weights"
    return [open_question("recomputed", words, advice)]


def _judge_steps(times: Floats, lifetimes: Lifetimes, rules: OutputRules) -> list[OutputReason]:
    """Whether the persons behind every step are enough, those at risk no more without an event too,
    and those who are left.
    """
    time, event, person_ids = lifetimes
    # A step holds the events up to its time. Who leaves at that time was still at risk then.
    # Persons with an event at time t belong to the step that ends at t, censored ones to the next.
    event_step = np.searchsorted(times, time, side="left")
    censored_step = np.searchsorted(times, time, side="right")
    few_events, few_censored = 0, 0
    for step in range(len(times)):
        few_events += rules.small(count_persons(person_ids[event & (event_step == step)]))
        few_censored += rules.small(count_persons(person_ids[~event & (censored_step == step)]))
    reasons = []
    if few_events:
        words = (
            f"{few_events:,} of {len(times):,} steps are the events of fewer than"
            f" {rules.threshold} persons"
        )
        reasons.append(violation("marks", words, "release only steps with enough events"))
    if few_censored:
        words = (
            f"{few_censored:,} steps reveal fewer than {rules.threshold} persons who leave the "
            "risk set without an event"
        )
        reasons.append(violation("marks", words, "tell fewer steps"))
    remaining = (time > times[-1]) | (~event & (time == times[-1]))
    if rules.small(count_persons(person_ids[remaining])):
        words = f"fewer than {rules.threshold} persons are left after the last step"
        reasons.append(violation("marks", words, "end the curve earlier"))
    return reasons
