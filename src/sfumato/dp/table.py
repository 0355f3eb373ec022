"""The rows that count, read so that neither time nor errors depend on what is in them.

Every question scans all rows. A row that does not count (a filter, a missing value, the surplus rows of a person) takes
part in all arithmetic and is set aside by a mask.
"""

from __future__ import annotations

import dataclasses
import math
import secrets
from typing import TYPE_CHECKING, Any

from sfumato.dp.relation import ROW, Relation
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset
    from sfumato.dp.domains import Declared


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A dataset, what is declared of it, and per row whether it counts."""

    dataset: Dataset
    declared: Declared
    counts: NDArray[np.bool_]
    memo: dict[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, dataset: Dataset, declared: Declared, relation: Relation) -> Table:
        """The rows that count are chosen once a session; every declared column is read now, not when it is asked for."""
        table = cls(dataset, declared, rows_that_count(dataset, relation))
        for column in declared.bounds:
            table.numbers(column)
        for column in declared.domains:
            table.codes(column)
        return table

    def numbers(self, column: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The values of a bounded column, moved into its bounds, and per row whether there is one."""
        if column not in self.memo:
            bounds = self.declared.bounds_of(column)
            self.memo[column] = _bounded(self.dataset.column(column), bounds, self.declared.missing.get(column))
        found: tuple[NDArray[np.float64], NDArray[np.bool_]] = self.memo[column]
        return found

    def codes(self, column: str) -> NDArray[np.int64]:
        """The places of the values of a column in its domain; what is outside has the number after the last."""
        if column not in self.memo:
            domain = self.declared.domain_of(column)
            self.memo[column] = _placed(self.dataset.column(column), domain, self.declared.missing.get(column))
        found: NDArray[np.int64] = self.memo[column]
        return found


def require_declared(dataset: Dataset, declared: Declared) -> None:
    """Refuse declarations that do not fit the types of the columns: at the opening, by the owner, before any question."""
    dataset.require([*declared.bounds, *declared.domains])
    problems = [
        f"column {n!r} holds dates, lists or objects; bounds need numbers"
        for n in declared.bounds
        if not _is_plain(dataset.column(n))
    ]
    problems += [
        f"column {n!r} holds lists, objects or times; a domain needs words, numbers or days"
        for n in declared.domains
        if not (_is_plain(dataset.column(n)) or _is_day(dataset.column(n)))
    ]
    if problems:
        raise SchemaError(problems)


def rows_that_count(dataset: Dataset, relation: Relation) -> NDArray[np.bool_]:
    """At most c rows of every unit, chosen by secure randomness; rows without a unit do not count.

    The choice within one unit does not depend on the others, so taking a unit away changes its own rows only.
    """
    import numpy as np

    from sfumato.core.encoding import encode

    rows = len(dataset)
    if relation.protects == ROW:
        return np.ones(rows, dtype=bool)
    encoded = encode(dataset.column(relation.protects))
    lots = np.frombuffer(secrets.token_bytes(8 * rows), dtype=np.uint64)
    order = np.lexsort((lots, encoded.codes))
    sorted_units = encoded.codes[order]
    starts = np.flatnonzero(np.diff(sorted_units, prepend=-1))
    place = np.arange(rows) - np.repeat(starts, np.diff(starts, append=rows))
    counts = np.empty(rows, dtype=bool)
    counts[order] = place < relation.contributions
    nobody = np.array([label is None for label in encoded.labels], dtype=bool)
    return counts & ~nobody[encoded.codes] if rows else counts


def _bounded(
    column: pl.Series, bounds: tuple[float, float], default: float | str | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """What is no number is missing: a column read from text may hold anything, and an error would tell."""
    import numpy as np

    values = _as_floats(column)
    present = ~np.isnan(values)
    filler = bounds[0] if default is None else float(default)
    clipped = np.clip(np.where(present, values, filler), *bounds)
    return clipped, present | (default is not None)


def _placed(column: pl.Series, domain: tuple[str, ...], default: float | str | None) -> NDArray[np.int64]:
    import numpy as np
    import polars as pl

    outside = len(domain)
    if column.dtype.is_numeric():
        places = _placed_numbers(column, domain)
    else:
        words = column.cast(pl.String)
        known = pl.Series(list(domain), dtype=pl.String)
        found = words.replace_strict(known, pl.Series(range(outside)), default=outside, return_dtype=pl.Int64)
        places = found.fill_null(outside).to_numpy()
        # '33.0' is '33' here as it is in a column of numbers: one odd word elsewhere in the column must not change that
        places = np.where(places == outside, _placed_numbers(words, domain), places)
    if default is None:
        return places
    gone = column.is_null().to_numpy()
    if column.dtype.is_float():
        gone = gone | column.is_nan().fill_null(value=True).to_numpy()
    return np.where(gone, domain.index(str(default)), places)


def _placed_numbers(column: pl.Series, domain: tuple[str, ...]) -> NDArray[np.int64]:
    """Places of numbers: 33.0 in the table is '33' in the domain."""
    import numpy as np

    known = [(number, place) for place, word in enumerate(domain) if math.isfinite(number := _as_number(word))]
    ranked, places = np.array([*sorted(known), (math.inf, len(domain))]).T
    values = _as_floats(column)
    at = np.minimum(np.searchsorted(ranked, values), len(ranked) - 1)
    return np.where(ranked[at] == values, places[at], len(domain)).astype(np.int64)


def _as_number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return math.nan


def _as_floats(column: pl.Series) -> NDArray[np.float64]:
    """The numbers of a column; what is none is NaN."""
    import polars as pl

    plain = column.cast(pl.String) if isinstance(column.dtype, pl.Categorical | pl.Enum) else column
    return plain.cast(pl.Float64, strict=False).fill_null(math.nan).to_numpy()


def _is_plain(column: pl.Series) -> bool:
    import polars as pl

    kind = column.dtype
    return kind.is_numeric() or kind in (pl.String, pl.Boolean, pl.Categorical, pl.Enum, pl.Null)


def _is_day(column: pl.Series) -> bool:
    import polars as pl

    return column.dtype == pl.Date
