"""JSON that somebody signed: one reading of it, and no text in it that the signature does not
cover."""

from __future__ import annotations

import json

from sfumato.core.json_text import is_spelled_once


def test_the_same_text_is_spelled_once():
    document = {"name": "Zoë\u0085", "t": 0.1, "count": 3, "deep": [{"x": None, "y": True}]}
    for content in (json.dumps(document, indent=2), json.dumps(document, ensure_ascii=False)):
        assert is_spelled_once(content.encode(), document)
    assert not is_spelled_once(json.dumps(document).replace("0.1", "0.10").encode(), document)
