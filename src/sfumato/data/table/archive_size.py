"""How much a compressed file unpacks to: a workbook of 2 MB that holds 1.5 GB is refused before
anything reads it.

A workbook is a ZIP archive. The sizes that an archive states about itself may be false, so parts
that could be large are unpacked here and counted, piece by piece, without being kept.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path

from sfumato.errors import UnreadableInput

MEGABYTE = 1024**2
ALWAYS_READ = 256 * MEGABYTE
"""An archive that unpacks to less than this is read, however well it is compressed."""
MOST_RATIO = 100
"""How many times larger than the file its content may be. Sheets of real tables unpack to 5 to 50
times their size, bombs to a thousand.
"""
MOST_UNPACKED = 8192 * MEGABYTE
"""More than this is not read from any archive: a table of this size belongs into Parquet or CSV."""
DEFLATE_RATIO = 1032
"""The most that one byte of a compressed part can unpack to."""


def require_modest_archive(archive: bytes | str, name: str) -> None:
    """Raise where a ZIP archive, given by its bytes or its path, unpacks to more than is read.
    Anything else passes.
    """
    source = io.BytesIO(archive) if isinstance(archive, bytes) else archive
    if isinstance(archive, bytes):
        packed = len(archive)
    else:
        packed = Path(archive).stat().st_size
    allowed = min(MOST_UNPACKED, max(ALWAYS_READ, MOST_RATIO * packed))
    if packed * DEFLATE_RATIO <= allowed:
        return
    try:
        with zipfile.ZipFile(source) as parts:
            unpacked = _unpacked_size(parts, allowed)
    except (
        zipfile.BadZipFile,
        OSError,
        NotImplementedError,
        RuntimeError,
        EOFError,
        ValueError,
        zlib.error,
    ):
        return  # no archive, or a damaged or locked one: the reader of the format says so
    if unpacked > allowed:
        raise UnreadableInput(
            f"{name} unpacks to more than {allowed // MEGABYTE:,} MB, "
            f"{allowed // max(1, packed):,} times its size, and is refused; if it is a real table, "
            "save it as CSV or Parquet"
        )


def _unpacked_size(parts: zipfile.ZipFile, allowed: int) -> int:
    """The size of all parts together, counted until it is more than allowed."""
    total = sum(info.file_size for info in parts.infolist())
    if total > allowed:
        return total
    total = 0
    for info in parts.infolist():
        # What is stated is not trusted: the part is opened as if it were as large as it can be.
        info.file_size = max(info.file_size, info.compress_size * DEFLATE_RATIO)
        with parts.open(info) as part:
            while piece := part.read(MEGABYTE):
                total += len(piece)
                if total > allowed:
                    return total
    return total
