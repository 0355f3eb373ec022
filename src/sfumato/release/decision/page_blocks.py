"""What both pages of a release say of its decision, before everything else."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.core.blocks import Block, ListBlock, Paragraph, VerdictBlock
from sfumato.core.fields import Fields
from sfumato.core.words import join_words, moment
from sfumato.release.decision.decide import NOT_JUDGED
from sfumato.release.decision.decision import Decision
from sfumato.release.decision.terms import DecisionTerms
from sfumato.release.decision.tiers import Tier

KEPT_BY_OWNER = (
    "Attack results are kept by the owner. The certificate holds the digest of the owner's record,"
    " so that it cannot be exchanged unnoticed."
)


def shared_decision_blocks(section: Fields) -> list[Block]:
    """The decision as everybody may know it: who may receive the release, what its owner assumes,
    and what was not judged.
    """
    tier, terms = Tier(section["tier"]), DecisionTerms.from_dict(section["terms"])
    is_shared = tier is not Tier.NONE
    blocks: list[Block] = [
        VerdictBlock(is_shared, tier.headline, headline=True),
        Paragraph(tier.meaning),
    ]
    blocks.append(ListBlock(tier.obligations, "Whoever shares it takes on:"))
    sentence = f"Not judged: {join_words(NOT_JUDGED, 'or')}."
    if terms.assumptions:
        sentence = f"Assumed: {'; '.join(terms.assumptions)}. {sentence}"
    day = moment(section["dated"])
    version = f"Terms, version {section['terms_version']} of {section['terms_date']}"
    blocks += [
        Paragraph(sentence),
        Paragraph(f"{version}, {section['harm']} harm. Decided on {day}.", "quiet"),
    ]
    if "evidence" not in section:
        blocks.append(Paragraph(KEPT_BY_OWNER, "quiet"))
    return blocks


def owner_decision_blocks(document: Fields) -> Sequence[Block]:
    """The decision with its reasons, the changes that would help and every line of the terms: from
    the record that the owner keeps.
    """
    return Decision.from_dict(document["decision"]).blocks()
