"""From the context to what must hold: intruders, promises and limits, each with its reasoning and
its source.

Published thresholds are those of :func:`sfumato.methods.formulas.choice_of_k.published_thresholds`,
with how far each could be checked. Which of them belongs to which context is our reading, and is
called so. None makes a release lawful.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from sfumato.core.fields import Document
from sfumato.core.schema import Schema
from sfumato.errors import ParameterError
from sfumato.guidance.recommendation.answers import ContextAnswers
from sfumato.methods.formulas.choice_of_k import (
    PublishedThreshold,
    choose_k,
    published_thresholds,
    risk_of,
)
from sfumato.release.limit_checks import USUAL_LIMITS

OPEN = "anybody"
# People below which a population counts as small: those of an area that may be told under the US
# Safe Harbor rule are more.
SMALL = 20_000

# Who can be held to account → how bad it would be → the smallest class.
CLASS_SIZES: dict[str, dict[str, int]] = {
    OPEN: {"low": 11, "medium": 15, "high": 20},
    "researchers": {"low": 5, "medium": 5, "high": 11},
    "internal": {"low": 3, "medium": 5, "high": 11},
    "trusted": {"low": 3, "medium": 3, "high": 5},
}

IPC = (
    "the table of the Ontario IPC's guidelines (2025): 0.09, 0.075 and 0.05 taken as 11, 15 and 20"
)
SOURCES: dict[int, tuple[str, str]] = {
    3: (
        "SDC Practice Guide (World Bank and IHSN, 2019): 3 and 5 are typical of official microdata",
        "seen at the source",
    ),
    5: (
        (
            "SDC Practice Guide (World Bank and IHSN, 2019): 3 and 5 are typical of official"
            " microdata; ARX (2025) takes a highest risk of 0.2"
        ),
        "seen at the source",
    ),
    11: (
        f"EMA Policy 0070 (2016) and Health Canada PRCI (2019): 0.09 taken as 11; {IPC}",
        "secondary source",
    ),
    15: (IPC, "secondary source"),
    20: (IPC, "secondary source"),
}
SAFE_HARBOR = (
    "45 CFR 164.514(b)(2): an area may be shown only if more than 20,000 people live there",
    "secondary source",
)
DIVERSITY = (
    "Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam 2007, doi:10.1145/1217299.1217302",
    "it gives no number for l",
)
COPIES = ("the usual limit of this package; we know of no published threshold", "our own")
PROSECUTOR = (
    "El Emam & Dankar 2008, doi:10.1197/jamia.M2716",
    "it names the intruders but no threshold",
)
FIVE_SAFES = (
    "Desai, Ritchie & Welpton 2016, Five Safes, UWE Economics Working Paper 1601",
    "it names the questions but no threshold",
)

# Published numbers that are about classes of records, and the state of the text; the others are
# about counts in tables.
AS_OF = {
    "EMA Policy 0070, Health Canada PRCI": "2016 and 2019",
    "Ontario IPC 2025, low invasion of privacy": "2025",
    "Ontario IPC 2025, medium": "2025",
    "Ontario IPC 2025, high": "2025",
    "ARX, highest risk by default": "September 2025",
    "Official-statistics microdata": "July 2019",
}


@dataclasses.dataclass(frozen=True)
class Reason:
    """One thing that is proposed, why, where the number is from, and how far the source could be
    checked.
    """

    what: str
    why: str
    source: str
    seen: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why} ({self.source}; {self.seen})"


@dataclasses.dataclass(frozen=True)
class ProposedTerms:
    """What must hold of every candidate: class size, diversity, limits; and who is feared."""

    k: int
    diversity: Mapping[str, int]
    limits: Mapping[str, float]
    reasons: tuple[Reason, ...]

    @property
    def promises(self) -> list[Document]:
        """The promises as a recipe writes them."""
        diverse = [
            {"l_diversity": {"sensitive": column, "l": values}}
            for column, values in self.diversity.items()
        ]
        return [{"k_anonymity": {"k": self.k}}, *diverse]


def exposure_of(answers: ContextAnswers) -> str:
    """Who is feared: the recipient where he is bound, else anybody."""
    bound = answers.contract == "yes" and answers.recipient in CLASS_SIZES
    return answers.recipient if bound else OPEN


def is_small(answers: ContextAnswers) -> bool:
    """Whether the people may know each other; an unknown number of people is small."""
    return answers.population is None or answers.population <= SMALL


def harm_of(answers: ContextAnswers) -> str:
    """How bad it would be: as answered, and a step worse where the population is small.

    >>> (
    ...     harm_of(ContextAnswers(sensitivity="low", population=5000)),
    ...     harm_of(ContextAnswers(sensitivity="low", population=10**6)),
    ... )
    ('medium', 'low')
    """
    steps = ("low", "medium", "high")
    if answers.sensitivity in steps:
        step = steps.index(answers.sensitivity)
    else:
        step = len(steps) - 1
    return steps[min(len(steps) - 1, step + is_small(answers))]


def terms_for(
    answers: ContextAnswers, schema: Schema, distinct: Mapping[str, int], people: int
) -> ProposedTerms:
    """What must hold in this context.

    ``distinct`` has the number of values of every sensitive column, ``people`` how many the table
    has.

    >>> terms_for(ContextAnswers("researchers", "yes", "medium", 10**6), Schema({}), {}, 100).k
    5
    """
    if answers.population is not None and answers.population < people:
        raise ParameterError(
            f"the table has {people:,} people, so its population cannot be smaller; give the "
            "number of all people"
        )
    audience, harm = exposure_of(answers), harm_of(answers)
    k = CLASS_SIZES[audience][harm]
    required_diversity = 3 if harm == "high" else 2
    # what is known cannot be learned
    secret = [name for name in schema.sensitive if name not in schema.quasi]
    diversity = {
        name: min(required_diversity, distinct[name]) for name in secret if distinct[name] > 1
    }
    # never below 1/k, which classes of k may reach
    limits = {"linkage": math.ceil(10_000 / k) / 10_000}
    reasons = (
        *_feared(answers, audience),
        _class_size(answers, k, audience, harm),
        *_small(answers),
        _linkage(k),
        _copies(),
    )
    if diversity:
        reasons = (*reasons, _diverse(diversity, required_diversity))
    return ProposedTerms(k, diversity, limits, (*reasons, *_sampled(answers, k, people)))


def _feared(answers: ContextAnswers, audience: str) -> tuple[Reason, ...]:
    """The intruders of the battery that this context is about."""
    always = Reason(
        "intruder: prosecutor",
        "somebody may know that a person is in the file, and all quasi-identifiers",
        *PROSECUTOR,
    )
    colleague = Reason(
        "intruder: colleague",
        "somebody who works with people of the file knows things that are not quasi-identifiers",
        *FIVE_SAFES,
    )
    if audience != OPEN:
        if audience == "internal":
            return (always, colleague)
        return (always,)
    sentence = "the recipient is not bound by contract"
    if answers.recipient in ("public", "unknown"):
        sentence = "anybody may receive it"
    reason = Reason(
        "intruders: journalist, neighbour, worst case",
        f"{sentence}: an attempt is taken as certain",
        *PROSECUTOR,
    )
    return (always, reason, colleague)


def _class_size(answers: ContextAnswers, k: int, audience: str, harm: str) -> Reason:
    source, checked = SOURCES[k]
    if audience != OPEN or k <= 5:
        source += "; applying it to this context is our reading, not theirs"
    if audience == OPEN:
        recipients = audience
    else:
        recipients = f"{audience} under contract"
    why = (
        f"for {recipients} and {harm} harm, nobody may be picked correctly more often "
        f"than once in {k}"
    )
    return Reason(f"promise: {k}-anonymity", why, source, checked)


def _small(answers: ContextAnswers) -> tuple[Reason, ...]:
    if not is_small(answers):
        return ()
    sentence = "an unknown population counts as"
    if answers.population is not None:
        sentence = f"{answers.population:,} people are"
    why = (
        f"{sentence} small: the people may know each other, so harm counts a step worse; our"
        " reading"
    )
    return (Reason("harm", why, *SAFE_HARBOR),)


def _linkage(k: int) -> Reason:
    why = (
        "an intruder who links the release with other knowledge of people may be right no more "
        f"often than by guessing in a class of {k}"
    )
    return Reason(f"limit: linkage at most 1/{k}", why, *SOURCES[k])


def _copies() -> Reason:
    limit = USUAL_LIMITS["copied_records"]
    why = (
        "if records are synthetic, many more than chance repetitions may be somebody's true record"
    )
    return Reason(f"limit: copied records at most {limit:g}", why, *COPIES)


def _diverse(diversity: Mapping[str, int], required: int) -> Reason:
    columns = ", ".join(diversity)
    why = (
        f"an intruder who finds a person's class must not learn {columns}; how many values is our "
        "choice, and 2 is the least that means anything"
    )
    return Reason(
        f"promise: {required} values of each sensitive column in every class", why, *DIVERSITY
    )


def _sampled(answers: ContextAnswers, k: int, people: int) -> tuple[Reason, ...]:
    """What a large population would allow, which is told and never taken: who is in the file may be
    known.
    """
    if answers.population is None or not people or answers.population <= people:
        return ()
    enough = choose_k(risk_of(k), population=answers.population, records=people).sample
    why = (
        f"if nobody knew who is in the file, classes of {enough} would suffice by estimate; "
        "somebody may know, so the promise is not lowered"
    )
    return (
        Reason(
            "population",
            why,
            "Benedetti & Franconi 1998; Skinner & Elliot 2002, doi:10.1111/1467-9868.00365",
            "secondary source",
        ),
    )


# Which bars a class size meets.


@dataclasses.dataclass(frozen=True)
class PublishedBar:
    """A published number, and whether the promise meets it."""

    name: str
    k: int
    met: bool
    sentence: str


def bars_for(k: int) -> tuple[PublishedBar, ...]:
    """Published numbers about classes of records, each met or not; never more than the numeric
    part.

    >>> [bar.met for bar in bars_for(11)][:2], bars_for(20)[0].sentence.split(" as of ")[0]
    ([True, True], 'classes of 20 meet the numeric part of EMA Policy 0070, Health Canada PRCI
    (classes of 11)')
    """
    return tuple(
        _bar(threshold, k) for threshold in published_thresholds() if threshold.name in AS_OF
    )


def _bar(threshold: PublishedThreshold, k: int) -> PublishedBar:
    met = k >= threshold.k
    verb = "meet" if met else "do not meet"
    sentence = (
        f"classes of {k} {verb} the numeric part of {threshold.name} (classes of {threshold.k})"
        f" as of {AS_OF[threshold.name]}; {threshold.source}, {threshold.seen}"
    )
    risk = threshold.risk
    if met and risk is not None and risk_of(k) > risk:
        sentence += f"; 1/{k} is more than {risk:g}, so do not claim a risk of at most {risk:g}"
    return PublishedBar(threshold.name, threshold.k, met, sentence)
