"""Metadata of a release for a repository: DataCite, DDI-Codebook and RO-Crate, all from the
certificate, and the archive that holds them with the release.

The shared folder stays as it is, for a certificate lists its files: the archive has it as
``share/``, with the metadata beside it, and is itself an RO-Crate.
"""

from __future__ import annotations

import dataclasses
import io
import json
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.core.words import count_of, join_words
from sfumato.errors import OutputError, ParameterError, ReleaseRefused
from sfumato.release.certificate_files import read_certificate
from sfumato.release.manifest import FILE
from sfumato.release.written_files import replace_file

Fields = Mapping[str, Any]
ARCHIVE, DATACITE, DDI, CRATE = "release.zip", "datacite.json", "ddi.xml", "ro-crate-metadata.json"
DDI_SPACE = "ddi:codebook:2_5"
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The date of all members of the archive, so that the same release gives the same bytes."""


@dataclasses.dataclass(frozen=True)
class DepositDetails:
    """What a certificate does not say."""

    title: str
    creators: tuple[str, ...]
    publisher: str = ""
    description: str = ""
    license: str = ""
    contact: str = ""

    def __post_init__(self) -> None:
        """Refuse what no repository takes."""
        if not self.title.strip() or not self.creators or not all(map(str.strip, self.creators)):
            raise ParameterError("a deposit needs a title and at least one creator; give --title")


def require_depositable(share: Path, *, restricted: bool) -> Fields:
    """The certificate of a release that may go to a repository: of a table, verified as far as the
    folder shows, no rehearsal, and decided for such a circle where it was decided.
    """
    from sfumato.release.verify import verify

    certificate = read_certificate(share)
    if certificate["shape"] != "table":
        raise ReleaseRefused(
            "only releases of one table can be deposited yet; upload others by hand"
        )
    if certificate["rehearsal"]:
        raise ReleaseRefused(
            "it was made with a short seed, as a rehearsal; run the recipe without"
        )
    failing = [claim.name for claim in verify(share).claims if claim.status == "fails"]
    if failing:
        raise ReleaseRefused(f"the certificate is false: {join_words(failing)}; see sfumato verify")
    tier = certificate.get("decision", {}).get("tier")
    allowed = (None, "publication", "contract") if restricted else (None, "publication")
    if tier not in allowed:
        advice = "; give --restricted for access on request" if tier == "contract" else ""
        raise ReleaseRefused(f"the decision allows no such deposit (it says: {tier}){advice}")
    return certificate


# The three documents.


def datacite(certificate: Fields, details: DepositDetails) -> dict[str, Any]:
    """Metadata after DataCite 4.5, without the identifier that the repository gives."""
    data = certificate["data"]
    document: dict[str, Any] = {
        "creators": [{"name": name} for name in details.creators],
        "titles": [{"title": details.title}],
        "publisher": {"name": details.publisher or ":unkn"},
        "publicationYear": str(certificate["created"])[:4],
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": "Anonymized microdata"},
        "dates": [{"date": certificate["created"], "dateType": "Created"}],
        "formats": [data["format"]],
        "sizes": [count_of(data["rows"], "record"), count_of(len(data["columns"]), "variable")],
        "descriptions": [
            {"description": described(certificate, details), "descriptionType": "Abstract"},
            {"description": protection(certificate), "descriptionType": "Methods"},
        ],
        "schemaVersion": "http://datacite.org/schema/kernel-4",
    }
    if details.license:
        document["rightsList"] = [{"rights": details.license}]
    return document


def described(certificate: Fields, details: DepositDetails) -> str:
    """The description, or what the certificate alone gives."""
    data = certificate["data"]
    counts = f"{count_of(data['rows'], 'record')}, {count_of(len(data['columns']), 'variable')}"
    return details.description or f"{details.title}: {counts}, anonymized with sfumato."


def protection(certificate: Fields) -> str:
    """What was promised and done, in a sentence each."""
    promises = []
    for verdict in certificate["verdicts"]:
        required = verdict["required"]
        amount = "" if required is None else f" ({required:g})"
        promises.append(f"{verdict['model'].replace('_', ' ')}{amount}")
    steps = [plan["step"].replace("_", " ") for plan in certificate["plan"]]
    sentences = []
    if promises:
        sentences.append(f"The file keeps {join_words(promises)}.")
    if steps:
        sentences.append(f"Steps: {join_words(steps)}.")
    if certificate["suppressed_records"]:
        gone = count_of(certificate["suppressed_records"], "record")
        sentences.append(f"{gone} were suppressed.")
    digest = certificate["digest"]
    sentences.append(f"share/{FILE} (SHA-256 {digest}) says how to check this: sfumato verify.")
    return " ".join(sentences)


def _plain(text: str) -> str:
    """Text that XML can hold."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def changes_of(column: str, certificate: Fields) -> str:
    """How a column was changed, as far as the certificate says."""
    words = []
    for plan in certificate["plan"]:
        step = plan["step"].replace("_", " ")
        levels = plan.get("levels")
        entry = levels.get(column) if isinstance(levels, dict) else None
        if isinstance(entry, dict) and isinstance(entry.get("level"), int):
            level, top = entry["level"], entry.get("top")
            words.append(f"{step}: level {level} of {top}" if level else f"{step}: unchanged")
        elif column in (plan.get("masked") or ()):
            words.append(f"changed by {step}")
        if column in (plan.get("suppressed_cells") or ()):
            words.append("some cells were suppressed")
    labels = certificate.get("labels", {}).get(column)
    if labels:
        words.append(count_of(labels["labels"], "label"))
    return "; ".join(words)


def ddi_codebook(certificate: Fields, details: DepositDetails) -> str:
    """A DDI-Codebook 2.5 with a variable per released column, and how it was generalised."""
    data = certificate["data"]
    root = ET.Element("codeBook", {"xmlns": DDI_SPACE, "version": "2.5"})
    study = ET.SubElement(root, "stdyDscr")
    citation = ET.SubElement(study, "citation")
    ET.SubElement(ET.SubElement(citation, "titlStmt"), "titl").text = details.title
    creators = ET.SubElement(citation, "rspStmt")
    for name in details.creators:
        ET.SubElement(creators, "AuthEnty").text = name
    ET.SubElement(ET.SubElement(study, "stdyInfo"), "abstract").text = described(
        certificate, details
    )
    method = ET.SubElement(study, "method")
    ET.SubElement(method, "notes", {"subject": "anonymization"}).text = protection(certificate)
    file = ET.SubElement(ET.SubElement(root, "fileDscr", {"ID": "F1"}), "fileTxt")
    ET.SubElement(file, "fileName").text = f"share/{data['file']}"
    size = ET.SubElement(file, "dimensns")
    ET.SubElement(size, "caseQnty").text = str(data["rows"])
    ET.SubElement(size, "varQnty").text = str(len(data["columns"]))
    ET.SubElement(file, "fileType").text = data["format"]
    variables = ET.SubElement(root, "dataDscr")
    types = (data.get("form") or {}).get("types") or {}
    for number, column in enumerate(data["columns"], start=1):
        entry = ET.SubElement(
            variables, "var", {"ID": f"V{number}", "name": _plain(column), "files": "F1"}
        )
        ET.SubElement(entry, "labl").text = _plain(column)
        if changes := changes_of(column, certificate):
            ET.SubElement(entry, "notes", {"subject": "anonymization"}).text = changes
        numeric = types.get(column) in ("integer", "decimal")
        kind = "numeric" if numeric else "character"
        ET.SubElement(entry, "varFormat", {"type": kind, "schema": "other"})
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def ro_crate(certificate: Fields, details: DepositDetails) -> dict[str, Any]:
    """The metadata of an RO-Crate 1.1 that holds the release with its certificate."""
    files = {**certificate["files"], FILE: {}}
    names = sorted(files)
    parts = [{"@id": f"share/{name}"} for name in names]
    root: dict[str, Any] = {
        "@id": "./",
        "@type": "Dataset",
        "name": details.title,
        "description": f"{described(certificate, details)} {protection(certificate)}",
        "datePublished": certificate["created"],
        "author": [{"@id": f"#creator-{i}"} for i in range(1, len(details.creators) + 1)],
        "hasPart": [*parts, {"@id": DDI}, {"@id": DATACITE}],
    }
    if details.license:
        root["license"] = details.license
    about: list[dict[str, Any]] = [
        {
            "@id": CRATE,
            "@type": "CreativeWork",
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
            "about": {"@id": "./"},
        },
        root,
    ]
    for number, name in enumerate(details.creators, start=1):
        about.append({"@id": f"#creator-{number}", "@type": "Person", "name": name})
    for name in names:
        entry = {"@id": f"share/{name}", "@type": "File", "name": name}
        if "bytes" in files[name]:
            entry |= {"contentSize": str(files[name]["bytes"]), "sha256": files[name]["sha256"]}
        if name == FILE:
            entry["description"] = "The certificate of the anonymization: sfumato verify share"
        about.append(entry)
    for name, words in ((DDI, "DDI-Codebook 2.5"), (DATACITE, "DataCite 4.5")):
        about.append({"@id": name, "@type": "File", "name": words})
    return {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": about}


# The folder with the archive.


def write_deposit(
    share: Path, target: Path, details: DepositDetails, *, restricted: bool = False
) -> Fields:
    """Write metadata and archive into a new folder, and return the certificate."""
    certificate = require_depositable(share, restricted=restricted)
    documents = {
        DATACITE: _json(datacite(certificate, details)),
        DDI: ddi_codebook(certificate, details).encode(),
        CRATE: _json(ro_crate(certificate, details)),
    }
    members = dict(documents)
    for name in sorted({*certificate["files"], FILE}):
        members[f"share/{name}"] = (share / name).read_bytes()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as writer:
        for name, content in members.items():
            writer.writestr(zipfile.ZipInfo(name, EARLIEST), content, zipfile.ZIP_DEFLATED)
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, content in {**documents, ARCHIVE: archive.getvalue()}.items():
            replace_file(target / name, content)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from None
    return certificate


def _json(document: Fields | Sequence[Any]) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
