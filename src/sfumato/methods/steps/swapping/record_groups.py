"""Records that belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.design import strata_of
from sfumato.core.schema import Role

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Codes = NDArray[np.int64]


def combine_codes(codes: Sequence[Codes]) -> Codes:
    """One code for each combination of codes, numbered without gaps in the order of the codes."""
    combinations = np.zeros(len(codes[0]) if codes else 0, dtype=np.int64)
    for code in codes:  # renumbered after each: the product of all may not fit a word
        joint = combinations * (int(code.max(initial=0)) + 1) + code
        size = int(joint.max(initial=-1)) + 1
        # Few codes: count them. Many: sort.
        if size <= 4 * len(joint) + 1024:
            used = np.bincount(joint, minlength=size) > 0
            combinations = (np.cumsum(used) - 1)[joint]
        else:
            combinations = np.unique(joint, return_inverse=True)[1].astype(np.int64)
    return combinations


def strata_apart(
    dataset: Table, within: Sequence[str] | None, columns: Sequence[str]
) -> tuple[Codes, int]:
    """The strata of a step: as said, or the columns with that role, without those that the step
    itself changes.
    """
    return strata_of(dataset, within_apart(dataset, within, columns))


def within_apart(
    dataset: Table, within: Sequence[str] | None, columns: Sequence[str]
) -> Sequence[str]:
    """The columns that make the strata of a step."""
    if within is not None:
        return within
    return [name for name in dataset.schema.columns(Role.STRATUM) if name not in columns]


def members_of(groups: Codes, count: int) -> list[Codes]:
    """Per group the places of its members, ascending."""
    if count == 1:
        return [np.arange(len(groups))]
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.searchsorted(groups[order], np.arange(1, count)))


def paired_at_random(cells: Codes, rate: float, stream: np.random.Generator) -> Codes:
    """Per record a partner of the same cell, or itself.

    Of a cell's n records a share ``rate`` finds a partner: n · rate / 2 pairs, a fraction rounded
    up or down at random so that the share is right on average.
    """
    # Shuffled, then sorted by cell without disturbing the shuffle: random order within each cell.
    mixed = stream.permutation(len(cells))
    order = mixed[np.argsort(cells[mixed], kind="stable")]
    count = int(cells.max(initial=-1)) + 1
    sizes = np.bincount(cells, minlength=count)
    pairs = np.minimum(round_at_random(rate * sizes / 2, stream), sizes // 2)
    starts = np.cumsum(sizes) - sizes
    position = np.arange(len(order)) - starts[cells[order]]
    is_paired = position < 2 * pairs[cells[order]]
    # In a cell positions 0 and 1, 2 and 3, … are pairs: position XOR 1 is the other one.
    mate = np.where(is_paired, starts[cells[order]] + (position ^ 1), np.arange(len(order)))
    partner = np.empty(len(order), dtype=np.int64)
    partner[order] = order[mate]
    return partner


def round_at_random(numbers: NDArray[np.float64], stream: np.random.Generator) -> Codes:
    """Whole numbers that are right on average: a fraction is the probability to round up."""
    # 1e-9, since 0.29 × 100 is 28.999….
    low = np.floor(numbers + 1e-9)
    goes_up = stream.random(len(numbers)) < numbers - low
    return (low + goes_up).astype(np.int64)


def codes_of(dataset: Table, names: Sequence[str]) -> tuple[Codes, NDArray[np.bool_]]:
    """One code a row for the values of some columns together, and which rows lack none of them."""
    encoded = [dataset.encoded(name) for name in names]
    present = np.ones(len(dataset), dtype=np.bool_)
    for column in encoded:
        if None in column.labels:
            present &= column.codes != column.labels.index(None)
    return combine_codes([column.codes for column in encoded]), present
