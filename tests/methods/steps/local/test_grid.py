"""Ranges of numbers and dates end on a grid: no limit in a written file is the value of a person,
unless the grid has it.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime
import itertools
import json
import random
import re
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.schema import Kind
from sfumato.core.step import Goal
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import TableHierarchy
from sfumato.methods.steps.local.grid import DecimalStep, default_step
from tests.oracles import definitions as oracle

NUMBERS = re.compile(
    r"\[(?P<low>[^,]+), (?P<high>[^\])]+)(?P<end>[\])])|(?P<first>\d+)-(?P<last>\d+)"
)


def random_table(draws):
    """A few columns of numbers and days, some with gaps, and the grids and hierarchies that are
    said of some of them.
    """
    rows, columns, grid, hierarchies = draws.randint(12, 80), {}, {}, {}
    for place in range(draws.randint(1, 3)):
        kind = draws.choice(["age", "wage", "place", "change", "day"])
        name = f"{kind}{place}"
        draw = {
            "age": lambda: draws.randint(0, 100),
            "wage": lambda: round(draws.expovariate(1 / 2000), 2),
            "place": lambda: round(draws.uniform(-118.5, -118), 7),
            "change": lambda: draws.randint(-300, 300),
            "day": lambda: (
                datetime.date(1990, 1, 1) + datetime.timedelta(days=draws.randint(0, 9000))
            ),
        }[kind]
        columns[name] = [None if draws.random() < 0.03 else draw() for _ in range(rows)]
        choice = draws.random()
        if choice < 0.3:
            grid[name] = (
                draws.choice(["month", "year", "week"])
                if kind == "day"
                else draws.choice([5, 0.25, 7])
            )
        elif choice < 0.6 and kind in ("age", "place", "day"):
            hierarchies[name] = {
                "age": sf.intervals(5, 10, 20),
                "place": sf.intervals(0.05, 0.1),
                "day": sf.dates(),
            }[kind]
    return columns, grid, hierarchies


def steps_with(grid):
    return [
        sf.Mondrian(grid=grid),
        sf.Mondrian(mode="relaxed", grid=grid),
        sf.Mondrian(mode="single", grid=grid),
        sf.KMember(grid=grid),
        sf.LocalRecoding(method="mondrian", grid=grid),
        sf.KOptimize(cuts=6, effort=60, grid=grid),
    ]


def limits_of(label):
    """Where a range of numbers begins, and where the next one may begin."""
    match = NUMBERS.fullmatch(label)
    if match["low"] is not None:
        return Fraction(match["low"]), Fraction(match["high"]) + (match["end"] == "]")
    return Fraction(match["first"]), Fraction(match["last"]) + 1


def is_limit_of_days(text, period, *, last):
    day = datetime.date.fromisoformat(text) + datetime.timedelta(days=int(last))
    if period == "week":
        return day.weekday() == 0
    whole_months = {
        "month": 1,
        "level 1 of the hierarchy": 1,
        "quarter": 3,
        "year": 12,
        "5 years": 60,
        "decade": 120,
    }
    return day.day == 1 and (day.year * 12 + day.month - 1) % whole_months[period] == 0


@pytest.mark.parametrize("seed", range(36))
def test_limits_in_a_written_file_are_those_of_the_grid(seed, tmp_path):
    draws = random.Random(seed)
    columns, grid, hierarchies = random_table(draws)
    k = draws.choice([2, 3])
    frame = pl.DataFrame(columns)
    people = sf.read(frame).with_roles(quasi=frame.columns).with_hierarchies(**hierarchies)
    step = steps_with(grid)[seed % 6]
    release = sf.anonymize(people, [sf.KAnonymity(k)], [step], seed=1)
    release.write(tmp_path / "out")
    file = next(path for path in (tmp_path / "out" / "share").iterdir() if path.suffix == ".csv")
    with file.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    certificate = json.loads((tmp_path / "out" / "share" / "certificate.json").read_text())
    stated = certificate["plan"][0].get("grid", {})
    assert min(Counter(tuple(row.values()) for row in rows).values()) >= k
    for name, values in columns.items():
        own = {str(value) for value in values}
        labels = {row[name] for row in rows} - own - {"", "*"}
        if name.startswith("day"):
            for first, _, last in (label.partition("..") for label in labels if ".." in label):
                assert is_limit_of_days(first, stated[name]["step"], last=False), (
                    first,
                    stated[name],
                )
                assert is_limit_of_days(last, stated[name]["step"], last=True), (last, stated[name])
            continue
        if labels:
            level_1 = {"age": "5", "place": "0.05"}.get(name[:-1], "0")
            width = Fraction(
                level_1 if stated[name]["source"] == "hierarchy" else stated[name]["step"]
            )
            assert all(
                (end / width).denominator == 1 for label in labels for end in limits_of(label)
            ), labels
        if isinstance(step, sf.KOptimize) or getattr(step, "mode", "") == "single":
            ends = sorted(limits_of(label) for label in labels)
            assert all(one[1] <= other[0] for one, other in itertools.pairwise(ends)), ends


def test_longitudes_are_not_printed_as_limits():
    draws = np.random.default_rng(3)
    places = draws.normal(-118.3, 0.05, 63).round(8)
    people = sf.read(pl.DataFrame({"longitude": places})).with_roles(quasi=["longitude"])
    release = sf.anonymize(people, [sf.KAnonymity(5)], [sf.Mondrian()], seed=1)
    text = " ".join(release.released.column("longitude").unique().to_list())
    assert not any(str(place) in text for place in places)
    assert release.plans[0][1].describe()["grid"] == {
        "longitude": {"step": "0.01", "source": "default"}
    }


# ------------------------------------------------------------------------------------ default steps


@pytest.mark.parametrize("seed", range(200))
def test_the_default_step_is_that_of_its_definition(seed):
    draws = random.Random(seed)
    scale = 10.0 ** draws.randint(-4, 6)
    numbers = {round(draws.gauss(0, 1) * scale, 6) for _ in range(draws.randint(2, 40))}
    if draws.random() < 0.5:
        numbers = {round(number) for number in numbers}
    if len(numbers) < 2:
        return
    whole = all(isinstance(number, int) for number in numbers)
    step = default_step(np.array(sorted(map(float, numbers))), whole=whole)
    expected = oracle.default_step(numbers)
    # a tenth of the spread that is a step itself may be rounded across it
    assert step.fraction == expected or abs(float(step.fraction / expected) - 2) <= 0.5


def test_multiples_of_a_step_are_written_plainly():
    assert DecimalStep.of(0.25).times(-3) == "-0.75" and DecimalStep.of(5000).times(3) == "15000"


# ---------------------------------------------------------------------- hierarchies, declared steps


def released(values, step, hierarchy=None, kind=None, k=2):
    people = sf.read(pl.DataFrame({"x": values})).with_roles(quasi=["x"])
    if hierarchy is not None:
        people = people.with_hierarchies(x=hierarchy)
    if kind is not None:
        people = people.with_schema(people.schema.replace("x", kind=kind))
    plan = step.plan(people, Goal((sf.KAnonymity(k),)))
    return step.apply(people, plan).column("x").to_list(), plan


def test_unions_of_level_1_are_written_as_the_hierarchy_writes_them():
    ages = [21, 27, 38, 41, 85, 93]
    labels, _ = released(ages, sf.Mondrian(), sf.intervals(5, 10, 20, open_above=80))
    assert labels == ["20-39"] * 3 + [">=40"] * 3
    labels, _ = released([-3, 4, 12, 17], sf.Mondrian(), sf.intervals(10))
    assert labels == ["[-10, 10)", "[-10, 10)", "[10, 20)", "[10, 20)"]


def test_dates_follow_the_months_of_their_hierarchy():
    days = [
        datetime.date(2024, 1, 5),
        datetime.date(2024, 1, 20),
        datetime.date(2024, 3, 3),
        datetime.date(2024, 5, 9),
    ]
    labels, _ = released(days, sf.Mondrian(), sf.dates())
    assert labels == ["2024-01", "2024-01", "2024-03-01..2024-05-31", "2024-03-01..2024-05-31"]


def test_a_hierarchy_without_intervals_is_climbed():
    table = TableHierarchy(
        [["1", "low", "*"], ["2", "low", "*"], ["3", "high", "*"], ["9", "high", "*"]]
    )
    labels, plan = released([1, 2, 3, 9], sf.Mondrian(), table, kind=Kind.NUMERIC)
    assert labels == ["low", "low", "high", "high"] and "grid" not in plan.describe()


def test_a_crowd_of_equal_values_keeps_its_value():
    labels, _ = released([30] * 6 + [31] * 6 + [33, 34], sf.Mondrian(grid={"x": 5}), k=2)
    assert Counter(labels) == {"30": 6, "31": 6, "30-34": 2}
    labels, _ = released([0] * 20 + list(range(100, 900, 40)), sf.Mondrian(grid={"x": 200}), k=5)
    assert Counter(labels)["0"] == 20


@pytest.mark.parametrize("wrong", [{"x": 0}, {"x": -1}, {"x": float("inf")}, {"x": "fortnight"}])
@pytest.mark.parametrize("step", [sf.Mondrian, sf.KMember, sf.KOptimize])
def test_steps_that_are_none_are_refused(step, wrong):
    with pytest.raises(ParameterError, match="grid of 'x'"):
        step(grid=wrong)


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"x": "month"}, "must be a number"),
        ({"y": 5}, "grid names a column 'y'"),
        ({"s": 5}, "neither numbers nor dates"),
    ],
)
def test_grids_that_do_not_fit_the_table_are_refused(grid, words):
    people = sf.read(pl.DataFrame({"x": [1, 2, 3, 4], "s": list("abab")})).with_roles(
        quasi=["x", "s"]
    )
    with pytest.raises(SchemaError, match=words):
        sf.Mondrian(grid=grid).plan(people, Goal((sf.KAnonymity(2),)))


def test_a_certificate_that_tells_of_another_grid_is_not_verified(tmp_path):
    step = sf.Mondrian(grid={"x": 5})
    told = {"grid": {"x": {"step": "5", "source": "recipe"}}, "suppressed_records": 0}
    people = sf.read(pl.DataFrame({"x": [1, 2, 3, 14]})).with_roles(quasi=["x"])
    assert step.contradicted(told, people.schema, 4) is None
    for grid in (
        {"x": {"step": "10", "source": "recipe"}},
        {"x": {"step": "5", "source": "default"}},
        {"x": 5},
        [],
    ):
        assert "other grids" in step.contradicted({**told, "grid": grid}, people.schema, 4)
    plain = dataclasses.replace(step, grid={})
    assert "other grids" in plain.contradicted(told, people.schema, 4)
