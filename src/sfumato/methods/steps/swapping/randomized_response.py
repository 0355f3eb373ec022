"""Randomised response by the channel of least distortion: an ε for confidential categories, given
everything else.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.encoding import label
from sfumato.core.mechanism import Mechanism
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.step import VALUES, Account, ColumnStep, Declaration, Effect, Goal, Masked
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.formulas.exact_draws import Draws
from sfumato.methods.formulas.optimal_channels import (
    LARGEST_EPSILON,
    MOST_VALUES,
    AnswerChannel,
    distortions,
    optimal_channel,
    whole_weights,
)
from sfumato.methods.steps.masking.masking_fields import Names, require_table
from sfumato.methods.steps.privacy_claims import facts, require_one_row_each, warnings
from sfumato.methods.steps.swapping.answer_matrices import Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Schema
    from sfumato.core.table import Table

    Codes = NDArray[np.int64]


@parameters
class RandomizedResponse(ColumnStep):
    r"""Release every category at random: the channel of least expected distortion under a local ε.

    With :math:`p_i` the ``prior`` of value *i* and :math:`d_{ij}` what it costs to release it as
    *j*, the matrix R solves

    .. math:: \min_R \sum_{ij} p_i R_{ij} d_{ij} \quad \text{with} \quad
        R_{ij} \le e^{\varepsilon} R_{i'j}, \quad \sum_j R_{ij} = 1

    a linear program; the plan tells the distortion, what no such matrix is below (by the dual), and
    the gap between. ``distance`` is ``equal`` (every other value costs 1) or ``ordered`` (places of
    the list between both, of all there are). The prior is public: written down without looking at
    the data, for each value of ``domain`` in its order; without a word all values are as probable.
    With ``estimate`` that share of ε is spent on it: counts with Laplace noise, which the plan does
    not tell. A prior computed from the data without noise has no ε, and is not taken. Where one
    value is very likely and ε small, the best channel releases that value for everybody.

    What is missing, or not in ``domain``, is first drawn by the prior and then randomised: an error
    or a gap would tell of a record. ``epsilon`` is that of all columns of a record together, in
    equal parts or as ``split`` says.

    Neighbours are tables that agree in everything but these columns of one record, as with
    ``laplace_noise``, and steps before it do not see the columns likewise. Draws are exact: whole
    numbers below 2⁴⁸ from the operating system against whole parts that keep
    :math:`R_{ij} \le e^\varepsilon R_{i'j}`. A variant of the literature bounds the mutual
    information of value and answer: that is an average over values, no bound for everybody, and not
    offered.

    References: Kairouz, Oh & Viswanath 2016, *Journal of Machine Learning Research* 17(17), 1–51;
    Domingo-Ferrer & Soria-Comas 2015, doi:10.1016/j.knosys.2014.11.011.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> table = Table(pl.DataFrame({"ill": ["flu", "cold", None]}))
    >>> step = RandomizedResponse(
    ...     ["ill"],
    ...     epsilon=2,
    ...     domain={"ill": ["flu", "cold", "ulcer"]},
    ...     prior={"ill": [0.6, 0.3, 0.1]},
    ... )
    >>> plan = step.plan(table, Goal())
    >>> plan.public["epsilon"], round(plan.public["expected_distortion"]["ill"], 4)
    (2.0, 0.2073)
    >>> plan.public["distortion_gap"]["ill"] < 1e-6
    True
    """

    columns: Annotated[Names, Field(description="columns with categories")]
    epsilon: Annotated[
        float, Field(gt=0, allow_inf_nan=False, description="ε of all columns of a record together")
    ]
    domain: Annotated[
        dict[str, Annotated[list[Value], Field(min_length=2, max_length=MOST_VALUES)]],
        COLUMNS,
        Field(description="all values by column, known without the data"),
    ]
    prior: Annotated[
        dict[str, list[Annotated[float, Field(ge=0, allow_inf_nan=False)]]],
        COLUMNS,
        Field(description="probability of each value of the domain, known without the data"),
    ] = Field(default_factory=dict)
    estimate: Annotated[
        float | None,
        Field(gt=0, lt=1, description="share of ε that is spent on noisy counts for the prior"),
    ] = None
    split: Annotated[
        dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] | None,
        COLUMNS,
        Field(description="share of ε by column, which sum to 1; by default all the same"),
    ] = None
    distance: Annotated[
        Literal["equal", "ordered"], Field(description="what it costs to release another value")
    ] = "equal"

    name: ClassVar[str] = "randomized_response"
    secret: ClassVar[tuple[str, ...]] = ("domain", "prior")
    accounting: ClassVar[Declaration] = Declaration(
        Effect.ACCOUNTED, "ε for its columns, given all other columns"
    )
    replayable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if set(self.domain) != set(self.columns):
            raise ParameterError(
                "RandomizedResponse: domain lists the values of each of the columns, and no others"
            )
        for values in self.domain.values():
            if len({label(value) for value in values}) < len(values):
                raise ParameterError("RandomizedResponse: domain names a value twice; keep one")
        for name, shares in self.prior.items():
            if len(shares) != len(self.domain.get(name, ())):
                raise ParameterError(
                    "RandomizedResponse: prior needs one probability for each value of the domain"
                )
            # 1e-9 forgives shares such as 1/3 that no text writes exactly.
            if abs(math.fsum(shares) - 1) > 1e-9:
                raise ParameterError("RandomizedResponse: the probabilities of prior must sum to 1")
        if self.prior and self.estimate is not None:
            raise ParameterError("RandomizedResponse: give prior, or estimate it, not both")
        if self.split is not None:
            if set(self.split) != set(self.columns):
                raise ParameterError(
                    "RandomizedResponse: split names each of the columns, and no others"
                )
            if abs(math.fsum(self.split.values()) - 1) > 1e-9:
                raise ParameterError("RandomizedResponse: the shares of split must sum to 1")
        if max(map(float, self._shares().values())) > LARGEST_EPSILON:
            raise ParameterError(
                f"RandomizedResponse: ε of a column may be at most {LARGEST_EPSILON:g}"
            )

    @property
    def mechanisms(self) -> dict[str, Mechanism]:
        """The columns with their ε; none where the prior, and with it the rule, comes from the
        data.
        """
        if self.estimate is not None:
            return {}
        return {
            name: Mechanism("randomized_response", epsilon=float(share))
            for name, share in self._shares().items()
        }

    def account(self, schema: Schema) -> Account:
        """ε for the values of one record in these columns."""
        return Account(Effect.ACCOUNTED, "", tuple(self.columns), self.epsilon, neighbours=VALUES)

    def channel(self, name: str, prior: list[float] | None = None) -> AnswerChannel:
        """The channel of a column, by the prior that is written down or another one."""
        size = len(self.domain[name])
        chances = prior or self.prior.get(name) or [1 / size] * size
        _, spent = self._parts(name)
        return optimal_channel(chances, _rounded_down(spent), distortions(size, self.distance))

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Draw what is released."""
        require_table(dataset, self.name, self.columns)
        numbers = [name for name in self.columns if dataset.dtype(name).is_numeric()]
        if numbers:
            raise SchemaError(
                f"{self.name}: {', '.join(numbers[:5])} holds numbers; give it kind nominal and "
                "have it read as text, or use laplace_noise"
            )
        require_one_row_each(dataset, self.name)
        draws = Draws.of(goal, self.name)
        columns, channels = {}, {}
        for name in self.columns:
            codes = self._codes(dataset, name)
            prior = self._estimated_prior(name, codes, draws)
            channel = self.channel(name, prior)
            size = len(self.domain[name])
            chances = prior or self.prior.get(name) or [1 / size] * size
            drawn = channel.draw(codes, whole_weights(chances), draws)
            labels = pl.Series(name, [label(value) for value in self.domain[name]])
            columns[name] = labels.gather(drawn)
            channels[name] = channel
        return Masked(
            actions=dict.fromkeys(self.columns, "released at random by the best channel"),
            columns=columns,
            warnings=warnings(draws, self.name),
            public=self._public_facts(draws, channels),
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Put the drawn values in place."""
        return plan.applied(dataset)

    def _codes(self, dataset: Table, name: str) -> Codes:
        """The place of every value in the domain; −1 for what is missing or not in it."""
        places = {label(value): i for i, value in enumerate(self.domain[name])}
        encoded = dataset.encoded(name)
        of_label = [-1 if text is None else places.get(text, -1) for text in encoded.labels]
        return np.array([*of_label, -1], dtype=np.int64)[encoded.codes]

    def _estimated_prior(self, name: str, codes: Codes, draws: Draws) -> list[float] | None:
        """Shares of the values by noisy counts; None: the prior is written down."""
        if self.estimate is None:
            return None
        size = len(self.domain[name])
        spent, _ = self._parts(name)
        # Another value of one record takes from one count and adds to another.
        noise = draws.laplace(Fraction(2) / spent, size)
        counts = np.bincount(codes[codes >= 0], minlength=size) + noise
        # Nothing is taken for impossible.
        shares = np.maximum(counts, 1).astype(np.float64)
        return [float(share) for share in shares / shares.sum()]

    def _shares(self) -> dict[str, Fraction]:
        total = Fraction(self.epsilon)
        if self.split is None:
            return dict.fromkeys(self.columns, total / len(self.columns))
        whole = sum((Fraction(share) for share in self.split.values()), Fraction(0))
        return {name: total * Fraction(self.split[name]) / whole for name in self.columns}

    def _parts(self, name: str) -> tuple[Fraction, Fraction]:
        """What of the ε of a column goes into the prior, and what into its answers."""
        share = self._shares()[name]
        if self.estimate is None:
            return Fraction(0), share
        for_prior = share * Fraction(self.estimate)
        return for_prior, share - for_prior

    def _public_facts(self, draws: Draws, channels: dict[str, AnswerChannel]) -> dict[str, Any]:
        source = "estimated with noise" if self.estimate is not None else "public"
        claim = facts(
            draws,
            epsilon=self.epsilon,
            delta=0.0,
            neighbours="values: tables that agree in everything but these columns of one record",
            assumptions=[
                "domain and prior were written without looking at the data",
                "all other columns, and the number of records, are taken as known",
            ],
        )
        # Of an estimated prior nothing is told: what it cost is about the answers alone.
        if self.estimate is None:
            claim |= {
                "expected_distortion": {n: c.distortion for n, c in channels.items()},
                "distortion_gap": {n: c.gap for n, c in channels.items()},
            }
        return claim | {
            "prior": source,
            "epsilon_by_column": {n: float(share) for n, share in self._shares().items()},
            "fixed_mechanism": sorted(self.mechanisms),
        }


def _rounded_down(value: Fraction) -> float:
    """The nearest float that is no larger."""
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, 0.0)
