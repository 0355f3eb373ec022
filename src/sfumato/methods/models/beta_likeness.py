"""How much more likely a class makes a value: β-likeness bounds the gain, δ-disclosure privacy the
logarithm of the ratio.
"""

from __future__ import annotations

import math
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
from sfumato.methods.models.sensitive import (
    Sensitive,
    counts_of,
    forced_records,
    is_constant,
    known_by_it,
    needs_of,
    reference_of,
    share_of_records,
    spoken,
    verdict_of_worst,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Schema

    Flags = NDArray[np.bool_]


LARGEST = 700.0
"""Beyond this δ its factor does not fit a number."""


@parameters
class BetaLikeness(SensitiveModel):
    r"""In no class does the share of a sensitive value exceed that in the original table by more
    than β times.

    .. math::
        \text{basic: } \frac{q_i - p_i}{p_i} \le \beta \qquad
        \text{enhanced: } \frac{q_i - p_i}{p_i} \le \min(\beta, -\ln p_i)
        \qquad \text{for every value with } q_i > p_i

    :math:`q_i` is the share of value *i* in the class, :math:`p_i` in the original table. Only
    gains are limited, so absent values are allowed. The enhanced kind holds frequent values
    tighter; where :math:`-\ln p_i` is exceeded no β holds and the attained one is infinite. A value
    that the original table does not have fails. A missing value is a value of its own; with a list
    of columns their combinations are the values. An empty table keeps every promise; a constant
    column is refused.

    ARX agrees. pycanon takes for the enhanced kind the largest over values of
    ``min(largest gain, −ln p)``, which is not the definition. Some lecture notes print "or" for the
    two limits: both hold.

    Reference: Cao & Karras 2012, *Publishing microdata with a robust privacy guarantee*,
    doi:10.14778/2350229.2350255.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> model = BetaLikeness("income", beta=2)
    >>> model.judge(gather(examples.faggioli_blocks(), [model]))
    ✗ basic 2-likeness of income: 140 of 740 records (18.9 %) belong to a class that makes a value
    of income more than 3 times as likely as in the original table; the worst 4.07 times
    """

    sensitive: Sensitive
    beta: Annotated[
        float,
        Field(
            gt=0,
            allow_inf_nan=False,
            examples=[1],
            description="largest relative gain of a value's share",
        ),
    ]
    kind: Annotated[
        Literal["basic", "enhanced"],
        Field(description="whether frequent values are bounded more tightly"),
    ] = "basic"

    name: ClassVar[str] = "beta_likeness"
    facts: ClassVar[Facts] = Facts(against="attribute")
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = False
    scope: ClassVar[Literal["class", "table"]] = "class"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.kind} {self.beta:g}-likeness of {spoken(self.sensitive)}"

    def needs(self, schema: Schema) -> Needs:
        """The sensitive column, counted per class and in the original table."""
        return needs_of(self.promise, self.sensitive, schema, reference=True)

    def failing(self, evidence: ClassEvidence) -> Flags:
        """Classes that make some value too likely."""
        # Gains are compared with β alone: the enhanced ones are infinite beyond −ln p.
        return self._gains(evidence) > self.beta + TOLERANCE

    def forced(self, evidence: ClassEvidence) -> NDArray[np.int64]:
        """Per class, how many of its records every finer recoding must suppress."""
        counts = counts_of(evidence, self.sensitive)
        reference = reference_of(evidence, self.sensitive)
        shares = reference / max(1, reference.sum())
        limits = np.full(len(shares), self.beta)
        if self.kind == "enhanced":
            # A value that the original lacks has the share 0, of which there is no logarithm.
            limits = np.minimum(limits, -np.log(np.maximum(shares, 1e-300)))
        fewest_removed = kernels.distributions.count_least_removed(
            # Only gains are limited: a share may fall to 0.
            counts.starts,
            counts.codes,
            counts.counts,
            shares * (1 + limits),
            np.zeros(len(shares)),
        )
        return forced_records(evidence, self.failing(evidence), fewest_removed)

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The smallest β that holds, and the classes that exceed the promised one."""
        gains = self._gains(evidence)
        failing = gains > self.beta + TOLERANCE
        return verdict_of_worst(
            self,
            evidence,
            failing,
            gains,
            worst="largest",
            required=self.beta,
            sentence=self._sentence,
        )

    def implies(self, model: Model) -> bool:
        """The enhanced kind implies the basic one, a smaller β a larger one."""
        if not isinstance(model, BetaLikeness) or model.sensitive != self.sensitive:
            return False
        return self.beta <= model.beta and (self.kind == "enhanced" or model.kind == "basic")

    def _gains(self, evidence: ClassEvidence) -> NDArray[Any]:
        """Per class the relative gain of the value that gains most; infinite where no β holds."""
        if is_constant(evidence, self.sensitive):
            return np.full(len(evidence.classes), np.inf)
        counts = counts_of(evidence, self.sensitive)
        reference = reference_of(evidence, self.sensitive)
        if self.kind == "enhanced":
            gains: NDArray[Any] = kernels.distributions.measure_gains(
                counts.starts, counts.codes, counts.counts, reference, TOLERANCE
            )
        else:
            _, largest, _ = kernels.distributions.find_ratio_ranges(
                counts.starts, counts.codes, counts.counts, reference
            )
            # A class in which no share rose has no gain, not a negative one.
            gains = np.maximum(largest - 1.0, 0.0)
        return gains

    def _sentence(self, evidence: ClassEvidence, failing: Flags, attained: float) -> str:
        if is_constant(evidence, self.sensitive):
            return known_by_it(evidence, failing, self.sensitive)
        column = spoken(self.sensitive)
        if not failing.any():
            return (
                f"no class makes a value of {column} more than {1 + attained:.3g} times as likely"
                " as in the original table"
            )
        limit = f"{1 + self.beta:.3g} times" + (
            " (frequent ones: 1 − ln p)" if self.kind == "enhanced" else ""
        )
        worst = "beyond any β"
        if attained < float("inf"):
            worst = f"{1 + attained:.3g} times"
        return (
            f"{share_of_records(evidence, failing)} belong to a class that makes a value of "
            f"{column} more than {limit} as likely as in the original table; the worst {worst}"
        )


# δ-disclosure privacy: no class changes what is known about a sensitive value by much, up or down.


@parameters
class DeltaDisclosure(SensitiveModel):
    r"""In every class the share of each sensitive value is within a factor :math:`e^\delta` of that
    in the original table.

    .. math:: \Bigl|\ln \frac{q_i}{p_i}\Bigr| < \delta \quad\text{for every value of the table}

    :math:`q_i` is the share of value *i* in the class, :math:`p_i` in the original table; the
    logarithm is natural and the inequality strict. A value that a class lacks has :math:`\ln 0` and
    fails it, as the definition says. ``absent="skip"`` looks only at the values a class has, as
    other tools do: that tells an intruder which values a person does *not* have, and merging two
    good classes can give a bad one, so a search may not prune with it. A missing value is a value
    of its own; with a list of columns their combinations are the values. An empty table keeps every
    promise; a constant column is refused.

    ARX and pycanon skip absent values, and ARX takes logarithms to base 2: its δ is ours, with
    ``absent="skip"``, times 1/ln 2.

    Reference: Brickell & Shmatikov 2008, *The cost of privacy*, doi:10.1145/1401890.1401904.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> model = DeltaDisclosure("test", delta=0.25, absent="skip")
    >>> model.judge(gather(examples.disclosure_counterexample(), [model]))
    ✓ 0.25-disclosure privacy of test (absent values skipped): no class changes how likely a value
    of test is by more
    than a factor of 1.27
    """

    sensitive: Sensitive
    delta: Annotated[
        float,
        Field(gt=0, allow_inf_nan=False, description="bound on the logarithm of a change of share"),
    ]
    absent: Annotated[
        Literal["fail", "skip"], Field(description="how a value that is absent from a class counts")
    ] = "fail"

    name: ClassVar[str] = "delta_disclosure"
    facts: ClassVar[Facts] = Facts(against="attribute")
    shrinking: ClassVar[bool] = False
    scope: ClassVar[Literal["class", "table"]] = "class"

    @property
    def monotone(self) -> bool:
        """Whether merging keeps it: not when absent values are skipped, see (2, 8), (0, 30), (28,
        82).
        """
        return self.absent == "fail"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        skipping = " (absent values skipped)" if self.absent == "skip" else ""
        return f"{self.delta:g}-disclosure privacy of {spoken(self.sensitive)}{skipping}"

    def needs(self, schema: Schema) -> Needs:
        """The sensitive column, counted per class and in the original table."""
        return needs_of(self.promise, self.sensitive, schema, reference=True)

    def failing(self, evidence: ClassEvidence) -> Flags:
        """Classes that change some value's share too much."""
        return self._changes(evidence) >= self.delta - TOLERANCE

    def forced(self, evidence: ClassEvidence) -> NDArray[np.int64]:
        """Per class, how many of its records every finer recoding must suppress; unknown when
        absent ones are skipped.
        """
        # Merging may break the promise, so finer classes may hold where this one does not.
        if not self.monotone:
            return np.zeros(len(evidence.classes), dtype=np.int64)
        counts = counts_of(evidence, self.sensitive)
        reference = reference_of(evidence, self.sensitive)
        shares = reference / max(1, reference.sum())
        factor = factor_of(self.delta)
        fewest_removed = kernels.distributions.count_least_removed(
            counts.starts, counts.codes, counts.counts, shares * factor, shares / factor
        )
        return forced_records(evidence, self.failing(evidence), fewest_removed)

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The δ that is just too small, and the classes that break the promised one."""
        changes = self._changes(evidence)
        failing = changes >= self.delta - TOLERANCE
        return verdict_of_worst(
            self,
            evidence,
            failing,
            changes,
            worst="largest",
            required=self.delta,
            sentence=self._sentence,
        )

    def implies(self, model: Model) -> bool:
        """A smaller δ implies a larger one, the closeness of :math:`e^δ`, and the basic likeness
        of :math:`e^δ − 1`.
        """
        if self.absent == "fail" and model.holds_within(self.sensitive, factor_of(self.delta)):
            return True
        if isinstance(model, BetaLikeness):
            stronger = BetaLikeness(self.sensitive, beta=math.expm1(min(self.delta, LARGEST)))
            return stronger.implies(model)
        if not isinstance(model, DeltaDisclosure) or model.sensitive != self.sensitive:
            return False
        return self.delta <= model.delta and (self.absent == "fail" or model.absent == "skip")

    def _changes(self, evidence: ClassEvidence) -> NDArray[Any]:
        """Per class the largest absolute logarithm of a change of share."""
        if is_constant(evidence, self.sensitive):
            return np.full(len(evidence.classes), np.inf)
        counts = counts_of(evidence, self.sensitive)
        reference = reference_of(evidence, self.sensitive)
        smallest, largest, complete = kernels.distributions.find_ratio_ranges(
            counts.starts, counts.codes, counts.counts, reference
        )
        # Rises and falls alike: the smallest ratio, turned over, is a factor too.
        changes: NDArray[Any] = np.log(np.maximum(largest, 1.0 / smallest))
        if self.absent == "fail":
            changes[~complete] = np.inf
        return changes

    def _sentence(self, evidence: ClassEvidence, failing: Flags, attained: float) -> str:
        if is_constant(evidence, self.sensitive):
            return known_by_it(evidence, failing, self.sensitive)
        column = spoken(self.sensitive)
        if not failing.any():
            return (
                f"no class changes how likely a value of {column} is by more than a factor of"
                f" {math.exp(attained):.3g}"
            )
        worst = "some classes lack a value, which rules it out"
        if attained < math.inf:
            worst = f"the worst by a factor of {math.exp(attained):.3g}"
        return (
            f"{share_of_records(evidence, failing)} belong to a class that changes how likely a "
            f"value of {column} is by a factor of {factor_of(self.delta):.3g} or more; {worst}"
        )


def factor_of(delta: float) -> float:
    """The change of a share that a δ allows, ``exp(δ)``; beyond what a number can hold it makes no
    difference.
    """
    return math.exp(min(delta, LARGEST))
