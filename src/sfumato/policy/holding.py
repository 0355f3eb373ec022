"""Holding a release against policies of any language."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.policy.dialects.known import PRESET
from sfumato.policy.dialects.permitted import USAGE_DIALECTS, dialect_of, permitted, usage_of_release
from sfumato.policy.enforcing.comply import Compliance, comply
from sfumato.policy.enforcing.people import Policies
from sfumato.release.certificates import read_certificate

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset


def hold_against(
    folder: Path,
    paths: Sequence[str],
    *,
    purpose: str,
    recipient: str | None = None,
    original: Dataset | None = None,
    numbers: Mapping[str, Sequence[str]] | None = None,
    categories: Sequence[str] = (),
    days: int | None = None,
    today: datetime.date | None = None,
    ended: datetime.date | None = None,
) -> Compliance:
    """Check a shared folder against policy files: those about columns by what was released, those about uses by subsumption.

    ``categories`` and ``days`` describe the data and their storage to policies in SPECIAL, DPV and ODRL, since a table does not.
    """
    usages = [
        p for p in paths if not p.startswith(PRESET) and Path(p).is_file() and dialect_of(Path(p)) in USAGE_DIALECTS
    ]
    policies = Policies.load(*(p for p in paths if p not in usages))
    found = comply(
        folder,
        policies,
        purpose=purpose,
        recipient=recipient,
        today=today,
        ended=ended,
        original=original,
        numbers=numbers,
    )
    use = usage_of_release(
        read_certificate(folder), purpose=purpose, recipient=recipient, categories=categories, days=days
    )
    for path in usages:
        answer = permitted(Path(path), use, today=today)
        if answer.allowed:
            told = (*found.statements, f"{Path(path).name}: what was released lies within what is permitted")
            found = dataclasses.replace(found, statements=told)
        else:
            found = dataclasses.replace(
                found, reasons=(*found.reasons, f"{Path(path).name}: not allowed: {answer.reason}")
            )
    return found
