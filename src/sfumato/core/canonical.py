"""An order of the rows that depends on what they say and not on how they came in.

Random steps draw in this order, so that the same table gives the same release whatever the kind of frame, the order
of its rows or how it was partitioned. Equal rows are interchangeable: which of them comes first changes nothing that is released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset


def canonical_order(dataset: Dataset) -> NDArray[np.int64]:
    """Positions of the rows from the first to the last, sorted by all columns in the order of their names.

    >>> import polars as pl
    >>> from sfumato.core.dataset import Dataset
    >>> canonical_order(Dataset(pl.DataFrame({"b": [1, 2, 0], "a": ["y", "x", "y"]}))).tolist()
    [1, 2, 0]
    """
    import numpy as np
    import polars as pl

    if "canonical order" not in dataset.memo:
        columns = {f"c{i}": comparable(dataset.column(name)) for i, name in enumerate(sorted(dataset.columns))}
        if columns and len(dataset):
            found = pl.DataFrame(columns).select(pl.arg_sort_by(list(columns), nulls_last=True)).to_series().to_numpy()
        else:
            found = np.arange(len(dataset))
        dataset.memo["canonical order"] = found.astype(np.int64)
    order: NDArray[np.int64] = dataset.memo["canonical order"]
    return order


def comparable(column: pl.Series) -> pl.Series:
    """A column that sorts alike whatever frame it came from: one kind of missing, text for categories."""
    import polars as pl

    if column.dtype.is_float():
        return column.fill_nan(None)
    if column.dtype in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    if column.dtype in (pl.Date, pl.Datetime):
        return column.cast(pl.Datetime("us"))
    return column


def placed_back(values: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Values given in canonical order, in the order of the rows."""
    import numpy as np

    found = np.empty_like(values)
    found[order] = values
    return found
