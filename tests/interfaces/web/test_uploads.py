"""Files that came through the browser, and folders that are looked at on the way to a path."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError, UnreadableInput
from sfumato.interfaces.web import uploads
from tests.interfaces.web.test_rough import NEEDS_PIPES


async def parts(letter: bytes) -> AsyncIterator[bytes]:
    for _ in range(20):
        await asyncio.sleep(0)
        yield letter


@pytest.mark.parametrize(
    "name", ["x" * 9000 + "." + "y" * 5000, "😀" * 200 + ".csv", "漢" * 130 + ".csv", "a" * 300]
)
def test_a_name_that_is_too_long_in_bytes_is_cut(tmp_path: Path, name: str) -> None:
    kept = asyncio.run(uploads.take(tmp_path, name, parts(b"a")))
    assert (
        len(kept.encode()) <= uploads.LONGEST_NAME
        and uploads.uploaded_file(tmp_path, kept).read_bytes() == b"a" * 20
    )
    assert kept.endswith(".csv") == name.endswith(".csv")


def test_two_files_of_one_name_that_come_at_once_are_both_kept_whole(tmp_path: Path) -> None:
    async def both() -> list[str]:
        sent = (uploads.take(tmp_path, "same.csv", parts(letter)) for letter in (b"A", b"B"))
        return list(await asyncio.gather(*sent))

    names = asyncio.run(both())
    assert sorted(names) == ["same-2.csv", "same.csv"]
    assert {(tmp_path / "uploads" / name).read_bytes() for name in names} == {b"A" * 20, b"B" * 20}
    assert len(list((tmp_path / "uploads").iterdir())) == 2


def test_a_folder_with_broken_links_is_still_shown(tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text("a\n")
    (tmp_path / "dangling.csv").symlink_to(tmp_path / "nothing")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "below").mkdir()
    found = uploads.listing(str(tmp_path))
    assert found.files == (("good.csv", 2),) and found.folders == ("below",)
    assert uploads.listing(f"{tmp_path}/below/..").path == str(tmp_path)


@NEEDS_PIPES
def test_a_pipe_is_not_offered_as_a_table(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    assert uploads.listing(str(tmp_path)).files == ()


@pytest.mark.parametrize(
    "path", ["/\0/x", "a" * 5000, "/" + "a" * 300 + "/b", "~nobody-has-this-name/x"]
)
def test_a_path_that_cannot_be_is_refused_in_our_words(path: str) -> None:
    with pytest.raises(UnreadableInput) as refused:
        uploads.listing(path)
    assert len(str(refused.value)) < 300


async def _parts(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def test_an_upload_is_kept_for_its_owner_only(tmp_path: Path) -> None:
    name = asyncio.run(uploads.take(tmp_path, "..%2F..%2Fvisits.csv", _parts(b"a,b\n", b"1,2\n")))
    again = asyncio.run(uploads.take(tmp_path, "visits.csv", _parts(b"x")))
    path = uploads.uploaded_file(tmp_path, name)
    assert (name, again) == ("visits.csv", "visits-2.csv")
    assert path.parent == tmp_path / "uploads" and path.read_bytes() == b"a,b\n1,2\n"
    assert (
        stat.S_IMODE(path.stat().st_mode) == 0o600
        and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    )


def test_an_upload_that_is_too_large_or_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise ConnectionResetError("gone")

    with pytest.raises(uploads.TooLarge):
        asyncio.run(uploads.take(tmp_path, "a.csv", _parts(b"1234", b"5678"), limit=5))
    with pytest.raises(Exception, match="cannot be kept"):
        asyncio.run(uploads.take(tmp_path, "a.csv", broken()))
    assert list((tmp_path / "uploads").iterdir()) == []


@given(st.text(max_size=300))
def test_no_name_leads_out_of_the_folder(name: str) -> None:
    cleaned = uploads.clean(name)
    assert cleaned and "/" not in cleaned and "\\" not in cleaned and not cleaned.startswith(".")
    assert len(cleaned) <= uploads.LONGEST_NAME + 20


def test_only_what_was_sent_is_found_again(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("x", "utf-8")
    uploads.folder_of(tmp_path)
    with pytest.raises(ParameterError):
        uploads.uploaded_file(tmp_path, "../secret.csv")


def test_a_folder_shows_folders_and_tables(tmp_path: Path) -> None:
    for name in ("b.csv", "A.parquet", "notes.md", ".hidden.csv", "c.XLSX"):
        (tmp_path / name).write_bytes(b"12")
    (tmp_path / "more").mkdir()
    found_here = uploads.listing(str(tmp_path / "b.csv"))
    assert found_here.folders == ("more",) and [name for name, _ in found_here.files] == [
        "A.parquet",
        "b.csv",
        "c.XLSX",
    ]
    assert found_here.above == str(tmp_path.parent)
    with pytest.raises(UnreadableInput):
        uploads.listing(str(tmp_path / "nowhere" / "deep" / "x.csv"))
