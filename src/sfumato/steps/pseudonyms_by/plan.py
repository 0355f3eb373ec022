"""What pseudonymizing decided: codes instead of names, and what a vault shall remember of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from sfumato.core.masked import Masked
from sfumato.core.vault import Domain, remember


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Storing:
    """Puts pseudonyms into a vault when it is called; calling it again changes nothing. It shows neither key nor people."""

    vault: Path
    key: bytes
    domain: str
    pseudonyms: Domain

    def __call__(self) -> None:
        """Store them."""
        remember(self.vault, self.key, self.domain, self.pseudonyms)


@dataclasses.dataclass(frozen=True, eq=False)
class Pseudonymized(Masked):
    """A masking plan that may have something to store once the release is written: ``after_writing`` does it.

    Planning stores nothing.
    """

    after_writing: Callable[[], None] | None = dataclasses.field(default=None, repr=False)
