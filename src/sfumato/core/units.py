"""Persons and households: who the rows belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.schema import Role

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.randomness import Seed


def renumbered(dataset: Dataset, seed: Seed) -> Dataset:
    """Persons and households under random numbers, anew in every class.

    Rows of one person in one class can be told to belong together, so that persons can be counted; rows in different
    classes cannot, because whoever knows two of them could follow a person through the table.
    """
    import numpy as np
    import polars as pl

    from sfumato.core.classes import count_rows
    from sfumato.core.encoding import encode
    from sfumato.kernels.keys import group

    units = dataset.schema.columns(Role.UNIT)
    if not units:
        return dataset
    classes = count_rows(dataset)[1]
    for name in units:
        encoded = encode(dataset.column(name))
        pairs = np.stack([classes, encoded.codes], axis=1).astype(np.uint64)
        ids, first = group(pairs)
        numbers = np.empty(len(first), dtype=np.int64)
        drawn = seed.stream(f"renumber {name}").permutation(len(first))
        numbers[np.lexsort(pairs[first].T)] = drawn + 1  # by class and name: the order of the rows must not matter
        fresh = pl.Series(name, numbers[ids])
        missing = pl.Series(np.array([label is None for label in encoded.labels])[encoded.codes])
        dataset = dataset.with_columns({name: fresh.set(missing, None)})
    return dataset
