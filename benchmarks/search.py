"""Time and memory of the optimal search and of the whole run, on tables of growing size.

    make bench                      Adult and the larger reference tables where they are on this machine, then generated tables
    make bench ARGS='--rows 1e7'    generated tables up to ten million rows

For each table: rows, classes, nodes of the lattice, nodes looked at, seconds of the search (warm, best of three, one
core), seconds and peak memory of the whole ``sfumato run`` in a fresh process. At the end the exponent with which the
time grows with the rows: 1 is linear.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl

import sfumato as sf
from sfumato import recipe_files as recipes
from sfumato.core.recipe import Recipe
from sfumato.core.step import Goal
from sfumato.hierarchies import HierarchyFile
from sfumato.steps.recoding.optimal import Search

REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "data"
ADULT = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)
FARS = ("iage", "ideathday", "ideathmon", "ihispanic", "iinjury", "irace", "isex")
ATUS = ("Age", "Birthplace", "Citizenship status", "Labor force status", "Marital status", "Race", "Region", "Sex")


@dataclasses.dataclass(frozen=True)
class Case:
    """A table to measure on: its file, its description, its promise."""

    name: str
    file: Path
    people: sf.Dataset
    budget: float


def main() -> None:
    """Measure every case that this machine has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e6, help="largest generated table")
    parser.add_argument("--quick", action="store_true", help="generated tables only")
    arguments = parser.parse_args()
    print(
        f"{'table':<24}{'rows':>11}{'classes':>10}{'nodes':>8}{'looked at':>10}{'search s':>10}{'run s':>8}{'peak MB':>9}{'table MB':>10}"
    )
    with tempfile.TemporaryDirectory() as folder:
        grown = []
        for case in cases(Path(folder), arguments):
            row = measure(case, Path(folder))
            if case.name.startswith("generated"):
                grown.append((len(case.people), row))
    tell_growth(grown)


def cases(folder: Path, arguments: argparse.Namespace) -> Iterator[Case]:
    """The tables, smallest first."""
    if not arguments.quick:
        yield from reference_cases(folder)
    rows = 10_000
    while rows <= arguments.rows:
        people = ordinary(sf.examples.large(rows))
        file = folder / f"generated_{rows}.parquet"
        people.to_polars().write_parquet(file)
        yield Case(f"generated {rows:.0e}", file, people, 0.05)
        rows *= 10


def ordinary(people: sf.Dataset) -> sf.Dataset:
    """The table in the types a user's file has: text and 64-bit numbers instead of compact codes."""
    frame = people.to_polars()
    text = [pl.col(n).cast(pl.String) for n, dtype in frame.schema.items() if dtype in (pl.Enum, pl.Categorical)]
    whole = [pl.col(n).cast(pl.Int64) for n, dtype in frame.schema.items() if dtype.is_integer()]
    return dataclasses.replace(people, frame=frame.with_columns(*text, *whole))


def reference_cases(folder: Path) -> Iterator[Case]:
    """Adult, FARS and a synthetic ATUS, when the reference data are beside the repository."""
    if not REFERENCE.is_dir():
        print(f"(reference tables skipped: {REFERENCE.name} is not on this machine)")
        return
    for budget in (0.0, 0.02, 0.05, 1.0):
        yield described(f"adult 9, {budget:.0%}", REFERENCE / "adult" / "adult.csv", "adult/adult", ADULT, budget)
    yield described("fars 7, 5%", REFERENCE / "fars_int" / "fars_int.csv", "fars_int/fars_int", FARS, 0.05)
    subprocess.run([sys.executable, REFERENCE / "make_large.py", folder], check=True)
    yield described("atus 8, 5%", folder / "atus_synth.csv", "atus_hierarchies/atus", ATUS, 0.05)


def described(name: str, file: Path, prefix: str, quasi: tuple[str, ...], budget: float) -> Case:
    """A reference table with its hierarchy files."""
    people = sf.read(file)
    people = people.with_roles(quasi=quasi, plain=[c for c in people.columns if c not in quasi])
    files = {c: HierarchyFile(str(REFERENCE / f"{prefix}_hierarchy_{c}.csv")) for c in quasi}
    return Case(name, file, people.with_hierarchies(**files), budget)


def measure(case: Case, folder: Path) -> tuple[float, float]:
    """Print one line; return the seconds of the search and of the whole run."""
    step = sf.GlobalRecoding(budget=case.budget)
    lattice = step.lattice(case.people, Goal(models=(sf.KAnonymity(5),)))
    best, search = math.inf, Search(lattice)
    for _ in range(3):
        started = time.process_time()
        search = Search(lattice).run()
        best = min(best, time.process_time() - started)
    seconds, peak = whole_run(case, step, folder)
    table = case.people.to_polars().to_arrow().nbytes / 1e6
    print(
        f"{case.name:<24}{len(case.people):>11,}{len(lattice.base):>10,}{lattice.size:>8,}{search.looked_at:>10,}"
        f"{best:>10.3f}{seconds:>8.2f}{peak:>9,.0f}{table:>10,.0f}",
        flush=True,
    )
    return best, seconds


def whole_run(case: Case, step: sf.GlobalRecoding, folder: Path) -> tuple[float, float]:
    """Seconds (wall) and peak memory in MB of ``sfumato run`` in a process of its own."""
    recipe = folder / "recipe.yaml"
    recipe.write_text(recipes.dump(Recipe(case.people.schema, (sf.KAnonymity(5),), (step,))))
    command = [
        sys.executable,
        "-m",
        "sfumato",
        "run",
        case.file,
        "-r",
        recipe,
        "-o",
        folder / "out",
        "--force",
        "--quiet",
    ]
    started = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"sfumato run failed on {case.name}")
    return time.perf_counter() - started, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def tell_growth(grown: list[tuple[int, tuple[float, float]]]) -> None:
    """Exponents of growth between the two largest generated tables."""
    if len(grown) < 2:
        return
    (rows, (search, run)), (more_rows, (more_search, more_run)) = grown[-2:]
    grow = math.log(more_rows / rows)
    print(
        f"growth from {rows:,} to {more_rows:,} rows: search ~ rows^{math.log(more_search / search) / grow:.2f}, whole run ~ rows^{math.log(more_run / run) / grow:.2f}"
    )


if __name__ == "__main__":
    main()
