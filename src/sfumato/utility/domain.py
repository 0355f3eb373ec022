"""How many different values a column can have, whatever was released of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sfumato.core.encoding import encode
from sfumato.core.hierarchy import bind
from sfumato.utility.cells import cells_of

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


def log_leaves(pair: Pair, name: str) -> float:
    """The logarithm of the number of values of a column: leaves of its hierarchy or values that occur, missing included."""
    cells = cells_of(pair, name)
    if cells is not None:
        return math.log(max(1.0, cells.all_leaves))
    encoded = encode(pair.original.column(name))
    ladder = bind(pair.original.schema[name].hierarchy, encoded.labels, encoded.counts.tolist())
    missing = int(None in encoded.labels)
    known = float(ladder.leaves[-1].max()) if ladder.top and len(ladder.leaves[-1]) else len(encoded.labels) - missing
    return math.log(max(1.0, known + missing))
