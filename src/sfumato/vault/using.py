"""From pseudonyms back to people: one way only, and it is logged before anyone is named."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path

from sfumato.core.keys import KeyReference
from sfumato.errors import ParameterError, did_you_mean
from sfumato.vault.log import append, checked_head, entry
from sfumato.vault.store import existing, only_one, parts_of_identity, read_vault, write_vault


def reidentify(
    vault: str | Path,
    pseudonyms: Iterable[object],
    *,
    key: KeyReference | Mapping[str, str],
    reason: str,
    domain: str = "",
) -> dict[str, tuple[str | None, ...] | None]:
    """The values behind pseudonyms, or None for those the vault does not know.

    A person has one value for each column that made the identity. The log says who asked when, why and how many; if it cannot
    be written, nobody is named.
    """
    path, asked = Path(vault), list(dict.fromkeys(str(one) for one in pseudonyms))
    if not asked:
        raise ParameterError("no pseudonyms are given; name at least one")
    secret = KeyReference.of(key).read()
    with only_one(existing(path)):
        opened = read_vault(path, secret)
        if domain not in opened.domains:
            raise ParameterError(f"the vault {path} has no domain {domain!r}.{did_you_mean(domain, opened.domains)}")
        wanted = set(asked)
        found = {code: one for one, code in opened.domains[domain].codes.items() if code in wanted}
        told = entry("reidentify", reason, domain=domain, asked=len(asked), found=len(found))
        write_vault(path, secret, append(path, opened, told))
    return {code: parts_of_identity(found[code]) if code in found else None for code in asked}


# A new key for a vault.


def rotate(
    vault: str | Path,
    old_key: KeyReference | Mapping[str, str],
    new_key: KeyReference | Mapping[str, str],
    *,
    reason: str = "rotation",
) -> int:
    """Seal a vault with a new key; everyone keeps the pseudonym. The number of pseudonyms in it.

    The old key opens the vault no longer, but it still opens old copies. For pseudonyms that cannot be linked with earlier
    ones use another domain.
    """
    path = Path(vault)
    old, new = KeyReference.of(old_key).read(), KeyReference.of(new_key).read()
    if old == new:
        raise ParameterError("the new key is the old one; make another with 'sfumato vault new-key'")
    with only_one(existing(path)):
        opened = read_vault(path, old)
        count = sum(len(domain.codes) for domain in opened.domains.values())
        write_vault(path, new, append(path, opened, entry("rotate", reason, asked=count, found=count)))
    return count


# What is in a vault, without anyone in it.


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
