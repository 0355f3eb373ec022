"""The file of a population is named from the recipe in a certificate and from elsewhere in a lock:
the same file or not.
"""

from __future__ import annotations

import pytest

from sfumato.release.original_checks import _may_be_one_file


@pytest.mark.parametrize(
    ("said", "locked", "same"),
    [
        ("everyone/people.csv", "sub/everyone/people.csv", True),
        ("../people.csv", "people.csv", True),
        ("sub/people.csv", "people.csv", True),
        ("./d/../people.csv", "../people.csv", True),
        ("/data/people.csv", "/data/people.csv", True),
        ("others/people.csv", "sub/everyone/people.csv", False),
        ("everyone/others.csv", "sub/everyone/people.csv", False),
        ("/data/people.csv", "people.csv", False),
        ("..", "people.csv", False),
        ("", "people.csv", False),
    ],
)
def test_paths_from_two_folders(said, locked, same):
    assert _may_be_one_file(said, locked) is same
