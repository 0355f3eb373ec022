"""Who carries a value: the row, or the person or household whose rows all have it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.core.canonical import canonical_order
from sfumato.core.design import units_of
from sfumato.core.encoding import encode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset


@dataclasses.dataclass(frozen=True, eq=False)
class Carriers:
    """Carriers in canonical order: the row that stands for each, and per row the carrier it belongs to.

    ``unit`` says what carries: row, person or household.
    """

    rows: NDArray[np.int64]
    of: NDArray[np.int64]
    unit: str

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def once(self) -> str:
        """How counts are to be read."""
        return "" if self.unit == "row" else f", counted once a {self.unit}"

    def carry(self, codes: NDArray[np.int64]) -> bool:
        """Whether an encoded column is constant within every carrier."""
        return bool((codes == codes[self.rows][self.of]).all())

    def sources(self, carriers: NDArray[np.int64], partner: NDArray[np.int64]) -> NDArray[np.int64]:
        """Per row the row whose value it gets, when each of some carriers gets that of its partner among them."""
        import numpy as np

        given = np.arange(len(self.rows))
        given[carriers] = carriers[partner]
        if self.unit == "row":
            found = np.empty_like(given)
            found[self.rows] = self.rows[given]
            return found
        moved = given != np.arange(len(given))
        return np.where(moved[self.of], self.rows[given][self.of], np.arange(len(self.of)))


def carriers_of(dataset: Dataset, names: Sequence[str], *more: NDArray[np.int64]) -> Carriers:
    """The largest units within which some columns, and more that are encoded, are constant: households, persons, or rows."""
    import numpy as np

    codes: list[NDArray[np.int64]] | None = None
    for unit in ("household", "person"):
        units = units_of(dataset, unit)
        if units is None:
            continue
        found = carriers_by(dataset, units, unit)
        codes = [*(encode(dataset.column(name)).codes for name in names), *more] if codes is None else codes
        if len(found) < len(dataset) and all(found.carry(code) for code in codes):
            return found
    order = canonical_order(dataset)
    of = np.empty(len(order), dtype=np.int64)
    of[order] = np.arange(len(order))
    return Carriers(order, of, "row")


def carriers_by(dataset: Dataset, units: NDArray[np.int64], unit: str) -> Carriers:
    """Units in the order in which they first occur in canonical order, so that the names they have decide little."""
    import numpy as np

    order = canonical_order(dataset)
    _, first, of = np.unique(units[order], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    by_first = np.argsort(first)
    rank[by_first] = np.arange(len(first))
    rows = np.empty(len(order), dtype=np.int64)
    rows[order] = rank[of]
    return Carriers(order[first[by_first]], rows, unit)
