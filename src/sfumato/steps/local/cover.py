"""Covering records by cells: the cheapest cells that hold enough records first.

The cells of all nodes of the lattice are tried in the order of their mean cost, each on the records that no cheaper cell
has taken: a cell is opened when its records alone keep the promises. With nothing promised but a size, a cell that lacks
a few records may borrow them from regions that have more than they need; equal records then part ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.steps.local.parts import Parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.steps.local.terrain import Atoms, Terrain

DEAREST_LOAN = 0.2
"""Cells that borrow are tried while the cost of a record that gains by it stays below this."""


def cover_by_size(atoms: Atoms, terrain: Terrain, k: int) -> Parts:
    """Regions of at least k records."""
    from sfumato.kernels.local import cover

    nodes, least = _events(terrain, k)
    codes = atoms.codes.astype("int32")
    return Parts(*cover(codes, atoms.amounts, k, nodes, least, terrain.bases, terrain.marks))


def _events(terrain: Terrain, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nodes in the order they are tried, and how many waiting records open a cell: k, about half of it, … 1.

    A cell of cost *c* in which *r* of k records gain costs each of them c·k/r, which gives the order.
    """
    import numpy as np

    nodes, costs = terrain.nodes
    sizes = [k]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + 1) // 2)
    which = np.tile(np.arange(len(nodes)), len(sizes))
    least = np.repeat(sizes, len(nodes))
    price = costs[which] * (k / least)
    tried = (least == k) | (price <= DEAREST_LOAN)
    which, least, price = which[tried], least[tried], price[tried]
    order = np.lexsort((which, -least, price))
    top = np.full(1, len(nodes) - 1)
    which, least = np.concatenate([which[order], top]), np.concatenate([least[order], [1]])
    return np.ascontiguousarray(nodes[which]), least
