"""Data swapping: values are exchanged between records that are equal in what must stay together
with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.parameters import parameters
from sfumato.core.step import ColumnStep, Goal, Masked, Preserved
from sfumato.methods.steps.swapping.carriers import Carriers, carriers_of
from sfumato.methods.steps.swapping.preserved_values import table_kept, values_kept
from sfumato.methods.steps.swapping.record_groups import (
    codes_of,
    combine_codes,
    paired_at_random,
    strata_apart,
)
from sfumato.methods.steps.swapping.step_columns import (
    Columns,
    Strata,
    Within,
    require_apart,
    require_columns,
)

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.table import Table

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
    rate: Annotated[
        float, Field(ge=0, le=1, description="share of the records that exchange values")
    ] = 0.1
    together: Annotated[bool, Field(description="exchange the columns as one")] = True
    within: Strata = None

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
        # Exchanged as one the columns keep their joint table; alone each has partners of its own.
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
                    f"swap_data: nothing of {' × '.join(names)} changed: too few records agree in "
                    "the preserved columns"
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
        self.names = tuple(names)
        self.keep = tuple(keep)
        self.codes, present = codes_of(dataset, names)
        self.fixed = [dataset.encoded(name).codes for name in keep]
        # Partners must agree in all that is kept, and in the stratum.
        self.cells = combine_codes([*self.fixed, strata])
        self.carriers: Carriers = carriers_of(dataset, [], self.codes, self.cells)
        self.movable = np.flatnonzero(present[self.carriers.rows])

    def sources(self, rate: float, stream: np.random.Generator) -> Codes:
        """Per row the row whose values it gets."""
        # Numbered without gaps among those who can move.
        cells = combine_codes([self.cells[self.carriers.rows][self.movable]])
        self.partner = paired_at_random(cells, rate, stream)
        return self.carriers.sources(self.movable, self.partner)

    def preserved(self, sources: Codes) -> list[Preserved]:
        """The frequencies of the columns, and their table with what is kept; counted once a
        carrier.
        """
        rows = self.carriers.rows
        once = self.carriers.once
        preserved_tables = [values_kept(self.names, self.partner, once)]
        if self.keep:
            fixed = [codes[rows] for codes in self.fixed]
            table_title = f"table of order {len(self.names) + len(self.keep)}{once}"
            before = [self.codes[rows], *fixed]
            after = [self.codes[sources][rows], *fixed]
            preserved_tables.append(
                table_kept(table_title, (*self.names, *self.keep), before, after)
            )
        return preserved_tables

    def changed(self, sources: Codes) -> int:
        """How many rows have other values now."""
        return int((self.codes[sources] != self.codes).sum())
