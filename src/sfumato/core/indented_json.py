"""JSON as people read it, two blanks a level: the text of ``json.dumps(..., indent=2)``, written by
its fast encoder.

Python's encoder in C writes no indentation, and the one that does goes through every value in
Python. But lists and mappings of plain values, which is where most values are, can be written by
the fast one with a line end in their separator; only what holds other lists and mappings is put
together here.
"""

from __future__ import annotations

import functools
import json

STEP = "  "


def indented_json(document: object, line: str = "\n") -> str:
    """The text of a document, signs of all languages as they are.

    ``line`` begins a line as deep as the one that the document ends: it is for parts of documents.

    >>> text = indented_json({"a": [1, {"b": []}], "ü": None})
    >>> text == json.dumps({"a": [1, {"b": []}], "ü": None}, indent=2, ensure_ascii=False)
    True
    """
    if not document or not isinstance(document, dict | list | tuple):
        return _encoder(line).encode(document)
    deeper = line + STEP
    encode = _encoder(deeper).encode
    values = document.values() if isinstance(document, dict) else document
    if not any(isinstance(value, dict | list | tuple) for value in values):
        flat = encode(document)
        return f"{flat[0]}{deeper}{flat[1:-1]}{line}{flat[-1]}"
    texts = []
    for value in values:
        nested = isinstance(value, dict | list | tuple)
        texts.append(indented_json(value, deeper) if nested else encode(value))
    if not isinstance(document, dict):
        return f"[{deeper}{f',{deeper}'.join(texts)}{line}]"
    entries = []
    for name, text in zip(document, texts, strict=True):
        # JSON has no keys but text: the encoder writes a number as such, {7: 0} as {"7": 0}.
        if isinstance(name, str):
            key = encode(name)
        else:
            key = encode({name: 0})[1:-4]
        entries.append(f"{key}: {text}")
    return f"{{{deeper}{f',{deeper}'.join(entries)}{line}}}"


@functools.lru_cache(maxsize=64)
def _encoder(line: str) -> json.JSONEncoder:
    """The encoder that begins every item with such a line."""
    return json.JSONEncoder(ensure_ascii=False, separators=(f",{line}", ": "))
