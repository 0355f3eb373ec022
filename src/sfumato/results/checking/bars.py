"""Bars of a histogram and dots of a scatter plot: each must stand for enough persons, and is joined
with others where it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.table import as_table
from sfumato.errors import ParameterError, SchemaError
from sfumato.results.checking.contributing_records import ContributingRecords, count_persons
from sfumato.results.checking.curve_points import join_neighbours
from sfumato.results.checking.layout import numeric_columns
from sfumato.results.checking.record_sets import CellSource, bar_of_values, sets_of_bars
from sfumato.results.checking.statistics_of_columns import step_of
from sfumato.results.checking.untrusted_objects import frame_of, vector_of
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

BARS = {"from", "to", "count"}
"""The columns of a histogram as a frame."""
MOST_PARTS = 200
"""Parts between the lowest and the highest value that edges are tried for."""
PERSON = "\x00who"
"""A name that no column of a table has."""


def judge_histogram(
    output: object, rules: OutputRules, records: ContributingRecords | None, column: str | None
) -> OutputVerdict:
    """Every bar must stand for enough persons, none or enough lie beyond the bars, and the
    outermost edges must not be somebody's own value.

    ``output`` is ``(counts, edges)`` as numpy gives them, or a frame with the columns ``from``,
    ``to`` and ``count``. With records and a column the bars are counted again, by persons.
    """
    counts, edges = _read_bars(output)
    bar_frame = pl.DataFrame({"from": edges[:-1], "to": edges[1:], "count": counts})
    reasons: list[OutputReason] = []
    values: Floats | None = None
    cells: CellSource | None = None
    persons = counts
    if records is not None and column is not None:
        values, person_ids = records.numbers(column), records.person_ids
        persons = persons_per_bar(values, person_ids, edges)
        reasons += _judge_with_records(counts, edges, values, person_ids, rules)
        cells = partial(sets_of_bars, values, person_ids, edges, counts)
    else:
        words = (
            "whether the edges are somebody's own values, for persons with several rows, is unknown"
        )
        reasons.append(open_question("records", words, "give data=..., column=..."))
    # With zeros as a rule an empty bar is too small as well: it tells that nobody is there.
    smallest_told = 0 if rules.zeros else 1
    small_bars = int(((persons < rules.threshold) & (persons >= smallest_told)).sum())
    if small_bars:
        words = (
            f"{small_bars:,} of {len(persons):,} bars stand for fewer than {rules.threshold}"
            " persons"
        )
        reasons.append(violation("marks", words, "choose wider bars"))
    if not reasons:
        words = f"each of {len(persons):,} bars stands for at least {rules.threshold} persons"
        reasons.append(confirmation("marks", words))
    # Bars that are not those of the records have no safe version.
    fails = any(reason.status == "fail" for reason in reasons)
    suggestion = None
    if fails and not any(reason.rule == "recomputed" for reason in reasons):
        if values is None or records is None:
            suggestion = _join_counts(counts, edges, rules)
        else:
            suggestion = _join_bars(counts, edges, values, records.person_ids, rules)
    return OutputVerdict(
        "histogram", tuple(reasons), int(persons.sum()), bar_frame, suggestion, cells=cells
    )


def _judge_with_records(
    counts: Floats, edges: Floats, values: Floats, person_ids: Codes, rules: OutputRules
) -> list[OutputReason]:
    """Whether bars are those of the records, and whom their outermost edges reveal."""
    reasons = []
    persons = persons_per_bar(values, person_ids, edges)
    rows = persons_per_bar(values, np.arange(len(values)), edges)
    if not np.array_equal(counts, persons) and not np.array_equal(counts, rows):
        words = "the bars do not match the numbers of these records"
        advice = "give the records they were counted from (where=...)"
        reasons.append(open_question("recomputed", words, advice))
    # Edges that people chose tell only who is on the outermost; computed ones may tell values.
    telling = [edges[0], edges[-1]]
    if not _are_round(edges):
        telling = [*edges, *_values_from_grid(edges, values)]
    if any(rules.small(count_persons(person_ids[values == edge])) for edge in telling):
        words = f"edges are values that fewer than {rules.threshold} persons have, or reveal them"
        reasons.append(violation("extreme", words, "choose round edges"))
    below = count_persons(person_ids[values < edges[0]])
    above = count_persons(person_ids[values > edges[-1]])
    if rules.small(below) or rules.small(above):
        words = (
            f"fewer than {rules.threshold} persons are beyond the outermost bars, and the "
            "difference to the total reveals how many"
        )
        reasons.append(violation("beyond", words, "let the outermost bars include everybody"))
    return reasons


def _are_round(edges: Floats) -> bool:
    """Whether edges are such as people choose, rather than computed from the values."""
    return step_of(edges) >= float(np.diff(edges).min(initial=np.inf)) / 100


def _values_from_grid(edges: Floats, values: Floats) -> list[float]:
    """The lowest and the highest value, where edges are whole parts of the way between them, or up
    to the highest: counting the parts tells it.
    """
    present = values[~np.isnan(values)]
    if not len(present) or np.ptp(present) == 0:
        return []
    low, high = float(present.min()), float(present.max())
    # Edges at low + (high − low) · i / parts lie at whole positions for the right number of parts:
    # 0, 5, 10 of a range from 0 to 20 do so for parts = 4.
    parts = np.arange(1, MOST_PARTS + 1)[:, None]
    inner = edges[1:-1] if len(edges) > 2 else edges
    for start, values_told in ((low, [low, high]), (0.0, [high])):
        if high == start:
            continue
        position = (inner - start) / (high - start) * parts
        whole = np.abs(position - np.round(position)) <= 1e-6
        if whole.all(axis=1).any():
            return values_told
    return []


def _join_counts(counts: Floats, edges: Floats, rules: OutputRules) -> pl.DataFrame | None:
    """The bars with neighbours joined until each counts enough; None where that gives none."""
    bars = []
    for start, end in join_neighbours(counts.tolist(), rules.threshold):
        bars.append([edges[start], edges[end], counts[start:end].sum()])
    if not bars:
        return None
    return pl.DataFrame(bars, schema=["from", "to", "count"], orient="row")


def _join_bars(
    counts: Floats, edges: Floats, values: Floats, person_ids: Codes, rules: OutputRules
) -> pl.DataFrame | None:
    """The bars with neighbours joined until each is of enough persons, within round edges that are
    nobody's own; None where that gives none.
    """
    # The bars may count rows or persons; the suggestion counts the same as they did.
    of_persons = np.array_equal(counts, persons_per_bar(values, person_ids, edges))
    owners = person_ids if of_persons else np.arange(len(values))
    is_present = ~np.isnan(values)
    present, present_ids = values[is_present], person_ids[is_present]
    if not _are_round(edges):
        step = _round_step(present, len(counts))
        first, last = np.floor(present.min() / step), np.floor(present.max() / step)
        edges = step * np.arange(first, last + 2).round(9)
    low = _outermost_edge(present, present_ids, edges[0], rules, side=-1.0)
    high = _outermost_edge(present, present_ids, edges[-1], rules, side=1.0)
    edges = np.r_[low, edges[1:-1], high]
    persons = persons_per_bar(values, person_ids, edges)
    # Joined by the counts of single bars first; a person in two of them is one afterwards, so the
    # joined bars are counted again.
    ends = [start for start, _ in join_neighbours(persons.tolist(), rules.threshold)]
    if not ends:
        return None
    edges = _join_until_enough(np.r_[edges[ends], edges[-1]], values, person_ids, rules)
    if len(edges) < 2:
        return None
    low = _round_outwards(values, edges[0], edges[1] - edges[0], side=-1.0)
    high = _round_outwards(values, edges[-1], edges[-1] - edges[-2], side=1.0)
    edges = np.r_[low, edges[1:-1], high]
    bar_counts = persons_per_bar(values, owners, edges)
    return pl.DataFrame({"from": edges[:-1], "to": edges[1:], "count": bar_counts})


def _join_until_enough(
    edges: Floats, values: Floats, person_ids: Codes, rules: OutputRules
) -> Floats:
    """Edges of bars that are of enough different persons: one who is in several bars is one."""
    while len(edges) > 1:
        small_bars = np.flatnonzero(persons_per_bar(values, person_ids, edges) < rules.threshold)
        if not len(small_bars):
            return edges
        if len(edges) == 2:
            return edges[:0]
        # A bar joins the one before it, the first bar the second.
        edges = np.delete(edges, max(1, int(small_bars[0])))
    return edges


def _outermost_edge(
    values: Floats, person_ids: Codes, edge: float, rules: OutputRules, *, side: float
) -> float:
    """An outermost edge: as it is where enough persons, or nobody, lie on it and beyond; else a
    round one beyond everybody.
    """
    # With its sign the left edge is looked at like the right one.
    beyond = count_persons(person_ids[side * (values - edge) > 0])
    on = count_persons(person_ids[values == edge])
    if not rules.small(beyond) and not rules.small(on):
        return edge
    step = _round_step(values, 10)
    return float(np.round(side * (np.floor((side * values).max() / step) + 1) * step, 9))


def _round_outwards(values: Floats, edge: float, width: float, *, side: float) -> float:
    """The outermost edge of a bar, as round as the bar is wide, where it is beyond everybody: one
    close by would tell the extreme.
    """
    if np.nanmax(side * values) >= side * edge:
        return edge
    step = 10.0 ** np.floor(np.log10(width))
    return float(np.round(side * np.ceil(side * edge / step - 1e-9) * step, 9))


def _read_bars(output: object) -> tuple[Floats, Floats]:
    """The counts and the edges of a histogram."""
    counts, edges = None, None
    frame = frame_of(output)
    if frame is not None:
        if not set(frame.columns) >= BARS:
            raise SchemaError("a histogram as a frame has the columns from, to and count")
        ordered = frame.sort("from")
        counts, low, high = (vector_of(ordered[name]) for name in ("count", "from", "to"))
        if low is not None and high is not None:
            edges = np.r_[low, high[-1:]]
            if not np.array_equal(low[1:], high[:-1]):
                raise SchemaError("every bar of a histogram begins where the one before it ends")
    elif isinstance(output, tuple | list) and len(output) >= 2:
        counts, edges = (vector_of(part) for part in output[:2])
    if counts is None or edges is None or len(edges) != len(counts) + 1:
        raise SchemaError("a histogram is (counts, edges) with one edge more than counts")
    if np.isnan(counts).any() or np.isnan(edges).any():
        raise SchemaError("a histogram is (counts, edges) with one edge more than counts")
    if (counts < 0).any() or (counts % 1 != 0).any():
        raise ParameterError(
            "bars of a histogram count persons: whole numbers, none negative; densities and weights"
            " are not judged"
        )
    return counts, edges


def persons_per_bar(values: Floats, person_ids: Codes, edges: Floats) -> Floats:
    """Persons per bar; the last bar holds its right edge too.

    >>> edges = np.array([0.0, 1.0, 2.0])
    >>> persons_per_bar(np.array([0.0, 1.0, 2.0, 2.0]), np.arange(4), edges).tolist()
    [1.0, 3.0]
    """
    bars = bar_of_values(values, edges)
    persons = [count_persons(person_ids[bars == bar]) for bar in range(len(edges) - 1)]
    return np.array(persons, dtype=np.float64)


# Scatter plots and other dots


def judge_scatter(
    output: object, rules: OutputRules, records: ContributingRecords | None = None
) -> OutputVerdict:
    """Every dot is a person: refused, and offered as counts on a grid."""
    frame = frame_of(output)
    numbers = [] if frame is None else numeric_columns(frame)
    if frame is None or len(numbers) < 2:
        raise SchemaError("a scatter plot is a frame with two columns of numbers")
    words = f"each of {frame.height:,} dots shows a record"
    reason = violation("marks", words, "give the counts on a grid instead (verdict.suggestion)")
    person_ids = np.arange(frame.height)
    if records is not None and len(records) == frame.height:
        person_ids = records.person_ids
    grid = count_on_grid(frame, numbers[:2], rules, person_ids)
    return OutputVerdict("scatter plot", (reason,), None, frame, grid)


def count_on_grid(
    frame: pl.DataFrame, names: Sequence[str], rules: OutputRules, person_ids: Codes
) -> pl.DataFrame | None:
    """Persons on a grid of about ten by ten fields with round edges, only where there are
    enough.
    """
    dots = frame.select(pl.col(names).cast(pl.Float64)).with_columns(pl.Series(PERSON, person_ids))
    dots = dots.filter(pl.all_horizontal(pl.col(names).is_finite()))
    if dots.height < rules.threshold:
        return None
    edges = []
    for name in names:
        step = _round_step(dots[name].to_numpy(), 10)
        low = (pl.col(name) / step).floor()
        edges.append((low * step).round(9).alias(f"{name} from"))
        edges.append(((low + 1) * step).round(9).alias(f"{name} to"))
    edge_names = [edge.meta.output_name() for edge in edges]
    fields = dots.with_columns(edges).group_by(edge_names)
    counts = fields.agg(pl.col(PERSON).n_unique().alias("count")).sort("count", *edge_names)
    # A field that is not shown may be empty or small; where all hidden ones are empty, hiding tells
    # that.
    safe = _hide_gaps(counts, [f"{name} from" for name in names], rules)
    return safe.sort(edge_names) if safe.height else None


def _hide_gaps(fields: pl.DataFrame, axes: Sequence[str], rules: OutputRules) -> pl.DataFrame:
    """The fields of enough persons; the smallest is left out too, where all others that are not
    shown are empty: then a gap reveals nothing.
    """
    safe = fields.filter(pl.col("count") >= rules.threshold)
    while rules.zeros and safe.height:
        # The fields of the grid that the rows and columns of those shown span.
        inside, spanned = fields, 1
        for axis in axes:
            inside = inside.filter(pl.col(axis).is_in(safe[axis].unique().to_list()))
            spanned *= safe[axis].n_unique()
        if spanned == inside.height or inside.height > safe.height:
            break
        safe = safe.slice(1)
    return safe


def _round_step(values: Floats, parts: int) -> float:
    """A round width that cuts the middle nine tenths of values into about so many parts."""
    # The outermost twentieths are left out: one extreme value would make all bars too wide.
    low, high = np.quantile(values, [0.05, 0.95])
    width = (high - low) / parts or 1.0
    power = 10.0 ** np.floor(np.log10(width))
    # 0.999 forgives rounding errors: a width of 2 must not become 5.
    return float(next(power * digit for digit in (1, 2, 5, 10) if power * digit >= width * 0.999))


def label_bands(
    frame: pl.DataFrame, records: ContributingRecords | None
) -> tuple[pl.DataFrame, ContributingRecords] | None:
    """A table whose cells are bands of columns of numbers (``cost from``, ``cost to``), with the
    bands as labels, and records with the same; None for other tables.
    """
    names = [name.removesuffix(" from") for name in frame.columns if name.endswith(" from")]
    if records is None or not names:
        return None
    rows = records.dataset.to_polars()
    for name in names:
        if f"{name} to" not in frame.columns or name not in rows.columns:
            return None
        if not records.is_finite(name):
            return None
    for name in names:
        ends = frame.select(pl.col(f"{name} from", f"{name} to").cast(pl.Float64, strict=False))
        bands = ends.unique().sort(f"{name} from").fill_null(float("nan"))
        low, high = bands[f"{name} from"].to_numpy(), bands[f"{name} to"].to_numpy()
        # Bands must not overlap, otherwise a value would belong to two cells.
        if not ((low < high).all() and (high[:-1] <= low[1:]).all()):
            return None
        label = f"{name} band"
        cell_bands = np.searchsorted(low, ends[f"{name} from"].to_numpy(), side="right") - 1
        values = records.numbers(name)
        row_bands = np.searchsorted(low, values, side="right") - 1
        # A value in the gap between two bands, or beyond the last, is in no cell.
        row_bands[~((row_bands >= 0) & (values < high[row_bands]))] = -1
        labels = pl.Series(label, cell_bands).cast(pl.String)
        frame = frame.drop(ends.columns).insert_column(0, labels)
        rows = rows.with_columns(pl.Series(label, row_bands).cast(pl.String))
    return frame, ContributingRecords(as_table(rows), records.unit, records.weight)
