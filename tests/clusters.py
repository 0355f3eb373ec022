"""A cluster of PostgreSQL for tests of services."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster of PostgreSQL of our own, which is gone afterwards."""
    pytest.importorskip("adbc_driver_postgresql", reason="the extra sql is not installed")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = found[-1] if found else Path(shutil.which("initdb") or "/nowhere/initdb")
    if not initdb.is_file():
        pytest.skip("PostgreSQL is not installed")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if root and subprocess.run(["id", "postgres"], capture_output=True, check=False).returncode:
        pytest.skip("PostgreSQL does not start as root, and there is no user postgres")
    yield from _cluster(initdb.parent, root)


def _cluster(programs: Path, root: bool) -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="sfumato-pg-"))
    if root:
        shutil.chown(folder, "postgres")
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if root else []

    def do(*words: str) -> None:
        subprocess.run([*as_user, *words], check=True, capture_output=True, cwd="/")

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ours = {"PGHOST": str(folder), "PGPORT": str(port), "PGUSER": "test"}
    try:
        do(
            str(programs / "initdb"),
            "-D",
            str(folder / "data"),
            "-A",
            "trust",
            "-U",
            "test",
            "--no-sync",
            "-E",
            "UTF8",
        )
        started = f"-k {folder} -p {port} -c listen_addresses=127.0.0.1 -c fsync=off"
        do(
            str(programs / "pg_ctl"),
            "-D",
            str(folder / "data"),
            "-w",
            "-l",
            str(folder / "log"),
            "-o",
            started,
            "start",
        )
        before = {name: os.environ.get(name) for name in ours}
        os.environ.update(
            ours
        )  # as a user would say it: neither host nor user stands in an address
        yield "postgresql:///postgres"
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        do(str(programs / "pg_ctl"), "-D", str(folder / "data"), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
