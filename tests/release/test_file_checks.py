"""Checks of the files of a shared folder: they are the certified ones, whole, and no others,
whatever they hold."""

from __future__ import annotations

from pathlib import Path

from sfumato.release import file_checks, recipe_checks


def test_checks_compare_no_sentence() -> None:
    """No check reads a field that holds words."""
    for module in (file_checks, recipe_checks):
        text = Path(str(module.__file__)).read_text(encoding="utf-8")
        assert '["sentence"]' not in text and '["promise"]' not in text
