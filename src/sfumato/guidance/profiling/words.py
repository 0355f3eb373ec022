"""Column names as words: split, folded and looked up in the lexicons of several languages."""

from __future__ import annotations

import dataclasses
import functools
import re
import unicodedata
from collections.abc import Mapping, Sequence

from sfumato.guidance.profiling.lexicon import (
    FAMILIES,
    stems,
    terms_of,
    word_lists,
    words_alone,
)

# Words a term may span (``medical record number of patient``).
LONGEST_TERM = 5

_WORD = re.compile(r"[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_UNDECOMPOSED = str.maketrans(
    {
        "ß": "ss",
        "ł": "l",
        "Ł": "L",
        "ø": "o",
        "Ø": "O",
        "æ": "ae",
        "Æ": "AE",
        "đ": "d",
        "Đ": "D",
        "ı": "i",
        "œ": "oe",
        "Œ": "OE",
    }
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})


@dataclasses.dataclass(frozen=True)
class Match:
    """A term of a lexicon found in a column name: its concept, and the words of the name around
    it.
    """

    family: str
    concept: str
    words: tuple[str, ...]
    start: int
    length: int

    @property
    def other_words(self) -> tuple[str, ...]:
        """The words of the name that are not part of the term."""
        return self.words[: self.start] + self.words[self.start + self.length :]


def fold(text: str) -> str:
    """Text without accents.

    >>> fold("Straße Żółć Población")
    'Strasse Zolc Poblacion'
    """
    decomposed = unicodedata.normalize("NFKD", text.translate(_UNDECOMPOSED))
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def words_of(name: str) -> tuple[str, ...]:
    """The words of a column name, lower case and without accents.

    camelCase, snake_case, dots, blanks and the border between letters and digits part words.

    >>> words_of("dateOfBirth"), words_of("IBANNumber"), words_of("Straße.2"), words_of("paid")
    (('date', 'of', 'birth'), ('iban', 'number'), ('strasse', '2'), ('paid',))
    """
    return tuple(word.lower() for word in _WORD.findall(fold(name)))


def find(name: str) -> Match | None:
    """The term that says most about a column: the longest, and among equals the last (a name's
    head).

    >>> find("patient_birth_date").concept, find("adresse_mail").concept, find("paid")
    ('birth date', 'e-mail address', None)
    """
    matches = find_all(name)
    return matches[0] if matches else None


def find_all(name: str) -> list[Match]:
    """Every term in a column name, best first; only whole words count, joined (``firstname``) or
    not.
    """
    words = words_of(name)
    index = _index()
    matches = []
    for length in range(min(LONGEST_TERM, len(words)), 0, -1):
        for start in range(len(words) - length, -1, -1):
            for family, concept in index.get("".join(words[start : start + length]), ()):
                match = Match(family, concept, words, start, length)
                if _stands(match):
                    matches.append(match)
    return sorted(matches, key=lambda m: (-m.length, -m.start)) or _by_stem(words)


def _stands(match: Match) -> bool:
    """Whether a term counts: some words mean what they mean only where nothing else is said."""
    if match.length > 1 or match.words[match.start] not in words_alone(match.concept):
        return True
    harmless = word_lists().beside_a_term | word_lists().person
    return all(word.isdigit() or word in harmless for word in match.other_words)


def _by_stem(words: tuple[str, ...]) -> list[Match]:
    """Long words that say a concept inside a word; nothing else of the name is known."""
    joined = "".join(words)
    matches = []
    for concept, letters in stems().items():
        if any(stem in joined for stem in letters):
            family = "quasi"
            if concept in terms_of("direct"):
                family = "direct"
            matches.append(Match(family, concept, words, 0, len(words)))
    return matches


@functools.cache
def _index() -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Joined term → the (family, concept) pairs it stands for."""
    index: dict[str, tuple[tuple[str, str], ...]] = {}
    for family in FAMILIES:
        for concept, terms in terms_of(family).items():
            for key in spellings(terms):
                index[key] = (*index.get(key, ()), (family, concept))
    return index


def spellings(terms: Sequence[str]) -> set[str]:
    """Joined, folded spellings of terms; umlauts also in two letters."""
    keys = set()
    for term in terms:
        keys.add("".join(words_of(term)))
        keys.add("".join(words_of(term.translate(_UMLAUTS))))
    keys.discard("")
    return keys
