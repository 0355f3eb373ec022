"""Writing a release: two folders that cannot be confused, or nothing."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.io.formulas import runnable_cells
from sfumato.io.write import suffix_of, write_table
from sfumato.release.documents import Told, certificate, digest_of_input, lock, owner_record
from sfumato.release.exchange import in_place
from sfumato.release.manifest import sha256_of
from sfumato.release.sealing import seal, write_json
from sfumato.release.written import as_written, require_kept

if TYPE_CHECKING:
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
    defuse: bool = False,
    more: Callable[[Path], None] | None = None,
) -> Path:
    """Write ``folder/share`` and ``folder/owner``; an interrupted or failed write leaves the folder as it was.

    ``more`` writes what else the owner keeps, into the folder it is given.
    """
    require_kept(release)
    with in_place(folder, force=force) as made:
        _write(release, made, format, sign, pictures, defuse, more)
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
    defuse: bool,
    more: Callable[[Path], None] | None,
) -> None:
    share, owner = folder / "share", folder / "owner"
    share.mkdir()
    owner.mkdir(mode=0o700)
    salt, input_digest = secrets.token_hex(SALT_BYTES), digest_of_input(release.original)
    release, data_file = _write_data(release, share, format, defuse=defuse)
    told = Told.of(release)
    body = certificate(release, told=told, data_file=data_file, salt=salt, input_digest=input_digest)
    write_json(owner / "lock.json", lock(release, salt=salt, input_digest=input_digest, certificate=body))
    _write_alignment(release, owner / "alignment.parquet")
    if more is not None:
        more(owner)
    seal(folder, body, owner_record(release, told=told, input_digest=input_digest), sign=sign, pictures=pictures)


def _write_data(
    release: Release,
    share: Path,
    format: str | None,  # noqa: A002
    *,
    defuse: bool,
) -> tuple[Release, dict[str, Any]]:
    """Write the released table and read it back: the release as the file holds it, and what a certificate says of the file."""
    source, frame = release.original.source, release.dataset.to_polars()
    chosen = format or ("csv" if source.format == "frame" else source.format)
    file = share / f"data{suffix_of(chosen)}"
    form = write_table(frame, file, source, format=chosen, defuse=defuse)
    return as_written(release, file, form), {
        "file": file.name,
        "sha256": sha256_of(file),
        "format": chosen,
        "form": form.to_dict(),
        **({"formulas": runnable_cells(frame)} if chosen == "csv" else {}),
    }


def _write_alignment(release: Release, file: Path) -> None:
    """Row of the original for every released row, in released order."""
    import numpy as np
    import polars as pl

    origin = release.dataset.origin
    rows = np.arange(len(release.dataset)) if origin is None else origin
    pl.DataFrame({"original_row": rows}).write_parquet(file)
