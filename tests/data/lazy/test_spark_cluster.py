"""A cluster of two workers on this machine, one of which is killed while rows are released."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from tests.data.lazy.cluster_release import released

ROOT = Path(__file__).resolve().parents[3]
pytestmark = [
    pytest.mark.service,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed"),
]
WAIT = 400
PEOPLE = sf.examples.hospital(3000).to_polars().select("age", "sex", "cost")


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


@contextlib.contextmanager
def process(words: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with all its children in a group, which is gone afterwards."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("SPARK_REMOTE", None)
    with log.open("wb") as out:
        started = subprocess.Popen(
            words, stdout=out, stderr=out, env=environment, start_new_session=True
        )
        try:
            yield started
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            started.wait()


def wait_for(
    happened: Path,
    log: Path,
    words: bytes = b"",
    needed: subprocess.Popen[bytes] | None = None,
) -> None:
    """Wait until a file is there, with some words in it, while a process runs that makes it."""
    until = time.monotonic() + WAIT
    while not happened.exists() or words not in happened.read_bytes():
        has_ended = needed is not None and needed.poll() is not None
        in_time = time.monotonic() < until
        assert in_time and not has_ended, log.read_text(errors="replace")[-2000:]
        time.sleep(0.2)


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a master on loopback, and its two workers."""
    import pyspark

    spark_class = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    place = ["--host", "127.0.0.1", "--webui-port", "0"]
    with contextlib.ExitStack() as processes:
        log = folder / "master.log"
        master = [spark_class, f"{deploy}.master.Master", *place, "--port", str(port)]
        processes.enter_context(process(master, log))
        wait_for(log, log, b"I have been elected leader")
        workers = []
        for number in range(2):
            own = folder / f"worker-{number}"
            own.mkdir()
            words = [spark_class, f"{deploy}.worker.Worker", *place, "--cores", "1"]
            words += ["--memory", "1g", "--work-dir", str(own), address]
            worker_log = folder / f"worker-{number}.log"
            workers.append(processes.enter_context(process(words, worker_log)))
            wait_for(worker_log, worker_log, b"Successfully registered with master")
        yield address, workers


@pytest.mark.parametrize("kill", [False, True])
def test_a_cluster_releases_what_memory_releases(kill: bool, tmp_path: Path) -> None:
    (tmp_path / "people").mkdir()
    for number in range(4):
        PEOPLE.slice(750 * number, 750).write_parquet(tmp_path / "people" / f"{number}.parquet")
    driver_log = tmp_path / "driver.log"
    words = [sys.executable, "-m", "tests.data.lazy.cluster_release"]
    with cluster(tmp_path) as (address, workers):
        words += [address, str(tmp_path)]
        with process(words, driver_log) as driver:
            wait_for(tmp_path / "begun", driver_log, needed=driver)
            if kill:
                # With its executor, which is in the same group.
                os.killpg(workers[0].pid, signal.SIGKILL)
            (tmp_path / "go").touch()
            assert driver.wait(WAIT) == 0, driver_log.read_text(errors="replace")[-2000:]
    found = pl.read_parquet(tmp_path / "released.parquet")
    expected = pl.DataFrame(released(sf.read(PEOPLE)).data)
    names = expected.columns
    assert found.select(names).sort(names).equals(expected.sort(names))
