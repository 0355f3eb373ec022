"""Rates of an attack and of its control, and the risk between them."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from sfumato.risk.linkage.rates import Z95


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
        r"""Risk with propagated error; a control that always succeeds leaves nothing to learn.

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
