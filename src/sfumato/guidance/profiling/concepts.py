"""Concepts that columns of tables about people are of, and the words of ten languages that name
them.

``concepts.json`` says for each concept which role its columns get and by whose authority;
``words_<concept>.json`` has its words by language, ``abbreviations.json`` shorter spellings, of
which some hold only in tables about a topic. Words that mean several things are in ``senses.json``
instead, with the topics or the neighbours that decide between their meanings.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sfumato.core.data_files import read_data_file
from sfumato.guidance.profiling.words import spellings, words_of

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt", "pl", "sv", "da")
ENGLISH = "en"

# Subjects that a table can be about: concepts whose columns must not be learned.
TOPICS: Mapping[str, str] = {
    "health": "health",
    "substance": "health",
    "sexuality": "health",
    "study": "health",
    "crime": "crime",
    "money": "money",
    "opinion": "opinion",
    "belief": "opinion",
    "ability": "ability",
}

# A word of fewer letters is read in a language only where other names are of that language:
# Polish "dom" is a house, Danish "dom" a judgment.
_LONG_WORD = 5

# Letters a word must begin with to be read as the beginning of known words (diagn for diagnosis).
_LONG_BEGINNING = 5

# Endings that do not change what a word is about, in ten languages, and what stands in their place.
_ENDINGS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(["s", "n", "e", "a", "o", "i", "y", "x", "h", "m", "t", "r", "d"], ("",)),
    **dict.fromkeys(
        ["es", "en", "em", "er", "ern", "ed", "te", "ne", "na", "al", "ly", "ów"], ("", "e")
    ),
    **dict.fromkeys(["ing", "ers", "ned"], ("", "e")),
    **dict.fromkeys(["ies", "ied"], ("y",)),
    **dict.fromkeys(["isch", "ique", "ische"], ("",)),
}
_SHORTEST_STEM = 4


@dataclasses.dataclass(frozen=True)
class Concept:
    """What a column may be about: ``subject`` in the words of a question, the role words of its
    columns, and whose authority protects them.
    """

    concept: str
    subject: str
    role: str
    authority: str

    @property
    def sensitive(self) -> bool:
        """Whether nobody may learn it."""
        return "sensitive" in self.role


@functools.cache
def concepts() -> Mapping[str, Concept]:
    """All concepts by name.

    >>> concepts()["ethnicity"].role
    'quasi+sensitive'
    """
    return {entry["concept"]: Concept(**entry) for entry in read_data_file(__package__, "concepts")}


@dataclasses.dataclass(frozen=True)
class NameContext:
    """What is known of a table when one of its names is read: the languages of its other names,
    the topics it is about, and the words of its other columns.
    """

    languages: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()


@functools.cache
def word_index() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Joined, folded spelling → concept → the languages in which it means that."""
    index: dict[str, dict[str, list[str]]] = {}
    for concept in concepts():
        for language, terms in read_data_file(__package__, f"words_{concept}").items():
            for term in terms:
                for key in _keys(term):
                    index.setdefault(key, {}).setdefault(concept, []).append(language)
    return index


def _keys(term: str) -> Iterable[str]:
    """The joined spellings of a term; most terms are plain letters, which need no folding."""
    joined = term.replace(" ", "")
    if joined.isascii() and joined.isalpha():
        return (joined,)
    return spellings([term])


@functools.cache
def _beginnings() -> list[tuple[str, str, frozenset[str]]]:
    """Single words in order, with a concept and the languages of it."""
    beginnings = []
    for concept in concepts():
        languages: dict[str, set[str]] = {}
        for language, terms in read_data_file(__package__, f"words_{concept}").items():
            for term in terms:
                if " " not in term:
                    for key in _keys(term):
                        languages.setdefault(key, set()).add(language)
        beginnings += [(key, concept, frozenset(spoken)) for key, spoken in languages.items()]
    return sorted(beginnings, key=lambda beginning: beginning[:2])


@functools.cache
def _abbreviations(topic: str) -> Mapping[str, str]:
    """Abbreviation → concept, of those that hold in every table or in tables about a topic."""
    by_concept = read_data_file(__package__, "abbreviations").get(topic, {})
    return {word: concept for concept, words in by_concept.items() for word in words}


@functools.cache
def modifiers() -> frozenset[str]:
    """Words that say how much, of which kind or when, and nothing about the subject."""
    return frozenset("".join(words_of(word)) for word in read_data_file(__package__, "modifiers"))


def words_with_senses() -> Mapping[str, Sequence[Mapping[str, object]]]:
    """Words that mean several things, with what decides between them."""
    senses: Mapping[str, Sequence[Mapping[str, object]]] = read_data_file(__package__, "senses")
    return senses


@functools.cache
def people_of_topics() -> Mapping[str, frozenset[str]]:
    """Topic → words for the people in a table about it (patient, defendant, borrower): evidence for
    the topic, and nothing about the column.
    """
    lists = read_data_file(__package__, "people_of_topics")
    return {
        topic: frozenset("".join(words_of(word)) for word in words)
        for topic, words in lists.items()
    }


def meaning_of(word: str, context: NameContext, beside: Sequence[str] = ()) -> str | None:
    """The concept that a word or a joined term names, or None; ``beside`` are the other words of
    the name.

    >>> meaning_of("homeless", NameContext()), meaning_of("katholisch", NameContext())
    ('housing', 'belief')
    >>> meaning_of("grade", NameContext(topics=frozenset({"health"})))
    'health'
    """
    senses = words_with_senses().get(word)
    if senses is not None:
        return _sense(senses, context, beside)
    meanings = word_index().get(word, {})
    for language in (*sorted(context.languages), ENGLISH):
        for concept, spoken in meanings.items():
            if language in spoken:
                return concept
    if meanings and len(word) >= _LONG_WORD:
        return next(iter(meanings))
    for topic in (*sorted(context.topics), "any"):
        short_for = _abbreviations(topic).get(word)
        if short_for is not None:
            return short_for
    return None


def _sense(
    senses: Sequence[Mapping[str, object]], context: NameContext, beside: Sequence[str]
) -> str | None:
    """The first meaning whose conditions hold."""
    for sense in senses:
        topic = sense.get("topic")
        holds = (
            (topic is None or topic in context.topics)
            and _shares(sense.get("beside"), beside)
            and not (sense.get("alone") and _says_more(beside))
            and _shares(sense.get("with"), context.words)
            and _shares(sense.get("languages"), context.languages)
        )
        if holds:
            return str(sense["concept"])
    return None


def _says_more(beside: Sequence[str]) -> bool:
    """Whether other words of a name say what it is about (``occupation_group``)."""
    return any(not word.isdigit() and word not in modifiers() for word in beside)


def _shares(required: object, words: Iterable[str]) -> bool:
    """Whether one of the words that a sense requires is there; it may require none."""
    return not isinstance(required, list) or not set(required).isdisjoint(words)


def stem_meaning(word: str, context: NameContext) -> str | None:
    """The concept of a word with another ending, or of the words that begin with it.

    >>> stem_meaning("hospitalisations", NameContext()), stem_meaning("diagn", NameContext())
    ('health', 'health')
    """
    for cut in (1, 2, 3, 4, 5):
        stem = word[:-cut]
        if len(stem) < _SHORTEST_STEM:
            break
        for replacement in _ENDINGS.get(word[-cut:], ()):
            concept = meaning_of(stem + replacement, context)
            if concept is not None:
                return concept
    if len(word) < _LONG_BEGINNING:
        return None
    following = set(_concepts_beginning(word, context.languages | {ENGLISH}))
    return following.pop() if len(following) == 1 else None


def _concepts_beginning(letters: str, languages: frozenset[str]) -> Iterator[str]:
    """The concepts of all words of some languages that begin with some letters."""
    beginnings = _beginnings()
    position = bisect.bisect_left(beginnings, (letters,))
    while position < len(beginnings) and beginnings[position][0].startswith(letters):
        _, concept, spoken = beginnings[position]
        if spoken & languages:
            yield concept
        position += 1


def languages_of(words: Sequence[str]) -> frozenset[str]:
    """The languages that names are in besides English: those of long words that no English word is
    spelled like.

    >>> sorted(languages_of(["krankheit", "alter"]))
    ['de']
    """
    weights: dict[str, int] = {}
    for word in set(words):
        spoken = {language for known in word_index().get(word, {}).values() for language in known}
        if ENGLISH in spoken or len(word) < _SHORTEST_STEM:
            continue
        # A long word of one language says more than a short one that several share.
        if len(spoken) == 1 and len(word) > _LONG_WORD:
            weight = 2
        else:
            weight = 1
        for language in spoken:
            weights[language] = weights.get(language, 0) + weight
    if not weights:
        return frozenset()
    heaviest = max(weights.values())
    if heaviest < _LEAST_WEIGHT:
        return frozenset()
    return frozenset(language for language, weight in weights.items() if weight == heaviest)


# What speaks for a language: one long word of its own, or two that are short or shared.
_LEAST_WEIGHT = 2
