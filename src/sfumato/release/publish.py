"""Writing a release: two folders that cannot be confused, or nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from sfumato.core import environment
from sfumato.core.exchange import in_place
from sfumato.core.fields import Document, Fields
from sfumato.core.portable import PRIVATE_FOLDER
from sfumato.core.table import NOBODY
from sfumato.core.threads import meanwhile
from sfumato.data.table.form import Form
from sfumato.data.table.write import write_table
from sfumato.errors import ParameterError
from sfumato.release import VERBS
from sfumato.release.documents import ReleaseSummary, certificate, lock, owner_record
from sfumato.release.manifest import DATA, REPORT, sha256_of_parts
from sfumato.release.read_back import Target, as_written, require_kept, stored, target_in
from sfumato.release.sealing import seal
from sfumato.release.table_release import TableRelease
from sfumato.release.written_files import (
    ALIGNMENT,
    ORIGINAL_ROW,
    WrittenFiles,
    write_json,
    write_section,
)

if TYPE_CHECKING:
    from sfumato.release.release import Release, WriteOptions


PEOPLE = "people.parquet"
"""In the owner's folder: whom drawn rows were learnt from, and who was set aside before."""


def linked(source: str, target: str) -> None:
    """The same file under a second name, or a copy where there can be no such."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def publish(
    release: Release,
    folder: Path,
    *,
    format: str | None,  # noqa: A002
    force: bool,
    sign: Path | None,
    options: WriteOptions,
) -> WrittenFiles:
    """Write ``folder/share`` and ``folder/owner``; an interrupted or failed write leaves the folder
    as it was.

    A table of a database that is written too stands just before the folder does, so that nobody
    reads of a table that is not there.
    """
    target = target_in(options.into, options.into_table, force=force)
    require_kept(release)
    beside: AbstractContextManager[Document] = contextlib.nullcontext({})
    if target is not None:
        release.original.require_options({"into": target})
        beside = stored(cast("TableRelease", release), target)
    with in_place(folder, force=force) as draft, beside as table:
        share, owner = draft / "share", draft / "owner"
        share.mkdir()
        owner.mkdir(mode=PRIVATE_FOLDER)
        write_files: Callable[..., WrittenFiles] = VERBS[release.writer]
        files = write_files(
            release, share, owner, format=format, defuse=options.defuse, table=table
        )
        if options.more is not None:
            options.more(owner)
        if options.with_verifier:
            from sfumato.release.verifier_file import write_verifier

            write_verifier(share)
        seal(draft, files.certificate, files.record, sign=sign, pictures=options.pictures)
        keep_pseudonyms(release)
    return files


def drafted(
    release: TableRelease,
    *,
    format: str | None = None,  # noqa: A002
    within: Path | None = None,
) -> tuple[str, str]:
    """The two reports of a release as they would be written (to share, to keep), without writing
    one.

    The table is written into a private folder, read back and judged, and goes with the folder,
    which is made ``within`` another one. A release that may not be published has pages too: they
    say so.
    """
    with tempfile.TemporaryDirectory(prefix="sfumato-", dir=within) as name:
        folder = Path(name)
        share, owner = folder / "share", folder / "owner"
        share.mkdir()
        owner.mkdir(mode=PRIVATE_FOLDER)
        input_digest = release.original.input_digest()
        release, summary, data_file = _write_and_summarize(release, share, format, defuse=False)
        salt = environment.fresh_salt()
        body = certificate(
            release, summary=summary, data_file=data_file, salt=salt, input_digest=input_digest
        )
        seal(
            folder,
            body,
            owner_record(release, summary=summary, input_digest=input_digest),
            sign=None,
            pictures=False,
            checks=False,
        )
        public, private = (
            (folder_of_page / REPORT).read_text(encoding="utf-8")
            for folder_of_page in (share, owner)
        )
    return public, private


def publish_table(release: TableRelease, into: str, table: str, *, force: bool) -> None:
    """Write the released table alone into a database; it stands when it holds and what steps must
    remember is stored.
    """
    require_kept(release)
    with stored(release, Target(into, table, force)):
        keep_pseudonyms(release)


def publish_data(
    release: TableRelease,
    file: str | Path,
    *,
    format: str | None,  # noqa: A002
    defuse: bool,
) -> None:
    """Write the released table alone into a file (``-``: to stdout); it stands when it holds, as in
    a database.
    """

    def inspect(draft: Path, form: Form) -> None:
        as_written(release, draft, form)
        keep_pseudonyms(release)

    require_kept(release)
    source = release.original.source
    write_table(
        release.released.to_polars(), file, source, format=format, defuse=defuse, inspect=inspect
    )


def keep_pseudonyms(release: Release) -> None:
    """Store what steps must remember, before the release stands: one whose vault cannot be written
    is not released.
    """
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
    table: Fields,
) -> WrittenFiles:
    """Write the released table, the lock and the alignment; ``table`` is what a certificate says of
    a table of a database.
    """
    salt, input_digest = environment.fresh_salt(), release.original.input_digest()
    release, summary, data_file = _write_and_summarize(release, share, format, defuse=defuse)
    if table:
        data_file["table"] = dict(table)
    body = certificate(
        release, summary=summary, data_file=data_file, salt=salt, input_digest=input_digest
    )
    write_json(
        owner / "lock.json", lock(release, salt=salt, input_digest=input_digest, certificate=body)
    )
    if not release.parts:
        # Row of the original for every released row, in released order; a table that an engine
        # holds has no row numbers. Shuffled numbers hardly compress: thorough compression takes ten
        # times as long, and saves a seventh.
        origin = release.released.origin
        rows = np.arange(len(release.released)) if origin is None else origin
        ends = (max(1, len(release.original)) - 1, *((NOBODY,) if release.released.drawn else ()))
        kind = np.result_type(*map(np.min_scalar_type, ends))
        alignment = pl.DataFrame({ORIGINAL_ROW: rows.astype(kind)})
        alignment.write_parquet(owner / ALIGNMENT, compression="lz4")
    if release.learnt_from is not None:
        # For attacks: the rows that synthetic rows were learnt from, and those set aside before.
        aside = np.zeros(0, dtype=np.int64) if release.held_out is None else release.held_out
        rows = np.concatenate([release.learnt_from, aside])
        held_out = np.arange(len(rows)) >= len(release.learnt_from)
        people = pl.DataFrame({ORIGINAL_ROW: rows, "held_out": held_out})
        people.write_parquet(owner / PEOPLE, compression="lz4")
    return WrittenFiles(
        release, body, owner_record(release, summary=summary, input_digest=input_digest)
    )


ONE_AFTER_THE_OTHER = 1 << 19
"""A table of more rows is measured after it was written: its text and what measures need would not
be small beside each other.
"""


def _write_and_summarize(
    release: TableRelease,
    share: Path,
    format: str | None,  # noqa: A002
    *,
    defuse: bool,
) -> tuple[TableRelease, ReleaseSummary, Document]:
    """Write the table while it is summarized; summarize again where the file holds something
    else.
    """
    summaries = []
    if len(release.released) <= ONE_AFTER_THE_OTHER:
        summaries.append(meanwhile(lambda: ReleaseSummary.of(release)))
    try:
        if release.parts:
            release_written = release
            data_file = _put_parts(release.parts, share, format, defuse=defuse)
        else:
            source, frame = release.original.source, release.released.to_polars()
            file_format = format or ("csv" if source.format == "frame" else source.format)
            table = write_section(DATA, frame, share, source, file_format, defuse=defuse)
            del frame  # not beside what is read back: of a large table there is no room for both
            release_written = as_written(release, table.file, table.form)
            data_file = table.section
    except Exception:
        # Else it would hold the release, and what lies on the disk for it, a while longer.
        wait(summaries)
        raise
    if summaries and release_written is release:
        return release_written, summaries[0].result(), data_file
    return release_written, ReleaseSummary.of(release_written), data_file


def _put_parts(
    parts: Sequence[Path],
    share: Path,
    format: str | None,  # noqa: A002
    *,
    defuse: bool,
) -> Document:
    """Put the parts of a released table, which were judged as they are, into its folder."""
    if format not in (None, "parquet") or defuse:
        raise ParameterError(
            "a table that was released in parts is written as Parquet; leave out format and defuse"
        )
    folder = share / DATA
    folder.mkdir()
    for part in parts:
        linked(str(part), str(folder / part.name))
    return {
        "file": DATA,
        "sha256": sha256_of_parts(folder),
        "format": "parquet",
        "form": {},
        "parts": len(parts),
    }
