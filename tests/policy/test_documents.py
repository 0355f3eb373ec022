"""JSON documents with the line of every value, bounded in size and depth."""

from __future__ import annotations

import pytest

from sfumato.errors import UnreadableInput
from sfumato.policy.dialects.dialect_detection import parse_policy
from sfumato.policy.documents import PolicyError


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "<a>",
        "<a></b>",
        "nonsense",
        "[" * 100_000,
        '{"a":' * 5_000,
        "<a>" * 200,
        '{"a": NaN}',
        '{"a": 1e999}',
    ],
)
def test_what_is_no_document_is_refused(text):
    with pytest.raises((UnreadableInput, PolicyError)):
        parse_policy(text)


def test_size_is_bounded():
    with pytest.raises(UnreadableInput, match="larger than 16 MB"):
        parse_policy(" " * (16 * 1024 * 1024 + 1))


def test_a_key_that_stands_twice_is_a_finding():
    with pytest.raises(PolicyError, match="duplicate_key"):
        parse_policy('{"sfumato_policy": 1, "name": "a", "name": "b"}')
