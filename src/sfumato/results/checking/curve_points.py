"""Marks on a curve: steps of a survival curve, points of a ROC curve.

Every mark must stand for enough persons. Where it does not, marks are joined until they do, and
that version is suggested.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from sfumato.errors import ParameterError, SchemaError
from sfumato.results.checking.contributing_records import count_persons
from sfumato.results.checking.fitted_data import SourceColumns
from sfumato.results.checking.record_sets import CellSource, RecordSet, sets_of_steps
from sfumato.results.checking.untrusted_objects import frame_of, peek, vector_of
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    OutputVerdict,
    confirmation,
    open_question,
    violation,
)

if TYPE_CHECKING:
    from sfumato.results.checking.contributing_records import ContributingRecords
    from sfumato.results.tables.arrays import Codes, Floats, Mask

SURVIVAL = {
    "time": r"time|timeline|event_at|surv_times|duration|t",
    "events": r"observed|events|n_events|num_events|deaths|d",
    "at_risk": r"at_risk|n_risk|num_at_risk|n",
    "survival": r"survival|surv_prob|km_estimate|s|estimate",
    "censored": r"censored|n_censored",
}
"""The columns of a survival table, and what libraries call them."""
STATSMODELS = {
    "time": "surv_times",
    "events": "n_events",
    "at_risk": "n_risk",
    "survival": "surv_prob",
}
DIGITS = 3
"""Digits that shares of a suggested curve have."""
POINT_SLACK = 0.0006
"""How far a point may be from its curve: rates may be rounded to three digits."""
GIVE_LIFETIMES = "give data=... and features=['days', 'died']"


def join_neighbours(counts: Sequence[float], minimum: float) -> list[tuple[int, int]]:
    """Neighbours put together until each group counts enough: first and one past the last of every
    group; what is left goes to the last.

    >>> join_neighbours([4, 7, 2, 12, 3], 10), join_neighbours([1, 2], 10)
    ([(0, 2), (2, 5)], [])
    """
    groups, start, total = [], 0, 0.0
    for end, count in enumerate(counts, start=1):
        total += count
        if total >= minimum:
            groups.append((start, end))
            start, total = end, 0.0
    # What is left at the end is too small for a group of its own.
    if groups and start < len(counts):
        groups[-1] = (groups[-1][0], len(counts))
    return groups


# Survival


class Lifetimes(NamedTuple):
    """Per record how long it was observed, whether the event happened then, and its person."""

    time: Floats
    event: Mask
    person_ids: Codes


def find_column(frame: pl.DataFrame, pattern: str) -> list[str]:
    """The columns whose names, without capitals and signs, match a pattern."""
    plain = {name: re.sub(r"\W+", "_", name.strip().lower()) for name in frame.columns}
    return [name for name, text in plain.items() if re.fullmatch(pattern, text)]


def survival_frame(output: object) -> pl.DataFrame | None:
    """The steps of a survival curve: time, events, at_risk and, where it is told, survival; None
    for what is none.

    Taken are fitters like those of lifelines (``event_table``), results like those of statsmodels
    (``surv_times``), and frames.
    """
    # An object of lifelines keeps its table in an attribute; statsmodels keeps the columns one by
    # one.
    events = peek(output, "event_table")
    table = None if events is None else frame_of(events)
    if table is None and peek(output, "surv_times") is not None:
        columns = {}
        for name, path in STATSMODELS.items():
            vector = vector_of(peek(output, path))
            if vector is not None:
                columns[name] = vector
        if len({len(vector) for vector in columns.values()}) == 1:
            table = pl.DataFrame(columns)
    if table is None:
        table = frame_of(output)
    if table is None:
        return None
    names: dict[str, str] = {}
    for name, pattern in SURVIVAL.items():
        columns_found = find_column(table, pattern)
        numeric = [column for column in columns_found if table[column].dtype.is_numeric()]
        if numeric:
            # setdefault: a column that fits two patterns keeps the first meaning.
            names.setdefault(numeric[0], name)
    if not {"time", "events", "at_risk"} <= set(names.values()):
        return None
    return table.select(list(names)).rename(names).cast(pl.Float64).sort("time")


def judge_survival(
    output: object,
    rules: OutputRules,
    records: ContributingRecords | None = None,
    features: Sequence[str] | None = None,
) -> OutputVerdict:
    """Every step of a survival curve must be the events of enough persons, and enough must be left
    at its end, or nobody.

    With records ``features`` are how long it took and whether it happened; fitters that keep both
    are asked themselves. Then steps are counted again, by persons.
    """
    kind = "survival curve"
    steps = survival_frame(output)
    if steps is None:
        words = "the numbers at risk and of events are missing"
        advice = "give a table with time, events and at_risk"
        return OutputVerdict(kind, (open_question("marks", words, advice),))
    events = steps["events"].fill_null(float("nan")).to_numpy()
    at_risk = steps["at_risk"].fill_null(float("nan")).to_numpy()
    if np.isnan(events).any() or np.isnan(at_risk).any():
        words = "numbers of events or at risk are missing in some steps"
        return OutputVerdict(kind, (open_question("marks", words, "fill them in"),))
    if (events < 0).any() or (at_risk < events).any():
        raise ParameterError(
            "events of a survival table are numbers of persons, and no more than are at risk"
        )
    reasons: list[OutputReason] = []
    happens = events > 0
    # A step without events is no step of the curve: its share does not change.
    small_steps = int((happens & (events < rules.threshold)).sum())
    if small_steps:
        words = (
            f"{small_steps:,} of {int(happens.sum()):,} steps are the events of fewer than"
            f" {rules.threshold} persons"
        )
        reasons.append(violation("marks", words, "release only steps with enough events"))
    remaining = _persons_remaining(steps)
    if rules.small(remaining):
        words = f"fewer than {rules.threshold} persons are left after the last step"
        reasons.append(violation("marks", words, "end the curve earlier"))
    reasons += _judge_censored(steps, rules) + _judge_survival_column(steps)
    # Decided before the questions about records are added: joined steps do not answer those.
    joins = bool(small_steps or rules.small(remaining) or len(reasons) > 1)
    lifetimes = find_lifetimes(output, records, features)
    reasons += _judge_steps_with_records(steps, lifetimes, rules)
    if lifetimes is not None and features is None:
        reasons += _judge_fitter_data(lifetimes, records)
    if not reasons:
        words = (
            f"each of {int(happens.sum()):,} steps has the events of at least {rules.threshold} "
            "persons"
        )
        reasons.append(confirmation("marks", words))
    cells: CellSource | None = None
    if records is not None and features is not None:
        cells = partial(_find_cells, steps, records, features)
    return OutputVerdict(
        kind,
        tuple(reasons),
        int(at_risk.max(initial=0)),
        steps,
        join_steps(steps, rules) if joins else None,
        cells=cells,
    )


def _find_cells(
    steps: pl.DataFrame, records: ContributingRecords, features: Sequence[str]
) -> list[RecordSet]:
    """The records that a survival table counts at every time that it tells."""
    time, event = (records.numbers(name) for name in features)
    observed = ~np.isnan(event)
    times = np.where(observed, time, np.nan)
    return sets_of_steps(steps["time"].to_numpy(), times, (event != 0) & observed)


def find_lifetimes(
    output: object, records: ContributingRecords | None, features: Sequence[str] | None
) -> Lifetimes | None:
    """The times and events that a curve is of: columns of the records, or what the fitter keeps;
    None where neither is there.
    """
    if features is not None:
        if records is None or len(features) != 2:
            raise ParameterError(
                "features of a survival curve are two columns of the data: the duration, and "
                "whether the event happened"
            )
        time, event = (records.numbers(name) for name in features)
        complete = ~np.isnan(time) & ~np.isnan(event)
        return Lifetimes(time[complete], event[complete] != 0, records.person_ids[complete])
    for time_path, event_path in (("durations", "event_observed"), ("time", "status")):
        times, events = vector_of(peek(output, time_path)), vector_of(peek(output, event_path))
        if times is None or events is None or len(times) != len(events):
            continue
        person_ids = np.arange(len(times))
        if records is not None and len(records) == len(times):
            person_ids = records.person_ids
        return Lifetimes(times, events != 0, person_ids)
    return None


def _judge_fitter_data(
    lifetimes: Lifetimes, records: ContributingRecords | None
) -> list[OutputReason]:
    """A question where the times and events that a fitter keeps are not columns of the records."""
    if records is not None and len(records) == len(lifetimes.time):
        sources = SourceColumns(records)
        event = lifetimes.event.astype(np.float64)
        if sources.has_form(lifetimes.time) and sources.explains(event):
            return []
    words = (
        "the curve was computed again from the times that the fitter stores: whether they are "
        "those of the records is unknown"
    )
    return [open_question("records", words, GIVE_LIFETIMES)]


def _judge_steps_with_records(
    steps: pl.DataFrame, lifetimes: Lifetimes | None, rules: OutputRules
) -> list[OutputReason]:
    """Whether steps are those of the records, and of enough persons; a question where there are no
    records.
    """
    if lifetimes is None:
        words = (
            "the numbers of events and at risk are given, and cannot be confirmed without the "
            "records"
        )
        return [open_question("records", words, GIVE_LIFETIMES)]
    events, at_risk, persons = [], [], []
    for time in steps["time"].to_numpy():
        rows = lifetimes.event & (lifetimes.time == time)
        events.append(int(rows.sum()))
        at_risk.append(int((lifetimes.time >= time).sum()))
        persons.append(count_persons(lifetimes.person_ids[rows]))
    if steps["events"].to_list() != events or steps["at_risk"].to_list() != at_risk:
        words = "the numbers of events and at risk are not those of these records"
        advice = "give the records that the curve is of (where=...), without weights"
        return [open_question("recomputed", words, advice)]
    small_steps = sum(rules.small(count) for count in persons)
    # Steps of too few events were found before; here are those of few persons with many events.
    enough_events = any(events) and not any(rules.small(count) for count in events)
    if small_steps and enough_events:
        words = (
            f"{small_steps:,} steps are the events of fewer than {rules.threshold} persons, who"
            " have several"
        )
        return [violation("marks", words, "release only steps with enough persons")]
    return []


def _persons_remaining(steps: pl.DataFrame) -> float:
    """Persons who are still at risk after the last step."""
    if not steps.height:
        return 0.0
    last = steps.row(-1, named=True)
    return float(last["at_risk"] - last["events"] - (last.get("censored") or 0.0))


def _judge_survival_column(steps: pl.DataFrame) -> list[OutputReason]:
    """A survival that is told must be that of the events, rounded or not."""
    if "survival" not in steps.columns:
        return []
    events, at_risk = steps["events"].to_numpy(), steps["at_risk"].to_numpy()
    shares = steps["survival"].fill_null(float("nan")).to_numpy()
    if (np.abs(shares - kaplan_meier(events, at_risk)) <= 0.01).all():
        return []
    words = "the given survival does not match these events and numbers at risk"
    advice = "give the curve without weights, or leave its numbers to the checker"
    return [open_question("recomputed", words, advice)]


def _judge_censored(steps: pl.DataFrame, rules: OutputRules) -> list[OutputReason]:
    """Steps that tell of few persons who are at risk no more and had no event."""
    events, at_risk = steps["events"].to_numpy(), steps["at_risk"].to_numpy()
    # Who is at risk no more at the next step, without an event at this one, was censored between.
    gone = np.abs(at_risk[:-1] - events[:-1] - at_risk[1:])
    censored = np.zeros(0)
    if "censored" in steps.columns:
        censored = steps["censored"].fill_null(0).to_numpy()
    small_steps = max(
        int(((part > 0) & (part < rules.threshold)).sum()) for part in (censored, gone)
    )
    if not small_steps:
        return []
    words = f"{small_steps:,} steps reveal fewer than {rules.threshold} censored persons"
    return [violation("marks", words, "leave out the numbers censored and at risk")]


def kaplan_meier(events: Floats, at_risk: Floats) -> Floats:
    r"""The share that survives every step.

    .. math:: S(t) = \prod_{t_i \le t} \left(1 - \frac{d_i}{n_i}\right)

    :math:`d_i` events and :math:`n_i` persons at risk (Kaplan and Meier 1958, doi:10.2307/2281868).

    >>> kaplan_meier(np.array([1.0, 1.0]), np.array([4.0, 2.0])).tolist()
    [0.75, 0.375]
    """
    # Nobody at risk: the share stays as it is, and nothing is divided by zero.
    shares = 1 - events / np.where(at_risk > 0, at_risk, 1)
    return np.cumprod(np.where(at_risk > 0, shares, 1.0)).astype(np.float64)


def join_steps(steps: pl.DataFrame, rules: OutputRules) -> pl.DataFrame | None:
    """The curve with steps joined until each is the events of enough persons: its value at the end
    of each, rounded.

    Persons who leave without an event within a step are enough too, or none. A last step that would
    leave few persons is not told.
    """
    events, at_risk, time = (steps[name].to_numpy() for name in ("events", "at_risk", "time"))
    if not (events > 0).any():
        return None
    remaining = at_risk - events
    # Per step those who are at risk no more when it comes, and had no event.
    censored = np.r_[at_risk[:1], remaining[:-1]] - at_risk
    last = int(np.flatnonzero(events > 0)[-1])
    ends: list[int] = []
    happened, gone = 0.0, 0.0
    for step in range(last + 1):
        happened, gone = happened + events[step], gone + censored[step]
        if happened >= rules.threshold and not rules.small(abs(gone)):
            ends.append(step)
            happened = gone = 0.0
    # Events after the last end go to it.
    if ends and happened and not rules.small(abs(gone)) and not rules.small(remaining[last]):
        ends[-1] = last
    ends = [step for step in ends if not rules.small(remaining[step])]
    if not ends:
        return None
    survival = kaplan_meier(events, at_risk)
    return pl.DataFrame({"time": time[ends], "survival": np.round(survival[ends], DIGITS)})


# ROC


def judge_roc(
    output: object,
    class_sizes: tuple[int, int] | None,
    rules: OutputRules,
    records: ContributingRecords | None = None,
    column: str | None = None,
    features: Sequence[str] | None = None,
) -> OutputVerdict:
    """Between neighbouring points of a ROC curve enough persons must stand: Δtpr · positives + Δfpr
    · negatives.

    With records the ``column`` of the outcome tells how many have it and how many have not, and the
    score in ``features`` whether these points are on its curve.
    """
    points = _read_rates(output)
    curve = pl.DataFrame({"fpr": points[:, 0], "tpr": points[:, 1]})
    kind = "ROC curve"
    persons_by_outcome = _count_outcomes(records, column)
    sizes = persons_by_outcome or class_sizes
    if sizes is None:
        words = "how many persons have the outcome, and how many do not, is unknown"
        advice = (
            "give data=..., column='outcome', features=['score'], or at least counts=(with,"
            " without)"
        )
        return OutputVerdict(kind, (open_question("counts", words, advice),), shown=curve)
    positives, negatives = sizes
    if positives < 0 or negatives < 0:
        raise ParameterError("counts are numbers of persons; some are negative")
    # Every curve begins at (0, 0) and ends at (1, 1): few persons may stand before its first point.
    whole = points
    # So the step from the corner to the first point is judged like any other.
    if not len(points) or points[0].any():
        whole = np.vstack([[0.0, 0.0], whole])
    if not len(points) or (points[-1] != 1).any():
        whole = np.vstack([whole, [1.0, 1.0]])
    steps = np.round(np.diff(whole, axis=0) @ [negatives, positives], 6)
    reasons = []
    if min(positives, negatives) < rules.threshold:
        words = f"fewer than {rules.threshold} persons have the outcome, or do not have it"
        reasons.append(violation("threshold", words, "tell no curve"))
    if persons_by_outcome is not None and class_sizes not in (None, persons_by_outcome):
        words = "the counts given are not the numbers of persons with and without the outcome"
        reasons.append(
            violation("counts", words, "leave counts away: they are computed from the records")
        )
    # Neighbouring points that are equal stand for nobody, and reveal nothing.
    small_steps = int(((steps > 0) & (steps < rules.threshold)).sum())
    if small_steps:
        words = (
            f"{small_steps:,} of {len(steps):,} steps stand for fewer than {rules.threshold}"
            " persons"
        )
        reasons.append(violation("marks", words, "tell fewer points"))
    reasons += _judge_points(points, records, column, features)
    if not reasons:
        words = f"each of {len(steps):,} steps stands for at least {rules.threshold} persons"
        reasons.append(confirmation("marks", words))
    thinner = None
    if small_steps:
        # Rounding takes so many persons from a step at most.
        rounding = 10.0**-DIGITS * (positives + negatives)
        groups = join_neighbours(steps.tolist(), rules.threshold + rounding)
        if groups:
            ends = [0, *(end for _, end in groups)]
            rounded = np.round(whole[ends], DIGITS)
            thinner = pl.DataFrame({"fpr": rounded[:, 0], "tpr": rounded[:, 1]})
    return OutputVerdict(kind, tuple(reasons), positives + negatives, curve, thinner)


def _count_outcomes(
    records: ContributingRecords | None, column: str | None
) -> tuple[int, int] | None:
    """Persons with the outcome and without, by the records."""
    if column is None:
        return None
    if records is None:
        raise ParameterError("column is the outcome in the records: give data=... too")
    values, person_ids = records.numbers(column), records.person_ids
    if not records.is_binary(column):
        raise ParameterError(
            "the outcome of a ROC curve is a column of yes and no, or of ones and zeros"
        )
    return count_persons(person_ids[values == 1]), count_persons(person_ids[values == 0])


def _judge_points(
    points: Floats,
    records: ContributingRecords | None,
    column: str | None,
    features: Sequence[str] | None,
) -> list[OutputReason]:
    """Whether points are on the curve of a score, either way round; a question where nobody can
    tell.
    """
    if records is None or column is None or features is None or len(features) != 1:
        words = "the points were not computed again: the outcome and the score are unknown"
        advice = "give data=..., column='outcome', features=['score']"
        return [open_question("records", words, advice)]
    outcome, score = records.numbers(column), records.numbers(features[0])
    complete = ~np.isnan(outcome) & ~np.isnan(score)
    outcome, score = outcome[complete], score[complete]
    # A score may rise or fall with the outcome.
    for sign in (-1.0, 1.0):
        order = np.argsort(sign * score, kind="stable")
        # Persons of equal score enter the curve together: there is no point between them.
        is_last = np.r_[np.diff(score[order]) != 0, True]  # of equal scores
        positive = outcome[order] == 1
        counts = np.column_stack([np.cumsum(~positive), np.cumsum(positive)])[is_last]
        curve = counts / np.maximum(1, [(~positive).sum(), positive.sum()])
        curve = np.vstack([[0.0, 0.0], curve])
        if all(_is_on_curve(curve, point) for point in points):
            return []
    words = "the points are not on the curve of this score and outcome"
    return [open_question("recomputed", words, "give the records that the curve is of (where=...)")]


def _is_on_curve(curve: Floats, point: Floats) -> bool:
    """Whether a point is one of the curve, rounded or not."""
    # Only points with about the same false positive rate are compared, since the curve may be long.
    start = np.searchsorted(curve[:, 0], point[0] - POINT_SLACK)
    start = min(int(start), len(curve) - 1)
    end = int(np.searchsorted(curve[:, 0], point[0] + POINT_SLACK, side="right"))
    distances = np.abs(curve[start:end] - point).max(axis=1, initial=0.0)
    return bool((distances <= POINT_SLACK).any())


def _read_rates(output: object) -> Floats:
    """The false and true positive rates, a row a point, rising."""
    frame = frame_of(output)
    if frame is not None:
        columns = {name.lower(): frame[name] for name in frame.columns}
        pair = [columns.get("fpr"), columns.get("tpr")]
    elif isinstance(output, tuple | list):
        pair = list(output[:2])
    else:
        pair = [peek(output, "fpr"), peek(output, "tpr")]
    vectors = [vector_of(rates) for rates in pair]
    lengths = {None if vector is None else len(vector) for vector in vectors}
    if len(vectors) != 2 or len(lengths) != 1 or None in lengths:
        raise SchemaError("a ROC curve has the columns fpr and tpr, of equal length")
    points = np.array(vectors, dtype=np.float64).T
    if not ((points >= 0) & (points <= 1)).all():
        raise SchemaError("rates of a ROC curve must be between 0 and 1")
    rising: Floats = points[np.lexsort((points[:, 1], points[:, 0]))]
    return rising
