"""The documents of a written release, made so that its certificate covers all that is shared.

The public report and its pictures are drawn first, from what the certificate will say; then every
file of the folder is listed in it, and only then it gets its digest and signature. So nothing in
``share/`` can be exchanged without a word.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from sfumato.core.blocks import Block, ChartBlock
from sfumato.core.chart_drawing import chart_png
from sfumato.core.fields import Document, Fields
from sfumato.core.portable import keep_private, sync_folder
from sfumato.release.certificate_words import with_words, without_words, words_in
from sfumato.release.manifest import DESCRIPTIONS, FILE, PICTURES, REPORT, VERSION, manifest_of
from sfumato.release.report.page_html import ReportPage, render_page
from sfumato.release.report.pages import charts_of, describe_owner_page, describe_shared_page
from sfumato.release.signatures import digest_of, public_half, signed
from sfumato.release.written_files import read_json, replace_file, write_json

DECISION_FILE = "decision.json"
"""In the owner's folder: what `release.decision.record` keeps of a decision."""
SEALS = ("files", "digest", "signature")
"""What a certificate says about itself."""


def seal(
    folder: Path,
    body: Fields,
    record: Fields,
    *,
    sign: Path | None,
    pictures: bool,
    checks: bool = True,
) -> None:
    """Write reports, certificate and the owner's record into a folder that nobody sees yet.

    ``body`` is what the certificate says and the words for it, ``record`` what the owner may see
    besides. Without ``checks`` the shared page lacks the panel that checks the release: it is a
    draft, of which there are no files.
    """
    share, owner = folder / "share", folder / "owner"
    # words are left out: only fields are certified and compared
    fields = without_words(_unsealed(body))
    # the page names the key, which must be known before the certificate is signed
    page = describe_certificate(
        fields if sign is None else {**fields, "signature": public_half(sign)}
    )
    page = dataclasses.replace(page, checks=page.checks and checks)
    replace_file(share / REPORT, render_page(page).encode())
    if pictures:
        write_pictures(share / PICTURES, charts_of(page.blocks))
    # after page and pictures, because it lists them
    certificate = seal_certificate(share, fields, sign)
    record = {**record, "certificate": certificate, "words": words_in(body)}
    write_json(owner / "release.json", record)
    decision: Sequence[Block] = ()
    if (owner / DECISION_FILE).is_file():
        from sfumato.release.decision.page_blocks import owner_decision_blocks

        decision = owner_decision_blocks(read_json(owner / DECISION_FILE))
    page = describe_owner_page(as_owner_sees(record), decision)
    replace_file(owner / REPORT, render_page(page).encode())
    if pictures:
        write_pictures(owner / PICTURES, charts_of(page.blocks))
    # All of it lasts through a power cut before the folder is put in its place.
    for path in [*share.rglob("*"), *owner.rglob("*"), share, owner, folder]:
        if path.is_dir():
            sync_folder(path)
        else:
            with path.open("rb") as handle:
                os.fsync(handle.fileno())
    # last, as before that files are still written there
    keep_private(owner)


def seal_certificate(share: Path, fields: Fields, sign: Path | None) -> Document:
    """Write the certificate of a shared folder: with every file that lies there, its digest, and a
    signature if asked for.
    """
    listed = {**_unsealed(fields), "sfumato_certificate": VERSION, "files": manifest_of(share)}
    certificate = {**listed, "digest": digest_of(listed)}
    # over everything, the digest included
    if sign is not None:
        certificate = signed(certificate, sign)
    write_json(share / FILE, certificate)
    return certificate


def as_owner_sees(record: Fields) -> Document:
    """The owner's record, with the words that were kept of its certificate."""
    return {
        **record,
        "certificate": {**with_words(record["certificate"]), **record.get("words", {})},
    }


def describe_certificate(certificate: Fields) -> ReportPage:
    """The page for people that goes with a certificate, sealed or not: it tells all but what covers
    the page itself.
    """
    document = with_words(_unsealed(certificate))
    # the value of the signature covers the page, so the page cannot tell it
    if "signature" in certificate:
        signature = certificate["signature"]
        document["signature"] = {key: signature[key] for key in ("algorithm", "public_key")}
    decision: Sequence[Block] = ()
    if "decision" in document:
        from sfumato.release.decision.page_blocks import shared_decision_blocks

        decision = shared_decision_blocks(document["decision"])
    return describe_shared_page(document, decision)


def describe_pictures(charts: Mapping[str, ChartBlock]) -> str:
    """What pictures show, in words."""
    words = [
        f"{name}.png\n{chart.alternative_text}\n{chart.caption}".rstrip()
        for name, chart in charts.items()
    ]
    return "\n\n".join(words) + "\n"


def _unsealed(document: Fields) -> Document:
    return {key: value for key, value in document.items() if key not in SEALS}


def write_pictures(folder: Path, charts: Mapping[str, ChartBlock]) -> None:
    """The pictures of a report as PNG files, with what they show in words beside them; earlier ones
    go.
    """
    folder.mkdir(exist_ok=True)
    # pictures of an earlier report would be listed without being drawn from this one
    for old in folder.glob("*.png"):
        if old.stem not in charts:
            old.unlink()
    for name, chart in charts.items():
        replace_file(folder / f"{name}.png", chart_png(chart))
    replace_file(folder / DESCRIPTIONS, describe_pictures(charts).encode())
