"""Swapping with a second table: values are taken from its most similar records."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.encoding import encode
from sfumato.core.parameters import parameters
from sfumato.core.randomness import canonical_order
from sfumato.core.step import ColumnStep, Goal, Masked, Preserved
from sfumato.core.table import Table
from sfumato.errors import SchemaError
from sfumato.methods.steps.swapping.carriers import carriers_of
from sfumato.methods.steps.swapping.nearest_donors import (
    as_ours,
    described_alike,
    is_ordered,
    nearest_donors,
    space_of,
)
from sfumato.methods.steps.swapping.ordered_scores import scores_of
from sfumato.methods.steps.swapping.preserved_values import table_shift
from sfumato.methods.steps.swapping.rank_partners import share_of
from sfumato.methods.steps.swapping.record_groups import codes_of, combine_codes
from sfumato.methods.steps.swapping.step_columns import Columns, require_apart, require_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int64]

RELEASED = (
    "swap_across: the release contains values of the second table; its people must be protected "
    "and agree, or be synthetic"
)


@parameters
class SwapAcross(ColumnStep):
    """Replace values by those of the most similar records of a second table, real or synthetic.

    The second table is the one given as ``population``
    (``sf.AnonymizeOptions(population=sf.read("other.csv"))``); it has the columns of ``columns``
    and ``match``. A share ``rate`` of our records is chosen at random; each gets all of ``columns``
    from the record nearest in ``match``: Euclidean distance of numbers, dates and listed orders,
    each in standard deviations of our table, among records that are equal in all other columns of
    ``match``. ``reach`` is the largest distance; ``once`` gives every donor to one record only, in
    random order of our records; among equally near donors chance decides. What we give in exchange
    goes nowhere: the second table is not released.

    Nothing is kept exactly. How far each distribution moved is measured: the largest difference of
    cumulative shares (Kolmogorov–Smirnov) where values have an order, else half the sum of the
    differences of shares. Missing values stay missing; donors lack nothing; records that lack a
    number in ``match`` find no donor and stay as they are. Where ``columns`` and ``match`` are
    constant within persons or households, these take the place of records.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> from sfumato.core.randomness import Seed
    >>> ours = Table(pl.DataFrame({"age": [20, 70], "cost": [100, 900]}))
    >>> theirs = Table(pl.DataFrame({"age": [71, 22, 40], "cost": [850, 120, 300]}))
    >>> step = SwapAcross(["cost"], match=["age"])
    >>> step.apply(ours, step.plan(ours, Goal(seed=Seed(1), population=theirs))).column(
    ...     "cost"
    ... ).to_list()
    [120, 850]
    """

    columns: Annotated[
        Columns,
        Field(description="columns whose values are taken from one record of the second table"),
    ]
    match: Annotated[
        Columns, Field(description="columns in which records of the two tables are similar")
    ]
    rate: Annotated[
        float, Field(ge=0, le=1, description="share of the records that get other values")
    ] = 1.0
    reach: Annotated[
        float | None, Field(ge=0, description="largest distance, in standard deviations")
    ] = None
    once: Annotated[
        bool, Field(description="use every record of the second table at most once")
    ] = True

    name: ClassVar[str] = "swap_across"
    secret: ClassVar[tuple[str, ...]] = ("rate",)

    def __post_init__(self) -> None:
        require_apart(columns=self.columns, match=self.match)

    @property
    def second_source(self) -> str:
        """The table that values are taken from."""
        return "a second table, whose values it releases"

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Find the nearest record of the second table for each record that was chosen."""
        require_columns(dataset, self.columns, self.name)
        dataset.require(self.match)
        if goal.population is None:
            raise SchemaError(
                "swap_across takes values from a second table, but there is none; give one with"
                " population="
            )
        second = described_alike(goal.population, dataset, [*self.columns, *self.match])
        donor, is_seeker = self._donors(dataset, second, goal)
        alone = int((is_seeker & (donor < 0)).sum())
        columns = {name: _take_values(name, dataset, second, donor) for name in self.columns}
        after = dataset.with_columns(columns)
        warnings = [RELEASED]
        if alone:
            warnings.append(
                f"swap_across: {alone:,} record(s) found no donor and keep their values"
            )
        action = "replaced by values of similar records of a second table"
        is_replaced = donor >= 0
        return Masked(
            actions=dict.fromkeys(self.columns, action),
            columns=columns,
            preserved=tuple(_shift(dataset, after, name) for name in self.columns),
            warnings=tuple(warnings),
            owner={"replaced": int(is_replaced.sum()), "without_donor": alone},
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Put the taken values in place."""
        return plan.applied(dataset)

    def _donors(self, dataset: Table, second: Table, goal: Goal) -> tuple[Codes, NDArray[np.bool_]]:
        """Per row the row of the second table that gives its values (−1: none), and which rows were
        chosen.
        """
        # Only who knows all columns can give their values as they stand together.
        donors = np.flatnonzero(codes_of(second, self.columns)[1])
        if not len(donors):
            raise SchemaError(
                f"the second table, {second.source.name}, has no record with values in all columns "
                "to be used; give another table"
            )
        # Donors in an order that does not depend on that of the file.
        order = canonical_order(second)
        donors = order[np.isin(order, donors)]
        carriers = carriers_of(dataset, [*self.columns, *self.match])
        stream = goal.stream("swap across")
        # Those who seek are redrawn, in random order: the first ones have the widest choice.
        seekers = stream.permutation(len(carriers))[: share_of(self.rate, len(carriers))]
        space = space_of(dataset, second, self.match)
        reach = math.inf if self.reach is None else self.reach
        nearest = nearest_donors(
            space, carriers.rows[seekers], donors, reach=reach, once=self.once, stream=stream
        )
        donor = np.full(len(carriers), -1, dtype=np.int64)
        donor[seekers] = nearest
        marked = np.zeros(len(carriers), dtype=np.bool_)
        marked[seekers] = True
        # From persons or households back to their rows.
        return donor[carriers.of], marked[carriers.of]


def _take_values(name: str, dataset: Table, second: Table, donor: Codes) -> pl.Series:
    """A column in which rows with a donor have its value; missing stays missing."""
    first, donor_values = as_ours(name, dataset.column(name), second.column(name))
    if not first.dtype.is_float():
        missing = first.is_null()
    else:
        missing = first.is_null() | first.is_nan().fill_null(value=True)
    from_donor = (donor >= 0) & ~missing.to_numpy()
    # Donors' values stand behind our own, so that one look-up serves both.
    sources = np.where(from_donor, len(first) + donor, np.arange(len(first)))
    column = pl.concat([first, donor_values]).gather(sources)
    if column.dtype.is_float():
        return column.fill_nan(None)
    return column


def _shift(before: Table, after: Table, name: str) -> Preserved:
    """How far the distribution of a column moved."""
    if is_ordered(before, name):
        off = _steps(before, after, name)
    else:
        off = _shares(before, after, name)
    return Preserved("distribution", (name,), False, off)


def _steps(before: Table, after: Table, name: str) -> float:
    """The largest difference between two cumulative distributions."""
    old_scores = scores_of(before, name)
    new_scores = scores_of(after, name)
    old = np.sort(old_scores[~np.isnan(old_scores)])
    new = np.sort(new_scores[~np.isnan(new_scores)])
    if not len(old) or not len(new):
        return 0.0
    # Both step functions change only at values that occur: the largest gap is at one of them.
    at = np.concatenate([old, new])
    share_before = np.searchsorted(old, at, side="right") / len(old)
    share_after = np.searchsorted(new, at, side="right") / len(new)
    return float(np.abs(share_before - share_after).max())


def _shares(before: Table, after: Table, name: str) -> float:
    """Half the sum of the differences of shares."""
    # Under one list of texts, so that a value has one code before and after.
    texts_before = before.column(name).cast(pl.String)
    texts_after = after.column(name).cast(pl.String)
    texts = pl.concat([texts_before, texts_after])
    codes = combine_codes([encode(texts).codes])
    return table_shift([codes[: len(before)]], [codes[len(before) :]])
