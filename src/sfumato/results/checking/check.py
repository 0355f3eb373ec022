"""One question of any output: may it leave?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import ParameterError, did_you_mean, nearest
from sfumato.results.checking import bars, curve_points, fitted_models
from sfumato.results.checking.contributing_records import Behind, membership
from sfumato.results.checking.correlations import judge_correlation
from sfumato.results.checking.curves import curve_of, judge_steps
from sfumato.results.checking.grouped_tables import judge_with_records
from sfumato.results.checking.hypothesis_tests import is_test, judge_test
from sfumato.results.checking.layout import (
    OutputTable,
    across_by_labels,
    columns_in_rows,
    columns_of,
    described,
    long_form,
    of_labels,
    quantiles_in_rows,
    turned_back,
    unlabelled,
)
from sfumato.results.checking.record_sets import sets_of_tabulated
from sfumato.results.checking.suggestions import of_a_model, what_to_give
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
    broken,
    open_question,
    passed,
)
from sfumato.results.tables.joint_table import with_joint_table
from sfumato.results.tables.protected_table import ProtectedTable
from sfumato.results.tables.rules import Threshold
from sfumato.results.tables.table import MagnitudeTable, SensitiveTable

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


def check_output(
    output: Any,
    data: Any = None,
    *,
    kind: str | None = None,
    by: Sequence[str] | None = None,
    tells: Mapping[str, str] | str | None = None,
    across: str | None = None,
    column: str | None = None,
    features: Sequence[str] | None = None,
    counts: Any = None,
    unit: str | None = None,
    where: Any = None,
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
        raise ParameterError("rules are given as sf.OutputRules(threshold=10, ...)")
    if kind is not None and kind not in KINDS:
        raise ParameterError(f"there is no kind of output {kind!r}.{did_you_mean(kind, KINDS)}")
    behind = None if data is None else Behind.of(data, unit=unit, weight=weight, where=where)
    if behind is None and any(one is not None for one in (unit, where, weight)):
        raise ParameterError("unit, where and weight are about the records: give data=... too")
    if (
        kind is None
        and isinstance(output, Mapping)
        and behind is not None
        and (table := of_labels(output, by, behind)) is not None
    ):
        return _by_labels(table, behind, requested, tells)
    output_kind = kind or kind_of(output, tells)
    if (
        kind is None
        and output_kind == "survival"
        and features is None
        and (curve := curve_of(output)) is not None
    ):
        columns_in_data = behind is not None and set(curve.columns) <= set(behind.dataset.columns)
        output_kind = (
            "table" if columns_in_data or by is not None or tells is not None else output_kind
        )  # means by time, say
    _require_fitting(output_kind, across=across, weight=weight, column=column, features=features)
    if output_kind in ("table", "correlation"):
        return _table(
            output, output_kind, behind, requested, by=by, tells=tells, across=across, counts=counts
        )
    if output_kind == "survival":
        return judge_steps(output, requested, behind, features, by)
    if output_kind == "roc":
        return curve_points.judge_roc(
            output, _with_and_without(counts), requested, behind, column, features
        )
    if output_kind == "histogram":
        return bars.judge_histogram(output, requested, behind, column)
    if output_kind == "scatter":
        return bars.judge_scatter(output, requested, behind)
    return _fitted(
        output,
        output_kind,
        behind,
        requested,
        by=by,
        column=column,
        features=features,
        counts=counts,
    )


def _by_labels(
    table: pl.DataFrame, behind: Behind, rules: OutputRules, tells: Mapping[str, str] | str | None
) -> OutputVerdict:
    """Numbers by label, such as effects of groups: a table; whatever they tell, those of few
    persons are of these.
    """
    name = table.columns[0]
    verdict = _table(
        table, "table", behind, rules, by=[name], tells=tells, across=None, counts=None
    )
    persons = membership(table, [name], behind).persons(behind)
    few = int((persons < rules.threshold).sum())
    if not few or verdict.status == "fail":
        return verdict
    words = (
        f"{few:,} of {table.height:,} numbers are about fewer than {rules.threshold} persons each,"
        " whatever they tell"
    )
    return verdict.with_reasons(
        [broken("threshold", words, "leave them out, or make the groups coarser")]
    )


def _require_fitting(
    kind: str,
    *,
    across: str | None,
    weight: str | None,
    column: str | None,
    features: Sequence[str] | None,
) -> None:
    """Refuse words that would not be listened to."""
    table = kind in ("table", "correlation")
    if table and (column is not None or features is not None):
        raise ParameterError(
            "column and features are about models, tests and curves; of a table say by=... and"
            " tells=..."
        )
    if not table and across is not None:
        raise ParameterError("across is about cross tables")
    if not table and weight is not None:
        raise ParameterError(
            "weight is about tables; a model says itself how it was weighted, curves and pictures"
            " are not judged with weights"
        )


def _fitted(
    output: Any,
    kind: str,
    behind: Behind | None,
    rules: OutputRules,
    *,
    by: Sequence[str] | None,
    column: str | None,
    features: Sequence[str] | None,
    counts: Any,
) -> OutputVerdict:
    if kind == "regression":
        feature_names = None if features is None else list(features)
        return fitted_models.judge_model(
            output, rules, behind, features=feature_names, persons=number_of(counts), column=column
        )
    if kind == "test":
        return judge_test(
            output, behind, rules, by=by, column=column, features=features, counts=counts
        )
    if kind == "tree":
        return judge_tree(output, rules, behind, features=features, column=column)
    if kind == "influence":
        return fitted_models.judge_influence(rules)
    if kind == "keeper":
        return fitted_models.judge_keeper(rules)
    if kind == "scale":
        return fitted_models.judge_scale(rules)
    if kind == "clusters":
        return judge_clusters(output, rules)
    if kind == "ours":
        return _ours(output, rules)
    if kind == "residuals" or _per_record(output, behind):
        reason = broken(
            "per record",
            "this is a figure per record, which is never given out",
            "tell percentiles, or counts in bands",
        )
        return OutputVerdict("residuals", (reason,))
    return OutputVerdict("unknown", (what_to_give(output),))


def kind_of(output: Any, tells: Any = None) -> str:
    """What an output seems to be; ``unknown`` where it cannot be told."""
    if isinstance(output, MagnitudeTable | SensitiveTable | ProtectedTable):
        return "ours"
    if is_test(output):  # results of scipy are tuples too
        return "test"
    if isinstance(output, bool | str | bytes | Mapping | tuple | list | np.ndarray):
        return "unknown"
    if number_of(output) is not None:
        return "table" if tells else "unknown"
    if peek(output, "event_table") is not None or _has(output, "surv_times", "n_events", "n_risk"):
        return "survival"
    if any(peek(output, name) is not None for name in fitted_models.INFLUENCE):
        return "influence"
    if any(peek(output, name) is not None for name in fitted_models.HOLDS_RECORDS):
        return "keeper"
    if any(peek(output, name) is not None for name in fitted_models.HOLDS_EXTREMES):
        return "scale"
    if peek(output, "cluster_centers_") is not None:
        return "clusters"
    if peek(output, "tree_") is not None or _has(output, "children_left", "n_node_samples"):
        return "tree"
    frame = frame_of(output)
    if frame is not None:
        return _kind_of_frame(frame)
    fitted_line = peek(output, "params") is not None and _has_one(
        output, "nobs", "df_resid", "model"
    )
    of_risks = _has(output, "params_", "durations", "event_observed", "baseline_hazard_")
    return (
        "regression" if fitted_line or of_risks or peek(output, "coef_") is not None else "unknown"
    )


def _has(output: Any, *names: str) -> bool:
    return all(peek(output, name) is not None for name in names)


def _has_one(output: Any, *names: str) -> bool:
    return any(peek(output, name) is not None for name in names)


def _kind_of_frame(frame: pl.DataFrame) -> str:
    names = {name.lower().replace(" ", "_") for name in frame.columns}
    if (
        names & {"at_risk", "n_risk", "num_at_risk"}
        and curve_points.survival_frame(frame) is not None
    ):
        return "survival"
    if curve_of(frame) is not None:
        return "survival"
    if {"fpr", "tpr"} <= names:
        return "roc"
    if set(frame.columns) == bars.BARS:
        return "histogram"
    return "correlation" if _looks_correlated(frame) else "table"


def _looks_correlated(frame: pl.DataFrame) -> bool:
    """Whether a frame is a symmetric matrix with ones along its diagonal."""
    numbers = [name for name in frame.columns if frame[name].dtype.is_numeric()]
    if len(numbers) < 2 or frame.height != len(numbers):
        return False
    values = frame.select(numbers).cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return bool(np.allclose(np.diag(values), 1.0) and np.allclose(values, values.T))


def _table(
    output: Any,
    kind: str,
    behind: Behind | None,
    rules: OutputRules,
    *,
    by: Sequence[str] | None,
    tells: Mapping[str, str] | str | None,
    across: str | None,
    counts: Any,
) -> OutputVerdict:
    if isinstance(by, str):
        raise ParameterError("by is a list of columns: by=['region']")
    frame = (
        pl.DataFrame({"value": [number_of(output)]})
        if number_of(output) is not None
        else frame_of(output)
    )
    if frame is None:
        raise ParameterError(
            "the output is no frame of polars, pandas or Arrow; say what it is with kind=..."
        )
    if kind == "correlation":
        return judge_correlation(frame, behind, rules, number_of(counts))
    names = None if behind is None else behind.dataset.columns
    if (
        by is None
        and (turned := turned_back(frame, across or across_of(output), behind)) is not None
    ):
        frame = turned
    elif by is None and tells is None and (summary := described(frame, names)) is not None:
        frame, tells = summary
    elif by is None and tells is None and (levels := quantiles_in_rows(frame, names)) is not None:
        frame, tells = levels
    elif by is None and tells is None and (wide := columns_in_rows(frame, names)) is not None:
        frame = wide
    if by is None and (grid := bars.in_bands(frame, behind)) is not None:
        grid_frame, behind = grid
        table_verdict = _table(
            grid_frame, kind, behind, rules, by=None, tells=tells, across=None, counts=counts
        )
        return dataclasses.replace(table_verdict, shown=frame, suggestion=None)
    frame = long_form(
        frame, across or across_of(output) or across_by_labels(frame, behind), by, behind
    )
    if isinstance(tells, Mapping) and (
        strange := [name for name in tells if name not in frame.columns]
    ):
        raise ParameterError(
            f"tells: the output has no column {strange[0]!r}.{nearest(strange[0], frame.columns)}"
        )
    apart = [counts] if isinstance(counts, str) else []
    table = columns_of(frame, by, apart, behind, tells)
    if behind is not None and by is None and (verdict := unlabelled(table, behind)) is not None:
        model = of_a_model(frame) if verdict.status == "review" and tells is None else None
        return verdict if model is None else dataclasses.replace(verdict, reasons=(model,))
    if behind is not None:
        return judge_with_records(table, behind, rules, tells).with_reasons(
            _as_counted(counts, table, behind)
        )
    if isinstance(counts, str):
        statistics = (
            dict.fromkeys(table.told, tells) if isinstance(tells, str) else dict(tells or {})
        )
        tells = {**statistics, counts: "count"}
    return judge_with_counts(table, counts_of(counts, table), rules, tells)


def _as_counted(counts: Any, table: OutputTable, behind: Behind) -> list[OutputReason]:
    """Counts that are given beside the records must be theirs."""
    cell_counts = counts_of(counts, table)
    if cell_counts is None:
        return []
    belongs = membership(table.frame, table.by, behind)
    rows = np.bincount(belongs.cell, minlength=belongs.size)
    if number_of(counts) in (behind.persons, len(behind)):
        return []
    if any(
        np.array_equal(cell_counts[belongs.known], one[belongs.known])
        for one in (belongs.persons(behind), rows)
    ):
        return []
    words = "the counts given are not the numbers of persons that the records have in the cells"
    return [broken("counts", words, "leave counts away: the records tell them")]


def _with_and_without(counts: Any) -> tuple[int, int] | None:
    if counts is None:
        return None
    numbers = vector_of(list(counts.values()) if isinstance(counts, Mapping) else counts)
    if numbers is None or len(numbers) != 2 or np.isnan(numbers).any() or (numbers % 1 != 0).any():
        raise ParameterError(
            "counts of a ROC curve are two numbers of persons: with the outcome, and without"
        )
    return int(numbers[0]), int(numbers[1])


def _per_record(output: Any, behind: Behind | None) -> bool:
    """Whether it is one number for every record."""
    values = vector_of(output)
    return (
        behind is not None
        and values is not None
        and len(values) in (len(behind), behind.persons)
        and len(values) > 1
    )


def _contributions_protected(output: ProtectedTable, rules: OutputRules) -> list[OutputReason]:
    """Sums that are published although few contributions make them up: the table was protected by
    other rules.
    """
    table = output.judged.table
    if table.measure.kind != "sum":
        return []
    unsafe_cells = table.sensitive(*rules.of_amounts)
    released = (
        int((unsafe_cells.unsafe & ~output.hidden).sum())
        if output.suppression is not None
        else len(unsafe_cells)
    )
    if not released:
        return []
    words = (
        f"{released:,} cells break a rule about contributions, and the table was protected"
        " without it"
    )
    return [
        broken(
            "contributions",
            words,
            "protect it with the rules of the session about contributions, too",
        )
    ]


AUDITED_AGAIN = 3_000
"""Cells up to which a table that says it was audited is audited again."""


def _still_protected(output: ProtectedTable) -> list[OutputReason]:
    """Whether what would leave is what was audited: no sensitive cell with its true value, and an
    audit that holds.
    """
    released = ~output.hidden & (
        np.abs(np.nan_to_num(output.published) - output.problem.value) <= output.problem.slack
    )
    suppressed = output.suppression is not None or bool(output.hidden.any())
    again = None if len(output.published) > AUDITED_AGAIN else _audited_again(output)
    if (
        (suppressed and (released & output.problem.primary).any())
        or not output.audited.holds
        or again is False
    ):
        words = (
            "the table is not the one that was audited: cells that must be hidden can be read or"
            " computed"
        )
        return [broken("audit", words, "protect it anew")]
    if output.unknown is not None:
        words = "its tables were audited each by itself; whether they hold together is unknown"
        return [open_question("linked", words, "publish fewer tables at once, or coarser ones")]
    return []


def _audited_again(output: ProtectedTable) -> bool:
    try:
        joint = with_joint_table(output.judged.table, output.problem)
        return dataclasses.replace(output, joint=joint).audit().holds
    except Exception:  # noqa: BLE001 - parts of it do not belong together
        return False


def tabulated(output: ProtectedTable | SensitiveTable | MagnitudeTable) -> MagnitudeTable:
    """The table of :func:`sfumato.tabulate` behind an output that is one."""
    if isinstance(output, ProtectedTable):
        return output.judged.table
    return output.table if isinstance(output, SensitiveTable) else output


def _ours(output: Any, rules: OutputRules) -> OutputVerdict:
    """A table of :func:`sfumato.tabulate`: a protected one was audited already, others are judged
    as they are.
    """
    if isinstance(output, ProtectedTable):
        threshold = max(
            (rule.t for rule in output.judged.rules if isinstance(rule, Threshold)), default=0
        )
        reasons = [passed("audit", "the table was protected, and its audit holds")]
        if threshold < rules.threshold:
            reasons = [
                broken(
                    "threshold",
                    f"the table was protected for fewer than {rules.threshold} persons",
                    "protect it with sf.Threshold(...) of that number",
                )
            ]
        reasons += _contributions_protected(output, rules) + _still_protected(output)
        table = output.judged.table
        frame = output.to_polars()
        by = tuple(one.column for one in table.dimensions)
        persons = len(np.unique(table.contributions.respondent))
        measures = (str(table.measure),)
        exact = ~output.hidden & (
            np.abs(np.nan_to_num(output.published) - output.problem.value) <= output.problem.slack
        )
        cells = partial(sets_of_tabulated, table, exact)
        return OutputVerdict(
            "protected table",
            tuple(reasons),
            persons,
            frame,
            None,
            by,
            measures,
            made_of_records=True,
            cells=cells,
        )
    table = tabulated(output)
    unsafe_cells = table.sensitive(
        *rules.of_counts, *(rules.of_amounts if table.measure.kind == "sum" else ())
    )
    reasons = [
        broken(name, f"{count:,} cells break the rule {name.replace('_', ' ')}", "protect() it")
        for name, count in unsafe_cells.count().items()
        if count
    ]
    fine = [] if reasons else [passed("table", f"all {len(unsafe_cells.unsafe):,} cells are safe")]
    by = tuple(one.column for one in table.dimensions)
    return OutputVerdict(
        "table",
        (*reasons, *fine),
        len(np.unique(table.contributions.respondent)),
        table.to_polars(),
        None,
        by,
        (str(table.measure),),
        made_of_records=True,
        cells=partial(sets_of_tabulated, table, np.ones(len(unsafe_cells.unsafe), dtype=bool)),
    )
