"""How well every released record fits a target, column by column: a log-likelihood, −∞ where it cannot be the target's.

Each function takes the targets' values (codes of the original's values) and gives an array of targets × released rows.
``sound`` says that the true record never gets −∞.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair

    Scores = NDArray[np.float64]
    Codes = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class Clue:
    """What some columns say: ``score(targets)`` for target rows of the original, and whether it never rules out the truth.

    ``nearest`` says that the records with the best score are candidates that almost always include the true one, to be intersected
    with what other columns say.
    """

    columns: tuple[str, ...]
    score: Callable[[Codes], Scores]
    sound: bool
    method: str
    nearest: bool = False


def clue_from_cells(pair: Pair, column: str) -> Clue:
    """A column that was generalised, suppressed or left alone: a released cell must be able to stand for the value."""
    import numpy as np

    reading = pair.reading(column)
    fits = np.array(
        [
            [reading.fits(v, c) or label is None for c, label in enumerate(reading.labels)]
            for v in range(len(reading.values))
        ],
        dtype=bool,
    ).reshape(len(reading.values), len(reading.labels))

    def score(targets: Codes) -> Scores:
        possible = fits[reading.original[targets]][:, reading.released]
        return np.where(possible, 0.0, -np.inf)

    return Clue((column,), score, True, "cells")


def clue_from_ranks(pair: Pair, column: str, share: float) -> Clue:
    r"""Rank swapping with known p: the released record's rank is within :math:`m=\lfloor pN\rfloor` of the value's own.

    Swapping keeps the values, so ranks of original values are read off the released column itself; with ties, from the lowest to the
    highest rank of equal values. Values outside the released column (people left out) take the place they would have.
    Within the window all ranks are alike here; where values tie, or values stayed where they were, the nearest of them is the better guess.
    Reference: Nin, Herranz & Torra 2008, doi:10.1016/j.datak.2007.07.006.
    """
    import numpy as np

    reading = pair.reading(column)
    released = reading.middle[reading.released]
    known = np.sort(released[~np.isnan(released)])
    reach = int(share * len(known) + 1e-9)
    low, high = np.searchsorted(known, released, side="left"), np.searchsorted(known, released, side="right") - 1

    def score(targets: Codes) -> Scores:
        value = reading.places[reading.original[targets]]
        first = np.searchsorted(known, value, side="left")[:, None]
        last = np.maximum(np.searchsorted(known, value, side="right") - 1, np.searchsorted(known, value, side="left"))
        near = (low[None, :] <= last[:, None] + reach) & (high[None, :] >= first - reach)
        both_missing = np.isnan(value)[:, None] == np.isnan(released)[None, :]
        here = np.where(np.isnan(value)[:, None], both_missing, near & ~np.isnan(released)[None, :])
        return np.where(here, 0.0, -np.inf)

    return Clue((column,), score, True, "rank_swap")


def clue_from_runs(pair: Pair, column: str) -> Clue:
    r"""Microaggregation of one column alone: groups are runs of neighbours, so :math:`c_{g-1} \le x \le c_{g+1}`."""
    import numpy as np

    reading = pair.reading(column)
    released = reading.middle[reading.released]
    centres = np.unique(released[~np.isnan(released)])
    place = np.searchsorted(centres, released)
    slack = 1e-9 * max(1.0, abs(reading.span))
    below = np.concatenate([[-np.inf], centres[:-1]]) - slack if len(centres) else centres
    above = np.concatenate([centres[1:], [np.inf]]) + slack if len(centres) else centres

    def score(targets: Codes) -> Scores:
        value = reading.places[reading.original[targets]][:, None]
        spot = np.minimum(place, max(0, len(centres) - 1))[None, :]
        inside = (
            (below[spot] <= value) & (value <= above[spot]) if len(centres) else np.zeros((len(targets), len(released)))
        )
        both_missing = np.isnan(value) & np.isnan(released)[None, :]
        return np.where(inside.astype(bool) | both_missing, 0.0, -np.inf)

    return Clue((column,), score, True, "microaggregate")


def clue_from_differences(
    pair: Pair, columns: tuple[str, ...], spread: NDArray[np.float64], method: str, *, nearest: bool = False
) -> Clue:
    r"""Gaussian differences with known covariance: :math:`-\tfrac12 (y-x)^\top Q (y-x)`, :math:`Q` its (pseudo-)inverse.

    For noise that is the likelihood, and linking by it is the best attack there is; for microaggregation by blocks it finds the
    nearest centre, whose records are the candidates (``nearest``). Missing values say nothing.
    """
    import numpy as np

    readings = [pair.reading(c) for c in columns]
    released = np.stack([r.middle[r.released] for r in readings], axis=1)
    root = _root_of_inverse(spread)
    lacking = np.any(np.isnan(released), axis=1)[None, :]

    def score(targets: Codes) -> Scores:
        value = np.stack([r.places[r.original[targets]] for r in readings], axis=1)
        here, there = np.nan_to_num(value) @ root.T, np.nan_to_num(released) @ root.T
        far = (here**2).sum(axis=1)[:, None] + (there**2).sum(axis=1)[None, :] - 2 * here @ there.T
        unknown = np.any(np.isnan(value), axis=1, keepdims=True) | lacking
        return np.where(unknown, 0.0, -0.5 * np.maximum(far, 0.0))

    return Clue(columns, score, True, method, nearest)


def _root_of_inverse(spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """A matrix R with RᵀR the pseudo-inverse; directions without any spread are left out (they would be infinitely telling)."""
    import numpy as np

    values, vectors = np.linalg.eigh((spread + spread.T) / 2)
    kept = values > max(float(values.max(initial=0.0)), 1e-300) * 1e-10
    root: NDArray[np.float64] = (vectors[:, kept] / np.sqrt(values[kept])).T
    return root


def clue_from_transitions(pair: Pair, column: str, labels: tuple[Any, ...], matrix: NDArray[np.float64]) -> Clue:
    """Post-randomisation with a known matrix: the log of the chance that the value was released as this label."""
    import numpy as np

    reading = pair.reading(column)
    place = {label[0] if isinstance(label, tuple) else label: i for i, label in enumerate(labels)}
    logs = np.full((len(reading.values), len(reading.labels)), -np.inf)
    for v, value in enumerate(reading.values):
        for c, label in enumerate(reading.labels):
            if value is None or label is None or value not in place or label not in place:
                logs[v, c] = 0.0 if value == label else -np.inf
            elif matrix[place[value], place[label]] > 0:
                logs[v, c] = np.log(matrix[place[value], place[label]])

    def score(targets: Codes) -> Scores:
        return logs[reading.original[targets]][:, reading.released]

    return Clue((column,), score, True, "pram")
