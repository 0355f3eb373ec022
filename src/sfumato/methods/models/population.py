"""Promises about a population that the table was drawn from: k-map, and δ-presence about who is in
the table at all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.model import TOLERANCE, ClassEvidence, Facts, Model, Needs, Verdict
from sfumato.core.parameters import FILE, parameters
from sfumato.core.population import weight_column
from sfumato.core.words import percent
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.formulas.uniqueness import SamplingFraction
from sfumato.methods.models.sensitive import extreme, share_of_records, verdict, verdict_of_worst

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Schema

USUAL_CONFIDENCE = 0.95
"""How sure one must be of an estimated population, unless told otherwise."""


PopulationFile = Annotated[
    str | None, FILE, Field(description="file with a table of the whole population")
]
CountColumn = Annotated[
    str | None,
    Field(
        min_length=1,
        description="column of the population that counts people; by default a row is a person",
    ),
]


@parameters
class KMap(Model):
    r"""Every released class matches at least k records of the population the table was drawn from.

    .. math:: \min_E F_E \ge k

    :math:`F_E` is the number of population records that class *E* generalises. There are three ways
    to know it:

    - a population table (``population``, a file of a recipe, or the one given to the call): its
      records are counted, with the same hierarchies as the table's. It need not contain the table;
      a class that matches nobody fails. A small table of counts, such as a census table of the
      quasi-identifiers, will do: ``counts`` names the column that says how many people a row stands
      for.
    - ``weights=True``: the sum of the survey weights in the
      class, :math:`\hat F_E = \sum_{i \in E} w_i`.
    - ``fraction``: the share :math:`\pi` of the population that was sampled at random.
      With :math:`f_E` records in the class, :math:`F_E - f_E` is negative binomial with :math:`f_E`
      successes of probability :math:`\pi`, and the largest k with :math:`P(F_E \ge k) \ge c`
      counts, *c* being ``confidence`` (0.95 unless given). The same number follows from a test
      of :math:`F_E < k`: it is rejected just
      if :math:`P(\mathrm{Bin}(k-1, \pi) \ge f_E) \le 1 - c`.

    Where the schema names a person column, :math:`f_E` counts persons, and a population table that
    holds the same column must have one row a person. Missing values equal only missing ones unless
    they are wildcards. An empty table keeps every promise. ARX tests with a Poisson instead of the
    binomial distribution, which has a heavier tail and asks for classes at least as large; sdcMicro
    has no k-map but adds up weights to the same :math:`F_E`.

    Reference: Sweeney 2002, doi:10.1142/S0218488502001648; El Emam & Dankar 2008,
    doi:10.1197/jamia.M2716.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> model = KMap(5, weights=True)
    >>> model.judge(gather(examples.weighted_keys(), [model]))
    ✓ 5-map: every class stands for at least 5 people of the population, by their survey weights
    """

    k: Annotated[
        int,
        Field(
            ge=1,
            examples=[5],
            description="smallest acceptable number of matching population records",
        ),
    ]
    population: PopulationFile = None
    weights: Annotated[bool, Field(description="estimate the population by survey weights")] = False
    fraction: SamplingFraction = None
    confidence: Annotated[
        float | None,
        Field(
            gt=0,
            lt=1,
            description="with fraction: how sure the estimate must be; 0.95 by default",
        ),
    ] = None
    counts: CountColumn = None

    name: ClassVar[str] = "k_map"
    facts: ClassVar[Facts] = Facts(against="identity")
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = True
    scope: ClassVar[Literal["class", "table"]] = "class"

    def __post_init__(self) -> None:
        # Two ways at once would give two numbers, of which one would be ignored.
        ways = [self.population is not None, self.weights, self.fraction is not None]
        if sum(ways) > 1:
            raise ParameterError(
                "give one of population, weights and fraction; each is another way to know the "
                "population"
            )
        if self.counts is not None and (self.weights or self.fraction is not None):
            raise ParameterError(
                "counts is a column of a population table, which weights and fraction do without; "
                "leave one out"
            )
        if self.confidence is not None and self.fraction is None:
            raise ParameterError(
                "confidence belongs to an estimate by fraction; give fraction too, or leave "
                "confidence out"
            )

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k}-map"

    @property
    def population_counts(self) -> str | None:
        """The column that counts people."""
        return self.counts

    @property
    def enough_k(self) -> int | None:
        """Classes of k records match k records of any population they were drawn from."""
        return None if self.fraction is None else self.k

    def needs(self, schema: Schema) -> Needs:
        """A population: a table, or survey weights, or nothing where the sampled share is known."""
        if not schema.quasi:
            raise SchemaError("k-map needs at least one column with role quasi")
        if self.weights:
            weight_column(schema)
        return Needs(
            weights=self.weights,
            population=not self.weights and self.fraction is None,
            population_counts=self.counts,
        )

    def failing(self, evidence: ClassEvidence) -> NDArray[np.bool_]:
        """Classes that match fewer than k records of the population."""
        return self._matches(evidence) < self.k - TOLERANCE

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The least number of matches, and the classes that have too few."""
        values = self._matches(evidence)
        failing = values < self.k - TOLERANCE
        return verdict_of_worst(
            self,
            evidence,
            failing,
            values,
            worst="smallest",
            required=self.k,
            sentence=self._sentence,
            counts_crowds=True,
        )

    def implies(self, model: Model) -> bool:
        """A larger k implies a smaller one when the population is known in the same way."""
        return isinstance(model, KMap) and self.k >= model.k and self._basis() == model._basis()

    def _basis(self) -> tuple[Any, ...]:
        # Left out or given as what is usual, it is the same confidence.
        estimate = self.weights, self.fraction, self.confidence or USUAL_CONFIDENCE
        return self.population, self.counts, *estimate

    def _matches(self, evidence: ClassEvidence) -> NDArray[Any]:
        """Per class, the population records it matches, known or estimated."""
        classes = evidence.classes
        if self.fraction is not None:
            return least_population(
                evidence.frequencies, self.fraction, self.confidence or USUAL_CONFIDENCE
            )
        people = classes.weights if self.weights else classes.population
        if people is None:
            source = "survey weights" if self.weights else "a population table"
            raise SchemaError(
                f"{self.promise} was judged without {source}; gather evidence with it"
            )
        return people

    def _sentence(
        self, evidence: ClassEvidence, failing: NDArray[np.bool_], attained: float
    ) -> str:
        if failing.any():
            return (
                f"{share_of_records(evidence, failing)} match fewer than {self.k} people of the"
                f" population; the rarest match {attained:g}"
            )
        if self.weights:
            return (
                f"every class stands for at least {attained:g} people of the population, by their"
                " survey weights"
            )
        sure = ""
        if self.fraction is not None:
            sure = f", {percent(self.confidence or USUAL_CONFIDENCE)} sure"
        return f"everyone could be at least {attained:g} people of the population{sure}"


def least_population(
    sizes: NDArray[np.int64], fraction: float, confidence: float
) -> NDArray[np.int64]:
    """The population that classes of these sizes surely have, given the sampled share.

    The lower ``1 − confidence`` quantile of the negative binomial distribution of all matching
    records.

    >>> import numpy as np
    >>> least_population(np.array([1, 2, 10]), fraction=0.1, confidence=0.95).tolist()
    [1, 4, 57]
    """
    from scipy.stats import nbinom

    if fraction == 1:
        return sizes
    # Few different sizes occur: the quantile is worked out once for each.
    distinct, at = np.unique(sizes, return_inverse=True)
    # Where the distribution function hits 1 − c exactly one more is sure; TOLERANCE steps over it.
    lower_bound = distinct + nbinom.ppf(1 - confidence + TOLERANCE, distinct, fraction)
    return np.asarray(lower_bound, dtype=np.int64)[at]


# δ-presence: whether somebody is in the table stays open.


@parameters
class DeltaPresence(Model):
    r"""For everyone of the population, the chance of being in the table lies between ``low`` and
    ``high``.

    .. math:: \delta_{min} \le \frac{f_E}{F_E} \le \delta_{max} \quad \text{for every class } E

    :math:`f_E` counts the records (or persons) of the table in class *E*, :math:`F_E` those of the
    population that the class generalises; the table is taken to be part of the population. A class
    that holds more records than the population has there fails whatever ``high`` is. People of the
    population whom no released class matches are known to be absent: their chance is 0, which
    breaks every ``low`` above 0. Suppressing a class makes its people absent too, so with ``low``
    above 0 nothing is gained by it: one bad class, and all are.

    The population may be a small table of counts: ``counts`` names the column that says how many
    people a row stands for. An empty table keeps every promise. ARX agrees where all records of the
    population match a class of the table.

    Reference: Nergiz, Atzori & Clifton 2007, doi:10.1145/1247480.1247554.
    """

    low: Annotated[float, Field(ge=0, le=1, description="least acceptable chance of presence")]
    high: Annotated[float, Field(gt=0, le=1, description="greatest acceptable chance of presence")]
    population: PopulationFile = None
    counts: CountColumn = None

    name: ClassVar[str] = "delta_presence"
    facts: ClassVar[Facts] = Facts(against="membership")
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ParameterError("low must not be greater than high")

    @property
    def population_counts(self) -> str | None:
        """The column that counts people."""
        return self.counts

    @property
    def scope(self) -> Literal["class", "table"]:
        """With a least chance, suppressing one class breaks the promise for its people."""
        return "table" if self.low > 0 else "class"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"({self.low:g}, {self.high:g})-presence"

    def needs(self, schema: Schema) -> Needs:
        """A population table."""
        if not schema.quasi:
            raise SchemaError("δ-presence needs at least one column with role quasi")
        return Needs(population=True, population_counts=self.counts)

    def failing(self, evidence: ClassEvidence) -> NDArray[np.bool_]:
        """Classes whose chance is out of bounds; all of them when somebody's chance is below
        ``low``.
        """
        values = self._chances(evidence)
        failing = (values > self.high + TOLERANCE) | (values < self.low - TOLERANCE)
        # Suppressing the bad class would make its people absent, whose chance is 0: below low, too.
        if self.low > 0 and (failing.any() or evidence.absent):
            failing[:] = True
        return failing

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The largest chance of presence (``attained``), and the classes out of bounds."""
        values = self._chances(evidence)
        failing = self.failing(evidence)
        attained = extreme(values, "largest")
        sentence = self._sentence(evidence, values) if len(values) else ""
        return verdict(
            self,
            evidence,
            failing,
            attained=attained,
            required=self.high,
            per_class=values,
            sentence=sentence,
        )

    def implies(self, model: Model) -> bool:
        """Narrower bounds imply wider ones, and a chance of at most 1/k implies k-map with the same
        population.
        """
        if isinstance(model, KMap):
            own = (False, None, self.population, self.counts)
            basis = (model.weights, model.fraction, model.population, model.counts)
            same_population = basis == own
            return same_population and model.k <= math.ceil(1 / self.high - TOLERANCE)
        if not isinstance(model, DeltaPresence):
            return False
        if (self.population, self.counts) != (model.population, model.counts):
            return False
        return self.low >= model.low and self.high <= model.high

    def _chances(self, evidence: ClassEvidence) -> NDArray[np.float64]:
        everyone = evidence.classes.population
        if everyone is None:
            raise SchemaError(
                f"{self.promise} was judged without a population table; gather evidence with it"
            )
        # A class that matches nobody has no chance that could be allowed.
        chances = np.full(len(everyone), np.inf)
        sizes = evidence.classes.sizes
        np.divide(sizes, everyone, out=chances, where=everyone > 0)
        chances[sizes > everyone] = np.inf
        return chances

    def _sentence(self, evidence: ClassEvidence, values: NDArray[np.float64]) -> str:
        lowest = 0.0 if evidence.absent else float(values.min())
        beyond = int(np.isinf(values).sum())
        if beyond:
            return (
                f"{beyond:,} classes hold more people than the population has there; give a "
                "population that contains the whole table"
            )
        text = (
            f"an intruder finds somebody in the table with a chance between {lowest:.3g} and"
            f" {float(values.max()):.3g}"
        )
        if evidence.absent and self.low > 0:
            text += (
                f"; {evidence.absent:,} people of the population match no released class and are"
                " known to be absent"
            )
        return text
