"""Starting the workbench: a socket of this machine, a token, a browser."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from sfumato.interfaces.web import server


def test_names_and_addresses_of_a_place() -> None:
    assert server.Reach().names(8123) == {"127.0.0.1:8123", "localhost:8123"}
    assert server.Reach(port=80).names(80) == {
        "127.0.0.1:80",
        "localhost:80",
        "127.0.0.1",
        "localhost",
    }
    assert server.Reach("::1").names(443) == {"[::1]:443", "[::1]"}
    assert server.Reach("Bench.example").names(8443) == {"bench.example:8443"}
    assert server.Reach().address(8123, "t") == "http://127.0.0.1:8123/?token=t"
    assert server.Reach("::1").address(8123, "t") == "https://[::1]:8123/?token=t"


def test_the_private_folder_of_a_killed_server_goes_and_that_of_another_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    abandoned = tmp_path / f"{server.UPLOADS}0123"
    abandoned.mkdir()
    (abandoned / server.LOCK).touch()
    (tmp_path / f"{server.UPLOADS}not-ours").mkdir()
    with server._private_uploads() as first:
        tempfile.tempdir = str(tmp_path)
        with server._private_uploads() as second:
            assert first.is_dir() and second.is_dir() and not abandoned.exists()
            assert second.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in tmp_path.iterdir()] == [f"{server.UPLOADS}not-ours"]
