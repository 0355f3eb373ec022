"""Better classes by flow: with the centres of the classes held, the best assignment within the
limits; then new centres.

Record → (class, bucket of the record) → class is a network; its arcs into the class carry between
the least and the most records of a bucket, and each class receives its size. The cost of a
record's arc is its squared distance from the centre, so a flow of least cost is the best
assignment, and the sum of squared errors never rises from round to round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.fields import Document
from sfumato.errors import InternalError, MissingExtra, require
from sfumato.methods.steps.microaggregation.inputs import error_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.progress import Progress
    from sfumato.methods.steps.microaggregation.bucket_classes import Limits

    Labels = NDArray[np.int64]
    Points = NDArray[np.float64]
    Solve = Callable[[Labels, Labels, Points, Labels, Limits], Labels]

FINENESS = 1_000_000
"""Costs are whole numbers up to this."""


def improve_classes(
    points: Points,
    buckets: Labels,
    groups: Labels,
    limits: Limits,
    *,
    rounds: int,
    near: int,
    progress: Progress,
) -> tuple[Labels, Document]:
    """Classes with a smaller squared error, and how they were found. ``near`` classes can be
    reached by each record.
    """
    solve, solver = _solver()
    best = groups
    smallest_error = error_of(points, groups)
    round_number = 0
    # Lloyd's scheme: best assignment to the centres, then the centres of that; the error falls.
    for round_number in range(1, rounds + 1):
        records, classes, costs = _arcs(points, best, len(limits.sizes), near)
        candidate = solve(records, classes, costs, buckets, limits)
        error = error_of(points, candidate)
        progress(round_number / rounds, "improving classes")
        # Costs are rounded to whole numbers, so a round may gain nothing.
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
    class_means = [np.bincount(groups, column, classes) / sizes for column in points.T]
    centres = np.stack(class_means, axis=1)
    reach = min(near, classes)
    neighbours = KDTree(centres).query(points, k=reach)
    nearest = np.asarray(neighbours[1]).reshape(len(points), reach)
    repeated_points = np.repeat(np.arange(len(points)), reach)
    pairs = repeated_points * classes + nearest.ravel()
    # Its own class is always among them, so the present assignment is a solution.
    own_pairs = np.arange(len(points)) * classes + groups
    pairs = np.union1d(pairs, own_pairs)
    records, to = np.divmod(pairs, classes)
    squared = ((points[records] - centres[to]) ** 2).sum(axis=1)
    return records, to, np.asarray(squared)


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
    n = len(buckets)
    (count, shares) = limits.low.shape
    # Nodes: the n records, then class × bucket, then the classes.
    inner = n + np.arange(count * shares)
    ends = n + count * shares + np.repeat(np.arange(count), shares)
    largest = max(float(costs.max(initial=0.0)), 1e-300)
    whole = np.rint(costs * (FINENESS / largest)).astype(np.int64)
    from_nodes = np.concatenate([records, inner])
    bucket_nodes = n + classes * shares + buckets[records]
    to_nodes = np.concatenate([bucket_nodes, ends])
    spare_room = (limits.high - limits.low).ravel()
    capacities = np.concatenate([np.ones(len(records), dtype=np.int64), spare_room])
    all_costs = np.concatenate([whole, np.zeros(count * shares, dtype=np.int64)])
    network.add_arcs_with_capacity_and_unit_cost(from_nodes, to_nodes, capacities, all_costs)
    # What a bucket must give is taken at its node; the remainder of a class may come from any
    # bucket.
    free_capacity = limits.sizes - limits.low.sum(axis=1)
    least_amounts = limits.low.ravel()
    supplies = np.concatenate([np.ones(n, dtype=np.int64), -least_amounts, -free_capacity])
    network.set_nodes_supplies(np.arange(len(supplies)), supplies)
    if network.solve() != network.OPTIMAL:
        raise InternalError(
            "no flow was found, although the present classes are one; report this as a bug"
        )
    used = np.asarray(network.flows(np.arange(len(records)))) > 0
    return _pick_classes(records[used], classes[used], n)


def by_linear_program(
    records: Labels, classes: Labels, costs: Points, buckets: Labels, limits: Limits
) -> Labels:
    """The class of every record, by the linear program of the same network: its best corner is
    whole.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, vstack

    n = len(buckets)
    (count, shares) = limits.low.shape
    arcs = np.arange(len(records))
    coefficients = np.ones(len(records))
    of_record = csr_array((coefficients, (records, arcs)), shape=(n, len(arcs)))
    of_class = csr_array((coefficients, (classes, arcs)), shape=(count, len(arcs)))
    positions = (classes * shares + buckets[records], arcs)
    of_bucket = csr_array((coefficients, positions), shape=(count * shares, len(arcs)))
    # The constraints are those of a network, so corners are whole and the dual simplex ends in
    # one.
    upper_rows = vstack([of_bucket, -of_bucket], format="csr")
    upper_limits = np.concatenate([limits.high.ravel(), -limits.low.ravel()])
    equal_rows = vstack([of_record, of_class], format="csr")
    equal_limits = np.concatenate([np.ones(n), limits.sizes])
    flow = linprog(
        costs,
        A_ub=upper_rows,
        b_ub=upper_limits,
        A_eq=equal_rows,
        b_eq=equal_limits,
        bounds=(0, 1),
        method="highs-ds",
    )
    if not flow.success:
        raise InternalError(
            "no flow was found, although the present classes are one; report this as a bug"
        )
    # A whole solution up to rounding: 0 or 1.
    used = flow.x > 0.5
    return _pick_classes(records[used], classes[used], n)


def _pick_classes(records: Labels, classes: Labels, n: int) -> Labels:
    groups = np.full(n, -1, dtype=np.int64)
    groups[records] = classes
    if len(records) != n or (groups < 0).any():
        raise InternalError("a flow did not assign every record to one class; report this as a bug")
    return groups
