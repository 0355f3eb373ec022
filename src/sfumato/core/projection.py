"""Classes seen through some of their columns only."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.core.classes import ClassTable
from sfumato.core.layout import Layout

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def projected(classes: ClassTable, columns: Sequence[str]) -> tuple[ClassTable, NDArray[np.int64]]:
    """The classes of some columns, and the class there of each class given."""
    import numpy as np

    from sfumato.kernels.keys import add_up

    order = [classes.columns.index(name) for name in columns]
    place = classes.layout
    ids = classes.project(columns)
    groups = int(ids.max()) + 1 if len(ids) else 0
    first = np.full(groups, len(ids), dtype=np.int64)
    np.minimum.at(first, ids, np.arange(len(ids)))
    seen = np.zeros(classes.keys.shape[1], dtype=np.uint64)
    for a in order:
        seen[int(place.words[a])] |= np.uint64(((1 << int(place.widths[a])) - 1) << int(place.shifts[a]))
    coarser = dataclasses.replace(
        classes,
        columns=tuple(columns),
        ladders=tuple(classes.ladders[a] for a in order),
        levels=tuple(classes.levels[a] for a in order),
        layout=Layout(place.words[order], place.shifts[order], place.widths[order]),
        keys=classes.keys[first] & seen,
        records=add_up(classes.records, ids, groups),
        counts={name: counts.merged(ids, groups) for name, counts in classes.counts.items()},
        weights=None if classes.weights is None else add_up(classes.weights, ids, groups),
        population=None if classes.population is None else add_up(classes.population, ids, groups),
    )
    return coarser, ids
