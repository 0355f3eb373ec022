"""What a column is about by the words in its values, where its name says nothing: sex, marital
status, diagnoses, parties, crimes, answers to questionnaires.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence

from sfumato.core.data_files import read_data_file
from sfumato.guidance.profiling.concepts import Concept, concepts
from sfumato.guidance.profiling.detection import TextSample
from sfumato.guidance.profiling.words import words_of

# Distinct values above which a column holds no vocabulary of these.
_MOST_VALUES = 400

# Distinct values above which words for the sexes are of something else.
_MOST_SEXES = 5

# What vocabularies are called that are part of a concept.
_PART_OF: Mapping[str, str] = {"marital status": "family", "country": "place"}


@dataclasses.dataclass(frozen=True)
class _Vocabulary:
    """Words of a concept: how many of them must occur, and the share of the column's values that
    must have one.
    """

    concept: str
    words: frozenset[str]
    least: int
    share: float


@dataclasses.dataclass(frozen=True)
class ValueReading:
    """The concept that values are about, and what to call it."""

    concept: Concept
    subject: str


@functools.cache
def _vocabularies() -> tuple[_Vocabulary, ...]:
    return tuple(
        _Vocabulary(**{**entry, "words": frozenset(entry["words"])})
        for entry in read_data_file(__package__, "value_words")
    )


def read_values(sample: TextSample) -> ValueReading | None:
    """The concept whose words the distinct values of a column are made of, or None.

    >>> read_values(TextSample(("Male", "Female"), 40)).subject
    'sex'
    >>> read_values(TextSample(("cocaine", "heroin", "alcohol"), 40)).concept.role
    'sensitive'
    >>> read_values(TextSample(("yes", "no"), 40)) is None
    True
    """
    if not 2 <= len(sample.texts) <= _MOST_VALUES:
        return None
    values = [_words_in(text) for text in sample.texts]
    for vocabulary in _vocabularies():
        if _made_of(vocabulary, values):
            concept = _PART_OF.get(vocabulary.concept, vocabulary.concept)
            subject = vocabulary.concept
            if subject in concepts():
                subject = concepts()[subject].subject
            return ValueReading(concepts()[concept], subject)
    return None


def _words_in(text: str) -> frozenset[str]:
    """The words of a value, apart and joined (``nonsmoker``, ``5k``)."""
    words = words_of(text)
    return frozenset((*words, "".join(words)))


def _made_of(vocabulary: _Vocabulary, values: Sequence[frozenset[str]]) -> bool:
    hits = [value & vocabulary.words for value in values]
    having = sum(1 for hit in hits if hit)
    if vocabulary.concept == "sex" and len(values) > _MOST_SEXES:
        return False
    enough = having >= vocabulary.share * len(values)
    return enough and len(frozenset().union(*hits)) >= vocabulary.least
