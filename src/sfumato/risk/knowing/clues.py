"""Which clue each column gives: by the last step that masked it, and by its released cells where none did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.risk.attributes.crowd import generalises
from sfumato.risk.knowing.evidence import (
    Clue,
    clue_from_cells,
    clue_from_differences,
    clue_from_ranks,
    clue_from_runs,
    clue_from_transitions,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.pair import Pair

TRANSPARENT = ("rank_swap", "microaggregate", "add_noise", "pram")
SHAPELESS = ("sample", "pseudonymize")
"""Steps that leave the values of quasi-identifiers alone."""


def clues_of(scene: Scene) -> list[Clue]:
    """The clues of all columns the intruder knows; columns that two steps masked in turn, or a step of another kind, give none."""
    pair = scene.pair
    known = [c for c in scene.intruder.knows if c in pair.columns]
    steps = {c: [s for s in scene.steps if c in (getattr(s, "columns", None) or ())] for c in known}
    steps = {c: [s for s in found if s.name not in SHAPELESS] for c, found in steps.items()}
    clues = [clue_from_cells(pair, c) for c in known if not steps[c] and generalises(pair, c)]
    alone = {c: found[0] for c, found in steps.items() if len(found) == 1}
    for step in dict.fromkeys(map(id, alone.values())):
        mine = next(s for s in alone.values() if id(s) == step)
        clues += _by_step(pair, mine, tuple(c for c in known if alone.get(c) is mine))
    return clues


def _by_step(pair: Pair, step: Any, columns: tuple[str, ...]) -> list[Clue]:
    numbers = tuple(c for c in columns if pair.reading(c).scale != "category")
    stratified = bool(getattr(step, "within", None)) or bool(pair.original.schema.columns("stratum"))  # type: ignore[arg-type]
    if step.name == "rank_swap" and step.variant == "interval" and step.extremes == "exclude" and not stratified:
        return [clue_from_ranks(pair, c, step.p) for c in numbers]
    if step.name == "add_noise" and numbers:
        return _noise(pair, step, numbers)
    if step.name == "microaggregate" and numbers and not stratified:
        if step.method == "individual_ranking" or len(step.columns) == 1:
            return [clue_from_runs(pair, c) for c in numbers]
        whole = set(numbers) == set(step.columns)  # in some of its columns alone the nearest centre is often another's
        spread = _diagonal(_covariance(pair, numbers))
        return [clue_from_differences(pair, numbers, spread, step.name, nearest=whole)]
    if step.name == "pram" and not step.jointly and not stratified:
        return [
            clue_from_transitions(pair, t.columns[0], t.labels, t.matrix)
            for t in step.transitions(pair.original)
            if t.columns[0] in columns
        ]
    return []


def _noise(pair: Pair, step: Any, columns: tuple[str, ...]) -> list[Clue]:
    """Noise with known alpha: its covariance follows from that of the released columns."""
    released = _covariance(pair, columns)
    if step.method == "uncorrelated":
        spread = _diagonal(released) * step.alpha / (1 + step.alpha)
    elif step.method in ("correlated", "outliers"):
        spread = released * step.alpha / (1 + step.alpha)
    elif step.method in ("kim", "sullivan"):
        spread = (
            released * step.alpha / (1 + step.alpha)
        )  # after shrinking, the noise is that share of what is released
    else:
        return []
    return [clue_from_differences(pair, columns, spread, step.name)]


def _covariance(pair: Pair, columns: tuple[str, ...]) -> NDArray[np.float64]:
    import numpy as np

    values = np.stack([pair.reading(c).middle[pair.reading(c).released] for c in columns], axis=1)
    known = values[~np.isnan(values).any(axis=1)]
    if len(known) < 2:
        return np.eye(len(columns))
    return np.atleast_2d(np.cov(known, rowvar=False))


def _diagonal(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    return np.diag(np.diag(matrix))
