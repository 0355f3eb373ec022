"""Rates of an attack and of its control, the risk between them, and how well a score tells members
from others.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.fields import Document
from sfumato.methods.attacks.linkage.success_rates import Z95

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Rates of an attack and of its control, and the risk between them.


@dataclasses.dataclass(frozen=True)
class Rate:
    """A rate of success: the centre of Wilson's interval and half its width."""

    centre: float
    error: float

    @classmethod
    def of(cls, successes: float, trials: int, z: float = Z95) -> Rate:
        r"""Wilson's centre :math:`(s+z^2/2)/(n+z^2)` and half
        width :math:`\frac{z}{n+z^2}\sqrt{s(n-s)/n+z^2/4}`.

        >>> rate = Rate.of(30, 100)
        >>> round(rate.centre, 6), round(rate.error, 6)
        (0.307399, 0.08845)
        """
        if trials <= 0:
            # Nothing was tried: any rate from 0 to 1 is possible.
            return cls(0.5, 0.5)
        centre = (successes + z * z / 2) / (trials + z * z)
        variance = successes * (trials - successes) / trials
        error = z / (trials + z * z) * math.sqrt(max(0.0, variance) + z * z / 4)
        return cls(centre, error)


@dataclasses.dataclass(frozen=True)
class ExcessRisk:
    """What an attack reaches beyond its control: (r_a − r_c)/(1 − r_c), with the error of both."""

    value: float
    error: float

    @classmethod
    def of(cls, attack: Rate, control: Rate) -> ExcessRisk:
        r"""Risk with propagated error; a control that always succeeds leaves nothing to learn, and
        the risk is not defined: 0 ± 1.

        .. math:: R = \frac{r_a - r_c}{1 - r_c}, \qquad
                  \sigma_R = \sqrt{\Bigl(\frac{\sigma_a}{1-r_c}\Bigr)^2 +
                  \Bigl(\frac{(1-r_a)\,\sigma_c}{(1-r_c)^2}\Bigr)^2}

        Reference: Giomi et al. 2023, doi:10.56553/popets-2023-0055.

        >>> risk = ExcessRisk.of(Rate.of(30, 100), Rate.of(10, 100))
        >>> round(risk.value, 6), round(risk.error, 6)
        (0.217579, 0.112944)
        """
        # What the control leaves to be found; where it always succeeds that is nothing.
        remaining = 1 - control.centre
        if remaining <= 1e-12:
            return cls(0.0, 1.0)
        value = (attack.centre - control.centre) / remaining
        control_term = (1 - attack.centre) * control.error / remaining**2
        error = math.hypot(attack.error / remaining, control_term)
        return cls(value, error)

    @property
    def interval(self) -> tuple[float, float]:
        """The interval, within 0 and 1."""
        low = self.value - self.error
        high = self.value + self.error
        return min(1.0, max(0.0, low)), max(0.0, min(1.0, high))

    @property
    def clipped(self) -> float:
        """The risk, within 0 and 1."""
        return min(1.0, max(0.0, self.value))


def told_rates(attack: Rate, control: Rate, naive: float, trials: int) -> Document:
    """What the details of a finding tell: all rates, and whether the attack beats guessing at
    all.
    """
    return {
        "attack_rate": attack.centre,
        "control_rate": control.centre,
        "naive_rate": naive,
        "attacks": trials,
        "better_than_guessing": attack.centre - attack.error > naive,
    }


@dataclasses.dataclass(frozen=True)
class Successes:
    """How often an attack succeeded on people, and how often on its control, who are other
    people.
    """

    hits: int
    trials: int
    control_hits: int
    control_trials: int

    @property
    def rates(self) -> tuple[Rate, Rate]:
        """The rate of the attack and that of its control."""
        return Rate.of(self.hits, self.trials), Rate.of(self.control_hits, self.control_trials)

    @property
    def share(self) -> float:
        """The share of people it succeeded on."""
        return self.hits / max(1, self.trials)

    @property
    def control_share(self) -> float:
        """The share of the control it succeeded on."""
        return self.control_hits / max(1, self.control_trials)

    @property
    def excess(self) -> float:
        r"""What is found beyond the control, of the shares as
        they are: :math:`R = (a - h)/(1 - h)`; 0 where the control always succeeds.

        >>> round(Successes(2507, 10_000, 449, 10_000).excess, 4)
        0.2155
        """
        remaining = 1 - self.control_share
        if not (remaining > 1e-12):
            return 0.0
        return (self.share - self.control_share) / remaining

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of :class:`ExcessRisk`, wide enough for the excess of the shares as they
        are.
        """
        low, high = ExcessRisk.of(*self.rates).interval
        excess = min(1.0, max(0.0, self.excess))
        return min(low, excess), max(high, excess)


# How well a score tells members from others.


def true_positives(
    members: Floats, non_members: Floats, false_alarms: float
) -> tuple[float, float]:
    """The highest rate of members found, with at most this share of false alarms, and that share;
    nearer is likelier.

    >>> import numpy as np
    >>> true_positives(np.array([0.0, 0.0, 3.0]), np.array([1.0, 2.0, 3.0]), 0.01)
    (0.6666666666666666, 0.0)
    """
    best = (0.0, 0.0)
    for cut in np.unique(np.concatenate([members, non_members[np.isfinite(non_members)]])):
        alarms = float((non_members <= cut + 1e-12).mean())
        # Both shares only grow with the cut: no later one is allowed either.
        if alarms > false_alarms:
            break
        best = float((members <= cut + 1e-12).mean()), alarms
    return best


def area(members: Floats, non_members: Floats) -> float:
    """The chance that a member is nearer than a non-member, ties half: the area under the ROC
    curve.
    """
    ordered = np.sort(non_members)
    # Members at a cut: non-members farther away count 1, those at the same distance one half.
    below = np.searchsorted(ordered, members, side="right")
    at = below - np.searchsorted(ordered, members, side="left")
    wins = (len(non_members) - below) + at / 2
    return float(wins.mean() / len(non_members))
