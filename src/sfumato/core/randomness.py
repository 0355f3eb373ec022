"""One stream of randomness a release, keyed by a seed that stays with the owner.

Streams are counter-based (Philox): each is derived from the seed and the name of what draws from it, so no step
changes the draws of another, and nothing draws from global state.
"""

from __future__ import annotations

import dataclasses
import hashlib
import operator
import secrets
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset

SEED_BITS = 128
REHEARSAL_BITS = 64
"""Seeds shorter than this can be guessed: a release made with one is a rehearsal."""


@dataclasses.dataclass(frozen=True, repr=False)
class Seed:
    """A secret number. Its text is hexadecimal and is written only to the owner's folder."""

    value: int

    def __post_init__(self) -> None:
        if not 0 <= self.value < 1 << SEED_BITS:
            raise ParameterError(f"a seed is a whole number from 0 to 2^{SEED_BITS} − 1")

    def __repr__(self) -> str:
        return f"Seed(<secret>, rehearsal={self.rehearsal})"

    @classmethod
    def fresh(cls) -> Seed:
        """A new seed from the system's source of randomness."""
        return cls(secrets.randbits(SEED_BITS) | 1 << (SEED_BITS - 1))

    @classmethod
    def of(cls, seed: int | str | Seed | None) -> Seed:
        """A seed from a number, from hexadecimal text, or a fresh one."""
        if isinstance(seed, Seed):
            return seed
        if seed is None:
            return cls.fresh()
        try:
            value = int(seed, 16) if isinstance(seed, str) else operator.index(seed)
        except ValueError:
            raise ParameterError("a seed given as text must be hexadecimal") from None
        except TypeError:
            raise ParameterError("a seed is a whole number, hexadecimal text, or None for a fresh one") from None
        return cls(value)

    @property
    def rehearsal(self) -> bool:
        """Whether the seed is short enough to be guessed."""
        return self.value < 1 << REHEARSAL_BITS

    @property
    def text(self) -> str:
        """Hexadecimal text, for the owner's lock file."""
        return f"{self.value:032x}"

    def stream(self, purpose: str) -> np.random.Generator:
        """The stream of one purpose; the same seed and purpose give the same draws on every machine.

        >>> int(Seed(7).stream("shuffle").integers(1000)) == int(Seed(7).stream("shuffle").integers(1000))
        True
        """
        digest = hashlib.sha256(self.value.to_bytes(16, "big") + purpose.encode()).digest()
        return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "big")))


# An order of the rows that depends on what they say and not on how they came in.
#
# Random steps draw in this order, so that the same table gives the same release whatever the kind of frame, the order
# of its rows or how it was partitioned. Equal rows are interchangeable: which of them comes first changes nothing that is released.


def canonical_order(dataset: Dataset) -> NDArray[np.int64]:
    """Positions of the rows from the first to the last, sorted by all columns in the order of their names.

    >>> import polars as pl
    >>> from sfumato.core.dataset import Dataset
    >>> canonical_order(Dataset(pl.DataFrame({"b": [1, 2, 0], "a": ["y", "x", "y"]}))).tolist()
    [1, 2, 0]
    """
    if "canonical order" not in dataset.memo:
        columns = {f"c{i}": comparable(dataset.column(name)) for i, name in enumerate(sorted(dataset.columns))}
        if columns and len(dataset):
            positions = (
                pl.DataFrame(columns).select(pl.arg_sort_by(list(columns), nulls_last=True)).to_series().to_numpy()
            )
        else:
            positions = np.arange(len(dataset))
        dataset.memo["canonical order"] = positions.astype(np.int64)
    order: NDArray[np.int64] = dataset.memo["canonical order"]
    return order


def comparable(column: pl.Series) -> pl.Series:
    """A column that sorts alike whatever frame it came from: one kind of missing, text for categories."""
    if column.dtype.is_float():
        return column.fill_nan(None)
    if column.dtype in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    if column.dtype in (pl.Date, pl.Datetime):
        return column.cast(pl.Datetime("us"))
    return column


def placed_back(values: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Values given in canonical order, in the order of the rows."""
    placed = np.empty_like(values)
    placed[order] = values
    return placed
