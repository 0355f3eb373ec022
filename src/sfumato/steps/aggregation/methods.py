"""The methods by name."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

from sfumato.core.step import Goal
from sfumato.errors import ParameterError, SchemaError
from sfumato.steps.aggregation import distance, evolving, joining, searching, sorting
from sfumato.steps.aggregation.embedding import ON_A_LINE, embedded, form_of, line_of
from sfumato.steps.aggregation.ground import Found, Ground
from sfumato.steps.aggregation.table import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

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


def grouping(step: Any, table: Table, goal: Goal) -> dict[str, Found]:
    """The groups of the rows that a step's method finds, by column: the same for all, but for individual ranking."""
    import numpy as np

    rows = table.rows
    parts = [np.searchsorted(rows, part) for part in table.parts]
    ground = Ground(table.points[rows], parts, step.k, goal.stream, goal.progress)
    if step.method == "individual_ranking":
        return {name: _ranked(step, table, ground, name) for name in table.forms}
    return dict.fromkeys(table.forms, _of_all(step, table, ground))


def _of_all(step: Any, table: Table, ground: Ground) -> Found:
    if step.method == "single_axis":
        return sorting.by_score(_on_axis(step, table, ground), sorting.first_dimension)
    if step.method in ("z_score_sum", "optimal"):
        _require_lines(step.method, table)
    if step.method == "z_score_sum":
        return sorting.by_score(ground, sorting.sum_of_scores)
    if step.method == "principal_component":
        return sorting.by_score(ground, sorting.first_component)
    if step.method == "optimal":
        return sorting.best_runs(ground, sorting.first_dimension)
    if step.method == "projected_optimal":
        return sorting.best_runs(ground, sorting.first_component)
    return _by_distance(step, ground)


def _by_distance(step: Any, ground: Ground) -> Found:
    if step.method == "v_mdav":
        return distance.v_mdav(ground, GAMMA if step.gamma is None else step.gamma)
    if step.method == "partitioned":
        return distance.partitioned(ground, step.block or distance.BLOCK)
    if step.method in ("k_ward", "generalized_k_ward"):
        return joining.k_ward(ground, step.mixability or 1.0)
    if step.method == "genetic":
        return evolving.genetic(ground)
    if step.method == "refined":
        return searching.refined(ground)
    if step.method == "best":
        return searching.best(ground, effort=step.effort, seconds=step.seconds)
    return distance.mdav(ground)


def _require_lines(method: str, table: Table) -> None:
    others = [name for name, form in table.forms.items() if form not in ON_A_LINE]
    if others:
        raise SchemaError(
            f"microaggregate: {method} needs columns that can be ordered; {', '.join(others)} cannot: "
            "use mdav or principal_component"
        )


def _ranked(step: Any, table: Table, ground: Ground, name: str) -> Found:
    """The groups of one column alone."""
    _require_lines(step.method, table)
    one = {name: table.forms[name]}
    points = embedded(table.dataset, one, table.lines, standardize=step.standardize)
    return sorting.by_score(dataclasses.replace(ground, points=points[table.rows]), sorting.first_dimension)


def _on_axis(step: Any, table: Table, ground: Ground) -> Ground:
    import numpy as np

    form = form_of(table.dataset, step.axis, "mode")
    if form not in ON_A_LINE:
        raise SchemaError(f"microaggregate: the axis {step.axis!r} must be a column that can be ordered")
    line = line_of(table.dataset, step.axis, form)
    line = line[table.rows]
    if np.isnan(line).any():
        raise SchemaError(f"microaggregate: the axis {step.axis!r} lacks values of records that are grouped")
    return dataclasses.replace(ground, points=line[:, None])


def require_options(step: Any) -> None:
    """Refuse options that the chosen method lacks or would ignore."""
    wanted = {
        "axis": ("single_axis",),
        "gamma": ("v_mdav",),
        "mixability": ("generalized_k_ward",),
        "block": ("partitioned",),
        "effort": ("best",),
        "seconds": ("best",),
    }
    for field, methods in wanted.items():
        given = getattr(step, field)
        if given is not None and step.method not in methods:
            raise ParameterError(f"Microaggregate: {field} is for {' and '.join(methods)}, not for {step.method}")
        if given is None and step.method in methods and field in ("axis", "mixability"):
            raise ParameterError(f"Microaggregate: {step.method} needs {field}")
    if step.method == "optimal" and len(step.columns) > 1:
        raise ParameterError(
            "Microaggregate: optimal is for one column; several are NP-hard: use best, or projected_optimal"
        )
    if step.within is not None and set(step.within) & set(step.columns):
        raise ParameterError("Microaggregate: a column cannot both make the strata and be averaged within them")
