"""Similarity-guided swapping: values are exchanged with the record nearest in another column."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.classes import count_rows
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.step import ColumnStep, Goal, Masked, Preserved
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.swapping.carriers import carriers_of
from sfumato.methods.steps.swapping.ordered_scores import scores_of
from sfumato.methods.steps.swapping.preserved_values import values_kept
from sfumato.methods.steps.swapping.rank_partners import sorted_within
from sfumato.methods.steps.swapping.record_groups import (
    codes_of,
    strata_apart,
)
from sfumato.methods.steps.swapping.step_columns import (
    Columns,
    Strata,
    require_apart,
    require_columns,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Codes = NDArray[np.int64]


@parameters
class SwapSimilar(ColumnStep):
    """Exchange the values of records at risk with those of the records nearest to them in another
    column.

    Records are sorted by ``by``. The two that lie nearest to each other, of which at least one is
    at risk, exchange the values of ``columns`` as one; then the nearest two of the rest, and so on,
    as long as they lie within ``reach``. At risk are records that share their quasi-identifiers
    with fewer than ``k`` records in all; without ``k`` every record is. Each record exchanges once
    at most.

    What is kept: the frequencies of ``columns``, exactly; their relation to ``by``, nearly, since
    partners are similar in it. It is often shown as rank swapping, which exchanges the values of
    the sorted column itself (:class:`RankSwap`).

    Missing values stay where they are: a record that lacks ``by`` or one of ``columns`` takes no
    part. Distances are differences of numbers, days or times of their column, or places in a listed
    order; among equal records chance decides who is next to whom. Columns that are constant within
    persons or households are exchanged between these.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> from sfumato.core.randomness import Seed
    >>> people = Table(pl.DataFrame({"income": [100, 10000, 120], "ill": ["no", "no", "yes"]}))
    >>> step = SwapSimilar(["ill"], by="income")
    >>> step.apply(people, step.plan(people, Goal(seed=Seed(1)))).column("ill").to_list()
    ['yes', 'no', 'no']
    """

    columns: Annotated[Columns, Field(description="columns whose values are exchanged as one")]
    by: Annotated[
        str,
        COLUMNS,
        Field(description="column with numbers, dates or an order in which partners are similar"),
    ]
    k: Annotated[
        int | None,
        Field(ge=2, description="records in smaller classes are at risk; by default all are"),
    ] = None
    reach: Annotated[
        float | None, Field(ge=0, description="largest difference between partners")
    ] = None
    within: Strata = None

    name: ClassVar[str] = "swap_similar"
    secret: ClassVar[tuple[str, ...]] = ("k", "reach")

    def __post_init__(self) -> None:
        if self.by in self.columns:
            raise ParameterError(
                "SwapSimilar: by must be another column than those exchanged; use rank_swap to "
                "swap a sorted column"
            )
        require_apart(columns=self.columns, within=self.within or ())

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Pair the nearest records."""
        require_columns(dataset, self.columns, self.name)
        scores = scores_of(dataset, self.by)
        strata = strata_apart(dataset, self.within, self.columns)[0]
        codes, present = codes_of(dataset, self.columns)
        risky = self._at_risk(dataset)
        carriers = carriers_of(dataset, [self.by], codes, strata)
        # Who lacks a value has nothing to give, or no place to be near to.
        has_score = present & ~np.isnan(scores)
        movable = np.flatnonzero(has_score[carriers.rows])
        carrier_scores = scores[carriers.rows]
        carrier_strata = strata[carriers.rows]
        order, starts = sorted_within(
            carrier_scores, carrier_strata, movable, goal.stream("swap similar")
        )
        # Which carriers have a marked row
        at_risk = np.asarray(np.bincount(carriers.of, risky, len(carriers)) > 0, dtype=np.bool_)
        partner = self._pairs(starts, scores[carriers.rows][order], at_risk[order])
        sources = carriers.sources(order, partner)
        # At risk less those at risk who found a partner.
        paired = order[partner != np.arange(len(order))]
        alone = int(at_risk.sum()) - int(at_risk[paired].sum())
        columns = {name: dataset.column(name).gather(sources) for name in self.columns}
        is_changed = codes[sources] != codes
        return Masked(
            actions=dict.fromkeys(self.columns, "values swapped between similar records"),
            columns=columns,
            preserved=(
                values_kept(self.columns, partner, carriers.once),
                _relation(self, scores, sources),
            ),
            warnings=(
                (f"swap_similar: {alone:,} at risk found no partner and keep their values",)
                if alone
                else ()
            ),
            owner={
                "changed": int(is_changed.sum()),
                "at_risk": int(at_risk.sum()),
                "alone": alone,
            },
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Put the exchanged values in place."""
        return plan.applied(dataset)

    def _at_risk(self, dataset: Table) -> NDArray[np.bool_]:
        if self.k is None:
            return np.ones(len(dataset), dtype=np.bool_)
        if not dataset.schema.quasi:
            raise SchemaError(
                "swap_similar finds records at risk by the quasi-identifiers; no column has that"
                " role"
            )
        classes, rows = count_rows(dataset)
        return np.asarray(classes.sizes[rows] < self.k, dtype=np.bool_)

    def _pairs(
        self, starts: Codes, values: NDArray[np.float64], at_risk: NDArray[np.bool_]
    ) -> Codes:
        # Without a limit the nearest free record is always near enough.
        reach = math.inf if self.reach is None else self.reach
        pairs: Codes = kernels.swapping.pair_closest(starts, values, at_risk, reach)
        return pairs


def _relation(step: SwapSimilar, scores: NDArray[np.float64], sources: Codes) -> Preserved:
    """How far apart partners are in the column that guides: the mean difference in standard
    deviations.
    """
    swapped_rows = np.flatnonzero(sources != np.arange(len(sources)))
    spread = 0.0
    if (~np.isnan(scores)).any():
        spread = float(np.nanstd(scores))
    off = 0.0
    if len(swapped_rows) and spread:
        gaps = scores[sources[swapped_rows]] - scores[swapped_rows]
        off = float(np.abs(gaps).mean()) / spread
    return Preserved(f"relation to {step.by}", tuple(step.columns), False, off)
