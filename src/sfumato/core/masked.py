"""What a masking step decided: new values for some columns, and what they still have of the old ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset
    from sfumato.core.schema import Attribute


@dataclasses.dataclass(frozen=True)
class Preserved:
    """A quantity that masking keeps: exactly, or approximately.

    ``off_by`` says how far the released value is from the original one, as a share of it (of the spread, for quantities
    that may be zero); it is measured after masking and is for the owner's eyes.
    """

    what: str
    columns: tuple[str, ...]
    exactly: bool
    off_by: float

    def __str__(self) -> str:
        names = ", ".join(self.columns[:4]) + ("…" if len(self.columns) > 4 else "")
        kept = "exactly" if self.exactly else "approximately"
        return f"{self.what} of {names}: kept {kept}, off by {self.off_by:.2g}"


@dataclasses.dataclass(frozen=True, eq=False)
class Masked:
    """New values of some columns, in the order of the rows; the rows that are kept; columns that become something else.

    ``actions`` says in a few words what happened to each column (``noise added``). ``public`` may go into a
    certificate; ``owner`` is for the owner. Neither holds data values. ``warnings`` are for whoever runs the recipe.
    ``attributes`` describes columns that are new, or that play another role once masked.
    """

    actions: Mapping[str, str]
    columns: Mapping[str, pl.Series] = dataclasses.field(default_factory=dict)
    rows: NDArray[np.int64] | None = None
    attributes: Mapping[str, Attribute] = dataclasses.field(default_factory=dict)
    preserved: tuple[Preserved, ...] = ()
    warnings: tuple[str, ...] = ()
    public: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    owner: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def describe(self) -> dict[str, Any]:
        """The plan as plain data, fit for a certificate."""
        kept = [{"what": p.what, "columns": list(p.columns), "exactly": p.exactly} for p in self.preserved]
        return {"masked": dict(self.actions), "preserved": kept, **self.public}

    def effort(self) -> dict[str, Any]:
        """What the owner may know besides: how far every preserved quantity is off."""
        kept = [dataclasses.asdict(p) for p in self.preserved]
        return {"preserved": kept, "warnings": list(self.warnings), **self.owner}

    def applied(self, dataset: Dataset) -> Dataset:
        """The dataset with the new values in place."""
        made = dataset.with_columns(dict(self.columns)) if self.columns else dataset
        for name, attribute in self.attributes.items():
            made = made.with_attribute(name, attribute)
        return made if self.rows is None else made.take(self.rows)
