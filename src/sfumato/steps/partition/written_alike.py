"""What counts as equal must look equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset


def written_alike(dataset: Dataset, name: str) -> Dataset:
    """Write the numbers of one class alike: NaN beside missing and minus zero beside zero tell its rows apart."""
    import numpy as np
    import polars as pl

    column = dataset.column(name)
    if not column.dtype.is_float():
        return dataset
    numbers = column.fill_null(0.0).to_numpy()
    two_zeros = bool((np.signbit(numbers) & (numbers == 0)).any())
    two_missing = bool(column.null_count() and column.is_nan().any())
    if not two_zeros and not two_missing:
        return dataset
    column = column.fill_nan(None)
    zero = pl.lit(0.0, dtype=column.dtype)
    return dataset.with_columns({name: pl.select(pl.when(column == 0).then(zero).otherwise(column)).to_series()})
