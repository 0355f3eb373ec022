"""What comes of checking: everything was verified, something is false, or not all could be verified."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from sfumato.release.certificates import signature_holds
from sfumato.release.manifest import Claim

AGAINST_ORIGINAL = ", against the original"
"""Ends the name of a promise that was judged a second time, beside the original."""

Result = Literal["verified", "false", "not all verified"]
EXIT_CODES: dict[Result, int] = {"verified": 0, "false": 1, "not all verified": 7}
MARKS = {"holds": "✓", "fails": "✗", "needs original": "?", "vouched": "≈"}


@dataclasses.dataclass(frozen=True)
class Verification:
    """All claims of a certificate, and what comes of them."""

    folder: str
    claims: tuple[Claim, ...]
    signed: bool
    vouched_by: str | None = None
    """The trusted key that signed the certificate, by the name of its file."""

    @classmethod
    def of(
        cls, folder: Path, claims: Iterable[Claim | None], certificate: Mapping[str, Any], trusted: Path | None = None
    ) -> Verification:
        """The claims; who signed with a trusted key vouches for promises that nobody could check."""
        known = [claim for claim in claims if claim is not None]
        signer = None
        if trusted is not None and signature_holds(certificate, trusted):
            signer = trusted.name
            known = [_vouched(claim, signer) for claim in known]
        return cls(str(folder), tuple(known), "signature" in certificate, signer)

    @property
    def promises(self) -> dict[str, str]:
        """Every promise and limit with its status: that beside the original where it was judged there, too."""
        return {claim.name.removesuffix(AGAINST_ORIGINAL): claim.status for claim in self.claims if claim.promise}

    @property
    def result(self) -> Result:
        """False where one claim fails; verified where every promise holds or a trusted key vouches for it.

        Unknown is not a pass: a promise that needs the original and cannot be held against it leaves all of it open. Claims about
        how the release was made, which no shared folder shows, do not.
        """
        if any(claim.status == "fails" for claim in self.claims):
            return "false"
        statuses = set(self.promises.values())
        return "verified" if statuses and statuses <= {"holds", "vouched"} else "not all verified"

    @property
    def holds(self) -> bool:
        """Whether no claim fails and every promise was found to hold, or is vouched for by a trusted key."""
        return self.result == "verified"

    @property
    def exit_code(self) -> int:
        """0 verified, 1 false, 7 not all verified."""
        return EXIT_CODES[self.result]

    @property
    def headline(self) -> str:
        """What comes of it, in one line."""
        promises = list(self.promises.values())
        if self.result == "false":
            count = sum(claim.status == "fails" for claim in self.claims)
            return f"false: {count:,} {'claim fails' if count == 1 else 'claims fail'}"
        if self.result == "not all verified":
            count = promises.count("needs original")
            needs = f"{count:,} of {_plural(len(promises))} {'needs' if count == 1 else 'need'} the original"
            return f"not all verified: {needs if promises else 'nothing that was promised could be checked'}"
        count = promises.count("vouched")
        vouched = f", {count:,} vouched for by {self.vouched_by}" if count else ""
        return f"verified: {len(promises) - count:,} of {_plural(len(promises))} checked and kept{vouched}"

    def __bool__(self) -> bool:
        return self.holds

    def to_dict(self) -> dict[str, Any]:
        """The verification as plain data."""
        return {
            "folder": self.folder,
            "result": self.result,
            "headline": self.headline,
            "holds": self.holds,
            "signed": self.signed,
            "vouched_by": self.vouched_by,
            "claims": [dataclasses.asdict(c) for c in self.claims],
        }

    def __str__(self) -> str:
        return "\n".join([self.headline, *(f"{MARKS[c.status]} {c.name}: {c.detail}" for c in self.claims)])


def _vouched(claim: Claim, signer: str) -> Claim:
    if not claim.promise or claim.status != "needs original":
        return claim
    return dataclasses.replace(claim, status="vouched", detail=f"vouched for by {signer}; {claim.detail}")


def _plural(count: int) -> str:
    return f"{count:,} promise{'s'[: count != 1]}"
