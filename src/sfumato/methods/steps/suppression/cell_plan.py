"""Planning cell suppression: what is asked for, by which method, within what budget."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from sfumato.core.classes import count_classes
from sfumato.core.evidence import needed
from sfumato.core.fields import Document
from sfumato.core.groups import group_starts
from sfumato.core.step import Goal, Plan
from sfumato.errors import InternalError, ParameterError, Unsatisfiable
from sfumato.methods.steps.suppression.cells import (
    Combinations,
    Demand,
    SuppressedParts,
    cheapest_sets,
    demands_of,
    prices_of,
    require_enough,
    suppress_greedily,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.hierarchy import Ladder
    from sfumato.core.table import Table
    from sfumato.methods.steps.local.regions import ClassRecoding
    from sfumato.methods.steps.recoding.global_recoding import Recoding

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


MOST_CLASSES = 200
MOST_CHOICES = 60_000
"""Ways to hide columns of classes; a table with more is left to the greedy method."""
MOST_ROUNDS = 200
MOST_OPENED = 256
"""Sets of columns with missing values as category that are tried; those left out bound what is
proved.
"""
SLACK = 1e-6
INFEASIBLE = 2
"""What the solver says when nothing satisfies a program."""
Method = Literal["greedy", "exact", "auto"]
EFFORT = 1000
"""Nodes of each branch and bound of the exact method."""


# The fewest suppressed cells, by mixed-integer programming: for small tables.
#
# .. math:: \min \sum_{v,Q} w(Q)\, z_{vQ} \quad\text{with}\quad \sum_Q z_{vQ} \le n_v, \qquad
#    N_P(u) + \sum_{v,Q:\; D_{uv} \not\subseteq P,\; D_{uv} \subseteq P \cup Q} z_{vQ} \;\ge\; k\,
#    b_{uP}
#
# :math:`z_{vQ}` of the :math:`n_v` records of class *v* hide the columns *Q*, at the
# price :math:`w(Q)`. :math:`D_{uv}` are the columns in which two classes differ, and :math:`N_P(u)`
# is the number of records that agree with *u* outside *P*. :math:`b_{uP}` is 1 when some record of
# *u* hides exactly *P* (nothing, for :math:`P = \emptyset`): then k records must be compatible with
# it. Classes that are not rare need no constraint, since suppression never makes anyone rarer.
# Constraints with larger *P* are added when a solution breaks them: until then the optimum is a
# lower bound, and the first solution that breaks none is the optimum. The sum of all :math:`z_{vQ}`
# is the number of records that are hit, which a budget bounds.
#
# A suppressed cell is released as missing, so in a column with suppressed cells nobody can tell
# what was missing before: there missing values match everything too, even where they are a
# category. Which of such columns have suppressed cells is decided first, one program for each set
# of them, the cheapest sets first: hiding one cell of each is the least they cost.
#
# The letter of the promise is cheap: k − 1 records without any cell left are compatible with
# everybody. For tables with many rare records the fewest cells are just those, so the greedy method
# protects more at a higher price.


def price_of(parts: SuppressedParts, prices: dict[str, float]) -> float:
    """What all suppressed cells cost."""
    return sum(prices[column] * count for column, count in parts.cells().items())


def small_enough(parts: SuppressedParts) -> bool:
    """Whether a table can be given to the solver."""
    sets = 1 << min(62, len(_differing(parts)))
    return len(parts.classes) <= MOST_CLASSES and len(parts.classes) * sets <= MOST_CHOICES


def require_small(parts: SuppressedParts) -> None:
    """Say what to do with a table that is too large for the solver."""
    if not small_enough(parts):
        raise ParameterError(
            f"the exact method allows {MOST_CLASSES} classes and {MOST_CHOICES:,} ways to suppress "
            f"their columns; this table has {len(parts.classes):,} classes in "
            f"{len(_differing(parts))} columns. Use method greedy, or auto"
        )


def fewest_cells(
    parts: SuppressedParts,
    demands: Sequence[Demand],
    prices: dict[str, float],
    incumbent: SuppressedParts,
    effort: int,
    record_limit: int,
) -> tuple[SuppressedParts, Document]:
    """The cheapest suppression that hits at most so many records, and how far from the optimum it
    can be at most.

    ``parts`` is the table as it is and ``incumbent`` a suppression that meets the demands;
    ``effort`` bounds the nodes of each branch and bound. Where all that is found hits more records,
    ``incumbent`` is handed back.
    """
    require_small(parts)
    candidates = (incumbent, *_wipe_records(parts, demands))
    within = [candidate for candidate in candidates if candidate.records_hit <= record_limit]
    incumbent = min(within, key=lambda candidate: price_of(candidate, prices), default=incumbent)
    if within:
        limit = price_of(incumbent, prices)
    else:
        limit = record_limit * sum(prices.values())
    if within and limit == 0:
        return incumbent, {"price": 0.0, "lower_bound": 0.0, "gap": 0.0}
    bound = math.inf
    # Cheapest first, so the first one that costs as much as the best known ends the search: all
    # later ones cost at least as much.
    for opening_number, (lower_bound, opened) in enumerate(_openings(parts, prices)):
        if (within and lower_bound >= limit - SLACK) or opening_number >= MOST_OPENED:
            bound = min(bound, lower_bound)
            break
        program = _Program(
            _open_columns(parts, opened),
            demands,
            prices=prices,
            limit=limit,
            opened=opened,
            record_limit=record_limit,
        )
        candidate, proved = program.solve(effort)
        # The optimum lies in one of the openings, so the least of their bounds bounds it.
        bound = min(bound, max(lower_bound, proved))
        if candidate is not None and price_of(candidate, prices) <= limit:
            within = [candidate]
            incumbent = candidate
            limit = price_of(candidate, prices)
    if not _meets_demands(incumbent, demands):
        raise InternalError(
            "a suppression does not reach the promises as planned; report this as a bug"
        )
    bound = min(limit, bound)
    return incumbent, {
        "price": limit,
        "lower_bound": bound,
        "gap": (limit - bound) / limit if limit else 0.0,
    }


def _openings(parts: SuppressedParts, prices: dict[str, float]) -> Iterator[tuple[float, int]]:
    """Sets of columns in which missing is a category and some value could be hidden, and what
    hiding one in each costs.
    """
    absent_bits = int(np.bitwise_or.reduce(parts.absent, initial=0))
    differing = _differing(parts)
    openable = {}
    for name, price in prices.items():
        bit = parts.bits([name])
        if name in differing and bit & absent_bits:
            openable[bit] = price
    yield 0.0, 0
    yield from cheapest_sets(openable)


def _open_columns(parts: SuppressedParts, columns: int) -> SuppressedParts:
    """The table where missing values of these columns match everything."""
    missing = parts.missing | (parts.absent & columns)
    absent = parts.absent & ~columns
    return dataclasses.replace(parts, missing=missing, absent=absent)


def _wipe_records(parts: SuppressedParts, demands: Sequence[Demand]) -> list[SuppressedParts]:
    """The table with k − 1 records of which nothing is left, if that will do."""
    largest_k = max(demand.k for demand in demands)
    whole = np.flatnonzero(parts.absent[parts.origin] == 0)
    repeats = np.minimum(parts.amounts[whole], largest_k)
    part_numbers = np.repeat(whole, repeats)[: largest_k - 1]
    bits = parts.bits({name for demand in demands for name in demand.columns})
    hidden = parts.hide(part_numbers, np.full(len(part_numbers), bits))
    return [hidden] if _meets_demands(hidden, demands) else []


def _meets_demands(parts: SuppressedParts, demands: Sequence[Demand]) -> bool:
    return not any((parts.frequencies(demand.columns) < demand.k).any() for demand in demands)


def _differing(parts: SuppressedParts) -> list[str]:
    """Columns in which not all classes are equal: hiding another one is of no use."""
    codes = {name: parts.classes.codes(name) for name in parts.classes.columns}
    return [name for name, code in codes.items() if len(code) and (code != code[0]).any()]


class _Program:
    """Variables: class times set of hidden columns, then whether a class of several records hides
    exactly a set.

    Some cell of each of the ``opened`` columns is hidden, and none of other columns in which
    missing is a category.
    """

    def __init__(
        self,
        parts: SuppressedParts,
        demands: Sequence[Demand],
        prices: dict[str, float],
        limit: float,
        opened: int,
        record_limit: int,
    ) -> None:
        # Missing is a category there, so hiding a value would need another opening.
        closed = int(np.bitwise_or.reduce(parts.absent, initial=0))
        differing = _differing(parts)
        useful = {}
        for name, price in prices.items():
            bit = parts.bits([name])
            if name in differing and not bit & closed:
                useful[bit] = price
        sets = [pair for pair in cheapest_sets(useful) if pair[0] <= limit + SLACK]
        self.parts = parts
        self.demands = demands
        self.sets = np.array([hidden for _, hidden in sets], dtype=np.int64)
        self.price = np.array([price for price, _ in sets])
        self.apart = [_columns_apart(parts, demand.columns) for demand in demands]
        self.rare = [
            np.flatnonzero(parts.frequencies(demand.columns) < demand.k) for demand in demands
        ]
        self.choices = len(parts.classes) * len(self.sets)
        # Whether a class hides a set: binary, only for classes of several records.
        self.flags: dict[tuple[int, int], int] = {}
        self.seen: set[tuple[int, int, int]] = set()
        self.entries: list[tuple[Ints, Floats]] = []
        self.least: list[float] = []
        # No class hides more records than it has, all no more than may be hit, and nothing
        # costs more than what is known
        everything = np.arange(self.choices)
        prices_of_classes = np.tile(self.price, len(self.parts.classes))
        self._row(everything, -prices_of_classes, -limit - SLACK)
        self._row(everything, -np.ones(self.choices), -float(record_limit))
        for u, amount in enumerate(self.parts.amounts.tolist()):
            first_variable = u * len(self.sets)
            end_variable = (u + 1) * len(self.sets)
            own = everything[first_variable:end_variable]
            self._row(own, -np.ones(len(own)), -float(amount))
        self._hide_some(opened)

    def _hide_some(self, opened: int) -> None:
        """A cell with a value is hidden in each of these columns."""
        for bit in (1 << a for a in range(opened.bit_length()) if opened >> a & 1):
            with_value = (self.parts.missing[:, None] & bit) == 0
            hides_bit = (self.sets[None, :] & bit) != 0
            columns = np.flatnonzero(with_value & hides_bit)
            self._row(columns, np.ones(len(columns)), 1.0)

    def _row(self, columns: Ints, values: Floats, lower_bound: float) -> None:
        self.entries.append((columns, values))
        self.least.append(lower_bound)

    def _require(self, number: int, u: int, hidden: int) -> None:
        """Records of a class that hide exactly these columns need k compatible ones."""
        if (number, u, hidden) in self.seen:
            return
        self.seen.add((number, u, hidden))
        # Columns in which other classes still differ once these are hidden.
        need = self.apart[number][u] & ~hidden
        # Records that agree already count; the remainder must come from what others hide.
        records = int(self.parts.amounts[need == 0].sum())
        shortfall = self.demands[number].k - records
        if shortfall <= 0:
            return
        # A record helps when it hides every column in which it differs.
        visible = ~self.sets[None, :]
        covers = (need[:, None] & visible) == 0
        helpful = (need[:, None] != 0) & covers
        columns = np.flatnonzero(helpful)
        values = np.ones(int(helpful.sum()))
        flag, sign, offset = self._hides(u, hidden)
        all_columns = np.concatenate([columns, flag])
        all_values = np.concatenate([values, -shortfall * sign])
        self._row(all_columns, all_values, shortfall * offset)

    def _hides(self, u: int, hidden: int) -> tuple[Ints, Floats, float]:
        """Whether some record of a class hides exactly these columns, as a sum of variables and a
        constant.
        """
        own = np.arange(u * len(self.sets), (u + 1) * len(self.sets))
        if hidden:
            variables = own[self.sets == hidden]
        else:
            variables = own
        amount = int(self.parts.amounts[u])
        # One record: the variables themselves are 0 or 1, no flag is needed.
        if amount == 1:
            if hidden:
                return (variables, np.ones(len(variables)), 0.0)
            return (own, -np.ones(len(own)), 1.0)
        if (u, hidden) not in self.flags:
            flag = self.flags[u, hidden] = self.choices + len(self.flags)
            # A big-M row with the class size: sum ≤ size · flag, or for nothing hidden size − sum
            # ≤ size · flag.
            sign = -1.0 if hidden else 1.0
            self._row(
                np.append(variables, flag),
                np.append(np.full(len(variables), sign), float(amount)),
                0.0 if hidden else float(amount),
            )
        return np.array([self.flags[u, hidden]]), np.ones(1), 0.0

    def solve(self, effort: int) -> tuple[SuppressedParts | None, float]:
        """The best that was found, or None when the effort did not suffice for any, and a lower
        bound.
        """
        if not len(self.sets):  # nothing may be hidden, and the table as it is does not do
            return None, math.inf
        single = [1 << a for a in range(len(self.parts.classes.columns)) if 1 << a in self.sets]
        # Rows for small sets from the start; larger ones are added when a solution breaks them.
        for number, rare in enumerate(self.rare):
            for u in rare.tolist():
                for hidden in (0, *single):
                    self._require(number, u, hidden)
        bound = 0.0
        for _ in range(MOST_ROUNDS):
            solution, lower_bound, is_optimal = self._relaxed(effort)
            bound = max(bound, lower_bound)
            if solution is None:
                return None, bound
            choices = np.rint(solution[: self.choices]).astype(np.int64)
            choice_counts = choices.reshape(-1, len(self.sets))
            if not self._add_broken(choice_counts):
                return self._hidden(choice_counts), bound
            # Stopped early: what it broke may be due to that, and another round may loop.
            if not is_optimal:
                break
        return None, bound

    def _relaxed(self, effort: int) -> tuple[Floats | None, float, bool]:
        """The optimum under the constraints so far, a lower bound of it, and whether it is the
        optimum.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        width = self.choices + len(self.flags)
        prices = np.tile(self.price, len(self.parts.classes))
        cost = np.concatenate([prices, np.zeros(len(self.flags))])
        # A missing category has no value to hide.
        hideable = (self.parts.absent[:, None] & self.sets[None, :]) == 0
        hideable_amounts = (self.parts.amounts[:, None] * hideable).ravel()
        upper = np.concatenate([hideable_amounts, np.ones(len(self.flags))])
        pointers = group_starts([len(columns) for columns, _ in self.entries])
        columns = np.concatenate([columns for columns, _ in self.entries])
        values = np.concatenate([values for _, values in self.entries])
        matrix = csr_array((values, columns, pointers), shape=(len(self.least), width))
        constraint = LinearConstraint(matrix, lb=self.least)
        result = milp(
            cost,
            integrality=np.ones(width),
            bounds=Bounds(0, upper),
            constraints=constraint,
            options={"node_limit": effort, "mip_rel_gap": 0.0},
        )
        lower_bound = math.inf if result.status == INFEASIBLE else result.mip_dual_bound
        proved = lower_bound is not None and (
            math.isfinite(lower_bound) or result.status == INFEASIBLE
        )
        return result.x, float(lower_bound) if proved else 0.0, result.status == 0

    def _add_broken(self, choice_counts: Ints) -> bool:
        """Add the constraints that a solution breaks, for all classes that hide as much; tell
        whether there were any.
        """
        broken: set[tuple[int, int]] = set()
        for u, set_number in zip(*np.nonzero(choice_counts), strict=True):
            hidden = int(self.sets[set_number])
            for number, demand in enumerate(self.demands):
                near = self.apart[number][u] & ~hidden
                visible = ~self.sets[None, :]
                covers = (near[:, None] & visible) == 0
                helpful = (near[:, None] != 0) & covers
                helped = helpful * choice_counts
                if int(self.parts.amounts[near == 0].sum() + helped.sum()) < demand.k:
                    # All classes get the row: the same set is likely to be broken by them next.
                    broken.add((number, hidden))
        for number, hidden in sorted(broken):
            for u in self.rare[number].tolist():
                self._require(number, u, hidden)
        return bool(broken)

    def _hidden(self, choice_counts: Ints) -> SuppressedParts:
        classes, set_numbers = np.nonzero(choice_counts)
        times = choice_counts[classes, set_numbers]
        return self.parts.hide(np.repeat(classes, times), np.repeat(self.sets[set_numbers], times))


def _columns_apart(parts: SuppressedParts, columns: Sequence[str]) -> Ints:
    """Per pair of classes, the columns in which they differ and neither is missing, as bits."""
    blanks = parts.blanks(columns)
    apart = np.zeros((len(blanks), len(blanks)), dtype=np.int64)
    for name in columns:
        codes = parts.classes.codes(name)
        differs = codes[:, None] != codes[None, :]
        apart |= differs.astype(np.int64) << parts.classes.columns.index(name)
    return apart & ~(blanks[:, None] | blanks[None, :])


@dataclasses.dataclass(frozen=True)
class CellSuppression:
    """How cells are to be suppressed. ``budget`` is the share of records that may have a suppressed
    cell.
    """

    budget: float = 1.0
    importance: Mapping[str, float] = dataclasses.field(default_factory=dict)
    combinations: Combinations | None = None
    method: Method = "greedy"
    effort: int = EFFORT

    def plan(self, dataset: Table, goal: Goal) -> ClassRecoding:
        """Choose the cells."""
        needed(goal.models, dataset.schema)
        demands = demands_of(goal.models, dataset.schema.quasi, self.combinations)
        classes = count_classes(dataset)
        parts = SuppressedParts.of(classes, dataset.schema)
        require_enough(dataset.records, demands)
        prices = prices_of(classes, self.importance)
        hidden = suppress_greedily(parts, demands, prices, goal.progress)
        allowed = self._allowed(dataset.records)
        method = "greedy cell suppression"
        notes = _notes(hidden, demands)
        if self._exactly(parts):
            hidden, gap = fewest_cells(
                parts, demands, prices, incumbent=hidden, effort=self.effort, record_limit=allowed
            )
            method = "exact cell suppression"
            notes = _notes(hidden, demands) | gap
        if hidden.records_hit > allowed:
            raise Unsatisfiable(
                f"{hidden.records_hit:,} of {dataset.records:,} records would have suppressed"
                f" cells; the budget allows {allowed:,}. Raise the budget, lower k, or generalise"
                " first",
                closest=hidden.cells(),
            )
        return hidden.recoding(method, notes)

    def _exactly(self, parts: SuppressedParts) -> bool:
        if self.method == "exact":
            require_small(parts)
        return self.method == "exact" or (self.method == "auto" and small_enough(parts))

    def _allowed(self, records: int) -> int:
        """How many records may have a suppressed cell."""
        return math.floor(self.budget * records + 1e-9)


def _notes(solution: SuppressedParts, demands: tuple[Demand, ...]) -> Document:
    """What the owner should know of a suppression."""
    return {
        "suppressed_cells": sum(solution.cells().values()),
        "records_with_suppressed_cells": solution.records_hit,
        "of_these_rare_to_who_knows_the_true_values": solution.exposed(demands),
    }


# Recoding first, then cell suppression of what is still rare: the way of µ-Argus.


@dataclasses.dataclass(frozen=True, eq=False)
class RecodedCells(Plan):
    """A column recoding that drops no record, and the cells that are suppressed in the recoded
    table.
    """

    recoding: Recoding
    cells: ClassRecoding

    recoded_cells: ClassVar[bool] = True

    @property
    def levels(self) -> dict[str, int]:
        """The level of every quasi-identifier."""
        return self.recoding.levels

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the search for the levels warns of."""
        return self.recoding.warnings

    @property
    def bound_levels(self) -> Mapping[str, tuple[Ladder, int]]:
        """The ladder and the level of every quasi-identifier."""
        return self.recoding.bound_levels

    def with_ladders(self, ladders: Mapping[str, Ladder]) -> RecodedCells:
        """The same plan with other ladders for some columns."""
        return dataclasses.replace(self, recoding=self.recoding.with_ladders(ladders))

    def warning_of(self, message: str) -> RecodedCells:
        """The same plan that warns of something more."""
        return dataclasses.replace(self, recoding=self.recoding.warning_of(message))

    def describe(self) -> Document:
        """Both plans as plain data: no data values."""
        return {
            **self.recoding.describe(),
            "kind": "column recoding, then cell suppression",
            "suppressed_cells": self.cells.suppressed_cells,
            "cells": self.cells.describe(),
        }

    def effort(self) -> Document:
        """How both plans were found, for the owner; the score is that of the levels, rare records
        counting as lost.
        """
        return {**self.recoding.effort(), "cells": self.cells.effort()}
