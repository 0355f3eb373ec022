"""Writing a release: two folders that cannot be confused, or nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core import environment
from sfumato.core.dataset import NOBODY
from sfumato.core.exchange import in_place
from sfumato.core.indented_json import indented_json
from sfumato.core.portable import PRIVATE_FOLDER, keep_private, sync_folder
from sfumato.core.threads import meanwhile
from sfumato.data.table.form import Form, runnable_cells
from sfumato.data.table.write import suffix_of, write_table
from sfumato.errors import ParameterError, printable_json
from sfumato.release import VERBS
from sfumato.release.certificates import FILE, public_half, signed
from sfumato.release.documents import (
    CERTIFICATE_VERSION,
    Told,
    certificate,
    digest_of,
    lock,
    owner_record,
)
from sfumato.release.manifest import DATA, DESCRIPTIONS, PICTURES, REPORT, manifest_of, sha256_of, sha256_of_parts
from sfumato.release.read_back import Target, as_written, require_kept, stored
from sfumato.release.report.pages import owner_page, owner_pictures, public_page, public_pictures
from sfumato.release.report.pictures import png
from sfumato.release.report.rendering import as_shown
from sfumato.release.table_release import TableRelease

if TYPE_CHECKING:
    from sfumato.release.release import Release


# The documents of a written release, made so that the certificate covers all that is shared.
#
# The public report and its pictures are drawn first, from what the certificate will say; then every file of the folder is listed
# in it, and only then it gets its digest and signature. So nothing in ``share/`` can be exchanged without a word.

PEOPLE = "people.parquet"
"""In the owner's folder: whom drawn rows were learnt from, and who was set aside before."""
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
    for place in (share / DATA, share, owner, folder):
        if place.is_dir():
            sync_folder(place)
    keep_private(owner)
    return public


def _write_public(share: Path, said: Mapping[str, Any], *, pictures: bool) -> None:
    replace(share / REPORT, drawn_page(said).encode())
    if pictures:
        write_pictures(share / PICTURES, drawn_pictures(said))


def drawn_page(certificate: Mapping[str, Any]) -> str:
    """The page for people that goes with a certificate, sealed or not."""
    return public_page(_unsealed(certificate))


def drawn_pictures(certificate: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pictures of that page, by name."""
    return public_pictures(as_shown(_unsealed(certificate)))


def _unsealed(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """What a page tells of a certificate: all but what covers the page itself."""
    said = {key: value for key, value in certificate.items() if key not in SEALS}
    signature = certificate.get("signature")
    told = {} if signature is None else {"signature": {key: signature[key] for key in ("algorithm", "public_key")}}
    return said | told


def _write_owner(owner: Path, record: Mapping[str, Any], pictures: bool) -> None:
    write_json(owner / "release.json", record)
    replace(owner / REPORT, owner_page(record).encode())
    if pictures:
        write_pictures(owner / PICTURES, owner_pictures(as_shown(record)))


def write_pictures(folder: Path, drawn: Mapping[str, Any]) -> None:
    """The pictures of a report as PNG files, with what they show in words beside them; earlier ones go."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.png"):
        if old.stem not in drawn:
            old.unlink()
    for name, picture in drawn.items():
        replace(folder / f"{name}.png", png(picture.svg))
    replace(folder / DESCRIPTIONS, described_pictures(drawn).encode())


def described_pictures(drawn: Mapping[str, Any]) -> str:
    """What pictures show, in words."""
    words = [f"{name}.png\n{picture.description}\n{picture.caption}".rstrip() for name, picture in drawn.items()]
    return "\n\n".join(words) + "\n"


def write_json(file: Path, document: Mapping[str, Any]) -> None:
    """Write a document as people can read it."""
    replace(file, (printable_json(indented_json(document)) + "\n").encode())


def replace(file: Path, content: bytes) -> None:
    """Write a file anew: one that another folder shares by a link is left alone."""
    file.unlink(missing_ok=True)
    file.write_bytes(content)


def _sync(file: Path) -> None:
    with file.open("rb") as handle:
        os.fsync(handle.fileno())


def linked(source: str, target: str) -> None:
    """The same file under a second name, or a copy where there can be no such."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@dataclasses.dataclass(frozen=True, eq=False)
class WrittenFiles:
    """What was written of a release: the release as the files hold it, what its certificate says, and what its owner may see besides."""

    release: Any
    certificate: dict[str, Any]
    record: dict[str, Any]


def publish(
    release: Release,
    folder: Path,
    *,
    format: str | None,  # noqa: A002
    force: bool,
    sign: Path | None,
    pictures: bool = False,
    defuse: bool = False,
    more: Callable[[Path], None] | None = None,
    into: Target | None = None,
) -> Path:
    """Write ``folder/share`` and ``folder/owner``; an interrupted or failed write leaves the folder as it was.

    ``more`` writes what else the owner keeps, into the folder it is given. ``into`` is a table of a database that is written too: it
    stands just before the folder does, so that nobody reads of a table that is not there.
    """
    require_kept(release)
    beside: AbstractContextManager[dict[str, Any]] = contextlib.nullcontext({})
    if into is not None:
        if not isinstance(release, TableRelease):
            raise ParameterError(f"a release of shape {release.shape} is not written into a database; leave into out")
        beside = stored(release, into)
    with in_place(folder, force=force) as draft, beside as table:
        share, owner = draft / "share", draft / "owner"
        share.mkdir()
        owner.mkdir(mode=PRIVATE_FOLDER)
        write_files: Callable[..., WrittenFiles] = VERBS[release.writer]
        files = write_files(release, share, owner, format=format, defuse=defuse, table=table)
        if more is not None:
            more(owner)
        seal(draft, files.certificate, files.record, sign=sign, pictures=pictures)
        keep_pseudonyms(release)
    return folder


def drafted(release: TableRelease, *, format: str | None = None, within: Path | None = None) -> tuple[str, str]:  # noqa: A002
    """The two reports of a release as they would be written (to share, to keep), without writing one.

    The table is written into a private folder, read back and judged, and goes with the folder, which is made ``within`` another one.
    A release that may not be published has pages too: they say so.
    """
    with tempfile.TemporaryDirectory(prefix="sfumato-", dir=within) as name:
        folder = Path(name)
        share, owner = folder / "share", folder / "owner"
        share.mkdir()
        owner.mkdir(mode=PRIVATE_FOLDER)
        input_digest = release.original.input_digest()
        release, told, data_file = _write_and_summarize(release, share, format, defuse=False)
        salt = environment.fresh_salt()
        body = certificate(release, told=told, data_file=data_file, salt=salt, input_digest=input_digest)
        seal(folder, body, owner_record(release, told=told, input_digest=input_digest), sign=None, pictures=False)
        public, private = ((place / "report.html").read_text(encoding="utf-8") for place in (share, owner))
    return public, private


def publish_table(release: TableRelease, into: str, table: str, *, force: bool) -> None:
    """Write the released table alone into a database; it stands when it holds and what steps must remember is stored."""
    require_kept(release)
    with stored(release, Target(into, table, force)):
        keep_pseudonyms(release)


def publish_data(release: TableRelease, file: str | Path, *, format: str | None, defuse: bool) -> None:  # noqa: A002
    """Write the released table alone into a file (``-``: to stdout); it stands when it holds, as in a database."""

    def inspect(draft: Path, form: Form) -> None:
        as_written(release, draft, form)
        keep_pseudonyms(release)

    require_kept(release)
    source = release.original.source
    write_table(release.released.to_polars(), file, source, format=format, defuse=defuse, inspect=inspect)


def keep_pseudonyms(release: Release) -> None:
    """Store what steps must remember, before the release stands: one whose vault cannot be written is not released."""
    for _, plan in release.plans:
        if (store := plan.after_writing) is not None:
            store()


def write_table_files(
    release: TableRelease,
    share: Path,
    owner: Path,
    *,
    format: str | None,  # noqa: A002
    defuse: bool,
    table: Mapping[str, Any],
) -> WrittenFiles:
    """Write the released table, the lock and the alignment; ``table`` is what a certificate says of a table of a database."""
    salt, input_digest = environment.fresh_salt(), release.original.input_digest()
    release, summary, data_file = _write_and_summarize(release, share, format, defuse=defuse)
    if table:
        data_file["table"] = dict(table)
    body = certificate(release, told=summary, data_file=data_file, salt=salt, input_digest=input_digest)
    write_json(owner / "lock.json", lock(release, salt=salt, input_digest=input_digest, certificate=body))
    _write_alignment(release, owner / "alignment.parquet")
    _write_people(release, owner / PEOPLE)
    return WrittenFiles(release, body, owner_record(release, told=summary, input_digest=input_digest))


ONE_AFTER_THE_OTHER = 1 << 22
"""A table of more rows is measured after it was written: its text and what measures need would not be small beside each other."""


def _write_and_summarize(
    release: TableRelease,
    share: Path,
    format: str | None,  # noqa: A002
    *,
    defuse: bool,
) -> tuple[TableRelease, Told, dict[str, Any]]:
    """Write the table while what is told of it is measured; measured again where the file holds something else."""
    if len(release.released) > ONE_AFTER_THE_OTHER:
        written, data_file = _write_data(release, share, format, defuse=defuse)
        return written, Told.of(written), data_file
    telling = meanwhile(lambda: Told.of(release))
    try:
        written, data_file = _write_data(release, share, format, defuse=defuse)
    except Exception:
        wait([telling])  # else it would hold the release, and what lies on the disk for it, a while longer
        raise
    return written, telling.result() if written is release else Told.of(written), data_file


def _write_data(
    release: TableRelease,
    share: Path,
    format: str | None,  # noqa: A002
    *,
    defuse: bool,
) -> tuple[TableRelease, dict[str, Any]]:
    """Write the released table and read it back: the release as the file holds it, and what a certificate says of the file."""
    if release.parts:
        return release, _put_parts(release.parts, share, format, defuse=defuse)
    source, frame = release.original.source, release.released.to_polars()
    chosen = format or ("csv" if source.format == "frame" else source.format)
    file = share / f"data{suffix_of(chosen)}"
    form = write_table(frame, file, source, format=chosen, defuse=defuse)
    formulas = {"formulas": runnable_cells(frame)} if chosen == "csv" else {}
    del frame  # not beside what is read back: of a large table there is no room for both
    return as_written(release, file, form), {
        "file": file.name,
        "sha256": sha256_of(file),
        "format": chosen,
        "form": form.to_dict(),
        **formulas,
    }


def _put_parts(parts: Sequence[Path], share: Path, format: str | None, *, defuse: bool) -> dict[str, Any]:  # noqa: A002
    """Put the parts of a released table, which were judged as they are, into its folder."""
    if format not in (None, "parquet") or defuse:
        raise ParameterError("a table that was released in parts is written as Parquet; leave out format and defuse")
    folder = share / DATA
    folder.mkdir()
    for part in parts:
        linked(str(part), str(folder / part.name))
    return {"file": DATA, "sha256": sha256_of_parts(folder), "format": "parquet", "form": {}, "parts": len(parts)}


def _write_alignment(release: TableRelease, file: Path) -> None:
    """Row of the original for every released row, in released order; a table that an engine holds has no row numbers.

    Shuffled numbers hardly compress: thorough compression takes ten times as long, and saves a seventh.
    """
    if release.parts:
        return
    origin = release.released.origin
    rows = np.arange(len(release.released)) if origin is None else origin
    ends = (max(1, len(release.original)) - 1, *((NOBODY,) if release.released.drawn else ()))
    kind = np.result_type(*map(np.min_scalar_type, ends))
    pl.DataFrame({"original_row": rows.astype(kind)}).write_parquet(file, compression="lz4")


def _write_people(release: TableRelease, file: Path) -> None:
    """The rows of the original that drawn rows were learnt from, and which of those given were set aside before; for attacks."""
    if release.learnt_from is None:
        return
    aside = np.zeros(0, dtype=np.int64) if release.held_out is None else release.held_out
    rows = np.concatenate([release.learnt_from, aside])
    held_out = np.arange(len(rows)) >= len(release.learnt_from)
    pl.DataFrame({"original_row": rows, "held_out": held_out}).write_parquet(file, compression="lz4")
