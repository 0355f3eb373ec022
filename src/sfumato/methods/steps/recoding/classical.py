"""The ways to search a lattice, by name."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.core.progress import Progress, silent
from sfumato.core.words import join_words
from sfumato.errors import ParameterError
from sfumato.methods.steps.recoding.anytime import anytime
from sfumato.methods.steps.recoding.lattice import JudgedNode, Lattice, Node
from sfumato.methods.steps.recoding.optimal import (
    Algorithm,
    Outcome,
    best_of,
    closest_of,
    k_minimal,
    minimal_notes,
    tell,
)
from sfumato.methods.steps.recoding.predictive_tagging import FEASIBLE, UNKNOWN, Tags, require_small
from sfumato.methods.steps.recoding.search_choice import auto, optimal
from sfumato.methods.steps.recoding.whole_lattice import every_table

if TYPE_CHECKING:
    from sfumato.core.classes import ClassTable


# Datafly: generalise the column with the most values until what is left over may be suppressed.


def datafly(lattice: Lattice, progress: Progress = silent) -> Outcome:
    """A node that is good enough, found in one climb; neither minimal nor optimal.

    Sweeney stops when at most k records are left over; here the suppression budget says how many
    may be. Of columns with equally many values the first in the order of the lattice climbs.

    Reference: Sweeney 1997; 2002, doi:10.1142/S021848850200165X.
    """
    classes = lattice.at(lattice.low)
    climbed = [lattice.judge(classes)]
    rungs = sum(lattice.high) - sum(lattice.low)
    # Greedy, at most one table a level of the lattice; each is rolled up from the one before.
    while not climbed[-1].feasible and classes.levels != lattice.high:
        column = most_values(lattice, classes)
        level = classes.levels[lattice.columns.index(column)]
        classes = classes.roll_up({column: level + 1})
        climbed.append(lattice.judge(classes))
        progress((len(climbed) - 1) / rungs, "climbing")
    return Outcome(best_of(lattice, climbed), closest_of(climbed), len(climbed))


def most_values(lattice: Lattice, classes: ClassTable, among: Sequence[str] | None = None) -> str:
    """The column with the most distinct values among those that can still climb (and are named,
    where some are).
    """
    levels = zip(lattice.columns, classes.levels, lattice.high, strict=True)
    able = [c for c, level, high in levels if level < high and (among is None or c in among)]
    # Classes that only a population has hold no records, and their values do not count.
    counts = {}
    for c in able:
        codes = classes.codes(c)[classes.records > 0]
        counts[c] = len(np.unique(codes))
    return max(counts, key=counts.__getitem__)


# The way of µ-Argus: recode the column that is in most unsafe combinations, and suppress what is
# left over.

WIDEST = 3
"""Combinations of so many columns are looked at, as µ-Argus does, and that of all."""


def argus(lattice: Lattice, progress: Progress = silent) -> Outcome:
    """A node that is good enough, found in one climb; neither minimal nor optimal.

    A combination of values of up to three columns, or of all, is *unsafe* when it breaks a promise,
    the other columns being at their highest level. The column that occurs in most unsafe
    combinations climbs one level, of several the one with most values, until the records that are
    still unsafe are within the suppression budget. µ-Argus leaves the choice to its user and shows
    these counts; the whole combination is looked at besides, since promises are about it.

    Reference: Hundepool et al. 2012, doi:10.1002/9781118348239.
    """
    classes = lattice.at(lattice.low)
    climbed = [lattice.judge(classes)]
    rungs = sum(lattice.high) - sum(lattice.low)
    # Greedy as Datafly; every step counts O(c³) tables of up to three columns.
    while not climbed[-1].feasible and classes.levels != lattice.high:
        column = worst_column(lattice, classes)
        level = classes.levels[lattice.columns.index(column)]
        classes = classes.roll_up({column: level + 1})
        climbed.append(lattice.judge(classes))
        progress((len(climbed) - 1) / rungs, "climbing")
    return Outcome(best_of(lattice, climbed), closest_of(climbed), len(climbed))


def worst_column(lattice: Lattice, classes: ClassTable) -> str:
    """The column that can still climb and is in most unsafe combinations; of several the one with
    most values.
    """
    unsafe = unsafe_combinations(lattice, classes.levels)
    able = []
    for a, (level, high) in enumerate(zip(classes.levels, lattice.high, strict=True)):
        if level < high:
            able.append(a)
    largest = max(unsafe[a] for a in able)
    worst = [lattice.columns[a] for a in able if unsafe[a] == largest]
    if len(worst) == 1:
        return worst[0]
    return most_values(lattice, classes, worst)


def unsafe_combinations(lattice: Lattice, node: Node) -> list[int]:
    """Per column, how many unsafe combinations of values it takes part in."""
    every = range(len(lattice.columns))
    sets: set[tuple[int, ...]] = set()
    for size in (*range(1, WIDEST + 1), len(node)):
        sets.update(itertools.combinations(every, size))
    counts = [0] * len(node)
    # Columns outside a set are at their highest level, where they reveal nothing apart; sorted, so
    # that tables are asked for in an order that does not depend on hashes.
    for subset in sorted(sets):
        node_of_subset = tuple(node[a] if a in subset else lattice.high[a] for a in every)
        table = lattice.at(node_of_subset)
        count = int((lattice.failing(table) & (table.records > 0)).sum())
        for a in subset:
            counts[a] += count
    return counts


# Incognito: all admissible nodes, by growing subsets of the columns.


def incognito(lattice: Lattice, progress: Progress = silent) -> Outcome:
    """The node the objective prefers among all admissible ones.

    Reference: LeFevre, DeWitt & Ramakrishnan 2005, doi:10.1145/1066157.1066164.
    """
    tags = Tags(lattice, progress)
    admissible = all_admissible(tags)
    # Samarati's preferences choose among k-minimal nodes only.
    candidates = tags.minimal() if lattice.objective.minimal else admissible
    nodes = [tags.judge(node) for node in candidates]
    if lattice.objective.minimal:
        minimal = minimal_notes(lattice, nodes)
    else:
        minimal = {}
    notes = {"admissible_nodes": len(admissible), **minimal}
    return Outcome(best_of(lattice, nodes), closest_of(tags.judged.values()), tags.looked_at, notes)


def all_admissible(tags: Tags) -> list[Node]:
    """Every feasible node.

    *Subset property*: levels that break a promise on some columns break it on more. So the lattices
    of one column are searched first, then those of two, and so on, with the columns that are left
    out at their highest level. In each, *generalization property*: nodes are tried from below, and
    those above a feasible one are not looked at. The tags carry both from lattice to lattice, where
    the paper joins the survivors of the smaller ones.
    """
    columns = range(len(tags.free))
    # Subsets by growing size: an infeasible node of two columns tags all nodes of more columns that
    # share these levels, before any of them is counted.
    for size in range(1, len(tags.free) + 1):
        for subset in itertools.combinations(columns, size):
            _search(tags, subset)
    if not tags.free:
        tags.judge(tags.lattice.low)
    return tags.nodes(mark=FEASIBLE)


def _search(tags: Tags, subset: tuple[int, ...]) -> None:
    """Decide the lattice of some columns, breadth first."""
    sizes = tags.marks.shape
    box = tuple(
        slice(0, sizes[a]) if a in subset else slice(sizes[a] - 1, sizes[a])
        for a in range(len(sizes))
    )
    # By rising height. A node that was tagged since the list was made costs nothing.
    for node in sorted(tags.nodes(mark=UNKNOWN, box=box), key=lambda node: (sum(node), node)):
        tags.is_feasible(node)


# MinGen: look at every node, keep those that are good enough, choose the one that distorts least.


def mingen(lattice: Lattice, progress: Progress = silent) -> Outcome:
    """The optimum of the lattice, under any model and objective. Exhaustive: for small lattices and
    to check others.

    Reference: Sweeney 2002, doi:10.1142/S021848850200165X.
    """
    require_small(lattice)
    nodes = []
    # No rule prunes here; each table is rolled up from a neighbour.
    for classes in every_table(lattice):
        nodes.append(lattice.judge(classes))
        tell(progress, len(nodes), lattice.size, "evaluating every node")
    feasible = [j for j in nodes if j.feasible]
    if lattice.objective.minimal:
        notes = minimal_notes(lattice, k_minimal(feasible))
    else:
        notes = {}
    return Outcome(best_of(lattice, nodes), closest_of(nodes), len(nodes), notes)


# OLA, the optimal lattice anonymization: bisect between the bottom and the top, tag, and choose a
# k-minimal node.


def ola(lattice: Lattice, progress: Progress = silent) -> Outcome:
    """The k-minimal node that the objective prefers.

    It is the optimum of the whole lattice if the objective never falls on the way up: ``height``
    never does, the others do not where nothing is suppressed. With suppression a coarser node may
    cost less than every k-minimal one; ``optimal`` finds it. All depends on tags, so models that
    merging or suppression can break are refused.

    Reference: El Emam et al. 2009, doi:10.1197/jamia.M3144.
    """
    tags = Tags(lattice, progress)
    # Tags decide every node by monotonicity; without it one look says nothing of others.
    if not tags.decisive:
        raise ParameterError(_why_not(lattice))
    decide(tags, lattice.low, lattice.high)
    minimal = [tags.judge(node) for node in tags.minimal()]
    best = best_of(lattice, minimal)
    return Outcome(
        best, closest_of(tags.judged.values()), tags.looked_at, minimal_notes(lattice, minimal)
    )


def decide(tags: Tags, bottom: Node, top: Node) -> None:
    """Tag every node between two: look at those half way up, then go on below a feasible one and
    above any other.
    """
    box = tags.box(bottom, top)
    # Tags of other branches may have decided this part of the lattice already.
    if not tags.undecided(box):
        return
    start = sum(bottom) - sum(tags.lattice.low)
    height = sum(top) - sum(bottom)
    # Bottom and top alone: nothing lies between them.
    if height <= 1:
        tags.is_feasible(bottom)
        tags.is_feasible(top)
        return
    # Binary search over chains (El Emam et al. 2009): all nodes half way, since a minimal node of
    # this sublattice is below or above one of them.
    for node in tags.nodes(height=start + height // 2, box=box):
        if tags.is_feasible(node):
            decide(tags, bottom, node)
        else:
            decide(tags, node, top)


def _why_not(lattice: Lattice) -> str:
    promises = []
    for m in lattice.models:
        if not m.shrinking and not (m.monotone and lattice.budget == 0):
            promises.append(m.promise)
    return (
        "ola infers one node from others, which is wrong for "
        f"{join_words(promises)}{' with suppression' if lattice.budget else ''}; use the algorithm "
        "optimal, or suppress nothing"
    )


# Samarati's search: the least height at which a node is good enough, by bisection, and all
# k-minimal nodes.


def samarati(lattice: Lattice, progress: Progress = silent) -> Outcome:
    """A node of the least height, and of those the one that the objective prefers.

    The height of a node is the sum of its levels. Where one of her preferences is the objective
    (minimum absolute or relative distance, maximum distribution, minimum suppression), the choice
    is among *all* k-minimal nodes, as she meant it.

    Reference: Samarati 2001, doi:10.1109/69.971193.
    """
    tags = Tags(lattice, progress)
    if lattice.objective.minimal:
        candidates = all_minimal(tags)
    else:
        height = least_height(tags)
        if height is None:
            candidates = []
        else:
            candidates = [tags.judge(node) for node in tags.nodes(height=height)]
    if lattice.objective.minimal:
        notes = minimal_notes(lattice, candidates)
    else:
        notes = {}
    return Outcome(
        best_of(lattice, candidates), closest_of(tags.judged.values()), tags.looked_at, notes
    )


def least_height(tags: Tags) -> int | None:
    """The least height that has a feasible node, counted from the lowest node; None where there is
    no such node.

    If a height has one, so has the next: bisect. Where a model breaks that rule, heights are tried
    from below.
    """
    low = 0
    high = int(tags.heights.max())
    # Without monotonicity no height says anything of another: try all from below.
    if not tags.decisive:
        return next((height for height in range(high + 1) if _has_feasible(tags, height)), None)
    if not _has_feasible(tags, high):
        return None
    # Bisection is right because of the generalization property: a feasible node of height h has one
    # of height h + 1 above it (Samarati 2001).
    while low < high:
        middle = (low + high) // 2
        if _has_feasible(tags, middle):
            high = middle
        else:
            low = middle + 1
    return low


def _has_feasible(tags: Tags, height: int) -> bool:
    # Tags first: they cost nothing.
    if tags.nodes(height=height, mark=FEASIBLE):
        return True
    return any(tags.is_feasible(node) for node in tags.nodes(height=height, mark=UNKNOWN))


def all_minimal(tags: Tags) -> list[JudgedNode]:
    """AllMin: every feasible node that has no feasible one below it, from the least height upwards.

    What lies above such a node is not minimal, whatever the models, and is passed over.
    """
    start = least_height(tags)
    if start is None:
        return []
    minimal: list[JudgedNode] = []
    # Nodes above a minimal one. Kept apart from the tags: it holds for models that are not monotone
    # too.
    covered = np.zeros(tags.marks.shape, dtype=np.bool_)
    for height in range(start, int(tags.heights.max()) + 1):
        for node in tags.nodes(height=height):
            position = tags.position(node)
            if not covered[position] and tags.is_feasible(node):
                minimal.append(tags.judge(node))
                covered[tuple(slice(i, None) for i in position)] = True
    return minimal


AlgorithmName = Literal[
    "auto", "optimal", "samarati", "mingen", "datafly", "argus", "incognito", "ola", "anytime"
]


ALGORITHMS: dict[str, Algorithm] = {
    "optimal": optimal,
    "samarati": samarati,
    "mingen": mingen,
    "datafly": datafly,
    "argus": argus,
    "incognito": incognito,
    "ola": ola,
    "anytime": anytime,
}


def choose(
    name: AlgorithmName, *, effort: int | None = None, seconds: float | None = None
) -> Algorithm:
    """The algorithm of a name, or for ``auto`` the choice among two of them; limits that it does
    not have are refused.

    >>> choose("ola", effort=100)
    Traceback (most recent call last):
    ...
    sfumato.errors.ParameterError: effort belongs to the algorithm anytime, not to ola; leave it out
    """
    if name == "anytime":
        return functools.partial(anytime, effort=effort, seconds=seconds)
    arguments = []
    for limit, value in (("effort", effort), ("seconds", seconds)):
        if value is not None:
            arguments.append(limit)
    if arguments:
        raise ParameterError(
            f"{join_words(arguments)} belongs to the algorithm anytime, not to {name}; leave it out"
        )
    if name == "auto":
        return auto
    return ALGORITHMS[name]
