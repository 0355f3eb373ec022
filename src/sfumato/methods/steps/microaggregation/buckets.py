"""Buckets of equal size: values that lie side by side, or records that lie close together in
several columns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato import kernels
from sfumato.core.classes import count_classes, remap_to
from sfumato.core.design import weights_of
from sfumato.core.hierarchy import TOP
from sfumato.core.model import TOLERANCE
from sfumato.core.schema import Attribute, Kind
from sfumato.errors import InternalError, MissingExtra, SchemaError, require
from sfumato.methods.formulas.closeness import bucket_sizes, count_bounds, whole_counts
from sfumato.methods.steps.local.axes import axes_of
from sfumato.methods.steps.local.grid import describe_grids
from sfumato.methods.steps.local.regions import cells_of
from sfumato.methods.steps.masking.block import computable
from sfumato.methods.steps.microaggregation.centres import centres
from sfumato.methods.steps.microaggregation.inputs import (
    ON_A_LINE,
    embedded,
    error_of,
    form_of,
    ladder_of,
    line_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.progress import Progress
    from sfumato.core.table import Table

if TYPE_CHECKING:
    Labels = NDArray[np.int64]
    Points = NDArray[np.float64]


def points_of(dataset: Table, columns: Sequence[str]) -> Points:
    """Columns of any kind as points: see :mod:`sfumato.methods.steps.microaggregation.inputs`."""
    forms = {name: form_of(dataset, name, "taxonomy") for name in columns}
    lines = {
        name: computable(line_of(dataset, name, form), name)
        for name, form in forms.items()
        if form in ON_A_LINE
    }
    return embedded(dataset, forms, lines, standardize=True)


def buckets_of(dataset: Table, columns: Sequence[str], count: int) -> Labels:
    """The bucket of every record; sizes differ by at most one. Rows must be in canonical order.

    One column: its values in order are cut into runs, numbers and dates from low to high, ordered
    values as listed, others in the order of their hierarchy, where values under one node are
    neighbours. Equal values may fall into two buckets. Missing values come last. Several columns:
    see :func:`clusters`.
    """
    sizes = bucket_sizes(len(dataset), count)
    if len(columns) > 1:
        return clusters(points_of(dataset, columns), sizes)
    bucket_of = np.empty(len(dataset), dtype=np.int64)
    bucket_of[np.argsort(_positions(dataset, columns[0]), kind="stable")] = np.repeat(
        np.arange(count), sizes
    )
    return bucket_of


def _positions(dataset: Table, name: str) -> Points:
    form = form_of(dataset, name, "taxonomy")
    if form in ON_A_LINE:
        return line_of(dataset, name, form)  # argsort puts NaN, which is missing, last
    return np.asarray(ladder_of(dataset, name)[2], dtype=np.float64)


def clusters(points: Points, sizes: Sequence[int]) -> Labels:
    """Clusters of given sizes: each time the record farthest from the mean of those left and the
    records nearest to it.

    >>> import numpy as np
    >>> clusters(np.array([[0.0], [9], [1], [8], [5]]), [2, 3]).tolist()
    [0, 1, 0, 1, 1]
    """
    cluster_of = np.empty(len(points), dtype=np.int64)
    remaining = np.arange(len(points))
    for number, size in enumerate(sizes):
        remaining_points = points[remaining]
        seed = remaining_points[
            int(_squared(remaining_points - remaining_points.mean(axis=0)).argmax())
        ]
        nearest = np.argsort(_squared(remaining_points - seed), kind="stable")[:size]
        cluster_of[remaining[nearest]] = number
        remaining = np.delete(remaining, nearest)
    return cluster_of


def _squared(differences: Points) -> Points:
    return np.asarray((differences**2).sum(axis=1))


# What groups of records release in a column: the range of their values, or their centre.

IN_ORDER = (Kind.NUMERIC, Kind.DATE, Kind.ORDINAL)


@dataclasses.dataclass(frozen=True, eq=False)
class BucketColumn:
    """A released column, in the order of the table's rows, and what it is now."""

    values: pl.Series
    attribute: Attribute
    grid: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)


def require_ranges(step: str, grid: Collection[str], ranges: Collection[str]) -> None:
    """Refuse a grid for columns that are not released as ranges."""
    unknown_names = [name for name in grid if name not in ranges]
    if unknown_names:
        raise SchemaError(
            f"{step}: grid names {', '.join(unknown_names[:8])}, not released as ranges; leave them"
            " out there"
        )


def grids_of(columns: Mapping[str, BucketColumn]) -> dict[str, Any]:
    """The grids on which numbers and dates of these columns are labelled, as a plan tells them."""
    grids = {
        name: grid_fields
        for column in columns.values()
        for name, grid_fields in column.grid.items()
    }
    return {"grid": grids} if grids else {}


def as_ranges(
    dataset: Table, name: str, groups: Labels, steps: Mapping[str, int | float | str] | None = None
) -> BucketColumn:
    """What :mod:`sfumato.methods.steps.local.regions` writes for the values of each group;
    ``steps`` are declared grids.
    """
    own = {name: steps[name]} if steps and name in steps else None
    axis = axes_of(count_classes(dataset, [name]), dataset.schema, steps=own)[0]
    encoded = dataset.encoded(name)
    ranks = axis.ranks[remap_to(axis.ladder, encoded)][encoded.codes]
    ends = np.cumsum(np.bincount(groups))
    cells = cells_of(axis, ranks[np.argsort(groups, kind="stable")], ends)
    texts = pl.Series(name, cells.labels, dtype=pl.String).gather(cells.codes[groups])
    before = dataset.schema[name]
    still_listed = {TOP, None}.union(*axis.ladder.labels).issuperset(cells.labels)
    after = dataclasses.replace(
        before,
        kind=Kind.ORDINAL if before.kind in IN_ORDER else Kind.NOMINAL,
        hierarchy=before.hierarchy if still_listed else None,
        order=before.order if still_listed else None,
    )
    return BucketColumn(texts, after, describe_grids([axis], [name]) if cells.changed else {})


def as_centres(dataset: Table, name: str, groups: Labels) -> BucketColumn:
    """The mean of numbers and dates, the median of ordered values, the lowest common node or the
    mode of others.
    """
    form = form_of(dataset, name, "taxonomy")
    line = line_of(dataset, name, form) if form in ON_A_LINE else None
    weights_column = weights_of(dataset)
    weights = np.ones(len(dataset)) if weights_column is None else weights_column
    before = dataset.schema[name]
    gone = form in ("numbers", "dates", "taxonomy")
    after = dataclasses.replace(before, hierarchy=None) if gone else before
    return BucketColumn(centres(dataset, name, form, line, groups, weights), after)


def as_numbers(dataset: Table, name: str, groups: Labels) -> BucketColumn:
    """The number of the group, from 1."""
    texts = pl.Series(
        name,
        [str(number + 1) for number in range(int(groups.max(initial=-1)) + 1)],
        dtype=pl.String,
    )
    after = dataclasses.replace(dataset.schema[name], kind=Kind.NOMINAL, hierarchy=None, order=None)
    return BucketColumn(texts.gather(groups), after)


def require_values(step: str, dataset: Table, columns: Sequence[str]) -> None:
    """Refuse missing values where a centre is to be taken."""
    gaps = {
        name: (
            dataset.column(name).fill_nan(None).null_count()
            if dataset.dtype(name).is_float()
            else dataset.column(name).null_count()
        )
        for name in columns
    }
    incomplete = [name for name, count in gaps.items() if count]
    if incomplete:
        raise SchemaError(
            f"{step}: {', '.join(incomplete[:8])} lack values, and there is no centre with what is"
            " missing; release ranges, or fill them first"
        )


# Which records are a class: similar ones, as far as the limits on every bucket allow.

if TYPE_CHECKING:
    Counts = NDArray[np.int64]
    Flags = NDArray[np.bool_]

MOST_AXES = 12
"""So many dimensions are tried to cut a part in two, from the one that varies most."""


@dataclasses.dataclass(frozen=True, eq=False)
class Limits:
    """How many records classes have, and how many of each bucket at least and at most."""

    sizes: Counts
    low: Counts
    high: Counts

    @classmethod
    def of(cls, sizes: Sequence[int], shares: Sequence[int], t: float) -> Limits:
        """The limits of a factor t."""
        low, high = count_bounds(sizes, shares, t)
        class_sizes = np.array(sizes, dtype=np.int64)
        return cls(class_sizes, low, np.minimum(high, class_sizes[:, None]))

    def exact(self, shares: Sequence[int]) -> Limits:
        """The same classes with counts that are known to work out."""
        counts = whole_counts(self.sizes.tolist(), shares, self.low, self.high)
        if counts is None:
            raise InternalError("there are no counts for classes that were planned")
        return Limits(self.sizes, counts, counts)


def greedy(points: Points, buckets: Labels, limits: Limits) -> tuple[Labels, bool]:
    """Classes around the records that lie farthest out, and whether the counts had to be fixed
    beforehand.

    Each class takes the records nearest to its seed within its limits and what the later ones need.
    Where that leads nowhere, it starts again with counts that a flow found, which always work out.
    """
    groups = np.full(len(points), -1, dtype=np.int64)
    if _share_out(points, buckets, limits, groups):
        return groups, False
    if not _share_out(points, buckets, limits.exact(np.bincount(buckets).tolist()), groups):
        raise InternalError("classes with fixed counts could not be filled")
    return groups, True


def _share_out(points: Points, buckets: Labels, limits: Limits, groups: Labels) -> bool:
    columns = np.array(points.T, order="C")
    classes = kernels.buckets.share_out(
        columns, buckets.copy(), limits.sizes, limits.low, limits.high, groups
    )
    return bool(classes == len(limits.sizes))


def halved(points: Points, buckets: Sequence[Labels], k: int, t: float) -> Labels:
    """Cut parts in two along the dimension that varies most, as long as both halves are within t of
    the table.

    ``buckets`` has the buckets of every confidential column: each part must be close in each of
    them. A part is cut at its middle where that leaves both within √t in some dimension, so that
    they can be cut further; otherwise the records of each combination of buckets are cut at their
    own middle, so that both halves have the same buckets but for single records.
    """
    shares = [np.bincount(bucket_codes) / len(bucket_codes) for bucket_codes in buckets]
    cells = np.unique(np.stack(buckets, axis=1), axis=0, return_inverse=True)[1].ravel()
    groups, classes = np.empty(len(points), dtype=np.int64), 0
    waiting = [np.arange(len(points))]
    while waiting:
        rows = waiting.pop()
        upper = _cut(
            points[rows],
            cells[rows],
            [bucket_codes[rows] for bucket_codes in buckets],
            shares,
            k,
            t,
        )
        if upper is None:
            groups[rows] = classes
            classes += 1
        else:
            waiting += [rows[upper], rows[~upper]]
    return groups


def _cut(
    points: Points,
    cells: Labels,
    buckets: Sequence[Labels],
    shares: Sequence[Points],
    k: int,
    t: float,
) -> Flags | None:
    """The records of the upper half by the first cut that is allowed, or None."""
    if len(points) < 2 * k:
        return None
    spread = points.var(axis=0)
    axes = [
        axis for axis in np.argsort(-spread, kind="stable")[:MOST_AXES] if spread[axis] > 0
    ] or [0]
    everywhere = np.zeros(len(points), dtype=np.int64)
    for parts, limit in ((everywhere, t**0.5), (cells, t), (everywhere, t)):
        for axis in axes:
            upper = _upper_halves(points[:, axis], parts)
            halves = [upper, ~upper]
            sizes = [int(half.sum()) for half in halves]
            pairs = zip(buckets, shares, strict=True)
            if min(sizes) >= k and all(
                _close(bucket_codes[half], share, limit)
                for bucket_codes, share in pairs
                for half in halves
            ):
                return upper
    return None


def _upper_halves(values: Points, parts: Labels) -> Flags:
    """The records above the middle of their part; of parts with an odd number every other one has
    one more above.
    """
    order = np.lexsort((values, parts))
    sizes = np.bincount(parts)
    sizes = sizes[sizes > 0]
    odd = sizes % 2
    below = sizes // 2 + odd * (np.cumsum(odd) % 2)
    position = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    upper = np.zeros(len(order), dtype=np.bool_)
    upper[order] = position >= np.repeat(below, sizes)
    return upper


def _close(buckets: Labels, shares: Points, t: float) -> bool:
    expected = len(buckets) * shares
    counts = np.bincount(buckets, minlength=len(shares))
    return bool(((counts >= expected / t - TOLERANCE) & (counts <= expected * t + TOLERANCE)).all())


# Better classes by flow: with the centres of the classes held, the best assignment within the
# limits; then new centres.
#
# Record → (class, bucket of the record) → class is a network; its arcs into the class carry between
# the least and the most records of a bucket, and each class receives its size. The cost of a
# record's arc is its squared distance from the centre, so a flow of least cost is the best
# assignment, and the sum of squared errors never rises from round to round.

if TYPE_CHECKING:
    Solve = Callable[[Labels, Labels, Points, Labels, Limits], Labels]

FINENESS = 1_000_000
"""Costs are whole numbers up to this."""


def improved(
    points: Points,
    buckets: Labels,
    groups: Labels,
    limits: Limits,
    *,
    rounds: int,
    near: int,
    progress: Progress,
) -> tuple[Labels, dict[str, Any]]:
    """Classes with a smaller squared error, and how they were found. ``near`` classes can be
    reached by each record.
    """
    solve, solver = _solver()
    best, smallest_error, round_number = groups, error_of(points, groups), 0
    for round_number in range(1, rounds + 1):
        records, classes, costs = _arcs(points, best, len(limits.sizes), near)
        candidate = solve(records, classes, costs, buckets, limits)
        error = error_of(points, candidate)
        progress(round_number / rounds, "improving classes")
        if not error < smallest_error * (1 - 1e-9):
            break
        best, smallest_error = candidate, error
    return best, {"rounds": round_number, "solver": solver}


def _arcs(points: Points, groups: Labels, classes: int, near: int) -> tuple[Labels, Labels, Points]:
    """Record, class and squared distance of every arc: the nearest classes of a record, and its
    own.
    """
    from scipy.spatial import KDTree

    sizes = np.bincount(groups, minlength=classes)
    centres = np.stack(
        [np.bincount(groups, column, classes) / sizes for column in points.T], axis=1
    )
    reach = min(near, classes)
    nearest = np.asarray(KDTree(centres).query(points, k=reach)[1]).reshape(len(points), reach)
    pairs = np.repeat(np.arange(len(points)), reach) * classes + nearest.ravel()
    pairs = np.union1d(pairs, np.arange(len(points)) * classes + groups)
    records, to = np.divmod(pairs, classes)
    return records, to, np.asarray(((points[records] - centres[to]) ** 2).sum(axis=1))


def _solver() -> tuple[Solve, str]:
    try:
        require("ortools.graph.python.min_cost_flow", extra="solvers", to="solve flows fast")
    except MissingExtra:
        return by_linear_program, "scipy"
    return by_network, "ortools"


def by_network(
    records: Labels, classes: Labels, costs: Points, buckets: Labels, limits: Limits
) -> Labels:
    """The class of every record, by a flow of least cost (OR-tools)."""
    flows = require("ortools.graph.python.min_cost_flow", extra="solvers", to="solve flows fast")
    network = flows.SimpleMinCostFlow()
    n, (count, shares) = len(buckets), limits.low.shape
    inner = n + np.arange(count * shares)
    ends = n + count * shares + np.repeat(np.arange(count), shares)
    whole = np.rint(costs * (FINENESS / max(float(costs.max(initial=0.0)), 1e-300))).astype(
        np.int64
    )
    network.add_arcs_with_capacity_and_unit_cost(
        np.concatenate([records, inner]),
        np.concatenate([n + classes * shares + buckets[records], ends]),
        np.concatenate([np.ones(len(records), dtype=np.int64), (limits.high - limits.low).ravel()]),
        np.concatenate([whole, np.zeros(count * shares, dtype=np.int64)]),
    )
    free_capacity = limits.sizes - limits.low.sum(axis=1)
    supplies = np.concatenate([np.ones(n, dtype=np.int64), -limits.low.ravel(), -free_capacity])
    network.set_nodes_supplies(np.arange(len(supplies)), supplies)
    if network.solve() != network.OPTIMAL:
        raise InternalError("no flow was found, though the present classes are one")
    used = np.asarray(network.flows(np.arange(len(records)))) > 0
    return _picked(records[used], classes[used], n)


def by_linear_program(
    records: Labels, classes: Labels, costs: Points, buckets: Labels, limits: Limits
) -> Labels:
    """The class of every record, by the linear program of the same network: its best corner is
    whole.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, vstack

    n, (count, shares) = len(buckets), limits.low.shape
    arcs, coefficients = np.arange(len(records)), np.ones(len(records))
    of_record = csr_array((coefficients, (records, arcs)), shape=(n, len(arcs)))
    of_class = csr_array((coefficients, (classes, arcs)), shape=(count, len(arcs)))
    of_bucket = csr_array(
        (coefficients, (classes * shares + buckets[records], arcs)),
        shape=(count * shares, len(arcs)),
    )
    flow = linprog(
        costs,
        A_ub=vstack([of_bucket, -of_bucket], format="csr"),
        b_ub=np.concatenate([limits.high.ravel(), -limits.low.ravel()]),
        A_eq=vstack([of_record, of_class], format="csr"),
        b_eq=np.concatenate([np.ones(n), limits.sizes]),
        bounds=(0, 1),
        method="highs-ds",
    )
    if not flow.success:
        raise InternalError("no flow was found, though the present classes are one")
    used = flow.x > 0.5
    return _picked(records[used], classes[used], n)


def _picked(records: Labels, classes: Labels, n: int) -> Labels:
    groups = np.full(n, -1, dtype=np.int64)
    groups[records] = classes
    if len(records) != n or (groups < 0).any():
        raise InternalError("a flow did not give every record one class")
    return groups
