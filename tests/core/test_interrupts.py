"""Ctrl-C: what was done when it came, and moments in which it has to wait."""

from __future__ import annotations

import os

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kill by signal")


def test_a_second_press_counts_where_the_first_was_lost():
    from sfumato.core.interrupts import Ending

    handler = Ending()
    for _ in range(2):  # outside of any handling of an exception
        with pytest.raises(KeyboardInterrupt):
            handler(2, None)
    try:
        raise ValueError
    except ValueError:
        handler(2, None)
