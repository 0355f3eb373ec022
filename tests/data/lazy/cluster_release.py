"""A release made on a cluster of Spark, in a process of its own: the test kills a worker meanwhile.

``python -m tests.data.lazy.cluster_release MASTER FOLDER`` reads the parts in ``FOLDER/people``,
writes ``FOLDER/begun`` when the first part is being written, waits for ``FOLDER/go`` there, and
writes the released rows to ``FOLDER/released.parquet``.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl

import sfumato as sf
from sfumato.data.lazy import on_spark
from tests.spark_sessions import SETTINGS

STEPS: list[Any] = [sf.AddNoise(["cost"], 0.2, method="uncorrelated"), sf.GlobalRecoding(budget=0)]
WAIT = 400


def described(data: Any) -> Any:
    """Which columns identify, and what is kept."""
    people = data.with_roles(quasi=["age", "sex"], keep=["cost"])
    return people.with_hierarchies(age=sf.intervals(5, 10, 20), sex=sf.suppress())


def released(data: Any) -> Any:
    """The release, the same whoever holds the rows."""
    return sf.anonymize(described(data), [sf.KAnonymity(5)], STEPS, seed=9)


def main(master: str, folder: Path) -> None:
    """Release the parts in a folder."""
    from pyspark.sql import SparkSession

    # pyspark asks the environment alone which Python its workers run.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master)
    more = {
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.task.maxFailures": "4",
        "spark.sql.shuffle.partitions": "4",
        # Workers must find the package under test as this process does.
        "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        # A worker that was killed is missed after seconds, not minutes.
        "spark.network.timeout": "20s",
        "spark.network.timeoutInterval": "5s",
        "spark.executor.heartbeatInterval": "2s",
    }
    for name, value in {**SETTINGS, **more}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    write = on_spark._write

    def wait_and_write(*arguments: Any) -> pl.DataFrame:
        # Both workers have seen their rows by now; one of them is killed before it writes.
        (folder / "begun").touch()
        until = time.monotonic() + WAIT
        while not (folder / "go").exists() and time.monotonic() < until:
            time.sleep(0.1)
        return write(*arguments)

    on_spark._write = wait_and_write
    people = session.read.parquet(f"file://{folder}/people").repartition(6)
    release = released(sf.read(people))
    pl.read_parquet(list(release.parts)).write_parquet(folder / "released.parquet")
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
