"""Rates of an attack and of its control, and the risk between them."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attacks.linkage.compared import Z95, Arrays, arrays_of, distance_rule, refusal
from sfumato.attacks.linkage.files import Files, files_of
from sfumato.core.attack import NOT_IN_FILE, Scene

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True)
class Rate:
    """A rate of success: the centre of Wilson's interval and half its width."""

    centre: float
    error: float

    @classmethod
    def of(cls, successes: float, trials: int, z: float = Z95) -> Rate:
        r"""Wilson's centre :math:`(s+z^2/2)/(n+z^2)` and half width :math:`\frac{z}{n+z^2}\sqrt{s(n-s)/n+z^2/4}`.

        >>> rate = Rate.of(30, 100)
        >>> round(rate.centre, 6), round(rate.error, 6)
        (0.307399, 0.08845)
        """
        if trials <= 0:
            return cls(0.5, 0.5)
        centre = (successes + z * z / 2) / (trials + z * z)
        error = z / (trials + z * z) * math.sqrt(max(0.0, successes * (trials - successes) / trials) + z * z / 4)
        return cls(centre, error)


@dataclasses.dataclass(frozen=True)
class Risk:
    """What an attack reaches beyond its control: (r_a − r_c)/(1 − r_c), with the error of both."""

    value: float
    error: float

    @classmethod
    def of(cls, attack: Rate, control: Rate) -> Risk:
        r"""Risk with propagated error; a control that always succeeds leaves nothing to learn, and the risk is not defined: 0 ± 1.

        .. math:: R = \frac{r_a - r_c}{1 - r_c}, \qquad
                  \sigma_R = \sqrt{\Bigl(\frac{\sigma_a}{1-r_c}\Bigr)^2 + \Bigl(\frac{(1-r_a)\,\sigma_c}{(1-r_c)^2}\Bigr)^2}

        Reference: Giomi et al. 2023, doi:10.56553/popets-2023-0055.

        >>> risk = Risk.of(Rate.of(30, 100), Rate.of(10, 100))
        >>> round(risk.value, 6), round(risk.error, 6)
        (0.217579, 0.112944)
        """
        left = 1 - control.centre
        if left <= 1e-12:
            return cls(0.0, 1.0)
        value = (attack.centre - control.centre) / left
        error = math.hypot(attack.error / left, (1 - attack.centre) * control.error / left**2)
        return cls(value, error)

    @property
    def interval(self) -> tuple[float, float]:
        """The interval, within 0 and 1."""
        return min(1.0, max(0.0, self.value - self.error)), max(0.0, min(1.0, self.value + self.error))

    @property
    def clipped(self) -> float:
        """The risk, within 0 and 1."""
        return min(1.0, max(0.0, self.value))


def told_rates(attack: Rate, control: Rate, naive: float, trials: int) -> dict[str, Any]:
    """What the details of a finding tell: all rates, and whether the attack beats guessing at all."""
    return {
        "attack_rate": attack.centre,
        "control_rate": control.centre,
        "naive_rate": naive,
        "attacks": trials,
        "better_than_guessing": attack.centre - attack.error > naive,
    }


# How far every distinct released record is from a target, column by column.

AT_MOST = 500
"""Targets an attack is tried on."""
TIE = 1e-9


@dataclasses.dataclass(frozen=True, eq=False)
class Surroundings:
    """Both files as distinct records; ``targets`` are rows of the intruder's file whose record was released.

    ``own`` is the released row of each target; ``names`` are the columns in the order of the costs.
    """

    files: Files
    arrays: Arrays
    targets: NDArray[np.int64]
    own: NDArray[np.int64]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order of the costs."""
        return tuple(self.arrays.names)

    def costs(self, target: int) -> NDArray[np.float64]:
        """Per distinct released record and column, how far it is from a target."""
        here = int(self.files.theirs.kind_of[self.targets[target]])
        right = len(self.arrays.ours.records)
        found: NDArray[np.float64] = self.arrays.costs(np.column_stack([np.full(right, here), np.arange(right)]))
        return found

    def records(self, target: int, *, without_own: bool) -> NDArray[np.int64]:
        """Per distinct released record how many rows have it; ``without_own``: as if the target had not taken part."""
        found = self.files.ours.records.copy()
        if without_own:
            found[self.files.ours.kind_of[self.own[target]]] -= 1
        return found


def surroundings(scene: Scene, purpose: str, most: int = AT_MOST) -> Surroundings:
    """Read both files and draw the targets."""
    files = files_of(scene)
    arrays = arrays_of(
        files,
        [distance_rule(c, weight=1.0, standard="pooled", ranges="nearest", suppressed="zero") for c in files.columns],
    )
    released = np.full(len(scene.pair.original), -1, dtype=np.int64)
    released[scene.pair.rows] = np.arange(len(scene.pair.rows))
    truth = scene.intruder.truth
    there = np.flatnonzero((truth != NOT_IN_FILE) & (released[np.maximum(truth, 0)] >= 0))
    if len(there) > most:
        there = np.sort(scene.seed.stream(f"{purpose}: whom to attack").choice(there, most, replace=False))
    return Surroundings(files, arrays, there, released[truth[there]])


def nearest(costs: NDArray[np.float64], records: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which distinct records are nearest, among those that have any row left."""
    total = np.where(records > 0, costs.sum(axis=1), np.inf)
    least = float(total.min(initial=np.inf))
    if not np.isfinite(least):
        return np.zeros(len(total), dtype=bool)
    found: NDArray[np.bool_] = (records > 0) & (total <= least + TIE * (1 + least))
    return found


def refused(scene: Scene) -> str | None:
    """Why there is nothing to attack, or None."""
    reason = refusal(scene)
    if reason is not None:
        return reason
    truth = scene.intruder.truth
    known = truth[truth != NOT_IN_FILE]
    if not np.isin(known, scene.pair.rows).any():
        return "nobody the intruder knows was released"
    return None if len(scene.pair.released) > 1 else "one record alone has no control"
