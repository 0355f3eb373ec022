"""Membership: was this person in the table?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.attacks.gdpr.criteria import Rate, refused, surroundings
from sfumato.core.attack import Attack, Finding, cut_short
from sfumato.core.parameters import parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene

FALSE_ALARMS = (0.01, 0.001)


@parameters
class Membership(Attack):
    r"""How well being near a released record tells that a person took part.

    The score of a person is the distance to the nearest released record. Members have their own record in the release; the control is the
    same people with it taken out. At a share ``false_alarms`` of false alarms,

    .. math:: \text{advantage} = \text{TPR} - \text{FPR}

    is the value: averages hide the few who are exposed, so it is taken at few false alarms (Carlini et al. 2022,
    doi:10.1109/SP46214.2022.9833649). ``details`` hold the true positive rates at 1 % and 0.1 % and the area under the curve.
    """

    false_alarms: Annotated[
        float, Field(gt=0, lt=1, description="share of non-members that may be taken for members")
    ] = 0.01

    name: ClassVar[str] = "membership"
    line: ClassVar[str] = "It is found out whether a person is in the table at all"
    tried_by: ClassVar[tuple[str, ...]] = ("journalist",)

    def applies(self, scene: Scene) -> str | None:
        """None when someone the intruder knows was released."""
        return refused(scene)

    def attack(self, scene: Scene) -> Finding:
        """Score members and the same people as if they had not taken part."""
        around = surroundings(scene, self.name)
        members, others = np.full(len(around.targets), np.nan), np.full(len(around.targets), np.nan)
        for target in scene.sampled(len(around.targets), self.name):
            far = around.costs(target).sum(axis=1)
            members[target] = far[around.records(target, without_own=False) > 0].min()
            others[target] = far[around.records(target, without_own=True) > 0].min(initial=np.inf)
        seen = ~np.isnan(members)
        members, others = members[seen], others[seen]
        hits = {share: true_positives(members, others, share) for share in (self.false_alarms, *FALSE_ALARMS)}
        caught, alarms = hits[self.false_alarms]
        rate = Rate.of(caught * len(members), len(members))
        told = (
            f"{caught:.1%} of {len(members):,} people are recognised as members at {alarms:.1%} false alarms; "
            f"the area under the curve is {area(members, others):.3f} (0.5: no better than a coin)"
            f"{cut_short(len(members), len(seen))}"
        )
        details: dict[str, Any] = {f"true_positives_at_{share:g}": hits[share][0] for share in FALSE_ALARMS}
        details["stopped_by_time"] = len(members) < len(seen)
        value = max(0.0, caught - alarms)
        interval = max(0.0, rate.centre - rate.error - alarms), min(1.0, max(value, rate.centre + rate.error - alarms))
        details["area_under_curve"] = area(members, others)
        return Finding(self.name, value, told, interval, details=details, trials=len(members))


def true_positives(
    members: NDArray[np.float64], others: NDArray[np.float64], false_alarms: float
) -> tuple[float, float]:
    """The highest rate of members found, with at most this share of false alarms, and that share; nearer is likelier.

    >>> import numpy as np
    >>> true_positives(np.array([0.0, 0.0, 3.0]), np.array([1.0, 2.0, 3.0]), 0.01)
    (0.6666666666666666, 0.0)
    """
    best = (0.0, 0.0)
    for cut in np.unique(np.concatenate([members, others[np.isfinite(others)]])):
        alarms = float((others <= cut + 1e-12).mean())
        if alarms > false_alarms:
            break
        best = float((members <= cut + 1e-12).mean()), alarms
    return best


def area(members: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """The chance that a member is nearer than a non-member, ties half: the area under the ROC curve."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, members, side="right")
    at = below - np.searchsorted(ordered, members, side="left")
    return float(((len(others) - below) + at / 2).mean() / len(others))
