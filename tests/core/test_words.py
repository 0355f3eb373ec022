"""Words of sentences."""

from __future__ import annotations

import pytest

from sfumato.core.words import counted, listed, were


@pytest.mark.parametrize(
    ("words", "sentence"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_lists_end_with_a_word(words, sentence):
    assert listed(words) == sentence


def test_counts_have_their_plural_and_their_verb():
    assert [f"{counted(n, 'row', 'rows')} {were(n)}" for n in (0, 1, 2)] == ["no rows were", "1 row was", "2 rows were"]
