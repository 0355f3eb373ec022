"""From pseudonyms back to people: one way only, and it is logged before anyone is named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from sfumato.core.keys import KeyReference
from sfumato.core.sealed import only_one
from sfumato.core.vault import existing, parts_of_identity, read_vault, write_vault
from sfumato.errors import ParameterError, did_you_mean
from sfumato.vault.log import append, entry


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
