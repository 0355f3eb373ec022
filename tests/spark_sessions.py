"""Sessions of Spark for tests. They leave the process as it was, since other tests go on in it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # The Java machine lives for minutes: code that is compiled quickly beats code that is compiled
    # well.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}


@contextlib.contextmanager
def spark_in_this_process() -> Iterator[None]:
    """Undo what Spark does to a process: it takes over Ctrl-C, and remembers in variables how it
    was begun.
    """
    on_interrupt = signal.getsignal(signal.SIGINT)
    variables = _spark_variables()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.pop("SPARK_REMOTE", None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, on_interrupt)
        for name in _spark_variables():
            del os.environ[name]
        os.environ.update(variables)


def _spark_variables() -> dict[str, str]:
    return {
        name: value for name, value in os.environ.items() if name.startswith(("SPARK_", "PYSPARK_"))
    }


@contextlib.contextmanager
def local_session(master: str, *, partitions: int) -> Iterator[Any]:
    """A session of this machine: ``local[2]`` has two workers, ``local[2,4]`` tries a task up to
    four times.
    """
    from pyspark.sql import SparkSession

    with spark_in_this_process():
        builder = SparkSession.builder.master(master)
        for name, value in {**SETTINGS, "spark.sql.shuffle.partitions": str(partitions)}.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        try:
            yield session
        finally:
            session.stop()
