"""Holding a release against policies it need not have been made for."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.policy.enforcing.authorise import Permission, Use, authorise
from sfumato.policy.enforcing.people import Policies, digest_of
from sfumato.policy.enforcing.record import drift, read_record, refused_before
from sfumato.policy.enforcing.released import Released, read_released
from sfumato.policy.policy import Policy, Purpose
from sfumato.policy.safe_harbor import check_numbers

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset

SAFE_HARBOR = "safe_harbor"


@dataclasses.dataclass(frozen=True)
class Compliance:
    """Whether a release keeps what policies ask for: reasons where it does not, notes that do not decide."""

    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    statements: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.reasons

    def __bool__(self) -> bool:
        return self.holds

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain data."""
        return {"holds": self.holds, **{k: list(v) for k, v in dataclasses.asdict(self).items()}}

    def __str__(self) -> str:
        lines = [
            *(f"✗ {r}" for r in self.reasons),
            *(f"✓ {s}" for s in self.statements),
            *(f"· {n}" for n in self.notes),
        ]
        return "\n".join(lines)


def comply(
    folder: Path,
    policies: Policies,
    *,
    purpose: str,
    recipient: str | None = None,
    today: datetime.date | None = None,
    ended: datetime.date | None = None,
    original: Dataset | None = None,
    numbers: Mapping[str, Sequence[str]] | None = None,
) -> Compliance:
    """Check a shared folder against policies; nothing is believed, the released file is judged again.

    Looked at: the certificate itself, whether the use is allowed, which columns are there and in which role, levels,
    pseudonyms, and every privacy model. ``original`` is needed for models that compare with it; ``numbers`` names the
    columns that rules about numbers are about, ``{"age": [...], "zip": [...], "date": [...]}``. When the owner's
    compliance record lies beside, whatever changed in the policies since is told as a note. A cap that is exceeded
    is a note too: it bounds what may be lost, not what may be learned.
    """
    use = Use(purpose, recipient, today or datetime.datetime.now(datetime.UTC).date(), ended)
    released = read_released(folder, original)
    record = read_record(folder)
    reasons, notes = list(released.problems), [] if record is None else drift(record, policies)
    statements = []
    for policy in policies.everybody:
        found, told = _against(policy, authorise(policy, use), released, numbers or {})
        reasons += found
        notes += told
        if not found and not released.problems:
            statements.append(_statement(policy, use))
    against = _against_people(policies, use, record, notes)
    if policies.groups and not against and not released.problems:
        statements.append(f"the owner's record vouches for the policies of {len(policies.label_of):,} people")
    reasons += against
    return Compliance(tuple(dict.fromkeys(reasons)), tuple(dict.fromkeys(notes)), tuple(statements))


def _statement(policy: Policy, use: Use) -> str:
    if policy.rule is not None:
        return f"meets the numeric part of {policy.rule.title} as of {policy.rule.as_of}; {policy.rule.limit}"
    to = "" if use.recipient is None else f" to {use.recipient}"
    return f"nothing in policy {policy.name!r} speaks against purpose {use.purpose!r}{to}"


def _against(
    policy: Policy, permission: Permission, released: Released, numbers: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[str]]:
    """Reasons against a release under one policy, and notes."""
    if permission.purpose is None:
        return [f"{policy.name}: {permission.reason}"], []
    purpose = permission.purpose
    reasons = [] if purpose.any_data else _columns(purpose, released)
    levels, notes = _levels(purpose, released)
    reasons += [*levels, *released.models_broken(purpose)]
    if policy.rule is not None and SAFE_HARBOR in policy.rule.checks:
        reasons += check_numbers(released.dataset, numbers, released.described)
    return [f"{policy.name}: {reason}" for reason in reasons], [f"{policy.name}: {note}" for note in notes]


def _columns(purpose: Purpose, released: Released) -> list[str]:
    told = []
    for column in released.dataset.columns:
        datum = purpose.datum(column)
        if datum is None:
            told.append(f"column {column!r} is released, but purpose {purpose.name!r} does not list it")
        elif datum.group == "EI" and column not in released.pseudonymized:
            told.append(f"column {column!r} is an explicit identifier and is released as it is")
        elif datum.group == "EI" and not any(column in m.data for m in purpose.pseudonymizations):
            told.append(f"column {column!r} is an explicit identifier; the policy does not allow pseudonyms of it")
    for method in purpose.pseudonymizations:
        left = [c for c in method.data if c in released.dataset.columns and c not in released.pseudonymized]
        told += [f"column {c!r} must be pseudonymized ({method.name}) and is not" for c in left]
    return told


def _levels(purpose: Purpose, released: Released) -> tuple[list[str], list[str]]:
    reasons, notes = [], []
    for datum in purpose.data:
        method = datum.anonymization
        if method is None or datum.name not in released.dataset.columns or datum.group == "EI":
            continue
        short = released.below(datum.name, method) if method.minimum else None
        if short:
            reasons.append(short)
        level = released.levels.get(datum.name)
        if method.maximum is not None and level is not None and level > method.maximum:
            notes.append(f"column {datum.name!r} is at level {level}, above the cap of level {method.maximum}")
    return reasons, notes


def _against_people(policies: Policies, use: Use, record: Mapping[str, Any] | None, notes: list[str]) -> list[str]:
    """People's own policies cannot be read off a file that hides who is who; the owner's record vouches for them."""
    if not policies.groups:
        return []
    refusing = [policy for policy in policies.groups.values() if not authorise(policy, use).allowed]
    if record is None:
        return [
            "people have policies of their own, and there is no compliance record of the owner to tell they were kept"
        ]
    told = []
    if (record.get("purpose"), record.get("recipient")) != (use.purpose, use.recipient):
        told.append("the release was made for another purpose or recipient than asked for, under people's own policies")
    known = refused_before(record)
    fresh = sum(digest_of(policy) not in known for policy in refusing)
    if fresh:
        told.append(
            f"{fresh} of {len(policies.groups)} of people's own policies no longer allow this use as when it was made"
        )
    if any("people's own policies are new or changed" in note for note in notes):
        told.append("people's own policies changed since the release; what they ask for now is not known to be kept")
    return told
