"""CPU seconds of swapping, shuffling and PRAM on large tables.

    make bench BENCH=exchange

Each line is a second run: kernels are compiled, the table has not been looked at before. The rows are sorted once for each table
(canonical order), which takes about a third of the time of the fast steps.
"""

from __future__ import annotations

import time

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.core.dataset import Dataset
from sfumato.core.randomness import Seed
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.step import Goal, Step

ROWS, HOMES, SECOND = 1_000_000, 100_000, 100_000


def numbers(rows: int, seed: int = 0) -> Dataset:
    """Three columns of numbers, two of them correlated, and two of categories."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=rows)
    frame = {
        "a": first.round(2),
        "b": first + rng.normal(size=rows),
        "c": rng.integers(0, 100, rows),
        "x": rng.choice(["u", "v", "w"], rows, p=[0.5, 0.3, 0.2]),
        "y": rng.integers(0, 50, rows),
    }
    return Dataset(pl.DataFrame(frame)).with_roles(plain=list(frame))


def census(homes: int, seed: int = 0) -> Dataset:
    """Households of one to five people in ten regions with ten districts each."""
    rng = np.random.default_rng(seed)
    size, region = rng.integers(1, 6, homes), rng.integers(0, 10, homes)
    of = np.repeat(np.arange(homes), size)
    frame = {
        "home": of,
        "region": region[of],
        "district": (region * 10 + rng.integers(0, 10, homes))[of],
        "size": size[of],
        "age": rng.integers(0, 90, len(of)),
        "job": rng.integers(0, 50, len(of)),
    }
    plain = {name: Attribute((Role.PLAIN,)) for name in frame if name != "home"}
    return Dataset(pl.DataFrame(frame), Schema({"home": Attribute((Role.UNIT,), unit="household"), **plain}))


def seconds(step: Step, table: Dataset, second: Dataset | None = None) -> float:
    """CPU seconds of planning and applying, on a fresh look at the table."""
    for _ in range(2):
        fresh = Dataset(table.frame, table.schema)
        started = time.process_time()
        step.apply(fresh, step.plan(fresh, Goal(seed=Seed(1), population=second)))
        taken = time.process_time() - started
    return taken


def main() -> None:
    """Print one line a step."""
    table, people, three = numbers(ROWS), census(HOMES), ["a", "b", "c"]
    only = table.drop(["x", "y"])
    places = {"geography": ["region", "district"], "risk": ["age", "job"], "similar": [["size"]]}
    cases = [
        *((f"rank_swap {v}, 3 columns", only, sf.RankSwap(three, p=0.05, variant=v)) for v in
          ("interval", "p_distribution", "p_buckets")),
        ("pram two_stage, 3 columns", table, sf.Pram(["x", "y", "c"], retain=0.8)),
        ("pram direct, 1 column", table, sf.Pram(["x"], invariant="direct", theta=0.5)),
        ("swap_data", table, sf.SwapData(["x"], keep=["y"], rate=0.2)),
        ("swap_similar", table, sf.SwapSimilar(["x"], by="b")),
        ("shuffle_values, 2 columns", table, sf.ShuffleValues(["b", "c"], predictors=["a", "y"])),
        ("swap_households, few at risk", people, sf.SwapHouseholds(**places, k=1, rate=0.1)),
        ("swap_households, most at risk", people, sf.SwapHouseholds(**places, k=5, rate=0.1)),
    ]  # fmt: skip
    print(f"{'step':<34}{'rows':>12}{'CPU s':>9}")
    for name, data, step in cases:
        print(f"{name:<34}{len(data):>12,}{seconds(step, data):>9.2f}", flush=True)
    ours, theirs = numbers(SECOND, 1), numbers(SECOND, 2)
    taken = seconds(sf.SwapAcross(["b"], match=["a", "x"]), ours, theirs)
    print(f"{'swap_across, 10⁵ donors':<34}{len(ours):>12,}{taken:>9.2f}")


if __name__ == "__main__":
    main()
