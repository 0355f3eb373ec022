"""Quantities: what a release risks and what it is still worth."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from sfumato.core.notebook import html_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair


@dataclasses.dataclass(frozen=True)
class Measure:
    """One number with its meaning. ``interval`` is a confidence or certainty interval where there is one.

    For utilities ``raw`` is the value in the metric's own unit and ``value`` the normalised one (0: nothing is lost, 1:
    everything, unless ``better`` is higher). ``per_column`` and ``per_record`` are parts it is made of;
    ``per_record`` is in the order of the released rows and for the owner only.
    """

    name: str
    value: float
    better: Literal["lower", "higher"]
    meaning: str
    interval: tuple[float, float] | None = None
    raw: float | None = None
    per_column: Mapping[str, float] = dataclasses.field(default_factory=dict)
    per_record: NDArray[np.float64] | None = dataclasses.field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The measure as plain data, without anything per record."""
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "per_record"}
        extra = {"interval", "raw", "per_column"}
        return {
            key: value for key, value in plain.items() if key not in extra - {"interval"} or value not in (None, {})
        }

    def _repr_html_(self) -> str:
        between = None if self.interval is None else f"{self.interval[0]:.4g} to {self.interval[1]:.4g}"
        rows = [("all", self.value, between, self.raw), *((c, part, None, None) for c, part in self.per_column.items())]
        caption = f"{self.name.replace('_', ' ')}: {self.meaning} ({self.better} is better)"
        return html_table(caption, ("column", "value", "between", "raw"), rows)


class Metric(Protocol):
    """A risk or a utility."""

    name: ClassVar[str]
    better: ClassVar[Literal["lower", "higher"]]


class Utility(Protocol):
    """What a release is still worth, seen beside the original."""

    name: ClassVar[str]
    better: ClassVar[Literal["lower", "higher"]]

    def applies(self, pair: Pair) -> str | None:
        """None when the metric makes sense for these tables, else the reason it does not."""
        ...

    def measure(self, pair: Pair) -> Measure:
        """Compare a release with its original."""
        ...
