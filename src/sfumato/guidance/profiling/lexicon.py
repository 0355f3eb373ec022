"""Words by which columns are recognised, in several languages, read from data files on first use.

Terms are written with their blanks; the joined spellings (``firstname``) follow from them. The
languages are English, German, French, Spanish, Italian, Dutch, Portuguese, Polish, Swedish with
Danish and Norwegian, and single words of others.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence

from sfumato.core.data_files import read_data_file

# Direct identifiers, the design of a sample, what outsiders may know, what nobody may learn.
FAMILIES = ("direct", "design", "quasi", "sensitive")

# Concepts whose values cannot be numbers: a numeric column of such a name is something else.
NEVER_NUMBERS = frozenset(
    {
        "person name",
        "name",
        "e-mail address",
        "postal address",
        "web address",
        "user account",
        "picture or biometric",
        "free text",
    }
)

# Quasi concepts that are GDPR Art. 9 categories as well: proposed as quasi and sensitive.
QUASI_AND_SENSITIVE = frozenset({"ethnicity"})

# Concepts that are special categories under GDPR Art. 9.
ART_9 = frozenset(
    {"health", "religion or belief", "sexual life", "political opinion", "trade union", "ethnicity"}
)


@dataclasses.dataclass(frozen=True)
class WordLists:
    """Words beside a term, which change what the term means.

    ``beside_a_term`` change nothing (``home_address``). ``person`` beside *name* or *id* say that a
    person is meant, and ``other_people`` are those of them whom rows about somebody else name
    (``doctor_name``); ``thing`` say that something else is meant (``product_name``).
    ``about_an_identifier`` say that a column does not hold the identifier (``email_verified``).
    ``body`` beside *weight* say that a body is weighed; ``body_or_survey_weight`` name a body
    weight in one table and a survey weight in another, and so do the abbreviations
    ``short_weight``.
    """

    beside_a_term: frozenset[str]
    body: frozenset[str]
    body_or_survey_weight: frozenset[str]
    short_weight: frozenset[str]
    person: frozenset[str]
    other_people: frozenset[str]
    thing: frozenset[str]
    about_an_identifier: frozenset[str]


@functools.cache
def word_lists() -> WordLists:
    """The words beside terms."""
    lists = read_data_file(__package__, "word_lists")
    return WordLists(**{name: frozenset(words) for name, words in lists.items()})


def terms_of(family: str) -> Mapping[str, Sequence[str]]:
    """Concept → terms of a family. A reason names the concept."""
    terms: Mapping[str, Sequence[str]] = read_data_file(__package__, f"{family}_terms")
    return terms


def words_alone(concept: str) -> Sequence[str]:
    """Words that mean a concept only where nothing but people and numbers is named beside them.

    ``tax_filer_stat`` is no country (*stát*), ``charge_degree`` no education, ``violent_recid`` no
    record number, ``first_visit`` nobody's name.
    """
    words: Sequence[str] = read_data_file(__package__, "words_alone").get(concept, ())
    return words


def stems() -> Mapping[str, Sequence[str]]:
    """Concept → letters that mean it anywhere in a name, as in ``patvorname``."""
    letters: Mapping[str, Sequence[str]] = read_data_file(__package__, "stems")
    return letters


@functools.cache
def given_names() -> frozenset[str]:
    """Common given names. Short on purpose: *many different* names make a column one of names."""
    return frozenset(read_data_file(__package__, "given_names"))
