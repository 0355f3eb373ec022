"""Random tables and recipes, released by every engine as in memory: ``make bench BENCH=engines``.

``ARGS='--cases 300 --engines polars,duckdb,workers'`` says how many cases each engine gets and which
engines; Spark gets a fifth of them where Java is here. Prints what disagrees; exit code 1 if
anything does.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import shutil
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.data.lazy import agreement
from tests.spark_sessions import local_session

ENGINES = ("polars", "duckdb", "lazy", "workers", "sqlite", "spark")
FIRST = 10_000
"""The tests use lower numbers."""


@contextlib.contextmanager
def held_by(engine: str) -> Iterator[None]:
    """A session, where an engine needs one."""
    if engine != "spark":
        yield
        return
    with local_session("local[2,4]", partitions=2):
        agreement.HOLDERS["spark"] = agreement.in_folder("spark")
        yield


def main() -> int:
    """Run the cases; how many disagreed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=FIRST)
    parser.add_argument("--engines", default=",".join(ENGINES))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    disagreements = 0
    for engine in options.engines.split(","):
        no_java = engine == "spark" and not shutil.which("java")
        if no_java or (engine in ("duckdb", "pyspark") and not importlib.util.find_spec(engine)):
            print(f"{engine}: not here")
            continue
        cases = options.cases // 5 if engine == "spark" else options.cases
        start = time.process_time()
        with held_by(engine):
            wrong = agreement.main(engine, options.first, options.first + cases)
        seconds = time.process_time() - start
        print(
            f"{engine}: {cases:,} cases, {wrong:,} disagree, {seconds:,.0f} CPU s of this process"
        )
        disagreements += wrong
    return disagreements


if __name__ == "__main__":
    sys.exit(main() > 0)
