"""Part of the evidence of a release that was not written: to see whether a change would help.

It decides nothing: what is granted rests on the written folder
(:mod:`sfumato.release.decision.collect`).
"""

from __future__ import annotations

from collections.abc import Collection

from sfumato.release.decision.attacks import (
    LINKAGES,
    OF_DRAWN_ROWS,
    OF_THE_METHOD,
    AttackedRelease,
    find_implied,
    guess_attributes,
    try_attacks,
)
from sfumato.release.decision.evidence import DecisionEvidence
from sfumato.release.decision.file_classes import file_evidence
from sfumato.release.decision.lines import RELINKED

ATTACKS_OF_TERM: dict[str, tuple[str, ...]] = {
    "T2": (*LINKAGES, RELINKED),
    "T3": ("worst_case_linkage",),
    "T4": OF_DRAWN_ROWS,
    "T7": ("linkage",),
    "T9": (*OF_THE_METHOD, "downcoding"),
}


def preview_evidence(release: AttackedRelease, terms: Collection[str]) -> DecisionEvidence:
    """What some of the terms need, by their numbers (``{"T2", "T7"}``); all else is missing."""
    names = [name for term in ATTACKS_OF_TERM if term in terms for name in ATTACKS_OF_TERM[term]]
    implied = "T2" in terms or "T6" in terms
    return DecisionEvidence(
        kinds=release.kinds,
        trial=release.trial,
        file=file_evidence(release.pair.released, release.pair),
        sensitive=release.sensitive,
        attacks=try_attacks(release, only=names) if names else (),
        attributes=guess_attributes(release) if "T5" in terms else (),
        dependences=find_implied(release) if implied else None,
    )
