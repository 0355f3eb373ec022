"""Records with suppressed cells: what is hidden of whom, and how many records everyone may be
confused with.

A suppressed cell is released as missing and matches everything. Records are compatible when they
agree in every column that is hidden in neither of them; ``f(x)`` is the number of records
compatible with *x*, itself included.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import kernels
from sfumato.core.classes import ClassTable, Placement
from sfumato.core.evidence import count_compatible, field_mask, missing_cells, wildcard_columns
from sfumato.core.fields import Fields
from sfumato.core.groups import group_starts
from sfumato.core.progress import Progress, silent
from sfumato.core.schema import Missing, Schema
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable, did_you_mean
from sfumato.methods.steps.local.regions import ClassRecoding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.model import Model

    Ints = NDArray[np.int64]


Combinations = int | Sequence[Sequence[str]]
MOST_LOOKS = 400_000_000
"""Classes looked at, over all sets of columns; then columns are only added one by one."""
MOST_SETS = 4096
MOST_MEMBERS = 4_000_000
"""Group members held at a time."""


@dataclasses.dataclass(frozen=True)
class Demand:
    """At least k records must be compatible with every record in these columns."""

    columns: tuple[str, ...]
    k: int


def demands_of(
    models: Sequence[Model], columns: Sequence[str], combinations: Combinations | None
) -> tuple[Demand, ...]:
    """What the models ask of a table; ``combinations`` asks for the same k on these columns
    instead.
    """
    unfit = [m.promise for m in models if m.crowds(columns) is None]
    if unfit or not models:
        advice = "; add one under 'meet'"
        if unfit:
            advice = f", not {', '.join(unfit)}; reach that by recoding or by suppressing records"
        raise ParameterError(
            "cell suppression reaches k-anonymity and k-anonymity on subsets of columns only"
            + advice
        )
    all_demands = []
    for model in models:
        all_demands += [Demand(tuple(names), k) for names, k in model.crowds(columns) or ()]
    if combinations is not None:
        k = max(demand.k for demand in all_demands)
        all_demands = [Demand(tuple(c), k) for c in list_combinations(columns, combinations)]
    all_demands.sort(key=lambda d: (-len(d.columns), -d.k))
    # A demand on fewer columns with no larger k follows from one on more columns.
    demands: list[Demand] = []
    for demand in all_demands:
        if not any(
            set(demand.columns) <= set(stronger.columns) and demand.k <= stronger.k
            for stronger in demands
        ):
            demands.append(demand)
    return tuple(demands)


def list_combinations(columns: Sequence[str], combinations: Combinations) -> list[tuple[str, ...]]:
    """All combinations of so many columns, or those that are named."""
    if isinstance(combinations, int):
        if combinations > len(columns):
            raise SchemaError(
                f"combinations of {combinations} columns are asked for, but only {len(columns)} "
                "have role quasi; ask for fewer"
            )
        return list(itertools.combinations(columns, combinations))
    require_known("combinations", list(chain.from_iterable(combinations)), columns)
    return [tuple(c for c in columns if c in names) for names in combinations]


def require_known(field: str, names: Iterable[str], columns: Sequence[str]) -> None:
    """Raise one error that lists every name that is no quasi-identifier."""
    unknown = [name for name in dict.fromkeys(names) if name not in columns]
    if unknown:
        raise SchemaError(
            [
                f"{field}: {n!r} is not a column with role quasi.{did_you_mean(n, columns)}"
                for n in unknown
            ]
        )


def prices_of(classes: ClassTable, importance: Mapping[str, float]) -> dict[str, float]:
    """What a suppressed cell of each column costs, the columns to be suppressed first coming first.

    A column costs 1 unless its importance says otherwise. Among columns of one price those with
    most values come first.
    """
    require_known("importance", importance, classes.columns)
    if any(not math.isfinite(w) or w <= 0 for w in importance.values()):
        raise ParameterError("importance must be finite and greater than zero")
    values = {c: len(np.unique(classes.codes(c))) for c in classes.columns}
    price = {c: float(importance.get(c, 1.0)) for c in classes.columns}
    return {c: price[c] for c in sorted(classes.columns, key=lambda c: (price[c], -values[c], c))}


@dataclasses.dataclass(frozen=True)
class SuppressedParts:
    """The records of a table by class and by the cells that are suppressed in them.

    Part *p* holds ``amounts[p]`` records of class ``origin[p]``; bit *c* of ``hidden[p]`` says that
    their cells of column *c* are suppressed. Parts come in order of class and of what they hide.
    ``missing`` has, per class, bits for the cells that were missing before and match everything, as
    the schema says; ``absent`` those that were missing and match only missing ones: there is
    nothing to hide in them.
    """

    classes: ClassTable
    missing: Ints
    absent: Ints
    origin: Ints
    hidden: Ints
    amounts: Ints

    @classmethod
    def of(cls, classes: ClassTable, schema: Schema) -> SuppressedParts:
        """A table in which nothing is suppressed."""
        if classes.person is not None:
            raise SchemaError(
                f"cell suppression counts records, not the persons of column {classes.person!r}; "
                "recode or suppress records instead, or keep one row per person"
            )
        if len(classes.columns) > 62:
            raise SchemaError(
                "cell suppression allows at most 62 columns with role quasi, but there are "
                f"{len(classes.columns)}; use fewer"
            )
        wild = set(wildcard_columns(schema, classes.columns))
        wild_bits = sum(1 << a for a, name in enumerate(classes.columns) if name in wild)
        missing = missing_cells(classes, classes.columns)
        zeros = np.zeros(len(classes), dtype=np.int64)
        return cls(
            classes,
            missing & wild_bits,
            missing & ~wild_bits,
            np.arange(len(classes)),
            zeros,
            classes.records,
        )

    @cached_property
    def fields(self) -> NDArray[np.uint64]:
        """Per column, its bits in the words of a key."""
        return np.array(
            [field_mask(self.classes, name) for name in self.classes.columns], dtype=np.uint64
        )

    def bits(self, columns: Iterable[str]) -> int:
        """A bit for every column."""
        return sum(1 << self.classes.columns.index(name) for name in columns)

    def keys(self, columns: Sequence[str]) -> NDArray[np.uint64]:
        """The keys of the parts with nothing but these columns."""
        shown_bits = np.zeros(self.classes.keys.shape[1], dtype=np.uint64)
        for name in columns:
            shown_bits |= self.fields[self.classes.columns.index(name)]
        return self.classes.keys[self.origin] & shown_bits

    def blanks(self, columns: Sequence[str]) -> Ints:
        """Per part, the columns of these that match everything, as bits."""
        return (self.missing[self.origin] | self.hidden) & self.bits(columns)

    def frequencies(self, columns: Sequence[str]) -> Ints:
        """Per part, the records that are compatible with it in these columns."""
        return count_compatible(self.keys(columns), self.amounts, self.blanks(columns), self.fields)

    def hide(self, parts: Ints, hidden: Ints) -> SuppressedParts:
        """Suppress cells: entry *i* hides the columns ``hidden[i]`` in one more record of part
        ``parts[i]``.

        A cell that is missing already has no value to hide.
        """
        remaining = self.amounts - np.bincount(parts, minlength=len(self.amounts))
        origin = np.concatenate([self.origin, self.origin[parts]])
        value_there = ~(self.missing | self.absent)[self.origin[parts]]
        new_bits = self.hidden[parts] | (hidden & value_there)
        bits = np.concatenate([self.hidden, new_bits])
        amounts = np.concatenate([remaining, np.ones(len(parts), dtype=np.int64)])
        # Parts of one class that hide the same become one part.
        order = np.lexsort((bits, origin))
        order = order[amounts[order] > 0]
        origin = origin[order]
        bits = bits[order]
        amounts = amounts[order]
        differs = (np.diff(origin) != 0) | (np.diff(bits) != 0)
        fresh = np.flatnonzero(np.r_[True, differs][: len(order)])
        if len(fresh):
            new_amounts = np.add.reduceat(amounts, fresh)
        else:
            new_amounts = amounts
        return dataclasses.replace(
            self,
            origin=origin[fresh],
            hidden=bits[fresh],
            amounts=new_amounts,
        )

    @property
    def records_hit(self) -> int:
        """Number of records with a suppressed cell."""
        return int(self.amounts[self.hidden != 0].sum())

    def cells(self) -> dict[str, int]:
        """Number of suppressed cells per column, columns without any left out."""
        counts = {}
        for a, name in enumerate(self.classes.columns):
            is_hidden = (self.hidden >> a & 1) == 1
            counts[name] = int(self.amounts[is_hidden].sum())
        return {name: count for name, count in counts.items() if count}

    def exposed(self, demands: Sequence[Demand]) -> int:
        """Records with suppressed cells whose true values fit fewer than k records of the release.

        ``f(x) ≥ k`` holds of what is released; someone who knows the true value of a suppressed
        cell is not confused by it.
        """
        hit = np.flatnonzero(self.hidden)
        rare = np.zeros(len(hit), dtype=np.bool_)
        for demand in demands:
            keys = self.keys(demand.columns)
            true_blanks = self.missing[self.origin[hit]] & self.bits(demand.columns)
            all_keys = np.concatenate([keys, keys[hit]])
            all_amounts = np.concatenate([self.amounts, np.zeros(len(hit), dtype=np.int64)])
            all_blanks = np.concatenate([self.blanks(demand.columns), true_blanks])
            frequencies = count_compatible(all_keys, all_amounts, all_blanks, self.fields)
            rare |= frequencies[len(keys) :] < demand.k
        return int(self.amounts[hit][rare].sum())

    def recoding(self, method: str, notes: Fields) -> ClassRecoding:
        """The plan that releases the table so."""
        patterns, regions = np.unique(self.hidden, return_inverse=True)
        hidden = {}
        for a, name in enumerate(self.classes.columns):
            is_hidden = (patterns >> a & 1) == 1
            if is_hidden.any():
                hidden[name] = is_hidden
        starts = np.searchsorted(self.origin, np.arange(len(self.classes) + 1))
        losses = {name: cells.astype(np.float64) for name, cells in hidden.items()}
        return ClassRecoding(
            columns=self.classes.columns,
            placement=Placement(self.classes.ladders, self.classes.levels, self.classes.layout),
            keys=self.classes.keys,
            starts=starts,
            amounts=self.amounts,
            regions=regions,
            cells={},
            labels={},
            losses=losses,
            hidden=hidden,
            method=method,
            notes=notes,
        )


def with_wildcards(schema: Schema) -> Schema:
    """A schema in which missing values of every quasi-identifier match everything, as suppressed
    cells do.
    """
    for name in schema.quasi:
        schema = schema.replace(name, missing=Missing.WILDCARD)
    return schema


def require_enough(records: int, demands: Sequence[Demand]) -> None:
    """No suppression makes a crowd larger than the table."""
    k = max(demand.k for demand in demands)
    if 0 < records < k:
        raise Unsatisfiable(
            f"no record can match {k:,} records: the table has {records:,}. Lower k, or give more "
            "records"
        )


# Cell suppression for tables of any size: few cells, chosen greedily, so that every record has k
# compatible ones.
#
# Sets of columns are tried in the order of their price. Records that agree outside a set form a
# group; where a group has k records, hiding the set in one of them helps all the others at once, so
# that at most k − 1 records of a group are touched however many are rare. Groups in which one
# suppression helps most come first, and what earlier ones hid counts. At the end cells that turned
# out needless are shown again.
#
# A missing value that is a category of its own has nothing to hide: such a record can only be
# helped by others. A record whose cells are hidden can be confused with its whole group, whoever
# else hides what: nothing rests on a chain of wildcards, and hiding more never makes anyone rarer.
# Both make the result valid by construction; it is counted again all the same.


def suppress_greedily(
    parts: SuppressedParts,
    demands: Sequence[Demand],
    prices: dict[str, float],
    progress: Progress = silent,
) -> SuppressedParts:
    """Suppress cells until every demand is met. Meeting one never breaks another: hiding only adds
    compatible records.
    """
    for number, demand in enumerate(demands):
        progress(number / len(demands), "suppressing cells")
        own_prices = {c: price for c, price in prices.items() if c in demand.columns}
        restoring = True
        while True:
            frequencies = parts.frequencies(demand.columns)
            rare = np.flatnonzero(frequencies < demand.k)
            if not len(rare):
                break
            cover = _Cover(parts, demand, own_prices, frequencies)
            restoring &= cover.run()
            if restoring:
                cover.restore(rare)
            restoring = False  # whoever is still rare is helped for good
            parts = parts.hide(*cover.suppressed())
    return parts


class _Cover:
    """One demand on a table: what was hidden so far, and how frequent everyone is by now."""

    def __init__(
        self,
        parts: SuppressedParts,
        demand: Demand,
        prices: dict[str, float],
        frequencies: Ints,
    ) -> None:
        self.parts = parts
        self.k = demand.k
        self.columns = demand.columns
        self.prices = {1 << parts.classes.columns.index(c): price for c, price in prices.items()}
        self.keys = parts.keys(demand.columns)
        self.missing = parts.blanks(demand.columns)
        self.absent = parts.absent[parts.origin]
        self.frequencies = frequencies
        self.left = parts.amounts.copy()
        self.words = parts.classes.layout.words
        self.fields = parts.fields[np.arange(len(self.words)), self.words]
        self.units: list[Ints] = []
        self.hidden: list[Ints] = []

    def run(self) -> bool:
        """Hide sets of columns, the cheapest first, until nobody is rare; tell whether that could
        be done.
        """
        # Every set looks at all classes once; a large table affords fewer sets.
        sets_of_columns = 2 * len(self.prices)
        affordable_sets = MOST_LOOKS // len(self.keys)
        set_limit = min(MOST_SETS, max(sets_of_columns, affordable_sets))
        sets = itertools.islice(cheapest_sets(self.prices), set_limit)
        # Sets of one price are hidden together, so that their order does not decide.
        for _, equal in itertools.groupby(sets, key=lambda pair: round(pair[0], 9)):
            waiting = [hidden for _, hidden in equal]
            while waiting and len(rare := self.rare()):
                # Groups of many sets at once would not fit into memory.
                room = max(1, MOST_MEMBERS // len(rare))
                self.hide([(hidden, self.groups(rare, hidden)) for hidden in waiting[:room]])
                waiting = waiting[room:]
        self._add_columns()
        if len(self.rare()):
            # Hide all there is of the rare, or of everyone once that is done
            everything = sum(self.prices)
            has_more = (everything & ~(self.absent | self.missing)) != 0
            is_rare = (self.frequencies < self.k) & (self.left > 0)
            part_numbers = np.flatnonzero(is_rare & has_more)
            if not len(part_numbers):
                part_numbers = np.flatnonzero((self.left > 0) & has_more)
            units = np.repeat(part_numbers, self.left[part_numbers])
            self.units.append(units)
            self.hidden.append(np.full(len(units), everything))
            return False
        return True

    def _add_columns(self) -> None:
        """Hide one column more at a time, the one that helps most for its price: for what no tried
        set could help.
        """
        hidden = 0
        for _ in self.prices:
            if not len(rare := self.rare()):
                return
            groups_by_bit = {
                bit: self.groups(rare, hidden | bit) for bit in self.prices if not hidden & bit
            }
            # Greedy: most rare records helped for the price of the column.
            best = max(groups_by_bit, key=lambda bit: len(groups_by_bit[bit][1]) / self.prices[bit])
            hidden |= best
            self.hide([(hidden, groups_by_bit[best])])

    def rare(self) -> Ints:
        """Units with records that show all their cells and are too rare."""
        return np.flatnonzero((self.frequencies < self.k) & (self.left > 0))

    def shown_mask(self, hidden: int) -> NDArray[np.uint64]:
        """The bits of a key that are left when columns are hidden."""
        mask = np.full(self.keys.shape[1], np.iinfo(np.uint64).max, dtype=np.uint64)
        for a, field in enumerate(self.parts.fields):
            if hidden >> a & 1:
                mask &= ~field
        return mask

    def groups(self, rare: Ints, hidden: int) -> tuple[Ints, ...]:
        """Groups of units that agree when columns are hidden: starts, members, donors."""
        masks = self.shown_mask(hidden), hidden
        groups: tuple[Ints, ...] = kernels.suppression.list_groups(
            self.keys,
            rare,
            masks,
            self.absent,
            self.parts.amounts,
            self._unit_counts(),
            self.k,
        )
        return groups

    def hide(self, group_lists: list[tuple[int, tuple[Ints, ...]]]) -> None:
        """Suppress records in the groups of sets of columns that cost the same."""
        sizes = []
        members = []
        donors = []
        sets = []
        for hidden, (set_starts, set_members, set_donors) in group_lists:
            sizes.append(np.diff(set_starts))
            members.append(set_members)
            donors.append(set_donors)
            sets.append(np.full(len(set_donors), hidden))
        unit_groups = kernels.suppression.UnitGroups(
            starts=group_starts(np.concatenate(sizes)),
            members=np.concatenate(members),
            donors=np.concatenate(donors),
        )
        group_sets = np.concatenate(sets)
        units, groups = kernels.suppression.cover_units(
            self._all_units(), self.absent, group_sets, unit_groups, self.k, self._unit_counts()
        )
        self.units.append(units)
        self.hidden.append(group_sets[groups])

    def _unit_counts(self) -> tuple[Ints, ...]:
        return kernels.suppression.UnitCounts(self.frequencies, self.left)

    def _all_units(self) -> tuple[NDArray[Any], ...]:
        return kernels.suppression.PackedUnits(self.keys, self.words, self.fields, self.missing)

    def restore(self, watched: Ints) -> None:
        """Show again what nobody needs, the dearest sets of columns first; ``watched`` were too
        rare before.
        """
        units = np.concatenate(self.units)
        hidden = np.concatenate(self.hidden)
        # Frequencies counted again: covering only counts what it is sure of
        all_keys = np.concatenate([self.keys, self.keys[units]])
        all_records = np.concatenate([self.left, np.ones(len(units), dtype=np.int64)])
        all_missing = np.concatenate([self.missing, self.missing[units] | hidden])
        frequencies = count_compatible(all_keys, all_records, all_missing, self.parts.fields)
        self.frequencies = frequencies[: len(self.left)]
        relied_on = self.left > 0
        price = dict.fromkeys(np.unique(hidden).tolist(), 0.0)
        for pattern in price:
            for bit, column_price in self.prices.items():
                if pattern & bit:
                    price[pattern] += column_price
        # The dearest first: showing them again saves most.
        for pattern in sorted(price, key=lambda pattern: (-price[pattern], pattern)):
            unit_numbers = np.flatnonzero(hidden == pattern)
            masks = self.shown_mask(pattern), pattern
            hidden[unit_numbers] = kernels.suppression.restore_cells(
                self._all_units(),
                masks,
                watched,
                units[unit_numbers],
                self.k,
                self._unit_counts(),
                relied_on,
            )
        self.units = [units[hidden != 0]]
        self.hidden = [hidden[hidden != 0]]

    def suppressed(self) -> tuple[Ints, Ints]:
        """The parts of which a record is suppressed, and what is hidden of it."""
        return np.concatenate(self.units), np.concatenate(self.hidden)


def cheapest_sets(prices: dict[int, float]) -> Iterator[tuple[float, int]]:
    """All sets of columns but the empty one, by price; ``prices`` are in ascending order, and so
    are equal sets.

    >>> list(cheapest_sets({1: 1.0, 2: 1.0, 4: 1.5}))
    [(1.0, 1), (1.0, 2), (1.5, 4), (2.0, 3), (2.5, 5), (2.5, 6), (3.5, 7)]
    """
    bits = list(prices)
    costs = list(prices.values())
    if bits:
        heap: list[tuple[float, int, tuple[int, ...]]] = [(costs[0], 1, (0,))]
    else:
        heap = []
    while heap:
        price, _, subset = heapq.heappop(heap)
        yield price, sum(bits[i] for i in subset)
        last = subset[-1] + 1
        if last < len(bits):  # the next column instead of the last one, or in addition
            for larger_subset in ((*subset[:-1], last), (*subset, last)):
                cost = sum(costs[i] for i in larger_subset)
                heapq.heappush(heap, (cost, len(larger_subset), larger_subset))
