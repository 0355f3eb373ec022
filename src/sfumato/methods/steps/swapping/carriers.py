"""Who carries a value: the row, or the person or household whose rows all have it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.design import units_of
from sfumato.core.randomness import canonical_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Ints = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class Carriers:
    """Carriers in canonical order: the row that stands for each, and per row the carrier it belongs
    to.

    ``unit`` says what carries: row, person or household.
    """

    rows: Ints
    of: Ints
    unit: str

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def once(self) -> str:
        """How counts are to be read."""
        if self.unit == "row":
            return ""
        return f", counted once a {self.unit}"

    def carry(self, codes: Ints) -> bool:
        """Whether an encoded column is constant within every carrier."""
        return bool((codes == codes[self.rows][self.of]).all())

    def sources(self, carriers: Ints, partner: Ints) -> Ints:
        """Per row the row whose value it gets, when each of some carriers gets that of its partner
        among them.
        """
        donors = np.arange(len(self.rows))
        donors[carriers] = carriers[partner]
        # Rows exchange directly.
        if self.unit == "row":
            sources = np.empty_like(donors)
            sources[self.rows] = self.rows[donors]
            return sources
        is_swapped = donors != np.arange(len(donors))
        swapped = self.rows[donors][self.of]
        return np.where(is_swapped[self.of], swapped, np.arange(len(self.of)))


def carriers_of(dataset: Table, names: Sequence[str], *extra_codes: Ints) -> Carriers:
    """The largest units within which some columns, and more that are encoded, are constant:
    households, persons, or rows.
    """
    codes: list[Ints] | None = None
    # The largest units first: households, then persons.
    for unit in ("household", "person"):
        units = units_of(dataset, unit)
        if units is None:
            continue
        carriers = carriers_by(dataset, units, unit)
        if codes is None:
            codes = [*(dataset.encoded(name).codes for name in names), *extra_codes]
        if len(carriers) < len(dataset) and all(carriers.carry(code) for code in codes):
            return carriers
    order = canonical_order(dataset)
    of = np.empty(len(order), dtype=np.int64)
    of[order] = np.arange(len(order))
    return Carriers(order, of, "row")


def carrier_of(dataset: Table, names: Sequence[str], *extra_codes: Ints) -> str:
    """The largest unit within which some columns, and more that are encoded, are constant:
    household, person or row.
    """
    if not dataset.schema.units:
        return "row"
    return carriers_of(dataset, names, *extra_codes).unit


def carriers_by(dataset: Table, units: Ints, unit: str) -> Carriers:
    """Units in the order in which they first occur in canonical order, so that the names they have
    decide little.
    """
    order = canonical_order(dataset)
    _, first, of = np.unique(units[order], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    by_first = np.argsort(first)
    # Unit c, which first occurs at first[c], gets the number of its turn.
    rank[by_first] = np.arange(len(first))
    rows = np.empty(len(order), dtype=np.int64)
    rows[order] = rank[of]
    return Carriers(order[first[by_first]], rows, unit)
