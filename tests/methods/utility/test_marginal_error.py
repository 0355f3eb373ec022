"""The error of tables against a count cell by cell."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.pair import TablePair
from sfumato.core.reading import ColumnLevel
from sfumato.methods.formulas import binning
from sfumato.methods.formulas.binning import bin_column, table_after, table_before
from sfumato.methods.utility.tables import MarginalError, TableDistance


def spread(values):
    """Each of some cells with its share."""
    return {value: 1 / len(values) for value in values}


class Category:
    """Text: a set written in braces, or ``*``."""

    def __init__(self, rng, rows):
        self.before = [
            None if rng.random() < 0.1 else str(rng.choice(list("uvwxyz"))) for _ in range(rows)
        ]
        self.every = sorted({v for v in self.before if v is not None}) + [None] * (
            None in self.before
        )
        known = [v for v in self.every if v is not None]
        self.after = []
        for value in self.before:
            way = rng.integers(5)
            others = sorted({*rng.choice(known, 2)}) if known else []
            if way == 0:
                self.after.append("*")
            elif way == 1 and len(others) == 2:
                self.after.append("{" + ", ".join(others) + "}")
            elif way == 2 and known:
                self.after.append(str(rng.choice(known)))
            else:
                self.after.append(value)
        self.series = [pl.Series(side, dtype=pl.String) for side in (self.before, self.after)]

    def blind(self):
        return spread(self.every)

    def cells(self, label):
        if label == "*":
            return self.blind()
        if label is not None and label.startswith("{"):
            return spread(label.strip("{}").split(", "))
        return {label: 1.0}


class FewNumbers:
    """No more than 100 numbers, each a cell of its own; what only the release has counts as the
    nearest.
    """

    def __init__(self, rng, rows):
        self.before = [None if rng.random() < 0.1 else int(v) for v in rng.integers(0, 20, rows)]
        self.before[0] = 7
        self.line = sorted({v for v in self.before if v is not None})
        self.after = []
        for value in self.before:
            way = rng.integers(5)
            if way == 0 or value is None:
                self.after.append("*" if way == 0 else None)
            elif way == 1:
                self.after.append(f"[{value - 2}, {value + int(rng.integers(0, 6))}]")
            elif way == 2:
                self.after.append(str(value + 0.25))
            else:
                self.after.append(str(value))
        self.series = [
            pl.Series(self.before, dtype=pl.Int64),
            pl.Series(self.after, dtype=pl.String),
        ]

    def blind(self):
        return spread(self.line)

    def cells(self, label):
        if label is None or isinstance(label, int):
            return {label: 1.0}
        if label == "*":
            return self.blind()
        if label.startswith("["):
            low, high = (float(end) for end in label.strip("[]").split(", "))
            return spread([v for v in self.line if low <= v <= high])
        return {min(self.line, key=lambda v: (abs(v - float(label)), v)): 1.0}


class ManyNumbers:
    """More than 100 numbers: 100 bins between the 1st and the 99th percentile, the outer ones
    without end.
    """

    def __init__(self, rng, rows):
        self.before = [float(v) for v in rng.normal(size=rows) * 10]
        ends = [float(np.quantile(self.before, share)) for share in (0.01, 0.99)]
        self.edges = np.linspace(*ends, 101)
        self.after = []
        for value in self.before:
            way = rng.integers(5)
            self.after.append(
                "*"
                if way == 0
                else (
                    f"[{value - 1}, {value + rng.random() * 30}]"
                    if way == 1
                    else f"{value + rng.normal()}"
                )
            )
        self.series = [pl.Series(self.before), pl.Series(self.after, dtype=pl.String)]

    def blind(self):
        return self.range(min(self.before), max(self.before))

    def range(self, low, high):
        borders = [-math.inf, *self.edges[1:-1], math.inf]
        return {
            place: max(0.0, min(high, end) - max(low, start)) / (high - low)
            for place, (start, end) in enumerate(itertools.pairwise(borders))
        }

    def cells(self, label):
        if label == "*":
            return self.blind()
        if isinstance(label, str) and label.startswith("["):
            return self.range(*(float(end) for end in label.strip("[]").split(", ")))
        at = float(label)
        return {sum(edge <= at for edge in self.edges[1:-1]): 1.0}


def table_of(columns, labels):
    """The shares of the cells of a table, one row after the other."""
    table = {}
    for row in zip(*labels, strict=True):
        parts = [column.cells(label).items() for column, label in zip(columns, row, strict=True)]
        for combination in itertools.product(*parts):
            key = tuple(cell for cell, _ in combination)
            table[key] = table.get(key, 0.0) + math.prod(share for _, share in combination) / len(
                labels[0]
            )
    return table


def distance(one, other):
    return sum(abs(one.get(cell, 0.0) - other.get(cell, 0.0)) for cell in {*one, *other})


@pytest.mark.parametrize("seed", range(60))
def test_errors_are_those_of_cells_counted_one_by_one(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    many = seed % 4 == 0
    rows = 130 if many else int(rng.integers(2, 30))
    kinds = [ManyNumbers, Category, FewNumbers] if many else [Category, FewNumbers, Category]
    columns = dict(zip("abc", (kind(rng, rows) for kind in kinds), strict=True))
    numeric = {
        name: "numeric" for name, column in columns.items() if not isinstance(column, Category)
    }
    tables = [
        sf.read(pl.DataFrame({name: column.series[side] for name, column in columns.items()}))
        .with_roles(quasi=list(columns))
        .with_kinds(**numeric)
        for side in (0, 1)
    ]
    pair = TablePair.of(*tables)
    ways = int(rng.integers(1, 3 if many else 4))
    if rng.random() < 0.3:
        monkeypatch.setattr(binning, "MOST_CELLS", 5)  # one combination after the other
    found = MarginalError(ways=ways).measure(pair)
    errors, blind = {}, []
    for chosen in itertools.combinations(columns, ways):
        some = [columns[name] for name in chosen]
        before = table_of(some, [column.before for column in some])
        errors[chosen] = distance(before, table_of(some, [column.after for column in some]))
        nothing = table_of(some, [["*"] for _ in some])
        blind.append(distance(before, nothing))
        assert TableDistance(chosen).measure(pair).value <= 1
    raw = float(np.mean(list(errors.values())))
    assert found.raw == pytest.approx(raw, abs=1e-9)
    most = float(np.mean(blind))
    assert found.value == pytest.approx(min(1.0, raw / most) if most > 0 else 0.0, abs=1e-9)
    for name in columns:
        own = [error for chosen, error in errors.items() if name in chosen]
        assert found.per_column[name] == pytest.approx(float(np.mean(own)) / 2, abs=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_tables_of_many_kinds_of_cells_are_those_of_few(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 60))
    before = {name: rng.integers(0, 9, rows) for name in "xyz"}
    after = {
        name: [
            f"{v - 1}-{v + int(rng.integers(0, 4))}" if rng.random() < 0.6 else str(v)
            for v in column
        ]
        for name, column in before.items()
    }
    tables = [
        sf.read(pl.DataFrame(side)).with_roles(quasi=["x", "y", "z"]) for side in (before, after)
    ]
    pair = TablePair.of(
        *[table.with_kinds(x="numeric", y="numeric", z="numeric") for table in tables]
    )
    columns = [
        bin_column(pair, name, max_bins=4, even=True) for name in "xyz"[: rng.integers(1, 4)]
    ]
    expected = np.zeros(tuple(len(column.names) for column in columns))
    for row in range(rows):
        for cell in np.ndindex(expected.shape):
            expected[cell] += math.prod(
                c.spread[c.released[row], b] for c, b in zip(columns, cell, strict=True)
            )
    assert table_after(*columns) == pytest.approx(expected, abs=1e-9)
    monkeypatch.setattr(binning, "MOST_CELLS", int(rng.integers(0, 9)))
    assert table_after(*columns) == pytest.approx(expected, abs=1e-9)
    assert table_before(*columns).sum() == rows


def test_a_column_is_read_alike_whether_or_not_another_one_was_released():
    """Two levels write ``other`` for different values: the one that the plan says counts."""
    jobs = [
        job
        for job, count in {"a": 8, "b": 6, "c": 4, "d": 3, "e": 2, "f": 1}.items()
        for _ in range(count)
    ]
    people = sf.read(pl.DataFrame({"job": jobs, "age": range(len(jobs))})).with_roles(
        quasi=["job"], keep=["age"]
    )
    people = people.with_hierarchies(job=sf.frequency(4, 2, 1))
    labels = pl.Series([job if job in "ab" else "other" for job in jobs])
    recoded = people.with_columns({"job": labels})
    alone = sf.read(pl.DataFrame({"job": labels})).with_roles(quasi=["job"])
    levels = {"job": ColumnLevel(2, 4)}
    found = [
        MarginalError(ways=1).measure(TablePair.of(people, released, levels)).per_column["job"]
        for released in (recoded, alone)
    ]
    assert found[0] == pytest.approx(sum(abs(n - 2.5) for n in (4, 3, 2, 1)) / 24 / 2)
    assert found[1] == pytest.approx(found[0])


def test_bins_of_very_many_numbers_take_little_memory():
    """A share of every bin for every number would take 100 million bytes."""
    numbers = np.random.default_rng(1).normal(size=125_000)
    table = sf.read(pl.DataFrame({"x": numbers})).with_roles(keep=["x"])
    pair = TablePair.of(table, table)
    pair.reading("x")
    tracemalloc.start()
    column = bin_column(pair, "x", 100, even=True, blind=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert column.distance == 0 and peak < 20_000_000
