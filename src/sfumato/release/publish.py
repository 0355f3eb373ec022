"""Writing a release: two folders that cannot be confused, or nothing."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import ReleaseRefused
from sfumato.io.write import suffix_of, write_table
from sfumato.release.documents import Told, certificate, lock, owner_record
from sfumato.release.exchange import in_place
from sfumato.release.manifest import sha256_of
from sfumato.release.sealing import seal, write_json

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
    more: Callable[[Path], None] | None = None,
) -> Path:
    """Write ``folder/share`` and ``folder/owner``; an interrupted or failed write leaves the folder as it was.

    ``more`` writes what else the owner keeps, into the folder it is given.
    """
    if not release.holds or not (release.verdicts or release.limits):
        raise ReleaseRefused(
            "this release keeps no promise, or breaks one; it was made to be compared, not to be written"
        )
    with in_place(folder, force=force) as made:
        _write(release, made, format, sign, pictures, more)
        keep_pseudonyms(release)
    return folder


def keep_pseudonyms(release: Release) -> None:
    """Store what steps must remember, before the release stands: one whose vault cannot be written is not released."""
    for _, plan in release.plans:
        if (store := getattr(plan, "after_writing", None)) is not None:
            store()


def _write(
    release: Release,
    folder: Path,
    format: str | None,  # noqa: A002
    sign: Path | None,
    pictures: bool,
    more: Callable[[Path], None] | None,
) -> None:
    share, owner = folder / "share", folder / "owner"
    share.mkdir()
    owner.mkdir(mode=0o700)
    salt, input_digest = secrets.token_hex(SALT_BYTES), digest_of_input(release.original)
    data_file = _write_data(release, share, format)
    told = Told.of(release)
    body = certificate(release, told=told, data_file=data_file, salt=salt, input_digest=input_digest)
    write_json(owner / "lock.json", lock(release, salt=salt, input_digest=input_digest, certificate=body))
    _write_alignment(release, owner / "alignment.parquet")
    if more is not None:
        more(owner)
    seal(folder, body, owner_record(release, told=told, input_digest=input_digest), sign=sign, pictures=pictures)


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


def _write_alignment(release: Release, file: Path) -> None:
    """Row of the original for every released row, in released order."""
    import numpy as np
    import polars as pl

    origin = release.dataset.origin
    rows = np.arange(len(release.dataset)) if origin is None else origin
    pl.DataFrame({"original_row": rows}).write_parquet(file)


def digest_of_input(dataset: Dataset) -> str:
    """SHA-256 of the file that was read, or of the frame written as CSV when there was no file."""
    if dataset.source.digest is not None:
        return dataset.source.digest
    return hashlib.sha256(dataset.to_polars().write_csv().encode()).hexdigest()
