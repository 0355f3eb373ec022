"""What tests of the workbench share: a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.interfaces.web.browser import open_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a window, one a file; tests that need it carry ``NEEDS_BROWSER``.

    What drives it keeps an event loop running in this thread as long as it is open: tests of other
    files that start their own could not.
    """
    with open_browser() as opened:
        yield opened
