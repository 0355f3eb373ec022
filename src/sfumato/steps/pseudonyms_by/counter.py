"""Numbers in random order."""

from __future__ import annotations

from sfumato.steps.pseudonyms_by.asked import Asked


def counter(asked: Asked) -> list[str]:
    """The next numbers that no one has yet, given out in random order."""
    first = 1 + max(map(int, asked.known.values()), default=0)
    order = asked.goal.stream(f"numbers, {asked.domain}").permutation(len(asked.fresh))
    return [str(first + place) for place in order.tolist()]
