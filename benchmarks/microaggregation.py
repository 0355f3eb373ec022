"""Error and time of microaggregation: the three tables of the literature, MDAV on 50,000 records, large tables in blocks.

    make bench BENCH=microaggregation

The first part needs the reference data (SFUMATO_REFERENCE_DATA, or ``shared/data`` beside the repository) and takes as many
seconds a row as given: ``python benchmarks/microaggregation.py 10 3`` searches 10 CPU seconds with each of three seeds.
sdcMicro 5.8.1 needed 16.5 CPU seconds for MDAV on 50,000 × 5 standard normal numbers with k = 3 on a machine of two cores: the ratio
is a yardstick, not a race in one run.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.steps import Microaggregate

HOME = Path(os.environ.get("SFUMATO_REFERENCE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
SDC_MICRO = 16.5
# 100·SSE/SST of the best partitions that 60 s of local search had found before
KNOWN = {
    "Tarragona": {3: 14.666, 4: 17.340, 5: 20.305, 10: 30.311},
    "Census": {3: 4.870, 4: 6.338, 5: 7.490, 10: 11.619},
    "EIA": {3: 0.350, 4: 0.491, 5: 0.734, 10: 2.010},
}
LEFT_OUT = ("UTILNAME", "STATE", "YEAR", "MONTH")


def planned(table: sf.Dataset, k: int, seed: int = 1, **options: object) -> tuple[float, float]:
    """100·SSE/SST and CPU seconds of one plan."""
    step = Microaggregate(table.columns, k, **options)
    started = time.process_time()
    plan = step.plan(table, Goal(seed=Seed(seed)))
    return 100 * plan.owner["sse_over_sst"], time.process_time() - started


def literature(seconds: float, seeds: int) -> None:
    """One line a table and k."""
    print(f"{'table':<12}{'k':>4}{'MDAV':>10}{'refined':>10}{'best':>10}{'known':>9}{'against it':>12}{'CPU s':>8}")
    for name, known in KNOWN.items():
        frame = pl.read_csv(HOME / "microaggregation" / f"{name}.csv")
        table = sf.Dataset(frame.drop([c for c in LEFT_OUT if c in frame.columns]))
        for k, bar in known.items():
            mdav, _ = planned(table, k)
            refined, _ = planned(table, k, method="refined")
            runs = [planned(table, k, seed, method="best", seconds=seconds) for seed in range(1, seeds + 1)]
            best, spent = statistics.median(r[0] for r in runs), statistics.median(r[1] for r in runs)
            line = f"{name:<12}{k:>4}{mdav:>10.4f}{refined:>10.4f}{best:>10.4f}{bar:>9.3f}{best / bar - 1:>+12.2%}{spent:>8.1f}"
            print(line, flush=True)


def speed() -> None:
    """MDAV on 50,000 records; blocks against plain MDAV on the same records; a million records in blocks."""
    normal = np.random.default_rng(1).standard_normal((1_000_000, 5))
    names = list("abcde")
    sample = sf.Dataset(pl.DataFrame(normal[:50_000], schema=names))
    planned(sf.Dataset(pl.DataFrame(normal[:100], schema=names)), 3)  # warm: kernels compiled
    plain, seconds = planned(sample, 3)
    print(f"\n{'MDAV, 50,000 × 5, k=3':<34}{plain:>10.4f}{seconds:>8.2f} CPU s{SDC_MICRO / seconds:>7.1f}× sdcMicro")
    for block in (5_000, 20_000):
        cut, seconds = planned(sample, 3, method="partitioned", block=block)
        print(
            f"{f'blocks of {block:,}, the same records':<34}{cut:>10.4f}{seconds:>8.2f} CPU s{cut / plain - 1:>+9.2%} error"
        )
    cut, seconds = planned(sf.Dataset(pl.DataFrame(normal, schema=names)), 3, method="partitioned")
    print(f"{'blocks of 20,000, 10⁶ × 5, k=3':<34}{cut:>10.4f}{seconds:>8.2f} CPU s")


def main() -> None:
    """Both parts, or the second alone where the reference data is not there."""
    if (HOME / "microaggregation").is_dir():
        literature(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    speed()


if __name__ == "__main__":
    main()
