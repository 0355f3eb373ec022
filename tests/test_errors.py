"""Optional packages: what is missing is named, and what they warn their own authors of is not told
to users.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from sfumato.errors import MissingExtra, require


def test_a_package_that_uses_something_outdated_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outdated_inside.py").write_text(
        "import warnings\nwarnings.warn('old', DeprecationWarning)\nanswer = 42\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert require("outdated_inside", extra="icd", to="test").answer == 42
        with pytest.raises(DeprecationWarning):
            warnings.warn("ours is still told", DeprecationWarning, stacklevel=1)


def test_a_package_that_lacks_a_part_of_its_own_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_installed.py").write_text("import surely_not_installed\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtra, match=r"sfumato\[icd\]"):
        require("half_installed", extra="icd", to="test")
