"""Groups of numbers that keep the most of what a column says about a sensitive one."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, Field

from sfumato.core.groups import group_starts
from sfumato.core.hierarchy import TOP, Hierarchy, JointCounts, Paths
from sfumato.core.parameters import SENSITIVE_COLUMNS, parameters
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies.leaf_lists import (
    EVERYWHERE,
    Extent,
    Number,
    category_paths,
    extent_paths,
)
from sfumato.methods.hierarchies.number_intervals import (
    CellReading,
    Exact,
    exact,
    format_position,
    on_axis,
    read_interval,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


MOST_BINS = 256
"""Columns with more distinct numbers are cut into this many bins of like size first."""
MOST_CATEGORIES = 1000
"""Sensitive values beyond this number are no categories."""
Cuts = Annotated[
    Sequence[Annotated[Sequence[Number], AfterValidator(tuple)]],
    AfterValidator(tuple),
]


# Optimal cuts: the partition of an ordered list into groups that costs least.


def optimal_cuts(
    costs: Floats, sizes: Ints, groups: int, at_least: int
) -> tuple[float, tuple[int, ...]] | None:
    r"""The least total cost of cutting items into at most ``groups`` runs of at least ``at_least``
    records, and where they begin.

    ``costs[i, j]`` is the cost of a group of the items *i* to *j − 1*, ``sizes`` the records of
    each item. With *B(g, j)* the least cost of the first *j* items in *g* groups,

    .. math:: B(g, j) = \min_i B(g-1, i) + costs_{ij}

    over the *i* that leave enough records. Equal costs: fewer groups, then earlier cuts. None where
    there are too few records.

    >>> flat = np.array([[0, 0, 1, 2], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]], dtype=float)
    >>> optimal_cuts(flat, np.array([1, 1, 1]), 2, 1)
    (1.0, (1,))
    """
    count = len(sizes)
    total = group_starts(sizes)
    # Runs with too few records cost infinitely much and are never chosen.
    records_between = total[None, :] - total[:, None]
    allowed = np.where(records_between >= at_least, costs, np.inf)
    best = allowed[0].copy()
    best_cut = (0, best[count])
    best_starts = []
    # best[j] is the least cost of the first j items in just so many groups.
    for group in range(2, groups + 1):
        with_one_more = best[:, None] + allowed
        best_starts.append(np.argmin(with_one_more, axis=0))
        best = np.min(with_one_more, axis=0)
        # Only where it is strictly lower: equal costs take fewer groups.
        if best[count] < best_cut[1]:
            best_cut = (group - 1, best[count])
    # From the last cut backwards: the start of each group is the end of the one before.
    cuts, end = [], count
    for step in range(best_cut[0] - 1, -1, -1):
        end = int(best_starts[step][end])
        cuts.append(end)
    if not np.isfinite(best_cut[1]):
        return None
    return (float(best_cut[1]), tuple(reversed(cuts)))


def entropy_costs(counts: Ints) -> Floats:
    """Bits lost about the category by joining items *i* to *j − 1*: records times the entropy
    within the group.

    >>> entropy_costs(np.array([[2, 0], [0, 2]]))[0].tolist()
    [0.0, 0.0, 4.0]
    """
    first_row = np.zeros((1, counts.shape[1]))
    sums = np.concatenate([first_row, np.cumsum(counts, axis=0)])
    costs = np.zeros((len(sums), len(sums)))
    for first in range(len(counts)):
        within = sums[first + 1 :] - sums[first]
        costs[first, first + 1 :] = _times_log(within.sum(axis=1)) - _times_log(within).sum(axis=1)
    return np.maximum(costs, 0.0)


def _times_log(counts: Floats) -> Floats:
    # 0 · log 0 is 0: the maximum keeps the logarithm defined.
    return counts * np.log2(np.maximum(counts, 1.0))


def variance_costs(records: Floats, sums: Floats, squares: Floats) -> Floats:
    """Sum of squares within the group of items *i* to *j − 1*, from the records, sums and squares
    of each item.

    >>> variance_costs(np.array([1.0, 1.0]), np.array([0.0, 2.0]), np.array([0.0, 4.0]))[0].tolist()
    [0.0, 0.0, 2.0]
    """
    n, s, q = (np.concatenate([[0.0], np.cumsum(part)]) for part in (records, sums, squares))
    number = n[None, :] - n[:, None]
    total = s[None, :] - s[:, None]
    within = (q[None, :] - q[:, None]) - np.divide(
        total**2, number, out=np.zeros_like(total), where=number > 0
    )
    return np.triu(np.maximum(within, 0.0))


# Numbers and what stands beside them, as items in order.


@dataclasses.dataclass(frozen=True)
class Items:
    """Runs of neighbouring numbers: where each begins and ends on the axis, its records, and what
    joining them costs.
    """

    digits: int
    low: tuple[int, ...]
    high: tuple[int, ...]
    sizes: Ints
    costs: Floats

    def cut(self, position: int) -> int | float:
        """The roundest number that lies above item ``position − 1`` and not above ``position``."""
        below = self.high[position - 1]
        above = self.low[position]
        # From the coarsest power of ten down: the first that still lies above the lower item.
        for power in range(len(str(abs(above))), -1, -1):
            if (rounded := above // 10**power * 10**power) > below:
                text = format_position(rounded, self.digits)
                if "." in text:
                    return float(text)
                return int(text)
        return above


def items_of(together: JointCounts, measure: str) -> Items:
    """The numbers of a column in order, many of them joined to bins of like size, and the costs of
    groups of them.
    """
    numbers = [None if value is None else exact(value) for value in together.values]
    present = [code for code, number in enumerate(numbers) if number is not None]
    digits = max([0, *(-number[1] for number in numbers if number is not None)])
    position = {code: on_axis(numbers[code], digits) for code in present}  # type: ignore[arg-type]
    axis = sorted(set(position.values()))
    item_of_position = {at: i for i, at in enumerate(axis)}
    own_items = []
    for code in range(len(numbers)):
        if code in position:
            own_items.append(item_of_position[position[code]])
        else:
            own_items.append(-1)
    own = np.array(own_items, dtype=np.int64)
    rows = own[together.own] >= 0
    item = own[together.own[rows]]
    other = together.other[rows]
    counts = together.counts[rows]
    sizes = np.bincount(item, weights=counts, minlength=len(axis)).astype(np.int64)
    bins = _bins(sizes)
    if len(bins):
        starts = np.flatnonzero(np.append(True, np.diff(bins) > 0))
    else:
        starts = bins
    ends = np.append(starts[1:], len(axis))[: len(starts)] - 1
    joined = np.bincount(bins, weights=sizes, minlength=len(starts)).astype(np.int64)
    costs = _costs(
        bins[item], other, counts, others=together.others, length=len(starts), measure=measure
    )
    return Items(
        digits,
        tuple(axis[i] for i in starts),
        high=tuple(axis[i] for i in ends),
        sizes=joined,
        costs=costs,
    )


def _bins(sizes: Ints) -> Ints:
    """The bin of every number: one each, or as many as are allowed, by the share of records at or
    below a number.
    """
    if len(sizes) <= MOST_BINS:
        return np.arange(len(sizes))
    # By the middle of a number's own records, so that a frequent one does not skip bins.
    middle = np.cumsum(sizes) - sizes / 2
    bins = (middle * MOST_BINS / sizes.sum()).astype(np.int64)
    _, dense_bins = np.unique(bins, return_inverse=True)
    return dense_bins.astype(np.int64)


def _costs(
    item: Ints,
    other: Ints,
    counts: Ints,
    others: Sequence[str | None],
    length: int,
    measure: str,
) -> Floats:
    if measure == "entropy":
        if len(others) > MOST_CATEGORIES:
            raise SchemaError(
                f"grouped: the sensitive column has {len(others):,} distinct values, more than"
                f" {MOST_CATEGORIES:,}; if they are numbers give measure: variance"
            )
        table = np.zeros((length, len(others)), dtype=np.int64)
        np.add.at(table, (item, other), counts)
        return entropy_costs(table[:, np.argsort([str(name) for name in others], kind="stable")])
    numbers = np.array([_float(name) for name in others])
    present = ~np.isnan(numbers[other])
    if not all(
        name is None or not np.isnan(number) for name, number in zip(others, numbers, strict=True)
    ):
        raise SchemaError(
            "grouped: not all values of the sensitive column are numbers; give measure: entropy"
        )
    # or squares cancel
    centred = numbers[other[present]] - (np.nanmean(numbers) if present.any() else 0.0)
    weights = counts[present].astype(np.float64)
    moments = []
    for power in range(3):
        moment_weights = weights * centred**power
        moments.append(
            np.bincount(item[present], weights=moment_weights, minlength=length).astype(np.float64)
        )
    return variance_costs(*moments)


def _float(name: str | None) -> float:
    number = None if name is None else exact(name)
    if number is None:
        return float("nan")
    return float(f"{number[0]}e{number[1]}")


# The hierarchy.


@parameters
class GroupedNumbers(Hierarchy):
    r"""Groups of numbers, cut where the least is lost about a sensitive column; then fewer groups,
    then ``*``.

    Level 1 has at most ``groups`` groups of neighbouring numbers, each of at least ``at_least``
    records, and among all such cuts those that lose least:

    .. math:: \sum_g n_g H(S \mid g) \quad\text{or}\quad \sum_g \sum_{i \in g} (s_i - \bar s_g)^2

    with *H* the entropy of the sensitive values in a group (``measure: entropy``) or, for a
    sensitive number, the squares within it (``variance``). Every level above joins neighbours to
    half as many groups, again by the least loss, down to two. The search is exact (dynamic
    programming) up to 256 distinct numbers; more are joined to 256 bins of like size first.
    Equal losses: fewer groups, then lower cuts. A cut is the roundest number between two groups.
    Rows without a number are left out; a missing sensitive value is a value of its own to entropy,
    and left out of variance.

    **It is made from the data**, from the sensitive column even: where the cuts lie tells something
    of it, and another table gives other cuts. A promise still holds, since it is judged on what is
    released; a certificate leaves the hierarchy out, and no ε is certified with it. Where releases
    are to be compared give the ``cuts`` (``sfumato profile --column`` shows them). Cells that are
    labels of groups already are nodes when ``cuts`` are given; a table that holds such labels and
    no cuts, as one that was released, is all or nothing.

    Reference: Fayyad and Irani 1993, IJCAI-93, 1022–1027 (cuts by entropy, greedily); Fisher 1958,
    doi:10.1080/01621459.1958.10501479 (exactly, by squares). Loss of a label as
    for :class:`Intervals`.

    >>> GroupedNumbers("illness", cuts=[[20, 40], [40]]).paths(["7", "23", "60"], [1, 1, 1]).rows
    (('7', '<20', '<40', '*'), ('23', '20-39', '<40', '*'), ('60', '>=40', '>=40', '*'))
    """

    sensitive: Annotated[
        str,
        SENSITIVE_COLUMNS,
        Field(min_length=1, description="the column about which groups preserve most"),
    ]
    groups: Annotated[int, Field(ge=2, le=100, description="groups on level 1, at most")] = 8
    at_least: Annotated[int, Field(ge=1, description="records of every group, at least")] = 50
    measure: Annotated[
        Literal["entropy", "variance"],
        Field(description="what is lost: entropy of categories, variance of numbers"),
    ] = "entropy"
    cuts: Annotated[
        Cuts | None, Field(description="where groups begin, level by level; searched if not given")
    ] = None

    name: ClassVar[str] = "grouped"
    title: ClassVar[str] = "Groups that preserve a sensitive column"
    secret: ClassVar[tuple[str, ...]] = ("cuts",)
    learns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        finer: Sequence[float] | None = None
        for level in self.cuts or ():
            if not level or any(a >= b for a, b in itertools.pairwise(level)):
                raise ParameterError("cuts of a level must be growing numbers, at least one")
            if finer is not None and (not set(level) < set(finer)):
                raise ParameterError(
                    "cuts of a level must be some of those of the level before, and fewer"
                )
            finer = level

    @property
    def learns_from(self) -> str | None:
        """The sensitive column, until the cuts are known."""
        return self.sensitive if self.cuts is None else None

    def fitted(self, together: JointCounts) -> GroupedNumbers:
        """The same hierarchy with its cuts; a column that holds labels of groups already is left as
        it is.
        """
        readings = [read_interval(value) for value in together.values if value is not None]
        wrong = sum(reading is None for reading in readings)
        if wrong:
            raise SchemaError(
                f"grouped: {wrong} of {len(readings)} distinct values are not numbers (with a "
                "decimal point); make them missing, correct them, or use another hierarchy"
            )
        if any(_is_label(reading) for reading in readings):
            return self
        items = items_of(together, self.measure)
        return dataclasses.replace(self, cuts=tuple(_levels(items, self.groups, self.at_least)))

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; what is neither a number nor a group is counted and
        refused.
        """
        if self.cuts is None:
            return category_paths([(v, TOP) for v in values], [int(v == TOP) for v in values], 2)
        readings = [read_interval(value) for value in values]
        grid = _Groups(self.cuts, [r for r in readings if r is not None])
        nodes = [None if reading is None else grid.node(reading) for reading in readings]
        placed = [node for node in nodes if node is not None]
        if len(placed) < len(values):
            raise SchemaError(
                f"grouped: {len(values) - len(placed)} of {len(values)} distinct values are neither"
                " numbers (with a decimal point) nor groups of this hierarchy; make them missing,"
                " correct them, or use another hierarchy"
            )
        rows = [grid.row(value, *node) for value, node in zip(values, placed, strict=True)]
        own_levels = [own for own, _ in placed]
        spans = [span for _, span in placed]
        return extent_paths(rows, own_levels, grid.extents, grid.domain(spans))


def _is_label(reading: CellReading | None) -> bool:
    return (reading is not None and reading.low != reading.high) or reading == CellReading(
        None, None
    )


def _levels(items: Items, groups: int, at_least: int) -> list[tuple[float, ...]]:
    """The cuts of every level, from fine to coarse; none where there are too few records for two
    groups.
    """
    best = None
    if len(items.sizes):
        best = optimal_cuts(items.costs, items.sizes, groups, at_least)
    levels: list[tuple[float, ...]] = []
    while best is not None and best[1]:
        starts = (0, *best[1])
        levels.append(tuple(items.cut(position) for position in best[1]))
        ends = np.array([*starts, len(items.sizes)])
        records = [items.sizes[a:b].sum() for a, b in itertools.pairwise(ends)]
        sizes = np.array(records)
        # Costs of joined groups are those of the runs between their ends: nothing is counted again.
        half = (len(starts) + 1) // 2
        joined = optimal_cuts(items.costs[np.ix_(ends, ends)], sizes, half, 1)
        halved = len(starts) > 2 and joined is not None
        best = None
        if halved and joined:
            best = (joined[0], tuple(starts[position] for position in joined[1]))
    return levels


class _Groups:
    """The groups between cuts, on one axis, with their labels and extents."""

    def __init__(self, cuts: Sequence[Sequence[float]], readings: Sequence[CellReading]) -> None:
        limits = [[_exact(cut) for cut in level] for level in cuts]
        ends = []
        for reading in readings:
            for end in (reading.low, reading.high):
                if end is not None:
                    ends.append(end)
        decimals = [0, *(-number[1] for number in itertools.chain(*limits, ends))]
        self.digits = max(decimals)
        self.cuts = [[on_axis(cut, self.digits) for cut in level] for level in limits]
        unit = 10**self.digits
        points = [on_axis(end, self.digits) for end in ends]
        # 20-24 can be written of whole numbers only, and not of negative ones.
        has_whole_ends = not any(p % unit for p in itertools.chain(*self.cuts, points))
        whole = has_whole_ends and not any(r.bracket for r in readings)
        self.whole = whole and all(cut >= 0 for level in self.cuts for cut in level)
        self.extents: list[dict[str, Extent]] = [{} for _ in range(len(self.cuts) + 1)]

    def node(self, reading: CellReading) -> tuple[int, Extent] | None:
        """The level of the node a cell names, and its extent; None when it is no group."""
        if reading.low is None and reading.high is None:
            return len(self.cuts) + 1, EVERYWHERE
        span = tuple(
            None if end is None else on_axis(end, self.digits)
            for end in (reading.low, reading.high)
        )
        if span[0] is not None and span[0] == span[1]:
            return 0, (span[0], span[0])
        low, high = (EVERYWHERE[i] if end is None else end for i, end in enumerate(span))
        # A group without a lower end is known by the last position inside it.
        start = low if low > EVERYWHERE[0] else high - 1
        levels = (
            level
            for level in range(1, len(self.cuts) + 1)
            if self.around(level, start) == (low, high)
        )
        own = next(levels, None)
        if own is None:
            return None
        return (own, (low, high))

    def around(self, level: int, position: float) -> Extent:
        """The group of a level around a position."""
        cuts = self.cuts[level - 1]
        after = bisect.bisect_right(cuts, position)
        lower = cuts[after - 1] if after else EVERYWHERE[0]
        upper = cuts[after] if after < len(cuts) else EVERYWHERE[1]
        return lower, upper

    def row(self, text: str, own: int, extent: Extent) -> tuple[str, ...]:
        """The path of a cell that is a node of level ``own``."""
        if own:
            for level in self.extents[:own]:
                level[text] = extent
        if own > len(self.cuts):
            return (text,) * own + (TOP,)
        if extent[0] > EVERYWHERE[0]:
            position = extent[0]
        else:
            position = extent[1] - 1
        above = [self._label(level, position) for level in range(max(own, 1), len(self.cuts) + 1)]
        return (text,) * max(own, 1) + tuple(above) + (TOP,)

    def _label(self, level: int, position: float) -> str:
        low, high = extent = self.around(level, position)
        if low == EVERYWHERE[0]:
            label = f"<{format_position(int(high), self.digits)}"
        elif high == EVERYWHERE[1]:
            label = f">={format_position(int(low), self.digits)}"
        elif self.whole:
            first = int(low) // 10**self.digits
            last = int(high) // 10**self.digits - 1
            if first == last:
                label = str(first)
            else:
                label = f"{first}-{last}"
        else:
            bounds = [format_position(int(bound), self.digits) for bound in (low, high)]
            label = f"[{bounds[0]}, {bounds[1]})"
        self.extents[level][label] = extent
        return label

    def domain(self, spans: Sequence[Extent]) -> Extent | None:
        """From the least to the greatest number that occurs, the ends of groups among them."""
        ends = []
        for span in spans:
            for end in span:
                if end not in EVERYWHERE:
                    ends.append(end)
        if not ends:
            return None
        return (min(ends), max(ends))


def _exact(number: object) -> Exact:
    return exact(repr(number)) or (0, 0)


def grouped(
    sensitive: str,
    *,
    groups: int = 8,
    at_least: int = 50,
    measure: Literal["entropy", "variance"] = "entropy",
    cuts: Sequence[Sequence[float]] | None = None,
) -> GroupedNumbers:
    """Groups of numbers that tell the most about a sensitive column: ``sf.grouped("diagnosis")``.
    See :class:`GroupedNumbers`.
    """
    return GroupedNumbers(
        sensitive=sensitive, groups=groups, at_least=at_least, measure=measure, cuts=cuts
    )
