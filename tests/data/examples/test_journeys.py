"""From a file of paths to a verified release with its report and the picture of who is alone with
1…5 points.
"""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

from sfumato.data.examples.journeys import SMALL, mobility_table
from sfumato.interfaces.cli import main

RECIPE = """
sfumato: 1
shape: paths
columns:
  person: {role: person}
  time: {role: time}
  x: {role: place, kind: numeric}
  y: {role: place, kind: numeric}
  income: {role: sensitive}
meet:
  - lkc_privacy: {k: 3, l: 2}
steps:
  - path_recoding: {cell: 500, budget: 0.15}
  - point_suppression
"""


@pytest.fixture
def run(monkeypatch, capfd):
    """Run ``sfumato`` with arguments in this process: its exit code and all it said."""

    def called(*arguments):
        monkeypatch.setattr("sys.argv", ["sfumato", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        return code, "".join(capfd.readouterr())

    return called


@pytest.fixture
def city(tmp_path):
    mobility_table(80, days=3).write_csv(tmp_path / "visits.csv")
    (tmp_path / "visits.yaml").write_text(RECIPE)
    return tmp_path


def test_from_file_to_verified_release(run, city):
    code, said = run(
        "run", city / "visits.csv", "-r", city / "visits.yaml", "-o", city / "out", "--seed", "5"
    )
    assert code == 0, said
    certificate = json.loads((city / "out" / "share" / "certificate.json").read_text())
    assert certificate["shape"] == "paths"
    assert [verdict["holds"] for verdict in certificate["verdicts"]] == [True]
    assert certificate["plan"][0]["times"].startswith("starts of buckets of ")
    assert certificate["plan"][0]["places"].startswith("cells of ")
    released = pl.read_csv(city / "out" / "share" / "data.csv")
    assert released.columns == ["person", "time", "x", "y", "income"]
    assert released["x"].str.contains(r"^\[-?\d+, -?\d+\)$|^\*$").all()
    code, said = run(
        "verify",
        city / "out" / "share",
        "--original",
        city / "visits.csv",
        "--owner",
        city / "out" / "owner",
    )
    assert code == 0, said
    assert "byte for byte" in said


def test_the_picture_has_the_curve_before_and_after(run, city):
    assert (
        run(
            "run",
            city / "visits.csv",
            "-r",
            city / "visits.yaml",
            "-o",
            city / "out",
            "--seed",
            "5",
        )[0]
        == 0
    )
    page = (city / "out" / "owner" / "report.html").read_text()
    pictures = [
        picture
        for picture in re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        if "points known" in picture
    ]
    assert len(pictures) == 1
    assert "stroke-dasharray" in pictures[0]
    told = json.loads((city / "out" / "owner" / "release.json").read_text())
    after = next(
        one for one in told["certificate"]["attacks"]["tried"] if one["attack"] == "unicity"
    )
    assert [p for p, _ in after["details"]["curve"]["points"]] == [1, 2, 3, 4, 5]
    assert [share for _, share in after["details"]["curve"]["points"]][:2] == [0, 0]


def small_file(run, folder, steps, meet="lkc_privacy: {k: 2, l: 2}", people=SMALL):
    rows = [
        (f"p{i}", point[:-1], point[-1], value)
        for i, (path, value) in enumerate(people)
        for point in path.split()
    ]
    (folder / "day.csv").write_text(
        "who,hour,place,illness\n" + "\n".join(map(",".join, rows)) + "\n"
    )
    (folder / "day.yaml").write_text(
        "shape: paths\ncolumns:\n  who: person\n  hour: time\n  place: {role: place, hierarchy:"
        " {tree: {nested: {'*': {north: [a, b, c], south: [d, e, f]}}}}}\n  illness:"
        f" sensitive\nmeet:\n  - {meet}\nsteps:\n  - {steps}\n"
    )
    return run(
        "run", folder / "day.csv", "-r", folder / "day.yaml", "-o", folder / "out", "--seed", "5"
    )


def test_places_of_a_hierarchy(run, tmp_path):
    code, said = small_file(run, tmp_path, "path_recoding")
    assert code == 0, said
    released = pl.read_csv(tmp_path / "out" / "share" / "data.csv")
    assert set(released["place"]) == {"north", "south"}
    assert set(released["hour"]) == {0}
    assert run("verify", tmp_path / "out" / "share")[0] == 7


WRONG = {
    "nothing reaches it": (
        {"steps": "path_recoding", "meet": "lkc_privacy: {k: 2, l: 2, c: 0.6}"},
        4,
    ),
    "too much must go": ({"steps": "point_suppression: {budget: 0.2}"}, 4),
    "one person": ({"steps": "path_recoding", "people": SMALL[:1]}, 2),
    "fewer people than k": ({"steps": "path_recoding", "meet": "km_visits: {k: 20}"}, 4),
    "levels that do not nest": ({"steps": "path_recoding: {widths: [2h, 3h]}"}, 2),
    "times that are none": (
        {"steps": "path_recoding", "people": [("8a noona", "x"), ("9b", "y")]},
        2,
    ),
    "a hierarchy that misses places": (
        {"steps": "path_recoding", "people": [("8a 9z", "x"), ("9b", "y")]},
        2,
    ),
    "a promise of another shape": ({"steps": "path_recoding", "meet": "k_anonymity: {k: 2}"}, 2),
    "a shift breaks the promise": (
        {"steps": "time_shift: {most: 2h}", "meet": "km_anonymity: {k: 2}"},
        1,
    ),
}


@pytest.mark.parametrize(("given", "expected"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_ends_with_the_right_code_and_nothing_written(run, tmp_path, given, expected):
    code, said = small_file(run, tmp_path, **given)
    assert code == expected, said
    assert not (tmp_path / "out").exists()
    assert "noon" not in said
