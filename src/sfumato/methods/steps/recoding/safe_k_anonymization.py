"""Safe k-anonymization: a secret sample, fixed levels and no small classes are differentially
private together.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from sfumato import kernels
from sfumato.core.encoding import encode
from sfumato.core.fields import Document
from sfumato.core.hierarchy import ValueByValue, is_fixed
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.randomness import canonical_order
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.step import Account, Declaration, Effect, Goal, Masked, Step
from sfumato.errors import ParameterError, SchemaError, did_you_mean
from sfumato.methods.formulas.exact_draws import Draws
from sfumato.methods.steps.masking.masking_fields import require_table
from sfumato.methods.steps.privacy_claims import facts, warnings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.hierarchy import Hierarchy
    from sfumato.core.table import Table

    Codes = NDArray[np.int64]
    Rows = NDArray[np.int64]


# When sampling and k-anonymity together are differentially private.
#
# Keep each record with probability β, generalise it by a rule that does not depend on the data, and
# suppress every class with fewer than k records. For :math:`\varepsilon \ge -\ln(1 - \beta)` the
# result is (ε, δ)-private for adding or removing one record, with
#
# .. math::
#     \gamma = \frac{e^\varepsilon - 1 + \beta}{e^\varepsilon}, \qquad
#     \delta(k, \beta, \varepsilon) = \max_{n \ge \lceil k/\gamma - 1 \rceil} \; \sum_{j > \gamma
#     n}^{n} \binom{n}{j} \beta^j (1-\beta)^{n-j} .
#
# Reference: Li, Qardaji & Su 2012, doi:10.1145/2414456.2414474.

SAFETY = 1e-9
"""Relative margin on δ for rounding in the binomial tails."""
LEAST_DELTA = 1e-300
CHUNK = 4096


def usual_beta(epsilon: float) -> float:
    """The largest share that may be sampled for ε: 1 − e^−ε.

    >>> round(usual_beta(1), 5)
    0.63212
    """
    if not 0 < epsilon < math.inf:
        raise ParameterError("epsilon must be a number above 0")
    return -math.expm1(-epsilon)


def delta_of(k: int, beta: float, epsilon: float) -> float:
    r"""The δ of safe k-anonymization.

    The terms for growing n are
    below :math:`c_n = e^{-n(\gamma \ln(\gamma/\beta) - (\gamma - \beta))}`, which falls, so the
    search ends once the largest term found exceeds it. What floating-point tails may be off is
    added; ARX computes with intervals and uses k + 1 in the place of k, which is more careful than
    need be.

    >>> f"{delta_of(10, 0.1, 1):.3g}", f"{delta_of(20, 0.1, 1):.3g}"
    ('6.84e-08', '4.07e-14')
    """
    from scipy.stats import binom

    gamma = _gamma(k, beta, epsilon)
    fall = gamma * math.log(gamma / beta) - (gamma - beta)
    start = max(1, math.ceil(k / gamma - 1 - 1e-11))
    worst = 0.0
    # Terms by chunks of n; the bound on all later terms falls below the largest one in the end.
    while True:
        n = np.arange(start, start + CHUNK)
        tails = binom.sf(np.floor(gamma * n + 1e-11), n, beta)
        worst = max(worst, float(tails.max()))
        start += CHUNK
        bound = math.exp(-start * fall)
        if worst >= bound or bound < LEAST_DELTA:
            delta = max(worst, bound if bound < LEAST_DELTA else 0.0)
            return min(1.0, delta * (1 + SAFETY))


def needed_k(delta: float, beta: float, epsilon: float) -> int:
    """The smallest k whose δ is at most the given one; δ never rises with k.

    >>> [needed_k(d, usual_beta(1), 1) for d in (1e-4, 1e-5, 1e-6)]
    [47, 61, 74]
    """
    if not 0 < delta < 1:
        raise ParameterError(
            "delta must be between 0 and 1, and much less than one over the number of people"
        )
    # Double, then bisect: δ never rises with k.
    low, high = 1, 2
    while delta_of(high, beta, epsilon) > delta:
        low = high
        high = 2 * high
        if high > 1 << 24:
            raise ParameterError(
                "no possible k gives so small a delta; lower beta, or raise epsilon or delta"
            )
    while high - low > 1:
        middle = (low + high) // 2
        if delta_of(middle, beta, epsilon) <= delta:
            high = middle
        else:
            low = middle
    if delta_of(low, beta, epsilon) <= delta:
        return low
    return high


def _gamma(k: int, beta: float, epsilon: float) -> float:
    if k < 1:
        raise ParameterError("k must be at least 1")
    if not 0 < beta < 1:
        raise ParameterError("beta is the sampled share and must be above 0 and below 1")
    if beta > usual_beta(epsilon) * (1 + 1e-12):
        raise ParameterError(
            "beta is too large for epsilon: it may be at most 1 − e^−epsilon; sample less, or raise"
            " epsilon"
        )
    return (math.expm1(epsilon) + beta) * math.exp(-epsilon)


# Columns at levels that were chosen without looking at the data.


@dataclasses.dataclass(frozen=True, eq=False)
class FixedColumn:
    """One column at its level: a code for every row, what is released, and what the column is
    then.
    """

    codes: Codes
    values: pl.Series | None
    attribute: Attribute | None


def fixed_columns(
    dataset: Table, columns: Sequence[str], levels: Mapping[str, int], step: str
) -> dict[str, FixedColumn]:
    """Every column at the level that is said, level 0 where none is."""
    unknown = [name for name in levels if name not in columns]
    if unknown:
        raise SchemaError(
            [
                f"{step}: levels names a column {n!r} that does not "
                f"exist.{did_you_mean(n, columns)}"
                for n in unknown
            ]
        )
    return {name: _fix_column(dataset, name, levels.get(name, 0), step) for name in columns}


def _fix_column(dataset: Table, name: str, level: int, step: str) -> FixedColumn:
    encoded = dataset.encoded(name)
    if level == 0:
        return FixedColumn(encoded.codes, None, None)
    before = dataset.schema[name]
    if before.hierarchy is None:
        raise SchemaError(
            f"{step}: column {name!r} has level 0 only, but level {level} is asked for; choose 0"
        )
    if not is_fixed(before.hierarchy):
        raise SchemaError(
            f"{step}: the hierarchy of {name!r} is made from the values that occur, which reveals "
            "something about them; write it once with write_hierarchy and use the file, or give "
            "its limits"
        )
    labels = fixed_labels(before.hierarchy, encoded.labels, level, f"{step}: column {name!r}")
    values = pl.Series(name, labels, dtype=pl.String).gather(encoded.codes)
    ordered = before.kind in (Kind.NUMERIC, Kind.DATE, Kind.ORDINAL)
    after = dataclasses.replace(before, kind=Kind.ORDINAL if ordered else Kind.NOMINAL, order=None)
    return FixedColumn(encode(values).codes, values, after)


def fixed_labels(
    hierarchy: Hierarchy, values: Sequence[str | None], level: int, where: str
) -> list[str | None]:
    """The labels of values on a level, each by itself; a level that the hierarchy has not is
    refused by the hierarchy alone.
    """
    rules = ValueByValue(hierarchy, values)
    if rules.top is not None and level > rules.top:
        raise SchemaError(f"{where} has levels 0 to {rules.top}; level {level} is asked for")
    return [rules.label(value, level) for value in values]


@parameters
class SafeAnonymize(Step):
    r"""Sample records with probability β, generalise by fixed levels, drop classes with fewer than
    k: (ε, δ)-private.

    Classes are made of **all** columns that are released, sensitive ones too: every record that is
    released is equal to k − 1 others in everything. ``levels`` says the level of each column's
    hierarchy (0 where it is not said: as it is), chosen without looking at the data; a hierarchy
    that is made from the values that occur is refused. Every value is labelled by itself: a number
    in intervals with whole limits as ``20-29``, fractions too, and a value that the hierarchy does
    not know is missing below the top.

    Give ``delta``, and k is the smallest that keeps it, or give ``k``, and δ follows: see
    :mod:`sfumato.methods.steps.recoding.safe_k_anonymization`. ``beta`` is at most, and without a
    word exactly, :math:`1 - e^{-\varepsilon}`:

    ====  =======  ===================================
    ε     β        k for δ = 10⁻⁴ / 10⁻⁵ / 10⁻⁶
    ====  =======  ===================================
    0.1   0.09516  38 / 49 / 60
    0.5   0.39347  39 / 51 / 63
    1     0.63212  47 / 61 / 74
    1.5   0.77687  62 / 80 / 99
    2     0.86466  81 / 113 / 131
    ====  =======  ===================================

    Neighbours are tables that differ by one record more or less. So the number of records of the
    original must stay secret, and who was sampled. Where that number is public, as it is once
    suppressed records are counted in a certificate, what holds is :math:`(2\varepsilon, (1 +
    e^\varepsilon)\delta)` for replacing one record: one goes, another comes. The plan tells both.
    Coins come from the operating system (:mod:`sfumato.methods.formulas.exact_draws`). With a seed
    for rehearsals nothing is certified. Records are released in the order of their values. Each
    person must have one row. A table that is released empty is a valid answer: raise the levels.
    ARX takes k + 1 for k.

    Reference: Li, Qardaji & Su 2012, doi:10.1145/2414456.2414474; Bild, Kuhn & Prasser 2018,
    doi:10.1515/popets-2018-0004.

    >>> step = SafeAnonymize(1.0, delta=1e-5)
    >>> step.crowd, round(step.share, 5)
    (61, 0.63212)
    """

    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False, description="ε")]
    delta: Annotated[float | None, Field(gt=0, lt=1, description="δ; instead of k")] = None
    k: Annotated[
        int | None,
        Field(ge=2, description="least number of sampled records of a class; instead of δ"),
    ] = None
    beta: Annotated[
        float | None, Field(gt=0, lt=1, description="share that is sampled; None: 1 − e^−ε")
    ] = None
    levels: Annotated[
        dict[str, Annotated[int, Field(ge=0)]],
        COLUMNS,
        Field(description="level of each column, chosen without the data"),
    ] = Field(default_factory=dict)

    name: ClassVar[str] = "safe_k_anonymization"
    accounting: ClassVar[Declaration] = Declaration(Effect.ACCOUNTED, "(ε, δ) for all columns")
    replayable: ClassVar[bool] = False

    @property
    def coarsens(self) -> bool:
        """Cells stand under nodes of their own hierarchy."""
        return True

    def __post_init__(self) -> None:
        if (self.delta is None) == (self.k is None):
            raise ParameterError("SafeAnonymize: give either delta or k")
        _ = self.reached  # β too large for ε is refused here

    @property
    def share(self) -> float:
        """The share that is sampled."""
        if self.beta is None:
            return usual_beta(self.epsilon)
        return self.beta

    @property
    def crowd(self) -> int:
        """The least number of sampled records of a class."""
        if self.k is not None:
            return self.k
        return _needed_k(self.delta or 0.0, self.share, self.epsilon)

    @property
    def reached(self) -> float:
        """The δ that holds."""
        return _delta_of(self.crowd, self.share, self.epsilon)

    def account(self, schema: Schema) -> Account:
        """ε and δ for everything that is released."""
        factor = 1 + math.exp(min(self.epsilon, 700.0))
        reached_twice = min(1.0, factor * self.reached)
        twice = (2 * self.epsilon, reached_twice)
        return Account(
            Effect.ACCOUNTED,
            "",
            columns=None,
            epsilon=self.epsilon,
            delta=self.reached,
            neighbours="add_remove",
            replaced=twice,
        )

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Sample, generalise and suppress."""
        columns = self._columns(dataset)
        draws = Draws.of(goal, self.name)
        fixed = fixed_columns(dataset, columns, self.levels, self.name)
        rows = self._rows(dataset, fixed, draws)
        changed = {name: column for name, column in fixed.items() if column.values is not None}
        words = {name: f"generalised to the fixed level {self.levels[name]}" for name in changed}
        return Masked(
            actions=words,
            columns={
                name: column.values for name, column in changed.items() if column.values is not None
            },
            rows=rows,
            attributes={
                name: column.attribute
                for name, column in changed.items()
                if column.attribute is not None
            },
            warnings=(*warnings(draws, self.name), *_empty_columns(rows)),
            public=self._public_facts(draws, dataset.schema),
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Release what is left."""
        return plan.applied(dataset)

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table is, when ``schema`` says what the original is."""
        for name in (n for n, level in self.levels.items() if level and n in schema.attributes):
            schema = schema.replace(name, order=None)
        return schema

    def _columns(self, dataset: Table) -> list[str]:
        require_table(dataset, self.name, list(self.levels))
        if units := dataset.schema.units:
            raise SchemaError(
                f"{self.name}: {', '.join(units)} distinguishes every record, so none would "
                "remain; drop it first"
            )
        direct = dataset.schema.columns(Role.DROP)
        return [name for name in dataset.columns if name not in direct]

    def _rows(self, dataset: Table, fixed: dict[str, FixedColumn], draws: Draws) -> Rows:
        """Sampled rows of large classes, in the order of what they release."""
        # A canonical order first: the draws do not depend on the order of the rows.
        order = canonical_order(dataset)
        sampled = order[draws.kept(len(order), self.share)]
        if not len(sampled):
            return sampled
        codes = np.stack([column.codes[sampled] for column in fixed.values()], axis=1)
        # Classes of all released columns; small ones are dropped, which Theorem 5 of Li et al.
        # needs.
        ids, _ = kernels.keys.group(codes.astype(np.uint64))
        large = np.bincount(ids)[ids] >= self.crowd
        rows = sampled[large]
        codes = codes[large]
        if len(rows):
            return rows[np.lexsort(codes.T[::-1])]
        return rows

    def _public_facts(self, draws: Draws, schema: Schema) -> Document:
        claims = facts(
            draws,
            epsilon=self.epsilon,
            delta=self.reached,
            neighbours="add_remove: tables that differ by one record more or less",
            assumptions=[
                "levels, hierarchies and the choice of columns do not depend on the data",
                "the number of original records, and who was sampled, stay secret",
            ],
        )
        if claims["certified"]:
            twice = self.account(schema).replaced or (math.inf, 1.0)
            claims["where_the_number_of_records_is_public"] = {
                "epsilon": twice[0],
                "delta": twice[1],
                "neighbours": "replace: tables of the same size that differ in one record",
            }
        return claims | {"beta": self.share, "k": self.crowd, "levels_fixed": dict(self.levels)}


@functools.lru_cache(maxsize=256)
def _delta_of(k: int, beta: float, epsilon: float) -> float:
    return delta_of(k, beta, epsilon)


@functools.lru_cache(maxsize=256)
def _needed_k(delta: float, beta: float, epsilon: float) -> int:
    return needed_k(delta, beta, epsilon)


def _empty_columns(rows: Rows) -> tuple[str, ...]:
    if len(rows):
        return ()
    return (
        "safe_k_anonymization: no class is large enough, nothing is released; raise the levels",
    )
