"""Which matrix randomises the answers of each stratum, and the answers it gives."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from sfumato.core.encoding import label
from sfumato.core.transition import direct_invariant, local_epsilon, two_stage_invariant, uniform_matrix
from sfumato.errors import ParameterError
from sfumato.steps.exchange.groups import members_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.steps.exchange.answers import Answers
    from sfumato.steps.exchange.carriers import Carriers

    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]

Invariant = Literal["two_stage", "direct", "none"]
Value = str | bool | int | float
Rows = Mapping[Value, Mapping[Value, float]]


@dataclasses.dataclass(frozen=True, eq=False)
class Transition:
    """``matrix[i, j]`` is the probability that ``labels[i]`` is released as ``labels[j]``, in one stratum.

    Labels are tuples, one part for each of ``columns``. They are data values: this is for the owner.
    """

    columns: tuple[str, ...]
    stratum: int
    labels: tuple[tuple[str, ...], ...]
    matrix: Floats

    @property
    def epsilon(self) -> float:
        """The ε of local differential privacy of one answer."""
        return local_epsilon(self.matrix)


def dense(rows: Rows) -> tuple[dict[str, int], Floats]:
    """A matrix written as labels → labels → probability, as numbered labels and an array; what is not written is 0."""
    import numpy as np

    numbers = {label(value): i for i, value in enumerate(rows)}
    if not rows or len(numbers) < len(rows):
        raise ParameterError("it needs one row for each value of the column")
    strange = {label(to) for row in rows.values() for to in row} - set(numbers)
    if strange:
        raise ParameterError(f"it leads to {len(strange)} value(s) that have no row of their own")
    matrix = np.zeros((len(numbers), len(numbers)))
    for value, row in rows.items():
        for to, probability in row.items():
            matrix[numbers[label(value)], numbers[label(to)]] += probability
    return numbers, matrix


@dataclasses.dataclass(frozen=True)
class Chance:
    """How matrices are made: from a given one or from the probability to retain a value, and then made invariant."""

    invariant: Invariant
    retain: float | None
    theta: float | None
    alpha: float | None

    def matrix(self, shares: Floats, given: Floats | None) -> Floats:
        """The matrix for answers of these shares."""
        if self.invariant == "direct":
            return direct_invariant(shares, self.theta or 0.0)
        first = uniform_matrix(len(shares), self.retain or 0.0) if given is None else given
        if self.invariant == "none":
            return first
        return two_stage_invariant(first, shares, 1.0 if self.alpha is None else self.alpha)

    def transitions(
        self, answers: Answers, strata: tuple[Codes, int], weights: Floats | None, given: Floats | None
    ) -> list[tuple[Codes, Transition]]:
        """Per stratum the codes of its answers and their matrix; made ones are for the answers that occur in the stratum."""
        import numpy as np

        found, size = [], len(answers.labels)
        known = np.flatnonzero(answers.codes >= 0)
        for s, members in enumerate(members_of(strata[0][known], strata[1])):
            if not len(members):
                continue
            rows = known[members]
            counts = np.bincount(answers.codes[rows], minlength=size)
            occurring = np.flatnonzero(counts) if given is None else np.arange(size)
            shares = _shares(answers.codes[rows], None if weights is None else weights[rows], size)[occurring]
            labels = tuple(answers.labels[i] for i in occurring.tolist())
            found.append((occurring, Transition(answers.columns, s, labels, self.matrix(shares, given))))
        return found


def _shares(codes: Codes, weights: Floats | None, size: int) -> Floats:
    """Shares of answers, weighted where the weights are not all zero; an answer that occurs has some share."""
    import numpy as np

    counts = np.bincount(codes, minlength=size)
    if weights is None or not weights.sum():
        return np.asarray(counts / counts.sum(), dtype=np.float64)
    totals = np.bincount(codes, weights, size)
    totals = np.where(counts > 0, np.maximum(totals, 1e-12 * totals.sum()), 0.0)
    return np.asarray(totals / totals.sum(), dtype=np.float64)


def drawn(
    answers: Answers,
    carriers: Carriers,
    strata: Codes,
    chosen: list[tuple[Codes, Transition]],
    stream: np.random.Generator,
) -> Codes:
    """Per row the answer that is released: drawn once for each carrier, by the matrix of its stratum."""
    import numpy as np

    from sfumato.kernels.exchange import draw_codes

    own, places = answers.codes[carriers.rows], strata[carriers.rows]
    uniforms = stream.random(len(carriers))
    released = own.copy()
    groups = members_of(places, int(strata.max(initial=0)) + 1)
    for occurring, transition in chosen:
        members = groups[transition.stratum]
        members = members[own[members] >= 0]
        number = np.zeros(len(answers.labels), dtype=np.int64)
        number[occurring] = np.arange(len(occurring))
        sums = np.cumsum(transition.matrix, axis=1)
        found = draw_codes(number[own[members]], sums / sums[:, -1:], uniforms[members])
        released[members] = occurring[found]
    return released[carriers.of]


def epsilon_of(chosen: list[tuple[Codes, Transition]]) -> float:
    """The ε of the stratum that protects least; 0 where nothing can be learnt because there is one value only."""
    return max((t.epsilon for _, t in chosen), default=0.0)


def finite(epsilon: float) -> float | None:
    """ε for a certificate, which knows no infinity."""
    return epsilon if math.isfinite(epsilon) else None
