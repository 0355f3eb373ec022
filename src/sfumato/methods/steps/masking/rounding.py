"""Rounding: numbers become multiples of a base."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.parameters import parameters
from sfumato.core.randomness import Marks, canonical_order
from sfumato.core.schema import Schema
from sfumato.core.step import (
    Account,
    ColumnStep,
    Declaration,
    Effect,
    Goal,
    Masked,
    Preserved,
    Span,
)
from sfumato.methods.steps.masking.block import (
    Block,
    block_of,
    column_like,
    require_numbers,
)
from sfumato.methods.steps.masking.masking_fields import Names, Strata, require_table
from sfumato.methods.steps.masking.preserved_moments import KeptNumbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Array = NDArray[np.float64]


@parameters
class Round(ColumnStep):
    r"""Round numbers to multiples of a base *b*.

    With :math:`x = (i + f)\,b`, *i* whole and :math:`0 \le f < 1`:

    ``deterministic``: the nearest multiple, the upper one for :math:`f = 1/2`. ``random``: the
    upper neighbour with probability *f*, so that the expected value is *x*; rows of one person
    (household) with one value get one draw. ``controlled``: each value goes to one of its two
    neighbours, with the same probabilities, and so that totals go to one of their own neighbours:
    those of every column and, where several columns are named, those of every row (the sum of its
    named columns) and of all together, in every stratum. Values and totals that are multiples
    already stay. Name columns together only if they add up to something. Totals are plain sums,
    without weights.

    Controlled rounding follows Cox: a row and a column are added that make all totals multiples,
    and cells are moved up and down along circles of cells until each is a multiple, at random so
    that expected values stay. The work grows with rows × columns³, not with a linear programme.

    No value moves by *b* or more (half of *b*: deterministic). Missing values stay missing.
    Rounding small counts of a table that is published with its totals calls for ``controlled``;
    deterministic rounding can be undone from exact totals.

    Reference: Cox 1987, *A constructive procedure for unbiased controlled rounding*,
    doi:10.1080/01621459.1987.10478456.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> from sfumato.core.randomness import Seed
    >>> from sfumato.core.step import Account, Declaration, Effect, Goal
    >>> table = Table(pl.DataFrame({"men": [1, 3, 11], "women": [4, 2, 9]}))
    >>> plan = Round(["men", "women"], 5, method="controlled").plan(table, Goal(seed=Seed(1)))
    >>> plan.columns["men"].sum(), plan.columns["women"].sum()
    (15, 15)
    """

    columns: Annotated[Names, Field(description="columns that are rounded")]
    base: Annotated[
        float, Field(gt=0, allow_inf_nan=False, description="the base of the multiples")
    ]
    method: Annotated[
        Literal["deterministic", "random", "controlled"],
        Field(description="which neighbour a value becomes"),
    ] = "deterministic"
    within: Strata = None

    name: ClassVar[str] = "round"
    accounting: ClassVar[Declaration] = Declaration(
        Effect.DATA_INDEPENDENT, "with method deterministic"
    )

    @property
    def coarsens(self) -> bool:
        """The nearest multiple stands for all values about it; random rounding puts another in its
        place.
        """
        return self.method == "deterministic"

    @property
    def span(self) -> Span:
        """Number by number, unless totals are controlled."""
        spans = {"deterministic": Span.CELLS, "random": Span.RECORDS, "controlled": Span.TABLE}
        return spans[self.method]

    def numbers(self, schema: Schema) -> tuple[str, ...]:
        """All of its columns."""
        return tuple(self.columns)

    def account(self, schema: Schema) -> Account:
        """A rule for every value by itself, unless totals or coins are shared between records."""
        if self.method != "deterministic":
            return Account(why=f"method {self.method} draws for records together")
        return Account(Effect.DATA_INDEPENDENT)

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Round the columns."""
        require_table(dataset, self.name, [*self.columns, *(self.within or ())])
        require_numbers(dataset, self.columns, goal, self.name)
        if self.method == "controlled":
            order = canonical_order(dataset)
        else:
            order = Marks.of(dataset).order
        block = block_of(dataset, self.columns, self.within, order=order)
        below, fractions = _split_multiples(block.values, self.base)
        up = self._up(block, fractions, goal)
        rounded_values = _multiples(below + up, self.base)
        changed = np.abs(rounded_values - block.values) > 1e-9 * self.base
        unchanged = []
        for n, is_changed in zip(self.columns, changed.T, strict=True):
            if not is_changed.any():
                unchanged.append(n)
        columns = {}
        for j, n in enumerate(self.columns):
            columns[n] = column_like(n, block.back(rounded_values[:, j]), dataset.column(n))
        return Masked(
            actions=dict.fromkeys(
                self.columns, f"rounded to multiples of {self.base:g} ({self.method})"
            ),
            columns=columns,
            preserved=self._preserved(block, rounded_values),
            warnings=tuple(
                f"column {n!r} already has multiples of the base only; rounding changed nothing"
                for n in unchanged
            ),
            public={"base": self.base, "method": self.method},
            owner={"cells_changed": int(changed.sum())},
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Release the rounded columns."""
        return plan.applied(dataset)

    def _up(self, block: Block, fractions: Array, goal: Goal) -> Array:
        """1 where a value goes to its upper neighbour, otherwise 0."""
        if self.method == "deterministic":
            return (fractions >= 0.5).astype(np.float64)
        if self.method == "random":
            return np.stack(
                [_draw_up(block, j, fractions[:, j], goal) for j in range(len(self.columns))],
                axis=1,
            )
        steps_up = np.zeros_like(fractions)
        stream = goal.stream("controlled rounding")
        for rows in block.parts():
            steps_up[rows] = controlled_ups(fractions[rows], stream)
        return steps_up

    def _preserved(self, block: Block, rounded_values: Array) -> tuple[Preserved, ...]:
        preserved_numbers = KeptNumbers(block, rounded_values)
        if self.method == "deterministic":
            return preserved_numbers.exact("order"), preserved_numbers.means()
        if self.method == "random":
            return preserved_numbers.means(), preserved_numbers.sums()
        totals = []
        for rows in block.parts():
            changes = rounded_values[rows] - block.values[rows]
            errors = np.abs(np.nansum(changes, axis=0))
            totals.append(errors.max())
        words = f"totals, to the next multiple of {self.base:g},"
        preserved_totals = Preserved(
            words, block.names, bool(max(totals) < self.base), float(max(totals) / self.base)
        )
        return (preserved_totals, preserved_numbers.means())


def _split_multiples(values: Array, base: float) -> tuple[Array, Array]:
    """Per value the multiple below and the fraction up to the next; what is a multiple but for
    rounding errors is one.
    """
    scaled = values / base
    whole = np.rint(scaled)
    tolerance = 1e-9 * np.maximum(1.0, np.abs(whole))
    is_whole = np.abs(scaled - whole) <= tolerance
    scaled = np.where(is_whole, whole, scaled)
    below = np.floor(scaled)
    return below, np.nan_to_num(scaled - below)


def _multiples(counts: Array, base: float) -> Array:
    """So many times the base; a base like 0.1 is divided by ten, which is exact where a product is
    not.
    """
    inverse = round(1 / base)
    if inverse and abs(inverse * base - 1) < 1e-12:
        return counts / inverse
    return counts * base


def _draw_up(block: Block, column_number: int, fractions: Array, goal: Goal) -> Array:
    draws = goal.keyed(f"round {block.names[column_number]}").uniforms(block.marks[column_number])
    return (draws < fractions).astype(np.float64)


def controlled_ups(fractions: Array, stream: np.random.Generator) -> Array:
    """Which fractions of a table go up, so that sums of rows, of columns and of all go to a whole
    neighbour.

    >>> import numpy as np
    >>> ups = controlled_ups(np.full((4, 2), 0.5), np.random.default_rng(1))
    >>> ups.sum(axis=0).tolist(), ups.sum(axis=1).tolist()
    ([2.0, 2.0], [1.0, 1.0, 1.0, 1.0])
    """
    table = np.zeros((fractions.shape[0] + 1, fractions.shape[1] + 1))
    table[:-1, :-1] = fractions
    table[:-1, -1] = _missing_to_whole(fractions.sum(axis=1))
    table[-1] = _missing_to_whole(table[:-1].sum(axis=0))
    result = np.zeros_like(table)
    kernels.rounding.round_table(table, stream.random(table.size), result)
    return result[:-1, :-1]


def _missing_to_whole(sums: Array) -> Array:
    shortfall = np.ceil(sums) - sums
    return np.where(shortfall > 1 - 1e-9, 0.0, shortfall)
