"""Colours can be told apart and read, in light and dark; pictures are not looked at by other
checks.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sfumato.interfaces.web
import sfumato.release.report

LIGHT = (Path(sfumato.release.report.__file__).parent / "style" / "tokens.css").read_text("utf-8")
DARK = (Path(sfumato.interfaces.web.__file__).parent / "pages" / "files" / "dark.css").read_text(
    "utf-8"
)


def tokens(text: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{3,6})", text))


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    digits = colour.lstrip("#")
    digits = "".join(one * 2 for one in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_formula_is_that_of_wcag() -> None:
    assert contrast("#000", "#fff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(
        4.48, abs=0.005
    )  # the known grey just below 4.5


def test_reports_have_the_dark_tokens_of_the_workbench() -> None:
    folder = Path(sfumato.release.report.__file__).parent / "style"
    assert tokens((folder / "dark.css").read_text("utf-8")) == tokens(DARK)


@pytest.mark.parametrize("text", [LIGHT, DARK], ids=["light", "dark"])
def test_words_can_be_read_and_marks_be_seen(text: str) -> None:
    colours = tokens(text)
    assert set(colours) == set(tokens(LIGHT))
    for word in ("ink", "soft", "accent", "alarm"):
        for ground in ("paper", "wash"):
            assert contrast(colours[word], colours[ground]) >= 4.5, (word, ground)
    for word in ("ink", "alarm"):
        assert contrast(colours[word], colours["alarm-wash"]) >= 4.5, word
    assert contrast(colours["ink"], colours["fill"]) >= 4.5
    assert contrast(colours["paper"], colours["accent"]) >= 4.5  # words on a button that is filled
    assert contrast(colours["rings"], colours["paper"]) >= 3


def test_reports_and_workbench_have_no_tokens_of_their_own() -> None:
    for file in (Path(sfumato.interfaces.web.__file__).parent / "pages" / "files").glob("*.css"):
        assert file.name == "dark.css" or not tokens(file.read_text("utf-8")), file
    assert not tokens(
        (Path(sfumato.release.report.__file__).parent / "style" / "style.css").read_text("utf-8")
    )
