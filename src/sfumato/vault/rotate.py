"""A new key for a vault."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sfumato.core.keys import KeyReference
from sfumato.core.sealed import only_one
from sfumato.core.vault import existing, read_vault, write_vault
from sfumato.errors import ParameterError
from sfumato.vault.log import append, entry


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
