"""What tests of the workbench share: one browser for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.web.browser import open_browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A browser without a window; tests that need it carry ``NEEDS_BROWSER``."""
    with open_browser() as opened:
        yield opened
