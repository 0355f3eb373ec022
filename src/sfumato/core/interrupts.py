"""Ctrl-C: what was done when it came, and moments in which it has to wait.

Python turns the signal into KeyboardInterrupt wherever it happens to be. Inside a compiled loop or
a callback that ends as some other error, or is lost. So the command line notes the signal itself
(:func:`watching`): whatever ends a command after that was the user. :func:`undisturbed` keeps the
signal waiting while a folder is moved.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import FrameType

from sfumato.core.portable import interrupt_handler, interrupts_for_good, interrupts_to


class _State:
    """What this process knows about its interruption."""

    pressed = False
    acts: tuple[str, ...] = ()


def pressed() -> bool:
    """Whether Ctrl-C came since :func:`watching` began, even if the exception it raised was
    lost.
    """
    return _State.pressed


def raise_if_pressed() -> None:
    """Raise KeyboardInterrupt where the one that Ctrl-C raised was lost inside of a callback."""
    if _State.pressed:
        raise KeyboardInterrupt


def note_done(sentence: str) -> None:
    """Note what stands whatever comes: an interruption after it is told so."""
    _State.acts = (*_State.acts, sentence)


def finished_acts() -> tuple[str, ...]:
    """What was noted since :func:`watching` began."""
    return _State.acts


class Ending:
    """Ctrl-C of a whole program: the first one ends it, and further ones do not disturb what is
    swept and told at its end.
    """

    def __init__(self) -> None:
        self.presses, self.ended = 0, False

    def __call__(self, number: int, frame: object) -> None:
        """Raise KeyboardInterrupt, unless it is on its way already."""
        self.presses += 1
        # A second press while the first one is dealt with would cut off what is told.
        if self.ended or (self.presses > 1 and sys.exception() is not None):
            return
        raise KeyboardInterrupt


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """Let Ctrl-C end the program of this block once; after the block it is of no effect."""
    handler = Ending()
    interrupts_for_good(handler)
    try:
        yield
    finally:
        handler.ended = True


@contextlib.contextmanager
def watching() -> Iterator[None]:
    """Note Ctrl-C on its way to the usual handler; outside of the main thread there is nothing to
    watch.
    """
    _State.pressed, _State.acts = False, ()
    usual = interrupt_handler()

    def note_and_pass_on(number: int, frame: FrameType | None) -> None:
        _State.pressed = True
        if usual is not None:
            usual(number, frame)

    try:
        with interrupts_to(None if usual is None else note_and_pass_on):
            yield
    finally:
        _State.pressed, _State.acts = False, ()


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Let Ctrl-C wait until the block is done, then let it through."""
    usual = interrupt_handler()
    if usual is None:
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []
    with interrupts_to(lambda number, frame: waiting.append((number, frame))):
        yield
    # Several presses count as one.
    for number, frame in waiting[:1]:
        usual(number, frame)
