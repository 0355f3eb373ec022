"""Columns at levels that were chosen without looking at the data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sfumato.core.classes import ladder_of, remap_to
from sfumato.core.encoding import encode
from sfumato.core.hierarchy import bind, is_fixed
from sfumato.core.schema import Attribute, Kind
from sfumato.errors import SchemaError, did_you_mean

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset
    from sfumato.core.hierarchy import Hierarchy, Ladder

    Codes = NDArray[np.int64]

TRIED = 40
"""So many values are climbed alone to see whether a hierarchy depends on the others."""


@dataclasses.dataclass(frozen=True, eq=False)
class Fixed:
    """One column at its level: a code for every row, what is released, and what the column is then."""

    codes: Codes
    values: pl.Series | None
    attribute: Attribute | None


def fixed_columns(dataset: Dataset, columns: Sequence[str], levels: Mapping[str, int], step: str) -> dict[str, Fixed]:
    """Every column at the level that is said, level 0 where none is."""
    unknown = [name for name in levels if name not in columns]
    if unknown:
        raise SchemaError(
            [f"{step}: levels names a column {n!r} that is not there.{did_you_mean(n, columns)}" for n in unknown]
        )
    return {name: _fixed(dataset, name, levels.get(name, 0), step) for name in columns}


def _fixed(dataset: Dataset, name: str, level: int, step: str) -> Fixed:
    import polars as pl

    encoded = encode(dataset.column(name))
    if level == 0:
        return Fixed(encoded.codes, None, None)
    before = dataset.schema[name]
    ladder = ladder_of(dataset, name, encoded)
    if not 0 <= level <= ladder.top:
        raise SchemaError(f"{step}: column {name!r} has levels 0 to {ladder.top}; level {level} is asked for")
    if before.hierarchy is None or not is_fixed(before.hierarchy) or _depends_on_data(before.hierarchy, ladder, level):
        raise SchemaError(
            f"{step}: the hierarchy of {name!r} is made from the values that occur, which tells about them; "
            "write it down once with write_hierarchy and use the file, or say its limits"
        )
    codes = remap_to(ladder, encoded, level)[encoded.codes]
    ordered = before.kind in (Kind.NUMERIC, Kind.DATE, Kind.ORDINAL)
    after = dataclasses.replace(before, kind=Kind.ORDINAL if ordered else Kind.NOMINAL, order=None)
    return Fixed(codes, pl.Series(name, ladder.labels[level], dtype=pl.String).gather(codes), after)


def _depends_on_data(hierarchy: Hierarchy, ladder: Ladder, level: int) -> bool:
    """Whether some value climbs to another label, or not at all, when it is alone; a few values are tried."""
    up = ladder.climb(0, level)
    known = [code for code, text in enumerate(ladder.labels[0]) if text is not None]
    for code in known[:: max(1, len(known) // TRIED)]:
        alone = bind(hierarchy, [ladder.labels[0][code]], [1])
        if alone.top != ladder.top or alone.labels[level][0] != ladder.labels[level][up[code]]:
            return True
    return False
