"""The documents of a written release, made so that the certificate covers all that is shared.

The public report and its pictures are drawn first, from what the certificate will say; then every file of the folder is listed
in it, and only then it gets its digest and signature. So nothing in ``share/`` can be exchanged without a word.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import printable_json
from sfumato.release.certificates import FILE
from sfumato.release.documents import CERTIFICATE_VERSION, digest_of
from sfumato.release.exchange import keep_private
from sfumato.release.manifest import manifest_of
from sfumato.release.signature import public_half, signed

SEALS = ("files", "digest", "signature")
"""What a certificate says about itself."""


def seal(
    folder: Path, body: Mapping[str, Any], record: Mapping[str, Any], *, sign: Path | None, pictures: bool
) -> dict[str, Any]:
    """Write reports, certificate and the owner's record into a folder that nobody sees yet; return the certificate.

    ``body`` is what the certificate says, ``record`` what its owner may see besides.
    """
    share, owner = folder / "share", folder / "owner"
    said = {key: value for key, value in body.items() if key not in SEALS} | {
        "sfumato_certificate": CERTIFICATE_VERSION
    }
    _write_public(share, said if sign is None else {**said, "signature": public_half(sign)}, pictures=pictures)
    said["files"] = manifest_of(share)
    public = {**said, "digest": digest_of(said)}
    if sign is not None:
        public = signed(public, sign)
    write_json(share / FILE, public)
    _write_owner(owner, {"certificate": public, **{k: v for k, v in record.items() if k != "certificate"}}, pictures)
    for file in [*share.rglob("*"), *owner.rglob("*")]:
        if file.is_file():
            _sync(file)
    keep_private(owner)
    return public


def _write_public(share: Path, said: Mapping[str, Any], *, pictures: bool) -> None:
    from sfumato.report.gallery import public_pictures
    from sfumato.report.pages import as_shown, public_page

    replace(share / "report.html", public_page(said).encode())
    if pictures:
        _write_pictures(share / "pictures", public_pictures(as_shown(said)))


def _write_owner(owner: Path, record: Mapping[str, Any], pictures: bool) -> None:
    from sfumato.report.gallery import named_cards, owner_pictures
    from sfumato.report.pages import as_shown, owner_page

    write_json(owner / "release.json", record)
    replace(owner / "report.html", owner_page(record).encode())
    if pictures:
        shown = as_shown(record)
        _write_pictures(owner / "pictures", {**owner_pictures(shown), **named_cards(shown)})


def _write_pictures(folder: Path, drawn: Mapping[str, Any]) -> None:
    """The pictures of a report as PNG files, with what they show in words beside them."""
    from sfumato.report.pictures import png

    folder.mkdir(exist_ok=True)
    for name, picture in drawn.items():
        replace(folder / f"{name}.png", png(picture.svg))
    words = [f"{name}.png\n{picture.description}\n{picture.caption}".rstrip() for name, picture in drawn.items()]
    replace(folder / "descriptions.txt", ("\n\n".join(words) + "\n").encode())


def write_json(file: Path, document: Mapping[str, Any]) -> None:
    """Write a document as people can read it."""
    replace(file, (printable_json(json.dumps(document, indent=2, ensure_ascii=False)) + "\n").encode())


def replace(file: Path, content: bytes) -> None:
    """Write a file anew: one that another folder shares by a link is left alone."""
    file.unlink(missing_ok=True)
    file.write_bytes(content)


def _sync(file: Path) -> None:
    with file.open("rb") as handle:
        os.fsync(handle.fileno())
