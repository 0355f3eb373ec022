"""Insensitive microaggregation: means of groups that one person can hardly move, with noise that
hides the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.fields import Document
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.schema import Role, Schema, checked_bounds
from sfumato.core.step import Account, ColumnStep, Declaration, Effect, Goal, Masked
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.formulas.exact_draws import Draws
from sfumato.methods.steps.masking.block import require_numbers
from sfumato.methods.steps.masking.masking_fields import Names, require_table
from sfumato.methods.steps.microaggregation.group_values import without_hierarchies
from sfumato.methods.steps.microaggregation.noisy_means import (
    Scale,
    group_starts,
    individually,
    together,
)
from sfumato.methods.steps.privacy_claims import facts, require_one_row_each, warnings
from sfumato.methods.steps.step_fields import GroupSize

if TYPE_CHECKING:
    from sfumato.core.table import Table


LINKED = (
    "rows that keep their values show which group a record is in, and no noise hides that, so "
    "there is no ε"
)


@parameters
class InsensitiveMicroaggregate(ColumnStep):
    r"""Release columns of numbers as means of groups of k with Laplace noise: ε-differentially
    private.

    Values are cut off at public ``bounds`` [a, b], :math:`\Delta = b - a`, and every one of A
    columns has ε/A. What is missing or no number counts as the middle of the bounds.

    ``individual_ranking``: the values of one column are sorted and each k neighbours averaged (the
    last group takes the rest). Changing one record moves values along by one place, and what the
    groups lose and gain telescopes: all means together change by at most :math:`\Delta/k`. So each
    gets Laplace noise of scale :math:`A\Delta/(k\varepsilon)`, k times less than single values
    would.

    ``total_order``: whole records are sorted by their distance from the corner of all lower bounds,
    each k neighbours are a group, and all columns are averaged over it. Each of the n/k groups may
    change by one record, so the noise has scale
    :math:`(n/k) A\Delta/(k\varepsilon)`: what columns have to do with each other is kept, for much
    more noise. It needs k of the order √n or more, and must have all columns of the table.

    Which record is in which group depends on the data, and noise on means does not hide it. So rows
    do not keep their values: those of a column are dealt out at random (``individual_ranking``), or
    rows stand in the order of groups (``total_order``). ``linked`` keeps them in their rows, as is
    often done; **then there is no ε**, and the certificate says so.

    Values are rounded to 2²⁰ steps between the bounds, and noise is drawn as whole numbers from the
    operating system: see
    :mod:`sfumato.methods.formulas.exact_draws`. With a seed for rehearsals nothing is certified.
    Neighbours are tables of the same size n that differ in one record; n is public. Released values
    are cut off at the bounds again.

    References: Soria-Comas, Domingo-Ferrer, Sánchez & Martínez 2014, doi:10.1007/s00778-014-0351-4;
    Sánchez, Domingo-Ferrer, Martínez & Soria-Comas 2016, doi:10.1016/j.inffus.2015.11.002. Both
    link groups to records.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> table = Table(pl.DataFrame({"age": [20, 31, 42, 53, 64, 75]}))
    >>> plan = InsensitiveMicroaggregate(["age"], k=3, epsilon=1, bounds={"age": (0, 100)}).plan(
    ...     table, Goal()
    ... )
    >>> (
    ...     plan.public["epsilon"],
    ...     plan.public["certified"],
    ...     round(plan.public["noise_scale"]["age"], 3),
    ... )
    (1.0, True, 33.333)
    """

    columns: Annotated[Names, Field(description="columns of numbers")]
    k: GroupSize
    epsilon: Annotated[
        float, Field(gt=0, allow_inf_nan=False, description="ε of all columns together")
    ]
    bounds: Annotated[
        dict[str, tuple[float, float]] | None,
        COLUMNS,
        Field(
            description=(
                "lowest and highest value by column, known without the data; by default those of "
                "the schema"
            )
        ),
    ] = None
    method: Annotated[
        Literal["individual_ranking", "total_order"],
        Field(description="whether records or values are sorted into groups"),
    ] = "individual_ranking"
    linked: Annotated[bool, Field(description="keep values in their rows: no ε is certified")] = (
        False
    )

    name: ClassVar[str] = "insensitive_microaggregation"
    accounting: ClassVar[Declaration] = Declaration(
        Effect.ACCOUNTED, "ε for its columns, unless linked"
    )
    replayable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        unknown = [name for name in self.bounds or () if name not in self.columns]
        if unknown:
            raise ParameterError(
                f"InsensitiveMicroaggregate: bounds for {', '.join(unknown[:5])}, which is not in "
                "columns; add it or remove the bounds"
            )
        for column_bounds in (self.bounds or {}).values():
            checked_bounds(column_bounds)

    def numbers(self, schema: Schema) -> tuple[str, ...]:
        """All of its columns."""
        return tuple(self.columns)

    def account(self, schema: Schema) -> Account:
        """ε for the columns that are averaged; none where rows keep their values."""
        if self.linked:
            return Account(why=LINKED)
        return Account(Effect.ACCOUNTED, "", tuple(self.columns), self.epsilon)

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Average and add noise."""
        # The bounds of every column; without any it is refused, since the data must not say
        # them
        require_table(dataset, self.name, self.columns)
        attributes = dataset.schema.attributes
        declared = {name: attributes[name].bounds for name in self.columns if name in attributes}
        bounds = {}
        for name in self.columns:
            bounds[name] = (self.bounds or {}).get(name) or declared.get(name)
        unbounded = [name for name, column_bounds in bounds.items() if column_bounds is None]
        if unbounded:
            raise SchemaError(
                f"{self.name}: {', '.join(unbounded[:8])} needs bounds that are known without "
                "looking at the data; add bounds: {column: [lowest, highest]}"
            )
        scales = {}
        for name, column_bounds in bounds.items():
            if column_bounds is not None:
                scales[name] = Scale(*column_bounds)
        require_numbers(dataset, self.columns, goal, self.name)
        self._require(dataset)
        draws = Draws.of(goal, self.name)
        share = Fraction(self.epsilon) / len(self.columns)
        starts = group_starts(len(dataset), self.k)
        make = individually if self.method == "individual_ranking" else together
        released = make(dataset, scales, starts, share, draws, linked=self.linked)
        broken = LINKED if self.linked else None
        public = {
            **self._public_facts(draws, broken),
            "noise_scale": self._noise(scales, len(starts)),
        }
        return Masked(
            actions=dict.fromkeys(self.columns, f"averaged over groups of {self.k} with noise"),
            columns=released,
            attributes=without_hierarchies(dataset.schema, self.columns),
            warnings=warnings(draws, self.name, broken),
            public=public,
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Release the means."""
        return plan.applied(dataset)

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table is, when ``schema`` says what the original is: hierarchies do not
        know means.
        """
        return Schema({**schema.attributes, **without_hierarchies(schema, self.columns)})

    def _require(self, dataset: Table) -> None:
        if self.k > len(dataset):
            raise SchemaError(
                f"{self.name}: k = {self.k:,} is more than the {len(dataset):,} records of "
                f"{dataset.source.name}; lower k"
            )
        require_one_row_each(dataset, self.name)
        direct = dataset.schema.columns(Role.DROP)
        other_columns = []
        for name in dataset.columns:
            if name not in self.columns and name not in direct:
                other_columns.append(name)
        if self.method == "total_order" and other_columns and not self.linked:
            raise SchemaError(
                f"{self.name}: total_order releases whole records, so "
                f"{', '.join(other_columns[:8])} would stay beside means of other people. Include "
                "all columns, drop them, or use individual_ranking"
            )

    def _noise(self, scales: Mapping[str, Scale], groups: int) -> dict[str, float]:
        """The scale of the noise on a mean of k, in units of the column."""
        times = groups if self.method == "total_order" else 1
        unit_scale = len(self.columns) / (self.k * self.epsilon)
        return {name: times * scale.width * unit_scale for name, scale in scales.items()}

    def _public_facts(self, draws: Draws, broken: str | None) -> Document:
        own_facts = {"method": self.method, "k": self.k, "columns_share_epsilon": len(self.columns)}
        claim = facts(
            draws,
            epsilon=self.epsilon,
            delta=0.0,
            neighbours="replace: tables of the same size that differ in one record",
            assumptions=[
                "the bounds were chosen without looking at the data",
                "the number of records is public",
                (
                    "ε is about these columns; everything else that is released of a record "
                    "is not covered"
                ),
            ],
            broken=broken,
        )
        return claim | own_facts
