"""Whole runs from the command line, in processes of their own: the first second, and the millionth
row.

make bench BENCH=whole
make bench BENCH=whole ARGS='--rows 1e7'
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
from race import Options, Ours, Race, Spent, Theirs, at, growth, once, process, script
from tables import ADULT_9, TIMES, arx, coded, folder, people, reference, smallest_class

import sfumato as sf
from sfumato.core import recipe_files
from sfumato.core.recipe import Recipe
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.table import Table

COLD_RUNS = 3
COPY = "import sys, polars; polars.read_parquet(sys.argv[1]).write_parquet(sys.argv[2])"


def recipe(table: Table, name: str) -> Path:
    """A recipe file: k = 5, recoded globally, at most 5 % suppressed."""
    file = folder() / f"{name}.yaml"
    file.write_text(
        recipe_files.dump(
            Recipe(table.schema, (sf.KAnonymity(5),), (sf.GlobalRecoding(budget=0.05),))
        )
    )
    return file


def run(source: Path, name: str, made: Path, **environment: str) -> Spent:
    """``sfumato run`` with all that it does by default."""
    command = [
        sys.executable,
        "-m",
        "sfumato",
        "run",
        source,
        "-r",
        made,
        "-o",
        folder() / name,
        "--force",
        "--quiet",
    ]
    return process(command, **environment)


@once
def cold_runs() -> tuple[Spent, ...]:
    """Adult once with no compiled loop in the cache, then several times with it."""
    table = coded("adult", ADULT_9)
    described = Schema({**table.schema.attributes, "occupation": Attribute((Role.SENSITIVE,))})
    made, cache = recipe(Table(table.frame, described), "adult"), folder() / "kernels"
    source = reference("adult", "adult.csv")
    return tuple(
        run(source, "adult", made, NUMBA_CACHE_DIR=str(cache)) for _ in range(1 + COLD_RUNS)
    )


def cold(which: Callable[[tuple[Spent, ...]], float]) -> Callable[[Options], Ours]:
    """A figure of the cold runs; the release that was written is ARX's optimum."""

    def measured(_: Options) -> Ours:
        runs, best = cold_runs(), arx("arx_adult_kanonymity.json", "adult k=5 s=0.05 lossAM")
        written = json.loads(
            (folder() / "adult" / "share" / "certificate.json").read_text(encoding="utf-8")
        )
        levels = {name: at["level"] for name, at in written["plan"][0]["levels"].items()}
        gone, smallest = written["suppressed_records"], written["classes"]["smallest"]
        right = (levels, gone) == (best["levels"], best["suppressed"]) and smallest >= 5
        peak = max(one.peak for one in runs)
        return Ours(which(runs), right, f"{gone} suppressed, smallest class {smallest}", peak=peak)

    return measured


@once
def parquet(rows: int) -> Path:
    """The generated table as a file."""
    file = folder() / f"people_{rows}.parquet"
    people(rows).to_polars().write_parquet(file)
    return file


@once
def copied(rows: int) -> Spent:
    """Reading the file by polars and writing it again: the least that any release takes."""
    command = [sys.executable, "-c", COPY, parquet(rows), folder() / "copy.parquet"]
    return min((process(command) for _ in range(2)), key=lambda one: one.cpu)


@once
def whole(rows: int) -> Ours:
    """The whole run on a Parquet file: the release is counted by polars."""
    spent = run(parquet(rows), f"run_{rows}", recipe(people(rows), f"people_{rows}"))
    out = pl.read_parquet(folder() / f"run_{rows}" / "share" / "data.parquet")
    smallest, kept = smallest_class(out, people(rows).schema.quasi), len(out)
    seen = f"smallest class {smallest}, {kept:,} records kept"
    return Ours(spent.cpu, smallest >= 5 and kept >= 0.95 * rows, seen, spent.wall, spent.peak)


def megabytes(rows: int) -> Ours:
    """The memory of the whole run at its highest: three times the table in Arrow, and 300 MB, are
    allowed.
    """
    found, arrow = whole(rows), people(rows).to_polars().to_arrow().nbytes / 1e6
    return dataclasses.replace(found, figure=found.peak or 0.0, aim=3 * arrow + 300)


def copy(rows: int, memory: bool = False) -> Callable[[Options], Theirs]:
    """What polars takes to copy the file."""
    return lambda _: Theirs("polars copy", copied(rows).peak if memory else copied(rows).cpu)


CHECK = "every class of the written file has 5 records or more, and at most 5 % are gone"
OPTIMUM = "the written release has ARX's levels and suppressed records"
ARX = Theirs("ARX 3.9.2", 2.2, TIMES)
RACES = (
    Race(
        "cold run, Adult",
        OPTIMUM,
        cold(lambda r: min(one.wall for one in r[1:])),
        stored=ARX,
        unit="s wall",
        aim=1.5,
    ),
    Race("cold run, Adult, CPU", OPTIMUM, cold(lambda r: min(one.cpu for one in r[1:]))),
    Race(
        "first run ever, Adult",
        OPTIMUM,
        cold(lambda r: r[0].wall),
        stored=ARX,
        unit="s wall",
        aim=6.0,
    ),
    Race("first run ever, Adult, CPU", OPTIMUM, cold(lambda r: r[0].cpu)),
    *(
        race
        for rows, name in ((10**6, "10⁶"), (10**7, "10⁷"))
        for race in (
            Race(f"whole run, {name} × 6, Parquet", CHECK, at(rows, whole), copy(rows), times=5.0),
            Race(
                f"whole run, {name} × 6, peak memory",
                CHECK,
                at(rows, megabytes),
                copy(rows, memory=True),
                unit="MB",
            ),
        )
    ),
    Race("growth of the whole run", CHECK, growth(whole), unit="n^", aim=1.1),
)

if __name__ == "__main__":
    script(__file__)
