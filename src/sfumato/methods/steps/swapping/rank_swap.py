"""Rank swapping: values are exchanged between records whose ranks lie close."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.design import weights_of
from sfumato.core.encoding import as_column, numbers_of
from sfumato.core.parameters import parameters
from sfumato.core.step import Clue, ColumnStep, Goal, Masked, Preserved, RankWindow
from sfumato.core.words import percent
from sfumato.errors import ParameterError
from sfumato.methods.steps.preserved_moments import (
    correlations,
    correlations_kept,
    mean_kept,
    values_kept,
)
from sfumato.methods.steps.swapping.carriers import (
    Carriers,
    Columns,
    Ranking,
    Variant,
    Within,
    carriers_of,
    combined,
    is_measured,
    require_apart,
    require_columns,
    scores_of,
    share_of,
    strata_apart,
)

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.table import Table


# The lowest and highest values of a column, which swapping may leave out or group first.

if TYPE_CHECKING:
    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]


def ends_of(
    scores: Floats, bottom: float, top: float, stream: np.random.Generator
) -> tuple[Codes, Codes]:
    """The carriers with the lowest and with the highest share of the known scores; chance decides
    between equals.
    """
    present = np.flatnonzero(~np.isnan(scores))
    low, high = share_of(bottom, len(present)), share_of(top, len(present))
    if not low and not high:
        return present[:0], present[:0]
    mixed = stream.permutation(present)
    order = mixed[np.argsort(scores[mixed], kind="stable")]
    return order[:low], order[len(order) - high :]


def grouped(
    dataset: Table, name: str, scores: Floats, carriers: Carriers, ends: tuple[Codes, Codes]
) -> pl.Series:
    """The column with either end replaced by one value: the mean of numbers, the lower median of
    anything else.
    """
    column = dataset.column(name)
    groups = [np.flatnonzero(_marked(carriers, end)) for end in ends if len(end)]
    if is_measured(dataset, name):
        values = numbers_of(dataset, name)
        for rows in groups:
            values[rows] = math.fsum(values[rows]) / len(rows)  # exact, whatever the order of rows
        return as_column(name, values, column)
    sources = np.arange(len(column))
    row_scores = scores[carriers.of]
    for rows in groups:
        by_score = rows[np.argsort(row_scores[rows], kind="stable")]
        sources[rows] = by_score[(len(rows) - 1) // 2]
    return column.gather(sources)


def _marked(carriers: Carriers, carrier_numbers: Codes) -> NDArray[np.bool_]:
    """Which rows belong to some carriers."""
    marked = np.zeros(len(carriers), dtype=np.bool_)
    marked[carrier_numbers] = True
    return marked[carriers.of]


# Rank swapping of one column: what is sorted, what may move, what comes out.

Extremes = Literal["exclude", "group"]


@dataclasses.dataclass(frozen=True, eq=False)
class SwappedColumn:
    """A column ready to be swapped: its values, their scores per row, who may exchange them, how
    many were grouped.
    """

    name: str
    column: pl.Series
    scores: Floats
    carriers: Carriers
    ranking: Ranking
    grouped: int

    def sources(self, partner: Codes) -> Codes:
        """Per row the row whose value it gets."""
        return self.carriers.sources(self.ranking.order, partner)


@dataclasses.dataclass(frozen=True)
class RankSwapping:
    """How columns are prepared for rank swapping."""

    variant: Variant
    bottom: float
    top: float
    extremes: Extremes
    within: Sequence[str] | None

    def prepare(self, dataset: Table, name: str, goal: Goal) -> SwappedColumn:
        """Sort a column and draw the random numbers of its swap."""
        scores = scores_of(dataset, name)
        strata, _ = strata_apart(dataset, self.within, [name])
        carriers = carriers_of(dataset, [name], strata)
        stream = goal.stream(f"rank swap {name}")
        column, own = dataset.column(name), scores[carriers.rows]
        ends = ends_of(own, self.bottom, self.top, stream)
        together = np.concatenate(ends)
        if len(together) and self.extremes == "group":
            column = grouped(dataset, name, own, carriers, ends)
            scores = scores_of(dataset.with_columns({name: column}), name)
            own = scores[carriers.rows]
        movable = ~np.isnan(own)
        if self.extremes == "exclude":
            movable[together] = False
        ranking = Ranking.of(
            own, strata[carriers.rows], np.flatnonzero(movable), self.variant, stream
        )
        return SwappedColumn(
            name, column, scores, carriers, ranking, len(together) * (self.extremes == "group")
        )


Share = Annotated[
    float, Field(ge=0, lt=0.5, description="share of the records at this end; 0.05 in sdcMicro")
]

NARROWER = 0.75
"""How much a swap is narrowed at a time until it keeps what it must."""

BREAKABLE = (
    "rank_swap: whoever learns p can tell for every value the ranks it comes from, and find most"
    " records by intersecting columns (Nin, Herranz & Torra 2008); keep p secret, or take variant"
    " p_distribution or p_buckets"
)


@parameters
class RankSwap(ColumnStep):
    r"""Exchange the values of each column between records whose ranks differ by at most a share p
    of the records.

    The N records that take part are sorted, within strata where there are any; from the lowest on,
    each that is still free exchanges its value with a free record among the next m:

    .. math:: m = \lfloor p N \rfloor

    ``interval`` draws it evenly among them, so no rank moves by more than m. ``p_distribution``
    goes
    :math:`|\mathcal N(m/2, m/2)|` ranks ahead, without a limit (normal; folded at 0; the nearest
    free rank to that). ``p_buckets`` cuts the ranks into buckets of m and takes an even draw from
    bucket :math:`s \ge r`, seen from bucket r, with probability in proportion
    to :math:`2^{-(s - r + 1)}` among buckets with free ranks. The two have no hard limit on which
    an intruder who knows p could build; the paper's number of buckets is our 1/p.

    Every column keeps its values exactly, each at another record; a record without a free partner
    keeps its own. Equal values are ranked at random. Missing values stay where they are. ``bottom``
    and ``top`` are shares of the lowest and highest values, which are left in place (``exclude``)
    or first replaced by their mean, or median where there is none (``group``, as sdcMicro does with
    5 %, though with one record fewer where 5 % is a whole number; then frequencies are kept but for
    these). ``keep_correlation`` R₀ narrows the swap (p, 0.75 p, …) until :math:`|r'| \ge R_0 |r|`
    with the old sign for all pairs of the columns; ``keep_mean`` K₀ until

    .. math:: |\bar x_S' - \bar x_S| \le 2 K_0\, s_S / \sqrt{n_S}

    for all ``subsets`` S, the combinations of values of the columns named there (sdcMicro
    has :math:`\bar x_S` in place of the standard deviation :math:`s_S`, which stops everything
    where a mean is zero). A column that is constant within persons or households is swapped between
    these. Survey weights stay with their records, so weighted means may move.

    References: Moore 1996, *Controlled data-swapping techniques for masking public use microdata*,
    US Bureau of the Census; Nin, Herranz & Torra 2008, doi:10.1016/j.datak.2007.07.006 (the attack
    and the two variants).

    >>> from sfumato import examples
    >>> from sfumato.core.randomness import Seed
    >>> people, step = examples.hospital(rows=200), RankSwap(["age"], p=0.05)
    >>> plan = step.plan(people, Goal(seed=Seed(1)))
    >>> print(plan.preserved[0])
    frequencies of all values of age: kept exactly, off by 0
    >>> sorted(step.apply(people, plan).column("age")) == sorted(people.column("age"))
    True
    """

    columns: Annotated[
        Columns,
        Field(description="columns with numbers, dates or an order; each is swapped on its own"),
    ]
    p: Annotated[
        float, Field(ge=0, le=1, description="by what share of the records a rank may move")
    ]
    variant: Annotated[Variant, Field(description="how partners are drawn")] = "interval"
    bottom: Share = 0.0
    top: Share = 0.0
    extremes: Annotated[
        Extremes, Field(description="what happens to the ends: left in place, or grouped first")
    ] = "exclude"
    keep_correlation: Annotated[
        float | None,
        Field(
            ge=0,
            le=1,
            description="least ratio of correlations between the columns, after to before",
        ),
    ] = None
    keep_mean: Annotated[
        float | None,
        Field(ge=0, description="how far means of subsets may move, in pairs of standard errors"),
    ] = None
    subsets: Annotated[
        Columns | None, Field(description="columns that make the subsets of keep_mean")
    ] = None
    within: Annotated[
        Within | None,
        Field(description="columns that make strata; by default those with that role"),
    ] = None

    name: ClassVar[str] = "rank_swap"
    secret: ClassVar[tuple[str, ...]] = ("p",)

    def __post_init__(self) -> None:
        require_apart(columns=self.columns, within=self.within or ())
        if (self.keep_mean is None) != (self.subsets is None):
            raise ParameterError("keep_mean and subsets go together; give both or neither")
        if self.keep_correlation is not None and len(self.columns) < 2:
            raise ParameterError("keep_correlation is about pairs of columns; name two or more")
        if self.extremes == "group" and not (self.bottom or self.top):
            raise ParameterError("extremes are grouped only where bottom or top says how many")

    @property
    def clue(self) -> Clue:
        """The window of ranks that p says, where the ends were left in place."""
        if self.variant == "interval" and self.extremes == "exclude":
            return RankWindow(bool(self.within), self.p)
        return Clue(bool(self.within))

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Find the partner of every record, column by column."""
        require_columns(dataset, self.columns, self.name)
        dataset.require(self.subsets or ())
        how = RankSwapping(self.variant, self.bottom, self.top, self.extremes, self.within)
        ready = [how.prepare(dataset, name, goal) for name in self.columns]
        p = self._narrowed(dataset, ready)
        partners = [column.ranking.partners(p) for column in ready]
        sources = [column.sources(mate) for column, mate in zip(ready, partners, strict=True)]
        return Masked(
            actions=dict.fromkeys(self.columns, "values swapped between records of near rank"),
            columns={
                column.name: column.column.gather(rows)
                for column, rows in zip(ready, sources, strict=True)
            },
            preserved=tuple(_preserved(dataset, ready, partners, sources)),
            warnings=tuple(self._warnings(ready, p)),
            public={"variant": self.variant},
            owner={
                "p_used": p,
                "exchanged": {
                    o.name: _count_swapped(m) for o, m in zip(ready, partners, strict=True)
                },
            },
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Put the exchanged values in place."""
        return plan.applied(dataset)

    def _narrowed(self, dataset: Table, ready: Sequence[SwappedColumn]) -> float:
        """The widest of p, 0.75 p, … that keeps correlations and means; 0 keeps everything."""
        if self.keep_correlation is None and self.keep_mean is None:
            return self.p
        before = correlations([column.scores for column in ready])
        subsets = _subsets(dataset, self.subsets) if self.subsets is not None else None
        p = self.p
        while any(column.ranking.limits(p).any() for column in ready):
            after = [column.scores[column.sources(column.ranking.partners(p))] for column in ready]
            if self._keeps(before, correlations(after)) and self._keeps_means(
                ready, after, subsets
            ):
                return p
            p *= NARROWER
        return 0.0

    def _keeps(self, before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
        if self.keep_correlation is None:
            return True
        signs = (before >= 0) * 2 - 1
        return bool((after * signs >= self.keep_correlation * before * signs - 1e-12).all())

    def _keeps_means(
        self,
        ready: Sequence[SwappedColumn],
        after: Sequence[NDArray[np.float64]],
        subsets: Codes | None,
    ) -> bool:
        if self.keep_mean is None or subsets is None:
            return True
        return all(
            _steady(a.scores, b, subsets, self.keep_mean) for a, b in zip(ready, after, strict=True)
        )

    def _warnings(self, ready: Sequence[SwappedColumn], p: float) -> list[str]:
        warnings = [BREAKABLE] if self.variant == "interval" else []
        if p < self.p:
            warnings.append(
                "rank_swap: the swap was narrowed to keep correlations or means; see what it still"
                " protects"
            )
        for column in ready:
            idle, present = column.ranking.idle(p), column.scores[~np.isnan(column.scores)]
            if idle:
                warnings.append(
                    f"rank_swap: {idle:,} value(s) of {column.name!r} stay: p allows no exchange in"
                    " strata so small"
                )
            if len(present) and present.min() == present.max():
                warnings.append(
                    f"rank_swap: all values of {column.name!r} are equal; swapping hides nothing"
                )
        return warnings


def _subsets(dataset: Table, names: Sequence[str]) -> Codes:
    return combined([dataset.encoded(name).codes for name in names])


def _steady(
    before: NDArray[np.float64], after: NDArray[np.float64], subsets: Codes, tolerance: float
) -> bool:
    """Whether the mean of every subset stays within so many pairs of standard errors."""
    present = ~np.isnan(before)
    old, new, groups = before[present], after[present], subsets[present]
    sizes = np.maximum(np.bincount(groups), 1)
    mean = np.bincount(groups, old) / sizes
    spread = np.sqrt(np.bincount(groups, (old - mean[groups]) ** 2) / np.maximum(sizes - 1, 1))
    mean_shifts = np.abs(np.bincount(groups, new) / sizes - mean)
    return bool(
        (mean_shifts <= 2 * tolerance * spread / np.sqrt(sizes) + 1e-12 * np.abs(mean)).all()
    )


def _count_swapped(partner: Codes) -> int:
    return int((partner != np.arange(len(partner))).sum())


def _preserved(
    dataset: Table,
    ready: Sequence[SwappedColumn],
    partners: Sequence[Codes],
    sources: Sequence[Codes],
) -> list[Preserved]:
    preserved: list[Preserved] = []
    weights = weights_of(dataset)
    after = [column.scores[rows] for column, rows in zip(ready, sources, strict=True)]
    for column, mate, new in zip(ready, partners, after, strict=True):
        preserved.append(_values(column, mate))
        preserved.append(_ranks(column.name, mate))
        if weights is not None:
            preserved.append(mean_kept("weighted mean", column.name, column.scores, new, weights))
    names = tuple(column.name for column in ready)
    return [
        *preserved,
        *correlations_kept(
            names, correlations([column.scores for column in ready]), correlations(after)
        ),
    ]


def _ranks(name: str, partner: Codes) -> Preserved:
    """How far ranks moved: what Spearman's correlation of old and new ranks lacks to 1, and the
    largest single move.
    """
    ranks = np.arange(len(partner), dtype=np.float64)
    together = (
        float(correlations([ranks, partner.astype(np.float64)])[0]) if len(partner) > 1 else 1.0
    )
    furthest = float(np.abs(partner - ranks).max(initial=0) / max(1, len(partner)))
    words = (
        f"Spearman correlation of old and new ranks {together:.2f}, largest move of one record"
        f" {percent(furthest)} of the ranks"
    )
    return Preserved("ranks", (name,), False, 1.0 - together, words)


def _values(column: SwappedColumn, partner: Codes) -> Preserved:
    preserved = values_kept([column.name], partner, column.carriers.once)
    if column.grouped:
        return Preserved(
            preserved.what, preserved.columns, False, column.grouped / max(1, len(column.carriers))
        )
    return preserved
