"""From a tolerable risk to k, and back.

k-anonymity bounds the chance of picking the right record of a known participant by 1/k. So a risk
asks for a k, and here is the trap: thresholds are published as rounded numbers. 0.09 is not 1/11 =
0.0909…; a class of 11 does not keep a risk of at most 0.09, a class of 12 does. Practice
nevertheless takes 11. Both readings are told, and which is which.
"""

from __future__ import annotations

import dataclasses
import math

from sfumato.core.data_files import read_data_file
from sfumato.core.fields import Document
from sfumato.errors import ParameterError
from sfumato.methods.formulas.uniqueness import individual_risk

TOLERANCE = 1e-9
"""Relative slack: a risk given as 1/3 asks for 3, whatever the last digits of a floating-point
number say.
"""

RULE_OF_THUMB = (("low", 3, 5), ("medium", 5, 10), ("high", 10, 20))
"""How much protection a table needs, and the k that is usually taken: a habit, not a norm, and no
substitute for a risk.
"""


@dataclasses.dataclass(frozen=True)
class PublishedThreshold:
    """A threshold that somebody published: a risk, a class size, or both.

    ``seen`` says how far we could check it: *seen at the source*, or in a *secondary source* only.
    """

    name: str
    risk: float | None
    k: int
    source: str
    seen: str


def published_thresholds() -> tuple[PublishedThreshold, ...]:
    """All of them, as they are listed."""
    return tuple(
        PublishedThreshold(**entry) for entry in read_data_file(__package__, "published_thresholds")
    )


@dataclasses.dataclass(frozen=True)
class ChosenK:
    """What a tolerable risk asks of k.

    ``strict`` is the smallest k with 1/k at most the risk; ``practice`` what is usually taken for
    it. ``sample`` is the smallest class in the file that is enough when nobody knows who is in it,
    given how many people it was drawn from.
    """

    risk: float
    strict: int
    practice: int
    published: tuple[PublishedThreshold, ...] = ()
    population: int | None = None
    records: int | None = None
    sample: int | None = None

    def to_dict(self) -> Document:
        """The choice as plain data, with both risks and the sentences."""
        plain = dataclasses.asdict(self)
        return {
            **plain,
            "strict_risk": risk_of(self.strict),
            "practice_risk": risk_of(self.practice),
            "sentences": self.sentences(),
        }

    def sentences(self) -> list[str]:
        """Both readings in plain words."""
        sentences = [
            f"Strictly: k = {self.strict:,}, because {_compare_with_risk(self.strict, self.risk)}.",
            self._in_practice(),
        ]
        sentences += [
            f"{threshold.name}: risk {threshold.risk:g} becomes k = {threshold.k} "
            f"({threshold.source}; {threshold.seen})."
            for threshold in self.published
        ]
        if self.sample is not None:
            sentences.append(
                f"If nobody knows who is in the file: k = {self.sample:,}, when its"
                f" {self.records:,} records are a random sample of {self.population:,} people. That"
                " is an estimate; the model k_map with a population table is a promise."
            )
        return sentences

    def _in_practice(self) -> str:
        if self.published:
            reading = "In practice"
        else:
            reading = "To the nearest whole number"
        if self.practice == self.strict:
            return f"{reading}: the same."
        compared = _compare_with_risk(self.practice, self.risk)
        if self.practice > self.strict:
            return f"{reading}: k = {self.practice:,}; {compared} as well."
        return (
            f"{reading}: k = {self.practice:,}, but {compared}: do not claim a risk of at most"
            f" {self.risk:g}."
        )

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def k_for(risk: float, strict: bool = True) -> int:
    """The k that a tolerable risk asks for.

    Strictly the smallest k with ``1/k ≤ risk``, which is ``ceil(1/risk)`` up to rounding of
    floating-point numbers. Not
    strictly: the class size that published guidance pairs with this risk, or else the whole number
    nearest to 1/risk.

    >>> k_for(0.09), k_for(0.09, strict=False)
    (12, 11)
    >>> k_for(1 / 11), k_for(0.2), k_for(0.075), k_for(0.075, strict=False)
    (11, 5, 14, 15)
    """
    if isinstance(risk, bool) or not 0 < risk <= 1:
        raise ParameterError(
            "a tolerable risk must be above 0 and at most 1: 0.09 is nine in a hundred"
        )
    if strict:
        # 1/0.2 may come out above 5 by rounding, and would ask for 6.
        return math.ceil(1 / risk * (1 - TOLERANCE))
    paired = []
    for threshold in published_thresholds():
        if threshold.risk is not None and math.isclose(threshold.risk, risk):
            paired.append(threshold.k)
    # Of several published values the most careful one.
    return max(paired, default=max(1, round(1 / risk)))


def risk_of(k: int) -> float:
    """The risk that k bounds: the chance of picking the right record of a known participant, 1/k.

    >>> risk_of(20), round(risk_of(11), 4)
    (0.05, 0.0909)
    """
    if isinstance(k, bool) or k < 1:
        raise ParameterError("k must be a whole number of at least 1")
    return 1 / k


def choose_k(risk: float, *, population: int | None = None, records: int | None = None) -> ChosenK:
    """Both readings of a tolerable risk, and what others published about it.

    ``population`` and ``records`` (given together) add the class size that is enough when the file
    is a random sample and nobody knows who is in it: the smallest f with a mean of 1/F of at most
    the risk, where F is the size of the class in the population given f in the sample (Benedetti &
    Franconi 1998; see
    :func:`sfumato.methods.formulas.uniqueness.individual_risk`).

    >>> print(choose_k(0.33))
    Strictly: k = 4, because 1/4 = 0.25 is at most 0.33.
    To the nearest whole number: k = 3, but 1/3 = 0.3333 is more than 0.33: do not claim a risk of
    at most 0.33.
    >>> choose_k(0.09, population=100_000, records=10_000).sample
    2
    """
    strict = k_for(risk)
    published = tuple(
        threshold
        for threshold in published_thresholds()
        if threshold.risk is not None and math.isclose(threshold.risk, risk)
    )
    if (population is None) != (records is None):
        raise ParameterError(
            "give population and records together: how many people there are, and how many of "
            "them are in the file"
        )
    sample = None
    if not (population is None or records is None):
        sample = _enough_in_sample(risk, strict, population, records)
    return ChosenK(
        risk,
        strict,
        practice=k_for(risk, strict=False),
        published=published,
        population=population,
        records=records,
        sample=sample,
    )


def _enough_in_sample(risk: float, strict: int, population: int, records: int) -> int:
    """The smallest class of a sample whose estimated risk against the population is tolerable; the
    risk falls with f.
    """
    if not 1 <= records <= population:
        raise ParameterError(
            "records must be at least 1 and at most the population they were drawn from"
        )
    # The strict k is always enough: a sample is never riskier than its own size says.
    low, high = 1, strict
    while low < high:
        middle = (low + high) // 2
        if float(individual_risk([middle], [middle * population / records])[0]) <= risk * (
            1 + TOLERANCE
        ):
            high = middle
        else:
            low = middle + 1
    return low


def _compare_with_risk(k: int, risk: float) -> str:
    return f"1/{k:,} = {risk_of(k):.4g} is {'more than' if k < k_for(risk) else 'at most'} {risk:g}"
