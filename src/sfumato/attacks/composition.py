"""Composition: two releases of the same people, each safe, together not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.attacks.crowd import crowd_of, no_target, targets, true_labels
from sfumato.core.attack import Attack, Finding, Learns, NothingToAttack
from sfumato.core.parameters import parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.pair import Pair


@parameters
class Composition(Attack):
    r"""The share of people in several releases whose sensitive value follows from all of them together.

    Whoever knows that a person is in all releases intersects the values of that person's classes:

    .. math:: P(s) \propto \prod_r q_r(s) \quad\text{or}\quad \prod_r q_r(s) \Big/ p(s)^{R-1}

    with :math:`q_r` the distribution in the class of release *r* and *p* the one of the first release's whole table (``divide=True``, the form that
    corrects for values which are frequent anyway). A person is a victim when the posterior of the true value
    reaches ``confidence``. Needs the same sensitive column, under the same labels, in all releases.
    Reference: Ganta, Kasiviswanathan & Smith 2008, doi:10.1145/1401890.1401926.
    """

    confidence: Annotated[float, Field(gt=0, le=1, description="posterior from which a value is certain")] = 1.0
    divide: Annotated[bool, Field(description="divide by how frequent a value is in the whole table")] = False

    name: ClassVar[str] = "composition"
    learns: ClassVar[Learns] = "attribute"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "A secret follows from several releases put together"
    remembers: ClassVar[bool] = True
    tried_by: ClassVar[tuple[str, ...]] = ("worst case",)

    def applies(self, scene: Scene) -> str | None:
        """None when there are several releases with a sensitive column in common."""
        if not scene.others:
            return NothingToAttack("there is no other release of the same table")
        common = [c for c in targets(scene) if all(c in other.released.columns for other in scene.others)]
        reason = no_target(scene)
        if reason is not None or common:
            return reason
        return NothingToAttack("the releases have no sensitive column in common")

    def attack(self, scene: Scene) -> Finding:
        """Intersect the classes of every person that is in all releases."""
        common = [c for c in targets(scene) if all(c in other.released.columns for other in scene.others)]
        found = [self._one(scene, column) for column in common]
        return max(found, key=lambda finding: finding.value)

    def _one(self, scene: Scene, column: str) -> Finding:
        rows, posteriors = self.posteriors(scene, column)
        pair = scene.pair
        under = np.full(len(pair.original), -1, dtype=np.int64)
        under[pair.rows] = true_labels(pair, column)
        true = posteriors[np.arange(len(rows)), under[rows]] if len(rows) else np.zeros(0)
        hit = (true >= self.confidence - 1e-12) & (under[rows] >= 0)
        told = f"{int(hit.sum()):,} of {len(rows):,} people in all {1 + len(scene.others)} releases give away their {column}"
        details: dict[str, Any] = {"people": len(rows), "values": len(pair.reading(column).labels), "column": column}
        return Finding(self.name, float(hit.mean()) if len(rows) else 0.0, told, victims=rows[hit], details=details)

    def posteriors(self, scene: Scene, column: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The original rows that are in all releases, and per row the posterior of each label of the first release."""
        pairs = (scene.pair, *scene.others)
        rows = np.unique(scene.pair.rows)
        for other in scene.others:
            rows = np.intersect1d(rows, other.rows)
        labels = scene.pair.reading(column).labels
        product = np.ones((len(rows), len(labels)))
        for pair in pairs:
            product *= _distributions(pair, scene.intruder.knows, column, rows, labels)
        if self.divide:
            share = crowd_of(scene.pair, (), column).totals / len(scene.pair.released)
            product /= share ** (len(pairs) - 1)
        total = product.sum(axis=1, keepdims=True)
        return rows, np.divide(product, total, out=np.zeros_like(product), where=total > 0)


def _distributions(
    pair: Pair, knows: tuple[str, ...], column: str, rows: NDArray[np.int64], labels: tuple[str | None, ...]
) -> NDArray[np.float64]:
    """Per original row the distribution of the column in its class, under the labels of the first release."""
    crowd = crowd_of(pair, tuple(k for k in knows if k in pair.released.columns), column)
    place = {label: i for i, label in enumerate(labels)}
    known = np.array([place.get(label, -1) for label in crowd.labels], dtype=np.int64)
    table = np.zeros((len(crowd.sizes), len(labels)))
    seen = known[crowd.pair_values] >= 0
    table[crowd.pair_classes[seen], known[crowd.pair_values[seen]]] = crowd.shares[seen]
    class_of = np.zeros(len(pair.original), dtype=np.int64)
    class_of[pair.rows] = crowd.classes
    return table[class_of[rows]]
