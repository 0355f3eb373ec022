"""Counting the classes of lattice nodes in a table of combinations, against dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sfumato.kernels import node_counts

GROUPS, CODES, SIZE = 4, 6, 3


@pytest.fixture(params=range(8))
def table(request):
    """Random classes: the group, the code of the next column and the records of each."""
    random = np.random.default_rng(request.param)
    rows = int(random.integers(1, 40))
    ids = random.integers(0, GROUPS, rows).astype(np.uint32)
    codes = random.integers(0, CODES, rows).astype(np.uint32)
    climb = random.integers(0, SIZE, CODES).astype(np.uint32)
    return ids, codes, random.integers(1, 5, rows), climb


def cells_of(table):
    ids, codes, records, climb = table
    cells = Counter()
    for group, code, amount in zip(ids.tolist(), codes.tolist(), records.tolist(), strict=True):
        cells[group, int(climb[code])] += amount
    return cells


def counted(table):
    ids, codes, records, climb = table
    counts = np.zeros(GROUPS * SIZE, dtype=np.int64)
    node_counts.count_cells(ids, codes, records, climb, SIZE, counts)
    return counts


def test_cells_hold_the_records_of_their_classes(table):
    cells = cells_of(table)
    assert counted(table).reshape(GROUPS, SIZE).tolist() == [
        [cells[group, code] for code in range(SIZE)] for group in range(GROUPS)
    ]


def test_cells_of_a_higher_level_are_sums(table):
    up = np.array([0, 1, 0], dtype=np.uint32)
    coarse = np.zeros(GROUPS * 2, dtype=np.int64)
    node_counts.merge_cells(counted(table), SIZE, up, 2, coarse)
    ids, codes, records, climb = table
    again = np.zeros(GROUPS * 2, dtype=np.int64)
    node_counts.count_cells(ids, codes, records, up[climb], 2, again)
    assert coarse.tolist() == again.tolist()


@pytest.mark.parametrize("k", [1, 3, 10])
def test_tallies_under_k_anonymity(table, k):
    cells = cells_of(table)
    prices = np.array([0.0, 0.5, 1.0])
    costs = np.arange(GROUPS, dtype=np.float64).reshape(GROUPS, 1)
    whole, lost = np.zeros(4, dtype=np.int64), np.ones(2)
    node_counts.tally_cells(counted(table), SIZE, k, prices, costs, whole, lost)
    large = [records for records in cells.values() if records >= k]
    small = {cell: records for cell, records in cells.items() if records < k}
    assert whole.tolist() == [
        sum(small.values()),
        len(large),
        min(large, default=2**62),
        sum(records**2 for records in large),
    ]
    assert lost[0] == pytest.approx(sum(n * prices[code] for (_, code), n in small.items()))
    assert lost[1] == pytest.approx(sum(n * group for (group, _), n in small.items()))


@pytest.mark.parametrize("slots", [1, 4, 64])
def test_lost_records_are_never_overstated(table, slots):
    ids, codes, records, climb = table
    exact = sum(amount for amount in cells_of(table).values() if amount < 4)
    room = np.zeros(slots, dtype=np.int64)
    found = node_counts.count_lost(ids, codes, records, climb, SIZE, 4, room)
    assert 0 <= found <= exact
    assert room.sum() == records.sum()


def test_a_cell_is_drawn_with_all_its_classes_or_not_at_all(table):
    ids, codes, _, climb = table
    drawn = set(node_counts.draw_rows(ids, codes, climb, SIZE, 1).tolist())
    sides = {}
    for row, (group, code) in enumerate(zip(ids.tolist(), codes.tolist(), strict=True)):
        sides.setdefault((group, int(climb[code])), set()).add(row in drawn)
    assert all(len(sides_of_cell) == 1 for sides_of_cell in sides.values())


def test_cells_with_records_become_groups(table):
    ids, codes, _, climb = table
    counts = counted(table)
    filled = np.flatnonzero(counts)
    amounts, cells = node_counts.number_cells(numbers := counts.copy())
    assert cells.tolist() == filled.tolist()
    assert amounts.tolist() == counts[filled].tolist()
    groups = node_counts.regroup(ids, codes, climb, SIZE, numbers)
    cell_of_row = ids.astype(np.int64) * SIZE + climb[codes]
    assert cells[groups].tolist() == cell_of_row.tolist()


def test_codes_are_read_out_of_keys():
    keys = np.array([0b1_10_1, 0b0_01_0, 0b1_11_1], dtype=np.uint64)
    codes = np.empty(3, dtype=np.int64)
    node_counts.read_codes(keys, 1, 2, np.array([10, 11, 12, 13]), codes)
    assert codes.tolist() == [12, 11, 13]
