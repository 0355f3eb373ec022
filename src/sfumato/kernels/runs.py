"""Loops over classes in the order of their keys, in which those that share the highest bits lie
side by side: runs.

Arrays. ``keys`` are packed keys of one uint64 word, ``records`` (int64) their records; columns own
bit fields as in :mod:`sfumato.kernels.keys`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.loop_cache import njit


class ClimbingColumns(NamedTuple):
    """The columns of a key of one word that climb."""

    shifts: NDArray[np.int64]
    widths: NDArray[np.int64]
    climbs: NDArray[np.uint32]
    """Per code of every column, its code after climbing."""
    steps: NDArray[np.uint32]
    """The same code times the number of cells of the columns before it."""
    offsets: NDArray[np.int64]
    """Per column, where its codes begin in ``climbs`` and ``steps``."""


@njit(cache=True, nogil=True)
def roll_up_runs(keys, records, run_shift, columns, cells):
    """Roll up keys of one word as :func:`sfumato.kernels.lattice.roll_up` does, without the new
    class of every old one, by a table of cells; no hash, no comparison.

    Classes lie in runs that share the bits from ``run_shift`` on, which do not climb (64: all are
    one run). Within a run the codes of the other columns give a cell below ``cells``: column *a*
    adds ``steps[offsets[a] + code]``, its code after climbing times the number of cells of the
    columns before it, and ``climbs`` has that code itself. ``numbers`` has for a cell the last new
    class that was met there: one of an earlier run has a number below the first of this run, so
    nothing is cleared between runs.

    Legal where no run comes twice, as in the order of the keys: else no classes come back, with
    False. A look-up per column and one in ``numbers``, which is small enough to stay in the cache.
    """
    shifts, widths, climbs, steps, offsets = columns
    n = keys.size
    new_keys = np.empty(n, np.uint64)  # room for all; what is never written takes no memory
    new_records = np.empty(n, np.int64)
    numbers = np.full(cells, np.int32(-1), np.int32)
    count = np.int32(0)
    first = np.int32(0)
    run = np.uint64(0)
    # The bits that name a run.
    run_mask = np.uint64(0)
    if run_shift < 64:
        run_mask = ~np.uint64(0) << np.uint64(run_shift)
    # One pass in the order of the keys.
    for i in range(n):
        key = keys[i]
        if key & run_mask != run:
            if key & run_mask < run:
                return new_keys[:0].copy(), new_records[:0].copy(), False
            run = key & run_mask
            first = count
        cell = np.uint64(0)
        for a in range(shifts.size):
            code = (key >> np.uint64(shifts[a])) & (
                (np.uint64(1) << np.uint64(widths[a])) - np.uint64(1)
            )
            cell += np.uint64(steps[offsets[a] + np.int64(code)])
        g = numbers[cell]
        # The first class of its cell in this run.
        if g < first:
            g = count
            numbers[cell] = g
            new = run
            for a in range(shifts.size):
                code = (key >> np.uint64(shifts[a])) & (
                    (np.uint64(1) << np.uint64(widths[a])) - np.uint64(1)
                )
                new |= np.uint64(climbs[offsets[a] + np.int64(code)]) << np.uint64(shifts[a])
            new_keys[g] = new
            new_records[g] = 0
            count += np.int32(1)
        new_records[g] += records[i]
    return new_keys[:count].copy(), new_records[:count].copy(), True
