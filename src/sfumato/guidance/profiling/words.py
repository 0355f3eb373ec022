"""Column names as words: split, folded and looked up in the lexicons of several languages."""

from __future__ import annotations

import dataclasses
import functools
import re
import unicodedata
from collections.abc import Mapping

from sfumato.guidance.profiling import lexicon_direct, lexicon_quasi, lexicon_sensitive
from sfumato.guidance.profiling.lexicon_direct import BESIDE, ONLY_ALONE, PERSON_WORDS

LONGEST_TERM = 5
"""Words a term may span (``medical record number of patient``)."""

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
    def others(self) -> tuple[str, ...]:
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


STEMS = {
    "person name": (
        "surname lastname firstname givenname forename familyname fullname vorname nachname"
        " familienname prenom apellido cognome voornaam achternaam sobrenome nazwisko efternamn"
        " fornamn etternavn efternavn sukunimi etunimi prijmeni"
    ),
    "e-mail address": "email courriel",
    "phone number": "telephone phonenumber telefonn telefono telefoon",
    "national id number": "socialsecurity sozialversicherung personnummer burgerservice",
    "medical record number": "medicalrecord patientennummer",
    "birth date": (
        "birthdate dateofbirth geburtsdatum geboortedatum datenaissance fechanacimiento datanascita"
    ),
    "postal code": "zipcode postcode postleitzahl codepostal codigopostal",
}
"""Concept → letters that say it wherever they stand in a name: people write ``patvorname`` and
``custlastname`` in one word.
"""


def find_all(name: str) -> list[Match]:
    """Every term in a column name, best first; only whole words count, joined (``firstname``) or
    not.
    """
    words = words_of(name)
    index = _index()
    matches = [
        match
        for length in range(min(LONGEST_TERM, len(words)), 0, -1)
        for start in range(len(words) - length, -1, -1)
        for family, concept in index.get("".join(words[start : start + length]), ())
        if _stands(match := Match(family, concept, words, start, length))
    ]
    return sorted(matches, key=lambda m: (-m.length, -m.start)) or _by_stem(words)


def _stands(match: Match) -> bool:
    """Whether a term counts: some words mean what they mean only where nothing else is said."""
    if match.length > 1 or match.words[match.start] not in ONLY_ALONE.get(match.concept, ()):
        return True
    return all(word.isdigit() or word in BESIDE or word in PERSON_WORDS for word in match.others)


def _by_stem(words: tuple[str, ...]) -> list[Match]:
    """Long words that say a concept inside a word; nothing else of the name is known."""
    joined = "".join(words)
    return [
        Match(
            "direct" if concept in lexicon_direct.DIRECT else "quasi", concept, words, 0, len(words)
        )
        for concept, stems in STEMS.items()
        if any(stem in joined for stem in stems.split())
    ]


@functools.cache
def _index() -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Joined term → the (family, concept) pairs it stands for."""
    index: dict[str, tuple[tuple[str, str], ...]] = {}
    for family, concepts in {
        **lexicon_direct.FAMILIES,
        **lexicon_quasi.FAMILIES,
        **lexicon_sensitive.FAMILIES,
    }.items():
        for concept, terms in concepts.items():
            for key in _spellings(terms):
                index[key] = (*index.get(key, ()), (family, concept))
    return index


def _spellings(terms: str) -> set[str]:
    """Joined, folded spellings of a comma-separated list of terms; umlauts also in two letters."""
    keys = set()
    for term in terms.replace("\n", " ").split(","):
        for spelling in (term, term.lower().translate(_UMLAUTS)):
            key = "".join(words_of(spelling))
            if key:
                keys.add(key)
    return keys
