"""Sensitive columns that were randomised with known probabilities, and what an intruder who
knows them infers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.step import Transition
    from sfumato.methods.attacks.crowd import Crowd

    Floats = NDArray[np.float64]

ROUNDS = 50
CLASSES_AT_ONCE = 2_000_000
"""Cells of classes × values that are held at a time."""
LEAST = 1e-6
"""Values that are less likely in a class are left out."""


@dataclasses.dataclass(frozen=True, eq=False)
class KnownMatrix:
    """How a column was randomised: ``chances[v, l]`` is the probability that value *v* is released
    as label *l*.

    Values and labels are those of the column's reading. ``shares`` is how frequent values are in
    the whole table, as far as the release tells it.
    """

    chances: Floats
    shares: Floats

    @property
    def beliefs(self) -> Floats:
        """Per released label and value, how likely the label stands for the value (Bayes' rule)."""
        joint = (self.shares[:, None] * self.chances).T
        total = joint.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(joint, total, out=np.zeros_like(joint), where=total > 0))


def known_matrix(scene: Scene, column: str) -> KnownMatrix | None:
    """The transition matrix of a column that one step randomised, value by value and everywhere
    alike; else None.
    """
    reading = scene.pair.reading(column)
    steps = [step for step in scene.steps if column in step.masks]
    transitions: list[Transition] = []
    for step in steps:
        transitions.extend(step.transitions(scene.pair.original))
    transitions = [t for t in transitions if t.columns == (column,)]
    # Two steps in turn have no single matrix.
    if len(steps) != 1 or len(transitions) != 1:
        return None
    label_codes = {label[0]: i for i, label in enumerate(transitions[0].labels)}
    # A value or label that the matrix does not know was changed in another way.
    if not {v for v in (*reading.values, *reading.labels) if v is not None} <= set(label_codes):
        return None
    chances = np.array(
        [
            [_chance(transitions[0].matrix, label_codes, v, t) for t in reading.labels]
            for v in reading.values
        ]
    )
    counts = np.bincount(reading.released, minlength=len(reading.labels)).astype(np.float64)
    even = np.full(len(reading.values), 1 / len(reading.values))
    return KnownMatrix(chances, likeliest(counts[None, :], chances, even, weight=1.0)[0])


def _chance(
    matrix: Floats, label_codes: dict[str, int], value: str | None, label: str | None
) -> float:
    if value is None or label is None:
        return float(value == label)  # a missing value stays missing
    return float(matrix[label_codes[value], label_codes[label]])


def likeliest(counts: Floats, chances: Floats, prior: Floats, *, weight: float) -> Floats:
    r"""Per class the likeliest shares of true values, from the counts of its released labels.

    .. math:: q_v \leftarrow \frac{1}{m+w}\Bigl(w\,p_v + \sum_l n_l
        \frac{q_v R_{vl}}{\sum_u q_u R_{ul}}\Bigr)

    with :math:`n_l` of the *m* records released as label *l*, the transition matrix *R* and a prior
    *p* that weighs as much as *w* records: expectation and maximisation.

    >>> import numpy as np
    >>> chances = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> likeliest(np.array([[40.0, 60.0]]), chances, np.array([0.5, 0.5]), weight=0.0).round(
    ...     3
    ... ).tolist()
    [[0.3, 0.7]]
    """
    estimates = np.repeat(prior[None, :], len(counts), axis=0)
    total = counts.sum(axis=1, keepdims=True) + weight
    for _ in range(ROUNDS):
        expected = estimates @ chances
        # A label that no value can be released as reveals nothing.
        ratio = np.divide(counts, expected, out=np.zeros_like(counts), where=expected > 0)
        updated = estimates * (ratio @ chances.T)
        estimates = (updated + weight * prior) / np.maximum(total, 1e-300)
        estimates /= np.maximum(estimates.sum(axis=1, keepdims=True), 1e-300)
    return estimates


def expected_counts(
    crowd: Crowd, channel: KnownMatrix, labels: int
) -> Iterator[tuple[Any, Any, Any]]:
    """Class, value and expected count of all values that are likely in a class, some classes at a
    time.
    """
    # Classes in portions: the table of all classes by all values may be large.
    step = max(1, CLASSES_AT_ONCE // max(labels, len(channel.shares)))
    for start in range(0, len(crowd.sizes), step):
        end = min(len(crowd.sizes), start + step)
        inside = (crowd.pair_classes >= start) & (crowd.pair_classes < end)
        counts = np.zeros((end - start, labels))
        counts[crowd.pair_classes[inside] - start, crowd.pair_values[inside]] = crowd.counts[inside]
        shares = likeliest(counts, channel.chances, channel.shares, weight=1.0)
        classes, values = np.nonzero(shares >= LEAST)
        records = crowd.sizes[start:end][classes]
        yield classes + start, values, shares[classes, values] * records
