"""Bars of a histogram and dots of a scatter plot: each must stand for enough persons, and is joined
with others where it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.results.checking.contributing_records import Behind, how_many
from sfumato.results.checking.curve_points import joined
from sfumato.results.checking.record_sets import sets_of_bars
from sfumato.results.checking.statistics_of_columns import step_of
from sfumato.results.checking.untrusted_objects import frame_of, vector_of
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

    Floats = NDArray[np.float64]
    Persons = NDArray[np.int64]

BARS = {"from", "to", "count"}
"""The columns of a histogram as a frame."""


def judge_histogram(
    output: Any, rules: OutputRules, behind: Behind | None, column: str | None
) -> OutputVerdict:
    """Every bar must stand for enough persons, none or enough lie beyond the bars, and the
    outermost edges must not be somebody's own value.

    ``output`` is ``(counts, edges)`` as numpy gives them, or a frame with the columns ``from``,
    ``to`` and ``count``. With records and a column the bars are counted again, by persons.
    """
    counts, edges = _bars(output)
    bars = pl.DataFrame({"from": edges[:-1], "to": edges[1:], "count": counts})
    values, who = (
        (behind.numbers(column), behind.who)
        if behind is not None and column is not None
        else (None, None)
    )
    persons = counts if values is None or who is None else in_bars(values, who, edges)
    few = int(((persons < rules.threshold) & (persons >= (0 if rules.zeros else 1))).sum())
    reasons: list[OutputReason] = []
    if values is not None and who is not None:
        reasons += _by_records(counts, edges, values, who, rules)
    else:
        words = (
            "whether the edges are somebody's own values, and a person has several rows, is not"
            " known"
        )
        reasons.append(open_question("records", words, "give data=..., column=..."))
    if few:
        words = f"{few:,} of {len(persons):,} bars stand for fewer than {rules.threshold} persons"
        reasons.append(broken("marks", words, "choose wider bars"))
    if not reasons:
        reasons.append(
            passed(
                "marks",
                f"each of {len(persons):,} bars stands for at least {rules.threshold} persons",
            )
        )
    wider = None
    if any(one.status == "fail" for one in reasons) and not any(
        one.rule == "recomputed" for one in reasons
    ):
        wider = _wider(counts, edges, values, who, rules)
    cells = (
        None if values is None or who is None else partial(sets_of_bars, values, who, edges, counts)
    )
    return OutputVerdict("histogram", tuple(reasons), int(persons.sum()), bars, wider, cells=cells)


def _by_records(
    counts: Floats, edges: Floats, values: Floats, who: Persons, rules: OutputRules
) -> list[OutputReason]:
    """Whether bars are those of the records, and whom their outermost edges give away."""
    reasons = []
    ways = (in_bars(values, who, edges), in_bars(values, np.arange(len(values)), edges))
    if not any(np.array_equal(counts, one) for one in ways):
        words = "the bars are not the numbers of these records"
        reasons.append(
            open_question(
                "recomputed", words, "give the records they were counted from (where=...)"
            )
        )
    ends = [edges[0], edges[-1]] if _are_round(edges) else [*edges, *_on_their_grid(edges, values)]
    if any(rules.small(how_many(who[values == edge])) for edge in ends):
        words = f"edges are values that fewer than {rules.threshold} persons have, or tell them"
        reasons.append(broken("extreme", words, "choose round edges"))
    if any(
        rules.small(how_many(who[beyond])) for beyond in (values < edges[0], values > edges[-1])
    ):
        words = (
            f"fewer than {rules.threshold} persons are beyond the outermost bars: what is left of"
            " all tells how many"
        )
        reasons.append(broken("beyond", words, "let the outermost bars hold everybody"))
    return reasons


def _are_round(edges: Floats) -> bool:
    """Whether edges are such as people choose, rather than computed from the values."""
    return step_of(edges) >= float(np.diff(edges).min(initial=np.inf)) / 100


MOST_PARTS = 200


def _on_their_grid(edges: Floats, values: Floats) -> list[float]:
    """The lowest and the highest value, where edges are whole parts of the way between them, or up
    to the highest: counting the parts tells it.
    """
    present = values[~np.isnan(values)]
    if not len(present) or np.ptp(present) == 0:
        return []
    low, high = float(present.min()), float(present.max())
    parts = np.arange(1, MOST_PARTS + 1)[:, None]
    inner = edges[1:-1] if len(edges) > 2 else edges
    for start in (low, 0.0):
        share = (inner - start) / (high - start) * parts if high != start else np.full((1, 1), 0.5)
        if (np.abs(share - np.round(share)) <= 1e-6).all(axis=1).any():
            return [low, high] if start == low else [high]
    return []


def _wider(
    counts: Floats, edges: Floats, values: Floats | None, who: Persons | None, rules: OutputRules
) -> pl.DataFrame | None:
    """The bars with neighbours joined until each is of enough persons, within round edges that are
    nobody's own; None where that gives none.
    """
    persons = counts
    if values is not None and who is not None:
        rows = not np.array_equal(counts, in_bars(values, who, edges))
        present = values[~np.isnan(values)]
        if not _are_round(edges):
            step = _round_step(present, len(counts))
            edges = step * np.arange(
                np.floor(present.min() / step), np.floor(present.max() / step) + 2
            ).round(9)
        edges = np.r_[
            _outer(present, edges[0], rules, -1.0),
            edges[1:-1],
            _outer(present, edges[-1], rules, 1.0),
        ]
        persons = in_bars(values, who, edges)
        counts = in_bars(values, np.arange(len(values)), edges) if rows else persons
    groups = joined(persons.tolist(), rules.threshold)
    if values is not None and who is not None:
        groups = _of_persons(groups, edges, values, who, rules)
    bars = [[edges[start], edges[end], counts[start:end].sum()] for start, end in groups]
    if bars and values is not None and who is not None:
        bars[0][0], bars[-1][1] = (
            _far_enough(values, bars[0], -1.0),
            _far_enough(values, bars[-1], 1.0),
        )
        own = np.array([one[0] for one in bars] + [bars[-1][1]])
        bar_counts = in_bars(values, np.arange(len(values)) if rows else who, own)
        bars = [
            [one[0], one[1], count] for one, count in zip(bars, bar_counts.tolist(), strict=True)
        ]
    return pl.DataFrame(bars, schema=["from", "to", "count"], orient="row") if bars else None


def _of_persons(
    groups: list[tuple[int, int]], edges: Floats, values: Floats, who: Persons, rules: OutputRules
) -> list[tuple[int, int]]:
    """Joined bars that are of enough different persons: one who stands in several bars is one."""
    while groups:
        ends = np.array([edges[groups[0][0]], *(edges[end] for _, end in groups)])
        few = np.flatnonzero(in_bars(values, who, ends) < rules.threshold)
        if not len(few):
            return groups
        at = max(1, int(few[0])) if len(groups) > 1 else 0
        if at == 0:
            return []
        groups = [*groups[: at - 1], (groups[at - 1][0], groups[at][1]), *groups[at + 1 :]]
    return groups


def _outer(values: Floats, edge: float, rules: OutputRules, side: float) -> float:
    """An outermost edge: as it is where enough persons, or nobody, lie on it and beyond; else a
    round one beyond everybody.
    """
    beyond, on = int((side * (values - edge) > 0).sum()), int((values == edge).sum())
    if not rules.small(beyond) and not rules.small(on):
        return edge
    step = _round_step(values, 10)
    return float(np.round(side * (np.floor((side * values).max() / step) + 1) * step, 9))


def _far_enough(values: Floats, bar: list[float], side: float) -> float:
    """The outermost edge of a bar, as round as the bar is wide, where it is beyond everybody: one
    close by would tell the extreme.
    """
    edge = bar[1] if side > 0 else bar[0]
    if np.nanmax(side * values) >= side * edge:
        return edge
    step = 10.0 ** np.floor(np.log10(bar[1] - bar[0]))
    return float(np.round(side * np.ceil(side * edge / step - 1e-9) * step, 9))


def _bars(output: Any) -> tuple[Floats, Floats]:
    frame = frame_of(output)
    if frame is not None:
        if not set(frame.columns) >= BARS:
            raise SchemaError("a histogram as a frame has the columns from, to and count")
        ordered = frame.sort("from")
        counts, low, high = (vector_of(ordered[name]) for name in ("count", "from", "to"))
        edges = None if low is None or high is None else np.r_[low, high[-1:]]
        if low is not None and high is not None and not np.array_equal(low[1:], high[:-1]):
            raise SchemaError("every bar of a histogram begins where the one before it ends")
    else:
        pair: Any = output[:2] if isinstance(output, tuple | list) else (None, None)
        counts, edges = (vector_of(one) for one in pair)
    if (
        counts is None
        or edges is None
        or len(edges) != len(counts) + 1
        or np.isnan(counts).any()
        or np.isnan(edges).any()
    ):
        raise SchemaError("a histogram is (counts, edges) with one edge more than counts")
    if (counts < 0).any() or (counts % 1 != 0).any():
        raise ParameterError(
            "bars of a histogram count persons: whole numbers, none negative; densities and weights"
            " are not judged"
        )
    return counts, edges


def in_bars(values: Floats, who: Persons, edges: Floats) -> Floats:
    """Persons per bar; the last bar holds its right edge too.

    >>> in_bars(np.array([0.0, 1.0, 2.0, 2.0]), np.arange(4), np.array([0.0, 1.0, 2.0])).tolist()
    [1.0, 3.0]
    """
    bar = np.searchsorted(edges, values, side="right") - 1
    bar[values == edges[-1]] = len(edges) - 2
    return np.array([how_many(who[bar == one]) for one in range(len(edges) - 1)], dtype=np.float64)


# Scatter plots and other dots


def judge_scatter(output: Any, rules: OutputRules, behind: Behind | None = None) -> OutputVerdict:
    """Every dot is a person: refused, and offered as counts on a grid."""
    frame = frame_of(output)
    numbers = (
        [] if frame is None else [name for name in frame.columns if frame[name].dtype.is_numeric()]
    )
    if frame is None or len(numbers) < 2:
        raise SchemaError("a scatter plot is a frame with two columns of numbers")
    words = f"each of {frame.height:,} dots is a record"
    reason = broken("marks", words, "give the counts on a grid instead (verdict.suggestion)")
    who = (
        behind.who
        if behind is not None and len(behind) == frame.height
        else np.arange(frame.height)
    )
    return OutputVerdict(
        "scatter plot", (reason,), None, frame, on_a_grid(frame, numbers[:2], rules, who)
    )


PERSON = "\x00who"


def on_a_grid(
    frame: pl.DataFrame, names: Sequence[str], rules: OutputRules, who: Persons, across: int = 10
) -> pl.DataFrame | None:
    """Persons on a grid of round edges, only where there are enough."""
    clean = frame.select(pl.col(names).cast(pl.Float64)).with_columns(pl.Series(PERSON, who))
    clean = clean.filter(pl.all_horizontal(pl.col(names).is_finite()))
    if clean.height < rules.threshold:
        return None
    places = []
    for name in names:
        step = _round_step(clean[name].to_numpy(), across)
        low = (pl.col(name) / step).floor()
        places += [
            (low * step).round(9).alias(f"{name} from"),
            ((low + 1) * step).round(9).alias(f"{name} to"),
        ]
    edges = [f"{name} {end}" for name in names for end in ("from", "to")]
    persons_per_bar = (
        clean.with_columns(places).group_by(edges).agg(pl.col(PERSON).n_unique().alias("count"))
    )
    bars_to_show = _not_by_their_gaps(persons_per_bar.sort("count", *edges), names, rules)
    return bars_to_show.sort(edges) if bars_to_show.height else None


def _not_by_their_gaps(
    bars: pl.DataFrame, names: Sequence[str], rules: OutputRules
) -> pl.DataFrame:
    """The places of enough persons; the smallest is left out too, where all others that are not
    shown are empty: then a gap tells nothing.
    """
    safe_bars = bars.filter(pl.col("count") >= rules.threshold)
    while rules.zeros and safe_bars.height:
        lines = [f"{name} from" for name in names]
        edge_values = [safe_bars[line].unique() for line in lines]
        hidden_bars = bars.filter(
            *(
                pl.col(line).is_in(one.to_list())
                for line, one in zip(lines, edge_values, strict=True)
            )
        ).height
        if (
            len(edge_values[0]) * len(edge_values[1]) == hidden_bars
            or hidden_bars > safe_bars.height
        ):
            break
        safe_bars = safe_bars.slice(1)
    return safe_bars


def _round_step(values: Floats, across: int) -> float:
    """A round width that cuts the middle nine tenths of values into about so many."""
    low, high = np.quantile(values, [0.05, 0.95])
    width = (high - low) / across or 1.0
    power = 10.0 ** np.floor(np.log10(width))
    return float(next(power * one for one in (1, 2, 5, 10) if power * one >= width * 0.999))


def in_bands(frame: pl.DataFrame, behind: Behind | None) -> tuple[pl.DataFrame, Behind] | None:
    """A table whose cells are bands of columns of numbers (``cost from``, ``cost to``), with the
    bands as labels, and records with the same; None for other tables.
    """
    names = [one.removesuffix(" from") for one in frame.columns if one.endswith(" from")]
    if behind is None or not names or not all(f"{one} to" in frame.columns for one in names):
        return None
    if not all(one in behind.dataset.columns and behind.is_finite(one) for one in names):
        return None
    records: Any = behind.dataset.to_polars()
    for name in names:
        ends = frame.select(pl.col(f"{name} from", f"{name} to").cast(pl.Float64, strict=False))
        bands = ends.unique().sort(f"{name} from")
        low, high = (bands[one].fill_null(float("nan")).to_numpy() for one in bands.columns)
        if not ((low < high).all() and (high[:-1] <= low[1:]).all()):
            return None
        band = f"{name} band"
        place = np.searchsorted(low, ends[f"{name} from"].to_numpy(), side="right") - 1
        values = behind.numbers(name)
        own = np.searchsorted(low, values, side="right") - 1
        own[~((own >= 0) & (values < high[own]))] = -1
        frame = frame.drop(ends.columns).insert_column(0, pl.Series(band, place).cast(pl.String))
        records = records.with_columns(pl.Series(band, own).cast(pl.String))
    return frame, Behind(Table(records), behind.unit, behind.weight)
