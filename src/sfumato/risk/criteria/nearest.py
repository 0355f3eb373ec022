"""How far every distinct released record is from a target, column by column."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from sfumato.core.attack import NOT_IN_FILE, Scene
from sfumato.risk.linkage.arrays import Arrays, arrays_of
from sfumato.risk.linkage.compared import refusal
from sfumato.risk.linkage.distances import distance_rule
from sfumato.risk.linkage.files import Files, files_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AT_MOST = 500
"""Targets an attack is tried on."""
TIE = 1e-9


@dataclasses.dataclass(frozen=True, eq=False)
class Surroundings:
    """Both files as distinct records; ``targets`` are rows of the intruder's file whose record was released.

    ``own`` is the released row of each target; ``names`` are the columns in the order of the costs.
    """

    files: Files
    arrays: Arrays
    targets: NDArray[np.int64]
    own: NDArray[np.int64]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order of the costs."""
        return tuple(self.arrays.names)

    def costs(self, target: int) -> NDArray[np.float64]:
        """Per distinct released record and column, how far it is from a target."""
        import numpy as np

        here = int(self.files.theirs.kind_of[self.targets[target]])
        right = len(self.arrays.ours.records)
        found: NDArray[np.float64] = self.arrays.costs(np.column_stack([np.full(right, here), np.arange(right)]))
        return found

    def records(self, target: int, *, without_own: bool) -> NDArray[np.int64]:
        """Per distinct released record how many rows have it; ``without_own``: as if the target had not taken part."""
        found = self.files.ours.records.copy()
        if without_own:
            found[self.files.ours.kind_of[self.own[target]]] -= 1
        return found


def surroundings(scene: Scene, purpose: str, most: int = AT_MOST) -> Surroundings:
    """Read both files and draw the targets."""
    import numpy as np

    files = files_of(scene)
    arrays = arrays_of(
        files,
        [distance_rule(c, weight=1.0, standard="pooled", ranges="nearest", suppressed="zero") for c in files.columns],
    )
    released = np.full(len(scene.pair.original), -1, dtype=np.int64)
    released[scene.pair.rows] = np.arange(len(scene.pair.rows))
    truth = scene.intruder.truth
    there = np.flatnonzero((truth != NOT_IN_FILE) & (released[np.maximum(truth, 0)] >= 0))
    if len(there) > most:
        there = np.sort(scene.seed.stream(f"{purpose}: whom to attack").choice(there, most, replace=False))
    return Surroundings(files, arrays, there, released[truth[there]])


def nearest(costs: NDArray[np.float64], records: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which distinct records are nearest, among those that have any row left."""
    import numpy as np

    total = np.where(records > 0, costs.sum(axis=1), np.inf)
    least = float(total.min(initial=np.inf))
    if not np.isfinite(least):
        return np.zeros(len(total), dtype=bool)
    found: NDArray[np.bool_] = (records > 0) & (total <= least + TIE * (1 + least))
    return found


def refused(scene: Scene) -> str | None:
    """Why there is nothing to attack, or None."""
    import numpy as np

    reason = refusal(scene)
    if reason is not None:
        return reason
    truth = scene.intruder.truth
    known = truth[truth != NOT_IN_FILE]
    if not np.isin(known, scene.pair.rows).any():
        return "nobody the intruder knows was released"
    return None if len(scene.pair.released) > 1 else "one record alone has no control"
