"""What a table is about, and what the names of its columns are about in such a table.

Names are read twice: first each by itself, which gives the languages and the topics of the table;
then again, for the words that mean something else in a table about that (``grade`` of a tumour, of
a loan, of a pupil).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from sfumato.guidance.profiling.columns import ProfiledColumn
from sfumato.guidance.profiling.concepts import (
    TOPICS,
    NameContext,
    languages_of,
    people_of_topics,
)
from sfumato.guidance.profiling.name_reading import NameReading, read_name
from sfumato.guidance.profiling.value_reading import ValueReading, read_values
from sfumato.guidance.profiling.words import words_of

# A topic needs this much evidence, in columns, and this share of the columns that are about
# something, and of all.
_LEAST_COLUMNS = 1.0
_LEAST_SHARE = 0.2
_LEAST_SHARE_OF_ALL = 0.03

# What the name of the file counts for, and a word read from a part of a longer one.
_FILE_NAME = 1.0
_PART = 0.5

# Topics of the terms of the lexicon.
_TOPICS_OF_TERMS: Mapping[str, str] = {
    "health": "health",
    "sexual life": "health",
    "criminal record": "crime",
    "income or wealth": "money",
    "political opinion": "opinion",
    "religion or belief": "opinion",
    "trade union": "opinion",
    "school result": "ability",
    "assessment of a person": "ability",
}

# Concepts of attributes that only people have.
_OF_PEOPLE = frozenset({"sex", "age", "family", "ethnicity", "work", "education", "body", "origin"})


@dataclasses.dataclass(frozen=True)
class TableReading:
    """What the names and values of a table are about.

    ``topics`` has the topics with most evidence first; ``people`` says whether the table seems to
    be about people at all, ``named`` whether its columns have names that say more than a number.
    """

    names: Mapping[str, NameReading]
    values: Mapping[str, ValueReading]
    topics: tuple[str, ...]
    people: bool
    named: bool

    @property
    def topic(self) -> str | None:
        """What the table is about most."""
        return self.topics[0] if self.topics else None


def read_table(
    columns: Sequence[ProfiledColumn], title: str, all_names: Sequence[str], *, prefix: str = ""
) -> TableReading:
    """Read the names and values of a table; ``title`` is the name of its file, ``all_names`` has
    also those of columns that are not read, ``prefix`` letters that all begin with.
    """
    names = [column.card.name.removeprefix(prefix) for column in columns]
    values = {
        column.card.name: reading
        for column in columns
        if not column.dtype.is_numeric() and (reading := read_values(column.sample)) is not None
    }
    words = [word for name in (title, *all_names) for word in words_of(name.removeprefix(prefix))]
    by_itself = NameContext(languages_of(words), frozenset(), frozenset(words))
    readings = [read_name(name, by_itself) for name in names]
    topics = _topics(columns, readings, values.values(), read_name(title), frozenset(words))
    context = dataclasses.replace(by_itself, topics=frozenset(topics))
    readings = [read_name(name, context) for name in names]
    found = {part.concept for reading in readings for part in reading.parts}
    found |= {reading.concept.concept for reading in values.values()}
    return TableReading(
        {column.card.name: reading for column, reading in zip(columns, readings, strict=True)},
        values,
        topics,
        people=bool(found & _OF_PEOPLE) or bool(topics),
        named=_are_named(all_names),
    )


def _are_named(names: Sequence[str]) -> bool:
    """Whether most names are more than a letter or the word column with a number."""
    numbered = [name for name in names if set(words_of(name)) <= _NOT_NAMES or _is_numbered(name)]
    return len(numbered) * 2 <= len(names)


_NOT_NAMES = frozenset({"column", "col", "field", "var", "variable", "unnamed", "feld", "spalte"})


def _is_numbered(name: str) -> bool:
    """Whether a name is of one letter or word for columns and a number."""
    words = words_of(name)
    letters = {word for word in words if not word.isdigit()}
    return len(letters) < len(words) and all(
        len(word) == 1 or word in _NOT_NAMES for word in letters
    )


def _topics(
    columns: Sequence[ProfiledColumn],
    names: Sequence[NameReading],
    values: Iterable[ValueReading],
    title: NameReading,
    words: frozenset[str],
) -> tuple[str, ...]:
    """The topics with enough evidence, those with most first."""
    evidence: dict[str, float] = {}
    known = 0.0
    for column, reading in zip(columns, names, strict=True):
        known += bool(reading.parts)
        terms = {
            _TOPICS_OF_TERMS[match.concept]
            for match in column.matches
            if match.concept in _TOPICS_OF_TERMS
        }
        for topic in reading.topics | terms:
            whole = topic in terms or any(
                part.whole and TOPICS.get(part.concept) == topic for part in reading.parts
            )
            evidence[topic] = evidence.get(topic, 0.0) + (1.0 if whole else _PART)
    for value in values:
        value_topic = TOPICS.get(value.concept.concept)
        if value_topic is not None:
            known += 1
            evidence[value_topic] = evidence.get(value_topic, 0.0) + 1.0
    about_people = [topic for topic, people in people_of_topics().items() if words & people]
    for topic in (*title.topics, *about_people):
        evidence[topic] = evidence.get(topic, 0.0) + _FILE_NAME
    enough = max(_LEAST_COLUMNS, _LEAST_SHARE * known, _LEAST_SHARE_OF_ALL * len(names))
    topics = [topic for topic, weight in evidence.items() if weight >= enough]
    return tuple(sorted(topics, key=lambda topic: (-evidence[topic], topic)))
