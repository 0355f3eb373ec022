"""A lower bound for large lattices: everybody who is released needs a crowd, and every crowd has
its price.

Let a table promise k-anonymity, alone or with more. Take a class of records at the lowest levels.
If a node releases it, at least *k* records stand in its class there, so the node is, in every
column, at least on the level at which the class meets each of them. What the cheapest such levels
cost is the *price* of the class; no node that releases it scores less.

A node serves all whom it releases at once. So classes are priced in groups of a few: levels that
give every class of a group its crowd cost more than the dearest of them alone, because the crowd of
one agrees with it in other columns than the crowd of another. Suppressing one class breaks its
group, and no class is in two groups: where the groups that cost a goal outweigh the budget, each
counted as the fewest records that one of its classes has, one of them is released as a whole, and
no node scores less than the goal. With a budget of 200 records, 201 groups of single records are
enough.

Prices are sums with one term a column. The score of a node is a rising function of such a sum where
it is a mean of cells, a geometric mean, or a height; and a column on a level costs at least what it
costs there when nothing is suppressed, since no cell costs more than a suppressed one. Where an
objective is none of these, there is no such bound.

A first guess at a price is cheap: all but one of the *k* records can be dropped from the condition,
which leaves the *k*-th nearest class. Any classes may be chosen, so those are whose first guess is
highest. Then it is proved for more and more classes that they cost more, by a small search over the
levels of one class (:func:`sfumato.kernels.crowd_costs.prove_crowd_cost`). Bounds of single columns
and of blocks of columns do not see that a record that agrees with its neighbours in some columns
disagrees with them in others; prices do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.groups import group_starts
from sfumato.core.objective import objective_named

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.steps.recoding.lattice import Lattice

MOST_CLASSES = 50_000
"""The search for a price keeps the candidates of one prefix a column."""
MOST_CHOSEN = 4_000
"""Prices are asked of so many classes at most."""
SPARE = 1.5
"""How many times the suppression budget the chosen groups outweigh."""
FIRST_CAP, CAP_GROWTH = 2, 4
"""What proving one price may cost at first, in tables looked at, and how it grows when too few were
proved.
"""
SMALLEST_STEP = 1 / 512
"""The proof ends when it would gain less than this share of the gap."""
GROUP = 2
"""Classes of a group, all of which must be in crowds at once; more of them take longer and prove
little more.
"""
LOOK = 20_000
"""Candidates of such a search that take as long as looking at a small table."""
SAMPLE, SAMPLE_CROWD = 500, 3
"""Among so many classes, those to which the third nearest is farthest are likely to be dear."""
LIKELY = 2
"""How many times the classes that are chosen are looked at more closely before."""
NEAREST = 50
"""Classes that say in which order the columns are decided."""
ROUNDING = 1e-9
"""What sums of terms may be wrong by."""


class CrowdBound:
    """The bound of one lattice. ``lower`` is proved: no node scores less; it rises while ``prove``
    goes on.
    """

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        self.lower = -math.inf
        self.k = max(
            [model.crowd for model in lattice.models if model.crowd is not None], default=0
        )

    @property
    def usable(self) -> bool:
        """Whether there is such a bound."""
        lattice = self.lattice
        class_count = (self.lattice.budget + 1) * SPARE * GROUP
        # A price takes a walk over all classes, and the choice of classes sorts them.
        small = (
            0 < len(lattice.base) <= MOST_CLASSES
            and class_count <= MOST_CHOSEN
            and lattice.base.population is None
        )
        return small and self.k > 1 and lattice.records > 0 and _terms(lattice) is not None

    def prove(self, score: Callable[[], float]) -> Iterator[None]:
        """Raise ``lower`` towards the best score so far; yields once for as much work as looking at
        a table.
        """
        terms = _terms(self.lattice)
        if terms is None:
            return
        prices = CrowdPrices(self.lattice, self.k, *terms)
        yield from prices.choose()
        # The goal is a quarter of the gap at first; where it cannot be proved, half the step with
        # four times the work a price.
        step = 0.25
        cap = FIRST_CAP
        while step >= SMALLEST_STEP:
            proved = prices.common()
            best = prices.total(score())
            # Rounding errors of sums are taken off before a bound is claimed.
            self.lower = max(self.lower, prices.score(proved - ROUNDING))
            # The gap is closed, or there is no incumbent to close it to.
            if not proved + ROUNDING < best < math.inf:
                return
            if not (yield from self._reach(prices, proved + step * (best - proved), cap)):
                step = step / 2
                cap = cap * CAP_GROWTH

    def _reach(self, prices: CrowdPrices, goal: float, cap: int) -> Generator[None, None, bool]:
        """Try to prove a goal of enough groups, those with the highest prices so far first.

        What a search could not prove within its cap is not tried again for this goal: as soon as
        all that is left would not outweigh the budget, the goal is given up.
        """
        budget = self.lattice.budget
        proved = prices.records_from(goal)
        possible = prices.records_open(goal)
        # By falling price: those that nearly reach the goal are the cheapest to prove.
        for at in np.argsort(-prices.least, kind="stable").tolist():
            # Proved: groups that outweigh the budget cost the goal, so a release keeps one of them
            # in a crowd. Given up: even all others together would not outweigh it.
            if proved > budget or possible <= budget:
                break
            if prices.least[at] < goal < prices.most[at]:
                for _ in range(prices.raise_to(at, goal, cap)):
                    yield
                if prices.least[at] >= goal:
                    proved += int(prices.weights[at])
                else:
                    possible -= int(prices.weights[at])
        return proved > budget


def _terms(
    lattice: Lattice,
) -> tuple[list[list[float]], Callable[[float], float], Callable[[float], float]] | None:
    """Per column and level what it adds to a sum at least, the score of a sum, and the sum of a
    score; None where there is none.
    """
    n = max(1, lattice.records)
    score = lattice.objective.score
    dearest = max(
        [float(costs.max(initial=0.0)) for levels in lattice.cell_costs for costs in levels],
        default=0.0,
    )
    weights = lattice.weights
    # Heights are the sum of weighted level shares, suppressed or not.
    if score is objective_named("height").score:
        tops = [max(1, top) for top in lattice.tops]
        return (
            [
                [w * level / top for level in range(top + 1)]
                for w, top in zip(weights, tops, strict=True)
            ],
            _identity,
            _identity,
        )
    # A suppressed cell costs 1. Where a cell could cost more, suppressing would lower the score and
    # the terms are no lower bound.
    if dearest > 1.0 + ROUNDING:
        return None
    shares = zip(weights, lattice.totals, strict=True)
    if score is objective_named("loss").score:
        return [[w * total / n for total in totals] for w, totals in shares], _identity, _identity
    # A geometric mean becomes a sum of logarithms; expm1 and log1p lead back and forth.
    if score is objective_named("loss_geometric").score:
        return (
            [[w * math.log1p(total / n) for total in totals] for w, totals in shares],
            math.expm1,
            math.log1p,
        )
    return None


def _identity(value: float) -> float:
    return value


class CrowdPrices:
    """What groups of classes cost at least (``least``) and surely not more than (``most``), as sums
    of terms.

    ``groups`` has a row a group with its classes, ``weights`` how many records go at least when a
    group is broken.
    """

    def __init__(
        self,
        lattice: Lattice,
        k: int,
        terms: list[list[float]],
        score: Callable[[float], float],
        total: Callable[[float], float],
    ) -> None:
        self.k = k
        self.score = score
        self.total = total
        self.budget = lattice.budget
        table = lattice.at(lattice.low)
        self.records = table.records
        self.codes = np.column_stack([table.codes(name) for name in lattice.columns]).astype(
            np.int32
        )
        self._bind(lattice, terms)

    def _bind(self, lattice: Lattice, terms: list[list[float]]) -> None:
        """The hierarchies and terms as arrays, see :mod:`sfumato.kernels.crowd_costs`."""
        spans = [range(low, high + 1) for low, high in zip(lattice.low, lattice.high, strict=True)]
        ladders = lattice.base.ladders
        climbs = []
        for ladder, span in zip(ladders, spans, strict=True):
            climbs.append(np.column_stack([ladder.climb(span[0], level) for level in span]))
        self._levels = np.array([len(span) for span in spans], dtype=np.int64)
        level_count = int(self._levels.max()) + 1
        self._terms = np.full((len(spans), level_count), math.inf)
        for a, span in enumerate(spans):
            # A node may be above the level at which two classes meet: the least of all levels from
            # there on counts.
            costs = np.array([terms[a][level] for level in span])
            cheapest = np.minimum.accumulate(costs[::-1])
            self._terms[a, : len(span)] = cheapest[::-1]
        sizes = [len(climb) for climb in climbs]
        # One array for all columns: of code c of column a, its codes on all levels from ``starts[a]
        # + c * levels[a]`` on.
        self._paths = np.concatenate([climb.reshape(-1) for climb in climbs]).astype(np.int32)
        self._starts = np.cumsum([0, *(climb.size for climb in climbs[:-1])]).astype(np.int64)
        self._offsets = group_starts(sizes)
        code_count = int(self._offsets[-1])
        self._meets = np.zeros((GROUP, code_count), dtype=np.int8)
        self._sums = np.empty((GROUP, len(self.codes)))

    def choose(self) -> Iterator[None]:
        """Choose groups of classes that are far from others, until they outweigh what may be
        suppressed.

        Which classes are chosen decides how high the bound gets, never whether it holds. First all
        classes are compared with a sample, then the likely ones against all, which gives the first
        guess at the price of each: its *k*-th nearest record. A group costs at least what the
        dearest of its classes does.
        """
        group_target = max(64, math.ceil(SPARE * (self.budget + 1)))
        # Few classes cannot outweigh a large budget in groups.
        if group_target <= len(self.codes) // GROUP:
            size = GROUP
        else:
            size = 1
        count = min(group_target, len(self.codes) // size)
        everybody = np.arange(len(self.codes))
        every_nth = max(1, len(self.codes) // SAMPLE)
        rough = yield from self._guess_prices(everybody, every_nth, SAMPLE_CROWD)
        # Twice as many as are needed: the sample ranks roughly.
        likely = np.argsort(-rough, kind="stable")[: LIKELY * count * size]
        guesses = yield from self._guess_prices(likely, 1, self.k)
        order = np.argsort(-guesses, kind="stable")[: count * size].reshape(size, count)
        self.groups = likely[order].T.copy()
        self.weights = self.records[self.groups].min(axis=1)
        # The dearest guess of a group bounds the group: all its classes must be served.
        self.least = guesses[order].max(axis=0)
        self.most = np.full(count, math.inf)

    def _guess_prices(
        self, classes: NDArray[np.int64], step: int, k: int
    ) -> Generator[None, None, NDArray[np.float64]]:
        """What the *k*-th nearest record of each class costs, of one class in ``step``; yields for
        twice as many as there are.
        """
        codes = self.codes[::step].copy()
        records = self.records[::step].copy()
        meets = np.zeros(int(self._offsets[-1]), dtype=np.int8)
        sums = np.empty(len(codes))
        tree = self._paths, self._starts, self._levels, meets, self._offsets
        prices = np.empty(len(classes))
        looked_at = 0
        for at, class_number in enumerate(classes.tolist()):
            kernels.crowd_costs.find_meeting_levels(class_number, self.codes, *tree)
            kernels.crowd_costs.sum_terms(codes, self._terms, meets, self._offsets, sums)
            prices[at] = kernels.crowd_costs.find_crowd_sum(sums, records, len(sums), k)
            looked_at += len(codes)
            # One yield for work like that of looking at a table.
            if looked_at >= 2 * len(self.codes):
                looked_at = 0
                yield
        return prices

    def raise_to(self, at: int, goal: float, cap: int) -> int:
        """Try to prove that a group costs a goal; returns how much work that was, in tables looked
        at.
        """
        self._meet(at)
        unit = max(LOOK, self.codes.size // 8)
        work = np.zeros(1, dtype=np.int64)
        order = self._order()
        verdict = kernels.crowd_costs.prove_crowd_cost(
            (self.codes, self.records),
            self._terms,
            (self._meets, self._offsets, self._levels),
            order,
            self._sums,
            (goal, self.k, cap * unit),
            work,
        )
        if verdict == kernels.crowd_costs.PROVED:
            self.least[at] = goal
        if verdict == kernels.crowd_costs.REFUTED:
            self.most[at] = goal
        return 1 + int(work[0]) // unit

    def _meet(self, at: int) -> None:
        group = self.groups[at]
        self._meets, self._sums = self._meets[: len(group)], self._sums[: len(group)]
        for member, meets, sums in zip(group.tolist(), self._meets, self._sums, strict=True):
            tree = self._paths, self._starts, self._levels, meets, self._offsets
            kernels.crowd_costs.find_meeting_levels(member, self.codes, *tree)
            kernels.crowd_costs.sum_terms(self.codes, self._terms, meets, self._offsets, sums)

    def _order(self) -> NDArray[np.int64]:
        """Columns in which the nearest classes disagree most are decided first: either way the cost
        rises early.
        """
        amounts = np.zeros(self.codes.shape[1])
        for meets, sums in zip(self._meets, self._sums, strict=True):
            near = min(NEAREST, len(sums) - 1)
            nearest = self.codes[np.argpartition(sums, near)[: near + 1]]
            for a in range(len(amounts)):
                meeting_levels = self._offsets[a] + nearest[:, a]
                terms_at = self._terms[a][meets[meeting_levels]]
                amounts[a] += float(terms_at.sum())
        return np.argsort(-amounts, kind="stable").astype(np.int64)

    def common(self) -> float:
        """What groups that outweigh the records that may be suppressed cost at least: one of them
        is released.
        """
        # The j dearest groups outweigh the budget, so not all their members can be suppressed: one
        # group is released whole, at the price of the cheapest of them at least.
        order = np.argsort(-self.least, kind="stable")
        weights = np.cumsum(self.weights[order])
        position = int(np.searchsorted(weights, self.budget, side="right"))
        if position < len(order):
            return float(self.least[order[position]])
        return -math.inf

    def records_from(self, goal: float) -> int:
        """Weight of the groups that cost a goal, as far as that is proved."""
        return int(self.weights[self.least >= goal].sum())

    def records_open(self, goal: float) -> int:
        """Weight of the groups that may cost a goal."""
        return int(self.weights[self.most > goal].sum())
