"""Noise: numbers moved at random by amounts whose distribution is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.encoding import numbers_of
from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.core.randomness import Marks
from sfumato.core.step import Clue, ColumnStep, Goal, Learner, Masked, NoiseAdded, Preserved, Span
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.masking.block import Block, block_of, column_like, computable
from sfumato.methods.steps.masking.category_ranks import is_category, numbers_or_ranks, values_at
from sfumato.methods.steps.masking.exact_moments import CovarianceLearner, MeansLearner, Moments
from sfumato.methods.steps.masking.masking_fields import (
    Names,
    Strata,
    require_only_with,
    require_table,
)
from sfumato.methods.steps.masking.normal_noise import BlockNoise, standard_normals
from sfumato.methods.steps.masking.preserved_moments import KeptNumbers
from sfumato.methods.steps.masking.settling import Settling
from sfumato.methods.steps.masking.sullivan import Sullivan
from sfumato.methods.steps.masking.weighted_moments import correlation_of, varies

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Array = NDArray[np.float64]

Method = Literal["uncorrelated", "correlated", "kim", "sullivan", "multiplicative", "outliers"]
TITLES = {"kim": "Kim", "sullivan": "Sullivan", "outliers": "outliers only"}
LITTLE = 0.01
CLOSE = 0.9
ATTACK = (
    "anyone who knows alpha can link by likelihood (Mahalanobis distance with the "
    "covariance of the noise)"
)


@parameters
class AddNoise(ColumnStep):
    r"""Add random noise to numbers.

    ``alpha`` is the variance of the noise as a share of the variance of the column. With *S* the
    covariance of the columns (weighted; pairs that are known) of *n* records and their means
    :math:`\bar x`:

    ==============  =======================================  =======================================
    method          released                                 kept
    ==============  =======================================  =======================================
    uncorrelated    x + e, independent :math:`e_j \sim N(0,  means, covariances; variances ×(1+α),
                    \alpha S_{jj})`                          correlations /(1+α)
    correlated      x + e, :math:`e \sim N(0, \alpha S)`     means, correlations; covariance ×(1+α)
    kim             :math:`d_1(x + e) + (1-d_1)\bar x`,      means exactly, covariance
                    :math:`d_1 =
                    \sqrt{(n-1)/(n(1+\alpha)-1)}`
    sullivan        noise as Kim's on normal scores, mapped  distribution functions, correlations
                    back
    multiplicative  :math:`x\,e^{e - s^2/2}`, :math:`s^2 =   means, signs and zeros exactly
                    \ln(1+\alpha)`
    outliers        as correlated, but only records that     all other records exactly
                    lie far out
    ==============  =======================================  =======================================

    What is kept is kept in expectation unless it says exactly; the plan measures how far it is.
    Kim's noise is centred here, so that means stay exactly and not only in expectation; the
    expected covariance is :math:`1 - \alpha/(n(1+\alpha)-1)` times the original one. Means of
    groups that are no strata move towards the common mean. The factor of multiplicative noise has
    mean 1 and variance α.

    Sullivan: each column is turned into standard normal scores by its smoothed distribution
    function (ties in random order), gets Kim's noise there, and goes back: numbers by interpolation
    between the records, categories (text, or a column whose schema lists an order) to the value at
    that place. The correlations of the noise are then changed until those of the released scores
    are the original ones within :math:`1/(2\sqrt n)`, for at most ten rounds; and records that are
    as near to themselves as a share ``redraw`` would be by chance (squared Mahalanobis distance
    below that quantile of :math:`\chi^2`) are redrawn first. Nominal values are taken in
    alphabetical order: their correlations mean little. Sullivan changes the correlation of the
    noise pair by pair; here it is changed for all pairs at once and kept semidefinite.

    Outliers are the records whose robust Mahalanobis distance from the medians is above its
    ``quantile``.

    Noise is drawn within strata (``within``; the columns with role stratum when not said), so that
    what is kept is kept in each. Strata of fewer than three records, or than columns + 1, are put
    together, for sums as well. A column with one value a household or person gets one draw a
    household or person, since the mean over its rows would wash noise out. Weights enter the
    moments; every record gets noise of the same size. A missing value stays missing. A column that
    does not vary (in a stratum) stays as it is, and a warning says so. A correlation matrix that
    gaps made impossible is mended.

    Afterwards ``keep_zeros`` puts zeros back, ``lower`` and ``upper`` draw values in, ``keep_sums``
    shifts the values of every stratum alike (multiplicative: scales them, if all have one sign)
    until its weighted sum is the original one, ``keep_integers`` rounds columns of whole numbers,
    which keeps the sum as well unless weights differ or values are drawn by unit. Each costs
    something of the moments.

    It is no secret that there is noise, nor how much: alpha may be published. But the best attack
    uses it: link by the likelihood of the differences, a Mahalanobis distance by the covariance of
    the noise. sdcMicro's ``noise`` is :math:`100\sqrt\alpha` for its ``additive``,
    :math:`100\,\alpha` for ``correlated`` and ``restr``; its ``correlated2`` and ``outdect`` have
    no α that gives the same noise.

    References: Kim 1986, *A method for limiting disclosure in microdata based on random noise and
    transformation*; Sullivan 1989, *The use of added error to avoid disclosure in microdata
    releases*; Brand 2002, doi:10.1007/3-540-47804-3_8.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> from sfumato.core.randomness import Seed
    >>> from sfumato.core.step import Goal
    >>> table = Table(pl.DataFrame({"pay": [10, 20, 30, 60]}))
    >>> plan = AddNoise(["pay"], 0.5, method="kim").plan(table, Goal(seed=Seed(1)))
    >>> round(plan.columns["pay"].mean(), 9), plan.preserved[0].what, plan.preserved[0].exactly
    (30.0, 'means', True)
    """

    columns: Annotated[Names, Field(description="columns that get noise")]
    alpha: Annotated[
        float,
        Field(gt=0, allow_inf_nan=False, description="variance of the noise by that of the column"),
    ]
    method: Annotated[Method, Field(description="how noise is drawn and added")] = "correlated"
    within: Strata = None
    keep_integers: Annotated[bool, Field(description="columns of whole numbers stay whole")] = False
    keep_zeros: Annotated[bool, Field(description="what is 0 stays 0")] = False
    keep_sums: Annotated[bool, Field(description="the sum of every stratum stays")] = False
    lower: Annotated[
        float | None, Field(allow_inf_nan=False, description="least value released")
    ] = None
    upper: Annotated[
        float | None, Field(allow_inf_nan=False, description="greatest value released")
    ] = None
    quantile: Annotated[
        float | None,
        Field(gt=0, lt=1, description="outliers: share of records that count as near; 0.95"),
    ] = None
    redraw: Annotated[
        float | None,
        Field(
            ge=0,
            le=0.5,
            description="sullivan: share of records redrawn because they are near; 0.05",
        ),
    ] = None

    name: ClassVar[str] = "add_noise"

    @property
    def span(self) -> Span:
        """Record by record, unless ranks, quantiles, the mean of the noise or sums are needed."""
        alone = (
            self.method in ("uncorrelated", "correlated", "multiplicative") and not self.keep_sums
        )
        return Span.RECORDS if alone else Span.TABLE

    def __post_init__(self) -> None:
        require_only_with("AddNoise", "quantile", self.quantile, ("outliers",), self.method)
        require_only_with("AddNoise", "redraw", self.redraw, ("sullivan",), self.method)
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise ParameterError("AddNoise: lower must be less than upper")

    @property
    def clue(self) -> Clue:
        """The noise, as a multiple of what it was added to; after shrinking (kim, sullivan) it is
        that multiple, too.
        """
        if self.method in ("uncorrelated", "correlated", "outliers", "kim", "sullivan"):
            return NoiseAdded(bool(self.within), self.alpha, self.method != "uncorrelated")
        return Clue(bool(self.within))

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Draw the noise and add it."""
        require_table(dataset, self.name, [*self.columns, *(self.within or ())])
        if len(dataset) < 2 and goal.facts is None:
            raise SchemaError(
                "add_noise: one row has no variance to scale noise by; give at least two"
            )
        moments: Moments = self.facts(dataset, goal)
        return _Adding(self, dataset, goal=goal, block=self._block(dataset), moments=moments).plan()

    def _block(self, dataset: Table) -> Block:
        return block_of(dataset, self.columns, self.within, self._read, Marks.of(dataset).order)

    def _read(self, dataset: Table, name: str) -> Array:
        read = numbers_or_ranks if self.method == "sullivan" else numbers_of
        return computable(read(dataset, name), name)

    def learner(self, goal: Goal, facts: Any) -> Learner | None:
        """Means of the strata first, and then the covariances."""
        if facts is None:
            # A covariance of d columns needs d + 1 records; variances need 3 to say something.
            return MeansLearner(
                self.columns, self.within, max(3, len(self.columns) + 1), self._read
            )
        if facts.covariance is None and self.method not in ("multiplicative", "sullivan"):
            return CovarianceLearner(self.columns, self.within, facts, self._read)
        return None

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Release the numbers with noise."""
        return plan.applied(dataset)


class _Adding:
    """One run of the step."""

    def __init__(
        self, step: AddNoise, dataset: Table, goal: Goal, block: Block, moments: Moments
    ) -> None:
        self.moments = moments
        self.step = step
        self.dataset = dataset
        self.goal = goal
        self.block = block
        self.categories = [
            step.method == "sullivan" and is_category(dataset, name) for name in step.columns
        ]
        self.settling = Settling(
            step.keep_integers,
            step.keep_zeros,
            lower=step.lower,
            upper=step.upper,
            sums=step.keep_sums,
        )
        self.normals = standard_normals(block, goal, "add_noise")
        groups = moments.of_rows(dataset, step.within)[block.order]
        self.parts = block.parts(groups)
        self.pooled = moments.pooled
        # By the first row of a part, which names it.
        self.covariances = {
            int(rows[0]): self._covariance(int(groups[rows[0]])) for rows in self.parts
        }
        self.owner: Document = {}
        self.mended = self.clipped = 0

    def _covariance(self, group: int) -> Array:
        covariance = self.moments.covariance
        if covariance is None:
            return np.zeros((0, 0))
        return np.asarray(covariance[group])

    def plan(self) -> Masked:
        """The masked columns and what is to be said of them."""
        masked = self._settled(self._noisy())
        preserved_numbers = KeptNumbers(self.block, masked)
        title = TITLES.get(self.step.method, self.step.method)
        columns = {name: self._column(j, masked[:, j]) for j, name in enumerate(self.step.columns)}
        return Masked(
            actions=dict.fromkeys(self.step.columns, f"noise added ({title})"),
            columns=columns,
            preserved=self._preserved(preserved_numbers),
            warnings=tuple(self._warnings(preserved_numbers)),
            public={"method": self.step.method, "alpha": self.step.alpha, "known_attack": ATTACK},
            owner={"strata": len(self.parts), "clipped": self.clipped, **self.owner},
        )

    def _noisy(self) -> Array:
        step = self.step
        noisy = np.empty_like(self.block.values)
        if step.method == "sullivan":
            # One record in twenty is redrawn where the recipe does not say.
            near = 0.05 if step.redraw is None else step.redraw
            way = Sullivan(
                self.block,
                self.goal,
                normals=self.normals,
                alpha=step.alpha,
                near=near,
                categories=self.categories,
            )
            for rows in self.parts:
                noisy[rows] = way.masked(rows)
            self.owner = {
                "redrawn": way.redrawn,
                "still_near": way.left,
                "correlations_off_by": way.gap,
            }
            self.mended = way.mended
            return noisy
        noise = BlockNoise(self.block, self.normals, step.alpha, self.covariances)
        for rows in self.parts:
            if step.method == "outliers":
                noisy[rows] = noise.outliers(rows, 0.95 if step.quantile is None else step.quantile)
            else:
                noisy[rows] = getattr(noise, step.method)(rows)
        self.mended = noise.mended
        return noisy

    def _settled(self, noisy: Array) -> Array:
        """The noisy numbers with whole numbers, zeros, bounds and sums as asked."""
        if not self.settling.changes:
            return noisy
        settled = noisy.copy()
        block = self.block
        for j in np.flatnonzero(~np.array(self.categories)):
            whole = bool(self.moments.whole[j])
            # As many groups as rows: every row has a draw of its own.
            alone = int(block.groups[j].max()) + 1 == len(settled)
            for rows in self.parts:
                scaled = self.step.method == "multiplicative"
                settled[rows, j] = self.settling.settled(
                    noisy[rows, j],
                    block.values[rows, j],
                    block.weights[rows],
                    whole=whole,
                    alone=alone,
                    scaled=scaled,
                )
        low = self.step.lower
        high = self.step.upper
        if low is not None:
            self.clipped += int((noisy < low).sum())
        if high is not None:
            self.clipped += int((noisy > high).sum())
        return settled

    def _column(self, column_number: int, masked: Array) -> pl.Series:
        name = self.step.columns[column_number]
        like = self.dataset.column(name)
        if self.categories[column_number]:
            ranks = self.block.back(self.block.values[:, column_number])
            return values_at(like, ranks, self.block.back(masked))
        return column_like(name, self.block.back(masked), like)

    def _preserved(self, preserved_numbers: KeptNumbers) -> tuple[Preserved, ...]:
        """What the method keeps, and what was asked to be kept besides."""
        preserved = self._kept_by_method(preserved_numbers)
        if self.settling.sums:
            preserved.append(preserved_numbers.sums(exactly=preserved_numbers.sums().off_by < 1e-9))
        if self.settling.integers:
            preserved.append(preserved_numbers.exact("whole numbers"))
        if self.settling.zeros:
            preserved.append(preserved_numbers.exact("zeros"))
        return tuple(preserved)

    def _kept_by_method(self, preserved_numbers: KeptNumbers) -> list[Preserved]:
        method = self.step.method
        free = not self.settling.changes
        has_many_columns = len(self.step.columns) > 1
        together = []
        if has_many_columns and method == "uncorrelated":
            together = [preserved_numbers.covariances()]
        elif has_many_columns:
            together = [preserved_numbers.correlations()]
        if method in ("uncorrelated", "correlated"):
            return [preserved_numbers.means(), *together]
        if method == "kim":
            return [preserved_numbers.means(exactly=free), preserved_numbers.variances(), *together]
        if method == "sullivan":
            return [preserved_numbers.distributions(), *together]
        if method == "multiplicative":
            always = ["signs", "zeros"]
        else:
            always = ["all values but the outliers"]
        return [
            preserved_numbers.means(),
            *(preserved_numbers.exact(statistic) for statistic in always if free),
        ]

    def _warnings(self, preserved_numbers: KeptNumbers) -> list[str]:
        warnings = []
        for j, name in enumerate(self.step.columns):
            if not varies(self.block.values[:, j]):
                warnings.append(f"column {name!r} does not vary: it was left as it is")
        warnings += self._still()
        if self.pooled:
            warnings.append(
                f"{self.pooled:,} strata are too small for moments of their own and were pooled"
            )
        if self.mended:
            warnings.append(
                f"missing values made the correlations of {self.mended:,} strata impossible; they "
                "were corrected"
            )
        if self.step.alpha < LITTLE:
            warnings.append(f"alpha is below {LITTLE}: such noise hides little")
        strong = correlation_of(preserved_numbers.before) - np.eye(len(self.step.columns))
        if self.step.method == "uncorrelated" and np.abs(strong).max() > CLOSE:
            warnings.append(
                "columns are strongly correlated, so independent noise can be filtered out; use "
                "method correlated or kim"
            )
        if self.step.method == "multiplicative" and (self.block.values == 0).any():
            warnings.append("multiplicative noise leaves every 0 unchanged")
        if self.clipped:
            warnings.append(
                f"{self.clipped:,} values were beyond the bounds and were moved to them; they "
                "accumulate there"
            )
        return warnings

    def _still(self) -> list[str]:
        """Columns that vary in the table but not in some stratum."""
        block = self.block
        unmoved: list[str] = []
        if len(self.parts) == 1 or self.step.method in ("multiplicative", "outliers"):
            return unmoved
        for j, name in enumerate(self.step.columns):
            still = [rows for rows in self.parts if not varies(block.values[rows, j])]
            if still and varies(block.values[:, j]):
                rows = sum(len(part) for part in still)
                unmoved.append(
                    f"column {name!r} is constant in {len(still):,} strata: {rows:,} values were "
                    "left unchanged"
                )
        return unmoved
