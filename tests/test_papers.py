"""docs/reproduced.md holds published numbers beside ours, as the code computes them."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[1] / "tools" / "papers.py"))
TEXT = TOOL["PAGE"].read_text(encoding="utf-8")


def test_tables_of_papers_are_up_to_date():
    assert TOOL["page"](TEXT, None) == TEXT, "run make papers"


@pytest.mark.slow
def test_tables_that_are_not_ours_are_up_to_date(reference_data):
    assert TOOL["page"](TEXT, reference_data) == TEXT, "run make papers"


def test_there_are_enough_and_no_difference_is_without_a_reason():
    assert len(re.findall(r"^### ", TEXT, re.MULTILINE)) >= 15
    for line in TEXT.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 4 and cells[1] not in ("published", "---"):
            assert cells[1] == cells[2] or cells[3], line


def test_a_difference_without_a_reason_stops_the_page():
    with pytest.raises(ValueError, match="say why"):
        TOOL["Figure"]("k", "2", "3")
    assert TOOL["Figure"]("k", "2", "3", "other missing values").ours == "3"


def test_without_reference_data_their_tables_stay():
    text = TEXT.replace("### MDAV on Tarragona", "### MDAV on another table")
    assert "### MDAV on another table" in TOOL["page"](text, None)
