"""The rows that count, read so that neither time nor errors depend on what is in them.

Every question scans all rows. A row that does not count (a filter, a missing value, the surplus
rows of a person) takes part in all arithmetic and is set aside by a mask.
"""

from __future__ import annotations

import dataclasses
import math
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.fields import Document, Fields
from sfumato.core.schema import Schema, checked_bounds, checked_domain
from sfumato.core.words import count_of
from sfumato.errors import ParameterError, SchemaError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table


# What is publicly known of the columns: bounds of numbers, domains of words, and what a missing
# value counts as.
#
# Nothing of it may be taken from the data: the lowest and highest value *in the table* are two
# people's values. A question about a column without such a declaration is refused. What the data
# hold beyond the declaration raises no error, because an error would tell: numbers are moved to the
# nearest bound, words count as ``(outside)``, and so does a missing value unless a default is
# declared for it. A missing number without a default counts for nothing, as in SQL.

OUTSIDE = "(outside)"


@dataclasses.dataclass(frozen=True)
class Declared:
    """Per column: ``bounds`` (lowest, highest), ``domains`` (values that may occur), ``missing``
    (default).
    """

    bounds: Mapping[str, tuple[float, float]]
    domains: Mapping[str, tuple[str, ...]]
    missing: Mapping[str, float | str]

    def bounds_of(self, column: str) -> tuple[float, float]:
        """The bounds of a column, or a refusal."""
        if column not in self.bounds:
            raise ParameterError(
                f"column {column!r} has no declared bounds, so no amount of noise would be enough "
                "and the question is refused; declare the lowest and highest value that counts "
                f"(bounds={{{column!r}: (low, high)}}, or 'bounds: [low, high]' in the recipe), "
                "from public knowledge and not from the data." + did_you_mean(column, self.bounds)
            )
        return self.bounds[column]

    def domain_of(self, column: str) -> tuple[str, ...]:
        """The domain of a column, or a refusal."""
        if column not in self.domains:
            raise ParameterError(
                f"column {column!r} has no declared domain, and the values that occur would reveal "
                f"people; declare it (domains={{{column!r}: ['a', 'b']}}, or 'domain: [a, b]' in "
                "the recipe), from public knowledge and not from the data."
                + did_you_mean(column, self.domains)
            )
        return self.domains[column]

    def about(self, columns: Sequence[str]) -> Document:
        """What is declared of some columns, as plain data: part of what makes a question the same
        question.
        """
        descriptions: Document = {}
        for column in sorted(set(columns)):
            if column in self.bounds:
                bounds = list(self.bounds[column])
            else:
                bounds = None
            if column in self.domains:
                domain = list(self.domains[column])
            else:
                domain = None
            descriptions[column] = {
                "bounds": bounds,
                "domain": domain,
                "missing": self.missing.get(column),
            }
        return descriptions


def declared(
    schema: Schema,
    *,
    bounds: Fields | None = None,
    domains: Fields | None = None,
    missing: Fields | None = None,
) -> Declared:
    """Gather what the schema declares and what is given besides; what is given wins.

    >>> found = declared(
    ...     Schema({}), bounds={"age": (0, 120)}, domains={"sex": ["f", "m"]}, missing={"age": 50}
    ... )
    >>> found.bounds_of("age"), found.domain_of("sex"), found.missing
    ((0.0, 120.0), ('f', 'm'), {'age': 50.0})
    """
    limits = {}
    for n, a in schema.attributes.items():
        if a.bounds is not None:
            limits[n] = a.bounds
    values = {}
    for n, a in schema.attributes.items():
        if a.domain is not None:
            values[n] = a.domain
    limits |= {n: _check_named(n, checked_bounds, b) for n, b in (bounds or {}).items()}
    values |= {n: _check_named(n, checked_domain, d) for n, d in (domains or {}).items()}
    for column, words in values.items():
        if OUTSIDE in words:
            raise ParameterError(
                f"the domain of column {column!r} cannot contain {OUTSIDE!r}, which stands for "
                "values outside the domain; rename it"
            )
    described_twice = sorted(limits.keys() & values.keys())
    if described_twice:
        raise SchemaError(
            [
                f"column {n!r} has both bounds and a domain; give bounds for numbers, a "
                "domain for words"
                for n in described_twice
            ]
        )
    defaults = {}
    for n, value in (missing or {}).items():
        defaults[n] = _default(n, value, limits, values)
    return Declared(limits, values, defaults)


def _check_named(column: str, check: Any, declaration: Any) -> Any:
    try:
        return check(declaration)
    except ParameterError as error:
        raise ParameterError(f"column {column!r}: {error}") from None


def _default(
    column: str,
    value: Any,
    bounds: Mapping[str, tuple[float, float]],
    domains: Mapping[str, tuple[str, ...]],
) -> float | str:
    """What a missing value of a column counts as; it must lie within what is declared."""
    if column in bounds:
        low, high = bounds[column]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not low <= value <= high:
            raise ParameterError(
                f"the default for missing values of column {column!r} must lie within its bounds"
            )
        return float(value)
    if column in domains:
        if str(value) not in domains[column]:
            raise ParameterError(
                f"the default for missing values of column {column!r} must be in its domain"
            )
        return str(value)
    raise ParameterError(
        f"column {column!r} has a default for missing values but neither bounds nor a "
        "domain; declare one of them"
    )


# Which two tables must look alike, and how far one person can move a total.
#
# Two tables are neighbours when one protected unit (a person with all rows) is in one of them and
# not in the other (``add_remove``) or has other rows (``change_one``: the number of units is
# public). A mechanism that is ε-DP for ``add_remove`` is at most 2ε-DP for ``change_one``.

NEIGHBOURS = ("add_remove", "change_one")
ROW = "row"
"""What ``protects`` is called when every row is a person of its own."""


@dataclasses.dataclass(frozen=True)
class Relation:
    """Whom the answers protect: the unit's column (or ``row``), how many of its rows count, and who
    is a neighbour.
    """

    protects: str = ROW
    neighbours: str = "add_remove"
    contributions: int = 1

    def __post_init__(self) -> None:
        if self.neighbours not in NEIGHBOURS:
            hint = did_you_mean(str(self.neighbours), NEIGHBOURS)
            raise ParameterError(f"neighbours must be add_remove or change_one.{hint}")
        if type(self.contributions) is not int or self.contributions < 1:
            raise ParameterError(
                "contributions (the rows of one unit that count) must be a whole number "
                "of at least 1"
            )
        if self.protects == ROW and self.contributions != 1:
            raise ParameterError(
                "contributions above 1 need a column that names the unit: protects='patient'"
            )

    @property
    def words(self) -> str:
        """Whom the answers protect, in words."""
        if self.protects == ROW:
            unit = "one row"
        else:
            unit = (
                f"one {self.protects} (at most {count_of(self.contributions, 'row')} of each count)"
            )
        if self.neighbours == "add_remove":
            return f"the presence of {unit}"
        return f"{unit} being replaced"

    def reach(self, low: int, high: int, *, cells: int) -> tuple[int, float]:
        """How far one unit moves a vector of totals: its L1 and L2 sensitivity.

        Each row adds a number of [low, high] to one of the cells, or nothing (it is filtered out or
        missing). With ``M = max(|low|, |high|)``, ``R = max(high, 0) − min(low, 0)`` and c rows per
        unit:

        ========== ===== ======================= ====================
        neighbours cells L1                      L2
        ========== ===== ======================= ====================
        add_remove any   c·M                     c·M
        change_one 1     c·R                     c·R
        change_one more  2·c·M                   c·max(√2·M, R)
        ========== ===== ======================= ====================

        >>> (
        ...     Relation().reach(0, 1, cells=5),
        ...     Relation(neighbours="change_one").reach(0, 1, cells=5)[0],
        ... )
        ((1, 1.0), 2)
        >>> Relation(neighbours="change_one").reach(20, 100, cells=1)
        (100, 100.0)
        """
        largest = max(abs(low), abs(high))
        spread = max(high, 0) - min(low, 0)
        rows = self.contributions
        if self.neighbours == "add_remove":
            return rows * largest, float(rows * largest)
        if cells == 1:
            return rows * spread, float(rows * spread)
        widest = max(math.sqrt(2) * largest, spread)
        return 2 * rows * largest, math.nextafter(rows * widest, math.inf)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DeclaredTable:
    """A dataset, what is declared of it, and per row whether it counts."""

    dataset: Table
    declared: Declared
    counts: NDArray[np.bool_]
    memo: Document = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, dataset: Table, declared: Declared, relation: Relation) -> DeclaredTable:
        """The rows that count are chosen once a session; every declared column is read now, not
        when it is asked for.
        """
        table = cls(dataset, declared, rows_that_count(dataset, relation))
        for column in declared.bounds:
            table.numbers(column)
        for column in declared.domains:
            table.codes(column)
        return table

    def numbers(self, column: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The values of a bounded column, moved into its bounds, and per row whether there is
        one.
        """
        if column not in self.memo:
            bounds = self.declared.bounds_of(column)
            column_values = self.dataset.column(column)
            default = self.declared.missing.get(column)
            self.memo[column] = _bounded(column_values, bounds, default)
        clipped: tuple[NDArray[np.float64], NDArray[np.bool_]] = self.memo[column]
        return clipped

    def codes(self, column: str) -> NDArray[np.int64]:
        """The places of the values of a column in its domain; what is outside has the number after
        the last.
        """
        if column not in self.memo:
            domain = self.declared.domain_of(column)
            column_values = self.dataset.column(column)
            default = self.declared.missing.get(column)
            self.memo[column] = _placed(column_values, domain, default)
        positions: NDArray[np.int64] = self.memo[column]
        return positions


def require_declared(dataset: Table, declared: Declared) -> None:
    """Refuse declarations that do not fit the types of the columns: at the opening, by the owner,
    before any question.
    """
    dataset.require([*declared.bounds, *declared.domains])
    problems = []
    for n in declared.bounds:
        if not _is_plain(dataset.column(n)):
            problems.append(f"column {n!r} holds dates, lists or objects; bounds need numbers")
    problems += [
        f"column {n!r} holds lists, objects or times; a domain needs words, numbers or "
        "days, so leave it out or convert the column"
        for n in declared.domains
        if not (_is_plain(dataset.column(n)) or _is_day(dataset.column(n)))
    ]
    if problems:
        raise SchemaError(problems)


def rows_that_count(dataset: Table, relation: Relation) -> NDArray[np.bool_]:
    """At most c rows of every unit, chosen by secure randomness; rows without a unit do not count.

    The choice within one unit does not depend on the others, so taking a unit away changes its own
    rows only.
    """
    rows = len(dataset)
    if relation.protects == ROW:
        return np.ones(rows, dtype=bool)
    encoded = dataset.encoded(relation.protects)
    lots = np.frombuffer(secrets.token_bytes(8 * rows), dtype=np.uint64)
    order = np.lexsort((lots, encoded.codes))
    sorted_units = encoded.codes[order]
    starts = np.flatnonzero(np.diff(sorted_units, prepend=-1))
    first_positions = np.repeat(starts, np.diff(starts, append=rows))
    rank = np.arange(rows) - first_positions
    counts = np.empty(rows, dtype=bool)
    counts[order] = rank < relation.contributions
    nobody = np.array([label is None for label in encoded.labels], dtype=bool)
    if rows:
        counts &= ~nobody[encoded.codes]
    return counts


def _bounded(
    column: pl.Series, bounds: tuple[float, float], default: float | str | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """What is no number is missing: a column read from text may hold anything, and an error would
    tell.
    """
    values = as_floats(column)
    present = ~np.isnan(values)
    filler = bounds[0] if default is None else float(default)
    clipped = np.clip(np.where(present, values, filler), *bounds)
    return clipped, present | (default is not None)


def _placed(
    column: pl.Series, domain: tuple[str, ...], default: float | str | None
) -> NDArray[np.int64]:
    outside = len(domain)
    if column.dtype.is_numeric():
        domain_positions = _placed_numbers(column, domain)
    else:
        words = column.cast(pl.String)
        listed = pl.Series(list(domain), dtype=pl.String)
        positions = words.replace_strict(
            listed, pl.Series(range(outside)), default=outside, return_dtype=pl.Int64
        )
        domain_positions = positions.fill_null(outside).to_numpy()
        # '33.0' is '33' here as it is in a column of numbers: one odd word elsewhere in the column
        # must not change that
        domain_positions = np.where(
            domain_positions == outside, _placed_numbers(words, domain), domain_positions
        )
        domain_positions = np.where(
            domain_positions == outside, _placed_truths(words, domain), domain_positions
        )
    if default is None:
        return domain_positions
    gone = column.is_null().to_numpy()
    if column.dtype.is_float():
        gone = gone | column.is_nan().fill_null(value=True).to_numpy()
    return np.where(gone, domain.index(str(default)), domain_positions)


def _placed_numbers(column: pl.Series, domain: tuple[str, ...]) -> NDArray[np.int64]:
    """Places of numbers: 33.0 in the table is '33' in the domain."""
    numbers = [
        (number, index)
        for index, word in enumerate(domain)
        if math.isfinite(number := _as_number(word))
    ]
    edges = [*sorted(numbers), (math.inf, len(domain))]
    ranked, positions = np.array(edges).T
    values = _numbers_in(column)
    at = np.minimum(np.searchsorted(ranked, values), len(ranked) - 1)
    matches = ranked[at] == values
    return np.where(matches, positions[at], len(domain)).astype(np.int64)


def _as_number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return math.nan


def as_floats(column: pl.Series) -> NDArray[np.float64]:
    """The numbers of a column; what is none is NaN. Yes and no are 1 and 0, as in a column that
    holds nothing else.

    >>> as_floats(pl.Series(["True", "false", "7", "odd"])).tolist()
    [1.0, 0.0, 7.0, nan]
    """
    numbers = _numbers_in(column)
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return numbers
    truths = _lower(column).replace_strict(
        ["true", "false"], [1.0, 0.0], default=math.nan, return_dtype=pl.Float64
    )
    converted = truths.fill_null(math.nan).to_numpy()
    return np.where(np.isnan(numbers), converted, numbers)


def _numbers_in(column: pl.Series) -> NDArray[np.float64]:
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        plain = column.cast(pl.String)
    else:
        plain = column
    if plain.dtype == pl.String:
        plain = plain.str.strip_chars()  # as readers of a column of numbers do
    return plain.cast(pl.Float64, strict=False).fill_null(math.nan).to_numpy()


def _lower(words: pl.Series) -> pl.Series:
    return words.cast(pl.String).str.to_lowercase()


def _placed_truths(words: pl.Series, domain: tuple[str, ...]) -> NDArray[np.int64]:
    """Places of yes and no however they are capitalized: a column that holds nothing else is read
    as one of truth values.
    """
    positions = {}
    for index, word in enumerate(domain):
        if word.lower() in ("true", "false"):
            positions[word.lower()] = index
    if not positions:
        return np.full(len(words), len(domain))
    truths = _lower(words).replace_strict(
        list(positions), list(positions.values()), default=len(domain), return_dtype=pl.Int64
    )
    return truths.fill_null(len(domain)).to_numpy()


def _is_plain(column: pl.Series) -> bool:
    kind = column.dtype
    return kind.is_numeric() or kind in (pl.String, pl.Boolean, pl.Categorical, pl.Enum, pl.Null)


def _is_day(column: pl.Series) -> bool:
    return column.dtype == pl.Date
