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
    counted = TOOL["figures"](TOOL["PACKAGE"] / "methods" / "steps")
    assert counted["files"] > counted["packages"] > 5
    assert (
        counted["function body, median"]
        <= counted["function body, p95"]
        <= counted["function body, longest"]
    )
    assert TOOL["table"](counted).count("\n") == len(counted) + 1


GAUGES = runpy.run_path(str(Path(__file__).resolve().parents[1] / "tools" / "gauges.py"))
HAND = '''
"""Not code."""
from typing import Any


def found(a: Any, b, c, d, e, f, g, h):
    # why
    one = [x for x in a] if b else [c]  # noqa: C416
    if isinstance(one, Table):
        return one
    return found(one)


READERS = {Shape.TABLE: found, "graph": found}
'''


def test_gauges_of_a_small_package_by_hand(tmp_path):
    package, tests = tmp_path / "house", tmp_path / "tests"
    for folder in (package / "baskets", tests):
        folder.mkdir(parents=True)
    (package / "hall.py").write_text(HAND, encoding="utf-8")
    (package / "baskets" / "cellar.py").write_text(
        "inside = isinstance(basket, Table)\n", encoding="utf-8"
    )
    (tests / "test_hall.py").touch()
    counted = GAUGES["gauges"](package, tests)
    assert counted["code lines"] == 8
    assert counted["forks by shape of data"] == 2, "packages of a single shape may ask"
    assert counted["signatures over 7"] == counted["Any"] == 1
    assert counted["mirrored modules %"] == 50
    assert counted["conditional expressions per 100"] == counted["comprehensions per 100"] == 12.5
    assert counted["comments per 100"] == 12.5
    assert counted["participle names %"] == round(100 / 13, 2), "found, of thirteen names"
    assert counted["vague names %"] == round(200 / 13, 2), "and one"


def test_a_gauge_that_gets_worse_is_told(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[1] / "tools"))
    stored = {"Any": 5, "comments per 100": 2.0, "tokens": 10, "glued files": 1}
    assert (
        TOOL["worse"](stored, {"Any": 5, "comments per 100": 2.0, "tokens": 99, "glued files": 0})
        == []
    )
    lines = TOOL["worse"](stored, {"Any": 6, "comments per 100": 1.9, "tokens": 10})
    assert [line.partition(":")[0] for line in lines] == ["Any", "comments per 100", "glued files"]


def test_the_functions_of_a_run_are_listed_by_module(tmp_path, monkeypatch):
    def callee() -> None: ...

    def caller() -> None: ...

    codes = {callee.__code__: {caller.__code__}, caller.__code__: set()}
    gauges = GAUGES["list_run_functions"].__globals__
    monkeypatch.setitem(gauges, "trace_ten_rows", lambda package, folder: (codes, [1, 2]))
    listed = GAUGES["list_run_functions"](Path(__file__).parent, tmp_path)
    assert "   2 test_house.py" in listed
    assert "1 test_the_functions_of_a_run_are_listed_by_module.<locals>.callee  <- " in listed
    assert listed.endswith("2 functions; 1 of them have one caller")
    assert GAUGES["traced_run"](Path(__file__).parent, tmp_path) == {
        "functions of a run on ten rows": 2,
        "mean depth of a run on ten rows": 1.5,
    }
