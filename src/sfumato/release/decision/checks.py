"""What ``verify`` says of a decision: what the file shows is counted again, the owner's record is
decided again, and with the original the evidence is collected again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.fields import Fields
from sfumato.errors import SfumatoError
from sfumato.release.manifest import Claim, agree

if TYPE_CHECKING:
    from sfumato.release.decision.record import DecisionRecord
    from sfumato.release.replay import Original
    from sfumato.release.shared_folder import SharedFolder

SHOWN = "decision: what the file shows"
OWN_RECORD = "decision follows from terms and evidence"
AGAIN = "decision: the evidence, against the original"
GIVE_OWNER = (
    "the decision needs the owner's folder, which keeps the attack results: give --original and"
    " --owner"
)


def decision_of_file(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """The classes of the file are as the decision says, and large enough for its tier."""
    from sfumato.release.decision.evidence import DecisionEvidence, ReleaseKind
    from sfumato.release.decision.file_classes import file_evidence
    from sfumato.release.decision.terms import DecisionTerms
    from sfumato.release.decision.tiers import TERMS_DATE, TERMS_VERSION, Tier, class_size

    section = certificate["decision"]
    terms = DecisionTerms.from_dict(section["terms"])
    tier = Tier(section["tier"])
    if section["terms_version"] != TERMS_VERSION or section["terms_date"] != TERMS_DATE:
        return Claim(
            SHOWN, "needs original", "it was decided under terms of another version of sfumato"
        )
    if section["harm"] != terms.harm:
        return Claim(SHOWN, "fails", "the harm is not what the terms lead to")
    told, counted = section["file"], file_evidence(shared.judged)
    persons_unnamed = told is not None and told["persons"] is not None and counted.persons is None
    if told is None:
        return Claim(SHOWN, "fails", "the decision says nothing of the file")
    told_counts = (told["records"], tuple(told["quasi"]))
    if told_counts != (counted.records, counted.quasi):
        return Claim(SHOWN, "fails", "records or quasi-identifiers are others than it says")
    told_classes = (told["classes"], told["smallest_class"])
    counted_classes = (counted.classes, counted.smallest_class)
    # Persons whom the file does not name can be counted by its owner only, but they are no more
    # than the records of their class.
    fits = told_classes == counted_classes
    if persons_unnamed:
        fits = told["persons"] <= counted.records and told_classes[0] == counted_classes[0]
        fits = fits and told_classes[1] <= counted_classes[1]
    if not fits:
        return Claim(SHOWN, "fails", "the classes of the file are others than the decision says")
    if not set(section["kinds"]) <= set(map(str, ReleaseKind)):
        return Claim(SHOWN, "fails", "it names an unknown kind of release")
    needs_classes = ReleaseKind.CLASSES in section["kinds"] and tier is not Tier.NONE
    if needs_classes and told["smallest_class"] < class_size(tier, terms.harm):
        return Claim(SHOWN, "fails", "the smallest class is too small for the tier")
    if "evidence" in section:
        evidence = DecisionEvidence.from_dict(section["evidence"])
        return _published(section, terms, evidence)
    words = f"the smallest class has {told['smallest_class']:,}, as the decision says"
    if persons_unnamed:
        words = (
            f"the smallest class has {counted.smallest_class:,} records; how many people they are"
            " the owner can count"
        )
    return Claim(SHOWN, "holds", words)


def _published(section: Fields, terms: Any, evidence: Any) -> Claim:
    """Evidence that stands in the certificate leads to the tier."""
    from sfumato.release.decision.decide import decide

    kinds = [str(kind) for kind in evidence.kinds]
    if kinds != section["kinds"] or evidence.to_dict()["file"] != section["file"]:
        return Claim(SHOWN, "fails", "the evidence is of another release than the decision says")
    if str(decide(terms, evidence).tier) != section["tier"]:
        return Claim(SHOWN, "fails", "the evidence leads to another tier")
    return Claim(SHOWN, "holds", "classes are as the decision says, and the evidence leads to it")


def decision_of_owner(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Iterator[Claim]:
    """The owner's record is the one that was certified, and its evidence leads to the decision."""
    from sfumato.release.decision.record import read_record
    from sfumato.release.sealing import DECISION_FILE

    section = certificate["decision"]
    if original.owner is None:
        file = None
    else:
        file = original.owner / DECISION_FILE
    if file is None or not file.is_file():
        yield Claim(OWN_RECORD, "needs original", GIVE_OWNER)
        return
    try:
        record = read_record(file)
    except SfumatoError as error:
        yield Claim(OWN_RECORD, "fails", str(error))
        return
    problem = _contradiction(section, record)
    if problem is not None:
        yield Claim(OWN_RECORD, "fails", problem)
        return
    yield Claim(OWN_RECORD, "holds", f"{record.decision.headline}, decided again")
    yield _evidence_again(file.parent.parent, certificate, original, record)


def _contradiction(section: Fields, record: DecisionRecord) -> str | None:
    """What of the owner's record is not what the certificate says; None: nothing."""
    from sfumato.release.decision.record import certificate_section

    if record.digest != section["owner_digest"]:
        return "the owner's record is not the one that was certified"
    if not record.follows:
        return "terms and evidence lead to another decision"
    told = certificate_section(record, publish_attacks="evidence" in section)
    if not agree(dict(section), told):
        return "the certificate says something else than the owner's record"
    return None


def _evidence_again(
    folder: Path, certificate: Fields, original: Original, record: DecisionRecord
) -> Claim:
    """The attacks, tried again by their seed, find what the record says."""
    from sfumato.release.decision.collect import collect_evidence

    trial = record.evidence.trial
    if original.data is None or not original.replayed.same or trial is None:
        return Claim(AGAIN, "needs original", GIVE_OWNER)
    if (folder / "share").resolve() != original.shared.folder.resolve():
        return Claim(AGAIN, "needs original", "the owner's folder lies beside another release")
    try:
        evidence = collect_evidence(
            folder,
            original.data,
            terms=record.terms,
            seed=trial.seed,
            everybody=trial.everybody,
            sample=trial.sample,
            verified=False,
        )
    except SfumatoError as error:
        return Claim(AGAIN, "fails", str(error))
    # Earlier releases are not at hand, and that the folder verifies is what this verification says.
    again = dataclasses.replace(
        evidence,
        earlier=record.evidence.earlier,
        compositions=record.evidence.compositions,
        verification=record.evidence.verification,
        epsilon=record.evidence.epsilon,
    )
    told, found = record.evidence.to_dict(), again.to_dict()
    differing = [key for key in told if not agree(told[key], found[key])]
    if differing:
        return Claim(AGAIN, "fails", f"repeated, these give other results: {', '.join(differing)}")
    if record.evidence.compositions:
        words = "earlier releases are not at hand; everything else comes out as the record says"
        return Claim(AGAIN, "needs original", words)
    return Claim(AGAIN, "holds", "repeated by their seed, all attacks give the recorded results")
