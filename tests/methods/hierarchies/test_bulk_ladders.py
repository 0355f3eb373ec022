"""Ladders of very many values are those made path by path."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.hierarchy import _ladder, bind
from sfumato.methods.hierarchies import bulk_ladders


def _numbers(draw, count):
    digits = int(draw.integers(0, 4))
    values = np.round(draw.normal(0 if draw.random() < 0.5 else 5000, 900, count), digits)
    return [str(int(v)) if digits == 0 else f"{v:.{digits}f}" for v in values]


def _codes(draw, count):
    lengths = draw.integers(2, 6, count) if draw.random() < 0.5 else np.full(count, 5)
    return ["".join(draw.choice(list("0123456789aé"), size)) for size in lengths.tolist()]


def _days(draw, count):
    start = datetime.date(1900, 1, 1)
    return [
        (start + datetime.timedelta(int(d))).isoformat() for d in draw.integers(0, 50_000, count)
    ]


def _times(draw, count):
    start = datetime.datetime(1990, 1, 1)
    unit = "seconds" if draw.random() < 0.5 else "microseconds"
    size = 10**9 if unit == "seconds" else 10**15
    return [
        str(start + datetime.timedelta(**{unit: int(d)})) for d in draw.integers(0, size, count)
    ]


CASES = {
    "intervals": (sf.intervals(5, 10, 100), _numbers),
    "open intervals": (sf.intervals(2.5, 10, 100, open_below=-100, open_above=1000), _numbers),
    "intervals from an origin": (
        sf.intervals(7, 21, origin=3, lower=-99999, upper=99999),
        _numbers,
    ),
    "mask from the right": (sf.mask_right(5), _codes),
    "mask from the left": (sf.mask_left(6), _codes),
    "filled mask": (sf.mask_right(6, pad="0"), _codes),
    "filled mask from the left": (sf.mask_left(6, pad="0"), _codes),
    "usual dates": (sf.dates(), _days),
    "weeks": (sf.dates("week"), _days),
    "days and decades": (sf.dates("day", "decade"), _days),
    "decades": (sf.dates("decade"), _days),
    "times": (sf.dates(), _times),
    "times by quarter": (sf.dates("quarter", "year"), _times),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(6))
def test_a_ladder_made_at_once_is_the_one_made_path_by_path(case, seed, monkeypatch):
    monkeypatch.setattr(bulk_ladders, "MANY_VALUES", 2)
    hierarchy, draw_values = CASES[case]
    draw = np.random.default_rng([seed, len(case)])
    values = list(dict.fromkeys(draw_values(draw, int(draw.integers(2, 300)))))
    missing = bool(seed % 2)
    at_once = hierarchy.ladder(values, missing=missing)
    one_by_one = _ladder(hierarchy.paths(values, [1] * len(values)), missing=missing)
    assert at_once is not None
    assert at_once.labels == one_by_one.labels
    assert at_once.measured == one_by_one.measured
    for field in ("up", "leaves", "loss"):
        for mine, other in zip(getattr(at_once, field), getattr(one_by_one, field), strict=True):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize(
    ("hierarchy", "values"),
    [
        (sf.intervals(5), ["1", "2", "1e3"]),
        (sf.intervals(5), ["1", "5-9", "11"]),
        (sf.intervals(5), ["1", "2", "12345678901234567"]),
        (sf.mask_right(3), ["123", "12*", "124"]),
        (sf.dates(), ["2024-01-01", "2024", "2023-01-01"]),
        (sf.dates(), ["2024-01-01", "2024-01-01 10:00:00", "2023-01-01"]),
    ],
)
def test_values_that_are_no_plain_leaves_are_left_to_paths(hierarchy, values, monkeypatch):
    monkeypatch.setattr(bulk_ladders, "MANY_VALUES", 2)
    assert hierarchy.ladder(values, missing=False) is None
    assert bind(hierarchy, values, [1] * len(values)).labels[0]


def test_positions_are_exact():
    import polars as pl

    assert bulk_ladders.decimal_positions(pl.Series(["0.1", "-3", "+2.50"]), 1)[0].tolist() == [
        1,
        -30,
        25,
    ]
    assert bulk_ladders.decimal_positions(pl.Series(["0.1", "x"]), 1) is None
    assert bulk_ladders.decimal_positions(pl.Series(["123456789012.345", "-0", "0.10"]), 0) == (
        pytest.approx([123456789012345, 0, 100], abs=0),
        3,
    )
    for too_long in ("1234567890123.456", "9999999999999999", "0.1234567890123456", "٣", "1e3"):
        assert bulk_ladders.decimal_positions(pl.Series([too_long, "0.5"]), 2) is None
