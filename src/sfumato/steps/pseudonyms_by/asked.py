"""What a method is asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.core.step import Goal


@dataclasses.dataclass(frozen=True, repr=False)
class Asked:
    """Identities in a fixed order, each once, that need a pseudonym; those of ``known`` have one already.

    ``key`` is empty where a method takes none. ``domain`` parts what shall not be linked.
    """

    identities: Sequence[str]
    known: Mapping[str, str]
    key: bytes
    domain: str
    goal: Goal

    @property
    def fresh(self) -> list[str]:
        """The identities that have no pseudonym yet."""
        return [one for one in self.identities if one not in self.known] if self.known else list(self.identities)

    def ordered(self, fresh_codes: Sequence[str]) -> Sequence[str]:
        """The pseudonyms of all identities in their order, given those of the fresh ones."""
        if not self.known:
            return fresh_codes
        codes = {**self.known, **dict(zip(self.fresh, fresh_codes, strict=True))}
        return [codes[identity] for identity in self.identities]


def refuse_shared(codes: Sequence[str], known: Mapping[str, str], remedy: str) -> None:
    """Raise where two identities would have one pseudonym."""
    shared = len(codes) + len(known) - len({*codes, *known.values()})
    if shared:
        raise ParameterError(f"{shared:,} identities would share a pseudonym with another; {remedy}")
