"""What a search makes small: scores of a node of the generalization lattice.

A node is scored from a *tally*: how many classes and records it keeps, the squares of their sizes,
and per column the mean cost of a cell, where the cell of a suppressed record costs 1.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import kernels
from sfumato.core.parameters import known_as
from sfumato.errors import InternalError, ParameterError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.hierarchy import Ladder


@dataclasses.dataclass(frozen=True)
class Tally:
    """What a node keeps. ``cells[a]`` is the mean cost of column *a*'s cells, ``weights`` sum
    to 1.
    """

    levels: tuple[int, ...]
    tops: tuple[int, ...]
    records: int
    suppressed: int
    classes: int
    squares: float
    cells: Sequence[float]
    weights: Sequence[float]
    own: float = 0.0


@dataclasses.dataclass(frozen=True)
class Spread:
    """What an objective sees that sums over columns do not show: every class of a node by itself.

    ``costs[c]`` is the sum of the cell costs of class *c* over the columns and ``most`` that of a
    suppressed record; ``records`` counts the class, ``kept`` those of them that are released;
    ``finest`` counts the classes of the original table. ``majority`` is how many of a class have
    its most frequent label, where the objective asks for one. ``spanned`` is the mean over records
    of what a record of the original table costs: 0, but where it was generalised before counting
    and stands for many combinations.
    """

    costs: NDArray[np.float64]
    records: NDArray[np.int64]
    kept: NDArray[np.int64]
    most: float
    finest: NDArray[np.int64]
    majority: NDArray[np.int64] | None = None
    spanned: float = 0.0


CellCosts = Callable[["Ladder", "NDArray[np.int64]"], "list[NDArray[np.float64]]"]


@dataclasses.dataclass(frozen=True)
class Objective:
    """A score to be made small.

    ``costs(ladder, counts)`` gives the cell cost of each level and code; ``score(tally)`` the
    number. ``bounded`` tells that the score never falls when a cell cost or the suppressed count
    rises, so that a search may cut off by bounds. ``minimal`` restricts the choice to k-minimal
    nodes (Samarati's preferences make no sense otherwise: the top of the lattice suppresses
    nothing). ``separable`` tells that the score is a rising convex function of a sum with one term
    a column, so that what some columns cost at least and what others cost at least adds up. ``own``
    is for scores that no sums over columns give: it is computed from the classes of a node, and
    then no bound cuts anything off. ``labelled`` tells that it is about a column that the step
    names as ``label``.
    """

    name: str
    meaning: str
    costs: CellCosts
    score: Callable[[Tally], float]
    bounded: bool = True
    minimal: bool = False
    separable: bool = False
    own: Callable[[Spread], float] | None = None
    labelled: bool = False


def _loss_costs(ladder: Ladder, counts: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    return list(ladder.loss)


def _height_costs(ladder: Ladder, counts: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    top = max(1, ladder.top)
    return [np.full(len(labels), level / top) for level, labels in enumerate(ladder.labels)]


def mean_log_count(counts: NDArray[np.int64]) -> float:
    """The mean over all records of log2 of how many share their value, from the records of each
    value.

    >>> mean_log_count(np.array([4, 1]))
    1.6
    """
    bits = np.log2(np.maximum(counts, 1))
    return float((counts * bits).sum()) / max(1, int(counts.sum()))


def _entropy_costs(ladder: Ladder, counts: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """Share of the column's entropy that a cell loses, up to a constant that no choice can change.

    A record with value *v* released as node *g* loses ``−log2(n_v/n_g)`` bits; summed over records
    this is ``Σ log2 n_g − Σ log2 n_v``, whose second part is fixed. Costs are therefore
    ``log2 n_g`` rescaled so that an unchanged column sums to 0 and a suppressed one to 1.
    """
    n = max(1, int(counts.sum()))
    if ladder.mean_log_count is None:
        fixed = mean_log_count(counts)
    else:
        fixed = ladder.mean_log_count
    span = math.log2(n) - fixed
    levels = []
    for level, labels in enumerate(ladder.labels):
        size = np.bincount(ladder.climb(0, level), weights=counts, minlength=len(labels))
        if span > 0:
            costs = (np.log2(np.maximum(size, 1)) - fixed) / span
        else:
            costs = np.zeros(len(labels))
        levels.append(costs)
    return levels


def _certainty_costs(ladder: Ladder, counts: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """The certainty penalty: what the loss is for numbers; for categories the share of all values,
    from two values on.
    """
    if ladder.measured:
        return list(ladder.loss)
    # The top stands for all leaves.
    if ladder.top:
        every = max(1.0, float(ladder.leaves[-1].max(initial=1.0)))
    else:
        every = 1.0
    return [np.where(leaves > 1, leaves / every, 0.0) for leaves in ladder.leaves]


def _log_leaves(ladder: Ladder, counts: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """The logarithm of how many values a cell may stand for; at the top missing is one more."""
    missing_cost = float(ladder.top > 0 and None in ladder.labels[0])
    extra = [0.0] * ladder.top + [missing_cost]
    return [
        np.log(np.maximum(1.0, leaves + add))
        for leaves, add in zip(ladder.leaves, extra, strict=True)
    ]


def all_values(ladder: Ladder) -> float:
    """The logarithm of the number of values of a column: leaves of its hierarchy or values that
    occur, missing included.
    """
    missing = None in ladder.labels[0]
    if ladder.top:
        values = float(ladder.leaves[-1].max(initial=0.0))
    else:
        values = len(ladder.labels[0]) - missing
    return math.log(max(1.0, values + missing))


def _ambiguity(spread: Spread) -> float:
    """The logarithm of the mean number of combinations of a record, over that of all
    combinations.
    """
    n = int(spread.records.sum())
    if not n or spread.most <= 0:
        return 0.0
    gone = n - int(spread.kept.sum())
    # Relative to the most: nothing overflows.
    relative_costs = np.exp(spread.costs - spread.most)
    mean = (spread.kept @ relative_costs + gone) / n
    # exp(-700) is close to the least positive float: the logarithm stays finite.
    floored_mean = max(float(mean), math.exp(-700.0))
    return 1.0 + math.log(floored_mean) / spread.most


def _divergence(spread: Spread) -> float:
    """Bits between the original joint distribution and the one that spreads every class over what
    it may stand for.
    """
    n = int(spread.records.sum())
    occurs = spread.records > 0
    records, retained, costs = spread.records[occurs], spread.kept[occurs], spread.costs[occurs]
    gone, finest = n - int(retained.sum()), spread.finest[spread.finest > 0]
    # log(0) is -inf, as it should be: where nothing is kept, or gone, that part adds nothing.
    with np.errstate(divide="ignore"):
        # How likely a record's own combination is after the release: its class is spread over what
        # it may stand for, suppressed records over all combinations.
        kept_density = np.log(retained) - costs
        gone_density = np.log(float(gone)) - spread.most
        density = np.logaddexp(kept_density, gone_density) - math.log(max(1, n))
    log_shares = np.log(finest)
    contributions = finest * (log_shares - math.log(max(1, n)))
    before = float(contributions.sum())
    after = float(records @ density)
    apart = (before - after) / max(1, n) - spread.spanned
    return max(0.0, apart / math.log(2))


def _misclassified(spread: Spread) -> float:
    """The share of records that are suppressed or differ from the majority of their class."""
    if spread.majority is None:
        raise InternalError(
            "the objective classification needs a label; name the column to predict"
        )
    # A class of which nothing is kept shows no majority to anybody.
    majorities = spread.majority[spread.kept > 0]
    n, right = int(spread.records.sum()), int(majorities.sum())
    return (n - right) / n if n else 0.0


def _own(tally: Tally) -> float:
    return tally.own


def _mean(tally: Tally) -> float:
    weighted_cost = sum(w * c for w, c in zip(tally.weights, tally.cells, strict=True))
    return float(weighted_cost)


def _geometric(tally: Tally) -> float:
    total = sum(w * math.log1p(c) for w, c in zip(tally.weights, tally.cells, strict=True))
    return math.exp(total) - 1.0


def _height(tally: Tally) -> float:
    return sum(
        w * level / max(1, top)
        for w, level, top in zip(tally.weights, tally.levels, tally.tops, strict=True)
    )


def _class_size(tally: Tally) -> float:
    if tally.classes:
        return (tally.records - tally.suppressed) / tally.classes
    return float(tally.records)


def _discernibility(tally: Tally) -> float:
    return tally.squares + tally.suppressed * tally.records


def _relative(tally: Tally) -> float:
    return sum(level / max(1, top) for level, top in zip(tally.levels, tally.tops, strict=True))


OBJECTIVES: tuple[Objective, ...] = (
    Objective(
        "loss",
        "mean loss of a cell (Iyengar 2002, doi:10.1145/775047.775089)",
        _loss_costs,
        _mean,
        separable=True,
    ),
    Objective(
        "loss_geometric",
        "geometric mean of the columns' losses, prod(1+l)^w − 1, as ARX scores",
        _loss_costs,
        _geometric,
        separable=True,
    ),
    Objective(
        "precision",
        "1 − Sweeney's precision: mean level of a cell over the height of its hierarchy",
        _height_costs,
        _mean,
        separable=True,
    ),
    Objective(
        "height",
        "mean level of the columns over the heights of their hierarchies; ignores suppression",
        _height_costs,
        _height,
        separable=True,
    ),
    Objective(
        "entropy",
        "non-uniform entropy lost, as a share of all entropy (Gionis & Tassa 2009)",
        _entropy_costs,
        _mean,
        separable=True,
    ),
    Objective(
        "ncp",
        "mean certainty penalty of a cell: the loss of the Mondrian literature (Xu et al. 2006,"
        " doi:10.1145/1150402.1150504)",
        _certainty_costs,
        _mean,
        separable=True,
    ),
    Objective(
        "ambiguity",
        "combinations of values a record may represent, as logarithms (Nergiz & Clifton 2007); "
        "ignores weights",
        _log_leaves,
        _own,
        bounded=False,
        own=_ambiguity,
    ),
    Objective(
        "kl_divergence",
        "bits by which the joint distribution is distorted (Kifer & Gehrke 2006, "
        "doi:10.1145/1142473.1142499); ignores weights",
        _log_leaves,
        _own,
        bounded=False,
        own=_divergence,
    ),
    Objective(
        "classification",
        "share of records suppressed or unlike the majority label of their class (Iyengar 2002); "
        "needs label, ignores weights",
        _loss_costs,
        _own,
        bounded=False,
        own=_misclassified,
        labelled=True,
    ),
    Objective(
        "class_size",
        "average size of the released classes",
        _loss_costs,
        _class_size,
        bounded=False,
    ),
    Objective(
        "discernibility",
        "sum of squared class sizes, a suppressed record costs N (Bayardo & Agrawal 2005)",
        _loss_costs,
        _discernibility,
        bounded=False,
    ),
    Objective(
        "minimum_absolute_distance",
        "sum of levels, among k-minimal nodes (Samarati 2001)",
        _height_costs,
        lambda t: float(sum(t.levels)),
        bounded=False,
        minimal=True,
    ),
    Objective(
        "minimum_relative_distance",
        "sum of levels over heights, among k-minimal nodes (Samarati 2001)",
        _height_costs,
        _relative,
        bounded=False,
        minimal=True,
    ),
    Objective(
        "maximum_distribution",
        "most distinct released tuples, among k-minimal nodes (Samarati 2001)",
        _height_costs,
        lambda t: -float(t.classes),
        bounded=False,
        minimal=True,
    ),
    Objective(
        "minimum_suppression",
        "fewest suppressed records, among k-minimal nodes (Samarati 2001)",
        _height_costs,
        lambda t: float(t.suppressed),
        bounded=False,
        minimal=True,
    ),
)


def objective_named(name: str) -> Objective:
    """Look up an objective."""
    for objective in OBJECTIVES:
        if objective.name == known_as(name):
            return objective
    raise ParameterError(
        f"objective {name!r} is not known.{did_you_mean(name, [o.name for o in OBJECTIVES])}"
    )


# The nodes of a generalization lattice seen from above: what each keeps, costs and risks.

SLACK = 1e-12
"""Scores closer than this, relative to the smaller, are equal."""
TINY = 1e-300
RISKS = ("marketer_risk", "prosecutor_risk")
AXES = ("score", *RISKS, "suppressed", "class_size")
"""What nodes can be drawn by; of each, less is better."""


@dataclasses.dataclass(frozen=True)
class Landscape:
    """Nodes of a lattice, one entry a node in every array; ``levels`` has one row a node and one
    column a column.

    ``whole`` tells that these are all nodes from ``low`` to ``high``, in the order of their levels
    (the last column fastest); otherwise they are some of them. ``score`` is the objective, made
    small; ``suppressed`` are the records that go and ``classes`` what is left, ``squares`` the sum
    of their squared sizes. ``precision`` is Sweeney's: 1 minus the mean level of a cell over the
    height of its hierarchy, a suppressed cell at the top. The risks are those of what would be
    released, with missing values as a category: ``marketer_risk`` the mean of 1/size over records,
    ``prosecutor_risk`` 1 over the smallest size; both are 0 where nothing is released. ``budget``
    counts records.
    """

    columns: tuple[str, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    tops: tuple[int, ...]
    objective: str
    minimal: bool
    records: int
    budget: int
    whole: bool
    levels: NDArray[np.signedinteger[Any]]
    score: NDArray[np.float64]
    suppressed: NDArray[np.int64]
    classes: NDArray[np.int64]
    squares: NDArray[np.float64]
    precision: NDArray[np.float64]
    marketer_risk: NDArray[np.float64]
    prosecutor_risk: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.score)

    @cached_property
    def class_size(self) -> NDArray[np.float64]:
        """Average size of the released classes; the whole table where nothing is released."""
        mean_size = (self.records - self.suppressed) / np.maximum(self.classes, 1)
        return np.where(self.classes > 0, mean_size, float(self.records))

    @cached_property
    def discernibility(self) -> NDArray[np.float64]:
        """Sum of squared class sizes, a suppressed record costs N (Bayardo & Agrawal 2005)."""
        return self.squares + self.suppressed * float(self.records)

    def feasible(self, budget: int | None = None) -> NDArray[np.bool_]:
        """Which nodes may be released within a budget of suppressed records (by default the
        recipe's).
        """
        within: NDArray[np.bool_] = self.suppressed <= (self.budget if budget is None else budget)
        # Of a table without records nothing can be left, so that is not asked.
        if self.records == 0:
            return within
        return within & (self.classes > 0)

    def passing(self, filters: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Which nodes pass filters: ``levels`` (lowest and highest, by column), ``at_most`` (by
        figure), and ``within`` (the budget). Filters of other columns do not count.
        """
        passing = np.ones(len(self), dtype=np.bool_)
        for column, (low, high) in filters.get("levels", {}).items():
            if column in self.columns:
                levels = self.levels[:, self.columns.index(column)]
                passing &= (levels >= low) & (levels <= high)
        for name, bound in filters.get("at_most", {}).items():
            if name not in AXES:
                raise ParameterError(f"{name!r} is not an axis.{did_you_mean(name, AXES)}")
            # what only rounding distinguishes from the bound is at the bound
            passing &= getattr(self, name) <= bound + SLACK * max(1.0, abs(bound))
        if filters.get("within"):
            passing &= self.feasible()
        return passing

    def part(self, passing: NDArray[np.bool_]) -> Landscape:
        """Some of the nodes; they are not the whole lattice any more unless all are taken."""
        if passing.all():
            return self
        arrays = {
            field.name: getattr(self, field.name)[passing]
            for field in dataclasses.fields(self)
            if isinstance(getattr(self, field.name), np.ndarray)
        }
        return dataclasses.replace(self, whole=False, **arrays)

    def position(self, levels: Mapping[str, int]) -> int | None:
        """Which entry is the node with these levels, or None when it is not here."""
        levels_sought = [levels[name] for name in self.columns]
        is_match = (self.levels == np.array(levels_sought, dtype=self.levels.dtype)).all(axis=1)
        matches = np.flatnonzero(is_match)
        return int(matches[0]) if len(matches) else None

    def best(self, budget: int | None = None) -> int | None:
        """The node a search would choose within a budget, or None when there is none.

        The smallest score wins, then the smaller sum of levels, then the smaller tuple. Where the
        objective chooses among minimal nodes only (Samarati), these are found first, and ties go by
        her four preferences.
        """
        feasible = self.feasible(budget)
        allowed = np.flatnonzero(self._minimal(feasible) if self.minimal else feasible)
        if not len(allowed):
            return None
        # Scores that only rounding distinguishes are ties, which the preferences decide.
        lowest = float(self.score[allowed].min())
        tolerance = SLACK * max(1.0, abs(lowest))
        near = allowed[self.score[allowed] <= lowest + tolerance]
        return int(min(near.tolist(), key=self._preference))

    def _preference(self, node: int) -> tuple[float | list[int], ...]:
        levels = self.levels[node].tolist()
        if not self.minimal:
            return sum(levels), levels
        relative = sum(level / max(1, top) for level, top in zip(levels, self.tops, strict=True))
        classes = self.classes[node]
        suppressed = self.suppressed[node]
        return sum(levels), relative, -int(classes), int(suppressed), levels

    def _minimal(self, feasible: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The feasible nodes that have no feasible node strictly below them; only where the lattice
        is whole.
        """
        shape = [high - low + 1 for low, high in zip(self.low, self.high, strict=True)]
        if not self.whole:
            return feasible
        # Whether some node at or below is feasible: spread upwards along one column after the
        # other.
        reached = feasible.reshape(shape)
        for axis in range(len(shape)):
            reached = np.logical_or.accumulate(reached, axis=axis)
        # A node is beaten if one a step lower in some column is reached, for then a feasible one
        # lies strictly below it.
        beaten = np.zeros(shape, dtype=np.bool_)
        for axis in range(len(shape)):
            upper, lower = (
                tuple(part if a == axis else slice(None) for a in range(len(shape)))
                for part in _SHIFT
            )
            beaten[upper] |= reached[lower]
        return feasible & ~beaten.reshape(-1)

    def front(self) -> NDArray[np.int64]:
        """The nodes that no other beats: in score, both risks and suppressed records at once, by
        rising score.

        Nodes that release nothing are left out, and of nodes alike in all four only the lowest is
        kept.
        """
        return self._unbeaten(
            self.classes > 0, ("score", "marketer_risk", "prosecutor_risk", "suppressed")
        )

    def trade_off(self, risk: str = "marketer_risk", cost: str = "score") -> NDArray[np.int64]:
        """The nodes within the budget that no other such node beats in score (or another cost) and
        one risk, by rising cost.
        """
        return self._unbeaten(self.feasible() & (self.classes > 0), (cost, risk))

    def thinned(
        self, across: str, up: str, cells: tuple[int, int]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Few enough nodes to draw: one for each cell of a plane that holds any, in or beyond the
        budget, and how many it stands for.

        Nodes that release nothing are left out.
        """
        # Nodes that release something, within the budget or beyond it.
        feasible = np.flatnonzero(self.classes > 0)
        if not len(feasible):
            return feasible, feasible
        x, y = (
            _cells(self.along(name)[feasible], count)
            for name, count in zip((across, up), cells, strict=True)
        )
        # Every cell twice: for nodes beyond the budget and for those within.
        cell = (x * cells[1] + y) * 2 + self.feasible()[feasible]
        # Stable, so that the same node is drawn every time.
        order = np.argsort(cell, kind="stable")
        _, starts, nodes = np.unique(cell[order], return_index=True, return_counts=True)
        # a node that is there, and not on the edge of its cell more often than not
        return feasible[order[starts + nodes // 2]], nodes

    def near(self, across: str, up: str, at: tuple[float, float], count: int) -> NDArray[np.int64]:
        """The nodes nearest to a point of a plane, nearest first; of equally near ones those that
        suppress less, then the lower.
        """
        feasible = np.flatnonzero(self.classes > 0)
        far = np.zeros(len(feasible))
        for name, value in zip((across, up), at, strict=True):
            values = self.along(name)[feasible]
            # The axis of a risk is logarithmic, and so is the point on it.
            if name in RISKS:
                origin = math.log(max(value, TINY))
            else:
                origin = value
            span = float(np.ptp(values)) if len(values) else 0.0
            far += (
                (values - origin) / (span or 1.0)
            ) ** 2  # where all are alike, they are equally far
        # lexsort takes the last key first: distance, then suppression, then levels.
        heights = self.levels[feasible].sum(axis=1)
        order = np.lexsort((heights, self.suppressed[feasible], np.round(far, 15)))
        nearest: NDArray[np.int64] = feasible[order[:count]]
        return nearest

    def along(self, name: str) -> NDArray[np.float64]:
        """Where nodes lie along an axis of a picture: risks span orders of magnitude, so by their
        logarithms.
        """
        if name not in AXES:
            raise ParameterError(f"{name!r} is not an axis.{did_you_mean(name, AXES)}")
        values: NDArray[np.float64] = getattr(self, name).astype(np.float64)
        if name in RISKS:
            return np.log(np.maximum(values, TINY))
        return values

    def _unbeaten(self, among: NDArray[np.bool_], names: tuple[str, ...]) -> NDArray[np.int64]:
        nodes = np.flatnonzero(among)
        coordinates = [getattr(self, name)[nodes].astype(np.float64) for name in names]
        points = np.column_stack(coordinates)
        points[:, 0] = np.round(points[:, 0], 12)  # what only rounding distinguishes is equal
        ties = self.levels[nodes].sum(axis=1)
        # The first name decides first; nodes that are alike in all names go by their levels.
        order = np.lexsort((ties, *points.T[::-1]))
        front: NDArray[np.int64] = nodes[kernels.skyline.find_skyline(points, order)]
        first_values = getattr(self, names[0])[front]
        second_values = getattr(self, names[1])[front]
        return front[np.lexsort((second_values, first_values))]


_SHIFT = (slice(1, None), slice(None, -1))


def _cells(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Which of so many equal intervals each value lies in."""
    smallest, span = values.min(), max(float(np.ptp(values)), TINY)
    # The greatest value would fall into an interval behind the last one.
    shares = (values - smallest) / span
    cells: NDArray[np.int64] = np.minimum((shares * count).astype(np.int64), count - 1)
    return cells
