"""Do reply times tell neighbouring tables apart? A two-sample test on 200 runs each.

    make bench BENCH=queries                            a table of 100,000 rows, a quantum of 0.1
    seconds make bench BENCH=queries ARGS='--rows 1000000 --quantum 0.5'

Every question is asked in turn of two tables that differ in one person, chosen to be as telling as
one person can be: at the bound instead of in the middle, in a rare group, missing. Each time with
new noise, in random order. The test is that of Kolmogorov and Smirnov; a p-value above 0.01 means
that 200 replies a table do not tell them apart. Shown with the quantum, which is what people who
ask can see, and without, which is what the data-independent plan does alone. With ten questions,
one p-value below 0.01 comes by chance in one of ten runs: run it again before believing it.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable

import numpy as np
import polars as pl
from scipy.stats import ks_2samp

import sfumato as sf
from sfumato.results.queries import SessionOptions

RUNS = 200
LEVEL = 0.01

QUESTIONS: dict[str, Callable[[sf.dp.Session], sf.dp.Answer]] = {
    "count": lambda s: s.count(epsilon=0.1, fresh=True),
    "filtered count": lambda s: (
        s.where("age", ">", 90).where("sex", "=", "f").count(epsilon=0.1, fresh=True)
    ),
    "mean by group": lambda s: s.group_by("sex").mean("age", epsilon=0.1, fresh=True),
    "variance": lambda s: s.variance("age", epsilon=0.1, fresh=True),
    "median": lambda s: s.quantile("age", epsilon=0.1, fresh=True),
}


def neighbours(rows: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A table and the same without its last person, who is unlike all others."""
    numbers = np.random.default_rng(1)
    most = pl.DataFrame(
        {
            "age": numbers.uniform(40, 60, rows - 1),
            "sex": numbers.choice(["f", "m"], rows - 1),
        }
    )
    person = pl.DataFrame({"age": [1e300], "sex": ["somebody who is the only one"]})
    return pl.concat([most, person]), most


def session(frame: pl.DataFrame, quantum: float | None) -> sf.dp.Session:
    """A session with a budget that does not end here."""
    options = SessionOptions(domains={"sex": ["f", "m"]}, quantum=quantum)
    return sf.dp.session(sf.read(frame), budget=1e9, bounds={"age": (0, 110)}, options=options)


def measure(
    tables: tuple[pl.DataFrame, pl.DataFrame], ask: Callable, quantum: float | None
) -> tuple[list, list]:
    """Seconds of every reply, of both tables, in random order."""
    sessions = [session(frame, quantum) for frame in tables]
    for one in sessions:
        ask(one)  # columns are read once
    turns = [0, 1] * RUNS
    random.shuffle(turns)
    took: tuple[list[float], list[float]] = ([], [])
    for which in turns:
        start = time.perf_counter()
        ask(sessions[which])
        took[which].append(time.perf_counter() - start)
    return took


def main() -> None:
    """Measure every question with and without the quantum."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--quantum", type=float, default=0.1)
    options = parser.parse_args()
    tables = neighbours(options.rows)
    print(f"{options.rows:,} rows, {RUNS} replies a table, quantum {options.quantum:g} s")
    print(f"{'question':<16}{'quantum':>10}{'median ms':>12}{'p':>9}")
    for name, ask in QUESTIONS.items():
        for quantum in (options.quantum, None):
            one, other = measure(tables, ask, quantum)
            p = ks_2samp(one, other).pvalue
            shown = "none" if quantum is None else f"{quantum:g}"
            verdict = "" if p > LEVEL else "  told apart"
            print(f"{name:<16}{shown:>10}{1000 * np.median(one + other):>12.2f}{p:>9.3f}{verdict}")


if __name__ == "__main__":
    main()
