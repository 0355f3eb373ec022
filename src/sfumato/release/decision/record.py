"""A decision in writing: everything in the owner's folder, and in the certificate what others may
know.

``owner/decision.json`` holds terms, evidence and decision: whoever has it computes the decision
again, byte for byte. The certificate tells the tier, the terms with the owner's assumptions, and
what the file itself shows; of the attacks it holds a digest of the owner's record, unless the owner
publishes them. Beside a certified ε nothing that was found on the original may be told, so there
the record stays with the owner alone.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core import environment
from sfumato.core.fields import Document
from sfumato.core.files import MEGABYTE, read_plain
from sfumato.core.json_text import loads_once
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.release.decision.decide import decide
from sfumato.release.decision.decision import Decision
from sfumato.release.decision.documents import canonical_json
from sfumato.release.decision.evidence import DecisionEvidence
from sfumato.release.decision.terms import DecisionTerms
from sfumato.release.folder import read_release
from sfumato.release.sealing import DECISION_FILE
from sfumato.release.written_files import replace_file

if TYPE_CHECKING:
    from sfumato.release.folder import Folder

RECORD_VERSION = 1
MAX_BYTES = 64 * MEGABYTE
SALT_BYTES = 32
"""A digest of few figures could be tried out; with a salt it reveals nothing."""
KEYS = ("sfumato_decision", "dated", "salt", "terms", "evidence", "decision")


@dataclasses.dataclass(frozen=True)
class DecisionRecord:
    """What the owner keeps of a decision."""

    dated: str
    salt: str
    terms: DecisionTerms
    evidence: DecisionEvidence
    decision: Decision

    def text(self) -> str:
        """The record as its file holds it."""
        document = {
            "sfumato_decision": RECORD_VERSION,
            "dated": self.dated,
            "salt": self.salt,
            "terms": self.terms.to_dict(),
            "evidence": self.evidence.to_dict(),
            "decision": self.decision.to_dict(),
        }
        return canonical_json(document)

    @property
    def digest(self) -> str:
        """SHA-256 of the record, which the certificate holds."""
        return hashlib.sha256(self.text().encode()).hexdigest()

    @property
    def follows(self) -> bool:
        """Whether terms and evidence lead to the decision."""
        return decide(self.terms, self.evidence) == self.decision.decided


def write_decision(
    folder: Path,
    decision: Decision,
    *,
    terms: DecisionTerms,
    evidence: DecisionEvidence,
    publish_attacks: bool = False,
    sign: Path | None = None,
    draft: bool = False,
) -> None:
    """Write a decision into a release: the record of its owner, and a section of its certificate.

    Reports and certificate are sealed again, with ``sign`` by this key. With ``publish_attacks``
    the certificate holds the evidence too. A ``draft`` is a folder that nobody sees yet: it is
    changed as it stands.
    """
    record = DecisionRecord(
        environment.timestamp(), environment.fresh_salt(SALT_BYTES), terms, evidence, decision
    )
    if not record.follows:
        raise ParameterError("the decision is not the one that terms and evidence lead to")
    written = read_release(folder)
    owner_files = {DECISION_FILE: record.text().encode()}
    if any(not step.replayable for step in written.recipe.steps):
        if publish_attacks:
            raise ParameterError(
                "this release certifies an ε; what was found on the original cannot be published"
                " with it; leave out publish_attacks"
            )
        replace_file(folder / "owner" / DECISION_FILE, owner_files[DECISION_FILE])
        return
    section = certificate_section(record, publish_attacks=publish_attacks)
    written.add("decision", section, sign=sign, owner_files=owner_files, draft=draft)


def certificate_section(record: DecisionRecord, *, publish_attacks: bool) -> Document:
    """What a certificate says of a decision."""
    decision, file = record.decision, record.evidence.file
    section: Document = {
        "terms_version": decision.terms_version,
        "terms_date": decision.terms_date,
        "dated": record.dated,
        "tier": str(decision.tier),
        "harm": decision.harm,
        "terms": record.terms.to_dict(),
        "kinds": [str(kind) for kind in record.evidence.kinds],
        "file": None if file is None else record.evidence.to_dict()["file"],
        "owner_digest": record.digest,
    }
    if publish_attacks:
        section["evidence"] = record.evidence.to_dict()
    return section


def read_decision(folder: Path) -> DecisionRecord:
    """The record that the owner of a release keeps of its decision; refused where it was edited so
    that nobody could have written it.
    """
    return read_record(folder / "owner" / DECISION_FILE)


def read_record(file: Path) -> DecisionRecord:
    """A record from its file."""
    data = read_plain(file, limit=MAX_BYTES, purpose="a decision")
    try:
        document = loads_once(data)
    except (ValueError, RecursionError):
        raise UnreadableInput(f"{file} is not valid JSON; it was damaged or edited") from None
    if not isinstance(document, Mapping) or tuple(document) != KEYS:
        raise UnreadableInput(f"{file} is no decision of sfumato, or one of another version")
    texts = (document["dated"], document["salt"])
    if document["sfumato_decision"] != RECORD_VERSION or not all(
        isinstance(text, str) for text in texts
    ):
        raise UnreadableInput(f"{file} is no decision of sfumato, or one of another version")
    record = DecisionRecord(
        document["dated"],
        document["salt"],
        DecisionTerms.from_dict(document["terms"]),
        DecisionEvidence.from_dict(document["evidence"]),
        Decision.from_dict(document["decision"]),
    )
    if record.text().encode() != data:
        raise UnreadableInput(f"{file} is written otherwise than sfumato writes it; it was edited")
    return record


def decided_folder(folder: Path) -> Folder:
    """The release of a folder that has a decision."""
    written = read_release(folder)
    if "decision" not in written.certificate:
        raise UnreadableInput(f"{folder} has no decision; `sfumato protect` makes one")
    return written
