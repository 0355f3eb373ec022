"""Limits on the risk of re-identification: of the worst record, of the average one, of how many,
and of all together.

All of them look at classes alone. With *f* records (persons, where the schema names them) in its
class, a record is picked rightly with a chance of 1/f by an intruder who knows that the person is
in the table. Models about the whole table suppress the riskiest classes first, one by one and as
few records as possible, until they hold.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol

import numpy as np
from pydantic import Field

from sfumato.core.model import TOLERANCE, ClassEvidence, Facts, Model, Needs, Verdict
from sfumato.core.parameters import parameters
from sfumato.core.population import weight_column
from sfumato.core.words import percent
from sfumato.errors import SchemaError
from sfumato.methods.formulas.uniqueness import (
    Estimator,
    Uniques,
    individual_risk,
    population_uniques,
)
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.models.sensitive import extreme, share_of_records, verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.core.schema import Schema

    Flags = NDArray[np.bool_]
    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


NEAR = 1e-12
"""Share of the whole excess that rounding may hide."""
MOST_WORK = 20_000_000
"""Classes times records up to which the fewest records are decided by trying all sums."""
IDENTITY = Facts(against="identity", measure="quantitative")
Chance = Annotated[float, Field(gt=0, le=1)]


# Which classes go so that a sum over the rest is small enough and the fewest records are lost.
#
# A promise about the whole table asks :math:`\sum_{E \text{ kept}} x_E \le s`: every class has an
# excess :math:`x_E` (its harm less what the promise allows its records) and there may be a slack
# *s*. Dropping the class *E* costs :math:`n_E` records, so this is a
# knapsack: the least cost at which the excess is made up for. The riskiest classes, which have the
# largest excess a record, go first, one by one; equal ones by their keys, so that the order of the
# rows does not matter.


def fewest_records(classes: ClassTable, members: Ints, excess: Floats, slack: float = 0.0) -> Flags:
    """The classes to drop: as few members as possible, so that the excess of the rest is at most
    ``slack``.

    ``members`` are what the promise counts in each class, records or persons, and ``excess`` is
    that of one of them. Where the larger classes do not have the smaller excess, the fewest records
    are a sum to be hit; it is searched for within ``MOST_WORK``, and beyond that less than one
    class too many goes. Everything goes when nothing less will do.
    """
    gains = excess * members
    dropped = np.zeros(len(gains), dtype=np.bool_)
    need = float(gains.sum()) - slack
    near = NEAR * float(np.abs(gains).sum())
    if need <= near:
        return dropped
    order = _riskiest_first(classes, members, excess)
    sack = _Sack(members[order], gains[order], need - near)
    if sack.enough is None:
        return ~dropped
    dropped[order[sack.fewest()]] = True
    return dropped


def _riskiest_first(
    classes: ClassTable, members: Ints, excess: Floats
) -> NDArray[np.signedinteger[Any]]:
    """The classes whose dropping helps, the largest excess a member first, then the smallest, then
    by their keys.
    """
    useful = np.flatnonzero(excess > 0)
    keys = classes.keys[useful]
    sizes = classes.sizes[useful]
    sort_keys = (*keys.T[::-1], members[useful], sizes, -excess[useful])
    return useful[np.lexsort(sort_keys)]


@dataclasses.dataclass(frozen=True)
class _Sack:
    """Classes in the order in which they go: what each costs, what it helps, and what is needed in
    all.
    """

    costs: Ints
    gains: Floats
    need: float

    @property
    def enough(self) -> int | None:
        """How many go, one after the other, until that is enough."""
        sums = np.cumsum(self.gains)
        if not (len(sums) and sums[-1] >= self.need):
            return None
        return int(np.searchsorted(sums, self.need)) + 1

    def fewest(self) -> Ints:
        """Positions of the classes that go."""
        first = np.arange(self.enough or 0)
        if (np.diff(self.costs) >= 0).all() and (np.diff(self.gains) <= NEAR * self.need).all():
            return first  # no set of fewer classes is enough, and none of as many has fewer records
        needed = self._without_needless(first)
        spent = int(self.costs[needed].sum())
        if spent <= self._fewest_records(len(first)):
            return needed
        return self._hit(spent - 1, needed)

    def _fewest_records(self, count: int) -> int:
        """Records that are lost at least: as if a part of the last class could go."""
        before = slice(0, count - 1)
        last = count - 1
        missing_gain = self.need - float(self.gains[before].sum())
        part = self.costs[last] * missing_gain / self.gains[last]
        # Every sum of costs is a multiple of their common divisor: the bound is rounded up to one.
        step = math.gcd(*self.costs.tolist())
        cost_before = int(self.costs[before].sum())
        records_needed = (cost_before + float(part)) / step
        return step * math.ceil(records_needed * (1 - NEAR))

    def _without_needless(self, first: Ints) -> Ints:
        """Keep again what need not go, the least risky first; classes alike are taken together."""
        spare = float(self.gains[first].sum()) - self.need
        needless = np.zeros(len(first), dtype=np.bool_)
        costs_differ = np.diff(self.costs[first]) != 0
        gains_differ = np.diff(self.gains[first]) != 0
        alike = np.flatnonzero(costs_differ | gains_differ) + 1
        # From the end: the last classes help least a record, so they are the first to stay.
        for start, end in zip(
            [0, *alike.tolist()][::-1], [*alike.tolist(), len(first)][::-1], strict=True
        ):
            count = min(end - start, int(spare / self.gains[start]))
            needless[end - count : end] = True
            spare -= count * float(self.gains[start])
        return first[~needless]

    def _hit(self, record_limit: int, incumbent: Ints) -> Ints:
        """A set with at most so many records that is enough, of the fewest records; ``incumbent``
        where there is none.
        """
        # The classes that may take part: of those with one number of records the most
        # helpful, as many as fit
        numbers = np.arange(len(self.costs))
        order = np.lexsort((numbers, -self.gains, self.costs))
        # The place among classes of equal size: of these only the first few fit into the limit.
        first_ranks = np.searchsorted(self.costs[order], self.costs[order])
        rank = np.arange(len(order)) - first_ranks
        affordable = (rank + 1) * self.costs[order] <= record_limit
        items = np.sort(order[affordable])[::-1]
        if len(items) * (record_limit + 1) > MOST_WORK:
            return incumbent
        # best[r] is the most excess that goes with r records at most; choices remember by which.
        best = np.zeros(record_limit + 1)
        choices = np.zeros((len(items), record_limit + 1), dtype=np.bool_)
        for row, item in zip(choices, items.tolist(), strict=True):
            cost = int(self.costs[item])
            # From the sums without this class, so that it goes once at most.
            gains_with = best[: record_limit + 1 - cost] + self.gains[item]
            row[cost:] = gains_with > best[cost:] + NEAR * self.need
            best[cost:] = np.where(row[cost:], gains_with, best[cost:])
        hits = np.flatnonzero(best >= self.need)
        if not len(hits):
            return incumbent
        return self._read_back(items, choices, int(hits[0]))

    def _read_back(self, items: Ints, choices: Flags, records: int) -> Ints:
        """The set that the table of sums stands for."""
        dropped = []
        # In the reverse order: what a class was added to are the sums before it.
        for row, item in zip(choices[::-1], items[::-1].tolist(), strict=True):
            if row[records]:
                dropped.append(item)
                records -= int(self.costs[item])
        return np.array(dropped, dtype=np.int64)


class _BelowThreshold(Model, Protocol):
    """A promise about the chances 1/f of records that are above a threshold, or not."""

    threshold: float
    facts: ClassVar[Facts] = IDENTITY
    monotone: ClassVar[bool] = True

    @property
    def enough_k(self) -> int:
        """With classes this large no record is above the threshold, and so neither is a mean."""
        # TOLERANCE: 1/τ may lie above a whole number by rounding alone.
        return math.ceil(1 / self.threshold - TOLERANCE)

    def needs(self, schema: Schema) -> Needs:
        """Nothing but the classes."""
        return classes_only(self, schema)


class _SumOfRecords(_BelowThreshold, Protocol):
    """A promise about a mean over all records: the riskiest classes go until it is low enough."""

    shrinking: ClassVar[bool] = False
    scope: ClassVar[Literal["class", "table"]] = "table"

    def _excess(self, evidence: ClassEvidence) -> Floats:
        """Per class what one of its records is above what the promise allows on average."""
        ...

    def failing(self, evidence: ClassEvidence) -> Flags:
        """The riskiest classes, as few records as must go for the mean to be low enough."""
        return fewest_records(evidence.classes, evidence.classes.records, self._excess(evidence))

    def excess(self, evidence: ClassEvidence) -> tuple[Floats, float]:
        """Per class what it adds to a sum over the released ones, and what that may be at most."""
        return self._excess(evidence) * evidence.classes.records, 0.0


@parameters
class MaximumRisk(_BelowThreshold):
    r"""Nobody is picked rightly with a chance above the threshold.

    .. math:: \max_E 1/f_E \le \tau

    That is k-anonymity with :math:`k = \lceil 1/\tau \rceil`, and judged in the same way. The bound
    is the prosecutor's: the intruder knows that the person is in the table. ARX calls it the
    highest prosecutor risk.

    Reference: El Emam & Dankar 2008, doi:10.1197/jamia.M2716.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> MaximumRisk(0.5).judge(gather(examples.torra(), [MaximumRisk(0.5)]))
    ✓ highest risk 0.5: nobody is picked correctly with a chance above 0.5
    """

    threshold: Annotated[
        Chance, Field(examples=[0.2], description="highest acceptable chance of re-identification")
    ]

    name: ClassVar[str] = "maximum_risk"
    shrinking: ClassVar[bool] = True
    scope: ClassVar[Literal["class", "table"]] = "class"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"highest risk {self.threshold:g}"

    def failing(self, evidence: ClassEvidence) -> Flags:
        """Classes with too high a risk."""
        # By whole numbers, so that 1/f = τ is not a matter of rounding.
        return evidence.frequencies < self.enough_k

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The highest risk, and the classes above the threshold."""
        risks = 1 / evidence.frequencies
        failing = self.failing(evidence)
        attained = extreme(risks, "largest")
        sentence = f"nobody is picked correctly with a chance above {attained or 0:.3g}"
        if failing.any():
            sentence = (
                f"{share_of_records(evidence, failing)} are picked correctly with a chance above "
                f"{self.threshold:g}, up to {attained:.3g}"
            )
        return risk_verdict(
            self,
            evidence,
            failing,
            attained=attained,
            required=self.threshold,
            per_class=risks,
            sentence=sentence,
        )

    def implies(self, model: Model) -> bool:
        """Whatever k-anonymity implies."""
        return KAnonymity(self.enough_k).implies(model)


@parameters
class AverageRisk(_SumOfRecords):
    r"""Over all records, the mean chance of being picked rightly is at most the threshold.

    .. math:: \frac{1}{N} \sum_E f_E \cdot \frac{1}{f_E} = \frac{\text{number of classes}}{N}
        \le \tau

    The marketer's risk: the share of records an intruder gets right who tries all of them. Where
    the schema names persons,
    :math:`f_E` counts persons and the mean is taken over records, :math:`\frac1N \sum_E n_E/f_E`
    with :math:`n_E` records: a mean over persons of a class could rise when classes merge. Where
    missing values are wildcards, :math:`1/f` of each record is averaged. An empty table has no
    risk. ARX and sdcMicro agree.

    Reference: El Emam & Dankar 2008, doi:10.1197/jamia.M2716.
    """

    threshold: Annotated[
        Chance,
        Field(examples=[0.2], description="highest acceptable mean chance of re-identification"),
    ]

    name: ClassVar[str] = "average_risk"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"average risk {self.threshold:g}"

    def _excess(self, evidence: ClassEvidence) -> Floats:
        return 1 / evidence.frequencies - (self.threshold + TOLERANCE)

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The mean risk, and the classes that would have to go."""
        risks = 1 / evidence.frequencies
        records = evidence.classes.records
        attained = None
        if len(records):
            attained = float(risks @ records / records.sum())
        sentence = (
            f"somebody who tries all records is right for {attained or 0:.3g} of them on average"
        )
        return risk_verdict(
            self,
            evidence,
            self.failing(evidence),
            attained=attained,
            required=self.threshold,
            per_class=risks,
            sentence=sentence,
        )

    def implies(self, model: Model) -> bool:
        """A lower mean implies a higher one."""
        return isinstance(model, AverageRisk) and self.threshold <= model.threshold


@parameters
class RecordsAtRisk(_SumOfRecords):
    r"""At most a share of the records has a chance of being picked rightly that is above the
    threshold.

    .. math:: \frac{1}{N} \sum_E f_E \,[1/f_E > \tau] \le s

    With ``share=0`` that is the maximum risk. Persons are counted as in :class:`AverageRisk`. ARX
    has the same number ("records at risk").

    Reference: El Emam & Arbuckle 2013, *Anonymizing Health Data*.
    """

    threshold: Annotated[
        Chance,
        Field(
            examples=[0.2],
            description="chance of re-identification above which a record is at risk",
        ),
    ]
    share: Annotated[
        float,
        Field(
            ge=0, le=1, examples=[0.05], description="greatest acceptable share of records at risk"
        ),
    ]

    name: ClassVar[str] = "records_at_risk"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"at most {self.share:.4g} of records at risk above {self.threshold:g}"

    def _excess(self, evidence: ClassEvidence) -> Floats:
        at_risk = evidence.frequencies < self.enough_k
        return at_risk.astype(float) - (self.share + TOLERANCE)

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The share at risk, and the classes that would have to go."""
        records = evidence.classes.records
        risks = 1 / evidence.frequencies
        at_risk = int(records[evidence.frequencies < self.enough_k].sum())
        attained = None
        if len(records):
            attained = at_risk / int(records.sum())
        sentence = (
            f"{at_risk:,} of {int(records.sum()):,} ({percent(attained or 0)}) are picked "
            f"correctly with a chance above {self.threshold:g}"
        )
        return risk_verdict(
            self,
            evidence,
            self.failing(evidence),
            attained=attained,
            required=self.share,
            per_class=risks,
            sentence=sentence,
        )

    def implies(self, model: Model) -> bool:
        """A smaller share above a lower threshold implies a larger one above a higher."""
        return (
            isinstance(model, RecordsAtRisk)
            and self.threshold <= model.threshold
            and self.share <= model.share
        )


def classes_only(model: Model, schema: Schema) -> Needs:
    """The needs of a model that looks at classes alone; without quasi-identifiers there are
    none.
    """
    if not schema.quasi:
        raise SchemaError(f"{model.promise} needs at least one column with role quasi")
    return Needs()


def risk_verdict(
    model: Model,
    evidence: ClassEvidence,
    failing: Flags,
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


# How many records an intruder gets right who tries them all.


@parameters
class ExpectedReidentifications(Model):
    r"""An intruder who tries all records gets at most ``limit`` of them right, by expectation.

    .. math:: \sum_E f_E\, r_E \le R

    :math:`r_E = 1/f_E` for an intruder who knows who is in the table: then every class gives one
    right guess, and the sum is the number of classes. With ``weights=True`` the intruder only has a
    register of the population, and :math:`r_E` is the mean of one over the people with these keys,
    estimated from the survey weights
    (:func:`~sfumato.methods.formulas.uniqueness.individual_risk`). Merging classes never raises the
    sum. sdcMicro shows the second number as expected re-identifications (``risk_ER``).

    Reference: Franconi & Polettini 2004, *Individual risk estimation in µ-Argus: a review*.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> model = ExpectedReidentifications(1, weights=True)
    >>> model.judge(gather(examples.weighted_keys(), [model]))
    ✓ at most 1 expected re-identifications: somebody who tries all records is expected to be right
    for 0.967 of 8
    """

    limit: Annotated[
        float, Field(ge=0, allow_inf_nan=False, description="greatest acceptable number")
    ]
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

    def failing(self, evidence: ClassEvidence) -> Flags:
        """The riskiest classes, as many as must go for the number to be small enough."""
        classes = evidence.classes
        return fewest_records(classes, classes.sizes, self._risks(evidence), self.limit + TOLERANCE)

    def excess(self, evidence: ClassEvidence) -> tuple[Floats, float]:
        """Per class what it adds to a sum over the released ones, and what that may be at most."""
        return self._risks(evidence) * evidence.classes.sizes, self.limit + TOLERANCE

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The expected number, and the classes that would have to go."""
        risks = self._risks(evidence)
        sizes = evidence.classes.sizes
        attained = float(risks @ sizes) if len(sizes) else None
        sentence = (
            f"somebody who tries all records is expected to be right for {attained or 0:.3g} of "
            f"{int(sizes.sum()):,}"
        )
        return risk_verdict(
            self,
            evidence,
            self.failing(evidence),
            attained=attained,
            required=self.limit,
            per_class=risks,
            sentence=sentence,
        )

    def implies(self, model: Model) -> bool:
        """A smaller number implies a larger one for the same intruder."""
        if not isinstance(model, ExpectedReidentifications):
            return False
        return self.weights == model.weights and self.limit <= model.limit

    def _risks(self, evidence: ClassEvidence) -> Floats:
        if not self.weights:
            return 1 / evidence.frequencies
        if evidence.classes.weights is None:
            raise SchemaError(
                f"{self.promise} was judged without survey weights; gather evidence with it"
            )
        return individual_risk(evidence.classes.sizes, evidence.classes.weights)


# How many records are unique in the population, by estimate.


@parameters
class PopulationUniqueness(Model):
    r"""At most a share of the population is, by estimate, unique in it by what the table tells.

    .. math:: \hat U / M \le s

    *M* = n/``fraction`` is the size of the population and :math:`\hat U` an estimate of the people
    in it who share their keys with nobody
    (:func:`~sfumato.methods.formulas.uniqueness.population_uniques`). Who is unique in the
    population is unique in the table too, so the promise holds as soon as all sample uniques are
    suppressed, and these are what goes. The estimates are not
    monotone: merging classes may raise them. Where missing values are wildcards, the number of
    compatible records stands for the class size. ARX's SNB differs (see there).

    Reference: Dankar, El Emam, Neisa & Roffey 2012, doi:10.1186/1472-6947-12-66.
    """

    share: Annotated[
        float, Field(ge=0, le=1, description="greatest acceptable share of population uniques")
    ]
    fraction: Annotated[
        float, Field(gt=0, le=1, description="share of the population that was sampled")
    ]
    estimator: Annotated[
        Estimator, Field(description="how uniques of the population are estimated")
    ] = "dankar"

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

    def failing(self, evidence: ClassEvidence) -> Flags:
        """All classes of one record, when the estimate is too high."""
        return self._failing(evidence, self._uniques(evidence))

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The estimated share, and the sample uniques if it is too high."""
        uniques = self._uniques(evidence)
        attained = uniques.share if len(evidence.classes) else None
        sentence = (
            f"about {uniques.number:,.3g} of {uniques.population:,} people"
            f" ({percent(uniques.share)}) are unique in the population ({uniques.how})"
        )
        risks = 1 / evidence.frequencies
        return risk_verdict(
            self,
            evidence,
            self._failing(evidence, uniques),
            attained=attained,
            required=self.share,
            per_class=risks,
            sentence=sentence,
        )

    def implies(self, model: Model) -> bool:
        """A smaller share implies a larger one under the same estimate."""
        if not isinstance(model, PopulationUniqueness) or self.share > model.share:
            return False
        return (self.fraction, self.estimator) == (model.fraction, model.estimator)

    def _uniques(self, evidence: ClassEvidence) -> Uniques:
        return population_uniques(evidence.frequencies, self.fraction, self.estimator)

    def _failing(self, evidence: ClassEvidence, uniques: Uniques) -> Flags:
        above_share = uniques.share > self.share + TOLERANCE
        return np.asarray((evidence.frequencies == 1) & above_share)
