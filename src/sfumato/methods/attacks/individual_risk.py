"""Record-level risk of survey data: how many people of the population share a record's keys, judged
by the weights.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.attack import Attack, Finding, NothingToAttack, not_a_sample, rows_of
from sfumato.core.design import units_of, weights_of
from sfumato.core.encoding import alike
from sfumato.core.parameters import parameters
from sfumato.methods.formulas.uniqueness import individual_risk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.table import Table

    Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class IndividualRisks:
    """Per record: its class size *f*, the estimated size *F* in the population, its risk, and that
    of its household.
    """

    sizes: NDArray[np.int64]
    population: Floats
    risks: Floats
    household: Floats | None

    @property
    def expected(self) -> float:
        """Expected number of re-identifications: the sum of the risks."""
        return float(self.risks.sum())


def individual_risks(
    dataset: Table, columns: tuple[str, ...], households: NDArray[np.int64] | None = None
) -> IndividualRisks:
    r"""The chance that a record is re-identified by who looks for it in the population.

    .. math:: r = E[1/F \mid f] = \frac{\hat p^f}{f}\,{}_2F_1(f, f; f+1; 1-\hat p), \qquad \hat p
        = f/\hat F

    with :math:`\hat F` the sum of the weights of the class. In exact form for all *f*: the usual
    approximation for f ≥ 3 is up to 4 % too high at f = 3, and less above. A household is
    re-identified when one of its members is: :math:`1-\prod(1-r_i)`.
    Reference: Benedetti & Franconi 1998; Franconi & Polettini 2004,
    doi:10.1007/978-3-540-25955-8_20.
    """
    weights = weights_of(dataset)
    ids, first = alike(dataset, columns)
    sizes = np.bincount(ids, minlength=len(first))
    class_sums = sizes.astype(np.float64)
    if weights is not None:
        class_sums[:] = np.bincount(ids, weights=weights, minlength=len(first))
    # a class cannot be rarer in the population than in the sample
    summed: Floats = np.maximum(class_sums, sizes.astype(np.float64))
    risks = individual_risk(sizes, summed)[ids]
    together = None
    if households is not None:
        # A certain re-identification (risk 1) has the logarithm −∞, and so has the household's.
        with np.errstate(divide="ignore"):
            # Sums of logarithms instead of products: small risks are not lost to rounding.
            logs = np.bincount(households, weights=np.log1p(-np.minimum(risks, 1.0)))
        together = -np.expm1(logs[households])
    return IndividualRisks(sizes[ids].astype(np.int64), summed[ids], risks, together)


@parameters
class IndividualRisk(Attack):
    """The mean record-level risk of survey data, and how many records exceed a threshold.

    See :func:`sfumato.methods.attacks.individual_risk.individual_risks`. Needs survey weights.
    Where the table says who lives together, the risk of a person is that of the household.
    """

    threshold: Annotated[
        float, Field(gt=0, lt=1, description="risk above which a record counts as a victim")
    ] = 0.1
    households: Annotated[
        bool, Field(description="use the risk of the household if it is known")
    ] = True

    name: ClassVar[str] = "individual_risk"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "A person of the population is matched to a record"
    tried_by: ClassVar[tuple[str, ...]] = ("journalist",)
    turn: ClassVar[int] = 2

    def applies(self, scene: Scene) -> str | None:
        """None when the release has weights and the intruder knows some of its columns."""
        if weights_of(scene.pair.released) is None:
            return not_a_sample(scene)
        if _known_columns(scene):
            return None
        return NothingToAttack("this intruder knows no column of the release")

    def attack(self, scene: Scene) -> Finding:
        """The risk of every released record."""
        homes = None
        if self.households:
            homes = units_of(scene.pair.original, "household")
        households = None if homes is None else homes[scene.pair.rows]
        per_record = individual_risks(scene.pair.released, _known_columns(scene), households)
        if per_record.household is None:
            risks = per_record.risks
        else:
            risks = per_record.household
        hit = risks > self.threshold
        sentence = (
            f"about {per_record.expected:,.3g} of {len(risks):,} records would be re-identified in"
            f" the population; the risk of {int(hit.sum()):,}"
            f" {'persons, household and all,' if households is not None else 'records'} exceeds"
            f" {self.threshold:g}"
        )
        details = {
            "expected_re_identifications": per_record.expected,
            "highest": float(risks.max()),
        }
        return Finding(
            self.name, float(risks.mean()), sentence, victims=rows_of(scene, hit), details=details
        )


def _known_columns(scene: Scene) -> tuple[str, ...]:
    return tuple(c for c in scene.intruder.knows if c in scene.pair.released.columns)
