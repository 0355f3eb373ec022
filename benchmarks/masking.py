"""Seconds a masking step takes, and how they grow with the rows.

    make bench BENCH=masking

There is no package on PyPI that does these steps with weights, strata, units and a result that does not depend on the order of
rows, so no peer runs beside them: a line tells CPU seconds for 10⁵ and 10⁶ rows, and the exponent with which they grow
(1: in step with the rows). The table is ordered anew for each run, which is part of every random step.
"""

from __future__ import annotations

import datetime
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.core.dataset import Dataset
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal

SIZES = (100_000, 1_000_000)
NUMBERS = ["a", "b", "c", "d", "e"]

CASES: dict[str, Callable[[], Any]] = {
    "sample, simple": lambda: sf.Sample(0.1),
    "sample, stratified": lambda: sf.Sample(0.1, method="stratified", within=["region"], weight="grossing"),
    "top coding, mean": lambda: sf.TopBottomCoding(NUMBERS, top_quantile=0.99, replacement="mean"),
    "recode, breaks": lambda: sf.Recode(NUMBERS[:1], breaks=[-1, 0, 1]),
    "recode, mapping": lambda: sf.Recode(["region"], mapping={f"r{i}": f"g{i % 4}" for i in range(20)}),
    "round, random": lambda: sf.Round(NUMBERS, 0.5, method="random"),
    "round, controlled": lambda: sf.Round(NUMBERS, 0.5, method="controlled"),
    "shift dates": lambda: sf.ShiftDates(["seen", "left"], 60),
    "noise, uncorrelated": lambda: sf.AddNoise(NUMBERS, 0.3, method="uncorrelated"),
    "noise, correlated": lambda: sf.AddNoise(NUMBERS, 0.3),
    "noise, Kim in strata": lambda: sf.AddNoise(NUMBERS, 0.3, method="kim", within=["region"]),
    "noise, outliers only": lambda: sf.AddNoise(NUMBERS, 0.3, method="outliers"),
    "noise, Sullivan": lambda: sf.AddNoise(NUMBERS, 0.3, method="sullivan"),
}


def people(rows: int) -> pl.DataFrame:
    """Five correlated columns of numbers, twenty regions, two dates."""
    rng = np.random.default_rng(1)
    mixed = rng.standard_normal((rows, 5)) @ rng.normal(size=(5, 5))
    start = datetime.date(2020, 1, 1)
    days = pl.Series(rng.integers(0, 1500, rows))
    return pl.DataFrame(
        {name: mixed[:, j] for j, name in enumerate(NUMBERS)}
        | {"region": np.array([f"r{i}" for i in range(20)])[rng.integers(0, 20, rows)]}
    ).with_columns(seen=pl.lit(start) + pl.duration(days=days), left=pl.lit(start) + pl.duration(days=days + 9))


def seconds(step: Any, frame: pl.DataFrame) -> float:
    """CPU seconds to plan and apply a step on a table that nothing was counted of yet."""
    dataset = Dataset(frame)
    started = time.process_time()
    step.apply(dataset, step.plan(dataset, Goal(seed=Seed(1))))
    return time.process_time() - started


def main() -> None:
    """Print one line a case."""
    print(f"{'step':<24}" + "".join(f"{f'{rows:,} rows':>18}" for rows in SIZES) + f"{'grows by':>12}")
    frames = [people(rows) for rows in SIZES]
    for name, make in CASES.items():
        seconds(make(), frames[0][:1000])  # warm: kernels compiled, packages imported
        took = [seconds(make(), frame) for frame in frames]
        grows = math.log(took[1] / took[0]) / math.log(SIZES[1] / SIZES[0])
        print(f"{name:<24}" + "".join(f"{t:>16.2f} s" for t in took) + f"{f'n^{grows:.2f}':>12}", flush=True)


if __name__ == "__main__":
    main()
