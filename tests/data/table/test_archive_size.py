"""What a workbook unpacks to is bounded before it is read."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

import sfumato as sf
from sfumato.data.table import archive_size
from sfumato.errors import UnreadableInput

pytest.importorskip("fastexcel")


def workbook(megabytes: int) -> bytes:
    """A sheet that holds so many blanks, which compress to a thousandth."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/workbook.xml", "<workbook/>")
        book.writestr("xl/worksheets/sheet1.xml", " " * (megabytes * archive_size.MEGABYTE))
    return target.getvalue()


def test_a_workbook_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path):
    bomb = tmp_path / "bomb.xlsx"
    bomb.write_bytes(workbook(300))
    assert bomb.stat().st_size < archive_size.MEGABYTE
    with pytest.raises(UnreadableInput, match=r"bomb\.xlsx unpacks to more than 256 MB"):
        sf.read(bomb)


def test_sizes_that_an_archive_states_are_not_trusted(monkeypatch):
    monkeypatch.setattr(archive_size, "ALWAYS_READ", archive_size.MEGABYTE)
    archive = bytearray(workbook(8))
    honest = struct.pack("<I", 8 * archive_size.MEGABYTE)
    assert archive.count(honest) == 2  # beside the part, and in the list of all parts
    lying = bytes(archive.replace(honest, struct.pack("<I", 10)))
    with pytest.raises(UnreadableInput, match="unpacks to more than"):
        archive_size.require_modest_archive(lying, "lying.xlsx")


def test_honest_archives_and_other_files_pass():
    archive_size.require_modest_archive(workbook(1), "small.xlsx")
    archive_size.require_modest_archive(b"no archive" * archive_size.MEGABYTE, "text.xls")
