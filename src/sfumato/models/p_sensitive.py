"""p-sensitive k-anonymity: large classes that do not share one secret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from sfumato.core.model import Evidence, Facts, Model, Needs, SensitiveModel, Verdict
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from sfumato.models.sensitive import (
    Sensitive,
    at_most_persons,
    counts_of,
    extreme,
    needs_of,
    share_of_records,
    spoken,
    too_few_values,
    verdict,
    with_reason,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.encoding import Column
    from sfumato.core.schema import Schema


@parameters
class PSensitive(SensitiveModel):
    r"""Every class holds at least k records and at least p different values of the sensitive column.

    .. math:: |E| \ge k \quad\text{and}\quad m_E \ge p

    :math:`|E|` is the size of a class as k-anonymity counts it, :math:`m_E` its number of different sensitive values;
    a missing value is a value of its own. The same as k-anonymity together with distinct p-diversity. With several
    sensitive columns, add one model each; a list of columns protects their combinations instead. Where the schema
    names a person column, k counts persons and no class has more values than persons. An empty table keeps every
    promise. More values asked for than the column has is an error. :func:`max_groups` bounds the number of classes.

    Reference: Truta & Vinay 2006, *Privacy protection: p-sensitive k-anonymity property*, doi:10.1109/ICDEW.2006.116.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> model = PSensitive("disease", p=2, k=3)
    >>> model.judge(gather(examples.heart(grouping="similar"), [model]))
    ✗ 2-sensitive 3-anonymity of disease: 3 of 9 records (33.3%) stand in a class of fewer than 3 or with fewer than 2
    values of disease; the smallest class has 3, the least diverse 1; no recoding can form more than 3 classes
    """

    sensitive: Sensitive
    p: Annotated[int, Field(ge=1, description="how many different sensitive values a class must show")]
    k: Annotated[int, Field(ge=1, description="smallest class size that is acceptable")]

    name: ClassVar[str] = "p_sensitive"
    facts: ClassVar[Facts] = Facts(against="both")
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = True
    scope: ClassVar[Literal["class", "table"]] = "class"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.p}-sensitive {self.k}-anonymity of {spoken(self.sensitive)}"

    def needs(self, schema: Schema) -> Needs:
        """The sensitive column, counted per class."""
        return needs_of(self.promise, self.sensitive, schema)

    def failing(self, evidence: Evidence) -> NDArray[np.bool_]:
        """Classes that are too small or show too few values."""
        return (self._values(evidence) < self.p) | (evidence.frequencies < self.k)

    def judge(self, evidence: Evidence) -> Verdict:
        """The largest p that holds, and the classes that are too small or show too few values."""
        values = self._values(evidence)
        failing = self.failing(evidence)
        attained = extreme(values, "smallest")
        return verdict(
            self,
            evidence,
            failing,
            attained=attained,
            required=self.p,
            per_class=values,
            sentence=self._sentence(evidence, failing, attained),
            counts_crowds=True,
        )

    def implies(self, other: Model) -> bool:
        """Equal to k-anonymity with distinct p-diversity; p values need p records."""
        crowd = max(self.k, self.p)
        if isinstance(other, KAnonymity):
            return other.k <= crowd
        if isinstance(other, PSensitive):
            return other.sensitive == self.sensitive and other.p <= self.p and other.k <= crowd
        return LDiversity(self.sensitive, l=self.p).implies(other)

    def holds_where_diverse(self, sensitive: Column, values: int) -> bool:
        """Classes with so many values have as many records."""
        return sensitive == self.sensitive and max(self.p, self.k) <= values

    def _values(self, evidence: Evidence) -> NDArray[Any]:
        return at_most_persons(counts_of(evidence, self.sensitive).distinct(), evidence)

    def _sentence(self, evidence: Evidence, failing: NDArray[np.bool_], attained: int | None) -> str:
        if attained is None:
            return ""
        column, smallest = spoken(self.sensitive), extreme(evidence.frequencies, "smallest")
        if not failing.any():
            return f"every class has at least {smallest} members and {attained} different values of {column}"
        most = max_groups(counts_of(evidence, self.sensitive).total().tolist(), self.p, self.k)
        told = (
            f"{share_of_records(evidence, failing)} stand in a class of fewer than {self.k} or with fewer than {self.p} "
            f"values of {column}; the smallest class has {smallest}, the least diverse {attained}; "
            f"no recoding can form more than {most:,} classes"
        )
        return with_reason(told, too_few_values(evidence, self.sensitive, self.p))


def max_groups(counts: Sequence[int], p: int, k: int = 1) -> int:
    r"""The largest number of classes any p-sensitive k-anonymous grouping of a table can have: a planning hint.

    .. math:: \min\Bigl(\bigl\lfloor N/k \bigr\rfloor,\; \min_{i=1}^{p-1} \bigl\lfloor (N - cf_{p-i})/i \bigr\rfloor\Bigr)

    ``counts`` says how often each sensitive value occurs, :math:`N` is their sum and :math:`cf_j` the sum of the *j*
    largest: each class needs *i* values other than the :math:`p-i` most frequent ones. Fewer than p values: no class.

    Reference: Truta & Vinay 2006, doi:10.1109/ICDEW.2006.116.

    >>> max_groups([995, 5], p=2)
    5
    >>> max_groups([9900, 100], p=2)
    100
    """
    if p < 1 or k < 1:
        raise ParameterError("max_groups: p and k must be at least 1")
    largest = sorted((c for c in counts if c > 0), reverse=True)
    total = sum(largest)
    if len(largest) < p:
        return 0
    return min([total // k, *((total - sum(largest[: p - i])) // i for i in range(1, p))])
