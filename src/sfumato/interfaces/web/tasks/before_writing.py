"""What an owner should know before a release is written: the attacks on it, what was not tried, the
decision, the register, and what to be warned of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.blocks import Block, ListBlock, Paragraph
from sfumato.core.words import count_of, join_words, percent, plain_name
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.tasks.decide import decided_release
from sfumato.interfaces.web.tasks.made_releases import opened_register, require_made
from sfumato.interfaces.web.tasks.promises import columns_without_promise
from sfumato.release.decision.tiers import Tier

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.interfaces.web.data_process import Bench
    from sfumato.interfaces.web.tasks.decide import DecidedRelease
    from sfumato.release.table_release import TableRelease

MOST_ATTACKS = 3
NOT_ATTACKED = "Nobody has attacked this release: how it withstands intruders is unknown."
NOT_DECIDED = "It is not decided who may have it; the stage Decide does that."
NO_REGISTER = (
    "No register is named below: what this release reveals together with earlier ones is unknown."
)


def before_writing(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    key: str,
    decided: bool,
    register: dict[str, str] | None = None,
) -> Fields:
    """What is known of the release of a version before it is written, as ``blocks``, and
    ``warnings`` that its owner must take note of.

    ``decided``: the decision about it is about the answers in use.
    """
    release = require_made(bench, key, register)
    decision = decided_release(bench, key) if decided else None
    blocks: list[Block] = []
    warnings = list(release.warnings)
    if decision is None:
        warnings.append(NOT_DECIDED)
    else:
        blocks.append(Paragraph(f"Decision: {decision.decision.headline}.", "strong"))
        if decision.decision.tier is Tier.NONE:
            warnings.append("The decision is not to share it.")
    attacks, unknown = _attacks(release, decision)
    if attacks is None:
        warnings.append(NOT_ATTACKED)
    else:
        blocks.append(ListBlock(attacks, "What attacks found"))
    if unknown:
        blocks.append(ListBlock(unknown, "What was not tried"))
        count = count_of(len(unknown), "attack")
        warnings.append(f"What {count} would find is unknown: not tried, see above.")
    unpromised = columns_without_promise(recipe)
    if unpromised:
        warnings.append(f"No promise is about {join_words(unpromised)}.")
    blocks.append(Paragraph(_register_words(register), "quiet"))
    return {"blocks": blocks, "warnings": warnings}


def _attacks(
    release: TableRelease, decision: DecidedRelease | None
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """The strongest attacks and what each found, and those that were not tried; None: nobody
    attacked.
    """
    if decision is not None:
        entries = decision.evidence.attacks
        tried = [entry for entry in entries if entry.figure is not None]
        tried.sort(key=lambda entry: -entry.figure.value if entry.figure else 0.0)
        found = tuple(
            f"{plain_name(entry.attack)} by the {entry.intruder}: {percent(entry.figure.value)}"
            for entry in tried[:MOST_ATTACKS]
            if entry.figure is not None
        )
        unknown = tuple(
            f"{plain_name(entry.attack)} by the {entry.intruder}: {entry.reason}"
            for entry in entries
            if entry.status == "unknown"
        )
        return found, unknown
    report = release.attacks
    if report is None:
        return None, ()
    strongest = sorted(report.tried, key=lambda outcome: -outcome.finding.value)
    found = tuple(
        f"{plain_name(outcome.finding.attack)} by the {outcome.intruder}:"
        f" {percent(outcome.finding.value)}"
        for outcome in strongest[:MOST_ATTACKS]
    )
    unknown = tuple(
        f"{plain_name(skipped.attack)} by the {skipped.intruder}: {skipped.reason}"
        for skipped in report.skipped
        if skipped.unknown
    )
    return found, unknown


def _register_words(register: dict[str, str] | None) -> str:
    """What the register knows of earlier releases; nothing of it is read but their number."""
    if not register or not register.get("to") or not register.get("file"):
        return NO_REGISTER
    remembered = opened_register(register)
    try:
        entries = () if remembered.register is None else remembered.register.standing
    finally:
        remembered.close()
    earlier = count_of(len(entries), "earlier release")
    return f"The register has {earlier}; writing examines what they all reveal together."
