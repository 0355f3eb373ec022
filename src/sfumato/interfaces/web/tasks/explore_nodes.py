"""Nodes of a landscape one by one: those that pass filters, in order, and those around one of
them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.tasks.explore import MOST_IN_LATTICE, landscape_for
from sfumato.release.alternatives import option_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.interfaces.web.data_process import Bench

# Nodes of a page at most.
MOST_LISTED = 500
# How many shades tiles have.
SHADES = 5


def list_nodes(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    open_recipe: Recipe,
    filters: Mapping[str, Any],
    order: tuple[str, bool],
    part: tuple[int, int],
) -> Fields:
    """A page of the nodes that pass the filters, of equal ones the lower first: ``order`` is the
    figure they are sorted by and whether it falls, ``part`` the first one and how many.

    ``shades`` says for each node listed which fifth of all that pass it belongs to by its score.
    """
    landscape = landscape_for(bench, recipe, open_recipe)
    nodes = np.flatnonzero(landscape.passing(filters))
    figure, falling = order
    landscape.along(figure)  # raises where it is no figure of a node
    values = np.asarray(getattr(landscape, figure), dtype=np.float64)[nodes]
    if falling:
        values = -values
    heights = landscape.levels[nodes].sum(axis=1)
    first, count = part
    ranks = np.lexsort((nodes, heights, values))
    page = nodes[ranks[first : first + min(count, MOST_LISTED)]]
    ends = np.empty(0)
    if len(nodes):
        ends = np.quantile(landscape.score[nodes], np.linspace(0, 1, SHADES + 1)[1:-1])
    return {
        "total": len(nodes),
        "points": {int(at): dataclasses.asdict(option_at(landscape, int(at))) for at in page},
        "shades": np.searchsorted(ends, landscape.score[page], side="left").tolist(),
    }


def nodes_around(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    open_recipe: Recipe,
    filters: Mapping[str, Any],
    levels: Mapping[str, int],
) -> dict[int, Fields]:
    """The nodes nearest to one, by how many steps of levels lie between, itself among them; as many
    as a lattice is drawn with.
    """
    landscape = landscape_for(bench, recipe, open_recipe)
    at = landscape.position(levels)
    if at is None:
        raise ParameterError("this combination of levels is not among those that were examined")
    passing = landscape.passing(filters)
    passing[at] = True
    nodes = np.flatnonzero(passing)
    steps: NDArray[np.int64] = np.abs(
        landscape.levels[nodes].astype(np.int64) - landscape.levels[at].astype(np.int64)
    ).sum(axis=1)
    nearest = nodes[np.argsort(steps, kind="stable")[:MOST_IN_LATTICE]]
    return {int(node): dataclasses.asdict(option_at(landscape, int(node))) for node in nearest}
