"""The figures of the house are counted as their names say."""

from __future__ import annotations

import runpy
import textwrap
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[1] / "tools" / "house.py"))


def house(folder: Path, **files: str) -> dict[str, float]:
    package = folder / "house"
    package.mkdir()
    for name, source in files.items():
        (package / f"{name}.py").write_text(textwrap.dedent(source), encoding="utf-8")
    return TOOL["figures"](package)


def test_counts_a_small_house_by_hand(tmp_path):
    counted = house(
        tmp_path,
        __init__="",
        ground='''
            """Not code."""
            import math  # seen by a reader


            def area(r):
                """Not code either,
                on two lines."""

                # why
                return math.pi * r * r
        ''',
        upstairs="""
            def f():
                from house.ground import area
                x = 1  # type: ignore
                return area(x)
        """,
    )
    assert counted == {
        "files": 3,
        "packages": 1,
        "code lines": 7,
        "functions": 2,
        "function body, median": 1,
        "function body, p95": 3,
        "function body, longest": 3,
        "import lines, % of code": 28.6,
        "deferred imports": 1,
        "comments per 100 code lines": 28.6,
        "modules with one importer": 1,
    }


@pytest.mark.slow
def test_measures_a_wing_of_the_house_itself():
    counted = TOOL["figures"](TOOL["PACKAGE"] / "steps")
    assert counted["files"] > counted["packages"] > 5
    assert counted["function body, median"] <= counted["function body, p95"] <= counted["function body, longest"]
    assert TOOL["table"](counted).count("\n") == len(counted) + 1
