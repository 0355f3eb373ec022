"""Groups of MDAV that a genetic algorithm makes better, some dozens of records at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.methods.steps.microaggregation.inputs import FormedGroups, PointGround, error_of
from sfumato.methods.steps.microaggregation.local_search import number_groups
from sfumato.methods.steps.microaggregation.mdav import mdav, mdav_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Labels = NDArray[np.int64]

FEW = 25
"""About half of the most records that are evolved together."""
GENERATIONS = 2000


def genetic(ground: PointGround) -> FormedGroups:
    """Evolve the groups of MDAV within macro-clusters: some of its groups whose means lie near to
    each other.
    """
    start = mdav(ground).groups
    groups = start.copy()
    random = ground.draw("evolving")
    count = 0
    clusters: list[Labels] = []
    for part in ground.parts:
        clusters += macro_clusters(ground, start, part)
    for clusters_done, rows in enumerate(clusters, 1):
        own = number_groups(start[rows])
        # All draws of a cluster at once: six a generation, which the loop uses up in order.
        draws = random.random((GENERATIONS, 6))
        evolved = kernels.microaggregation.evolve(ground.points[rows], ground.k, own, draws)
        part_groups = number_groups(evolved)
        groups[rows] = part_groups + count
        count += int(part_groups.max()) + 1
        ground.progress(clusters_done / len(clusters), "evolving groups")
    notes: dict[str, float] = {}
    if np.size(groups):
        notes["start_error"] = error_of(ground.points, start)
    notes |= {"macro_clusters": len(clusters), "generations": GENERATIONS}
    return FormedGroups(groups, notes)


def macro_clusters(ground: PointGround, groups: Labels, part: Labels) -> list[Labels]:
    """The records of a part in clusters of whole groups: MDAV of the means of the groups."""
    own = number_groups(groups[part])
    sizes = np.bincount(own)
    sums = np.zeros((len(sizes), ground.points.shape[1]))
    np.add.at(sums, own, ground.points[part])
    # About FEW records: FEW // k groups of k, clustered by their means.
    cluster_size = min(len(sizes), max(2, FEW // ground.k))
    together = mdav_of(sums / sizes[:, None], cluster_size)
    return [part[together[own] == cluster] for cluster in range(int(together.max()) + 1)]
