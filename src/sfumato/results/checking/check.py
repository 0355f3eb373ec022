"""One question of any output: may it leave? The kind of the output decides who judges it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.words import plain_name
from sfumato.errors import ParameterError, did_you_mean, nearest
from sfumato.results.checking import bars, curve_points, fitted_models
from sfumato.results.checking.contributing_records import ContributingRecords, find_members
from sfumato.results.checking.correlations import judge_correlation
from sfumato.results.checking.curves import curve_of, judge_steps
from sfumato.results.checking.grouped_tables import judge_with_records
from sfumato.results.checking.hypothesis_tests import is_test, judge_test
from sfumato.results.checking.layout import (
    OutputTable,
    Statistics,
    across_by_labels,
    judge_unlabelled_rows,
    long_form,
    numeric_columns,
    rows_of_columns,
    rows_of_describe,
    rows_of_labels,
    rows_of_quantiles,
    split_columns,
    transpose_back,
)
from sfumato.results.checking.record_sets import sets_of_tabulated
from sfumato.results.checking.suggestions import ask_for_model, ask_for_output
from sfumato.results.checking.tables_of_counts import counts_of, judge_with_counts
from sfumato.results.checking.trees import judge_clusters, judge_tree
from sfumato.results.checking.untrusted_objects import (
    across_of,
    frame_of,
    number_of,
    peek,
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
from sfumato.results.tables.joint_table import with_joint_table
from sfumato.results.tables.protected_table import ProtectedTable
from sfumato.results.tables.rules import Threshold
from sfumato.results.tables.table import MagnitudeTable, SensitiveTable

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Mask

KINDS = (
    "table",
    "regression",
    "correlation",
    "test",
    "tree",
    "survival",
    "roc",
    "histogram",
    "scatter",
    "residuals",
)
MOST_AUDITED = 3_000
"""Cells up to which a table that says it was audited is audited again."""


@dataclasses.dataclass(frozen=True)
class TableOptions:
    """What a researcher says of a table: see :func:`check_output`."""

    by: Sequence[str] | None
    tells: Statistics
    across: str | None
    counts: Any


def check_output(
    output: object,
    data: object = None,
    *,
    kind: str | None = None,
    by: Sequence[str] | None = None,
    tells: Mapping[str, str] | str | None = None,
    across: str | None = None,
    column: str | None = None,
    features: Sequence[str] | None = None,
    counts: object = None,
    unit: str | None = None,
    where: object = None,
    weight: str | None = None,
    rules: OutputRules | None = None,
) -> OutputVerdict:
    """Judge a table, model, curve or picture before it leaves: ``pass``, ``review`` or ``fail``,
    with reasons and what to do.

    ``data`` are the records behind it (any frame); ``unit`` the column that tells persons apart
    (else the one with that role; else every row is a person), ``where`` which of them were used,
    ``weight`` what they were weighted by in a table. Persons are counted without weights. Of
    tables, ``by`` names the columns that make cells, ``tells`` what the others tell
    (``{"cost": "mean(cost)"}``); both are found where they can be, and what is told is computed
    again from the records. ``across`` is the column that the columns of a cross table are values
    of. ``counts`` are the persons behind every row (of a test, in every group): beside records they
    must be theirs; without records too few fails, and nothing of a table passes. ``kind`` says what
    it is where it cannot be seen: ``survival`` (``by`` where there is a curve a group), ``test``,
    ``roc`` (``counts`` are those with the outcome and without), ``histogram``, ``scatter``,
    ``residuals``. ``column`` is what a histogram, model, tree or test is about, or the outcome of a
    ROC curve; ``features`` are the columns of a model or tree, the two that a test compares, time
    and event of a survival curve or (with ``by``) of a test of how long groups live, or the score
    of a ROC curve. With them it is computed again.

    What is not known is never a pass. Nothing in a verdict's text is a data value.

    >>> import polars as pl
    >>> people = pl.DataFrame(
    ...     {"region": ["n"] * 30 + ["s"] * 4, "cost": [float(i % 7 + 1) for i in range(34)]}
    ... )
    >>> check_output(
    ...     people.group_by("region").agg(pl.len().alias("n"), pl.col("cost").mean()), people
    ... ).status
    'fail'
    """
    requested = OutputRules() if rules is None else rules
    if not isinstance(requested, OutputRules):
        raise ParameterError("give rules as sf.OutputRules(threshold=10, ...)")
    if kind is not None and kind not in KINDS:
        raise ParameterError(
            f"the kind of output {kind!r} does not exist.{did_you_mean(kind, KINDS)}"
        )
    if data is None and any(option is not None for option in (unit, where, weight)):
        raise ParameterError("unit, where and weight are about the records: give data=... too")
    if data is None:
        records = None
    else:
        records = ContributingRecords.of(data, unit=unit, weight=weight, where=where)
    if kind is None and isinstance(output, Mapping) and records is not None:
        table = rows_of_labels(output, by, records)
        if table is not None:
            return _judge_labels(table, records, requested, tells)
    output_kind = kind or kind_of(output, tells)
    if kind is None and output_kind == "survival" and features is None:
        # A table with a time and a share may be of means by time rather than a survival curve.
        curve = curve_of(output)
        if curve is not None:
            in_data = records is not None and set(curve.columns) <= set(records.dataset.columns)
            if in_data or by is not None or tells is not None:
                output_kind = "table"
    is_table = output_kind in ("table", "correlation")
    if is_table and (column is not None or features is not None):
        raise ParameterError(
            "column and features are for models, tests and curves; for a table give by=... and "
            "tells=..."
        )
    if not is_table and across is not None:
        raise ParameterError("across is for cross tables; leave it out")
    if not is_table and weight is not None:
        raise ParameterError(
            "weight is for tables; a model states its own weights, and curves and pictures are "
            "not judged with weights"
        )
    if is_table:
        options = TableOptions(by, tells, across, counts)
        return _judge_table(output, output_kind, records, requested, options)
    if output_kind == "survival":
        return judge_steps(output, requested, records, features, by)
    if output_kind == "roc":
        class_sizes = _read_class_sizes(counts)
        return curve_points.judge_roc(output, class_sizes, requested, records, column, features)
    if output_kind == "histogram":
        return bars.judge_histogram(output, requested, records, column)
    if output_kind == "scatter":
        return bars.judge_scatter(output, requested, records)
    if output_kind == "regression":
        return fitted_models.judge_model(
            output,
            requested,
            records,
            features=None if features is None else list(features),
            persons=number_of(counts),
            column=column,
        )
    if output_kind == "test":
        return judge_test(
            output, records, requested, by=by, column=column, features=features, counts=counts
        )
    if output_kind == "tree":
        return judge_tree(output, requested, records, features=features, column=column)
    return _judge_object(output, output_kind, records, requested)


def _judge_labels(
    table: pl.DataFrame, records: ContributingRecords, rules: OutputRules, tells: Statistics
) -> OutputVerdict:
    """Numbers by label, such as effects of groups: a table; whatever they tell, those of few
    persons are of these.
    """
    name = table.columns[0]
    options = TableOptions([name], tells, None, None)
    verdict = _judge_table(table, "table", records, rules, options)
    persons = find_members(table, [name], records).persons(records)
    small_cells = int((persons < rules.threshold).sum())
    if not small_cells or verdict.status == "fail":
        return verdict
    words = (
        f"{small_cells:,} of {table.height:,} numbers are about fewer than {rules.threshold} "
        "persons each, whatever they show"
    )
    return verdict.with_reasons(
        [violation("threshold", words, "leave them out, or make the groups coarser")]
    )


def _judge_object(
    output: Any, kind: str, records: ContributingRecords | None, rules: OutputRules
) -> OutputVerdict:
    """Objects that are known by what they hold, and what is not known at all."""
    if kind == "influence":
        return fitted_models.refuse_influence()
    if kind == "keeper":
        return fitted_models.refuse_kept_records()
    if kind == "scale":
        return fitted_models.refuse_scale()
    if kind == "clusters":
        return judge_clusters(output, rules)
    if kind == "tabulated":
        return _judge_tabulated(output, rules)
    values = vector_of(output)
    per_record = kind == "residuals"
    if records is not None and values is not None and len(values) > 1:
        per_record = per_record or len(values) in (len(records), records.persons)
    if per_record:
        words = "this is a figure per record, which is never released"
        advice = "release percentiles, or counts in bands"
        return OutputVerdict("residuals", (violation("per record", words, advice),))
    return OutputVerdict("unknown", (ask_for_output(output),))


def kind_of(output: object, tells: Statistics = None) -> str:
    """What an output seems to be; ``unknown`` where it cannot be told."""
    if isinstance(output, MagnitudeTable | SensitiveTable | ProtectedTable):
        return "tabulated"
    if is_test(output):  # results of scipy are tuples too
        return "test"
    if isinstance(output, bool | str | bytes | Mapping | tuple | list | np.ndarray):
        return "unknown"
    if number_of(output) is not None:
        return "table" if tells else "unknown"
    if _has_any(output, "event_table") or _has_all(output, "surv_times", "n_events", "n_risk"):
        return "survival"
    if _has_any(output, *fitted_models.INFLUENCE):
        return "influence"
    if _has_any(output, *fitted_models.HOLDS_RECORDS):
        return "keeper"
    if _has_any(output, *fitted_models.HOLDS_EXTREMES):
        return "scale"
    if _has_any(output, "cluster_centers_"):
        return "clusters"
    if _has_any(output, "tree_") or _has_all(output, "children_left", "n_node_samples"):
        return "tree"
    frame = frame_of(output)
    if frame is not None:
        return _kind_of_frame(frame)
    if _has_any(output, "coef_"):  # scikit-learn
        return "regression"
    if _has_all(output, "params") and _has_any(output, "nobs", "df_resid", "model"):  # statsmodels
        return "regression"
    if _has_all(output, "params_", "durations", "event_observed", "baseline_hazard_"):  # lifelines
        return "regression"
    return "unknown"


def _has_all(output: object, *names: str) -> bool:
    return all(peek(output, name) is not None for name in names)


def _has_any(output: object, *names: str) -> bool:
    return any(peek(output, name) is not None for name in names)


def _kind_of_frame(frame: pl.DataFrame) -> str:
    names = {name.lower().replace(" ", "_") for name in frame.columns}
    at_risk = names & {"at_risk", "n_risk", "num_at_risk"}
    if at_risk and curve_points.survival_frame(frame) is not None:
        return "survival"
    if curve_of(frame) is not None:
        return "survival"
    if {"fpr", "tpr"} <= names:
        return "roc"
    if set(frame.columns) == bars.BARS:
        return "histogram"
    # A symmetric matrix with ones along its diagonal is one of correlations.
    numbers = numeric_columns(frame)
    if len(numbers) >= 2 and frame.height == len(numbers):
        values = frame.select(numbers).cast(pl.Float64).fill_null(float("nan")).to_numpy()
        if np.allclose(np.diag(values), 1.0) and np.allclose(values, values.T):
            return "correlation"
    return "table"


def _judge_table(
    output: object,
    kind: str,
    records: ContributingRecords | None,
    rules: OutputRules,
    options: TableOptions,
) -> OutputVerdict:
    """Bring a table into the form of one row per cell, and judge it by records or by counts."""
    by, tells, counts = options.by, options.tells, options.counts
    if isinstance(by, str):
        raise ParameterError("by must be a list of columns: by=['region']")
    number = number_of(output)
    if number is None:
        frame = frame_of(output)
    else:
        frame = pl.DataFrame({"value": [number]})
    if frame is None:
        raise ParameterError(
            "the output is not a frame of polars, pandas or Arrow; say what it is with kind=..."
        )
    if kind == "correlation":
        return judge_correlation(frame, records, rules, number_of(counts))
    across = options.across or across_of(output)
    if by is None:
        frame, tells = _one_row_per_cell(frame, across, records, tells)
        # Counts on a grid have bands for labels; with the bands as labels they are judged as any
        # table.
        grid = bars.label_bands(frame, records)
        if grid is not None:
            grid_frame, grid_records = grid
            grid_options = TableOptions(None, tells, None, counts)
            verdict = _judge_table(grid_frame, kind, grid_records, rules, grid_options)
            return dataclasses.replace(verdict, shown=frame, suggestion=None)
    frame = long_form(frame, across or across_by_labels(frame, records), by, records)
    if isinstance(tells, Mapping):
        for name in tells:
            if name not in frame.columns:
                raise ParameterError(
                    f"tells: the output has no column {name!r}.{nearest(name, frame.columns)}"
                )
    count_column = [counts] if isinstance(counts, str) else []
    table = split_columns(frame, by, count_column, records, tells)
    if records is not None:
        # Columns that somebody named make the cells; only where none are named, rows may be
        # records.
        unlabelled = None
        if by is None:
            unlabelled = judge_unlabelled_rows(table, records)
        if unlabelled is None:
            verdict = judge_with_records(table, records, rules, tells)
            return verdict.with_reasons(_judge_counts(counts, table, records))
        question = None
        if unlabelled.status == "review" and tells is None:
            question = ask_for_model(frame)
        if question is None:
            return unlabelled
        return dataclasses.replace(unlabelled, reasons=(question,))
    if isinstance(counts, str):
        # Counts in a column are also a result that leaves, and are judged as one.
        if isinstance(tells, str):
            tells = dict.fromkeys(table.result_columns, tells)
        tells = {**(tells or {}), counts: "count"}
    return judge_with_counts(table, counts_of(counts, table), rules, tells)


def _one_row_per_cell(
    frame: pl.DataFrame, across: str | None, records: ContributingRecords | None, tells: Statistics
) -> tuple[pl.DataFrame, Statistics]:
    """A table of pandas or polars with its cells in rows: one that was turned, or of statistics in
    rows; others as they are.
    """
    turned = transpose_back(frame, across, records)
    if turned is not None:
        return turned, tells
    if tells is not None:
        return frame, tells
    names = None if records is None else records.dataset.columns
    statistics = rows_of_describe(frame, names) or rows_of_quantiles(frame, names)
    if statistics is not None:
        return statistics
    columns = rows_of_columns(frame, names)
    return (frame if columns is None else columns), None


def _judge_counts(
    counts: object, table: OutputTable, records: ContributingRecords
) -> list[OutputReason]:
    """Counts that are given beside the records must be theirs."""
    cell_counts = counts_of(counts, table)
    # One number for all rows is the size of the whole, and that is right already.
    if cell_counts is None or number_of(counts) in (records.persons, len(records)):
        return []
    members = find_members(table.frame, table.by, records)
    rows = np.bincount(members.cell, minlength=members.size)
    # Persons or rows: software counts rows, and both are true of the records.
    for expected in (members.persons(records), rows):
        if np.array_equal(cell_counts[members.in_data], expected[members.in_data]):
            return []
    words = "the counts given are not the numbers of persons that the records have in the cells"
    return [violation("counts", words, "leave counts away: they are computed from the records")]


def _read_class_sizes(counts: object) -> tuple[int, int] | None:
    """Persons with the outcome of a ROC curve, and without."""
    if counts is None:
        return None
    numbers = vector_of(list(counts.values()) if isinstance(counts, Mapping) else counts)
    if numbers is None or len(numbers) != 2 or np.isnan(numbers).any() or (numbers % 1 != 0).any():
        raise ParameterError(
            "counts of a ROC curve are two numbers of persons: with the outcome, and without"
        )
    return int(numbers[0]), int(numbers[1])


# Tables of sf.tabulate


def magnitude_table(output: ProtectedTable | SensitiveTable | MagnitudeTable) -> MagnitudeTable:
    """The table of :func:`sfumato.tabulate` behind an output that is one."""
    if isinstance(output, ProtectedTable):
        return output.judged.table
    if not isinstance(output, SensitiveTable):
        return output
    return output.table


def _judge_tabulated(
    output: ProtectedTable | SensitiveTable | MagnitudeTable, rules: OutputRules
) -> OutputVerdict:
    """A table of :func:`sfumato.tabulate`: a protected one was audited already, others are judged
    as they are.
    """
    table = magnitude_table(output)
    if isinstance(output, ProtectedTable):
        kind, frame = "protected table", output.to_polars()
        released = _has_true_value(output)
        reasons = _judge_threshold(output, rules)
        reasons += _judge_contributions(output, rules) + _judge_protection(output)
    else:
        kind, frame = "table", table.to_polars()
        amounts = rules.of_amounts if table.measure.kind == "sum" else ()
        sensitive = table.sensitive(*rules.of_counts, *amounts)
        cells = len(sensitive.unsafe)
        released = np.ones(cells, dtype=bool)
        reasons = []
        for name, count in sensitive.count().items():
            if count:
                words = f"{count:,} cells break the rule {plain_name(name)}"
                reasons.append(violation(name, words, "protect() it"))
        if not reasons:
            reasons.append(confirmation("table", f"all {cells:,} cells are safe"))
    return OutputVerdict(
        kind,
        tuple(reasons),
        len(np.unique(table.contributions.respondent)),
        frame,
        by=tuple(dimension.column for dimension in table.dimensions),
        tells=(str(table.measure),),
        made_of_records=True,
        cells=partial(sets_of_tabulated, table, released),
    )


def _judge_threshold(output: ProtectedTable, rules: OutputRules) -> list[OutputReason]:
    """Whether a table was protected for as many persons as the rules ask for."""
    thresholds = [rule.t for rule in output.judged.rules if isinstance(rule, Threshold)]
    if max(thresholds, default=0) >= rules.threshold:
        return [confirmation("audit", "the table was protected, and its audit holds")]
    words = f"the table was protected for fewer than {rules.threshold} persons"
    advice = "protect it with sf.Threshold(...) of that number"
    return [violation("threshold", words, advice)]


def _judge_contributions(output: ProtectedTable, rules: OutputRules) -> list[OutputReason]:
    """Sums that are published although few contributions make them up: the table was protected by
    other rules.
    """
    table = output.judged.table
    if table.measure.kind != "sum":
        return []
    sensitive = table.sensitive(*rules.of_amounts)
    released = len(sensitive)
    # Of a suppressed table only cells that are still shown matter; a changed table shows every
    # cell, and all that the rules find count.
    if output.suppression is not None:
        released = int((sensitive.unsafe & ~output.hidden).sum())
    if not released:
        return []
    words = (
        f"{released:,} cells break a rule about contributions, and the table was protected"
        " without it"
    )
    advice = "protect it with the session's rules about contributions too"
    return [violation("contributions", words, advice)]


def _has_true_value(output: ProtectedTable) -> Mask:
    """The cells that are published with their true value."""
    distance = np.abs(np.nan_to_num(output.published) - output.problem.value)
    exact: Mask = ~output.hidden & (distance <= output.problem.slack)
    return exact


def _judge_protection(output: ProtectedTable) -> list[OutputReason]:
    """Whether what would leave is what was audited: no sensitive cell with its true value, and an
    audit that holds.
    """
    suppressed = output.suppression is not None or bool(output.hidden.any())
    disclosed = suppressed and (_has_true_value(output) & output.problem.primary).any()
    holds = output.audited.holds
    # An object can be altered after it was audited; small tables are audited again.
    if holds and not disclosed and len(output.published) <= MOST_AUDITED:
        holds = _audit_again(output)
    if disclosed or not holds:
        words = (
            "the table is not the audited one: cells that must be hidden can be read or computed"
        )
        return [violation("audit", words, "protect it anew")]
    if output.unknown is not None:
        words = "its tables were audited separately; whether they hold together is unknown"
        return [open_question("linked", words, "publish fewer tables at once, or coarser ones")]
    return []


def _audit_again(output: ProtectedTable) -> bool:
    try:
        # Built again from the table, since what the object brings along may not be its own.
        joint = with_joint_table(output.judged.table, output.problem)
        return dataclasses.replace(output, joint=joint).audit().holds
    except Exception:  # noqa: BLE001 - parts of it do not belong together
        return False
