"""Attacking a release: SUDA2 beside what sdcMicro took for a table of that size, the battery of intruders, and its growth.

    make bench BENCH=risk                                    all of it
    make bench BENCH=risk ARGS='--rows 1e5 --battery 2000'   smaller

SUDA2 runs on eight keys of sdcMicro's household survey, drawn a million times with every tenth cell exchanged, where the
reference data is at hand, and on a generated table of eight keys otherwise. sdcMicro's seconds were measured on another day and
another table of that size, so the ratio is a yardstick, not a race in one run. Seconds are CPU seconds of all threads
together, tables in memory, compiled loops warm.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.attacks.suda import special_uniques
from sfumato.core.attack import Scene
from sfumato.core.dataset import Dataset
from sfumato.core.randomness import Seed
from sfumato.intruders import BATTERY, attacks_by_name, intruder_from
from sfumato.release.release import Release

SDCMICRO_SECONDS, SDCMICRO_ROWS = 11.9, 1_000_000
"""suda2 of sdcMicro 5.8.1, CPU seconds for a million rows and eight keys on a machine of two cores."""
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
SURVEY = Path(os.environ.get("SFUMATO_REFERENCE_DATA", SHARED)) / "survey" / "testdata.csv"
KEYS = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "age")
WHO_SAMPLES = 2000


def main() -> None:
    """Measure special uniques, the whole battery, and how both grow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=SDCMICRO_ROWS, help="rows of the table of special uniques")
    parser.add_argument("--battery", type=float, default=32_000, help="rows of the largest table that is attacked")
    given = parser.parse_args()
    special(int(given.rows))
    battery(int(given.battery))


def special(rows: int) -> None:
    """SUDA2 on tables that grow tenfold; one line each."""
    print(f"{'SUDA2 on eight keys':<28}{'distinct':>10}{'uniques':>10}{'CPU s':>9}{'sdcMicro s':>12}{'ratio':>8}")
    special_uniques(keys_of(1000))
    for amount in sorted({max(1000, rows // 100), max(1000, rows // 10), rows}):
        table = keys_of(amount)
        started = time.process_time()
        found = special_uniques(table)
        seconds = time.process_time() - started
        peer = f"{SDCMICRO_SECONDS:>12.1f}{SDCMICRO_SECONDS / seconds:>7.1f}×" if amount == SDCMICRO_ROWS else ""
        distinct, uniques = table.to_polars().n_unique(), int((found.scores > 0).sum())
        print(f"{f'{amount:,} rows':<28}{distinct:>10,}{uniques:>10,}{seconds:>9.2f}{peer}", flush=True)


def keys_of(rows: int) -> Dataset:
    """Eight keys of the survey, or generated ones."""
    if not SURVEY.is_file():
        table = sf.examples.large(rows, columns=8)
        return table.drop(table.schema.sensitive)
    base, rng = pl.read_csv(SURVEY, infer_schema_length=10_000).select(KEYS), np.random.default_rng(0)
    drawn, columns = rng.integers(0, len(base), rows), {}
    for name in KEYS:
        values = base[name].to_numpy()
        other = values[rng.integers(0, len(base), rows)]
        columns[name] = np.where(rng.random(rows) < 0.1, other, values[drawn])
    return Dataset(pl.DataFrame(columns)).with_roles(quasi=list(KEYS))


def battery(rows: int) -> None:
    """Every attack of every intruder on releases of the hospital table that grow fourfold; a line an attack."""
    sizes = sorted({max(500, rows // 16), max(500, rows // 4), rows})
    tried(release_of(500))
    found = {size: tried(release_of(size)) for size in sizes}
    print(f"\n{'CPU s by rows of the table':<40}" + "".join(f"{size:>10,}" for size in sizes) + f"{'growth':>9}")
    for key in found[sizes[-1]]:
        seconds = [found[size].get(key, float("nan")) for size in sizes]
        print(f"{key:<40}" + "".join(f"{s:>10.2f}" for s in seconds) + growth(sizes, seconds), flush=True)
    totals = [sum(found[size].values()) for size in sizes]
    print(f"{'all':<40}" + "".join(f"{s:>10.2f}" for s in totals) + growth(sizes, totals))


def growth(sizes: list[int], seconds: list[float]) -> str:
    """The power of the number of rows with which the time grows from the first to the last size."""
    if len(sizes) < 2 or not min(seconds[0], seconds[-1]) >= 0.05:
        return f"{'–':>9}"
    return f"{'n^':>5}{np.log(seconds[-1] / seconds[0]) / np.log(sizes[-1] / sizes[0]):.2f}"


def release_of(rows: int) -> Release:
    """The hospital table, k = 5, recoded globally."""
    people = sf.examples.hospital(rows=rows)
    return sf.anonymize(people, [sf.KAnonymity(5)], [sf.GlobalRecoding(budget=0.02)], seed="00")


def tried(release: Release) -> dict[str, float]:
    """CPU seconds of each attack that applies, by intruder; all have a minute."""
    pair, attacks, found = release.pair, attacks_by_name(), {}
    for profile in BATTERY:
        who = intruder_from(pair, profile.knows(pair), sample=WHO_SAMPLES, seed=Seed(0))
        for name in profile.attacks:
            scene, attack = Scene(pair, who, release.recipe.steps, release.recipe.meet), attacks[name]()
            started = time.process_time()
            if attack.applies(scene) is None:
                attack.attack(scene)
                found[f"{profile.name}: {name}"] = time.process_time() - started
    return found


if __name__ == "__main__":
    main()
