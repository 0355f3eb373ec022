"""What pages say while something is on its way."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="pip install 'sfumato[web]': nicegui is not installed")

from sfumato.interfaces.web.pages import shell, strip
from sfumato.interfaces.web.workbench import Underway


@pytest.mark.parametrize(
    ("reading", "said"),
    [(True, ["The table is being read."]), (False, ["Open one.", "Go to Data"])],
)
def test_a_table_that_is_being_read_is_not_asked_for(
    reading: bool, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(shell, "text", lambda words, *_, **__: told.append(words))
    page: Any = SimpleNamespace(workbench=SimpleNamespace(reading=reading))
    shell.Page.ask_for_table(page, "Open one.")
    assert len(told) == len(said) and all(
        words.startswith(begun) for words, begun in zip(told, said, strict=True)
    )


@pytest.mark.parametrize(
    ("words", "share", "said"),
    [
        ("looking at the columns", 0.0, "Looking at the columns"),
        ("", 0.0, "Looking at the columns · …"),
        ("column 3", 0.5, "Looking at the columns · column 3 · 50 %"),
    ],
)
def test_work_under_way_is_named_once(words: str, share: float, said: str) -> None:
    assert (
        strip.progress_text(Underway("propose", "Looking at the columns", 0, 0.0, share, words))
        == said
    )
