"""The way of µ-Argus: recode the column that is in most unsafe combinations, and suppress what is left over."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from sfumato.core.progress import Progress, silent
from sfumato.steps.search.datafly import most_values
from sfumato.steps.search.lattice import Lattice, Node
from sfumato.steps.search.outcome import Outcome, best_of, closest_of

if TYPE_CHECKING:
    from sfumato.core.classes import ClassTable

WIDEST = 3
"""Combinations of so many columns are looked at, as µ-Argus does, and that of all."""


def argus(lattice: Lattice, progress: Progress = silent) -> Outcome:
    """A node that is good enough, found in one climb; neither minimal nor optimal.

    A combination of values of up to three columns, or of all, is *unsafe* when it breaks a promise, the other columns being at
    their highest level. The column that occurs in most unsafe combinations climbs one level, of several the one with
    most values, until the records that are still unsafe are within the suppression budget. µ-Argus leaves the choice to its user and
    shows these counts; the whole combination is looked at besides, since promises are about it.

    Reference: Hundepool et al. 2012, doi:10.1002/9781118348239.
    """
    classes = lattice.at(lattice.low)
    climbed = [lattice.judge(classes)]
    rungs = sum(lattice.high) - sum(lattice.low)
    while not climbed[-1].feasible and classes.levels != lattice.high:
        column = worst_column(lattice, classes)
        classes = classes.roll_up({column: classes.levels[lattice.columns.index(column)] + 1})
        climbed.append(lattice.judge(classes))
        progress((len(climbed) - 1) / rungs, "climbing")
    return Outcome(best_of(lattice, climbed), closest_of(climbed), len(climbed))


def worst_column(lattice: Lattice, classes: ClassTable) -> str:
    """The column that can still climb and is in most unsafe combinations; of several the one with most values."""
    unsafe = unsafe_combinations(lattice, classes.levels)
    able = [a for a, (level, high) in enumerate(zip(classes.levels, lattice.high, strict=True)) if level < high]
    most = max(unsafe[a] for a in able)
    worst = [lattice.columns[a] for a in able if unsafe[a] == most]
    return worst[0] if len(worst) == 1 else most_values(lattice, classes, worst)


def unsafe_combinations(lattice: Lattice, node: Node) -> list[int]:
    """Per column, how many unsafe combinations of values it takes part in."""
    every = range(len(lattice.columns))
    sets = {s for size in (*range(1, WIDEST + 1), len(node)) for s in itertools.combinations(every, size)}
    found = [0] * len(node)
    for chosen in sorted(sets):
        table = lattice.at(tuple(node[a] if a in chosen else lattice.high[a] for a in every))
        count = int((lattice.failing(table) & (table.records > 0)).sum())
        for a in chosen:
            found[a] += count
    return found
