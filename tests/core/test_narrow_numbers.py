"""Numbers that take little room are the numbers they stand for, wherever they are looked up."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core import narrow_numbers
from sfumato.core.hierarchy import bind
from sfumato.core.labels import labels_of
from sfumato.core.narrow_numbers import narrowed, repeated, widened
from sfumato.release.documents import ReleaseSummary


@given(numbers=st.lists(st.integers(0, 2**40), max_size=20), spare=st.integers(0, 300))
def test_narrowed_numbers_widen_to_what_they_were(numbers, spare):
    array = np.array(numbers, dtype=np.int64)
    original = narrow_numbers.MANY
    narrow_numbers.MANY = 1
    try:
        for narrow in (narrowed(array), narrowed(array, max(numbers, default=0) + spare)):
            wide = widened(narrow)
            assert wide.tolist() == numbers
            assert wide.dtype == np.int64
    finally:
        narrow_numbers.MANY = original


def test_few_numbers_are_left_as_they_are_and_many_take_a_byte_each():
    many = np.zeros(narrow_numbers.MANY, dtype=np.int64)
    few = many[1:]
    assert narrowed(few) is few
    assert narrowed(many).nbytes == len(many)
    assert narrowed(many, 256).dtype == np.uint16


def test_repeated_numbers_are_there_once_and_cannot_be_changed():
    ones = repeated(1.0, 1_000_000)
    assert (len(ones), float(ones.sum()), ones.base.nbytes) == (1_000_000, 1_000_000.0, 8)
    with pytest.raises(ValueError, match="read-only"):
        ones[0] = 2.0


@pytest.mark.parametrize("missing", [False, True])
def test_long_climbs_remember_one_byte_a_value_and_leaves_take_no_room(missing):
    count = narrow_numbers.MANY + 10
    texts = pl.Series([f"{number:08d}" for number in range(count)] + [None] * missing)
    ladder = bind(sf.mask_right(8), labels_of(texts), np.ones(len(texts), dtype=np.int64))
    assert ladder.loss[0].strides == ladder.leaves[0].strides == (0,)
    assert len(ladder.loss[0]) == len(ladder.leaves[0]) == len(texts)
    first = ladder.climb(0, 7)
    assert ladder._climbs[0, 7].dtype == np.uint8
    assert first.dtype == np.int64
    assert first.tolist() == ladder.climb(0, 7).tolist()
    # by hand: the label on level 7 is the first character and seven stars
    labels = np.array(ladder.labels[7], dtype=object)[first[:5]]
    assert set(labels) == {"0*******"}


def test_measures_are_the_same_whether_numbers_are_narrow_or_not(monkeypatch):
    rng = np.random.default_rng(3)
    rows = 3_000
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "income": np.round(rng.lognormal(10, 1, rows), 2),
            "zip": [None if i % 50 == 0 else f"{10_000 + i}" for i in range(rows)],
            "cost": np.round(rng.gamma(2, 1000, rows), 2),
        }
    )
    table = (
        sf.read(frame)
        .with_roles(quasi=["age", "income", "zip"], keep=["cost"])
        .with_hierarchies(
            age=sf.intervals(5, 10), income=sf.intervals(1000, 100_000), zip=sf.mask_right(5)
        )
    )

    def measured():
        release = sf.anonymize(table, [sf.KAnonymity(3)], [sf.GlobalRecoding(budget=0.1)], seed=1)
        parts = []
        for measure in release.evaluate().measures:
            part = measure.parts() if callable(measure.parts) else measure.parts
            parts.append(None if part is None else part.tolist())
        summary = ReleaseSummary.of(release)
        return (summary.utility.to_dict(), summary.story, release.evaluate().to_dict(), parts)

    wide = measured()
    monkeypatch.setattr(narrow_numbers, "MANY", 1)
    monkeypatch.setattr("sfumato.release.documents.MANY_ROWS", 1)
    assert measured() == wide
