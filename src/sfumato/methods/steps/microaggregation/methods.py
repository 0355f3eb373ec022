"""The methods by name."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato import kernels
from sfumato.core.step import Goal
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.microaggregation import inputs as distance
from sfumato.methods.steps.microaggregation import local_search
from sfumato.methods.steps.microaggregation.centres import GroupedTable
from sfumato.methods.steps.microaggregation.inputs import (
    ON_A_LINE,
    Found,
    PointGround,
    by_part,
    embedded,
    error_of,
    form_of,
    line_of,
    mdav,
    mdav_of,
)
from sfumato.methods.steps.microaggregation.local_search import numbered

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Groups of records that follow one another in some order.

if TYPE_CHECKING:
    Array = NDArray[np.float64]
    Labels = NDArray[np.int64]


def runs_of(scores: Array, k: int) -> Labels:
    """Groups of k consecutive records by score; the last group takes the remainder. Ties stay in
    order.

    >>> import numpy as np
    >>> runs_of(np.array([5.0, 1, 4, 2, 3]), 2).tolist()
    [1, 0, 1, 0, 1]
    """
    groups = np.empty(len(scores), dtype=np.int64)
    groups[np.argsort(scores, kind="stable")] = np.minimum(
        np.arange(len(scores)) // k, len(scores) // k - 1
    )
    return groups


def by_score(ground: PointGround, score: Callable[[Array], Array]) -> Found:
    """Runs of k records by a score of their points, part by part."""
    return Found(by_part(ground, lambda points, k: runs_of(score(points), k)))


def best_runs(ground: PointGround, score: Callable[[Array], Array]) -> Found:
    """The runs with the least squared error among all runs of records in the order of a score."""

    def of_part(points: Array, k: int) -> Labels:
        order = np.argsort(score(points), kind="stable")
        runs = np.empty(len(points), dtype=np.int64)
        kernels.microaggregation.cut_best_runs(points[order], k, runs)
        groups = np.empty_like(runs)
        groups[order] = runs
        return groups

    return Found(by_part(ground, of_part))


def first_component(points: Array) -> Array:
    """The scores of points on their first principal component; its largest loading is positive.

    >>> import numpy as np
    >>> first_component(np.array([[0.0, 0.0], [1.0, 1.0]])).round(3).tolist()
    [-0.707, 0.707]
    """
    centred = points - points.mean(axis=0)
    axis = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    scores: Array = centred @ axis * np.sign(axis[np.abs(axis).argmax()])
    return scores


def sum_of_scores(points: Array) -> Array:
    """The sum over all dimensions."""
    total: Array = points.sum(axis=1)
    return total


def first_dimension(points: Array) -> Array:
    """The first dimension alone."""
    return points[:, 0]


# Groups that grow by joining: k-Ward, and its generalization with a mixability.


def k_ward(ground: PointGround, mixability: float = 1.0) -> Found:
    """Ward's joining of groups until all have k records; two groups with ⌈t·k⌉ records each are
    never joined.

    Mixability t = 1 is k-Ward.
    """
    return Found(by_part(ground, lambda points, k: k_ward_of(points, k, math.ceil(mixability * k))))


def k_ward_of(points: Array, k: int, enough: int) -> Labels:
    """The groups of k-Ward: groups of 2k or more are grouped again, as long as that parts them.

    >>> import numpy as np
    >>> k_ward_of(np.array([[2.0], [12], [16], [25], [29], [45]]), 3, 3).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    groups, count = np.empty(len(points), dtype=np.int64), 0
    waiting = [np.arange(len(points))]
    while waiting:
        rows = waiting.pop(0)
        parts = _parts(points[rows], k, enough) if len(rows) >= 2 * k else [np.arange(len(rows))]
        if len(parts) > 1:
            waiting += [rows[part] for part in parts]
            continue
        groups[rows] = count
        count += 1
    return groups


def _parts(points: Array, k: int, enough: int) -> list[Labels]:
    """One round: the two farthest records with their k − 1 nearest each are groups from the start,
    all others are alone.
    """
    first_end, second_end = kernels.microaggregation.find_farthest_pair(points)
    groups = np.arange(len(points))
    first = _nearest(points, first_end, groups, k)
    remaining = np.setdiff1d(groups, first)
    second = (
        remaining[
            _nearest(
                points[remaining],
                int(np.flatnonzero(remaining == second_end)[0]),
                np.arange(len(remaining)),
                k,
            )
        ]
        if second_end in remaining
        else (remaining[_nearest(points[remaining], 0, np.arange(len(remaining)), k)])
    )
    groups[first], groups[second] = first.min(), second.min()
    kernels.microaggregation.join_groups(points, groups, k, enough)
    return _with_leftovers(points, [np.flatnonzero(groups == g) for g in np.unique(groups)], k)


def _nearest(points: Array, seed: int, records: Labels, k: int) -> Labels:
    away = ((points - points[seed]) ** 2).sum(axis=1)
    away[seed] = -1.0
    return np.sort(records[np.argsort(away, kind="stable")[:k]])


def _with_leftovers(points: Array, parts: list[Labels], k: int) -> list[Labels]:
    """Groups that stayed too small join the group with the nearest mean, the smallest first."""
    while len(parts) > 1 and min(map(len, parts)) < k:
        small = min(range(len(parts)), key=lambda g: (len(parts[g]), int(parts[g][0])))
        gone = parts.pop(small)
        means = np.array([points[part].mean(axis=0) for part in parts])
        near = int(((means - points[gone].mean(axis=0)) ** 2).sum(axis=1).argmin())
        parts[near] = np.sort(np.concatenate([parts[near], gone]))
    return parts


# Groups of MDAV that a genetic algorithm makes better, some dozens of records at a time.

FEW = 25
"""About half of the most records that are evolved together."""
GENERATIONS = 2000


def genetic(ground: PointGround) -> Found:
    """Evolve the groups of MDAV within macro-clusters: some of its groups whose means lie near to
    each other.
    """
    start = mdav(ground).groups
    groups = start.copy()
    random, k, count = ground.draw("evolving"), ground.k, 0
    clusters = [rows for part in ground.parts for rows in macro_clusters(ground, start, part)]
    for clusters_done, rows in enumerate(clusters, 1):
        own = numbered(start[rows])
        part_groups = numbered(
            kernels.microaggregation.evolve(
                ground.points[rows], k, own, random.random((GENERATIONS, 6))
            )
        )
        groups[rows] = part_groups + count
        count += int(part_groups.max()) + 1
        ground.progress(clusters_done / len(clusters), "evolving groups")
    notes = {"macro_clusters": len(clusters), "generations": GENERATIONS}
    return Found(
        groups,
        {"start_error": error_of(ground.points, start), **notes} if np.size(groups) else notes,
    )


def macro_clusters(ground: PointGround, groups: Labels, part: Labels) -> list[Labels]:
    """The records of a part in clusters of whole groups: MDAV of the means of the groups."""
    own = numbered(groups[part])
    sizes = np.bincount(own)
    sums = np.zeros((len(sizes), ground.points.shape[1]))
    np.add.at(sums, own, ground.points[part])
    together = mdav_of(sums / sizes[:, None], min(len(sizes), max(2, FEW // ground.k)))
    return [part[together[own] == cluster] for cluster in range(int(together.max()) + 1)]


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


def grouping(step: Any, table: GroupedTable, goal: Goal) -> dict[str, Found]:
    """The groups of the rows that a step's method finds, by column: the same for all, but for
    individual ranking.
    """
    rows = table.rows
    parts = [np.searchsorted(rows, part) for part in table.parts]
    ground = PointGround(table.points[rows], parts, step.k, goal.stream, goal.progress)
    if step.method == "individual_ranking":
        return {name: _ranked(step, table, ground, name) for name in table.forms}
    return dict.fromkeys(table.forms, _of_all(step, table, ground))


def _of_all(step: Any, table: GroupedTable, ground: PointGround) -> Found:
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


def _by_distance(step: Any, ground: PointGround) -> Found:
    if step.method == "v_mdav":
        return distance.v_mdav(ground, GAMMA if step.gamma is None else step.gamma)
    if step.method == "partitioned":
        return distance.partitioned(ground, step.block or distance.BLOCK)
    if step.method in ("k_ward", "generalized_k_ward"):
        return k_ward(ground, step.mixability or 1.0)
    if step.method == "genetic":
        return genetic(ground)
    if step.method == "refined":
        return local_search.refined(ground)
    if step.method == "best":
        return local_search.best(ground, effort=step.effort, seconds=step.seconds)
    return distance.mdav(ground)


def _require_lines(method: str, table: GroupedTable) -> None:
    unordered = [name for name, form in table.forms.items() if form not in ON_A_LINE]
    if unordered:
        raise SchemaError(
            f"microaggregate: {method} needs columns that can be ordered; {', '.join(unordered)}"
            " cannot: use mdav or principal_component"
        )


def _ranked(step: Any, table: GroupedTable, ground: PointGround, name: str) -> Found:
    """The groups of one column alone."""
    _require_lines(step.method, table)
    column_form = {name: table.forms[name]}
    points = embedded(table.dataset, column_form, table.lines, standardize=step.standardize)
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
            f"microaggregate: the axis {step.axis!r} lacks values of records that are grouped"
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
            "Microaggregate: optimal is for one column; several are NP-hard: use best, or"
            " projected_optimal"
        )
    if step.within is not None and set(step.within) & set(step.columns):
        raise ParameterError(
            "Microaggregate: a column cannot both make the strata and be averaged within them"
        )
