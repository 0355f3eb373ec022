"""l-diversity: no class gives its sensitive values away."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.model import TOLERANCE, Evidence, Facts, Model, Needs, SensitiveModel, Verdict
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.sensitive import (
    Sensitive,
    at_most_persons,
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

    from sfumato.core.encoding import Column
    from sfumato.core.schema import Schema


@parameters
class LDiversity(SensitiveModel):
    r"""Every class shows at least l well-represented values of the sensitive column.

    .. math::
        \text{distinct: } m_E \ge l \qquad
        \text{entropy: } \exp\Bigl(-\sum_i q_i \ln q_i\Bigr) \ge l \qquad
        \text{recursive: } r_1 < c\,(r_l + r_{l+1} + \dots + r_m)

    In a class *E*, :math:`m_E` is the number of different values, :math:`q_i` the share of value *i*, and
    :math:`r_1 \ge r_2 \ge \dots \ge r_m` the counts in descending order; fewer than l values fail the recursive
    kind, and :math:`l = 1` always holds. The entropy kind compares with a tolerance of 1e-9, so that three equally
    frequent values are 3-diverse; its l may be a fraction. The recursive inequality is strict: equal shares of two
    values need :math:`c > 1`. Entropy and recursive diversity do not imply each other; both imply distinct l.

    A missing value counts as a value of its own. Several columns are protected by several models, or together: with
    a list of columns their combinations are the values. Where the schema names a person column, rows are counted,
    but no class is more diverse than it has persons. An empty table keeps every promise. More values asked for than
    the column has is an error.

    ARX agrees on all three (the entropy kind is its Shannon variant). sdcMicro agrees except that it ignores missing
    values in the recursive kind, and in a class that has nothing else. pycanon truncates the entropy kind to a whole
    number, calling three equally frequent values 2-diverse, sorts the counts of the recursive kind the wrong way
    round, and drops missing values.

    Reference: Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam 2007, doi:10.1145/1217299.1217302.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> model = LDiversity("salary", l=3, kind="entropy")
    >>> model.judge(gather(examples.ancona(), [model]))
    ✓ entropy 3-diversity of salary: every class is as diverse as 3 equally frequent values of salary, or more
    """

    sensitive: Sensitive
    l: Annotated[int | float, Field(ge=1, allow_inf_nan=False, description="how many values a class must show")]  # noqa: E741
    kind: Annotated[Literal["distinct", "entropy", "recursive"], Field(description="what well-represented means")] = (
        "distinct"
    )
    c: Annotated[
        float | None,
        Field(gt=0, allow_inf_nan=False, description="recursive only: how far the top value may stand out"),
    ] = None

    name: ClassVar[str] = "l_diversity"
    facts: ClassVar[Facts] = Facts(against="attribute")
    monotone: ClassVar[bool] = True
    scope: ClassVar[Literal["class", "table"]] = "class"

    def __post_init__(self) -> None:
        if (self.kind == "recursive") != (self.c is not None):
            raise ParameterError("c must be given for kind recursive, and only there")
        if self.kind != "entropy" and self.l != int(self.l):
            raise ParameterError(f"l must be a whole number for kind {self.kind}")

    @property
    def shrinking(self) -> bool:
        """Only distinct diversity suppresses no more at coarser nodes: (10, 10), (3, 0), (8, 9) with entropy 2."""
        return self.kind == "distinct"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        degree = {
            "distinct": f"{self.l:g}-diversity",
            "entropy": f"entropy {self.l:g}-diversity",
            "recursive": f"recursive ({self.c or 0:g}, {self.l:g})-diversity",
        }
        return f"{degree[self.kind]} of {spoken(self.sensitive)}"

    @property
    def diversity(self) -> tuple[Column, float]:
        """The sensitive column and l."""
        return self.sensitive, self.l

    def needs(self, schema: Schema) -> Needs:
        """The sensitive column, counted per class."""
        return needs_of(self.promise, self.sensitive, schema)

    def failing(self, evidence: Evidence) -> NDArray[np.bool_]:
        """Classes that are not diverse enough."""
        return self._below(self._values(evidence))

    def forced(self, evidence: Evidence) -> NDArray[np.int64]:
        """Per class, how many of its records every finer recoding must suppress.

        All of them below l values; else, by Gibbs' inequality, a share ``(ln l − H)/(ln l + ln q₁)`` for the entropy
        kind, and more than ``r₁ − c·tail`` for the recursive one.
        """
        values, records = self._values(evidence), evidence.classes.records
        failing = self._below(values)
        if self.kind == "distinct" or not len(values):
            return records * failing
        counts = counts_of(evidence, self.sensitive)
        few = at_most_persons(counts.distinct(), evidence) < self.l - TOLERANCE
        top = np.maximum.reduceat(counts.counts, counts.starts[:-1])
        if self.kind == "entropy":
            lacking, reach = math.log(self.l) - np.log(values), math.log(self.l) + np.log(top / records)
            least = records * lacking / np.where(failing, reach, 1.0)
        else:
            least = top - (self.c or 0) * top / values
        return forced_records(evidence, failing, np.where(few, records, least))

    def judge(self, evidence: Evidence) -> Verdict:
        """The largest l that holds (for the given c), and the classes below the promised one."""
        values = self._values(evidence)
        failing = self._below(values)
        attained = extreme(self._reached(evidence, values), "smallest")
        text = self._sentence(evidence, failing, values, attained)
        return verdict(self, evidence, failing, attained=attained, required=self.l, per_class=values, sentence=text)

    def implies(self, other: Model) -> bool:
        """Every kind implies distinct diversity, hence as large classes; a kind implies its own weaker degrees."""
        surely = math.ceil(self.l - TOLERANCE)
        if isinstance(other, KAnonymity):
            return other.k <= surely
        if not isinstance(other, LDiversity) or other.sensitive != self.sensitive:
            return other.holds_where_diverse(self.sensitive, surely)
        if other.kind == "distinct" or other.l == 1:
            return other.l <= surely
        return other.kind == self.kind and other.l <= self.l and (other.c or 0) >= (self.c or 0)

    def _values(self, evidence: Evidence) -> NDArray[Any]:
        """Per class: distinct values, effective values, or the c that is just too small."""
        counts = counts_of(evidence, self.sensitive)
        if self.kind == "distinct":
            return at_most_persons(counts.distinct(), evidence)
        if self.kind == "entropy":
            return at_most_persons(kernels.distributions.effective_values(counts.starts, counts.counts), evidence)
        ratios = kernels.distributions.head_to_tail(counts.starts, counts.counts, int(self.l))
        return ratios if evidence.classes.person is None else np.where(evidence.classes.sizes < self.l, np.inf, ratios)

    def _below(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        if self.kind == "recursive":
            return (values >= (self.c or 0) - TOLERANCE) & (self.l > 1)
        return values < self.l - TOLERANCE

    def _reached(self, evidence: Evidence, values: NDArray[Any]) -> NDArray[Any]:
        """Per class the largest l that holds."""
        if self.kind != "recursive":
            return values
        counts = counts_of(evidence, self.sensitive)
        return at_most_persons(
            kernels.distributions.recursive_ranks(counts.starts, counts.counts, self.c, TOLERANCE), evidence
        )

    def _sentence(
        self, evidence: Evidence, failing: NDArray[np.bool_], values: NDArray[Any], attained: float | None
    ) -> str:
        column = spoken(self.sensitive)
        if attained is None:
            return ""
        if failing.any():
            concerned = f"{share_of_records(evidence, failing)} stand in a class"
            reason = too_few_values(evidence, self.sensitive, math.ceil(self.l - TOLERANCE))
            told = {
                "distinct": f"{concerned} with fewer than {self.l:g} values of {column}; the least diverse has {attained}",
                "entropy": f"{concerned} less diverse than {self.l:g} equally frequent values of {column}; the least "
                f"diverse is worth {attained:.4g}",
                "recursive": f"{concerned} where one value of {column} stands out too much; l = {attained} would hold",
            }[self.kind]
            return with_reason(told, reason)
        return {
            "distinct": f"every class shows at least {attained} different values of {column}",
            "entropy": f"every class is as diverse as {attained:.4g} equally frequent values of {column}, or more",
            "recursive": f"no value of {column} stands out in any class; any c above {values.max():.4g} would hold",
        }[self.kind]
