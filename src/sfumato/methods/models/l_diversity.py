"""l-diversity and its kin: no class gives its sensitive values away, shares one secret or has one
too often.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.model import (
    TOLERANCE,
    ClassEvidence,
    Facts,
    Model,
    Needs,
    SensitiveModel,
    Verdict,
)
from sfumato.core.parameters import parameters
from sfumato.core.words import percent
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.formulas.class_bounds import least_recursive_size, most_classes
from sfumato.methods.formulas.upper_figures import upper_figure
from sfumato.methods.models.k_anonymity import ClassSize, KAnonymity
from sfumato.methods.models.sensitive import (
    Sensitive,
    at_most_persons,
    bound_in_words,
    counts_of,
    extreme,
    forced_records,
    needs_of,
    share_of_records,
    spoken,
    too_few_values,
    verdict,
    verdict_of_worst,
    with_reason,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.encoding import Column
    from sfumato.core.schema import Schema

    Flags = NDArray[np.bool_]


@parameters
class LDiversity(SensitiveModel):
    r"""Every class shows at least l well-represented values of the sensitive column.

    .. math::
        \text{distinct: } m_E \ge l \qquad
        \text{entropy: } \exp\Bigl(-\sum_i q_i \ln q_i\Bigr) \ge l \qquad
        \text{recursive: } r_1 < c\,(r_l + r_{l+1} + \dots + r_m)

    In a class *E*, :math:`m_E` is the number of different values, :math:`q_i` the share of value
    *i*, and
    :math:`r_1 \ge r_2 \ge \dots \ge r_m` the counts in descending order; fewer than l values fail
    the recursive kind, and :math:`l = 1` always holds. The entropy kind compares with a tolerance
    of 1e-9, so that three equally frequent values are 3-diverse; its l may be a fraction. The
    recursive inequality is strict: equal shares of two values need :math:`c > 1`. Entropy and
    recursive diversity do not imply each other; both imply distinct l.

    A missing value counts as a value of its own. Several columns are protected by several models,
    or together: with a list of columns their combinations are the values. Where the schema names a
    person column, rows are counted, but no class is more diverse than it has persons. An empty
    table keeps every promise. More values asked for than the column has is an error.

    ARX agrees on all three (the entropy kind is its Shannon variant). sdcMicro agrees except that
    it ignores missing values in the recursive kind, and in a class that has nothing else. pycanon
    truncates the entropy kind to a whole number, calling three equally frequent values 2-diverse,
    sorts the counts of the recursive kind the wrong way round, and drops missing values.

    Reference: Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam 2007,
    doi:10.1145/1217299.1217302.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> model = LDiversity("salary", l=3, kind="entropy")
    >>> model.judge(gather(examples.ancona(), [model]))
    ✓ entropy 3-diversity of salary: every class is as diverse as 3 equally frequent values of
    salary, or more
    """

    sensitive: Sensitive
    l: Annotated[  # noqa: E741
        int | float,
        Field(
            ge=1, allow_inf_nan=False, examples=[3], description="how many values a class must show"
        ),
    ]
    kind: Annotated[
        Literal["distinct", "entropy", "recursive"],
        Field(description="what well-represented means"),
    ] = "distinct"
    c: Annotated[
        float | None,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="recursive only: how far the most frequent value may stand out",
        ),
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
        """Only distinct diversity suppresses no more at coarser nodes: (10, 10), (3, 0), (8, 9)
        with entropy 2.
        """
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

    def most_alike(self, records: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of n records n − l + 1 where distinct values count, as l − 1 others differ; below nought
        the records are too few. The other kinds bound shares: n/l, as simplified l-diversity has
        it.

        >>> import numpy as np
        >>> LDiversity("salary", l=2).most_alike(np.array([4])).tolist()
        [3]
        """
        if self.kind == "distinct":
            return records - (int(self.l) - 1)
        most: NDArray[np.int64] = (records // self.l).astype(np.int64)
        return most

    def needs(self, schema: Schema) -> Needs:
        """The sensitive column, counted per class."""
        return needs_of(self.promise, self.sensitive, schema)

    def failing(self, evidence: ClassEvidence) -> Flags:
        """Classes that are not diverse enough."""
        return self._below(self._values(evidence))

    def forced(self, evidence: ClassEvidence) -> NDArray[np.int64]:
        """Per class, how many of its records every finer recoding must suppress.

        All of them below l values; else, by Gibbs' inequality, a share
        ``(ln l − H)/(ln l + ln q₁)`` for the entropy kind, and more than ``r₁ − c·tail`` for the
        recursive one.
        """
        values = self._values(evidence)
        records = evidence.classes.records
        failing = self._below(values)
        if self.kind == "distinct" or not len(values):
            return records * failing
        counts = counts_of(evidence, self.sensitive)
        # With fewer than l values no part of the class can hold: all of its records go.
        too_few_values_left = at_most_persons(counts.distinct(), evidence) < self.l - TOLERANCE
        top = np.maximum.reduceat(counts.counts, counts.starts[:-1])
        if self.kind == "entropy":
            # The effective number of values is e^H, so its logarithm is the entropy H.
            shortfall = math.log(self.l) - np.log(values)
            reach = math.log(self.l) + np.log(top / records)
            # Classes that hold are not asked about; 1 keeps the division defined.
            fewest_removed = records * shortfall / np.where(failing, reach, 1.0)
        else:
            # Values are r₁ over the tail here, so top / values is the tail.
            fewest_removed = top - (self.c or 0) * top / values
        return forced_records(
            evidence, failing, np.where(too_few_values_left, records, fewest_removed)
        )

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The largest l that holds (for the given c), and the classes below the promised one."""
        values = self._values(evidence)
        failing = self._below(values)
        attained = extreme(self._reached(evidence, values), "smallest")
        text = self._sentence(evidence, failing, values, attained)
        return verdict(
            self,
            evidence,
            failing,
            attained=attained,
            required=self.l,
            per_class=values,
            sentence=text,
        )

    def holds_where_diverse(self, sensitive: Column, values: int) -> bool:
        """The distinct kind asks for nothing else."""
        return sensitive == self.sensitive and (
            self.l == 1 or (self.kind == "distinct" and self.l <= values)
        )

    def implies(self, model: Model) -> bool:
        """Every kind implies distinct diversity, hence as large classes; a kind implies its own
        weaker degrees.
        """
        # More than two values, as 2.4 effective ones are, are three.
        surely = math.ceil(self.l - TOLERANCE)
        if isinstance(model, KAnonymity):
            return model.k <= surely
        if not isinstance(model, LDiversity) or model.sensitive != self.sensitive:
            return model.holds_where_diverse(self.sensitive, surely)
        if model.kind == "distinct" or model.l == 1:
            return model.l <= surely
        return model.kind == self.kind and model.l <= self.l and (model.c or 0) >= (self.c or 0)

    @classmethod
    def usual_degrees(cls, sensitive: str, k: int) -> Sequence[Model]:
        """Two to five values, of every kind."""
        degrees = range(2, 6)
        return [
            *(cls(sensitive, l=degree) for degree in degrees),
            *(cls(sensitive, l=degree, kind="entropy") for degree in degrees),
            *(cls(sensitive, l=degree, kind="recursive", c=3) for degree in degrees),
        ]

    def class_bound(self, evidence: ClassEvidence) -> int:
        """Every kind needs l different values in a class; the recursive one also a tail."""
        size = 1
        if self.kind == "recursive":
            size = least_recursive_size(int(self.l), self.c or 0)
        totals = counts_of(evidence, self.sensitive).total().tolist()
        return most_classes(totals, math.ceil(self.l - TOLERANCE), size)

    def _values(self, evidence: ClassEvidence) -> NDArray[Any]:
        """Per class: distinct values, effective values, or the c that is just too small."""
        counts = counts_of(evidence, self.sensitive)
        if self.kind == "distinct":
            return at_most_persons(counts.distinct(), evidence)
        if self.kind == "entropy":
            return at_most_persons(
                kernels.distributions.count_effective_values(counts.starts, counts.counts), evidence
            )
        ratios = kernels.distributions.compare_head_to_tail(
            counts.starts, counts.counts, int(self.l)
        )
        if evidence.classes.person is None:
            return np.asarray(ratios)
        # Fewer persons than l are never diverse: no c is large enough.
        return np.where(evidence.classes.sizes < self.l, np.inf, ratios)

    def _below(self, values: NDArray[Any]) -> Flags:
        if self.kind == "recursive":
            # The inequality is strict, so a ratio that equals c fails, but for rounding.
            return (values >= (self.c or 0) - TOLERANCE) & (self.l > 1)
        return values < self.l - TOLERANCE

    def _reached(self, evidence: ClassEvidence, values: NDArray[Any]) -> NDArray[Any]:
        """Per class the largest l that holds."""
        if self.kind != "recursive":
            return values
        counts = counts_of(evidence, self.sensitive)
        return at_most_persons(
            kernels.distributions.find_recursive_ranks(
                counts.starts, counts.counts, self.c, TOLERANCE
            ),
            evidence,
        )

    def _sentence(
        self,
        evidence: ClassEvidence,
        failing: Flags,
        values: NDArray[Any],
        attained: float | None,
    ) -> str:
        column = spoken(self.sensitive)
        if attained is None:
            return ""
        if failing.any():
            concerned = f"{share_of_records(evidence, failing)} belong to a class"
            reason = too_few_values(evidence, self.sensitive, math.ceil(self.l - TOLERANCE))
            reason = reason or bound_in_words(self.class_bound(evidence))
            sentence = {
                "distinct": (
                    f"{concerned} with fewer than {self.l:g} values of {column}; the least diverse"
                    f" has {attained}"
                ),
                "entropy": (
                    f"{concerned} less diverse than {self.l:g} equally frequent values of "
                    f"{column}; the least diverse equals {attained:.4g}"
                ),
                "recursive": (
                    f"{concerned} where one value of {column} stands out too much; l = {attained}"
                    " would hold"
                ),
            }[self.kind]
            return with_reason(sentence, reason)
        return {
            "distinct": f"every class shows at least {attained} different values of {column}",
            "entropy": (
                f"every class is as diverse as {attained:.4g} equally frequent values of {column},"
                " or more"
            ),
            "recursive": (
                f"no value of {column} stands out in any class; any c above"
                f" {upper_figure(float(values.max()), 4)} would hold"
            ),
        }[self.kind]


# p-sensitive k-anonymity: large classes that do not share one secret.


@parameters
class PSensitive(SensitiveModel):
    r"""Every class holds at least k records and at least p different values of the sensitive
    column.

    .. math:: |E| \ge k \quad\text{and}\quad m_E \ge p

    :math:`|E|` is the size of a class as k-anonymity counts it, :math:`m_E` its number of different
    sensitive values; a missing value is a value of its own. The same as k-anonymity together with
    distinct p-diversity. With several sensitive columns, add one model each; a list of columns
    protects their combinations instead. Where the schema names a person column, k counts persons
    and no class has more values than persons. An empty table keeps every promise. More values asked
    for than the column has is an error.

    Reference: Truta & Vinay 2006, *Privacy protection: p-sensitive k-anonymity property*,
    doi:10.1109/ICDEW.2006.116.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> model = PSensitive("disease", p=2, k=3)
    >>> model.judge(gather(examples.heart(grouping="similar"), [model]))
    ✗ 2-sensitive 3-anonymity of disease: 3 of 9 records (33.3 %) belong to a class of fewer than 3
    or with fewer than 2 values of disease; the smallest class has 3, the least diverse 1; no
    recoding that keeps it can form more than 3 classes
    """

    sensitive: Sensitive
    p: Annotated[
        int,
        Field(
            ge=1, examples=[3], description="how many different sensitive values a class must show"
        ),
    ]
    k: ClassSize

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

    def failing(self, evidence: ClassEvidence) -> Flags:
        """Classes that are too small or show too few values."""
        return (self._values(evidence) < self.p) | (evidence.frequencies < self.k)

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The largest p that holds, and the classes that are too small or show too few values."""
        values = self._values(evidence)
        failing = self.failing(evidence)
        return verdict_of_worst(
            self,
            evidence,
            failing,
            values,
            worst="smallest",
            required=self.p,
            sentence=self._sentence,
            counts_crowds=True,
        )

    def implies(self, model: Model) -> bool:
        """Equal to k-anonymity with distinct p-diversity; p values need p records."""
        crowd = max(self.k, self.p)
        if isinstance(model, KAnonymity):
            return model.k <= crowd
        if isinstance(model, PSensitive):
            # p different values take p records: the larger of p and k is the size kept.
            return model.sensitive == self.sensitive and model.p <= self.p and model.k <= crowd
        return LDiversity(self.sensitive, l=self.p).implies(model)

    def holds_where_diverse(self, sensitive: Column, values: int) -> bool:
        """Classes with so many values have as many records."""
        return sensitive == self.sensitive and max(self.p, self.k) <= values

    @classmethod
    def usual_degrees(cls, sensitive: str, k: int) -> Sequence[Model]:
        """Two to five values."""
        return [cls(sensitive, p=degree, k=k) for degree in range(2, 6)]

    def class_bound(self, evidence: ClassEvidence) -> int:
        """So many classes of k records and p values can be formed, and no more."""
        # A missing value that matches everything makes crowds larger than classes.
        size = 1 if evidence.wildcard is not None else self.k
        totals = counts_of(evidence, self.sensitive).total().tolist()
        return most_classes(totals, self.p, size)

    def _values(self, evidence: ClassEvidence) -> NDArray[Any]:
        return at_most_persons(counts_of(evidence, self.sensitive).distinct(), evidence)

    def _sentence(self, evidence: ClassEvidence, failing: Flags, attained: int) -> str:
        column = spoken(self.sensitive)
        smallest = extreme(evidence.frequencies, "smallest")
        if not failing.any():
            return (
                f"every class has at least {smallest} members and {attained} different values of"
                f" {column}"
            )
        sentence = (
            f"{share_of_records(evidence, failing)} belong to a class of fewer than {self.k} or "
            f"with fewer than {self.p} values of {column}; the smallest class has {smallest}, the "
            f"least diverse {attained}"
        )
        reason = too_few_values(evidence, self.sensitive, self.p)
        return with_reason(sentence, reason or bound_in_words(self.class_bound(evidence)))


# (α, k)-anonymity: large classes in which no secret is too common.


@parameters
class AlphaKAnonymity(SensitiveModel):
    r"""Every class holds at least k records, and no protected value more than a share α of them.

    .. math:: |E| \ge k \quad\text{and}\quad \max_{s \in S} \frac{|E_s|}{|E|} \le \alpha

    :math:`E_s` are the records of class *E* with sensitive value *s*; *S* are the protected values,
    all of them unless ``values`` lists some (as text, the way they stand in the file). A missing
    value is a value of its own, protected unless ``values`` is given. Shares are of rows; where the
    schema names a person column, k counts persons. With a list of columns their combinations are
    the values. An empty table keeps every promise. No recoding without suppression can reach an α
    below the share of a protected value in the whole table.

    Merging classes never breaks the promise, but the number of suppressed records can grow. The
    paper's experiments protect single values; protecting all of them is its general form.

    Reference: Wong, Li, Fu & Wang 2006, *(α, k)-anonymity*, doi:10.1145/1150402.1150499.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> model = AlphaKAnonymity("disease", alpha=0.7, k=3, values=["Cancer"])
    >>> model.judge(gather(examples.heart(grouping="similar"), [model]))
    ✓ (0.7, 3)-anonymity of disease: every class has at least 3 members and no protected value of
    disease makes up more
    than 66.7 % of one
    """

    sensitive: Sensitive
    alpha: Annotated[
        float,
        Field(
            gt=0, le=1, examples=[0.5], description="largest share of a protected value in a class"
        ),
    ]
    k: ClassSize
    values: Annotated[
        tuple[str, ...] | None,
        Field(min_length=1, description="the sensitive values to protect, by default all"),
    ] = None

    name: ClassVar[str] = "alpha_k_anonymity"
    secret: ClassVar[tuple[str, ...]] = ("values",)
    facts: ClassVar[Facts] = Facts(against="both")
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = False
    scope: ClassVar[Literal["class", "table"]] = "class"

    def __post_init__(self) -> None:
        if self.values is not None and not isinstance(self.sensitive, str):
            raise ParameterError(
                "values cannot be listed for a combination of columns; all combinations are"
                " protected"
            )

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"({self.alpha:g}, {self.k})-anonymity of {spoken(self.sensitive)}"

    def needs(self, schema: Schema) -> Needs:
        """The sensitive column, counted per class."""
        return needs_of(self.promise, self.sensitive, schema)

    def failing(self, evidence: ClassEvidence) -> Flags:
        """Classes that are too small or in which a protected value is too common."""
        return (self._shares(evidence) > self.alpha + TOLERANCE) | (evidence.frequencies < self.k)

    def forced(self, evidence: ClassEvidence) -> NDArray[np.int64]:
        """Per class, how many of its records every finer recoding must suppress: all of a small
        class.
        """
        shares = self._shares(evidence)
        records = evidence.classes.records
        small = evidence.frequencies < self.k
        common = shares > self.alpha + TOLERANCE
        # x records of the value must go so that (n·s − x)/(n − x) ≤ α: x ≥ n(s − α)/(1 − α).
        fewest_removed = records * (shares - self.alpha) / max(1 - self.alpha, TOLERANCE)
        return forced_records(evidence, small | common, np.where(small, records, fewest_removed))

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The smallest α that holds, and the classes that are too small or too uniform."""
        shares = self._shares(evidence)
        failing = (shares > self.alpha + TOLERANCE) | (evidence.frequencies < self.k)
        return verdict_of_worst(
            self,
            evidence,
            failing,
            shares,
            worst="largest",
            required=self.alpha,
            sentence=self._sentence,
            counts_crowds=True,
        )

    def implies(self, model: Model) -> bool:
        """Shares of at most α mean at least 1/α values, evenly enough for entropy diversity too."""
        if isinstance(model, KAnonymity):
            return model.k <= self.k
        if isinstance(model, AlphaKAnonymity):
            protects_as_much = model.sensitive == self.sensitive and self._protects(model.values)
            return protects_as_much and self.alpha <= model.alpha and self.k >= model.k
        # as many persons as values are needed where persons have several rows; k sees to that
        diverse = LDiversity(self.sensitive, l=min(float(self.k), 1 / self.alpha), kind="entropy")
        return self.values is None and diverse.implies(model)

    def _protects(self, values: tuple[str, ...] | None) -> bool:
        return self.values is None or (values is not None and set(values) <= set(self.values))

    @classmethod
    def usual_degrees(cls, sensitive: str, k: int) -> Sequence[Model]:
        """A fifth to nine tenths."""
        return [cls(sensitive, alpha=alpha, k=k) for alpha in (0.2, 0.3, 0.5, 0.7, 0.9)]

    def class_bound(self, evidence: ClassEvidence) -> int:
        """No share above α takes 1/α different values, where all are protected."""
        size = 1 if evidence.wildcard is not None else self.k
        values = 1
        if self.values is None:
            values = math.ceil(1 / self.alpha - TOLERANCE)
        totals = counts_of(evidence, self.sensitive).total().tolist()
        return most_classes(totals, values, size)

    def _shares(self, evidence: ClassEvidence) -> NDArray[Any]:
        """Per class the share of its most common protected value."""
        counts = counts_of(evidence, self.sensitive)
        protected = np.ones(len(counts.labels), dtype=np.bool_)
        if self.values is not None:
            self._require_known(evidence)
            protected[:] = [label in self.values for label in counts.labels]
        return kernels.distributions.find_largest_shares(  # type: ignore[no-any-return]
            counts.starts, counts.codes, counts.counts, protected
        )

    def _require_known(self, evidence: ClassEvidence) -> None:
        """Refuse values that the column does not have: a misspelt one would silently not be
        protected.
        """
        unknown = set(self.values or ()) - set(counts_of(evidence, self.sensitive).labels)
        # An empty table has no values, misspelt or not.
        if unknown and len(evidence.classes):
            raise SchemaError(
                f"{self.promise}: {len(unknown)} of {len(self.values or ())} protected values do"
                " not occur in the column; write them as they stand in the file"
            )

    def _sentence(self, evidence: ClassEvidence, failing: Flags, attained: float) -> str:
        column = spoken(self.sensitive)
        smallest = extreme(evidence.frequencies, "smallest")
        if not failing.any():
            return (
                f"every class has at least {smallest} members and no protected value of {column}"
                f" makes up more than {percent(attained)} of one"
            )
        sentence = (
            f"{share_of_records(evidence, failing)} belong to a class of fewer than {self.k} or "
            f"with more than {percent(self.alpha)} of one protected value of {column}; the "
            f"smallest class has {smallest}, the largest share is {percent(attained)}"
        )
        reason = too_few_values(evidence, self.sensitive, 2)
        return with_reason(sentence, reason or bound_in_words(self.class_bound(evidence)))
