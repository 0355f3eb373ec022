"""What comes of checking: everything was verified, something is false, or not all could be
verified.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, VerdictBlock
from sfumato.core.fields import Document, Fields
from sfumato.core.words import count_of, inflect
from sfumato.release.manifest import Claim
from sfumato.release.signatures import signature_holds

AGAINST_ORIGINAL = ", against the original"
"""Ends the name of a promise that was judged a second time, beside the original."""

Result = Literal["verified", "false", "not all verified"]
EXIT_CODES: dict[Result, int] = {"verified": 0, "false": 1, "not all verified": 7}
WORSE = ("holds", "vouched", "needs original", "fails")
"""Statuses of a claim, from the best to the worst."""
MARKS = {"holds": "✓", "fails": "✗", "needs original": "?", "vouched": "≈"}
HELD = {"holds": True, "fails": False, "needs original": None, "vouched": True}


@dataclasses.dataclass(frozen=True)
class Verification(Reportable):
    """All claims of a certificate, and what comes of them."""

    folder: str
    claims: tuple[Claim, ...]
    signed: bool
    vouched_by: str | None = None
    """The trusted key that signed the certificate, by the name of its file."""

    @classmethod
    def of(
        cls,
        folder: Path,
        claims: Iterable[Claim],
        certificate: Fields,
        trusted: Path | None = None,
    ) -> Verification:
        """The claims; who signed with a trusted key vouches for promises that nobody could
        check.
        """
        settled, signer = _without_replayed(list(claims)), None
        if trusted is not None and signature_holds(certificate, trusted):
            signer = trusted.name
            settled = [_vouched(claim, signer) for claim in settled]
        return cls(str(folder), tuple(settled), "signature" in certificate, signer)

    @property
    def promises(self) -> dict[str, str]:
        """Every promise and limit by name, with its status; of several with one name, the worst."""
        worst: dict[str, str] = {}
        for name, status in self._statuses():
            worst[name] = max(worst.get(name, status), status, key=WORSE.index)
        return worst

    def _statuses(self) -> list[tuple[str, str]]:
        """Name and status of every promise; one that was judged twice, on the file and beside the
        original, counts once, by the worse of both.

        Two promises may have one name: what is open of one is not settled by the other.
        """
        on_file: dict[str, list[str]] = {}
        beside_original: dict[str, list[str]] = {}
        for claim in self.claims:
            if claim.promise:
                if claim.name.endswith(AGAINST_ORIGINAL):
                    statuses_by_name = beside_original
                else:
                    statuses_by_name = on_file
                statuses_by_name.setdefault(claim.name.removesuffix(AGAINST_ORIGINAL), []).append(
                    claim.status
                )
        statuses = []
        for name in {**on_file, **beside_original}:
            first = sorted(on_file.get(name, ()), key=WORSE.index, reverse=True)
            second = sorted(beside_original.get(name, ()), key=WORSE.index, reverse=True)
            # worst with worst: an open promise is not settled by another one of the same name
            pairs = itertools.zip_longest(first, second, fillvalue=WORSE[0])
            statuses += [(name, max(pair, key=WORSE.index)) for pair in pairs]
        return statuses

    @property
    def result(self) -> Result:
        """False where one claim fails; verified where all hold or a trusted key vouches for them,
        and something is promised.

        Unknown is not a pass: whatever needs the original and was not compared with it leaves the
        whole open.
        """
        statuses = {claim.status for claim in self.claims}
        if "fails" in statuses:
            return "false"
        promised = any(claim.promise for claim in self.claims)
        if promised and "needs original" not in statuses:
            return "verified"
        return "not all verified"

    @property
    def holds(self) -> bool:
        """Whether no claim fails and every promise was found to hold, or is vouched for by a
        trusted key; other fields of the certificate may be open.
        """
        statuses = {status for _, status in self._statuses()}
        return self.result != "false" and bool(statuses) and statuses <= {"holds", "vouched"}

    @property
    def exit_code(self) -> int:
        """0 verified, 1 false, 7 not all verified."""
        return EXIT_CODES[self.result]

    @property
    def headline(self) -> str:
        """What comes of it, in one line."""
        if self.result == "false":
            count = sum(claim.status == "fails" for claim in self.claims)
            return f"false: {count:,} {inflect(count, 'claim fails', 'claims fail')}"
        promises = [status for _, status in self._statuses()]
        count, total = promises.count("needs original"), count_of(len(promises), "promise")
        if not promises:
            return "not all verified: no promise could be checked"
        if count:
            needs = inflect(count, "needs", "need")
            return f"not all verified: {count:,} of {total} {needs} the original"
        vouched = promises.count("vouched")
        words = f"{len(promises) - vouched:,} of {total} checked and holding"
        if vouched:
            words += f", {vouched:,} vouched for by {self.vouched_by}"
        if self.result == "verified":
            return f"{self.result}: {words}"
        compared = any(
            claim.name.endswith(AGAINST_ORIGINAL) and claim.status == "holds"
            for claim in self.claims
        )
        next_step = "give --original to check the rest of the certificate"
        if compared:
            next_step = "lines marked ? say what the rest needs"
        return f"{self.result}: all promises hold ({words}); {next_step}"

    def __bool__(self) -> bool:
        return self.holds

    def to_dict(self) -> Document:
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

    def blocks(self) -> Sequence[Block]:
        """What comes of it, and every claim with what was found."""
        holds = {"verified": True, "false": False}.get(self.result)
        return [
            VerdictBlock(holds, self.headline, headline=True),
            *(VerdictBlock(HELD[claim.status], claim.name, claim.detail) for claim in self.claims),
        ]


def _without_replayed(claims: list[Claim]) -> list[Claim]:
    """The claims, but for open promises that were judged beside the original.

    Only a promise settles a promise: a certificate may call one like some other claim.
    """
    promise_names = {claim.name for claim in claims if claim.promise}
    return [
        claim
        for claim in claims
        if not claim.promise
        or claim.status != "needs original"
        or claim.name + AGAINST_ORIGINAL not in promise_names
    ]


def _vouched(claim: Claim, signer: str) -> Claim:
    if claim.status != "needs original":
        return claim
    return dataclasses.replace(
        claim, status="vouched", detail=f"vouched for by {signer}; {claim.detail}"
    )
