"""What a column is by the words in it, where its name says nothing: sex, marital status, ethnicity, schooling, countries."""

from __future__ import annotations

import dataclasses
import re

from sfumato.profiling.finding import Sample
from sfumato.profiling.lexicon_direct import words_in
from sfumato.profiling.words import fold

_MOST_VALUES = 400
"""Distinct values above which a column holds no vocabulary of these."""

_SEX = words_in(
    """
    male female man woman men women boy girl mann frau maennlich weiblich mannlich homme femme masculin feminin hombre mujer
    masculino femenino maschio femmina uomo donna vrouw vrouwelijk mannelijk feminino mezczyzna kobieta kvinna kvinde mand
    kvinne mies nainen m f w
    """
)
_MARITAL = words_in(
    """
    married divorced widowed widow widower separated single unmarried spouse cohabiting verheiratet geschieden verwitwet ledig
    marie divorce veuf veuve celibataire casado casada divorciado divorciada viudo viuda soltero soltera coniugato coniugata
    divorziato vedovo vedova celibe nubile gehuwd gescheiden weduwe ongehuwd solteiro solteira viuvo zonaty zamezna rozwiedziony
    wdowiec gift skild ogift anka ugift fraskilt
    """
)
_ETHNIC = words_in(
    """
    white black asian hispanic latino latina caucasian african indian eskimo aleut indigenous mestizo mulatto roma arab pacific
    islander chinese native aboriginal maori
    """
)
_SCHOOL = words_in(
    """
    bachelor bachelors master masters doctorate phd highschool college grade diploma graduate undergraduate abitur hauptschule
    realschule gymnasium hochschule universitaet primaire secondaire licence baccalaureat primaria secundaria universidad
    bachillerato elementare media laurea basisschool universiteit preschool kindergarten primary secondary tertiary school hs
    """
)
_COUNTRIES = words_in(
    """
    germany france spain italy poland netherlands belgium austria switzerland sweden norway denmark finland portugal greece
    ireland england scotland hungary romania bulgaria russia ukraine turkey israel iran iraq syria egypt morocco algeria tunisia
    nigeria ghana kenya ethiopia somalia china japan korea taiwan vietnam thailand laos cambodia philippines indonesia india
    pakistan bangladesh afghanistan mexico cuba jamaica haiti guatemala honduras nicaragua salvador panama colombia ecuador peru
    bolivia brazil argentina chile uruguay canada australia yugoslavia deutschland frankreich spanien italien polen oesterreich
    schweiz tuerkei allemagne espagne italie pologne turquie alemania francia italia polonia niemcy francja tyskland
    """
)


@dataclasses.dataclass(frozen=True)
class _Vocabulary:
    """Words of a concept: how many of them must occur, and the share of the column's values that must have one."""

    concept: str
    words: frozenset[str]
    least: int
    share: float


_VOCABULARIES = (
    _Vocabulary("sex", _SEX, 2, 0.6),
    _Vocabulary("marital status", _MARITAL, 3, 0.5),
    _Vocabulary("ethnicity", _ETHNIC, 3, 0.6),
    _Vocabulary("country", _COUNTRIES, 5, 0.5),
    _Vocabulary("education", _SCHOOL, 3, 0.35),
)
_WORD = re.compile(r"[^\W\d_]+")


def told_by_values(sample: Sample) -> str | None:
    """The concept whose words the distinct values of a column are made of, or None.

    >>> told_by_values(Sample(("Male", "Female"), 40)), told_by_values(Sample(("yes", "no"), 40))
    ('sex', None)
    """
    if not 2 <= len(sample.texts) <= _MOST_VALUES:
        return None
    values = [frozenset(_WORD.findall(fold(text).lower())) for text in sample.texts]
    return next((vocabulary.concept for vocabulary in _VOCABULARIES if _made_of(vocabulary, values)), None)


def _made_of(vocabulary: _Vocabulary, values: list[frozenset[str]]) -> bool:
    hits = [value & vocabulary.words for value in values]
    having = sum(1 for hit in hits if hit)
    if vocabulary.concept == "sex" and len(values) > 5:
        return False
    return len(frozenset().union(*hits)) >= vocabulary.least and having >= vocabulary.share * len(values)
