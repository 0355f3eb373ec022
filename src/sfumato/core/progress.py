"""How long work tells how far it is."""

from __future__ import annotations

from typing import Protocol

from sfumato import kernels


class Progress(Protocol):
    """Called now and then with the share of the work that is done (0–1) and a few words."""

    def __call__(self, share: float, words: str = "") -> None: ...  # noqa: D102


def must_compile() -> bool:
    """Whether this is the first run on this machine, which compiles the fast loops."""
    return not kernels.compiled_before()


def silent(share: float, words: str = "") -> None:
    """Tell nobody."""


def part_of(progress: Progress, start: float, end: float) -> Progress:
    """The progress of a part of the work, as that of the whole.

    >>> shares = []
    >>> part_of(lambda share, words="": shares.append(share), 0.5, 1.0)(0.5)
    >>> shares
    [0.75]
    """
    return lambda share, words="": progress(start + (end - start) * share, words)
