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
    """Numbers as a column again, of the type the column had where that holds them.

    NaN is missing. Single-precision numbers stay so; columns of whole numbers stay so where ``whole`` says it (None: exactly
    when the column had an integer type and all values still are whole), in their own width or, where a value does not fit
    into it, in 64 bits.
    """
    import numpy as np
    import polars as pl

    known = ~np.isnan(values)
    made = pl.Series(name, values, dtype=pl.Float64).fill_nan(None)
    integral = like.dtype.is_integer()
    if whole is None:
        whole = integral and bool((values[known] == np.rint(values[known])).all())
    if not whole:
        return _narrowed(made, like.dtype) if like.dtype == pl.Float32 else made
    made = made.round(0)
    small = bool((np.abs(values[known]) < 2.0**63).all())  # larger ones have no whole-number type
    return _narrowed(made.cast(pl.Int64), like.dtype) if integral and small else made


def _narrowed(numbers: pl.Series, dtype: pl.DataType) -> pl.Series:
    """The numbers in a narrower type, unless one is beyond it."""
    narrow = numbers.cast(dtype, strict=False)
    lost = narrow.null_count() != numbers.null_count() or (dtype.is_float() and not narrow.is_finite().all())
    return numbers if lost else narrow
