"""The matrix that randomises the answers of each stratum, and the answers it gives."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato import kernels
from sfumato.core.design import Stratum
from sfumato.core.encoding import label
from sfumato.core.step import (
    Transition,
)
from sfumato.errors import ParameterError
from sfumato.methods.formulas.transition import (
    direct_invariant,
    local_epsilon,
    two_stage_invariant,
    uniform_matrix,
)
from sfumato.methods.steps.swapping.record_groups import (
    members_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.steps.swapping.answers import AnswerCounts, Answers

    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]

Invariant = Literal["two_stage", "direct", "none"]
Value = str | bool | int | float
Rows = Mapping[Value, Mapping[Value, float]]


@dataclasses.dataclass(frozen=True, eq=False)
class AnswerMatrix(Transition):
    """The matrix of one stratum, and what an answer drawn by it tells."""

    @property
    def epsilon(self) -> float:
        """The ε of local differential privacy of one answer."""
        return local_epsilon(self.matrix)


def dense(rows: Rows) -> tuple[dict[str, int], Floats]:
    """A matrix written as labels → labels → probability, as numbered labels and an array; what is
    not written is 0.
    """
    numbers = {label(value): i for i, value in enumerate(rows)}
    if not rows or len(numbers) < len(rows):
        raise ParameterError("it needs one row for each value of the column")
    labels_used = map(label, chain.from_iterable(rows.values()))
    strange = set(labels_used) - set(numbers)
    if strange:
        raise ParameterError(f"it leads to {len(strange)} value(s) without a row of their own")
    matrix = np.zeros((len(numbers), len(numbers)))
    for value, row in rows.items():
        for to, probability in row.items():
            matrix[numbers[label(value)], numbers[label(to)]] += probability
    return numbers, matrix


@dataclasses.dataclass(frozen=True)
class Chance:
    """How matrices are made: from a given one or from the probability to retain a value, and then
    made invariant.
    """

    invariant: Invariant
    retain: float | None
    theta: float | None
    alpha: float | None

    def matrix(self, shares: Floats, own_matrix: Floats | None) -> Floats:
        """The matrix for answers of these shares."""
        if self.invariant == "direct":
            return direct_invariant(shares, self.theta or 0.0)
        # Retained with probability p, otherwise any value alike.
        if own_matrix is None:
            first = uniform_matrix(len(shares), self.retain or 0.0)
        else:
            first = own_matrix
        if self.invariant == "none":
            return first
        return two_stage_invariant(first, shares, 1.0 if self.alpha is None else self.alpha)

    def made(self, answers: AnswerCounts, stratum: Stratum, own_matrix: Floats | None) -> Floats:
        """The matrix of a stratum: for the answers that occur in it, or for all that a given one
        knows.
        """
        counts, masses = answers.strata[stratum]
        if own_matrix is None:
            occurring = np.flatnonzero(counts)
        else:
            occurring = np.arange(len(answers.labels))
        return self.matrix(_shares(counts, masses)[occurring], own_matrix)


def _shares(counts: Codes, masses: Floats | None) -> Floats:
    """Shares of answers, weighted where the weights are not all zero; an answer that occurs has
    some share.
    """
    if masses is None or not masses.sum():
        return np.asarray(counts / counts.sum(), dtype=np.float64)
    # A share of 0 for an answer that occurs would make the invariant matrix divide by 0.
    totals = np.where(counts > 0, np.maximum(masses, 1e-12 * masses.sum()), 0.0)
    return np.asarray(totals / totals.sum(), dtype=np.float64)


def draw_answers(
    answers: Answers, strata: Codes, matrices: list[tuple[Codes, AnswerMatrix]], uniforms: Floats
) -> Codes:
    """Per row the answer that is released: drawn by the matrix of its stratum."""
    released = answers.codes.copy()
    groups = members_of(strata, int(strata.max(initial=0)) + 1)
    for occurring, transition in matrices:
        members = groups[transition.stratum]
        members = members[answers.codes[members] >= 0]
        # Answers of the stratum numbered 0, 1, … as the rows of its matrix are.
        number = np.zeros(len(answers.labels), dtype=np.int64)
        number[occurring] = np.arange(len(occurring))
        # Inverse transform: the first column whose running sum exceeds the uniform number.
        sums = np.cumsum(transition.matrix, axis=1)
        own = number[answers.codes[members]]
        shares = sums / sums[:, -1:]
        codes = kernels.swapping.draw_codes(own, shares, uniforms[members])
        released[members] = occurring[codes]
    return released


def epsilon_of(matrices: list[tuple[Codes, AnswerMatrix]]) -> float:
    """The ε of the stratum that protects least; 0 where nothing can be learnt because there is one
    value only.
    """
    return max((t.epsilon for _, t in matrices), default=0.0)


def finite(epsilon: float) -> float | None:
    """ε for a certificate, which knows no infinity."""
    return epsilon if math.isfinite(epsilon) else None
