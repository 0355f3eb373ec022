"""Counting where a missing value matches everything.

Missing values as wildcards do not form classes (a missing ZIP matches 53711 and 53712, which do not match each
other), so frequencies are counted pair of patterns by pair of patterns: ``f(x)`` is the number of records compatible
with *x*, as sdcMicro and µ-Argus count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.core.schema import Missing, Schema
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable


def wildcard_columns(schema: Schema, columns: Sequence[str]) -> tuple[str, ...]:
    """Columns whose missing values match everything."""
    return tuple(c for c in columns if c in schema.attributes and schema[c].missing is Missing.WILDCARD)


def compatible_records(classes: ClassTable, columns: Sequence[str]) -> NDArray[np.int64]:
    """Per class, the number of records compatible with it when missing values of ``columns`` match everything.

    Cost grows with the square of the number of distinct patterns of missing columns, times the classes.
    """
    import numpy as np

    from sfumato.kernels.keys import add_up, group, look_up

    if classes.person is not None and columns:
        raise SchemaError(
            f"missing values as wildcards cannot be counted by person ({classes.person!r}); "
            "use missing: category, or keep one row a person"
        )
    pattern = _patterns(classes, columns)
    fields = {c: _field_mask(classes, c) for c in columns}
    found = np.zeros(len(classes), dtype=np.int64)
    members = {p: np.flatnonzero(pattern == p) for p in np.unique(pattern).tolist()}
    for here, mine in members.items():
        for there, theirs in members.items():
            hidden = np.zeros(classes.keys.shape[1], dtype=np.uint64)
            for position, column in enumerate(columns):
                if (here | there) >> position & 1:
                    hidden |= fields[column]
            shown = classes.keys[theirs] & ~hidden
            ids, first = group(shown)
            sums = add_up(classes.records[theirs], ids, len(first))
            at = look_up(shown[first], classes.keys[mine] & ~hidden)
            found[mine] += np.where(at >= 0, sums[np.maximum(at, 0)], 0)
    return found


def _patterns(classes: ClassTable, columns: Sequence[str]) -> NDArray[np.int64]:
    """Per class, a bit for every column that is missing."""
    import numpy as np

    if len(columns) > 62:
        raise SchemaError(f"{len(columns)} columns have missing values as wildcards; at most 62 can")
    pattern = np.zeros(len(classes), dtype=np.int64)
    for position, column in enumerate(columns):
        a = classes.columns.index(column)
        labels = classes.ladders[a].labels[classes.levels[a]]
        if None in labels:
            pattern |= (classes.codes(column) == labels.index(None)).astype(np.int64) << position
    return pattern


def _field_mask(classes: ClassTable, column: str) -> NDArray[np.uint64]:
    import numpy as np

    a = classes.columns.index(column)
    mask = np.zeros(classes.keys.shape[1], dtype=np.uint64)
    width, shift = int(classes.layout.widths[a]), int(classes.layout.shifts[a])
    mask[int(classes.layout.words[a])] = np.uint64(((1 << width) - 1) << shift)
    return mask
