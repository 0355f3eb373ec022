"""The similarity attack: different values that mean much the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.attacks.inference.crowd import no_target, worst_column
from sfumato.core.attack import Attack, Finding, rows_of
from sfumato.core.hierarchy import bind
from sfumato.core.parameters import parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.attacks.inference.crowd import Crowd
    from sfumato.core.attack import Scene
    from sfumato.core.pair import Reading


@parameters
class Similarity(Attack):
    r"""The share of records in classes whose sensitive values lie close together.

    On a line (numbers, dates, ordered values): :math:`(\max_E - \min_E)/(\max - \min) \le \tau`; salaries of 3,000 to 5,000 in a table
    that reaches from 3,000 to 11,000 have 0.25. For categories: all values of the class lie below one node of the column's hierarchy that is
    not its top (gastric ulcer, gastritis and stomach cancer are all illnesses of the stomach). Classes of one value count too.
    A category without a hierarchy has nothing to be similar by: only equal values count. A constant column is no secret. Where
    released values were changed, only records count whose true value lies among (or below the same node as) those of the class.
    The baseline is guessing alike for all: the share of records within the range of that width, or below the node, that holds most.
    Where a few large values make the range wide, nearly everyone is close to everyone without any release.
    Reference: Li, Li & Venkatasubramanian 2007, doi:10.1109/ICDE.2007.367856.
    """

    range: Annotated[float, Field(ge=0, lt=1, description="share of the column's range that counts as close")] = 0.25

    name: ClassVar[str] = "similarity"
    line: ClassVar[str] = "A secret is known roughly because a crowd's secrets are alike"

    def applies(self, scene: Scene) -> str | None:
        """None when there is a sensitive column to attack."""
        return no_target(scene)

    def attack(self, scene: Scene) -> Finding:
        """Look for classes whose values mean much the same."""
        return worst_column(self.name, scene, lambda crowd: self._one(scene, crowd), by_matrix=False)

    def _one(self, scene: Scene, crowd: Crowd) -> Finding:
        reading = scene.pair.reading(crowd.column)
        near, hit = self._on_a_line(scene, crowd) if reading.scale != "category" else self._below_a_node(scene, crowd)
        told = f"in {int(near.sum()):,} of {len(near):,} classes the values of {crowd.column} are close: {int(hit.sum()):,} records"
        guess = self._guess_on_a_line(reading) if reading.scale != "category" else _guess_of_nodes(scene, crowd)
        details = {"classes": int(near.sum())}
        told = f"{told}; for all alike {guess:.1%} are as close"
        return Finding(self.name, float(hit.mean()), told, baseline=guess, victims=rows_of(scene, hit), details=details)

    def _guess_on_a_line(self, reading: Reading) -> float:
        """The share of released values within the range of the allowed width that holds most of them."""
        low, high = (np.sort(end[reading.released]) for end in (reading.low, reading.high))
        low, high = low[~np.isnan(low)], high[~np.isnan(high)]
        if not len(low) or high[-1] <= low[0]:
            return 0.0
        starts = np.unique(low)
        width = self.range * float(np.nanmax(reading.high) - np.nanmin(reading.low))
        ends = starts + width + 1e-12 * abs(width)
        inside = np.searchsorted(high, ends, side="right") - np.searchsorted(low, starts, side="left")
        return float(max(0, inside.max())) / len(reading.released)

    def _on_a_line(self, scene: Scene, crowd: Crowd) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The classes whose released values are close, and the records of which the true value is among them."""
        reading = scene.pair.reading(crowd.column)
        low, high = np.full(len(crowd.sizes), np.inf), np.full(len(crowd.sizes), -np.inf)
        np.fmin.at(low, crowd.pair_classes, reading.low[crowd.pair_values])
        np.fmax.at(high, crowd.pair_classes, reading.high[crowd.pair_values])
        known = reading.low[crowd.pair_values][~np.isnan(reading.low[crowd.pair_values])]
        width = float(np.nanmax(reading.high) - np.nanmin(reading.low)) if known.size else 0.0
        if width <= 0:
            return np.zeros(len(crowd.sizes), dtype=bool), np.zeros(len(crowd.classes), dtype=bool)
        near: NDArray[np.bool_] = np.isfinite(low) & (high - low <= self.range * width + 1e-12 * abs(width))
        place, slack = reading.places[reading.original[scene.pair.rows]], 1e-9 * max(1.0, abs(reading.span))
        outside = (place < low[crowd.classes] - slack) | (place > high[crowd.classes] + slack)
        return near, near[crowd.classes] & ~outside

    def _below_a_node(self, scene: Scene, crowd: Crowd) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The classes whose released values lie below one node, and the records of which the true value does so too."""
        near = np.zeros(len(crowd.sizes), dtype=bool)
        hit = np.zeros(len(crowd.classes), dtype=bool)
        for nodes, true in _node_levels(scene, crowd):
            low, high = np.full(len(near), np.iinfo(np.int64).max), np.full(len(near), -1)
            np.minimum.at(low, crowd.pair_classes, nodes[crowd.pair_values])
            np.maximum.at(high, crowd.pair_classes, nodes[crowd.pair_values])
            near |= low == high
            hit |= (low == high)[crowd.classes] & (true == low[crowd.classes])
        return near, hit


def _guess_of_nodes(scene: Scene, crowd: Crowd) -> float:
    """The share of records whose true value lies below the one node, not the top, that holds most."""
    found = [true[true >= 0] for _, true in _node_levels(scene, crowd)]
    return max((float(np.bincount(true).max(initial=0)) for true in found), default=0.0) / len(crowd.classes)


def _node_levels(scene: Scene, crowd: Crowd) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Per level below the top, the node of every released label, and the node of every record's true value.

    Without a hierarchy there is the level of the values alone; a column of one value has none.
    """
    reading = scene.pair.reading(crowd.column)
    own = [reading.values[code] for code in reading.original[scene.pair.rows[crowd.truth < 0]].tolist()]
    labels = (*crowd.labels, *sorted({str(value) for value in own if value is not None} - set(crowd.labels)))
    if len(crowd.labels) < 2:
        return
    code = {label: i for i, label in enumerate(labels)}
    true = crowd.truth.copy()
    true[crowd.truth < 0] = [code.get(value, -1) for value in own]
    yield np.arange(len(labels)), true
    hierarchy = scene.pair.original.schema[crowd.column].hierarchy
    if hierarchy is None:
        return
    ladder = bind(hierarchy, labels, [*crowd.totals.astype(int).tolist(), *[0] * (len(labels) - len(crowd.labels))])
    place = {label: i for i, label in enumerate(ladder.labels[0])}
    leaf = np.array([place[label] for label in labels], dtype=np.int64)
    for level in range(1, ladder.top):
        nodes = ladder.climb(0, level)[leaf]
        yield nodes, np.where(true >= 0, nodes[true], -1)
