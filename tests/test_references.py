"""Every DOI in code and documentation is in the list ``docs/references.json``, with its year."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FORM = re.compile(r"10\.\d{4,9}/(?:\([^\s()]*\)|[^\s()\[\]{}<>,;\"'`|])+")
CITATION = re.compile(rf"\b((?:19|20)\d\d)\)?,? \[?(?:doi:|https://doi\.org/|DOI )({FORM.pattern})")
"""A year and the DOI right after it: *Sweeney 2002, doi:10.1142/…*."""

LIST = json.loads((ROOT / "docs" / "references.json").read_text(encoding="utf-8"))
YEARS = {entry["doi"]: entry["year"] for entry in LIST}


def _pages() -> Iterator[tuple[str, str]]:
    """Name and text of every file that may cite; the text in one line, without comment signs."""
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    paths += (ROOT / "src").rglob("*.json")
    for path in sorted(paths):
        if "_build" not in path.parts:
            text = re.sub(r"\s*\n[ #\"]*", " ", path.read_text(encoding="utf-8"))
            yield path.relative_to(ROOT).as_posix(), text


PAGES = dict(_pages())


def _normalised(doi: str) -> str:
    """DOIs do not distinguish capitals; a full stop after one ends the sentence."""
    return doi.rstrip(".:*").lower()


def test_list_is_sorted_and_complete():
    assert [entry["doi"] for entry in LIST] == sorted(YEARS)
    for entry in LIST:
        assert list(entry) == ["doi", "authors", "year", "title"]
        assert entry["doi"] == entry["doi"].lower()
        assert entry["authors"].strip()
        assert entry["title"].strip()
        assert 1800 < entry["year"] <= 2026


def test_every_doi_is_in_the_list_and_every_entry_is_cited():
    cited = {_normalised(match) for text in PAGES.values() for match in FORM.findall(text)}
    assert cited - set(YEARS) == set(), "check the source and add it to docs/references.json"
    assert set(YEARS) - cited == set(), "nothing cites these any more"


@pytest.mark.parametrize("name", [name for name, text in PAGES.items() if "10." in text])
def test_years_beside_dois_are_those_of_the_list(name):
    for year, doi in CITATION.findall(PAGES[name]):
        assert YEARS[_normalised(doi)] == int(year), doi


def test_a_wrong_year_is_found():
    [(year, doi)] = CITATION.findall("Sweeney 2003, doi:10.1142/S0218488502001648.")
    assert YEARS[_normalised(doi)] != int(year)
