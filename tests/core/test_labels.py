"""Very many labels, held as one column of text, are read as the tuple they stand for."""

from __future__ import annotations

from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import kernels
from sfumato.core import encoding, labels
from sfumato.core.classes import count_classes
from sfumato.core.encoding import encode, relabelled
from sfumato.core.labels import (
    TextLabels,
    missing_in,
    positions_in,
    some_of,
    text_of,
    where_equal,
    without_missing,
)
from sfumato.core.pair import TablePair
from sfumato.core.reading import Joint, read_codes
from sfumato.core.schema import Attribute, Kind, Role
from sfumato.core.table import Table
from sfumato.methods.attacks.file_risks.singling_out import unique_records

TEXTS = st.lists(st.text("ab*é,{}", max_size=3), unique=True, max_size=12)


def as_text(names):
    return TextLabels(pl.Series(names, dtype=pl.String))


def held_as_text():
    """Columns with more than one label are held as text."""
    return mock.patch.multiple(labels, MANY=1), mock.patch.multiple(encoding, MANY=1)


@given(TEXTS, st.booleans(), TEXTS)
def test_text_labels_read_like_a_tuple(names, missing, others):
    plain = (*names, *([None] if missing else []))
    text = as_text(plain)
    assert (
        len(text) == len(plain) and tuple(text) == plain and text == plain and plain == tuple(text)
    )
    assert [text[i] for i in range(len(plain))] == list(plain)
    assert text[1:3] == plain[1:3]
    for label in (*plain, *others, None):
        assert (label in text) == (label in plain)
        if label in plain:
            assert text.index(label) == plain.index(label)
        else:
            with pytest.raises(ValueError, match="this label does not exist"):
                text.index(label)
    assert text == as_text(plain) and (text == as_text((*plain, "new"))) is False
    assert "*" not in repr(text) and "a" not in repr(text).replace("labels", "")
    assert missing_in(text).tolist() == missing_in(plain).tolist()
    assert where_equal(text, "*").tolist() == where_equal(plain, "*").tolist()
    assert list(without_missing(text)) == list(without_missing(plain))
    assert text_of(text).to_list() == list(plain)


@given(TEXTS, st.booleans(), TEXTS, st.booleans())
def test_labels_are_looked_up_as_text_and_as_tuples_alike(names, missing, others, other_missing):
    one = (*names, *([None] if missing else []))
    other = (*others, *([None] if other_missing else []))
    expected = [one.index(label) if label in one else -1 for label in other]
    assert positions_in(one, other).tolist() == expected
    with mock.patch.object(labels, "MANY", -1):
        assert positions_in(as_text(one), as_text(other)).tolist() == expected
        assert positions_in(one, as_text(other)).tolist() == expected
    places = np.arange(len(one))[::-2]
    assert tuple(some_of(as_text(one), places)) == some_of(one, places)


def test_who_asks_for_labels_one_by_one_is_answered_from_a_list():
    with mock.patch.object(labels, "MANY", 3):
        text = as_text(["a", "b", None])
        assert [text[i % 3] for i in range(9)] == ["a", "b", None] * 3


COLUMNS = st.one_of(
    st.lists(st.sampled_from(["b", "a", "", "ab", "*", None]), min_size=1, max_size=30).map(
        lambda v: pl.Series("x", v, dtype=pl.String)
    ),
    st.lists(st.one_of(st.integers(-20, 20), st.none()), min_size=1, max_size=30).map(
        lambda v: pl.Series("x", v, dtype=pl.Int64)
    ),
    st.lists(
        st.sampled_from([0.0, -0.0, 1.25, 1.5, 3.0, 1e16, float("nan"), None]),
        min_size=1,
        max_size=30,
    ).map(lambda v: pl.Series("x", v, dtype=pl.Float64)),
)


@given(COLUMNS, st.data())
def test_columns_are_encoded_alike_however_labels_are_held(column, data):
    plain = encode(column)
    rows = np.array(
        data.draw(st.lists(st.integers(0, len(column) - 1), max_size=20)), dtype=np.int64
    )
    names = ["b", "a", None, "a", *"cdefgh"]
    codes = np.array(
        data.draw(st.lists(st.integers(0, len(names) - 1), max_size=20)), dtype=np.int64
    )
    renamed, some = relabelled(codes, names), plain.taken(rows)
    one, other = held_as_text()
    with one, other:
        text = encode(column)
        pairs = ((plain, text), (some, text.taken(rows)), (renamed, relabelled(codes, names)))
        for expected, found in pairs:
            assert tuple(found.labels) == tuple(expected.labels)
            assert found.codes.tolist() == expected.codes.tolist()
            assert found.counts.tolist() == expected.counts.tolist()
            assert found.narrow.dtype == expected.narrow.dtype
            assert found.text("x").to_list() == expected.text("x").to_list()


@given(
    st.lists(st.integers(-3000, 3000), min_size=1, max_size=60),
    st.sampled_from([1, 2, 4, 8, 100, 1000, 7]),
)
def test_numbers_are_told_apart_without_sorting(values, scale):
    numbers = np.array(values, dtype=np.float64) / scale
    expected = np.unique(numbers, return_inverse=True)
    with mock.patch("sfumato.kernels.keys.FEW", 0):
        found = encoding._distinct_numbers(numbers)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


@given(st.data())
def test_a_column_is_read_alike_however_labels_are_held(data):
    kind = data.draw(st.sampled_from([Kind.NOMINAL, Kind.NUMERIC]))
    values = st.sampled_from(["1", "2", "3", "10", "25", None])
    before = pl.Series("x", data.draw(st.lists(values, min_size=1, max_size=20)), dtype=pl.String)
    written = st.sampled_from(["1", "2", "[0, 10)", "*", "{1, 2}", "other", "10", None])
    after = pl.Series("x", data.draw(st.lists(written, min_size=1, max_size=20)), dtype=pl.String)
    hierarchy = data.draw(
        st.sampled_from([None, sf.suppress(), sf.mask_right(2), sf.intervals(10, 20)])
    )
    attribute = Attribute(roles=(Role.QUASI,), kind=kind, hierarchy=hierarchy)
    types = (before.dtype, after.dtype)
    expected = read_codes("x", attribute, (encode(before), encode(after)), types)
    one, other = held_as_text()
    with one, other:
        found = read_codes("x", attribute, (encode(before), encode(after)), types)
    for name in ("places", "low", "high", "starts", "members", "everything", "loss"):
        assert np.array_equal(
            getattr(found, name),
            getattr(expected, name),
            equal_nan=name in ("places", "low", "high"),
        ), name
    assert found.scale == expected.scale and found.span == expected.span
    assert tuple(found.values) == tuple(expected.values) and tuple(found.labels) == tuple(
        expected.labels
    )


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40), st.data()
)
def test_pairs_of_codes_need_no_sorting_where_values_decide_labels(pairs, data):
    before = encode(pl.Series("x", [str(value) for value, _ in pairs]))
    mapped = data.draw(st.booleans())
    after = encode(
        pl.Series("x", [str(value // 2) if mapped else str(label) for value, label in pairs])
    )
    rows = np.arange(len(pairs))
    expected = Joint.of(before, after, rows)
    with mock.patch("sfumato.core.reading.DENSE", 0):
        found = Joint.of(before, after, rows)
    for name in ("value", "label", "count", "which"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30
    )
)
def test_uniques_are_those_who_stand_alone(rows):
    frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row")
    classes = count_classes(Table(frame).with_roles(quasi=["a", "b", "c"]))
    for columns in (["a"], ["a", "b"], ["b", "c"], ["a", "b", "c"]):
        alone = frame.select(columns).is_unique().sum()
        assert classes.unique_by(columns) == alone
        assert unique_records(classes, columns) == alone


@given(st.data())
def test_codes_of_an_unchanged_column_are_those_of_the_original_rows(data):
    values = data.draw(
        st.lists(st.sampled_from([1.5, -0.0, 0.0, 2.25, None]), min_size=1, max_size=20)
    )
    original = Table(pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64)})).with_roles(
        keep=["x"]
    )
    rows = np.array(
        data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=20)),
        dtype=np.int64,
    )
    released = original.take(rows)
    if data.draw(st.booleans()):
        released = released.with_columns({"x": released.column("x").fill_null(7.0)})
    with mock.patch("sfumato.core.pair.LARGE", 1):
        _, found = TablePair.of(original, released).encoded("x")
    expected = encode(released.column("x"))
    assert tuple(found.labels) == tuple(expected.labels)
    assert found.codes.tolist() == expected.codes.tolist()


@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 2)), max_size=40),
    st.integers(0, 255),
    st.booleans(),
)
def test_records_that_are_alone_are_those_nobody_shares_bits_with(classes, seen, loops):
    held = dict(classes)
    keys, records = (
        np.array(list(held), dtype=np.uint64),
        np.array(list(held.values()), dtype=np.int64),
    )
    amounts = {}
    for key, number in held.items():
        amounts[key & seen] = amounts.get(key & seen, 0) + number
    with mock.patch.object(kernels.keys, "FEW", 0 if loops else 1000):
        alone = kernels.keys.count_unique(keys, records, np.uint64(seen))
    assert alone == sum(number == 1 for number in amounts.values())


@given(TEXTS, st.data())
def test_labels_that_were_taken_from_others_know_where(names, data):
    chosen = data.draw(st.lists(st.sampled_from(range(len(names))), unique=True)) if names else []
    with mock.patch.object(labels, "MANY", 1):
        every = as_text(names)
        some = some_of(every, np.array(chosen, dtype=np.int64))
        assert positions_in(every, some).tolist() == chosen
        assert positions_in(some, every).tolist() == [
            chosen.index(i) if i in chosen else -1 for i in range(len(names))
        ]
        assert positions_in(as_text(names[::-1]), some).tolist() == [
            len(names) - 1 - i for i in chosen
        ]
