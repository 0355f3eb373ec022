"""JSON as people read it, two blanks a level: the text of ``json.dumps(..., indent=2)``, written by its fast encoder.

Python's encoder in C writes no indentation, and the one that does goes through every value in Python. But lists and
mappings of plain values, which is where most values are, can be written by the fast one with a line end in their
separator; only what holds other lists and mappings is put together here.
"""

from __future__ import annotations

import functools
import json
from typing import Any

STEP = "  "


def indented_json(document: Any) -> str:
    """The text of a document, signs of all languages as they are.

    >>> text = indented_json({"a": [1, {"b": []}], "ü": None})
    >>> text == json.dumps({"a": [1, {"b": []}], "ü": None}, indent=2, ensure_ascii=False)
    True
    """
    return _written(document, "\n")


def _written(value: Any, line: str) -> str:
    """A value as text; ``line`` begins a line as deep as the one that the value ends."""
    is_mapping = isinstance(value, dict)
    if not value or not (is_mapping or isinstance(value, list | tuple)):
        return _encoder(line).encode(value)
    inner = value.values() if is_mapping else value
    deeper = line + STEP
    if not any(isinstance(part, dict | list | tuple) for part in inner):
        flat = _encoder(deeper).encode(value)
        return f"{flat[0]}{deeper}{flat[1:-1]}{line}{flat[-1]}"
    if not is_mapping:
        parts = [_written(part, deeper) for part in value]
        return f"[{deeper}{f',{deeper}'.join(parts)}{line}]"
    parts = [f"{_key(name)}: {_written(part, deeper)}" for name, part in value.items()]
    return f"{{{deeper}{f',{deeper}'.join(parts)}{line}}}"


@functools.lru_cache(maxsize=64)
def _encoder(line: str) -> json.JSONEncoder:
    """The encoder that begins every item with such a line."""
    return json.JSONEncoder(ensure_ascii=False, separators=(f",{line}", ": "))


def _key(name: Any) -> str:
    """A key as text: JSON has no others, so numbers are written as such."""
    if isinstance(name, str):
        return _encoder("\n").encode(name)
    return _encoder("\n").encode({name: 0}).removeprefix("{").removesuffix(": 0}")
