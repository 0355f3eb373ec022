"""The speed guard: whole commands on three generated tables, held against ceilings.

    make guard                      fails when a command needs more than its ceiling, and names command, ceiling and figure
    make guard ARGS=--update        measures and rewrites benchmarks/ceilings.json

Every command runs in a process of its own. Three figures do not depend on the machine and must stay at or below their ceiling: how often a
command goes over all rows (encodings, groupings, sorts of full length), how many modules it imports, and its peak memory (with a slack of a
tenth). CPU time does depend on the machine, so it is divided by that of a plain polars copy of the same file plus the import of numpy, polars
and numba, measured in the same minute; it may be twice the stored figure, since machines are busy (``--factor``).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

HERE = Path(__file__).resolve().parent
CEILINGS = HERE / "ceilings.json"
CHILD = HERE / "guard_child.py"
ROWS = 100_000
ATTACK_SECONDS = 6
MEMORY_SLACK = 1.1
LOWER_BY = 2 / 3
"""A figure below this share of its ceiling means that the ceiling should be lowered."""
IMPORT = "import numpy, polars, numba"
COPY = "import sys, polars as pl; pl.read_parquet(sys.argv[1]).write_parquet(sys.argv[2])"

WIDE_QUASI = 8
"""Quasi-identifiers of the wide table."""


@dataclasses.dataclass(frozen=True)
class Figures:
    """What one command needed."""

    passes: int
    modules: int
    megabytes: int
    cpu_ratio: float


def tables(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Three tables of the same height with their recipes: few distinct rows, nearly all distinct, and many columns."""
    draw = np.random.default_rng(20_261_118)
    few = {
        "age": draw.integers(18, 90, ROWS),
        "sex": draw.choice(["f", "m"], ROWS),
        "region": draw.choice([f"r{i:02d}" for i in range(30)], ROWS),
        "illness": draw.choice([f"d{i:02d}" for i in range(20)], ROWS),
        "cost": draw.integers(0, 50, ROWS) * 100,
    }
    distinct = {
        "age": draw.integers(18, 90, ROWS),
        "sex": draw.choice(["f", "m"], ROWS),
        "zip": pl.Series(draw.integers(10_000, 99_999, ROWS)).cast(pl.String),
        "income": np.round(draw.lognormal(10, 1, ROWS), 2),
        "born": pl.Series(draw.integers(-20_000, 10_000, ROWS).astype(np.int32)).cast(pl.Date),
        "illness": draw.choice([f"d{i:03d}" for i in range(200)], ROWS),
        "cost": np.round(draw.gamma(2, 1000, ROWS), 2),
    }
    wide = {f"q{i}": draw.integers(0, 6 + i, ROWS) for i in range(WIDE_QUASI)}
    wide |= {f"v{i}": np.round(draw.normal(100, 15, ROWS), 1) for i in range(26)}
    wide |= {f"c{i}": draw.choice([f"x{j}" for j in range(4 + i)], ROWS) for i in range(26)}
    quasi = {
        "age": {"kind": "numeric", "hierarchy": {"intervals": {"widths": [5, 10, 20]}}},
        "sex": {"hierarchy": {"suppress": {}}},
        "region": {"hierarchy": {"suppress": {}}},
        "zip": {"hierarchy": {"mask_right": {"length": 5}}},
        "income": {"kind": "numeric", "hierarchy": {"intervals": {"widths": [1000, 10_000, 100_000]}}},
        "born": {"kind": "date", "hierarchy": {"dates": {}}},
        **{f"q{i}": {"hierarchy": {"suppress": {}}} for i in range(WIDE_QUASI)},
    }
    written = {}
    for name, columns in (("few distinct", few), ("nearly distinct", distinct), ("60 columns", wide)):
        data, recipe = folder / f"{name.replace(' ', '_')}.parquet", folder / f"{name.replace(' ', '_')}.yaml"
        pl.DataFrame(columns).write_parquet(data)
        described = {}
        for column in columns:
            described[column] = {"role": "quasi", **quasi[column]} if column in quasi else {"role": "plain"}
            if column == "illness":
                described[column] = {"role": "sensitive"}
        steps = [{"global_recoding": {"suppress": "tuple", "budget": 0.02}}]
        document = {"sfumato": 1, "columns": described, "meet": [{"k_anonymity": {"k": 5}}], "steps": steps}
        recipe.write_text(json.dumps(document))
        written[name] = (data, recipe)
    return written


def commands(data: Path, recipe: Path, out: Path) -> dict[str, list[str]]:
    """The commands that are watched, in an order in which each finds what it needs."""
    shared = str(out / "share")
    return {
        "run": ["run", str(data), "-r", str(recipe), "-o", str(out), "-q"],
        "attack": ["attack", str(out), "--original", str(data), "--seconds", str(ATTACK_SECONDS), "-q"],
        "evaluate": ["evaluate", str(out), "--original", str(data), "-q"],
        "assess": ["assess", str(data), "-r", str(recipe), "-q"],
        "profile": ["profile", str(data), "-q"],
        "check": ["check", str(out / "share" / "data.parquet"), "-r", str(recipe), "-q"],
        "verify": ["verify", shared, "-q"],
    }


def timed(arguments: list[str], environment: dict[str, str] | None = None) -> tuple[float, int, int]:
    """CPU seconds, peak memory in megabytes and exit code of a process and all below it."""
    process = subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, **(environment or {})}
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (
        0,
        1,
        7,
    ):  # 1: an attack succeeds; 7: not everything can be verified without the original
        sys.exit(f"{' '.join(arguments)} ended with {process.returncode}:\n{said.decode(errors='replace')}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss // 1024, process.returncode


def measure(folder: Path) -> dict[str, dict[str, Figures]]:
    """The figures of every command on every table."""
    figures: dict[str, dict[str, Figures]] = {}
    timed([sys.executable, "-c", IMPORT])
    started, _, _ = timed([sys.executable, "-c", IMPORT])
    for table, (data, recipe) in tables(folder).items():
        copied, _, _ = timed([sys.executable, "-c", COPY, str(data), str(folder / "copy.parquet")])
        out = folder / "out" / table.replace(" ", "_")
        out.parent.mkdir(exist_ok=True)
        for command, arguments in commands(data, recipe, out).items():
            counted = folder / "counted.json"
            cpu, megabytes, _ = timed(
                [sys.executable, str(CHILD), *arguments],
                {"GUARD_ROWS": str(ROWS), "GUARD_COUNTED": str(counted), "SFUMATO_WIDTH": "100"},
            )
            seen = json.loads(counted.read_text())
            ratio = round(cpu / (copied + started), 2)
            figures.setdefault(command, {})[table] = Figures(seen["passes"], seen["modules"], megabytes, ratio)
            print(
                f"{command:<9} {table:<16} passes {seen['passes']:>4}  modules {seen['modules']:>5}  "
                f"{megabytes:>5} MB  CPU {cpu:6.2f} s = {ratio:5.2f} x copy and import",
                flush=True,
            )
    return figures


def compare(figures: dict[str, dict[str, Figures]], factor: float) -> int:
    """Hold all figures against their ceilings; how many are above."""
    ceilings = json.loads(CEILINGS.read_text())
    failures = 0
    for command, by_table in figures.items():
        for table, found in by_table.items():
            allowed = Figures(**ceilings[command][table])
            limits = {
                "passes": allowed.passes,
                "modules": allowed.modules,
                "megabytes": round(allowed.megabytes * MEMORY_SLACK),
                "cpu_ratio": round(allowed.cpu_ratio * factor, 2),
            }
            for what, limit in limits.items():
                figure = getattr(found, what)
                if figure > limit:
                    failures += 1
                    print(f"TOO MUCH: {command} on '{table}': {what} {figure}, ceiling {limit}")
                elif figure < LOWER_BY * getattr(allowed, what):
                    print(f"lower it: {command} on '{table}': {what} {figure}, stored {getattr(allowed, what)}")
    return failures


def main() -> None:
    """Measure, then compare or store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="store what is measured as the new ceilings")
    parser.add_argument("--factor", type=float, default=2.0, help="how many times the stored CPU ratio is allowed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sfumato-guard-") as folder:
        figures = measure(Path(folder))
    if options.update:
        stored = {c: {t: dataclasses.asdict(f) for t, f in by_table.items()} for c, by_table in figures.items()}
        CEILINGS.write_text(json.dumps(stored, indent=1) + "\n")
        print(f"stored in {CEILINGS.name}")
        return
    failures = compare(figures, options.factor)
    total = sum(len(by_table) for by_table in figures.values())
    print(f"{total} commands, {failures} figures above their ceiling")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
