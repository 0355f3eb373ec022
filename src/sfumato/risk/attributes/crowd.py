"""The crowd a person stands in: the released records an intruder cannot tell apart, and the sensitive values they have."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sfumato.core.attack import Finding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.pair import Pair


@dataclasses.dataclass(frozen=True, eq=False)
class Crowd:
    """Classes of released records and how often each value of one sensitive column occurs in each.

    ``classes`` and ``values`` are codes per released row; pair *j* says that value ``pair_values[j]`` occurs ``counts[j]``
    times in class ``pair_classes[j]``, and ``pairs`` is the pair of each row. ``sizes`` are class sizes, ``totals`` counts in
    the whole release.
    """

    column: str
    classes: NDArray[np.int64]
    values: NDArray[np.int64]
    labels: tuple[str | None, ...]
    sizes: NDArray[np.int64]
    totals: NDArray[np.int64]
    pairs: NDArray[np.int64]
    pair_classes: NDArray[np.int64]
    pair_values: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def shares(self) -> NDArray[np.float64]:
        """Per pair the share of the class that has the value: the intruder's posterior."""
        shares: NDArray[np.float64] = self.counts / self.sizes[self.pair_classes]
        return shares

    def largest(self) -> NDArray[np.int64]:
        """Per class the count of its most frequent value."""
        import numpy as np

        most = np.zeros(len(self.sizes), dtype=np.int64)
        np.maximum.at(most, self.pair_classes, self.counts)
        return most


def crowd_of(pair: Pair, knows: Sequence[str], column: str) -> Crowd:
    """The crowds that an intruder sees who knows some columns of the release."""
    import numpy as np

    from sfumato.kernels.keys import group

    known = [name for name in knows if name in pair.released.columns and name != column]
    rows = len(pair.released)
    codes = [pair.reading(name).released for name in known] or [np.zeros(rows, dtype=np.int64)]
    classes, first = group(np.stack(codes, axis=1).astype(np.uint64))
    reading = pair.reading(column)
    width = max(1, len(reading.labels))
    keys, pairs, counts = np.unique(
        classes.astype(np.int64) * width + reading.released, return_inverse=True, return_counts=True
    )
    return Crowd(
        column,
        classes.astype(np.int64),
        reading.released,
        reading.labels,
        np.bincount(classes, minlength=len(first)).astype(np.int64),
        np.bincount(reading.released, minlength=width).astype(np.int64),
        pairs.astype(np.int64),
        keys // width,
        keys % width,
        counts.astype(np.int64),
    )


def targets(scene: Scene) -> tuple[str, ...]:
    """The sensitive columns that were released with true values and that the intruder does not know already."""
    pair = scene.pair
    return tuple(
        name
        for name in pair.original.schema.sensitive
        if name in pair.released.columns and name not in scene.intruder.knows and generalises(pair, name)
    )


def generalises(pair: Pair, column: str) -> bool:
    """Whether every released cell of a column can stand for its own original: whether what is released is true."""
    import numpy as np

    reading = pair.reading(column)
    pairs = np.unique(np.stack([reading.original[pair.rows], reading.released], axis=1), axis=0)
    return all(reading.labels[label] is None or reading.fits(value, label) for value, label in pairs.tolist())


def no_target(scene: Scene) -> str | None:
    """Why attacks on sensitive columns make no sense here, or None."""
    if not targets(scene):
        return "no sensitive column was released that this intruder does not know already"
    if not len(scene.pair.released):
        return "nothing was released"
    changed = [c for c in scene.intruder.knows if c in scene.pair.columns and not generalises(scene.pair, c)]
    if changed:
        return f"values of {', '.join(changed[:3])} were changed, not generalised: a class does not hold the people it seems to"
    return None


def worst_column(name: str, scene: Scene, attack: Callable[[Crowd], Finding]) -> Finding:
    """The attack on each sensitive column; the most successful one counts, and the others are told beside it."""
    found = {column: attack(crowd_of(scene.pair, scene.intruder.knows, column)) for column in targets(scene)}
    worst = max(found, key=lambda column: (found[column].beyond_guessing, column))
    others = {column: finding.value for column, finding in found.items()}
    details = {**found[worst].details, "column": worst, "per_column": others}
    return dataclasses.replace(found[worst], attack=name, details=details)


def rows_of(scene: Scene, hit: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The original rows of released rows."""
    rows: NDArray[np.int64] = scene.pair.rows[hit]
    return rows
