"""Parameters that link many records, by descent on a smooth stand-in for the number of links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.risk.linkage.aggregators import MEAN, ORDERED, SQUARE_FORM, Family
from sfumato.risk.linkage.search import TIE
from sfumato.risk.linkage.units import MARGIN, Pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene

WARMTH = 0.05
RATE = 0.2
CHECKED = 20
ROUNDS = 3


def learned(
    scene: Scene, pool: Pool, *, restarts: int, steps: int, start: NDArray[np.float64], purpose: str
) -> NDArray[np.float64]:
    r"""The parameters with the most true links found by descent from several starts.

    .. math:: \min_p \frac{1}{N} \sum_i \sigma(-g_i(p)/\tau), \qquad g_i = \min_{j \ne i} d_p(i, j) - d_p(i, i)

    by Adam with τ = 0.05; links count, not the loss. After each round the nearest others under the best parameters join
    those the descent looks at. Stops early where the time has run out, and then returns the best so far.
    """
    draws = scene.seed.stream(f"learned linkage {purpose}")
    best, most = start, float(pool.look(start).credit.sum())
    if not len(pool.rows):
        return best  # nothing to tell from: every other record is a twin
    for turn in range(ROUNDS):
        tried = [start if turn == 0 else best]
        for restart in range(restarts if turn == 0 else 1 + restarts // 4):
            if scene.left <= 0:
                break
            theta = _start(pool.family, tried[0], restart, draws)
            tried.append(_descend(scene, pool, theta, steps))
        ranked = sorted(tried, key=lambda p: -_links(pool, p))
        seen = [(p, pool.look(p)) for p in ranked[:2] if p is start or scene.left > 0]
        for p, view in seen:
            links = float(view.credit.sum())
            if links > most:
                best, most = p, links
        if scene.left <= 0 or not sum(pool.add(view.others) for _, view in seen):
            break
    return best


def _links(pool: Pool, parameters: NDArray[np.float64]) -> float:
    """What is linked, as far as the pool can tell."""
    import numpy as np

    margins = pool.gains @ parameters
    least = np.full(len(pool.units), np.inf)
    np.minimum.at(least, pool.rows[:, 0], margins)
    return pool.worth(least >= MARGIN, least >= -TIE)


def _start(family: Family, near: NDArray[np.float64], restart: int, draws: np.random.Generator) -> NDArray[np.float64]:
    """Free parameters to start from: the given ones first, then scattered ones."""
    import numpy as np

    if family.kind in (MEAN, ORDERED):
        logs = np.log(np.maximum(near, 1e-4))
        return logs if restart == 0 else np.asarray(draws.normal(size=family.width))
    if family.kind == SQUARE_FORM:
        values, vectors = np.linalg.eigh(family.matrix(near))
        root = vectors * np.sqrt(np.maximum(values, 1e-6))
        return np.asarray(root + (0.3 * draws.normal(size=root.shape) if restart else 0.0)).ravel()
    weights = draws.dirichlet(np.ones(family.columns))
    return near if restart == 0 else family.of_weights(weights)


def _parameters(family: Family, theta: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    if family.kind in (MEAN, ORDERED):
        grown = np.exp(theta - theta.max())
        return np.asarray(grown / grown.sum())
    if family.kind == SQUARE_FORM:
        root = theta.reshape(family.columns, family.columns)
        return family.flat(root @ root.T / max(1e-300, float((root**2).sum())))
    return theta


def _pulled(
    family: Family, theta: NDArray[np.float64], p: NDArray[np.float64], slope: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The slope in the free parameters."""
    import numpy as np

    if family.kind in (MEAN, ORDERED):
        return np.asarray(p * (slope - (slope * p).sum()))
    if family.kind == SQUARE_FORM:
        root = theta.reshape(family.columns, family.columns)
        size = max(1e-300, float((root**2).sum()))
        matrix = family.matrix(slope) / 2
        matrix[np.diag_indices(family.columns)] *= 2  # what is above the diagonal stands for two entries
        matrix = matrix - np.eye(family.columns) * float((matrix * family.matrix(p)).sum())
        return np.asarray(2 * matrix @ root / size).ravel()
    return slope


def _descend(scene: Scene, pool: Pool, theta: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """One descent by Adam; the parameters with the most links met on the way."""
    import numpy as np

    family = pool.family
    free = family.kind in (MEAN, ORDERED, SQUARE_FORM)
    rate = RATE if free else RATE / 10
    mean, spread = np.zeros(len(theta)), np.zeros(len(theta))
    best, most = _parameters(family, theta), -1.0
    firsts = np.flatnonzero(np.r_[True, np.diff(pool.rows[:, 0]) > 0])
    sizes = np.diff(np.r_[firsts, len(pool.rows)])
    worth = pool.alone[pool.rows[firsts, 0]] / max(1e-300, float(pool.alone.sum()))
    for step in range(1, steps + 1):
        p = _parameters(family, theta)
        margins = pool.gains @ p
        least = np.minimum.reduceat(margins, firsts)
        if step % CHECKED == 1 or step == steps:
            links = float(worth[least >= MARGIN].sum())
            if links > most:
                best, most = p, links
            if scene.left <= 0:
                break
        soft = 1 / (1 + np.exp(np.clip(least / WARMTH, -50, 50)))
        pull = np.repeat(-worth * soft * (1 - soft) / WARMTH, sizes) * (margins <= np.repeat(least, sizes))
        slope = _pulled(family, theta, p, pull @ pool.gains)
        mean, spread = 0.9 * mean + 0.1 * slope, 0.999 * spread + 0.001 * slope**2
        theta = theta - rate * (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.999**step)) + 1e-9)
        if not free:
            theta = family.nearest_allowed(theta)
    return best
