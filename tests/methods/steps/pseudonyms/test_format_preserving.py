"""Pseudonyms of one form: a permutation of all values that look alike."""

from __future__ import annotations

import itertools
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.steps.pseudonyms.format_preserving import (
    SMALL,
    alphabet_of,
    format_preserving,
    keyed_permutation,
)
from tests.oracles.pseudonyms import permuted

KEY = b"0123456789abcdef"
PLAIN = st.text("aZ09xyQ-. @", max_size=30)
ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def form_of(value: str) -> list[str]:
    """Per character what it is, or the character itself where it stays."""
    return [alphabet_of(c) for c in value]


@pytest.mark.slow
@given(st.lists(PLAIN, max_size=8, unique=True))
def test_is_what_the_definition_says(values):
    assert format_preserving(values, KEY, "d") == [permuted(KEY, "d", value) for value in values]


@pytest.mark.parametrize(
    "value",
    [
        "7",
        "ab",
        "Zz9",
        "123456789",
        "4" * 28,
        "q" * 20,
        "q" * 21,
        "q" * 22,
        "Ann-Marie O'Neill " * 20,
    ],
)
def test_small_middle_and_long_values_follow_the_definition(value):
    assert format_preserving([value], KEY, "") == [permuted(KEY, "", value)]


@given(st.lists(ANY, max_size=12, unique=True))
def test_keeps_every_form_and_keeps_values_apart(values):
    made = format_preserving(values, KEY, "")
    assert len(set(made)) == len(values)
    assert [form_of(m) for m in made] == [form_of(v) for v in values]


@given(st.lists(ANY, min_size=1, max_size=8, unique=True), st.randoms())
def test_a_value_has_one_pseudonym_whatever_stands_beside_it(values, random):
    alone = [format_preserving([value], KEY, "")[0] for value in values]
    mixed = values.copy()
    random.shuffle(mixed)
    assert dict(zip(mixed, format_preserving(mixed, KEY, ""), strict=True)) == dict(
        zip(values, alone, strict=True)
    )


@pytest.mark.parametrize(
    ("alphabet", "length"),
    [("0123456789", 1), ("0123456789", 3), ("abcdefghijklmnopqrstuvwxyz", 2)],
)
def test_all_values_of_a_small_form_are_permuted(alphabet, length):
    every = ["".join(t) for t in itertools.product(alphabet, repeat=length)]
    assert sorted(format_preserving(every, KEY, "")) == sorted(every)


def test_all_values_of_a_form_above_the_small_ones_are_permuted():
    every = [f"{number:05d}" for number in range(100_000)]
    made = format_preserving(every, KEY, "")
    assert len(every) > SMALL
    assert sorted(made) == every
    assert (
        sum(a == b for a, b in zip(every, made, strict=True)) <= 8
    )  # one is expected; more than 8: once in 900,000 keys


def test_digits_are_spread_evenly():
    """Chi-square of each digit over 20,000 numbers in a row: 9 degrees of freedom, above 50 once in
    10 million.
    """
    made = format_preserving([f"{number:09d}" for number in range(20_000)], KEY, "")
    digits = np.array([[int(c) for c in value] for value in made])
    for place in range(9):
        counts = np.bincount(digits[:, place], minlength=10)
        assert ((counts - 2000) ** 2 / 2000).sum() < 50


def test_another_key_or_domain_or_form_gives_another_permutation():
    values = [f"{number:06d}" for number in range(200)]
    made = format_preserving(values, KEY, "")
    assert (
        sum(a == b for a, b in zip(made, format_preserving(values, KEY, "other"), strict=True)) < 5
    )
    assert (
        sum(a == b for a, b in zip(made, format_preserving(values, b"f" + KEY, ""), strict=True))
        < 5
    )
    dashed = [
        value.replace("-", "")
        for value in format_preserving([f"{v[:3]}-{v[3:]}" for v in values], KEY, "")
    ]
    assert sum(a == b for a, b in zip(made, dashed, strict=True)) < 5


def test_letters_of_other_scripts_stay_in_their_script():
    made = format_preserving(["Žofie Ďurišová", "Ἀλέξανδρος", "山田太郎", "Иван", "٣٤٥"], KEY, "")
    assert made[0] != "Žofie Ďurišová" and made[2] != "山田太郎"
    assert all(unicodedata.name(c).startswith("CYRILLIC") for c in made[3])
    assert all(c.isdigit() and not c.isascii() for c in made[4])


def test_nothing_is_left_of_nothing():
    assert format_preserving([], KEY, "") == []
    assert format_preserving(["", "-", "--"], KEY, "") == ["", "-", "--"]


@pytest.mark.parametrize("size", [1, 2, 10, SMALL])
def test_a_shuffle_holds_each_number_once(size):
    assert sorted(keyed_permutation(b"k" * 32, 7, size).tolist()) == list(range(size))
