"""What is in a vault, without anyone in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from sfumato.core.keys import KeyReference
from sfumato.core.vault import existing, read_vault
from sfumato.vault.log import checked_head


@dataclasses.dataclass(frozen=True)
class DomainSummary:
    """One domain: how its pseudonyms are made, and how many there are."""

    domain: str
    method: str
    pseudonyms: int


def summary(vault: str | Path, *, key: KeyReference | Mapping[str, str]) -> tuple[DomainSummary, ...]:
    """The domains of a vault; its log is checked on the way."""
    path = Path(vault)
    opened = read_vault(existing(path), KeyReference.of(key).read())
    checked_head(path, opened)
    return tuple(DomainSummary(name, d.method, len(d.codes)) for name, d in sorted(opened.domains.items()))
