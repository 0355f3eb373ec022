"""Data swapping: values are exchanged between records that are equal in what must stay together
with them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.classes import count_rows
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.step import ColumnStep, Goal, Masked, Preserved
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.preserved_moments import table_kept, values_kept
from sfumato.methods.steps.swapping.carriers import (
    Carriers,
    Columns,
    Within,
    carriers_of,
    codes_of,
    combined,
    paired_at_random,
    require_apart,
    require_columns,
    scores_of,
    sorted_within,
    strata_apart,
)

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.table import Table

if TYPE_CHECKING:
    Codes = NDArray[np.int64]


@parameters
class SwapData(ColumnStep):
    r"""Exchange values between records that are equal in other columns, so that their joint tables
    stay exactly as they are.

    With t − 1 columns in ``keep``, every table of counts over ``columns`` and any of them, up to
    order t, is the same after as before: values are exchanged only between records that agree in
    all of ``keep`` (and in the stratum). A share ``rate`` of the records of each such cell is
    paired at random and exchanges; the number of pairs of a cell is rounded at random so that the
    rate is right on average. Pairs of equal values exchange without effect: the plan counts the
    records that really changed. Without ``keep`` only the frequencies of values are kept.

    ``together`` exchanges the columns as one, which keeps their joint table too; otherwise each is
    exchanged on its own. Missing values stay where they are: a record that lacks one of the columns
    exchanged together takes no part. In ``keep`` missing is a value like any other. Columns that
    are all constant within persons or households are exchanged between these.

    The paper looks for swaps that keep *all* tables of order t over all columns, which few records
    allow; here you name the tables.

    Reference: Dalenius & Reiss 1982, *Data-swapping: a technique for disclosure control*, Journal
    of Statistical Planning and Inference 6(1), 73–85, doi:10.1016/0378-3758(82)90058-1.

    >>> from sfumato import examples
    >>> from sfumato.core.randomness import Seed
    >>> step = SwapData(["diagnosis"], keep=["sex"], rate=0.5)
    >>> plan = step.plan(examples.hospital(rows=200), Goal(seed=Seed(1)))
    >>> print(plan.preserved[1])
    table of order 2 of diagnosis, sex: kept exactly, off by 0
    """

    columns: Annotated[Columns, Field(description="columns whose values are exchanged")]
    keep: Annotated[Within, Field(description="columns in which partners must be equal")] = ()
    rate: Annotated[float, Field(ge=0, le=1, description="share of the records that exchange")] = (
        0.1
    )
    together: Annotated[bool, Field(description="exchange the columns as one")] = True
    within: Annotated[
        Within | None,
        Field(description="columns that make strata; by default those with that role"),
    ] = None

    name: ClassVar[str] = "swap_data"
    secret: ClassVar[tuple[str, ...]] = ("rate",)

    def __post_init__(self) -> None:
        require_apart(columns=self.columns, keep=self.keep)
        require_apart(columns=self.columns, within=self.within or ())

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Pair the records of each cell at random."""
        require_columns(dataset, self.columns, self.name)
        dataset.require(self.keep)
        columns: dict[str, pl.Series] = {}
        preserved: list[Preserved] = []
        warnings, changed = [], {}
        for names in [tuple(self.columns)] if self.together else [(name,) for name in self.columns]:
            swap = _Swap(
                dataset, names, self.keep, strata_apart(dataset, self.within, self.columns)[0]
            )
            sources = swap.sources(self.rate, goal.stream(f"swap {' × '.join(names)}"))
            columns |= {name: dataset.column(name).gather(sources) for name in names}
            preserved += swap.preserved(sources)
            changed[" × ".join(names)] = swap.changed(sources)
            if not changed[" × ".join(names)] and self.rate:
                warnings.append(
                    f"swap_data: nothing of {' × '.join(names)} changed: too few records agree in"
                    " what is kept"
                )
        return Masked(
            actions=dict.fromkeys(
                self.columns, "values swapped between records that agree in other columns"
            ),
            columns=columns,
            preserved=tuple(preserved),
            warnings=tuple(warnings),
            owner={"changed": changed},
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Put the exchanged values in place."""
        return plan.applied(dataset)


class _Swap:
    """The exchange of some columns as one."""

    def __init__(
        self, dataset: Table, names: Sequence[str], keep: Sequence[str], strata: Codes
    ) -> None:
        self.names, self.keep = tuple(names), tuple(keep)
        self.codes, present = codes_of(dataset, names)
        self.fixed = [dataset.encoded(name).codes for name in keep]
        self.cells = combined([*self.fixed, strata])
        self.carriers: Carriers = carriers_of(dataset, [], self.codes, self.cells)
        self.movable = np.flatnonzero(present[self.carriers.rows])

    def sources(self, rate: float, stream: np.random.Generator) -> Codes:
        """Per row the row whose values it gets."""
        cells = combined([self.cells[self.carriers.rows][self.movable]])
        self.partner = paired_at_random(cells, rate, stream)
        return self.carriers.sources(self.movable, self.partner)

    def preserved(self, sources: Codes) -> list[Preserved]:
        """The frequencies of the columns, and their table with what is kept; counted once a
        carrier.
        """
        rows, once = self.carriers.rows, self.carriers.once
        preserved_tables = [values_kept(self.names, self.partner, once)]
        if self.keep:
            fixed = [codes[rows] for codes in self.fixed]
            table_title = f"table of order {len(self.names) + len(self.keep)}{once}"
            before, after = [self.codes[rows], *fixed], [self.codes[sources][rows], *fixed]
            preserved_tables.append(
                table_kept(table_title, (*self.names, *self.keep), before, after)
            )
        return preserved_tables

    def changed(self, sources: Codes) -> int:
        """How many rows have other values now."""
        return int((self.codes[sources] != self.codes).sum())


# Similarity-guided swapping: values are exchanged with the record nearest in another column.


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
    within: Annotated[
        Within | None,
        Field(description="columns that make strata; by default those with that role"),
    ] = None

    name: ClassVar[str] = "swap_similar"
    secret: ClassVar[tuple[str, ...]] = ("k", "reach")

    def __post_init__(self) -> None:
        if self.by in self.columns:
            raise ParameterError(
                "SwapSimilar: by is another column than those exchanged; rank_swap swaps a sorted"
                " column"
            )
        require_apart(columns=self.columns, within=self.within or ())

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Pair the nearest records."""
        require_columns(dataset, self.columns, self.name)
        scores, strata = (
            scores_of(dataset, self.by),
            strata_apart(dataset, self.within, self.columns)[0],
        )
        codes, present = codes_of(dataset, self.columns)
        risky = self._at_risk(dataset)
        carriers = carriers_of(dataset, [self.by], codes, strata)
        movable = np.flatnonzero((present & ~np.isnan(scores))[carriers.rows])
        order, starts = sorted_within(
            scores[carriers.rows], strata[carriers.rows], movable, goal.stream("swap similar")
        )
        at_risk = _any_row(risky, carriers)
        partner = self._pairs(starts, scores[carriers.rows][order], at_risk[order])
        sources = carriers.sources(order, partner)
        alone = int(at_risk.sum()) - int(at_risk[order[partner != np.arange(len(order))]].sum())
        return Masked(
            actions=dict.fromkeys(self.columns, "values swapped between similar records"),
            columns={name: dataset.column(name).gather(sources) for name in self.columns},
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
                "changed": int((codes[sources] != codes).sum()),
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
        reach = math.inf if self.reach is None else self.reach
        pairs: Codes = kernels.swapping.pair_closest(starts, values, at_risk, reach)
        return pairs


def _any_row(marked: NDArray[np.bool_], carriers: Carriers) -> NDArray[np.bool_]:
    """Which carriers have a marked row."""
    return np.asarray(np.bincount(carriers.of, marked, len(carriers)) > 0, dtype=np.bool_)


def _relation(step: SwapSimilar, scores: NDArray[np.float64], sources: Codes) -> Preserved:
    """How far apart partners are in the column that guides: the mean difference in standard
    deviations.
    """
    swapped_rows = np.flatnonzero(sources != np.arange(len(sources)))
    spread = float(np.nanstd(scores)) if (~np.isnan(scores)).any() else 0.0
    off = (
        float(np.abs(scores[sources[swapped_rows]] - scores[swapped_rows]).mean()) / spread
        if len(swapped_rows) and spread
        else 0.0
    )
    return Preserved(f"relation to {step.by}", tuple(step.columns), False, off)
