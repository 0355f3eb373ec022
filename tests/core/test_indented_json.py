"""JSON as people read it: the text is that of Python's own encoder, whatever the document."""

from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.indented_json import indented_json

plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
keys = st.text() | st.integers() | st.booleans() | st.none() | st.floats()
documents = st.recursive(
    plain,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(keys, inner),
    max_leaves=40,
)


@given(documents)
def test_the_text_is_that_of_the_encoder_of_python(document):
    assert indented_json(document) == json.dumps(document, indent=2, ensure_ascii=False)


def test_numbers_that_json_does_not_know_are_written_as_python_writes_them():
    assert indented_json([math.nan, [math.inf]]) == json.dumps([math.nan, [math.inf]], indent=2)
