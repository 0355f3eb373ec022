"""Codes and labels of columns: what is equal gets one code, what differs gets two, whatever the
type.
"""

from __future__ import annotations

import datetime
import decimal
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core import encoding
from sfumato.core.encoding import (
    DIRECT_RANGE,
    encode,
    encode_column,
    joint_label,
    label,
    missing_in,
    positions_in,
    relabelled,
)
from sfumato.core.labels import _joined
from sfumato.core.table import Table
from sfumato.errors import SchemaError

NAN = float("nan")
DAY = datetime.date(2024, 3, 15)
NOON = datetime.datetime(2024, 3, 15, 12)


def labels_of(encoded):
    return [encoded.labels[code] for code in encoded.codes.tolist()]


CASES = {
    "text": (pl.Series(["b", None, "a", "b"]), ["b", None, "a", "b"]),
    "leading zeros": (pl.Series(["07", "7", " 7"]), ["07", "7", " 7"]),
    "empty text is not missing": (pl.Series(["", None]), ["", None]),
    "whole numbers": (pl.Series([10, 9, None, -1]), ["10", "9", None, "-1"]),
    "wide range": (pl.Series([0, DIRECT_RANGE, 5, None]), ["0", str(DIRECT_RANGE), "5", None]),
    "widest direct range": (pl.Series([0, DIRECT_RANGE - 1]), ["0", str(DIRECT_RANGE - 1)]),
    "bytes of numbers": (pl.Series([-128, 127, None], dtype=pl.Int8), ["-128", "127", None]),
    "ends of int64": (
        pl.Series([-(2**63), -(2**63) + 5, None]),
        [str(-(2**63)), str(-(2**63) + 5), None],
    ),
    "beyond int64": (
        pl.Series([2**63 + 5, 2**63 + 7, None], dtype=pl.UInt64),
        [str(2**63 + 5), str(2**63 + 7), None],
    ),
    "across int64": (
        pl.Series([2**63 - 1, 2**63 + 1], dtype=pl.UInt64),
        [str(2**63 - 1), str(2**63 + 1)],
    ),
    "ends of uint64": (pl.Series([2**64 - 1, 0], dtype=pl.UInt64), [str(2**64 - 1), "0"]),
    "128 bits": (
        pl.Series([2**70, 2**70 + 3, None], dtype=pl.Int128),
        [str(2**70), str(2**70 + 3), None],
    ),
    "128 bits, small": (pl.Series([3, None, 1], dtype=pl.Int128), ["3", None, "1"]),
    "floats": (pl.Series([33.0, 0.5, -2.0, 1e300]), ["33", "0.5", "-2", "1e+300"]),
    "NaN is missing": (pl.Series([1.0, NAN, None]), ["1", None, None]),
    "infinities": (pl.Series([math.inf, -math.inf, 1.0]), ["inf", "-inf", "1"]),
    "zeros": (pl.Series([0.0, -0.0]), ["0", "0"]),
    "truth": (pl.Series([True, None, False]), ["true", None, "false"]),
    "days": (pl.Series([DAY, None]), ["2024-03-15", None]),
    "moments": (pl.Series([NOON, None]), ["2024-03-15 12:00:00", None]),
    "categories": (pl.Series(["b", None, "a"], dtype=pl.Categorical), ["b", None, "a"]),
    "enumeration": (pl.Series(["low", "high"], dtype=pl.Enum(["low", "high"])), ["low", "high"]),
    "decimals": (pl.Series([decimal.Decimal("1.50"), None]), ["1.50", None]),
    "no type": (pl.Series([None, None]), [None, None]),
    "typed but missing": (pl.Series([None], dtype=pl.Int32), [None]),
}


@pytest.mark.parametrize("case", CASES)
def test_labels(case):
    column, expected = CASES[case]
    encoded = encode(column)
    assert labels_of(encoded) == expected
    present = [name for name in encoded.labels if name is not None]
    assert present == sorted(present)
    assert None not in encoded.labels[:-1]
    assert encoded.counts.tolist() == [expected.count(name) for name in encoded.labels]


@pytest.mark.parametrize(
    "dtype", [pl.Datetime("ns"), pl.Duration("ns"), pl.Time, pl.Datetime("ns", "UTC")]
)
def test_times_finer_than_python_knows_stay_apart(dtype):
    ticks = [0, 1, 999, 1000, 1001, 1, None]
    encoded = encode(pl.Series(ticks, dtype=pl.Int64).cast(dtype))
    assert len({*encoded.labels}) == 6
    assert encoded.codes[1] == encoded.codes[5]


@pytest.mark.parametrize(
    "dtype", [pl.Int64, pl.String, pl.Float64, pl.Boolean, pl.Date, pl.Null, pl.Categorical]
)
def test_empty_columns(dtype):
    encoded = encode(pl.Series([], dtype=dtype))
    assert (encoded.labels, encoded.codes.tolist(), encoded.counts.tolist()) == ((), [], [])


@pytest.mark.parametrize(
    "column", [pl.Series("c", [[1], [2]]), pl.Series("c", [{"a": 1}]), pl.Series("c", [object()])]
)
def test_what_is_no_value_is_refused(column):
    with pytest.raises(SchemaError, match="column 'c' holds lists or objects"):
        encode(column)


@given(
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-5, 5))),
    st.randoms(),
)
def test_whole_numbers_and_row_order(values, chance):
    encoded = encode(pl.Series(values, dtype=pl.Int64))
    assert labels_of(encoded) == [None if v is None else str(v) for v in values]
    turned = values[:]
    chance.shuffle(turned)
    assert encode(pl.Series(turned, dtype=pl.Int64)).labels == encoded.labels


@given(st.lists(st.one_of(st.none(), st.floats(width=64))))
def test_floats_share_a_code_exactly_when_they_are_equal(values):
    encoded = encode(pl.Series(values, dtype=pl.Float64))
    plain = [None if v is None or math.isnan(v) else v for v in values]
    for i, one in enumerate(plain):
        for j, other in enumerate(plain):
            assert (encoded.codes[i] == encoded.codes[j]) == (one == other)


@pytest.mark.slow
@given(st.lists(st.one_of(st.none(), st.text(max_size=3))))
def test_text_is_its_own_label(values):
    encoded = encode(pl.Series(values, dtype=pl.String))
    assert labels_of(encoded) == values


@given(
    first=st.lists(st.sampled_from(["a", "b", "c"]), max_size=12),
    rest=st.lists(st.none() | st.sampled_from(["", "a", "ä", "d", "é"]), max_size=40),
)
def test_text_that_the_first_rows_do_not_show_is_encoded_alike(first, rest):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "FIRST_ROWS", 12)
        quick = encode(pl.Series("text", first * 2 + rest, dtype=pl.String))
        patch.setattr(encoding, "FIRST_ROWS", 0)
        plain = encode(pl.Series("text", first * 2 + rest, dtype=pl.String))
    assert [quick.labels[code] for code in quick.codes] == first * 2 + rest
    assert quick.labels == plain.labels
    assert quick.codes.tolist() == plain.codes.tolist()
    assert quick.counts.tolist() == plain.counts.tolist()


def test_a_column_read_as_whole_or_as_float_numbers_meets_the_same_hierarchy():
    assert encode(pl.Series([33, 7])).labels == encode(pl.Series([33.0, 7.0])).labels == ("33", "7")


def test_label_of_numpy_and_python_numbers():
    assert label(np.float64(3.0)) == "3"
    assert label(np.int64(3)) == "3"


PARTS = st.tuples(*[st.one_of(st.none(), st.text("ab\x1f=-", max_size=3))] * 3)


@given(PARTS, PARTS)
def test_combined_labels_differ_where_a_part_differs(one, other):
    assert (joint_label(one) == joint_label(other)) == (one == other)


@given(st.lists(st.tuples(*[st.one_of(st.none(), st.sampled_from("ab"))] * 3)))
def test_columns_counted_as_one(rows):
    data = {
        name: pl.Series([row[i] for row in rows], dtype=pl.String) for i, name in enumerate("xyz")
    }
    encoded = encode_column(Table(pl.DataFrame(data)), ("x", "y", "z"))
    assert labels_of(encoded) == [joint_label(row) for row in rows]
    assert encoded.counts.tolist() == [labels_of(encoded).count(name) for name in encoded.labels]


@given(
    st.lists(
        st.one_of(
            st.none(), st.floats(), st.floats(-1e6, 1e6), st.integers(-(10**17), 10**17).map(float)
        )
    )
)
def test_every_float_has_the_label_that_python_writes(values):
    found = encode(pl.Series("a", values, dtype=pl.Float64))
    wanted = [None if v is None or math.isnan(v) else label(v) for v in values]
    assert [found.labels[code] for code in found.codes.tolist()] == wanted
    known = sorted({name for name in wanted if name is not None})
    assert list(found.labels) == [*known, *([None] if None in wanted else [])]
    assert found.counts.tolist() == [wanted.count(name) for name in found.labels]


@given(
    st.lists(st.sampled_from([*"abcdef", None]), unique=True),
    st.lists(st.sampled_from([*"abcdef", None])),
)
def test_labels_are_found_among_others(labels, wanted):
    places = {name: i for i, name in enumerate(labels)}
    assert positions_in(tuple(labels), tuple(wanted)).tolist() == [
        places.get(name, -1) for name in wanted
    ]
    assert _joined(tuple(labels), tuple(wanted)).tolist() == [
        places.get(name, -1) for name in wanted
    ]
    assert positions_in(tuple(labels), tuple(labels)).tolist() == list(range(len(labels)))
    assert missing_in(tuple(labels)).tolist() == [name is None for name in labels]


@given(
    cells=st.lists(st.one_of(st.none(), st.sampled_from("abcd")), max_size=20),
    other=st.lists(st.one_of(st.none(), st.sampled_from("abcd")), max_size=20),
    data=st.data(),
)
def test_codes_say_what_the_cells_say(cells, other, data):
    column = pl.Series("x", cells, dtype=pl.String)
    encoded = encode(column)
    assert encoded.categories("x").cast(pl.String).to_list() == cells
    assert encoded.holds(column)
    assert encoded.holds(pl.Series("x", other, dtype=pl.String)) == (cells == other)
    rows = data.draw(st.lists(st.integers(0, len(cells) - 1), max_size=20)) if cells else []
    taken = encoded.taken(np.array(rows, dtype=np.int64))
    assert taken.text("x").to_list() == [cells[row] for row in rows]
    assert taken.labels == encode(column.gather(rows)).labels


@pytest.mark.parametrize("count", [1, 255, 256, 257, 65536, 65537])
def test_categories_of_any_number(count):
    codes, labels = np.arange(count)[::-1], sorted(map(str, range(count)))
    encoded = relabelled(codes, labels)
    assert encoded.categories("x").cast(pl.String).to_list() == labels[::-1]
    assert encoded.text("x").to_list() == labels[::-1]
