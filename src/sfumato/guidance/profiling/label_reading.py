"""What the variable label of a column says, in files that have labels: SPSS, Stata and SAS.

A label is a phrase (``NUMBER OF CIGARETTES SMOKED PER DAY``) where the name is often a code. It is
read where the name says nothing, and in doubt about a weight.
"""

from __future__ import annotations

from collections.abc import Collection

from sfumato.guidance.profiling.concepts import NameContext, concepts, languages_of
from sfumato.guidance.profiling.lexicon import word_lists
from sfumato.guidance.profiling.name_reading import read_name
from sfumato.guidance.profiling.role_guess import RoleGuess, guess_of_concept
from sfumato.guidance.profiling.words import find_all, words_of

EVIDENCE = "the variable label says"


def guess_of_label(label: str, topics: Collection[str] = ()) -> RoleGuess | None:
    """The guess for a column by its label; None where the label says nothing, and where it may say
    that the column numbers people, which only its owner can know.

    >>> str(guess_of_label("Number of cigarettes smoked per day").roles[0])
    'sensitive'
    >>> guess_of_label("Unique personal identifier") is None
    True
    """
    words = frozenset(words_of(label))
    if words & word_lists().body and words & word_lists().body_or_survey_weight:
        return guess_of_concept(concepts()["body"], EVIDENCE, 0.6, "label")
    if any(match.family in ("direct", "design") for match in find_all(label)):
        return None
    if words & _NUMBERING:
        return None
    context = NameContext(languages_of(words_of(label)), frozenset(topics), words)
    reading = read_name(label, context)
    if reading.concept is None:
        return None
    return guess_of_concept(concepts()[reading.concept], EVIDENCE, 0.6, "label", role=reading.role)


# Words of labels of columns that number people or records.
_NUMBERING = frozenset({"id", "identifier", "identification", "serial", "sequence"})
