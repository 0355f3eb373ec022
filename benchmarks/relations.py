"""Several tables that join, from the shell prompt to the verified folder: wall and CPU seconds,
peak memory, and whether all keys join.

make bench BENCH=relations                            200,000 people, a million visits, a million
prescriptions make bench BENCH=relations ARGS='--people 1000000 --visits 1'   three tables of a
million rows

Files are written first and not measured. ``sfumato run`` and ``sfumato verify`` each run in a
process of their own, as a user starts them; intruders get no time, since the race is about reading,
recoding, judging and writing. Checked: all promises hold, every released key names a row, and no
key of the input is in a released file.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from sfumato.data.examples import clinic_tables

RECIPE = """
sfumato: 1
tables:
  people:
    key: person_id
    columns:
      name: {role: drop}
      age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [5, 10, 20, 40]}}}
      sex: {role: quasi, hierarchy: {suppress: {}}}
      region: {role: quasi, hierarchy: {suppress: {}}}
      diagnosis: {role: sensitive}
  visits:
    key: visit_id
    belongs_to: {people: person_id}
    columns:
      ward: {role: quasi, hierarchy: {suppress: {}}}
      month: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [3, 6]}}}
      cost: {role: keep, kind: numeric}
  prescriptions:
    belongs_to: {visits: visit_id}
    columns: {drug: {role: sensitive}, days: {role: keep, kind: numeric}}
meet:
  - k_anonymity: {k: 5, table: people}
  - l_diversity: {sensitive: diagnosis, l: 2, table: people}
  - k_anonymity: {k: 5, table: visits}
steps:
  - cap_rows: {table: visits, at_most: 10}
  - global_recoding: {suppress: tuple, budget: 0.02, table: people}
  - global_recoding: {suppress: tuple, budget: 0.02, table: visits}
"""


def timed(*arguments: str) -> tuple[float, float, float, int]:
    """Wall seconds, CPU seconds, peak MB and exit code of a command."""
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "sfumato", *arguments], stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    return (
        wall,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
        os.waitstatus_to_exitcode(status),
    )


def joins(share: Path, files: dict[str, Path]) -> bool:
    """Whether every released key names a row, and none of them is one of the input."""
    people, visits, given = (
        pl.read_csv(share / f"{name}.csv") for name in ("people", "visits", "prescriptions")
    )
    raw = pl.read_csv(files["people"])["person_id"]
    return bool(
        people["person_id"].is_unique().all()
        and visits["person_id"].is_in(people["person_id"].implode()).all()
        and given["visit_id"].is_in(visits["visit_id"].implode()).all()
        and not people["person_id"].is_in(raw.implode()).any()
    )


def main() -> None:
    """Write the tables, run and verify, and say what it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=200_000)
    parser.add_argument("--visits", type=float, default=5.0, help="visits of a person on average")
    parser.add_argument(
        "--prescriptions", type=float, default=1.0, help="prescriptions of a visit on average"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder, out = Path(place) / "clinic", Path(place) / "out"
        folder.mkdir()
        tables = clinic_tables(asked.people, visits=asked.visits, prescriptions=asked.prescriptions)
        files = {name: folder / f"{name}.csv" for name in tables}
        for name, table in tables.items():
            table.write_csv(files[name])
            print(f"{name}: {table.height:,} rows, {files[name].stat().st_size / 1e6:.0f} MB")
        del tables
        (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
        run = (
            "run",
            str(folder),
            "-r",
            str(folder / "recipe.yaml"),
            "-o",
            str(out),
            "--attack",
            "0",
            "-q",
        )
        for what, command in (("run", run), ("verify", ("verify", str(out / "share"), "-q"))):
            wall, cpu, memory, code = timed(*command)
            print(
                f"{what:8} {wall:7.1f} s wall {cpu:7.1f} s CPU {memory:8.0f} MB peak "
                f" {'ok' if code == 0 else f'exit {code}'}"
            )
        print(
            "every key joins, none is of the input"
            if joins(out / "share", files)
            else "KEYS DO NOT JOIN"
        )


if __name__ == "__main__":
    main()
