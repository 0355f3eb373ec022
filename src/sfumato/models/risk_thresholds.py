"""Limits on the risk of re-identification: of the worst record, of the average one, and of how many.

All of them look at classes alone. With *f* records (persons, where the schema names them) in its class, a record is
picked rightly with a chance of 1/f by an intruder who knows that the person is in the table. Models about the whole table
suppress the riskiest classes first, one by one and as few records as possible, until they hold.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from sfumato.core.model import TOLERANCE, Evidence, Facts, Model, Needs, Verdict
from sfumato.core.parameters import parameters
from sfumato.errors import SchemaError
from sfumato.models.fewest_records import fewest_records
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.sensitive import extreme, share_of_records, verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.schema import Schema

IDENTITY = Facts(against="identity", measure="quantitative")
Chance = Annotated[float, Field(gt=0, le=1)]


@parameters
class MaximumRisk(Model):
    r"""Nobody is picked rightly with a chance above the threshold.

    .. math:: \max_E 1/f_E \le \tau

    That is k-anonymity with :math:`k = \lceil 1/\tau \rceil`, and judged in the same way. The bound is the prosecutor's:
    the intruder knows that the person is in the table. ARX calls it the highest prosecutor risk.

    Reference: El Emam & Dankar 2008, doi:10.1197/jamia.M2716.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> MaximumRisk(0.5).judge(gather(examples.torra(), [MaximumRisk(0.5)]))
    ✓ highest risk 0.5: nobody is picked rightly with a chance above 0.5
    """

    threshold: Annotated[Chance, Field(description="highest acceptable chance of re-identification")]

    name: ClassVar[str] = "maximum_risk"
    facts: ClassVar[Facts] = IDENTITY
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = True
    scope: ClassVar[Literal["class", "table"]] = "class"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"highest risk {self.threshold:g}"

    @property
    def enough_k(self) -> int:
        """The k of the k-anonymity that says the same."""
        return math.ceil(1 / self.threshold - TOLERANCE)

    def needs(self, schema: Schema) -> Needs:
        """Nothing but the classes."""
        return classes_only(self, schema)

    def failing(self, evidence: Evidence) -> NDArray[np.bool_]:
        """Classes with too high a risk."""
        return evidence.frequencies < self.enough_k

    def judge(self, evidence: Evidence) -> Verdict:
        """The highest risk, and the classes above the threshold."""
        risks = 1 / evidence.frequencies
        failing, attained = self.failing(evidence), extreme(risks, "largest")
        sentence = f"nobody is picked rightly with a chance above {attained or 0:.3g}"
        if failing.any():
            sentence = f"{share_of_records(evidence, failing)} are picked rightly with a chance above {self.threshold:g}, up to {attained:.3g}"
        return risk_verdict(self, evidence, failing, attained, self.threshold, risks, sentence)

    def implies(self, other: Model) -> bool:
        """Whatever k-anonymity implies."""
        return KAnonymity(self.enough_k).implies(other)


@parameters
class AverageRisk(Model):
    r"""Over all records, the mean chance of being picked rightly is at most the threshold.

    .. math:: \frac{1}{N} \sum_E f_E \cdot \frac{1}{f_E} = \frac{\text{number of classes}}{N} \le \tau

    The marketer's risk: the share of records an intruder gets right who tries all of them. Where the schema names persons,
    :math:`f_E` counts persons and the mean is taken over records, :math:`\frac1N \sum_E n_E/f_E` with :math:`n_E` records: a mean
    over persons of a class could rise when classes merge. Where missing values are
    wildcards, :math:`1/f` of each record is averaged. An empty table has no risk. ARX and sdcMicro agree.

    Reference: El Emam & Dankar 2008, doi:10.1197/jamia.M2716.
    """

    threshold: Annotated[Chance, Field(description="highest acceptable mean chance of re-identification")]

    name: ClassVar[str] = "average_risk"
    facts: ClassVar[Facts] = IDENTITY
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = False
    scope: ClassVar[Literal["class", "table"]] = "table"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"average risk {self.threshold:g}"

    @property
    def enough_k(self) -> int:
        """A mean is not above the maximum."""
        return math.ceil(1 / self.threshold - TOLERANCE)

    def needs(self, schema: Schema) -> Needs:
        """Nothing but the classes."""
        return classes_only(self, schema)

    def failing(self, evidence: Evidence) -> NDArray[np.bool_]:
        """The riskiest classes, as many as must go for the mean to be low enough."""
        return fewest_records(evidence.classes, evidence.classes.records, self._excess(evidence))

    def excess(self, evidence: Evidence) -> tuple[NDArray[np.float64], float]:
        """Per class what it adds to a sum over the released ones, and what that may be at most."""
        return self._excess(evidence) * evidence.classes.records, 0.0

    def _excess(self, evidence: Evidence) -> NDArray[np.float64]:
        return 1 / evidence.frequencies - (self.threshold + TOLERANCE)

    def judge(self, evidence: Evidence) -> Verdict:
        """The mean risk, and the classes that would have to go."""
        risks, records = 1 / evidence.frequencies, evidence.classes.records
        attained = float(risks @ records / records.sum()) if len(records) else None
        sentence = f"who tries all records gets {attained or 0:.3g} of them right on average"
        return risk_verdict(self, evidence, self.failing(evidence), attained, self.threshold, risks, sentence)

    def implies(self, other: Model) -> bool:
        """A lower mean implies a higher one."""
        return isinstance(other, AverageRisk) and self.threshold <= other.threshold


@parameters
class RecordsAtRisk(Model):
    r"""At most a share of the records has a chance of being picked rightly that is above the threshold.

    .. math:: \frac{1}{N} \sum_E f_E \,[1/f_E > \tau] \le s

    With ``share=0`` that is the maximum risk. Persons are counted as in :class:`AverageRisk`. ARX and sdcMicro have the same number ("records at risk").

    Reference: El Emam & Arbuckle 2013, *Anonymizing Health Data*.
    """

    threshold: Annotated[Chance, Field(description="chance of re-identification above which a record is at risk")]
    share: Annotated[float, Field(ge=0, le=1, description="greatest acceptable share of records at risk")]

    name: ClassVar[str] = "records_at_risk"
    facts: ClassVar[Facts] = IDENTITY
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = False
    scope: ClassVar[Literal["class", "table"]] = "table"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"at most {self.share:.4g} of records at risk above {self.threshold:g}"

    @property
    def enough_k(self) -> int:
        """With classes this large no record is at risk."""
        return math.ceil(1 / self.threshold - TOLERANCE)

    def needs(self, schema: Schema) -> Needs:
        """Nothing but the classes."""
        return classes_only(self, schema)

    def failing(self, evidence: Evidence) -> NDArray[np.bool_]:
        """Classes at risk, the riskiest first, as few records as must go for the share to be small enough."""
        return fewest_records(evidence.classes, evidence.classes.records, self._excess(evidence))

    def excess(self, evidence: Evidence) -> tuple[NDArray[np.float64], float]:
        """Per class what it adds to a sum over the released ones, and what that may be at most."""
        return self._excess(evidence) * evidence.classes.records, 0.0

    def _excess(self, evidence: Evidence) -> NDArray[np.float64]:
        at_risk = evidence.frequencies < self.enough_k
        return at_risk.astype(float) - (self.share + TOLERANCE)

    def judge(self, evidence: Evidence) -> Verdict:
        """The share at risk, and the classes that would have to go."""
        records, risks = evidence.classes.records, 1 / evidence.frequencies
        at_risk = int(records[evidence.frequencies < self.enough_k].sum())
        attained = at_risk / int(records.sum()) if len(records) else None
        sentence = f"{at_risk:,} of {int(records.sum()):,} ({attained or 0:.1%}) are picked rightly with a chance above {self.threshold:g}"
        return risk_verdict(self, evidence, self.failing(evidence), attained, self.share, risks, sentence)

    def implies(self, other: Model) -> bool:
        """A smaller share above a lower threshold implies a larger one above a higher."""
        return isinstance(other, RecordsAtRisk) and self.threshold <= other.threshold and self.share <= other.share


def classes_only(model: Model, schema: Schema) -> Needs:
    """The needs of a model that looks at classes alone; without quasi-identifiers there are none."""
    if not schema.quasi:
        raise SchemaError(f"{model.promise} needs at least one column with role quasi")
    return Needs()


def risk_verdict(
    model: Model,
    evidence: Evidence,
    failing: NDArray[np.bool_],
    attained: float | None,
    required: float,
    per_class: NDArray[Any],
    sentence: str,
) -> Verdict:
    """A verdict about risks, which count compatible records where missing values are wildcards."""
    return verdict(
        model,
        evidence,
        failing,
        attained=attained,
        required=required,
        per_class=per_class,
        sentence=sentence,
        counts_crowds=True,
    )
