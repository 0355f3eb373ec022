"""Directed graphs: pairs of ties out and in, made k-anonymous."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.data.graphs.graph import PeopleGraph
from sfumato.errors import Unsatisfiable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Whole = NDArray[np.int64]

ROUNDS = 50
MOST_SIZES = 12
"""Sizes of groups that are tried in pairs when sums are made equal."""


def anonymous_pairs(
    graph: PeopleGraph, classes: Whole, k: int, stream: np.random.Generator
) -> PeopleGraph:
    """A graph with more arcs in which every pair of degrees stands for at least k people.

    People are cut into groups at the median of the wider degree (as Mondrian does), and groups
    raised to the largest of both degrees. The sums of both must be the same: groups of few ties,
    drawn at random, get one arc more of the kind that lacks. What the construction cannot place is
    met the same way.
    """
    pairs = np.stack([graph.out.degrees, graph.into.degrees])
    groups = _groups(pairs, classes, k)
    # Arcs only come, so each group must rise to its largest pair.
    target = _raised(pairs, groups)
    for _ in range(ROUNDS):
        target = _balanced(target, groups, graph.people, stream)
        # What everybody still lacks, out and in.
        out, into = target - pairs
        tails = np.empty(int(out.sum()), np.int64)
        heads = np.empty(int(out.sum()), np.int64)
        # Demands are used up by the loop: what is left in ``out`` and ``into`` could not be placed.
        arc_count = kernels.degrees.join_arcs(*graph.out, out, into, tails, heads)
        if not out.any():
            return graph.with_arcs(
                np.append(graph.arcs[0], tails[:arc_count]),
                np.append(graph.arcs[1], heads[:arc_count]),
            )
        # Arcs that found no head need more people who want one, and the other way round.
        target[0] = _lifted(target[0], groups, int(into.sum()), graph.people, stream)
        target[1] = _lifted(target[1], groups, int(out.sum()), graph.people, stream)
    raise Unsatisfiable(
        f"degree_anonymization: no directed graph with pairs of degrees for {k:,} was found in"
        f" {ROUNDS} rounds; ask for another k"
    )


def _groups(pairs: Whole, classes: Whole, k: int) -> Whole:
    """Groups of k to 2k − 1 people with similar pairs, within classes: cut in the middle of the
    wider degree, again and again.
    """
    groups = np.empty(pairs.shape[1], dtype=np.int64)
    count = 0
    order = np.argsort(classes, kind="stable")
    # Classes one after the other: cut where the class changes.
    open_parts = np.split(order, np.flatnonzero(np.diff(classes[order])) + 1)
    while open_parts:
        part = open_parts.pop()
        # Two groups of k would need 2k people.
        if len(part) < 2 * k:
            groups[part] = count
            count += 1
            continue
        part_pairs = pairs[:, part]
        wider = int(np.ptp(part_pairs[1]) > np.ptp(part_pairs[0]))
        part = part[np.lexsort((part, part_pairs[1 - wider], part_pairs[wider]))]
        open_parts += [part[: len(part) // 2], part[len(part) // 2 :]]
    return groups


def _raised(pairs: Whole, groups: Whole) -> Whole:
    count = int(groups.max()) + 1
    top = np.zeros((2, count), dtype=np.int64)
    for axis in range(2):
        # Many people of a group at once: plain assignment would keep the last one only.
        np.maximum.at(top[axis], groups, pairs[axis])
    return top[:, groups]


def _balanced(target: Whole, groups: Whole, people: int, stream: np.random.Generator) -> Whole:
    """Targets with equal sums: groups are raised so that what is added makes up the difference
    exactly.
    """
    difference = int(target[0].sum() - target[1].sum())
    if not difference:
        return target
    sizes = np.bincount(groups)
    # The side with the smaller sum must grow.
    side = 1 if difference > 0 else 0
    balanced = target.copy()
    steps = _combination(abs(difference), sizes)
    if steps is None:
        raise Unsatisfiable(
            "degree_anonymization: outgoing and incoming ties cannot be made equal in number with "
            "groups of these sizes; ask for another k"
        )
    for size, times, sign in steps:
        # A size that counts negative is added on the other side, which takes the difference back.
        axis = side if sign > 0 else 1 - side
        for _ in range(times):
            balanced[axis] = _one_more(
                balanced[axis], groups, np.flatnonzero(sizes == size), people, stream
            )
    return balanced


def _combination(amount: int, sizes: Whole) -> list[tuple[int, int, int]] | None:
    """Group sizes whose sum, some of them counted negative, is an amount: the largest as often as
    it fits, the rest by two sizes.
    """
    values = np.unique(sizes)[::-1][:MOST_SIZES].tolist()
    best: list[tuple[int, int, int]] | None = None
    for first in values:
        for second in values:
            # More than ``first`` repeats leave the same rests again.
            for back in range(first + 1):
                for sign in (1, -1):
                    remainder = amount - sign * back * second
                    if remainder >= 0 and remainder % first == 0:
                        steps = [(first, remainder // first, 1), (second, back, sign)]
                        if best is None or sum(s * t for s, t, _ in steps) < sum(
                            s * t for s, t, _ in best
                        ):
                            best = steps
    return best


def _one_more(
    degrees: Whole, groups: Whole, among: Whole, people: int, stream: np.random.Generator
) -> Whole:
    """One more tie for all of a group that has few."""
    levels = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    levels[groups] = degrees
    order = among[np.argsort(levels[among], kind="stable")]
    order = order[levels[order] < people - 1]
    if not len(order):
        raise Unsatisfiable(
            "degree_anonymization: even ties between all people are not enough; ask for a smaller k"
        )
    # One of the lower half, so that repeated rounds do not raise the same group for ever.
    group = order[stream.integers(max(1, len(order) // 2))]
    raised = degrees.copy()
    raised[groups == group] += 1
    return raised


def _lifted(
    degrees: Whole, groups: Whole, amount: int, people: int, stream: np.random.Generator
) -> Whole:
    """At least so many more ties, for groups that have few."""
    lifted = degrees
    everyone = np.arange(int(groups.max()) + 1)
    while lifted.sum() < degrees.sum() + amount:
        lifted = _one_more(lifted, groups, everyone, people, stream)
    return lifted
