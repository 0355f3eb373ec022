"""Whether a policy allows a use at all: the purpose was agreed to, the recipient is listed, the time is not over."""

from __future__ import annotations

import dataclasses
import datetime

from sfumato.errors import did_you_mean
from sfumato.policy.policy import Policy, Purpose
from sfumato.policy.retention import delete_by, expired


@dataclasses.dataclass(frozen=True)
class Use:
    """What somebody wants to do, and when. ``ended`` is the day the purpose ended, if it has."""

    purpose: str
    recipient: str | None = None
    today: datetime.date = dataclasses.field(default_factory=datetime.date.today)
    ended: datetime.date | None = None


@dataclasses.dataclass(frozen=True)
class Permission:
    """The purpose under which a use is allowed, or the first reason why it is not."""

    purpose: Purpose | None
    reason: str = ""
    delete_by: datetime.date | None = None

    @property
    def allowed(self) -> bool:
        """Whether the use is allowed."""
        return self.purpose is not None


def authorise(policy: Policy, use: Use) -> Permission:
    """Whether a policy allows a use.

    A purpose that was not asked about (``accepted`` is None) is allowed: such policies list what was agreed to. Agreement
    to a super-purpose covers its sub-purposes. Without a recipient the controller uses the data itself.

    >>> authorise(Policy("p"), Use("research")).reason
    "purpose 'research' is not in the policy."
    """
    found = policy.purpose(use.purpose)
    if found is None:
        near = did_you_mean(use.purpose, [p.name for p in policy.purposes])
        return Permission(None, f"purpose {use.purpose!r} is not in the policy.{near}")
    if found.accepted is False and not found.required:
        return Permission(None, f"purpose {found.name!r} was not agreed to")
    if use.recipient is not None and not _receives(found, use.recipient):
        names = ", ".join(r.name for r in found.recipients) or "nobody"
        return Permission(
            None, f"recipient {use.recipient!r} is not allowed for purpose {found.name!r}; allowed: {names}"
        )
    if expired(found.retention, use.today, use.ended):
        return Permission(None, f"the retention of purpose {found.name!r} has passed")
    return Permission(found, delete_by=delete_by(found.retention, use.ended))


def _receives(purpose: Purpose, recipient: str) -> bool:
    if purpose.any_data and not purpose.recipients:
        return True  # a rule for any table says nothing about recipients
    return recipient.casefold() in {r.name.casefold() for r in purpose.recipients}
