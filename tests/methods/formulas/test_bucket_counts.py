"""Counts of classes by bucket that t-closeness leaves room for."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.formulas.bucket_counts import (
    bucket_sizes,
    class_sizes,
    count_bounds,
    distance_of,
    whole_counts,
)


@pytest.mark.parametrize(("records", "classes", "buckets"), [(60, 5, 3), (61, 6, 2), (100, 7, 4)])
def test_counts_add_up_and_keep_the_bounds(records, classes, buckets):
    rows = class_sizes(records, classes)
    columns = bucket_sizes(records, buckets)
    low, high = count_bounds(rows, columns, 2)
    counts = whole_counts(rows, columns, low, high)
    assert counts is not None
    assert counts.sum(axis=1).tolist() == rows
    assert counts.sum(axis=0).tolist() == columns
    assert (low <= counts).all()
    assert (counts <= high).all()
    assert distance_of(counts) <= 2 + 1e-9


def test_there_may_be_none():
    rows = class_sizes(7, 3)
    columns = bucket_sizes(7, 3)
    low, high = count_bounds(rows, columns, 2)
    assert whole_counts(rows, columns, low, high) is None


def test_classes_like_the_table_have_no_distance():
    assert distance_of(np.array([[2, 4], [3, 6]])) == pytest.approx(1.0)
