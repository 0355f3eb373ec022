"""The page of a review: every output of a session with what was found and decided, for the output
checker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.release.report.rendering import as_shown, rendered

MARKS = {"pass": "✓", "review": "?", "fail": "✗"}
STATES = {
    "approved": "approved",
    "refused": "refused",
    "undecided": "not decided",
    "changed": "changed",
    "missing": "missing",
}


def review_page(review: Mapping[str, Any], shown: Mapping[int, str]) -> str:
    """A page without a script and without a network; ``shown`` are the first lines of outputs by
    number.
    """
    plain = as_shown(review)
    outputs = [
        {**one, "mark": MARKS[one["status"]], "word": STATES[one["state"]]}
        for one in plain["outputs"]
    ]
    texts = as_shown({str(number): text for number, text in shown.items()})
    counts = [(STATES[state], count) for state, count in plain["counts"].items()]
    return rendered("outputs.html", review=plain, outputs=outputs, shown=texts, counts=counts)
