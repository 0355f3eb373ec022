"""How many records are unique in the population, by estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.model import TOLERANCE, Evidence, Facts, Model, Needs, Verdict
from sfumato.core.parameters import parameters
from sfumato.formulas.uniqueness import Estimator, Uniques, population_uniques
from sfumato.models.risk_thresholds import IDENTITY, classes_only, risk_verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Schema


@parameters
class PopulationUniqueness(Model):
    r"""At most a share of the records is, by estimate, unique in the population the table was drawn from.

    .. math:: \hat U / N \le s

    *N* = n/``fraction`` is the size of the population and :math:`\hat U` an estimate of the people in it who share their keys with
    nobody (:func:`~sfumato.formulas.uniqueness.population_uniques`). Who is unique in the population is unique in the table too,
    so the promise holds as soon as all sample uniques are suppressed, and these are what goes. The estimates are not
    monotone: merging classes may raise them. Where missing values are wildcards, the number of
    compatible records stands for the class size. ARX's SNB differs (see there).

    Reference: Dankar, El Emam, Neisa & Roffey 2012, doi:10.1186/1472-6947-12-66.
    """

    share: Annotated[float, Field(ge=0, le=1, description="greatest acceptable share of population uniques")]
    fraction: Annotated[float, Field(gt=0, le=1, description="share of the population that was sampled")]
    estimator: Annotated[Estimator, Field(description="how uniques of the population are estimated")] = "dankar"

    name: ClassVar[str] = "population_uniqueness"
    facts: ClassVar[Facts] = IDENTITY
    monotone: ClassVar[bool] = False
    shrinking: ClassVar[bool] = False
    scope: ClassVar[Literal["class", "table"]] = "table"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"at most {self.share:.4g} unique in the population"

    @property
    def enough_k(self) -> int:
        """Where no record is unique in the table, nobody is unique in the population."""
        return 2

    def needs(self, schema: Schema) -> Needs:
        """Nothing but the classes."""
        return classes_only(self, schema)

    def failing(self, evidence: Evidence) -> NDArray[np.bool_]:
        """All classes of one record, when the estimate is too high."""
        return self._failing(evidence, self._uniques(evidence))

    def judge(self, evidence: Evidence) -> Verdict:
        """The estimated share, and the sample uniques if it is too high."""
        found = self._uniques(evidence)
        attained = found.share if len(evidence.classes) else None
        sentence = f"about {found.number:,.3g} of {found.population:,} people ({found.share:.2%}) are unique in the population ({found.how})"
        risks = 1 / evidence.frequencies
        return risk_verdict(self, evidence, self._failing(evidence, found), attained, self.share, risks, sentence)

    def implies(self, other: Model) -> bool:
        """A smaller share implies a larger one under the same estimate."""
        if not isinstance(other, PopulationUniqueness) or self.share > other.share:
            return False
        return (self.fraction, self.estimator) == (other.fraction, other.estimator)

    def _uniques(self, evidence: Evidence) -> Uniques:
        return population_uniques(evidence.frequencies, self.fraction, self.estimator)

    def _failing(self, evidence: Evidence, found: Uniques) -> NDArray[np.bool_]:
        return np.asarray((evidence.frequencies == 1) & (found.share > self.share + TOLERANCE))
