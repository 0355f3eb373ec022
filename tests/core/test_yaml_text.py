"""Keys of several words stay readable, however long a line gets."""

from __future__ import annotations

from sfumato.core.yaml_text import read_yaml, write_yaml


def test_long_mappings_with_keys_of_several_words_are_read_back():
    followers = {f"answer {number}": f"answer {number % 3}" for number in range(60)}
    document = {"steps": [{"follow": {"columns": followers}}]}
    assert read_yaml(write_yaml(document), "a recipe") == document
