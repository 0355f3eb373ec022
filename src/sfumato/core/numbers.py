"""Columns of numbers: as arrays to compute with, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.errors import SchemaError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset


def numbers_of(dataset: Dataset, name: str) -> NDArray[np.float64]:
    """A column as floating-point numbers; missing is NaN. Text that holds numbers only is read as numbers.

    >>> import polars as pl
    >>> from sfumato.core.dataset import Dataset
    >>> numbers_of(Dataset(pl.DataFrame({"a": [1, None]})), "a").tolist()
    [1.0, nan]
    """
    import numpy as np
    import polars as pl

    column = dataset.column(name)
    if column.dtype == pl.Boolean or not (column.dtype.is_numeric() or column.dtype in (pl.String, pl.Null)):
        raise SchemaError(f"column {name!r} of {dataset.source.name} must hold numbers; it is {column.dtype}")
    read = column.cast(pl.Float64, strict=False)
    lost = read.null_count() - column.null_count()
    if lost:
        raise SchemaError(f"column {name!r} of {dataset.source.name} must hold numbers; {lost:,} value(s) are none")
    values = np.array(read.fill_null(float("nan")).to_numpy(), dtype=np.float64)
    if np.isinf(values).any():
        raise SchemaError(f"column {name!r} of {dataset.source.name} holds infinite values; take them out first")
    return values


def as_column(name: str, values: NDArray[np.float64], like: pl.Series, *, whole: bool | None = None) -> pl.Series:
    """Numbers as a column again: NaN is missing, and columns of whole numbers stay so where ``whole`` says it.

    ``whole=None`` keeps whole numbers exactly when the column had an integer type and all values still are whole.
    """
    import numpy as np
    import polars as pl

    known = ~np.isnan(values)
    made = pl.Series(name, values, dtype=pl.Float64).fill_nan(None)
    integral = like.dtype.is_integer()
    if whole is None:
        whole = integral and bool((values[known] == np.rint(values[known])).all())
    if not whole:
        return made
    made = made.round(0)
    small = bool((np.abs(values[known]) < 2.0**63).all())  # larger ones have no whole-number type
    return made.cast(pl.Int64) if integral and small else made
