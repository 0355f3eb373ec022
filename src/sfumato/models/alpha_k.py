"""(α, k)-anonymity: large classes in which no secret is too common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.model import TOLERANCE, Evidence, Facts, Model, Needs, SensitiveModel, Verdict
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError, SchemaError
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from sfumato.models.sensitive import (
    Sensitive,
    counts_of,
    extreme,
    forced_records,
    needs_of,
    share_of_records,
    spoken,
    too_few_values,
    verdict,
    with_reason,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Schema


@parameters
class AlphaKAnonymity(SensitiveModel):
    r"""Every class holds at least k records, and no protected value more than a share α of them.

    .. math:: |E| \ge k \quad\text{and}\quad \max_{s \in S} \frac{|E_s|}{|E|} \le \alpha

    :math:`E_s` are the records of class *E* with sensitive value *s*; *S* are the protected values, all of them unless
    ``values`` lists some (as text, the way they stand in the file). A missing value is a value of its own, protected
    unless ``values`` is given. Shares are of rows; where the schema names a person column, k counts persons. With a
    list of columns their combinations are the values. An empty table keeps every promise. No recoding without
    suppression can reach an α below the share of a protected value in the whole table.

    Merging classes never breaks the promise, but the number of suppressed records can grow. The paper's experiments
    protect single values; protecting all of them is its general form.

    Reference: Wong, Li, Fu & Wang 2006, *(α, k)-anonymity*, doi:10.1145/1150402.1150499.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> model = AlphaKAnonymity("disease", alpha=0.7, k=3, values=["Cancer"])
    >>> model.judge(gather(examples.heart(grouping="similar"), [model]))
    ✓ (0.7, 3)-anonymity of disease: every class has at least 3 members and no protected value of disease makes up more
    than 66.7% of one
    """

    sensitive: Sensitive
    alpha: Annotated[float, Field(gt=0, le=1, description="largest share of a protected value in a class")]
    k: Annotated[int, Field(ge=1, description="smallest class size that is acceptable")]
    values: Annotated[
        tuple[str, ...] | None, Field(min_length=1, description="the sensitive values to protect, all by default")
    ] = None

    name: ClassVar[str] = "alpha_k_anonymity"
    secret: ClassVar[tuple[str, ...]] = ("values",)
    facts: ClassVar[Facts] = Facts(against="both")
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = False
    scope: ClassVar[Literal["class", "table"]] = "class"

    def __post_init__(self) -> None:
        if self.values is not None and not isinstance(self.sensitive, str):
            raise ParameterError("values cannot be listed for a combination of columns; all combinations are protected")

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"({self.alpha:g}, {self.k})-anonymity of {spoken(self.sensitive)}"

    def needs(self, schema: Schema) -> Needs:
        """The sensitive column, counted per class."""
        return needs_of(self.promise, self.sensitive, schema)

    def failing(self, evidence: Evidence) -> NDArray[np.bool_]:
        """Classes that are too small or in which a protected value is too common."""
        return (self._shares(evidence) > self.alpha + TOLERANCE) | (evidence.frequencies < self.k)

    def forced(self, evidence: Evidence) -> NDArray[np.int64]:
        """Per class, how many of its records every finer recoding must suppress: all of a small class."""
        shares, records = self._shares(evidence), evidence.classes.records
        small, common = evidence.frequencies < self.k, shares > self.alpha + TOLERANCE
        least = records * (shares - self.alpha) / max(1 - self.alpha, TOLERANCE)
        return forced_records(evidence, small | common, np.where(small, records, least))

    def judge(self, evidence: Evidence) -> Verdict:
        """The smallest α that holds, and the classes that are too small or too uniform."""
        shares = self._shares(evidence)
        failing = (shares > self.alpha + TOLERANCE) | (evidence.frequencies < self.k)
        attained = extreme(shares, "largest")
        return verdict(
            self,
            evidence,
            failing,
            attained=attained,
            required=self.alpha,
            per_class=shares,
            sentence=self._sentence(evidence, failing, attained),
            counts_crowds=True,
        )

    def implies(self, other: Model) -> bool:
        """Shares of at most α mean at least 1/α values, evenly enough for entropy diversity too."""
        if isinstance(other, KAnonymity):
            return other.k <= self.k
        if isinstance(other, AlphaKAnonymity):
            same = other.sensitive == self.sensitive and self._protects(other.values)
            return same and self.alpha <= other.alpha and self.k >= other.k
        # as many persons as values are needed where persons have several rows; k sees to that
        diverse = LDiversity(self.sensitive, l=min(float(self.k), 1 / self.alpha), kind="entropy")
        return self.values is None and diverse.implies(other)

    def _protects(self, values: tuple[str, ...] | None) -> bool:
        return self.values is None or (values is not None and set(values) <= set(self.values))

    def _shares(self, evidence: Evidence) -> NDArray[Any]:
        """Per class the share of its most common protected value."""
        counts = counts_of(evidence, self.sensitive)
        protected = np.ones(len(counts.labels), dtype=np.bool_)
        if self.values is not None:
            self._require_known(evidence)
            protected[:] = [label in self.values for label in counts.labels]
        return kernels.distributions.largest_shares(counts.starts, counts.codes, counts.counts, protected)  # type: ignore[no-any-return]

    def _require_known(self, evidence: Evidence) -> None:
        """Refuse values that the column does not have: a misspelt one would silently not be protected."""
        unknown = set(self.values or ()) - set(counts_of(evidence, self.sensitive).labels)
        if unknown and len(evidence.classes):
            raise SchemaError(
                f"{self.promise}: {len(unknown)} of {len(self.values or ())} protected values do not occur in the column; "
                "write them as they stand in the file"
            )

    def _sentence(self, evidence: Evidence, failing: NDArray[np.bool_], attained: float | None) -> str:
        if attained is None:
            return ""
        column, smallest = spoken(self.sensitive), extreme(evidence.frequencies, "smallest")
        if not failing.any():
            return (
                f"every class has at least {smallest} members and no protected value of {column} makes up more than "
                f"{attained:.1%} of one"
            )
        told = (
            f"{share_of_records(evidence, failing)} stand in a class of fewer than {self.k} or with more than "
            f"{self.alpha:.1%} of one protected value of {column}; the smallest class has {smallest}, the largest share "
            f"is {attained:.1%}"
        )
        return with_reason(told, too_few_values(evidence, self.sensitive, 2))
