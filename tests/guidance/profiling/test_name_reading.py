"""What the words inside a column name are about."""

from __future__ import annotations

import pytest

from sfumato.guidance.profiling.concepts import NameContext, concepts
from sfumato.guidance.profiling.name_reading import read_name


@pytest.mark.parametrize(
    ("name", "concept"),
    [
        ("DaysMentHlthBad", "health"),
        ("wifeeduc", "education"),
        ("faminc", "money"),
        ("juv_fel_count", "crime"),
        ("vghealth", "health"),
        ("xq", None),
        ("", None),
        ("17", None),
    ],
)
def test_the_concept_that_decides(name, concept):
    assert read_name(name).concept == concept


def test_what_must_not_be_learned_decides_before_other_concepts():
    reading = read_name("diagnosis_city")
    found = [part.concept for part in reading.parts]
    assert len(found) == 2
    assert reading.concept == next(c for c in found if concepts()[c].sensitive)
    # The name ends with a place: outsiders may know it as well.
    assert reading.role == "quasi+sensitive"
    assert read_name("city_diagnosis").role == "sensitive"


def test_a_name_is_complete_when_no_word_is_unknown():
    assert read_name("health").complete
    assert not read_name("health_zzyqx").complete
    assert read_name("health_2").complete


def test_parts_of_a_compound_are_no_whole_words():
    assert [part.whole for part in read_name("health").parts] == [True]
    assert not any(part.whole for part in read_name("wifeeduc").parts)


def test_reading_a_name_twice_gives_the_same():
    context = NameContext(frozenset(), frozenset({"health"}), frozenset())
    assert read_name("grade", context) == read_name("grade", context)
