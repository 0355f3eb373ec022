"""How many units of each stratum a sample takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]


def allocated(total: int, sizes: Counts, *, equal: bool) -> Counts:
    """``total`` units shared out over strata by size or equally, at least one and at most all of each.

    Shares are rounded by largest remainders (ties: the first stratum). What a stratum cannot take goes to the others in the
    same way. ``total`` is at least the number of strata and at most the number of units.

    >>> import numpy as np
    >>> allocated(10, np.array([50, 30, 1]), equal=False).tolist(), allocated(10, np.array([50, 30, 1]), equal=True).tolist()
    ([6, 3, 1], [5, 4, 1])
    """
    import numpy as np

    wanted = np.ones(len(sizes)) if equal else sizes.astype(np.float64)
    found = np.zeros(len(sizes), dtype=np.int64)
    open_ = np.ones(len(sizes), dtype=np.bool_)
    while True:
        left = total - int(found[~open_].sum())
        found[open_] = _by_largest_remainders(left, wanted[open_])
        over, under = open_ & (found > sizes), open_ & (found < 1)
        if not (over | under).any():
            return found
        fixed = over if over.any() else under  # what is cut off may lift those that got nothing
        found[over] = sizes[over]
        found[fixed & under] = 1
        open_ &= ~fixed


def _by_largest_remainders(total: int, wanted: NDArray[np.float64]) -> Counts:
    import numpy as np

    shares = total * wanted / wanted.sum()
    found: Counts = np.floor(shares + 1e-9).astype(np.int64)
    rest = total - int(found.sum())
    found[np.argsort(found - shares, kind="stable")[:rest]] += 1
    return found
