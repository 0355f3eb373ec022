"""Rank swapping: values are exchanged between records whose ranks lie close."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.design import weights_of
from sfumato.core.parameters import parameters
from sfumato.core.step import Clue, ColumnStep, Goal, Masked, Preserved, RankWindow
from sfumato.core.words import percent
from sfumato.errors import ParameterError
from sfumato.methods.steps.swapping.preserved_values import (
    correlations,
    correlations_kept,
    mean_kept,
    values_kept,
)
from sfumato.methods.steps.swapping.rank_partners import Variant
from sfumato.methods.steps.swapping.record_groups import combine_codes
from sfumato.methods.steps.swapping.step_columns import (
    Columns,
    Strata,
    require_apart,
    require_columns,
)
from sfumato.methods.steps.swapping.swapped_column import Extremes, RankSwapping

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table
    from sfumato.methods.steps.swapping.swapped_column import SwappedColumn

    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]

Share = Annotated[
    float, Field(ge=0, lt=0.5, description="share of the records at this end; 0.05 in sdcMicro")
]
NARROWER = 0.75
"""How much a swap is narrowed at a time until it keeps what it must."""
BREAKABLE = (
    "rank_swap: somebody who learns p can compute for every value the ranks it comes from, and "
    "find most records by intersecting columns (Nin, Herranz & Torra 2008); keep p secret, or use "
    "variant p_distribution or p_buckets"
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
        Columns | None, Field(description="columns that define the subsets of keep_mean")
    ] = None
    within: Strata = None

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
        how = RankSwapping(
            self.variant, self.bottom, top=self.top, extremes=self.extremes, within=self.within
        )
        ready = [how.prepare(dataset, name, goal) for name in self.columns]
        p = self._narrowed(dataset, ready)
        partners = [column.ranking.partners(p) for column in ready]
        sources = [column.sources(mate) for column, mate in zip(ready, partners, strict=True)]
        columns = {}
        exchanged = {}
        for column, mate, rows in zip(ready, partners, sources, strict=True):
            columns[column.name] = column.column.gather(rows)
            is_moved = mate != np.arange(len(mate))
            exchanged[column.name] = int(is_moved.sum())
        return Masked(
            actions=dict.fromkeys(self.columns, "values swapped between records of near rank"),
            columns=columns,
            preserved=tuple(_preserved_ranks(dataset, ready, partners, sources)),
            warnings=tuple(self._warnings(ready, p)),
            public={"variant": self.variant},
            owner={"p_used": p, "exchanged": exchanged},
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Put the exchanged values in place."""
        return plan.applied(dataset)

    def _narrowed(self, dataset: Table, ready: Sequence[SwappedColumn]) -> float:
        """The widest of p, 0.75 p, … that keeps correlations and means; 0 keeps everything."""
        if self.keep_correlation is None and self.keep_mean is None:
            return self.p
        # Scores are compared, not values: dates and ordered values have correlations as well.
        before = correlations([column.scores for column in ready])
        subsets = None
        if self.subsets is not None:
            subsets = combine_codes([dataset.encoded(name).codes for name in self.subsets])
        p = self.p
        # Each try takes three quarters of the last p, until no stratum allows an exchange.
        while any(column.ranking.limits(p).any() for column in ready):
            after = [column.scores[column.sources(column.ranking.partners(p))] for column in ready]
            if self._keeps(before, correlations(after)) and self._keeps_means(
                ready, after, subsets
            ):
                return p
            p *= NARROWER
        return 0.0

    def _keeps(self, before: Floats, after: Floats) -> bool:
        if self.keep_correlation is None:
            return True
        # A correlation of −0.6 may weaken to −0.5, not below; signs turn it into the case of 0.6.
        signs = (before >= 0) * 2 - 1
        least_kept = self.keep_correlation * before * signs - 1e-12
        return bool((after * signs >= least_kept).all())

    def _keeps_means(
        self,
        ready: Sequence[SwappedColumn],
        after: Sequence[Floats],
        subsets: Codes | None,
    ) -> bool:
        if self.keep_mean is None or subsets is None:
            return True
        pairs = zip(ready, after, strict=True)
        return all(_steady(old.scores, new, subsets, self.keep_mean) for old, new in pairs)

    def _warnings(self, ready: Sequence[SwappedColumn], p: float) -> list[str]:
        warnings = [BREAKABLE] if self.variant == "interval" else []
        if p < self.p:
            warnings.append(
                "rank_swap: fewer ranks were swapped to preserve correlations or means; check "
                "what protection remains"
            )
        for column in ready:
            idle = column.ranking.idle(p)
            present = column.scores[~np.isnan(column.scores)]
            if idle:
                warnings.append(
                    f"rank_swap: {idle:,} value(s) of {column.name!r} stay: p allows no exchange "
                    "in such small strata"
                )
            if len(present) and present.min() == present.max():
                warnings.append(
                    f"rank_swap: all values of {column.name!r} are equal; swapping hides nothing"
                )
        return warnings


def _steady(before: Floats, after: Floats, subsets: Codes, tolerance: float) -> bool:
    """Whether the mean of every subset stays within so many pairs of standard errors."""
    present = ~np.isnan(before)
    old = before[present]
    new = after[present]
    groups = subsets[present]
    sizes = np.maximum(np.bincount(groups), 1)
    mean = np.bincount(groups, old) / sizes
    squares = np.bincount(groups, (old - mean[groups]) ** 2)
    spread = np.sqrt(squares / np.maximum(sizes - 1, 1))
    mean_shifts = np.abs(np.bincount(groups, new) / sizes - mean)
    # 1e-12: means of constant subsets may differ in their last digits.
    sampling_error = 2 * tolerance * spread / np.sqrt(sizes)
    allowed = sampling_error + 1e-12 * np.abs(mean)
    return bool((mean_shifts <= allowed).all())


def _preserved_ranks(
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
    before = correlations([column.scores for column in ready])
    return [*preserved, *correlations_kept(names, before, correlations(after))]


def _ranks(name: str, partner: Codes) -> Preserved:
    """How far ranks moved: what Spearman's correlation of old and new ranks lacks to 1, and the
    largest single move.
    """
    ranks = np.arange(len(partner), dtype=np.float64)
    together = 1.0
    if len(partner) > 1:
        # Ranks against partners' ranks: Spearman's correlation is Pearson's of ranks.
        together = float(correlations([ranks, partner.astype(np.float64)])[0])
    distance = np.abs(partner - ranks).max(initial=0)
    furthest = float(distance / max(1, len(partner)))
    words = (
        f"Spearman correlation of old and new ranks {together:.2f}, largest move of one record"
        f" {percent(furthest)} of the ranks"
    )
    return Preserved("ranks", (name,), exactly=False, off_by=1.0 - together, measured=words)


def _values(column: SwappedColumn, partner: Codes) -> Preserved:
    preserved = values_kept([column.name], partner, column.carriers.once)
    # Grouped ends were replaced by one value before: these frequencies are not kept.
    if column.grouped:
        records = max(1, len(column.carriers))
        return Preserved(preserved.what, preserved.columns, False, column.grouped / records)
    return preserved
