"""A table and what was released of it, side by side: what attacks and utility metrics look at."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from sfumato.core.pairs import origin_of
from sfumato.core.reading import Reading, read_column
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset


@dataclasses.dataclass(frozen=True, eq=False)
class Pair:
    """An original table, a release of it, and which original row each released row came from.

    What columns are (kinds, hierarchies, orders) is said by the original's schema; roles by either.
    """

    original: Dataset
    released: Dataset
    rows: NDArray[np.int64]
    memo: dict[Any, Any] = dataclasses.field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, original: Dataset, released: Dataset) -> Pair:
        """Put two tables side by side; raises :class:`SchemaError` where rows cannot be aligned or nothing is common."""
        pair = cls(original, released, origin_of(released, original))
        if not pair.columns:
            raise SchemaError(f"{released.source.name} and {original.source.name} have no column in common")
        return pair

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns both tables have, in the order of the original."""
        return tuple(name for name in self.original.columns if name in self.released.columns)

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers both tables have."""
        return tuple(name for name in self.original.schema.quasi if name in self.released.columns)

    @property
    def suppressed(self) -> int:
        """Original records of which nothing was released."""
        return len(self.original) - len(self.rows)

    def reading(self, name: str) -> Reading:
        """A column as it was and as it is; read once."""
        if name not in self.memo:
            self.original.require([name])
            self.released.require([name])
            attribute = self.original.schema[name]
            self.memo[name] = read_column(name, attribute, self.original.column(name), self.released.column(name))
        found: Reading = self.memo[name]
        return found

    def losses(self, name: str) -> NDArray[np.float64]:
        """Iyengar's loss of every released cell of a column; a cell that was missing and still is has lost nothing."""
        import numpy as np

        column = self.reading(name)
        losses = column.loss[column.released] if len(column.labels) else np.zeros(0)
        if None in column.values and None in column.labels:
            was = column.original[self.rows] == column.values.index(None)
            losses = np.where(was & (column.released == column.labels.index(None)), 0.0, losses)
        return losses
