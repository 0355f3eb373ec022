"""How time and memory of whole commands grow with the rows, from 10⁵ to 10⁷.

    make bench BENCH=growth                                   10⁵, 10⁶ and 10⁷ rows: ten minutes
    make bench BENCH=growth ARGS='--rows 1e6'                 up to another number of rows
    make bench BENCH=growth ARGS='--commands profile check'
    make bench BENCH=growth ARGS='--commands run --engine duckdb'

`run`, `assess`, `check`, `verify` and `profile` on two tables of the speed guard (few distinct
rows, nearly all distinct), each in a process of its own. Beside each stands how many times the CPU
seconds of a polars copy of the same file it takes, measured just before. From CPU seconds and peak memory those of
the same command on 100 rows are subtracted, which is its start. The exponent is that of a power of
the rows through the smallest and the largest table: n^1.00 grows in step with the rows. Where a
small table hardly costs more than the start, growth is measured from the next larger one. Exponents
above 1.05 are marked.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
import multiprocessing
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import guard

COMMANDS = ("run", "assess", "check", "verify", "profile")
SMALLEST, START = 100_000, 100
MOST = 1.05
"""Exponent above which growth is marked."""
LEAST_SECONDS, LEAST_MEGABYTES = 0.1, 20
"""What a command must take beyond its start before it is told apart from noise."""
REPEATED = 3
"""How often commands that take about as long as their start are measured; the least counts."""


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a command took on a table of so many rows."""

    rows: int
    cpu: float
    megabytes: int

    def beyond(self, start: Cost) -> Cost:
        """What it took beyond its start."""
        return Cost(self.rows, self.cpu - start.cpu, self.megabytes - start.megabytes)


def exponent(points: Sequence[tuple[int, float]], least: float) -> tuple[float, int] | None:
    """The power of the rows by which a figure grows up to the last point, and from how many rows;
    None where that cannot be told.

    >>> exponent([(100, 0.01), (1000, 1.0), (100_000, 100.0)], least=0.1)
    (1.0, 1000)
    >>> exponent([(100, 0.01), (1000, 0.05)], least=0.1) is None
    True
    """
    told = [(rows, figure) for rows, figure in points if figure >= least]
    if len(told) < 2 or told[-1] != points[-1]:
        return None
    (fewest, low), (most, high) = told[0], told[-1]
    return math.log(high / low) / math.log(most / fewest), fewest


def described(points: Sequence[tuple[int, float]], least: float) -> str:
    """The exponent in words, marked where it is too large."""
    growth = exponent(points, least)
    if growth is not None:
        power, fewest = growth
        since = "" if fewest == points[0][0] else f" from {fewest:,} rows"
        return f"n^{power:.2f}{since}{'  TOO MUCH' if power > MOST else ''}"
    if points[-1][1] < least:
        return "hardly more than the start"
    return "unknown: hardly more than the start on all smaller tables"


def measured(arguments: list[str], rows: int) -> Cost | None:
    """What a command takes; None where it fails, which is told."""
    costs: list[Cost] = []
    for number in range(REPEATED if rows <= SMALLEST else 1):
        repeated = list(arguments)
        if arguments[0] == "run" and number:
            repeated[arguments.index("-o") + 1] += f"-{number}"  # a release is not written over
        line = [sys.executable, "-m", "sfumato", *repeated]
        cpu, megabytes, code, errors = guard.spent(line)
        if not guard.did_its_work(line, code):
            last = errors.strip().splitlines()[-1:] or [
                "no message: the system may have ended it for want of memory"
            ]
            print(f"{arguments[0]:<8} {rows:>11,} rows: ended with {code}: {last[0]}", flush=True)
            return None
        costs.append(Cost(rows, cpu, megabytes))
    return Cost(rows, min(cost.cpu for cost in costs), min(cost.megabytes for cost in costs))


def make_tables(folder: Path, rows: int) -> None:
    """Write the tables in a process of its own: a process counts the memory of the one that started
    it as its own peak.
    """
    folder.mkdir()
    maker = multiprocessing.get_context("spawn").Process(
        target=guard.tables, args=(folder, rows), kwargs={"wide": False}
    )
    maker.start()
    maker.join()
    if maker.exitcode != 0:
        sys.exit(f"the tables of {rows:,} rows could not be made")


def measure(
    folder: Path, sizes: Sequence[int], wanted: Sequence[str], engine: str
) -> dict[tuple[str, str], list[Cost]]:
    """The costs of every command on every kind of table, the start first; ``engine`` is that of
    ``run``.
    """
    costs: dict[tuple[str, str], list[Cost]] = {}
    for rows in sizes:
        place = folder / str(rows)
        make_tables(place, rows)
        for data in sorted(place.glob("*.parquet")):
            out = place / f"{data.stem}-release"
            copy = [sys.executable, "-c", guard.COPY, str(data), str(place / "copy")]
            copy_cpu, _, _ = guard.timed(copy)
            for command, arguments in guard.commands(data, data.with_suffix(".yaml"), out).items():
                needed = command in wanted or (
                    command == "run" and {"check", "verify"} & set(wanted)
                )
                if command not in COMMANDS or not needed:
                    continue
                if command in ("check", "verify") and not out.is_dir():
                    continue  # there is no release of this table
                by_engine = ["--engine", engine] if command == "run" else []
                cost = measured([*arguments, *by_engine], rows)
                if cost is None:
                    continue
                costs.setdefault((command, data.stem.replace("_", " ")), []).append(cost)
                print(
                    f"{command:<8} {data.stem:<16} {rows:>11,} rows {cost.cpu:8.2f} CPU s"
                    f" {cost.megabytes:>7,} MB {cost.cpu / copy_cpu:6.1f} × copy",
                    flush=True,
                )
    return costs


def main() -> None:
    """Measure and print growth."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, default=1e7, help="rows of the largest table")
    parser.add_argument("--commands", nargs="+", default=list(COMMANDS), choices=COMMANDS)
    parser.add_argument("--engine", default="auto", help="the engine of run")
    options = parser.parse_args()
    steps = itertools.takewhile(
        lambda rows: rows <= options.rows, (SMALLEST * 10**power for power in range(9))
    )
    with tempfile.TemporaryDirectory(prefix="sfumato-growth-") as folder:
        costs = measure(Path(folder), [START, *steps], options.commands, options.engine)
    print()
    for (command, table), (start, *larger) in costs.items():
        beyond = [cost.beyond(start) for cost in larger]
        if not beyond:
            continue
        cpu = described([(cost.rows, cost.cpu) for cost in beyond], LEAST_SECONDS)
        memory = described([(cost.rows, float(cost.megabytes)) for cost in beyond], LEAST_MEGABYTES)
        print(
            f"{command:<8} {table:<16} to {beyond[-1].rows:>11,} rows: CPU {cpu}; memory {memory}"
        )


if __name__ == "__main__":
    main()
