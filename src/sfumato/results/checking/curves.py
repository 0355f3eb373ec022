"""Survival curves that are told as times and shares alone, without events and numbers at risk:
judged by the records they are of.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.errors import ParameterError
from sfumato.results.checking.contributing_records import Behind, how_many
from sfumato.results.checking.curve_points import DIGITS, judge_survival, kaplan_meier, lives_of
from sfumato.results.checking.statistics_of_columns import step_of
from sfumato.results.checking.untrusted_objects import frame_of
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

    from sfumato.results.checking.curve_points import Lives

KIND = "survival curve"
NAMES = {"time": r"time|timeline|surv_times", "survival": r"survival|surv_prob|km_estimate"}
TIME_AND_EVENT = (
    "give data=... and features=[...]: the columns with how long it took, and whether it happened"
)


def curve_of(output: Any) -> pl.DataFrame | None:
    """A curve as times and the share that survives each; None for what is none."""
    frame = frame_of(output)
    if frame is None:
        return None
    columns: dict[str, str] = {}
    for ours, pattern in NAMES.items():
        same = [
            one
            for one in frame.columns
            if re.fullmatch(pattern, re.sub(r"\W+", "_", one.strip().lower()))
        ]
        if len(same) != 1 or not frame[same[0]].dtype.is_numeric():
            return None
        columns[same[0]] = ours
    if len(frame.columns) > len(columns) or not frame.height:
        return None
    released = (
        frame.select(list(columns))
        .rename(columns)
        .cast(pl.Float64)
        .select("time", "survival")
        .sort("time")
    )
    survival, time = (
        released[name].fill_null(float("nan")).to_numpy() for name in ("survival", "time")
    )
    falls = bool((survival >= 0).all() and (survival <= 1).all() and (np.diff(survival) <= 0).all())
    return (
        released
        if falls and bool((np.diff(time) > 0).all()) and bool(np.isfinite(time).all())
        else None
    )


def judge_curve(
    curve: pl.DataFrame, rules: OutputRules, behind: Behind | None, features: Sequence[str] | None
) -> OutputVerdict:
    """Between two times that are told enough persons must have the event, and no few leave without
    one; enough must be left at the end, or nobody.
    """
    lives = None if behind is None or features is None else lives_of(None, behind, features)
    if lives is None:
        words = "of how many events and persons every step is, is not known without the records"
        return OutputVerdict(KIND, (open_question("records", words, TIME_AND_EVENT),), None, curve)
    reasons = (
        _told_exactly(curve)
        + _recomputed(curve, lives)
        + _steps(curve["time"].to_numpy(), lives, rules)
    )
    if not reasons:
        words = (
            f"each of {curve.height:,} steps is the events of at least {rules.threshold} persons"
        )
        reasons.append(passed("marks", words))
    return OutputVerdict(KIND, tuple(reasons), how_many(lives[2]), curve)


def judge_steps(
    output: Any,
    rules: OutputRules,
    behind: Behind | None,
    features: Sequence[str] | None,
    by: Sequence[str] | None = None,
) -> OutputVerdict:
    """Judge a survival curve of either kind, or one for every value of a column (``by``); a version
    that would not pass by persons is not suggested.
    """
    if by is not None:
        return _by_groups(output, rules, behind, features, by)
    if (curve := curve_of(output)) is not None:
        return judge_curve(curve, rules, behind, features)
    verdict = judge_survival(output, rules, behind, features)
    lives = None if verdict.suggestion is None else lives_of(output, behind, features)
    if verdict.suggestion is None or lives is None:
        return verdict
    good = not (
        _recomputed(verdict.suggestion, lives)
        or _steps(verdict.suggestion["time"].to_numpy(), lives, rules)
    )
    return verdict if good else dataclasses.replace(verdict, suggestion=None)


def _by_groups(
    output: Any,
    rules: OutputRules,
    behind: Behind | None,
    features: Sequence[str] | None,
    by: Sequence[str],
) -> OutputVerdict:
    """Curves of several groups in one table, each judged by the records of its group."""
    frame = frame_of(output)
    if isinstance(by, str) or len(by) != 1 or frame is None or by[0] not in frame.columns:
        raise ParameterError(
            "by of survival curves is the one column of their table that tells them apart:"
            " by=['sex']"
        )
    if behind is None or features is None:
        words = "of how many events and persons every step is, is not known without the records"
        return OutputVerdict(KIND, (open_question("records", words, TIME_AND_EVENT),), None, frame)
    behind.dataset.require(list(by))
    labels = behind.dataset.column(by[0]).cast(pl.String)
    reasons: list[OutputReason] = []
    better: list[pl.DataFrame] = []
    for (label,), part in frame.group_by(pl.col(by[0]).cast(pl.String), maintain_order=True):
        some = Behind.of(
            behind.dataset,
            unit=behind.unit,
            where=(labels == label).fill_null(value=False).to_numpy(),
        )
        verdict = judge_steps(part.drop(by[0]), rules, some, features)
        reasons += verdict.reasons
        released_groups = verdict.shown if verdict.passes else verdict.suggestion
        better += (
            []
            if released_groups is None
            else [
                released_groups.insert_column(0, pl.Series(by[0], [label] * released_groups.height))
            ]
        )
    suggestion = (
        pl.concat(better, how="diagonal")
        if better and not all(one.status == "pass" for one in reasons)
        else None
    )
    return OutputVerdict(
        KIND, tuple(dict.fromkeys(reasons)), behind.persons, frame, suggestion, tuple(by)
    )


def _told_exactly(curve: pl.DataFrame) -> list[OutputReason]:
    """Shares with many digits tell how many were at risk."""
    step = step_of(curve["survival"].to_numpy())
    if step >= 10.0**-DIGITS * (1 - 1e-9):
        return []
    words = (
        f"the share that survives is told with more than {DIGITS} digits, from which numbers at"
        " risk can be computed"
    )
    return [broken("exact", words, f"round it to {DIGITS} digits")]


def survives(lives: Lives, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share that survives some times, from how long it took and whether it happened."""
    time, happened, _ = lives
    points = np.unique(time[happened])
    ranked, fell = np.sort(time), np.sort(time[happened])
    risk = len(ranked) - np.searchsorted(ranked, points, side="left")
    events = np.searchsorted(fell, points, side="right") - np.searchsorted(
        fell, points, side="left"
    )
    share = np.r_[1.0, kaplan_meier(events.astype(np.float64), risk.astype(np.float64))]
    shares: NDArray[np.float64] = share[np.searchsorted(points, at, side="right")]
    return shares


def _recomputed(curve: pl.DataFrame, lives: Lives) -> list[OutputReason]:
    released = curve["survival"].to_numpy()
    slack = max(0.5 * step_of(released) * (1 + 1e-9), 1e-9)
    if (
        slack < 0.01
        and (np.abs(released - survives(lives, curve["time"].to_numpy())) <= slack).all()
    ):
        return []
    words = "the share that survives is not that of these records"
    return [
        open_question(
            "recomputed",
            words,
            "give the records that the curve is of (where=...), without weights",
        )
    ]


def _steps(released: NDArray[np.float64], lives: Lives, rules: OutputRules) -> list[OutputReason]:
    """Whether the persons behind every step are enough, those at risk no more without an event too,
    and those who are left.
    """
    time, happened, who = lives
    step = np.searchsorted(released, time, side="left")  # events up to a time that is told, and it
    gone = np.searchsorted(
        released, time, side="right"
    )  # who leaves at that time was still at risk then
    events = [how_many(who[happened & (step == one)]) for one in range(len(released))]
    censored = [how_many(who[~happened & (gone == one)]) for one in range(len(released))]
    reasons = []
    if few := sum(rules.small(one) for one in events):
        words = (
            f"{few:,} of {len(released):,} steps are the events of fewer than {rules.threshold}"
            " persons"
        )
        reasons.append(broken("marks", words, "tell steps of enough events only"))
    if few := sum(rules.small(one) for one in censored):
        words = (
            f"{few:,} steps tell of fewer than {rules.threshold} persons who are at risk no more"
            " without an event"
        )
        reasons.append(broken("marks", words, "tell fewer steps"))
    if rules.small(how_many(who[(time > released[-1]) | (~happened & (time == released[-1]))])):
        words = f"fewer than {rules.threshold} persons are left after the last step"
        reasons.append(broken("marks", words, "end the curve earlier"))
    return reasons
