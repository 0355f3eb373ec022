"""What the words inside a column name are about: whole words, words with other endings, parts of
compounds and abbreviations.

``DaysMentHlthBad`` is about health, ``wifeeduc`` about the education of a wife, ``lwage`` about
money. Where a name is about several concepts, one that must not be learned goes first.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence

from sfumato.guidance.profiling.concepts import (
    TOPICS,
    NameContext,
    concepts,
    meaning_of,
    modifiers,
    stem_meaning,
)
from sfumato.guidance.profiling.words import words_of

# Words that a term may span (sexually transmitted disease).
LONGEST_TERM = 4

# Letters a word needs to be taken apart, and its parts need.
_SHORTEST_COMPOUND = 5
_SHORTEST_PART = 3
_MOST_PARTS = 3

# Parts of one or two letters: logarithm, negation and dummy before, square and number behind.
_SHORT_BEFORE = ("l", "ln", "n", "p", "r", "d", "dy", "co")
_SHORT_BEHIND = ("sq", "n", "id", "nr", "no", "yn")

# Letters of a known word that may have one or two unknown ones beside it (vghealth).
_LONG_WORD = 6
_STRAY_LETTERS = 2

# Concepts of places and of what others see: as the last word they are what a name is of.
_HEADS = frozenset({"place", "sex", "origin"})


@dataclasses.dataclass(frozen=True)
class WordReading:
    """A concept found in a name, the word it was read from, and whether that is a whole word."""

    concept: str
    word: str
    whole: bool


@dataclasses.dataclass(frozen=True)
class NameReading:
    """What a name is about, in the order of its words; ``complete``: no word of it is unknown."""

    parts: tuple[WordReading, ...]
    complete: bool

    @property
    def concept(self) -> str | None:
        """The concept that decides: one that must not be learned before others, the last of
        equals.

        >>> read_name("DaysMentHlthBad").concept, read_name("wifeeduc").concept
        ('health', 'education')
        """
        best = None
        for part in self.parts:
            if best is None or _weight(part.concept) >= _weight(best):
                best = part.concept
        return best

    @property
    def role(self) -> str | None:
        """The role words of the concept; with *quasi* where the name ends with a place.

        >>> read_name("whitemom").role, read_name("diagnosis_city").role
        ('quasi+sensitive', 'quasi+sensitive')
        """
        concept = self.concept
        if concept is None:
            return None
        role = concepts()[concept].role
        if role == "sensitive" and self.parts[-1].concept in _HEADS and len(self.parts) > 1:
            return "quasi+sensitive"
        return role

    @property
    def topics(self) -> frozenset[str]:
        """The topics that the words are evidence for."""
        return frozenset(TOPICS[part.concept] for part in self.parts if part.concept in TOPICS)


def _weight(concept: str) -> int:
    """How carefully a concept is treated."""
    if concept == "ethnicity":
        return 3
    if not concepts()[concept].sensitive:
        return 0
    return 1 if concept in ("conduct", "study") else 2


def read_name(name: str, context: NameContext | None = None) -> NameReading:
    """What the words of a column name are about.

    >>> [part.concept for part in read_name("juv_fel_count").parts]
    ['crime', 'crime']
    >>> read_name("faminc").concept, read_name("nwhite").concept, read_name("xq").concept
    ('money', 'ethnicity', None)
    """
    return _read_words(words_of(name), context or NameContext())


@functools.lru_cache(maxsize=4096)
def _read_words(words: tuple[str, ...], context: NameContext) -> NameReading:
    parts: list[WordReading] = []
    complete = True
    position = 0
    while position < len(words):
        length, reading = _longest_term(words, position, context)
        if reading is None:
            readings = tuple(_inside(words[position], context))
            parts += readings
            known = readings or words[position] in modifiers() or words[position].isdigit()
            complete = complete and bool(known)
        else:
            parts.append(reading)
        position += length
    return NameReading(tuple(parts), complete)


def _longest_term(
    words: tuple[str, ...], position: int, context: NameContext
) -> tuple[int, WordReading | None]:
    """The longest term that begins at a word, and how many words it has."""
    for length in range(min(LONGEST_TERM, len(words) - position), 0, -1):
        term = "".join(words[position : position + length])
        beside = words[:position] + words[position + length :]
        concept = meaning_of(term, context, beside)
        if concept is not None:
            return length, WordReading(concept, term, whole=True)
    return 1, None


def _inside(word: str, context: NameContext) -> Iterator[WordReading]:
    """What a word is about that is no term: by its stem, or by its parts."""
    if word in modifiers() or word.isdigit():
        return
    concept = stem_meaning(word, context)
    if concept is not None:
        yield WordReading(concept, word, whole=len(word) > _SHORTEST_COMPOUND)
        return
    if len(word) >= _SHORTEST_COMPOUND:
        for part in _parts_of(word, context) or ():
            concept = _part_meaning(part, context)
            if concept is not None:
                yield WordReading(concept, part, whole=False)


def _parts_of(word: str, context: NameContext) -> Sequence[str] | None:
    """The fewest known parts that a word is made of, with a concept among them; None if there are
    none.
    """
    best: list[Sequence[str] | None] = [()] + [None] * len(word)
    for end in range(1, len(word) + 1):
        for start in range(end):
            before = best[start]
            part = word[start:end]
            if (
                before is None
                or len(before) >= _MOST_PARTS
                or not _is_part(part, context, first=start == 0, last=end == len(word))
            ):
                continue
            shortest = best[end]
            if shortest is None or len(before) + 1 < len(shortest):
                best[end] = (*before, part)
    parts = best[-1]
    if parts is None or len(parts) == 1:
        return _with_stray_letters(word, context)
    if any(_part_meaning(part, context) for part in parts):
        return parts
    return None


def _with_stray_letters(word: str, context: NameContext) -> Sequence[str] | None:
    """A long known word with one or two letters before or behind it that say nothing."""
    for letters in range(1, _STRAY_LETTERS + 1):
        for part in (word[letters:], word[:-letters]):
            if len(part) >= _LONG_WORD and meaning_of(part, context) is not None:
                return (part,)
    return None


def _is_part(part: str, context: NameContext, *, first: bool, last: bool) -> bool:
    if (first and part in _SHORT_BEFORE) or (last and part in _SHORT_BEHIND):
        return True
    if len(part) < _SHORTEST_PART:
        return False
    return part in modifiers() or _part_meaning(part, context) is not None


def _part_meaning(part: str, context: NameContext) -> str | None:
    if len(part) < _SHORTEST_PART:
        return None
    return meaning_of(part, context)
