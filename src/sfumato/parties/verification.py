"""Checks of the result of a study: it is of this study, as its parties signed it.

Beside a certificate of shape ``study`` the original is the study. All parties sign the digest of
study, transcript and answer; the party that wrote the file signs the rest.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from sfumato.core.fields import Fields
from sfumato.parties.conduct import (
    PURPOSE,
    estimated_cost,
    fewest_signatures,
    public_digest,
    state_study,
)
from sfumato.parties.keys import signature_holds
from sfumato.release.manifest import STUDY, Claim, agree

if TYPE_CHECKING:
    from sfumato.parties.study import Study
    from sfumato.release.replay import Original
    from sfumato.release.shared_folder import SharedFolder


GIVE_STUDY = "give the study (--study)"


def study_named(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """The result says of the study what the study says."""
    section, study = certificate[STUDY], original.data
    if "asked_before" in section:
        words = "this repeats an earlier answer; the result of the first study is signed"
        return Claim("study", "fails", words)
    if study is None:
        return Claim("study", "needs original", GIVE_STUDY)
    # as a file holds it: lists for tuples, text for days
    fields = json.loads(json.dumps(state_study(study), default=str))
    differing_fields = [name for name, value in fields.items() if not agree(section[name], value)]
    if not agree(section["cost"]["estimated"], estimated_cost(study)):
        differing_fields.append("cost")
    if differing_fields:
        return Claim("study", "fails", f"not as in the study: {', '.join(differing_fields)}")
    return Claim("study", "holds", "the result matches the study")


def study_signed(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """All parties signed the study itself."""
    study: Study | None = original.data
    if study is None:
        return None
    unsigned = study.unsigned()
    if unsigned:
        return Claim("agreed", "fails", f"not signed by {', '.join(unsigned)}")
    return Claim("agreed", "holds", "all parties signed the study")


def answer_signed(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """Enough parties signed this answer, given in this session of the study."""
    section, study = certificate[STUDY], original.data
    name = "signatures"
    if "asked_before" in section:
        return None
    if study is None:
        return Claim(name, "needs original", GIVE_STUDY, True)
    session, transcript = section["session"], section["transcript"]
    digest = public_digest(study, session, transcript, section["answer"])
    if section["public_digest"] != digest.hex():
        words = "study, transcript and answer differ from the signed ones"
        return Claim(name, "fails", words, True)
    parties = {party.name: party for party in study.parties}
    for signer, text in section["signatures"].items():
        # one spelling only: base64 that decodes alike could be altered unnoticed
        value = base64.b64decode(text, validate=True)
        if signer not in parties or base64.b64encode(value).decode() != text:
            return Claim(name, "fails", "somebody signed who is not a party", True)
        if not signature_holds(parties[signer].signing_key, value, PURPOSE + digest):
            return Claim(name, "fails", f"the signature of {signer} does not match", True)
    if len(section["signatures"]) < fewest_signatures(study):
        words = f"only {len(section['signatures'])} of {len(parties)}"
        return Claim(name, "fails", words, True)
    return Claim(name, "holds", ", ".join(section["signatures"]), True)


def file_signed(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """The party that wrote the file signed all of it; what all parties sign is less."""
    study: Study | None = original.data
    if "signature" not in certificate:
        words = (
            "nobody signed the rest of the study: its costs, and digits of numbers beyond the"
            " twelfth; ask a party for its own file"
        )
        return Claim("file", "needs original", words, True)
    if study is None:
        return None
    # that the signature fits is checked for every certificate; here only whose it is
    key = certificate["signature"]["public_key"]
    for party in study.parties:
        if party.signing_key == key:
            return Claim("file", "holds", f"signed as a whole by {party.name}")
    return Claim("file", "fails", "signed by no party of the study")


CHECKS = (study_named, study_signed, answer_signed, file_signed)
"""What the result of a study is held to, besides digest and signature."""
