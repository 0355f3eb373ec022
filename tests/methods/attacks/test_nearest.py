"""What attacks find without a look at every pair, against a look at every pair."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.pair import TablePair
from sfumato.core.schema import Schema
from sfumato.core.table import Table
from sfumato.methods.attacks.gdpr import CellHolders, Half, fitting
from sfumato.methods.attacks.interval_disclosure import IntervalDisclosure
from sfumato.methods.attacks.nearest import FAR_CELL, TIE, slices_of, surroundings
from tests.methods.attacks.linkage_scenes import ORDER, scene_of, schema_of

SEEDS = st.integers(0, 2**32 - 1)


def cells(rng, name, size, *, released):
    """Random cells of a column: few values, so that there are ties; missing ones; released also
    ranges, sets and suppressed ones.
    """
    plain = {
        "n": [str(v) for v in range(9)],
        "m": [str(v) for v in range(9)],
        "o": list(ORDER),
        "c": list("abcd"),
    }
    wide = {
        "n": ["0..3", "2..9", "*"],
        "m": ["*"],
        "o": ["low..middle", "*"],
        "c": ["{a, b}", "{b, c, d}", "*"],
    }
    pool = plain[name[0]] + (wide[name[0]] if released else []) + [None]
    return [pool[i] for i in rng.integers(len(pool), size=size)]


def scene(seed, *, points=False):
    """A random scene; rows of the release come from rows of the original, some twice, or are of
    nobody the intruder has.
    """
    rng = np.random.default_rng(seed)
    names = ["n1", "o1", "c1", "c2"][: rng.integers(1, 5)]
    people, known, size = rng.integers(2, 40), rng.integers(2, 30), rng.integers(2, 120)
    original = {n: cells(rng, n, people, released=False) for n in names}
    release = {n: cells(rng, n, size, released=not points) for n in names}
    rows = rng.integers(people, size=size)
    for name in names:  # some cells are as they were
        release[name] = [
            original[name][r] if rng.random() < 0.5 else v
            for r, v in zip(rows, release[name], strict=True)
        ]
    register = {n: cells(rng, n, known, released=False) for n in names}
    truth = rng.integers(-1, people, size=known)
    truth[0] = rows[0]
    wildcard = names[:1] if rng.random() < 0.2 else ()
    return scene_of(original, release, rows=rows, intruder=register, truth=truth, wildcard=wildcard)


@given(SEEDS)
def test_the_nearest_with_and_without_ones_own_record(seed):
    here = scene(seed)
    around = surroundings(here, "test")
    weights = np.random.default_rng(seed).integers(2, size=len(around.names)).astype(float)
    ours = around.files.released
    for target in range(len(around.targets)):
        kind = np.full(len(ours.records), around.files.intruder.kind_of[around.targets[target]])
        costs = around.arrays.costs(np.column_stack([kind, np.arange(len(kind))])) @ weights
        for without, (least, near) in enumerate(around.near(target, weights)):
            left = ours.records.copy()
            left[ours.kind_of[around.own[target]]] -= without
            far = np.where(left > 0, costs, np.inf)
            assert least == pytest.approx(far.min())
            nearest = (
                np.isfinite(far) & (far <= far.min() + TIE * (1 + far.min()))
                if np.isfinite(far.min())
                else []
            )
            assert sorted(near.tolist()) == np.flatnonzero(nearest).tolist()
            assert (around.rows(near) == np.flatnonzero(np.isin(ours.kind_of, near))).all()


@given(SEEDS)
def test_whom_a_description_fits(seed):
    pair = scene(seed).pair
    columns = [CellHolders(pair.reading(name)) for name in pair.columns]
    rng = np.random.default_rng(seed)
    for _ in range(10):
        labels = [int(rng.integers(len(c.reading.labels))) for c in columns]
        held = [
            c.reading.held_by(label)[c.original] for c, label in zip(columns, labels, strict=True)
        ]
        everyone = np.flatnonzero(np.all(held, axis=0))
        found = fitting(columns, labels)
        assert set(found.tolist()) <= set(everyone.tolist()) and len(found) >= min(3, len(everyone))
        for c, label, one in zip(columns, labels, held, strict=True):
            assert (
                c.count(label) == one.sum()
                and sorted(c.rows(label).tolist()) == np.flatnonzero(one).tolist()
            )
            assert (c.fits(np.arange(len(one)), label) == one).all()


def ends(kind, column, middle, percent):
    """The interval around every released value, by sorting the whole column."""
    known = np.sort(column[~np.isnan(column)])
    if not known.size:
        return middle, middle
    if kind == "deviation":
        half = percent / 100 * float(np.std(known, ddof=1)) if len(known) > 1 else 0.0
        return middle - half, middle + half
    width = int(percent * len(known) / 200 + 1e-9)
    low = np.clip(np.searchsorted(known, middle, side="left") - width, 0, len(known) - 1)
    high = np.clip(np.searchsorted(known, middle, side="right") - 1 + width, 0, len(known) - 1)
    return np.where(np.isnan(middle), np.nan, known[low]), np.where(
        np.isnan(middle), np.nan, known[high]
    )


@given(SEEDS, st.sampled_from(["rank", "deviation"]), st.booleans())
def test_intervals_around_labels_are_those_around_rows(seed, kind, dealt):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 200))
    if rng.random() < 0.5:
        table = {"n1": rng.integers(9, size=size).astype(float)}
        release = {
            "n1": np.where(
                rng.random(size) < 0.1, np.nan, np.rint(table["n1"] + rng.normal(size=size))
            )
        }
    else:
        table, release = (
            {"n1": cells(rng, "n", size, released=masked)} for masked in (False, True)
        )
    original = Table(pl.DataFrame(table), schema_of(["n1"]))
    pair = TablePair(
        original, Table(pl.DataFrame(release), Schema(original.schema.attributes)), np.arange(size)
    )
    reading, order = pair.reading("n1"), rng.permutation(size) if dealt else None
    widths = (1.0, 5.0, 40.0, 150.0)
    found = IntervalDisclosure(kind=kind, widths=widths).disclosed(pair, "n1", order)
    labels = reading.released if order is None else reading.released[order]
    place, middle = reading.places[reading.original], reading.middle[labels]
    hits = []
    for percent in widths:
        low, high = ends(kind, reading.middle[reading.released], middle, percent)
        narrow = (reading.low[labels] >= low - 1e-12) & (reading.high[labels] <= high + 1e-12)
        hits.append((place >= low - 1e-12) & (place <= high + 1e-12) & narrow)
    assert (found == np.mean(hits, axis=0)).all()


@given(SEEDS)
def test_halves_of_the_columns_meet_where_the_nearest_of_all_records_by_either_do(seed):
    place = scene(seed)
    around = surroundings(place, "test")
    halves = (
        Half.of(around, place.pair, 0),
        Half.of(around, place.pair, 1) if len(around.names) > 1 else None,
    )
    if halves[1] is None:
        return
    weights = [
        np.array([float(i % 2 == side) for i, _ in enumerate(around.names)]) for side in (0, 1)
    ]
    for target in range(len(around.targets)):
        one, two = (around.near(target, half) for half in weights)
        plain = tuple(bool(np.isin(one[way][1], two[way][1]).any()) for way in (0, 1))
        assert halves[0].met(halves[1], target) == plain


@given(data=st.data())
def test_slices_are_those_of_a_loop(data):
    values = np.arange(100, 130)
    places = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted), max_size=6)
    runs = data.draw(places)
    begins, ends = (np.array([run[side] for run in runs], dtype=np.int64) for side in (0, 1))
    expected = [value for first, last in runs for value in values[first:last].tolist()]
    assert slices_of(values, begins, ends).tolist() == expected


def test_counting_many_labels_keeps_nothing_of_them(monkeypatch):
    monkeypatch.setattr("sfumato.core.table.MANY", 3)
    frame = pl.DataFrame({"many": [0.5, 1.5, 2.5, 3.5, 3.5], "few": ["b", "a", "a", None, "b"]})
    pair = TablePair.of(sf.read(frame), sf.read(frame))
    for name in ("many", "few"):
        counted = pair.frequencies(name).tolist()
        assert (name in pair.released.known.codes) == (name == "few")
        assert (
            counted
            == np.bincount(pair.encoded(name)[1].codes).tolist()
            == pair.frequencies(name).tolist()
        )


def test_cells_of_many_categories_cost_more_work():
    def cost(values):
        towns = {"c0": [str(i % values) for i in range(70_000)]}
        around = surroundings(scene_of(towns, towns), "inference")
        return around.full_cost / len(around.files.released.records)

    assert cost(1000) == 1 and cost(70_000) == FAR_CELL
