"""How many records an intruder gets right who tries them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.model import TOLERANCE, Evidence, Facts, Model, Needs, Verdict
from sfumato.core.parameters import parameters
from sfumato.core.population import weight_column
from sfumato.errors import SchemaError
from sfumato.formulas.uniqueness import individual_risk
from sfumato.models.fewest_records import fewest_records
from sfumato.models.risk_thresholds import IDENTITY, classes_only, risk_verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.schema import Schema


@parameters
class ExpectedReidentifications(Model):
    r"""An intruder who tries all records gets at most ``limit`` of them right, by expectation.

    .. math:: \sum_E f_E\, r_E \le R

    :math:`r_E = 1/f_E` for an intruder who knows who is in the table: then every class gives one right guess, and the sum is the
    number of classes. With ``weights=True`` the intruder only has a register of the population, and :math:`r_E` is the mean of
    one over the people with these keys, estimated from the survey weights
    (:func:`~sfumato.formulas.uniqueness.individual_risk`). Merging classes never raises the sum. sdcMicro shows
    the second number as global risk.

    Reference: Franconi & Polettini 2004, *Individual risk estimation in µ-Argus: a review*.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> model = ExpectedReidentifications(1, weights=True)
    >>> model.judge(gather(examples.weighted_keys(), [model]))
    ✓ at most 1 expected re-identifications: who tries all records gets 0.967 of 8 right by expectation
    """

    limit: Annotated[float, Field(ge=0, allow_inf_nan=False, description="greatest acceptable number")]
    weights: Annotated[bool, Field(description="estimate the population by survey weights")] = False

    name: ClassVar[str] = "expected_reidentifications"
    facts: ClassVar[Facts] = IDENTITY
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = False
    scope: ClassVar[Literal["class", "table"]] = "table"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"at most {self.limit:g} expected re-identifications"

    def needs(self, schema: Schema) -> Needs:
        """The classes, and survey weights if they are to be used."""
        classes_only(self, schema)
        if self.weights:
            weight_column(schema)
        return Needs(weights=self.weights)

    def failing(self, evidence: Evidence) -> NDArray[np.bool_]:
        """The riskiest classes, as many as must go for the number to be small enough."""
        classes = evidence.classes
        return fewest_records(classes, classes.sizes, self._risks(evidence), self.limit + TOLERANCE)

    def excess(self, evidence: Evidence) -> tuple[NDArray[np.float64], float]:
        """Per class what it adds to a sum over the released ones, and what that may be at most."""
        return self._risks(evidence) * evidence.classes.sizes, self.limit + TOLERANCE

    def judge(self, evidence: Evidence) -> Verdict:
        """The expected number, and the classes that would have to go."""
        risks, sizes = self._risks(evidence), evidence.classes.sizes
        attained = float(risks @ sizes) if len(sizes) else None
        sentence = f"who tries all records gets {attained or 0:.3g} of {int(sizes.sum()):,} right by expectation"
        return risk_verdict(self, evidence, self.failing(evidence), attained, self.limit, risks, sentence)

    def implies(self, other: Model) -> bool:
        """A smaller number implies a larger one for the same intruder."""
        if not isinstance(other, ExpectedReidentifications):
            return False
        return self.weights == other.weights and self.limit <= other.limit

    def _risks(self, evidence: Evidence) -> NDArray[np.float64]:
        if not self.weights:
            return 1 / evidence.frequencies
        if evidence.classes.weights is None:
            raise SchemaError(f"{self.promise} was judged without survey weights; gather evidence with it")
        return individual_risk(evidence.classes.sizes, evidence.classes.weights)
