"""Policies that somebody pasted: bombs of every language end soon with words, and the process that
read them goes on.
"""

from __future__ import annotations

import pytest

from sfumato.errors import UnreadableInput
from sfumato.interfaces.web.data_process import Stopped
from sfumato.interfaces.web.tasks.bounded_work import within


def silent(share: float, words: str = "") -> None:
    """Nobody listens."""


def test_what_computes_too_long_is_ended_and_so_is_what_nobody_wants() -> None:
    turns = [0]

    def endless() -> None:
        while True:
            turns[0] += 1

    def wished(share: float, words: str = "") -> None:
        if turns[0]:
            raise Stopped

    long = UnreadableInput("it takes too long")
    with pytest.raises(UnreadableInput, match="it takes too long"):
        within(0.1, endless, too_long=long, progress=silent)
    turns[0] = 0
    with pytest.raises(Stopped):
        within(1e9, endless, too_long=long, progress=wished)
    before = turns[0]
    with pytest.raises(ZeroDivisionError):
        within(5, lambda: 1 // 0, too_long=long, progress=silent)
    assert turns[0] == before, "nothing goes on"
