"""Laplace noise on numbers: an ε for what is confidential, given everything else."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.encoding import numbers_of
from sfumato.core.fields import Document
from sfumato.core.mechanism import Mechanism
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.schema import Schema, checked_bounds
from sfumato.core.step import VALUES, Account, ColumnStep, Declaration, Effect, Goal, Masked
from sfumato.errors import ParameterError
from sfumato.methods.formulas.exact_draws import Draws
from sfumato.methods.formulas.number_grids import NumberGrid
from sfumato.methods.steps.masking.block import require_numbers
from sfumato.methods.steps.masking.masking_fields import Names, require_table
from sfumato.methods.steps.privacy_claims import facts, require_one_row_each, warnings

if TYPE_CHECKING:
    from sfumato.core.schema import Attribute
    from sfumato.core.table import Table


@parameters
class LaplaceNoise(ColumnStep):
    r"""Add Laplace noise to every number: ε-differentially private for the values of one record,
    given everything else.

    A value is cut off at its public ``bounds`` [a, b] and moved to the nearest of the numbers
    :math:`a, a + u, a + 2u, \dots` (``unit`` u; without a word a 2²⁰-th of the bounds). Then a
    whole number of units is added, drawn with

    .. math:: \Pr[Z = z] = \frac{1 - q}{1 + q}\, q^{|z|}, \qquad
        q = e^{-\varepsilon_j / M}, \quad M = \lceil (b - a) / u \rceil

    so that whatever two values a record may have, the probability of every outcome differs by a
    factor of at most :math:`e^{\varepsilon_j}`. What is missing or no number counts as the middle
    of the bounds. ``epsilon`` is that of all columns of a record together:
    :math:`\varepsilon = \sum_j \varepsilon_j`, in equal parts or as ``split`` says. With
    ``cut_off`` released values are cut off at the bounds again; without, their mean is right.

    Neighbours are tables that agree in everything but these columns of one record: whoever knows
    all other columns, and all other records, learns little about these values. Nothing is promised
    about the other columns. So steps before this one that recode quasi-identifiers do not see the
    columns (they are empty to them): which classes are made says nothing about what is
    confidential.

    If every class of quasi-identifiers has :math:`n_{min}` of N records, classes are as close to
    the table as :math:`t = \alpha + (1 - \alpha) e^\varepsilon`, :math:`\alpha = n_{min}/N`
    (``stochastic_t_closeness`` with the mechanism ``private``).

    Noise comes from the operating system as whole numbers (floating-point noise betrays in its last
    bits what it hides); with a seed for rehearsals nothing is certified.

    References: Dwork, McSherry, Nissim & Smith 2006, doi:10.1007/11681878_14; Ghosh, Roughgarden &
    Sundararajan 2012, doi:10.1137/09076828X; Domingo-Ferrer & Soria-Comas 2015,
    doi:10.1016/j.knosys.2014.11.011.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> table = Table(pl.DataFrame({"age": [20, 31, 42], "pay": [1, 2, 3]}))
    >>> step = LaplaceNoise(
    ...     ["age", "pay"],
    ...     epsilon=2,
    ...     bounds={"age": (0, 100), "pay": (0, 10)},
    ...     split={"age": 0.25, "pay": 0.75},
    ... )
    >>> plan = step.plan(table, Goal())
    >>> plan.public["epsilon"], plan.public["epsilon_by_column"]
    (2.0, {'age': 0.5, 'pay': 1.5})
    >>> {name: round(scale, 3) for name, scale in plan.public["noise_scale"].items()}
    {'age': 200.0, 'pay': 6.667}
    """

    columns: Annotated[Names, Field(description="columns of numbers")]
    epsilon: Annotated[
        float, Field(gt=0, allow_inf_nan=False, description="ε of all columns of a record together")
    ]
    bounds: Annotated[
        dict[str, tuple[float, float]],
        COLUMNS,
        Field(description="lowest and highest value by column, known without the data"),
    ]
    split: Annotated[
        dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] | None,
        COLUMNS,
        Field(description="share of ε by column, which sum to 1; by default all the same"),
    ] = None
    unit: Annotated[
        dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]],
        COLUMNS,
        Field(
            description=(
                "how far released values lie apart by column, such as 1 for whole numbers; by "
                "default a 2²⁰-th of the bounds"
            )
        ),
    ] = Field(default_factory=dict)
    cut_off: Annotated[bool, Field(description="cut released values off at the bounds")] = False

    name: ClassVar[str] = "laplace_noise"
    accounting: ClassVar[Declaration] = Declaration(
        Effect.ACCOUNTED, "ε for its columns, given all other columns"
    )
    replayable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for field, by_column in (("bounds", self.bounds), ("unit", self.unit)):
            unknown = [name for name in by_column if name not in self.columns]
            if unknown:
                raise ParameterError(
                    f"LaplaceNoise: {field} for {', '.join(unknown[:5])}, which is not in columns; "
                    f"add it to columns or remove it from {field}"
                )
        without = [name for name in self.columns if name not in self.bounds]
        if without:
            raise ParameterError(
                f"LaplaceNoise: {', '.join(without[:5])} needs bounds that are known without "
                "looking at the data; add bounds: {column: [lowest, highest]}"
            )
        for column_bounds in self.bounds.values():
            checked_bounds(column_bounds)
        if self.split is not None:
            if set(self.split) != set(self.columns):
                raise ParameterError("LaplaceNoise: split names each of the columns, and no others")
            # 1e-9 forgives shares such as 1/3 that no text writes exactly.
            if abs(sum(self.split.values()) - 1) > 1e-9:
                raise ParameterError("LaplaceNoise: the shares of split must sum to 1")
        _ = self.grids  # a unit that does not fit the bounds is refused here

    @property
    def grids(self) -> dict[str, NumberGrid]:
        """The numbers of every column that values are moved to."""
        return {name: NumberGrid(*self.bounds[name], self.unit.get(name)) for name in self.columns}

    @property
    def epsilons(self) -> dict[str, float]:
        """ε by column; their sum is never more than ``epsilon``."""
        return {name: float(share) for name, share in self._shares().items()}

    @property
    def mechanisms(self) -> dict[str, Mechanism]:
        """Every column by the noise that its ε, bounds and unit say."""
        return {
            name: Mechanism(
                "laplace_noise", epsilon=epsilon, bounds=self.bounds[name], unit=self.unit.get(name)
            )
            for name, epsilon in self.epsilons.items()
        }

    def numbers(self, schema: Schema) -> tuple[str, ...]:
        """All of its columns."""
        return tuple(self.columns)

    def account(self, schema: Schema) -> Account:
        """ε for the values of one record in these columns."""
        return Account(Effect.ACCOUNTED, "", tuple(self.columns), self.epsilon, neighbours=VALUES)

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Draw the noise, and add it."""
        require_table(dataset, self.name, self.columns)
        require_numbers(dataset, self.columns, goal, self.name)
        require_one_row_each(dataset, self.name)
        draws = Draws.of(goal, self.name)
        shares = self._shares()
        columns = {}
        for name, grid in self.grids.items():
            # Drawn before the data are touched: how long it takes says nothing about them.
            noise = draws.laplace(Fraction(grid.steps) / shares[name], len(dataset))
            positions = grid.positions(numbers_of(dataset, name)) + noise
            if self.cut_off:
                positions = np.clip(positions, 0, grid.steps)
            columns[name] = pl.Series(name, grid.values(positions))
        return Masked(
            actions=dict.fromkeys(self.columns, "Laplace noise added"),
            columns=columns,
            attributes=self._attributes(dataset.schema),
            warnings=warnings(draws, self.name),
            public=self._public_facts(draws),
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Put the noisy numbers in place."""
        return plan.applied(dataset)

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table is, when ``schema`` says what the original is: noisy values leave
        hierarchies and bounds.
        """
        return Schema({**schema.attributes, **self._attributes(schema)})

    def _shares(self) -> dict[str, Fraction]:
        total = Fraction(self.epsilon)
        if self.split is None:
            return dict.fromkeys(self.columns, total / len(self.columns))
        whole = sum((Fraction(share) for share in self.split.values()), Fraction(0))
        return {name: total * Fraction(self.split[name]) / whole for name in self.columns}

    def _attributes(self, schema: Schema) -> dict[str, Attribute]:
        attributes = {}
        for name in self.columns:
            attribute = schema.attributes.get(name)
            if attribute is None or (attribute.hierarchy is None and attribute.bounds is None):
                continue
            attributes[name] = dataclasses.replace(attribute, hierarchy=None, bounds=None)
        return attributes

    def _public_facts(self, draws: Draws) -> Document:
        claim = facts(
            draws,
            epsilon=self.epsilon,
            delta=0.0,
            neighbours=("values: tables that agree in everything but these columns of one record"),
            assumptions=[
                "the bounds and units were chosen without looking at the data",
                "all other columns, and the number of records, are taken as known",
            ],
        )
        scales = {}
        for name, epsilon in self.epsilons.items():
            grid = self.grids[name]
            scales[name] = grid.steps * grid.width / epsilon
        return claim | {
            "epsilon_by_column": self.epsilons,
            "noise_scale": scales,
            "cut_off": self.cut_off,
            "fixed_mechanism": sorted(self.columns),
        }
