"""One rule for what was suppressed, the same in every metric: **a suppressed record has every cell at the top.**

So a record of which nothing was released, a released ``*``, a blank where there was a value, and every cell of a column
that was not released at all cost the same: all that a cell can cost. Three consequences are kept everywhere:

* averages are over all original records, not over those that were kept;
* where a single number must stand for a suppressed cell, it is the mean of the original column: the best guess of someone
  who knows nothing about the record;
* normalised losses are shares of what suppressing everything would cost: the identity scores 0, and a release without
  records scores 1.

Metrics of what an analyst computes from the file (moments, propensity, regression, prediction) see the records that are in
it; there, too, a file without records scores 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair


def records_of(pair: Pair) -> int:
    """Records that averages are over: the released ones and those of which nothing was released."""
    return len(pair.rows) + max(0, pair.suppressed)


def suppressed_of(pair: Pair) -> int:
    """Records of which nothing was released."""
    return max(0, pair.suppressed)


def gone(pair: Pair) -> NDArray[np.bool_]:
    """Per original record, whether nothing of it was released."""
    import numpy as np

    found = np.ones(len(pair.original), dtype=bool)
    found[pair.rows] = False
    return found


def share_lost(pair: Pair, released: float, *, most: float = 1.0) -> float:
    """The mean over all records when the released ones cost ``released`` together and every other one ``most``.

    Without any record nothing can be lost.
    """
    records = records_of(pair)
    return (released + suppressed_of(pair) * most) / records if records else 0.0


def normalised(raw: float, most: float, pair: Pair, *, least: float = 0.0) -> float:
    """A raw loss as a share of the way from ``least`` to ``most``, which is what suppressing everything costs.

    Where these are equal nothing could be lost, except everything: then the release without records alone scores 1.
    """
    if not len(pair.rows):
        return 1.0 if records_of(pair) else 0.0
    if not most > least:
        return 0.0
    return min(1.0, max(0.0, (raw - least) / (most - least)))
