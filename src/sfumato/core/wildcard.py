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
    """Per class, the number of records compatible with it when missing values of ``columns`` match everything."""
    import numpy as np

    if classes.person is not None and columns:
        raise SchemaError(
            f"missing values as wildcards cannot be counted by person ({classes.person!r}); "
            "use missing: category, or keep one row a person"
        )
    fields = np.zeros((len(columns), classes.keys.shape[1]), dtype=np.uint64)
    for position, column in enumerate(columns):
        fields[position] = field_mask(classes, column)
    return count_compatible(classes.keys, classes.records, missing_cells(classes, columns), fields)


def count_compatible(
    keys: NDArray[np.uint64], records: NDArray[np.int64], missing: NDArray[np.int64], fields: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Per key, the number of records whose keys agree with it outside the fields that are missing in either.

    Bit *b* of ``missing`` says that the field ``fields[b]`` (a mask of the key's words) is missing. Cost grows with the
    number of distinct patterns of missing fields, times the keys.
    """
    import numpy as np

    from sfumato.kernels.compatibility import count_agreeing

    patterns, members = np.unique(missing, return_inverse=True)
    order = np.argsort(members, kind="stable")
    starts = np.searchsorted(members[order], np.arange(len(patterns) + 1))
    shown = np.full((len(patterns), keys.shape[1]), np.iinfo(np.uint64).max, dtype=np.uint64)
    for position, field in enumerate(fields):
        shown[(patterns >> position & 1) == 1] &= ~field
    return count_agreeing(keys, records, order, starts, shown)  # type: ignore[no-any-return]


def missing_cells(classes: ClassTable, columns: Sequence[str]) -> NDArray[np.int64]:
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


def field_mask(classes: ClassTable, column: str) -> NDArray[np.uint64]:
    """The bits of a key that belong to a column."""
    import numpy as np

    a = classes.columns.index(column)
    mask = np.zeros(classes.keys.shape[1], dtype=np.uint64)
    width, shift = int(classes.layout.widths[a]), int(classes.layout.shifts[a])
    mask[int(classes.layout.words[a])] = np.uint64(((1 << width) - 1) << shift)
    return mask
