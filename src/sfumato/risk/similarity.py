"""The similarity attack: different values that mean much the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.attack import Finding
from sfumato.core.hierarchy import bind
from sfumato.core.parameters import parameters
from sfumato.risk.attributes.crowd import no_target, rows_of, worst_column

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.risk.attributes.crowd import Crowd


@parameters
class Similarity:
    r"""The share of records in classes whose sensitive values lie close together.

    On a line (numbers, dates, ordered values): :math:`(\max_E - \min_E)/(\max - \min) \le \tau`; salaries of 3,000 to 5,000 in a table
    that reaches from 3,000 to 11,000 have 0.25. For categories: all values of the class lie below one node of the column's hierarchy that is
    not its top (gastric ulcer, gastritis and stomach cancer are all illnesses of the stomach). Classes of one value count too.
    A category without a hierarchy has nothing to be similar by: only equal values count. A constant column is no secret.
    Reference: Li, Li & Venkatasubramanian 2007, doi:10.1109/ICDE.2007.367856.
    """

    range: Annotated[float, Field(ge=0, lt=1, description="share of the column's range that counts as close")] = 0.25

    name: ClassVar[str] = "similarity"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, scene: Scene) -> str | None:
        """None when there is a sensitive column to attack."""
        return no_target(scene)

    def attack(self, scene: Scene) -> Finding:
        """Look for classes whose values mean much the same."""
        return worst_column(self.name, scene, lambda crowd: self._one(scene, crowd))

    def _one(self, scene: Scene, crowd: Crowd) -> Finding:
        reading = scene.pair.reading(crowd.column)
        near = self._on_a_line(scene, crowd) if reading.scale != "category" else self._below_a_node(scene, crowd)
        hit = near[crowd.classes]
        told = f"in {int(near.sum()):,} of {len(near):,} classes the values of {crowd.column} are close: {int(hit.sum()):,} records"
        return Finding(
            self.name, float(hit.mean()), told, victims=rows_of(scene, hit), details={"classes": int(near.sum())}
        )

    def _on_a_line(self, scene: Scene, crowd: Crowd) -> NDArray[np.bool_]:
        import numpy as np

        reading = scene.pair.reading(crowd.column)
        low, high = np.full(len(crowd.sizes), np.inf), np.full(len(crowd.sizes), -np.inf)
        np.fmin.at(low, crowd.pair_classes, reading.low[crowd.pair_values])
        np.fmax.at(high, crowd.pair_classes, reading.high[crowd.pair_values])
        known = reading.low[crowd.pair_values][~np.isnan(reading.low[crowd.pair_values])]
        width = float(np.nanmax(reading.high) - np.nanmin(reading.low)) if known.size else 0.0
        if width <= 0:
            return np.zeros(len(crowd.sizes), dtype=bool)
        near: NDArray[np.bool_] = np.isfinite(low) & (high - low <= self.range * width + 1e-12 * abs(width))
        return near

    def _below_a_node(self, scene: Scene, crowd: Crowd) -> NDArray[np.bool_]:
        import numpy as np

        attribute = scene.pair.original.schema[crowd.column]
        distinct = np.bincount(crowd.pair_classes, minlength=len(crowd.sizes))
        near: NDArray[np.bool_] = distinct == 1
        if attribute.hierarchy is None or len(crowd.labels) < 2:
            return near & (len(crowd.labels) > 1)
        ladder = bind(attribute.hierarchy, crowd.labels, crowd.totals.tolist())
        place = {label: code for code, label in enumerate(ladder.labels[0])}
        leaf = np.array([place[label] for label in crowd.labels], dtype=np.int64)
        for level in range(1, ladder.top):
            nodes = ladder.climb(0, level)[leaf][crowd.pair_values]
            low, high = np.full(len(near), np.iinfo(np.int64).max), np.full(len(near), -1)
            np.minimum.at(low, crowd.pair_classes, nodes)
            np.maximum.at(high, crowd.pair_classes, nodes)
            near |= low == high
        return near
