"""Replies at fixed moments: how long an answer took must not tell what is in the table.

A reply leaves at the first multiple of the quantum τ after the question came: at τ if the work was done by then, at the
next multiple otherwise, never earlier. Refusals and repeated answers wait like all others. Choose τ so that the largest
table allowed is done within it; an overrun is a leak of a coarse kind, so the operator is told (without any data).
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
import warnings
from collections.abc import Callable, Iterator

from sfumato.errors import ParameterError

SHORTEST, LONGEST = 1e-6, 86_400
"""Shorter than a clock can tell, and longer than anybody waits."""


class SlowReply(UserWarning):
    """An answer took longer than its quantum: raise the quantum."""


def warn_operator(quanta: int) -> None:
    """Tell the operator that a reply took several quanta."""
    warnings.warn(
        f"a reply took {quanta} time quanta instead of 1; raise the quantum so that every question is done within it",
        SlowReply,
        stacklevel=3,
    )


@dataclasses.dataclass(frozen=True)
class Quantum:
    """The time between moments at which replies leave, in seconds; clock, sleep and alarm can be replaced."""

    seconds: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    alarm: Callable[[int], None] = warn_operator

    def __post_init__(self) -> None:
        given: object = self.seconds
        if isinstance(given, bool) or not isinstance(given, int | float) or not SHORTEST <= given <= LONGEST:
            raise ParameterError(f"a time quantum must be a number of seconds from {SHORTEST:g} to {LONGEST:,}")

    @contextlib.contextmanager
    def reply(self, *, since: float | None = None) -> Iterator[None]:
        """Do the work of a reply inside; leaving waits, by an answer as well as by a refusal.

        >>> now = [0.0]
        >>> quantum = Quantum(2.0, clock=lambda: now[0], sleep=lambda s: now.__setitem__(0, now[0] + s))
        >>> with quantum.reply():
        ...     now[0] += 0.3
        >>> now[0]
        2.0
        """
        start = self.clock() if since is None else since
        try:
            yield
        finally:
            quanta = self._wait(start)
            if quanta > 1:
                self.alarm(quanta)

    def _wait(self, start: float) -> int:
        """Sleep until the next multiple of the quantum; how many have passed then."""
        quanta = max(1, math.ceil((self.clock() - start) / self.seconds))
        while (rest := start + quanta * self.seconds - self.clock()) > 0:
            self.sleep(rest)
        return quanta
