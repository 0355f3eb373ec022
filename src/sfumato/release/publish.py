"""Writing a release: two folders that cannot be confused, or nothing."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import OutputError, ReleaseRefused
from sfumato.io.write import suffix_of, write_table
from sfumato.release.documents import Told, certificate, lock, owner_record
from sfumato.release.signature import signed

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.release.release import Release

SALT_BYTES = 32


def publish(
    release: Release,
    folder: Path,
    *,
    format: str | None,  # noqa: A002
    force: bool,
    sign: Path | None,
    pictures: bool = False,
) -> Path:
    """Write ``folder/share`` and ``folder/owner``; an interrupted or failed write leaves the folder as it was."""
    if not release.holds or not (release.verdicts or release.limits):
        raise ReleaseRefused(
            "this release keeps no promise, or breaks one; it was made to be compared, not to be written"
        )
    refuse_existing(folder, force=force)
    with _in_place(folder, force=force) as made:
        _write(release, made, format, sign, pictures)
        keep_pseudonyms(release)
    return folder


def keep_pseudonyms(release: Release) -> None:
    """Store what steps must remember, before the release stands: one whose vault cannot be written is not released."""
    for _, plan in release.plans:
        if (store := getattr(plan, "after_writing", None)) is not None:
            store()


def refuse_existing(folder: Path, *, force: bool) -> None:
    """Refuse to overwrite, unless told to; and never to replace something that is not a release."""
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise OutputError(f"{folder} exists and is not a folder; choose another output")
    if any(folder.iterdir()):
        if not force:
            raise OutputError(f"{folder} already exists; choose another folder, or replace it with --force")
        if not (folder / "share" / "certificate.json").is_file():
            raise OutputError(f"{folder} is not empty and holds no earlier release; --force will not replace it")


@contextlib.contextmanager
def _in_place(folder: Path, *, force: bool) -> Iterator[Path]:
    """A temporary folder beside the target that takes its place only when all went well."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise OutputError(f"cannot write to {folder.parent}: {error.strerror}") from None
    try:
        yield made
        _swap(made, folder)
    except OSError as error:
        shutil.rmtree(made, ignore_errors=True)
        if isinstance(error, OutputError):
            raise
        full = " (free some space and run again)" if error.errno == errno.ENOSPC else ""
        raise OutputError(f"cannot write {folder}: {error.strerror or error}{full}; nothing was written") from None
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _swap(made: Path, folder: Path) -> None:
    """Put the new folder where the old one is, keeping the old one until the new one stands."""
    made.chmod(0o755)
    aside = None
    if folder.exists():
        aside = folder.with_name(f".{folder.name}-old-{secrets.token_hex(4)}")
        folder.rename(aside)
    try:
        made.rename(folder)
    except OSError:
        if aside is not None:
            aside.rename(folder)
        raise
    if aside is not None:
        shutil.rmtree(aside, ignore_errors=True)


def _write(release: Release, folder: Path, format: str | None, sign: Path | None, pictures: bool) -> None:  # noqa: A002
    share, owner = folder / "share", folder / "owner"
    share.mkdir()
    owner.mkdir(mode=0o700)
    salt, input_digest = secrets.token_hex(SALT_BYTES), digest_of_input(release.original)
    data_file = _write_data(release, share, format)
    told = Told.of(release)
    public = certificate(release, told=told, data_file=data_file, salt=salt, input_digest=input_digest)
    if sign is not None:
        public = signed(public, sign)
    record = owner_record(release, told=told, input_digest=input_digest, certificate=public)
    _write_json(share / "certificate.json", public)
    _write_json(owner / "lock.json", lock(release, salt=salt, input_digest=input_digest, certificate=public))
    _write_json(owner / "release.json", record)
    _write_alignment(release, owner / "alignment.parquet")
    _write_reports(share, owner, public, record)
    if pictures:
        write_pictures(share / "pictures", owner / "pictures", public, record)
    for file in [*share.rglob("*"), *owner.rglob("*")]:
        if file.is_file():
            _sync(file)


def _write_data(release: Release, share: Path, format: str | None) -> dict[str, Any]:  # noqa: A002
    source = release.original.source
    chosen = format or ("csv" if source.format == "frame" else source.format)
    file = share / f"data{suffix_of(chosen)}"
    write_table(release.dataset.to_polars(), file, source, format=chosen)
    form = {"delimiter": ",", "encoding": "utf-8", "decimal": "."}
    if source.format == "csv":
        form = {"delimiter": source.delimiter, "encoding": source.encoding, "decimal": source.decimal}
    return {
        "file": file.name,
        "sha256": sha256_of(file),
        "format": chosen,
        **({"form": {**form, "header": source.header}} if chosen == "csv" else {}),
    }


def _write_reports(share: Path, owner: Path, public: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    from sfumato.report.pages import owner_page, public_page

    (share / "report.html").write_text(public_page(public), encoding="utf-8")
    (owner / "report.html").write_text(owner_page(record), encoding="utf-8")


def write_pictures(share: Path, owner: Path, public: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """The pictures of each report as PNG files, with what they show in words beside them."""
    from sfumato.report.gallery import named_cards, owner_pictures, public_pictures
    from sfumato.report.pictures import png

    for folder, drawn in ((share, public_pictures(public)), (owner, {**owner_pictures(record), **named_cards(record)})):
        folder.mkdir(exist_ok=True)
        for name, picture in drawn.items():
            (folder / f"{name}.png").write_bytes(png(picture.svg))
        words = [f"{name}.png\n{picture.description}\n{picture.caption}".rstrip() for name, picture in drawn.items()]
        (folder / "descriptions.txt").write_text("\n\n".join(words) + "\n", encoding="utf-8")


def _write_alignment(release: Release, file: Path) -> None:
    """Row of the original for every released row, in released order."""
    import numpy as np
    import polars as pl

    origin = release.dataset.origin
    rows = np.arange(len(release.dataset)) if origin is None else origin
    pl.DataFrame({"original_row": rows}).write_parquet(file)


def _write_json(file: Path, document: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(document, indent=2, ensure_ascii=False, sort_keys=False) + "\n", encoding="utf-8")


def _sync(file: Path) -> None:
    with file.open("rb") as handle:
        os.fsync(handle.fileno())


def sha256_of(file: Path) -> str:
    """SHA-256 of a file's bytes."""
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def digest_of_input(dataset: Dataset) -> str:
    """SHA-256 of the file that was read, or of the frame written as CSV when there was no file."""
    if dataset.source.digest is not None:
        return dataset.source.digest
    return hashlib.sha256(dataset.to_polars().write_csv().encode()).hexdigest()
