"""How the values of a column compare: nominal, ordinal, numeric, date or text, and why we think
so."""

from __future__ import annotations

from sfumato.guidance.profiling.kinds import _vocabularies, known_order


def test_every_vocabulary_is_recognised_in_any_spelling():
    for words, _ in _vocabularies():
        for spell in (
            str.lower,
            str.capitalize,
            str.title,
            lambda word: word.lower().replace(" ", "_").replace("-", "_"),
        ):
            spelled = [spell(word) for word in words]
            found = known_order(spelled)
            assert found is not None
            assert [value for value in found.values if value in spelled] == spelled


def test_two_letters_are_no_vocabulary_of_sizes():
    assert known_order(["S", "M"]) is None
    assert known_order(["S", "M", "XL"]).values == ("XS", "S", "M", "L", "XL", "XXL")
    assert known_order(["low", "loud", "high"]) is None
