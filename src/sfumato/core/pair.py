"""A table and what was released of it, side by side: what attacks and utility metrics look at."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sfumato.core.encoding import encode
from sfumato.core.pairs import origin_of
from sfumato.core.reading import Reading, Rung, read_column
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset


@dataclasses.dataclass(frozen=True, eq=False)
class Pair:
    """An original table, a release of it, and which original row each released row came from.

    What columns are (kinds, hierarchies, orders) is said by the original's schema; roles by either. ``levels`` says at which
    level of its hierarchy a column was released as a whole, where that is known.
    """

    original: Dataset
    released: Dataset
    rows: NDArray[np.int64]
    levels: Mapping[str, Rung] = dataclasses.field(default_factory=dict)
    memo: dict[Any, Any] = dataclasses.field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, original: Dataset, released: Dataset, levels: Mapping[str, Rung] | None = None) -> Pair:
        """Put two tables side by side; raises :class:`SchemaError` where rows cannot be aligned or nothing is common."""
        pair = cls(original, released, origin_of(released, original), levels or {})
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
        """A column as it was and as it is; read once.

        A hierarchy made from the data is another one where rows were left out before it was climbed: where the level that the
        plan says does not explain the released cells, labels are read at all levels together, or as whatever was not
        released as itself, if that does.
        """
        if name not in self.memo:
            self.original.require([name])
            self.released.require([name])
            attribute = self.original.schema[name]
            columns = (name, attribute, self.original.column(name), self.released.column(name))
            found = read_column(*columns, self.levels.get(name) or self._unchanged(name))
            if name in self.levels and not found.truthful(self.rows).all():
                anywhere = read_column(*columns)
                wider = (anywhere, anywhere.widened())
                found = next((each for each in wider if each.truthful(self.rows).all()), found)
            self.memo[name] = found
        reading: Reading = self.memo[name]
        return reading

    def truthful(self, name: str) -> NDArray[np.bool_]:
        """Per released row whether its cell of a column may stand for its own original; found once."""
        if ("truthful", name) not in self.memo:
            self.memo["truthful", name] = self.reading(name).truthful(self.rows)
        found: NDArray[np.bool_] = self.memo["truthful", name]
        return found

    def _unchanged(self, name: str) -> Rung | None:
        """The lowest level for a column whose cells are all as they were; None for any other."""
        import numpy as np

        before, after = (encode(table.column(name)) for table in (self.original, self.released))
        if len(after.codes) != len(self.rows) or not set(after.labels) <= set(before.labels):
            return None
        place = {label: code for code, label in enumerate(before.labels)}
        moved = np.array([place[label] for label in after.labels], dtype=np.int64)
        return Rung(0, 0) if (moved[after.codes] == before.codes[self.rows]).all() else None

    def losses(self, name: str) -> NDArray[np.float64]:
        """Iyengar's loss of every released cell of a column; a cell that was missing and still is has lost nothing."""
        import numpy as np

        column = self.reading(name)
        losses = column.loss[column.released] if len(column.labels) else np.zeros(0)
        if None in column.values and None in column.labels:
            was = column.original[self.rows] == column.values.index(None)
            losses = np.where(was & (column.released == column.labels.index(None)), 0.0, losses)
        return losses


def levels_of(plans: Iterable[Mapping[str, Any]]) -> dict[str, Rung]:
    """The level each column was released at as a whole, from the plans of a release as plain data, in their order.

    Of several recodings the highest counts. A column that was recoded cell by cell at any time, or masked before it was
    recoded, may hold labels of several levels: it stands on none. Cells that were suppressed later are still read as such.
    """
    found: dict[str, Rung] = {}
    mixed: set[str] = set()
    for plan in plans:
        mixed |= set(plan.get("columns", ())) - set(plan.get("suppressed_cells", ()))
        for name, told in plan.get("levels", {}).items():
            fresh = Rung(int(told["level"]), int(told["top"]))
            found[name] = max(found.get(name, fresh), fresh, key=lambda rung: rung.level)
        mixed |= set(plan.get("masked", ())) - set(found)
    return {name: rung for name, rung in found.items() if name not in mixed}
