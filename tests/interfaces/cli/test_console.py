"""Blocks on a terminal: the words of the text, nothing taken for markup, bars beside shares, folded
blocks left out.
"""

from __future__ import annotations

import pytest

from sfumato.core.blocks import FoldBlock, Paragraph, Share, TableBlock, VerdictBlock
from sfumato.interfaces.cli import console


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> object:
    console.out.cache_clear()
    yield lambda: capsys.readouterr().out
    console.out.cache_clear()


def test_a_share_has_a_bar_and_a_mark_stays(shown) -> None:
    table = TableBlock(("attack", "succeeds"), (("✗ linkage", Share(0.5)), ("? suda", "unknown")))
    console.show_blocks([VerdictBlock(False, "5-anonymity", "2 records break it"), table])
    told = shown()
    assert "✗ 5-anonymity: 2 records break it" in told
    assert "✗ linkage" in told and "████░░░░    50 %" in told and "? suda" in told


def test_names_are_no_markup(shown) -> None:
    console.show_blocks(
        [Paragraph("column [red] of `sfumato run`"), TableBlock(("[b]",), (("[/]",),))]
    )
    told = shown()
    assert "column [red] of sfumato run" in told and "[b]" in told and "[/]" in told


def test_folded_blocks_are_left_to_pages(shown) -> None:
    console.show_blocks([FoldBlock("More", (Paragraph("folded"),))])
    assert shown() == ""


def test_long_work_says_where_it_is_without_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    console.err.cache_clear()
    seconds = iter([0.0, 5.0, 16.0, 20.0, 40.0])
    monkeypatch.setattr(console.time, "monotonic", lambda: next(seconds))
    monkeypatch.setattr(console, "must_compile", lambda: False)
    with console.progress("looking", quiet=False) as update:
        update(0.1, "first")
        update(0.25, "second [x]")
        update(0.5)
        update(0.75)
    assert capsys.readouterr().err.splitlines() == ["second [x], 25 %", "second [x], 75 %"]
    console.err.cache_clear()
