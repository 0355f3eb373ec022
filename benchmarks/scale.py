"""Tables larger than memory: a whole run beside the pure copy of the same Parquet with the same
engine.

    make bench BENCH=scale                                 10⁶ and 10⁷ rows, polars and DuckDB
    make bench BENCH=scale ARGS='--rows 1e8'               10⁸ rows as well: a gigabyte of files,
    some minutes make bench BENCH=scale ARGS='--engines polars --diverse'
    make bench BENCH=scale ARGS='--engines duckdb spark'   Spark in a session of this machine
    (Linux, Java 17)

Generated people in parts of Parquet, eight columns, five of them quasi-identifiers; 5-anonymity
with at most 5 % of the records suppressed, and with ``--diverse`` 2-diversity besides, so that the
sensitive column is counted too. Every run is a process of its own: seconds on the clock, CPU
seconds of all threads, peak memory, and the ratio of CPU seconds to those of the copy. The growth
exponent is that of CPU seconds between the smallest and the largest table. Both engines must find
the same levels, drop as many records and come to the same verdicts; where they do not, the
benchmark fails. Of Spark the Java machine and its workers are counted, too: their CPU seconds, with
the start, and the sum of their peaks, which need not have been at one time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf

PART = 1_000_000
ENGINES = ("polars", "duckdb")
SPARK = "spark"
HEAD = (
    f"{'rows':>11} {'engine':7} {'what':5} {'seconds':>8} {'CPU s':>8} {'peak MB':>8} {'× copy':>7}"
)


def main() -> None:
    """Measure every size with every engine."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, default=1e7, help="rows of the largest table")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=[*ENGINES, SPARK])
    parser.add_argument("--diverse", action="store_true", help="count the sensitive column, too")
    parser.add_argument("--folder", type=Path, help="where tables are put; they are kept there")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(one(*asked.one, diverse=asked.diverse)))
        return
    with tempfile.TemporaryDirectory() as spare:
        measure_all(asked.folder or Path(spare), Path(spare), asked)


def measure_all(tables: Path, spare: Path, asked: argparse.Namespace) -> None:
    """Print a line for every run, then the growth; a result on which engines do not agree ends
    it.
    """
    sizes = [10**e for e in range(6, round(math.log10(asked.rows)) + 1)]
    seconds = dict[tuple[str, str, int], float]()
    print(HEAD)
    for rows in sizes:
        table, outcomes = generated(rows, tables), []
        for engine in asked.engines:
            for what in ("copy", "run"):
                told = apart(engine, what, table, spare / "out", diverse=asked.diverse)
                seconds[engine, what, rows] = told["cpu"]
                ratio = told["cpu"] / seconds[engine, "copy", rows]
                print(
                    f"{rows:>11,} {engine:7} {what:5} {told['wall']:8.1f} {told['cpu']:8.1f}"
                    f" {told['peak']:8,.0f} {ratio:7.1f}",
                    flush=True,
                )
            outcomes.append(told["outcome"])
        if any(outcome != outcomes[0] for outcome in outcomes):
            sys.exit(f"engines disagree at {rows:,} rows: {outcomes}")
    for engine in asked.engines if len(sizes) > 1 else ():
        growth = math.log(seconds[engine, "run", sizes[-1]] / seconds[engine, "run", sizes[0]])
        print(f"growth exponent of a run, {engine}: {growth / math.log(sizes[-1] / sizes[0]):.2f}")


def apart(engine: str, what: str, table: Path, out: Path, *, diverse: bool) -> dict[str, Any]:
    """One run in a process of its own."""
    shutil.rmtree(out, ignore_errors=True)
    command = [
        sys.executable,
        __file__,
        "--one",
        engine,
        what,
        str(table),
        str(out),
        *["--diverse"] * diverse,
    ]
    found = subprocess.run(command, capture_output=True, check=False, text=True)
    if found.returncode:
        sys.exit(found.stderr)
    told: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return told


def one(engine: str, what: str, table: str, out: str, *, diverse: bool) -> dict[str, Any]:
    """Copy or release a table, and tell what it took."""
    started, used = time.perf_counter(), time.process_time()
    outcome = (
        copied(engine, table, out)
        if what == "copy"
        else released(engine, table, out, diverse=diverse)
    )
    others = below(os.getpid()) if engine == SPARK else []
    return {
        "wall": time.perf_counter() - started,
        "cpu": time.process_time() - used + sum(cpu for cpu, _ in others),
        "peak": (
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            + sum(peak for _, peak in others)
        ),
        "outcome": outcome,
    }


def below(process: int) -> list[tuple[float, float]]:
    """CPU seconds and peak megabytes of all processes that one started, with those that ended under
    them.
    """
    found = []
    for children in Path(f"/proc/{process}/task").glob("*/children"):  # every thread has its own
        for child in children.read_text().split():
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            seconds = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
            status = Path(f"/proc/{child}/status").read_text()
            peak = (
                float(status.partition("VmHWM:")[2].split()[0]) / 1024
                if "VmHWM:" in status
                else 0.0
            )
            found += [(seconds, peak), *below(int(child))]
    return found


def copied(engine: str, table: str, out: str) -> None:
    """Read and write the table, nothing else."""
    Path(out).mkdir()
    if engine == "polars":
        pl.scan_parquet(f"{table}/*.parquet").sink_parquet(
            pl.PartitionBy(out, max_rows_per_file=2 * PART)
        )
        return
    if engine == SPARK:
        sf.read(table, engine=SPARK).to_native().write.option("compression", "zstd").parquet(
            f"file://{out}/c"
        )
        return
    import duckdb

    source = f"SELECT * FROM read_parquet('{table}/*.parquet')"
    duckdb.sql(source).query(
        "t", f"COPY ({source}) TO '{out}/c' (FORMAT parquet, COMPRESSION zstd, PER_THREAD_OUTPUT)"
    )


def released(engine: str, table: str, out: str, *, diverse: bool) -> dict[str, Any]:
    """Anonymize the table and write the release; what was decided."""
    people = sf.read(table, engine=engine).with_roles(
        quasi=["age", "sex", "zip", "nationality", "marital"],
        sensitive="diagnosis",
        keep=["occupation", "cost"],
    )
    described = people.with_hierarchies(
        age=sf.intervals(5, 10, 20),
        zip=sf.mask_right(5),
        sex=sf.suppress(),
        nationality=sf.suppress(),
        marital=sf.suppress(),
    )
    meet = [sf.KAnonymity(5), *([sf.LDiversity("diagnosis", 2)] if diverse else [])]
    release = sf.anonymize(described, meet, [sf.GlobalRecoding(budget=0.05)], seed=1)
    release.write(out)
    return {
        "levels": release.plans[0][1].describe()["levels"],
        "suppressed": release.suppressed,
        "verdicts": [[verdict.holds, str(verdict.attained)] for verdict in release.verdicts],
    }


def generated(rows: int, folder: Path) -> Path:
    """Invented people in parts of a million rows, the same for the same number of rows."""
    table = folder / f"people-{rows}"
    if table.exists():
        return table
    table.mkdir(parents=True)
    for part in range(rows // PART):
        people(np.random.default_rng(part), PART).write_parquet(table / f"part-{part:05d}.parquet")
    return table


def people(rng: np.random.Generator, rows: int) -> pl.DataFrame:
    """Some invented people; places, countries and illnesses are few that are common and many that
    are rare.
    """

    def texts(pattern: str, numbers: np.ndarray[Any, Any], most: int) -> pl.Series:
        return pl.Series([pattern.format(i) for i in range(most)]).gather(
            np.minimum(numbers.astype(int), most - 1)
        )

    codes = np.minimum((rng.pareto(1.2, rows) * 8).astype(int), 799)
    return pl.DataFrame(
        {
            "age": np.clip(rng.normal(45, 20, rows), 0, 99).astype(np.int16),
            "sex": texts("{}", rng.integers(0, 2, rows), 2),
            "zip": pl.Series([f"{10000 + 37 * i}" for i in range(800)]).gather(codes),
            "nationality": texts("country {:02d}", rng.pareto(1.5, rows) * 2, 60),
            "occupation": texts("occupation {:02d}", rng.integers(0, 40, rows), 40),
            "marital": texts("state {}", rng.integers(0, 4, rows), 4),
            "diagnosis": texts("I{:02d}", rng.pareto(1.0, rows) * 3, 30),
            "cost": np.round(rng.lognormal(7, 1, rows), 2),
        }
    )


if __name__ == "__main__":
    main()
