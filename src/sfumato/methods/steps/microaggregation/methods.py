"""The methods by name."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np

from sfumato.core.step import Goal
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.microaggregation import local_search
from sfumato.methods.steps.microaggregation.embedding import (
    ON_A_LINE,
    embed_columns,
    form_of,
    line_of,
)
from sfumato.methods.steps.microaggregation.genetic import genetic
from sfumato.methods.steps.microaggregation.grouped_table import GroupedTable
from sfumato.methods.steps.microaggregation.inputs import FormedGroups, PointGround
from sfumato.methods.steps.microaggregation.k_ward import k_ward
from sfumato.methods.steps.microaggregation.mdav import BLOCK, group_by_blocks, mdav, v_mdav
from sfumato.methods.steps.microaggregation.runs import (
    best_runs,
    by_score,
    first_component,
    first_dimension,
    sum_of_scores,
)

Method = Literal[
    "single_axis",
    "z_score_sum",
    "principal_component",
    "individual_ranking",
    "optimal",
    "projected_optimal",
    "mdav",
    "v_mdav",
    "partitioned",
    "k_ward",
    "generalized_k_ward",
    "genetic",
    "refined",
    "best",
]
GAMMA = 0.2


def grouping(step: Any, table: GroupedTable, goal: Goal) -> dict[str, FormedGroups]:
    """The groups of the rows that a step's method finds, by column: the same for all, but for
    individual ranking.
    """
    rows = table.rows
    parts = [np.searchsorted(rows, part) for part in table.parts]
    ground = PointGround(
        table.points[rows], parts, k=step.k, draw=goal.stream, progress=goal.progress
    )
    if step.method == "individual_ranking":
        return {name: _rank_and_group(step, table, ground, name) for name in table.forms}
    return dict.fromkeys(table.forms, _of_all(step, table, ground))


def _of_all(step: Any, table: GroupedTable, ground: PointGround) -> FormedGroups:
    if step.method == "single_axis":
        return by_score(_on_axis(step, table, ground), first_dimension)
    if step.method in ("z_score_sum", "optimal"):
        _require_lines(step.method, table)
    if step.method == "z_score_sum":
        return by_score(ground, sum_of_scores)
    if step.method == "principal_component":
        return by_score(ground, first_component)
    if step.method == "optimal":
        return best_runs(ground, first_dimension)
    if step.method == "projected_optimal":
        return best_runs(ground, first_component)
    return _by_distance(step, ground)


def _by_distance(step: Any, ground: PointGround) -> FormedGroups:
    if step.method == "v_mdav":
        return v_mdav(ground, GAMMA if step.gamma is None else step.gamma)
    if step.method == "partitioned":
        return group_by_blocks(ground, step.block or BLOCK)
    if step.method in ("k_ward", "generalized_k_ward"):
        return k_ward(ground, step.mixability or 1.0)
    if step.method == "genetic":
        return genetic(ground)
    if step.method == "refined":
        return local_search.refine_groups(ground)
    if step.method == "best":
        return local_search.best(ground, effort=step.effort, seconds=step.seconds)
    return mdav(ground)


def _require_lines(method: str, table: GroupedTable) -> None:
    unordered = [name for name, form in table.forms.items() if form not in ON_A_LINE]
    if unordered:
        raise SchemaError(
            f"microaggregate: {method} needs columns that can be ordered, and "
            f"{', '.join(unordered)} cannot; use mdav or principal_component"
        )


def _rank_and_group(step: Any, table: GroupedTable, ground: PointGround, name: str) -> FormedGroups:
    """The groups of one column alone."""
    _require_lines(step.method, table)
    column_form = {name: table.forms[name]}
    points = embed_columns(table.dataset, column_form, table.lines, standardize=step.standardize)
    return by_score(dataclasses.replace(ground, points=points[table.rows]), first_dimension)


def _on_axis(step: Any, table: GroupedTable, ground: PointGround) -> PointGround:
    form = form_of(table.dataset, step.axis, "mode")
    if form not in ON_A_LINE:
        raise SchemaError(
            f"microaggregate: the axis {step.axis!r} must be a column that can be ordered"
        )
    line = line_of(table.dataset, step.axis, form)
    line = line[table.rows]
    if np.isnan(line).any():
        raise SchemaError(
            f"microaggregate: the axis {step.axis!r} lacks values of grouped records; "
            "fill them first or choose another axis"
        )
    return dataclasses.replace(ground, points=line[:, None])


def require_options(step: Any) -> None:
    """Refuse options that the chosen method lacks or would ignore."""
    methods_by_field = {
        "axis": ("single_axis",),
        "gamma": ("v_mdav",),
        "mixability": ("generalized_k_ward",),
        "block": ("partitioned",),
        "effort": ("best",),
        "seconds": ("best",),
    }
    for field, methods in methods_by_field.items():
        value = getattr(step, field)
        if value is not None and step.method not in methods:
            raise ParameterError(
                f"Microaggregate: {field} is for {join_words(methods)}, not for {step.method}"
            )
        if value is None and step.method in methods and field in ("axis", "mixability"):
            raise ParameterError(f"Microaggregate: {step.method} needs {field}")
    if step.method == "optimal" and len(step.columns) > 1:
        raise ParameterError(
            "Microaggregate: optimal is for one column, since several are NP-hard; use best, or "
            "projected_optimal"
        )
    if step.within is not None and set(step.within) & set(step.columns):
        raise ParameterError(
            "Microaggregate: a column cannot both define the strata and be averaged "
            "within them; name it once"
        )
