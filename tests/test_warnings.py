"""Which warnings fail a test: those that name us, and no others, so that a newer version of a
package cannot.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest


def warned_in(module: str, kind: str) -> None:
    """A line of this module warns, and the test goes on."""
    with warnings.catch_warnings(record=True):
        exec(f"import warnings; warnings.warn('old', {kind})", {"__name__": module})


@pytest.mark.parametrize(
    "kind", ["DeprecationWarning", "RuntimeWarning", "UserWarning", "ResourceWarning"]
)
def test_warnings_that_name_us_are_errors_and_others_are_not(kind: str) -> None:
    for ours in ("sfumato.core.schema", "tests.oracles.definitions"):
        with pytest.raises(Warning, match="old"):
            warned_in(ours, kind)
    warned_in("pandas.core.frame", kind)


def test_a_division_by_nothing_in_a_test_is_an_error() -> None:
    with pytest.raises(RuntimeWarning, match="divide by zero"):
        np.array([1.0]) / np.array([0.0])


@pytest.mark.parametrize(
    ("place", "fails"),
    [
        ("/home/me/sfumato/src/sfumato/io/csv.py", True),
        ("C:\\me\\src\\sfumato\\a.py", True),
        ("/venv/lib/sfumato/aiohttp/client.py", False),
    ],
)
def test_an_error_that_nobody_could_catch_fails_where_it_names_us(
    place: str, fails: bool, request: pytest.FixtureRequest
) -> None:
    told = (
        "Exception ignored in: <function X.__del__>\n\nTraceback (most recent call last):\n  File"
        f' "{place}", line 3\n'
    )
    lines = [line.split(":") for line in request.config.getini("filterwarnings")]
    for kind in (
        pytest.PytestUnraisableExceptionWarning,
        pytest.PytestUnhandledThreadExceptionWarning,
    ):
        (words,) = (line[1] for line in lines if line[2] == f"pytest.{kind.__name__}")
        assert bool(re.match(words, told)) is fails
