"""Loops over packed keys: pack, group, look up, add up."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels import keys
from sfumato.kernels.keys import CALL, FEW, StandIn
from tests.core.test_classes import packed


@given(packed())
def test_few_rows_are_packed_and_found_as_many_are(case):
    words, width, columns = case
    places = [(0, 0), (words - 1, 32)]
    few, many = (np.zeros((len(columns[0]), words), dtype=np.uint64) for _ in range(2))
    for codes, (word, shift) in zip(columns, places, strict=True):
        keys.pack(few, codes, word, shift)
        keys._pack(many, codes, word, shift)
    assert few.tolist() == many.tolist()
    for codes, (word, shift) in zip(columns, places, strict=True):
        assert keys.field_codes(few, word, shift, width).tolist() == codes.tolist()
    _, first = keys.group(few)
    known = few[first[::2]]  # every other key is known, in order of appearance
    naive = [
        next((g for g, k in enumerate(known.tolist()) if k == key), -1) for key in few.tolist()
    ]
    assert keys.look_up(known, few).tolist() == keys._look_up(known, few).tolist() == naive


def test_many_keys_are_grouped_in_order_of_appearance():
    values = (
        np.random.default_rng(8).integers(0, 60_000, 100_000).astype(np.uint64)
    )  # the table grows several times
    ids, first = keys.group(values.reshape(-1, 1))
    _, index, inverse = np.unique(values, return_index=True, return_inverse=True)
    assert first.tolist() == sorted(index.tolist())
    assert first[ids].tolist() == index[inverse].tolist()


@given(given_keys=st.lists(st.integers(0, 999), max_size=60))
def test_keys_are_numbered_in_their_order(given_keys):
    ranks, known = keys.rank_keys(np.array(given_keys, dtype=np.uint64).reshape(-1, 1), 1000)
    assert known.tolist() == sorted(set(given_keys))
    assert known[ranks].tolist() == given_keys


@given(
    given_keys=st.lists(st.integers(0, 999), max_size=60),
    span=st.sampled_from([1000, 1 << 62, 1 << 64]),
)
def test_sorting_numbers_keys_as_their_order_does(given_keys, span):
    packed = np.array(given_keys, dtype=np.uint64)
    ranks, known = keys.rank_by_sorting(packed, span)
    assert known.tolist() == sorted(set(given_keys))
    assert known[ranks].tolist() == given_keys
    assert packed.tolist() == given_keys


@given(
    st.lists(st.integers(0, 300), unique=True, max_size=60),
    st.lists(st.integers(0, 300), max_size=60),
)
def test_keys_outside_are_those_nobody_knows(known, given_keys):
    held, asked = (np.array(each, dtype=np.uint64).reshape(-1, 1) for each in (known, given_keys))
    expected = [key not in known for key in given_keys]
    assert keys.lie_outside(held, asked).tolist() == expected
    with mock.patch.object(keys, "FEW", 0):
        assert keys.lie_outside(held, asked).tolist() == expected


@pytest.mark.parametrize("seed", range(12))
def test_numpy_groups_as_the_loop_does(seed):
    """In order of first appearance, types included; empty tables and keys of all bits too."""
    draw = np.random.default_rng(seed)
    rows = int(draw.choice([0, 1, 2, 50, 5_000]))
    words = draw.integers(0, [1, 3, 500, 2**63][seed % 4], rows, dtype=np.uint64, endpoint=True)
    words[: rows // 3] = np.uint64(2**64 - 1)
    by_numpy, by_loop = keys._group_by_numpy(words), keys._group_word(words)
    for one, other in zip(by_numpy, by_loop, strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)
    numbers: dict[int, int] = {}
    assert by_numpy[0].tolist() == [numbers.setdefault(key, len(numbers)) for key in words.tolist()]
    assert words[by_numpy[1]].tolist() == list(numbers)


def test_numpy_stands_in_until_loading_the_loop_pays():
    few = StandIn()
    assert [few.serves(FEW // 2), few.serves(FEW // 2), few.serves(0)] == [True, False, False]
    often = StandIn()
    assert sum(often.serves(1) for _ in range(FEW)) == FEW // (CALL + 1)
