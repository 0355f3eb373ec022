"""JSON that somebody signed: one reading of it, and no text in it that the signature does not
cover.

What is signed are canonical bytes of what a file says, not the bytes of the file. So the file must
say it in one way: no key twice, no number with more digits than are read, no letter in another
spelling. Blanks and line ends between the parts say nothing.
"""

from __future__ import annotations

import json
from typing import Any

from sfumato.core.fields import Document
from sfumato.errors import printable_json


def loads_once(data: bytes) -> Any:
    """What UTF-8 text says in JSON; ValueError where a key stands twice or a number is none.

    >>> loads_once(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    ValueError: a key is repeated; keep one
    """
    return json.loads(
        data.decode("utf-8"), object_pairs_hook=_without_repeats, parse_constant=_refuse_constant
    )


def is_spelled_once(data: bytes, document: object) -> bool:
    """Whether a file spells every key, word and number of a document as sfumato writes it, blanks
    between them apart.

    >>> (
    ...     is_spelled_once(b'{ "t" : 0.5 }', {"t": 0.5}),
    ...     is_spelled_once(b'{"t": 0.50000000000000001}', {"t": 0.5}),
    ... )
    (True, False)
    """
    bare_text = _without_blanks(data.decode("utf-8"))
    plain = json.dumps(document, ensure_ascii=False)
    return bare_text in {
        _without_blanks(text) for text in (plain, printable_json(plain), json.dumps(document))
    }


def _without_blanks(text: str) -> str:
    # blanks inside of strings go on both sides; that they are the same is known, as one was read
    # from the other
    return "".join(text.split())


def _without_repeats(pairs: list[tuple[str, Any]]) -> Document:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a key is repeated; keep one")
    return document


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a number")
