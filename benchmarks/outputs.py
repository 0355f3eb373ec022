"""Tables of results: a hundred thousand cells with hierarchies protected by boxes, and the audit
beside it.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import polars as pl

from sfumato.results.tables.rules import PPercent, Threshold
from sfumato.results.tables.table import tabulate

RECORDS = 1_000_000
CODES = {"region": (10, 10), "branch": (5, 5), "size": (5, 5)}

CASES = (
    ("count", ["region", "branch", "size"], [Threshold(5)]),
    # respondents who are alone in a cell attack sums too
    ("sum(turnover)", ["region", "branch", "size"], [Threshold(5), PPercent(10)]),
)


def records(count: int, seed: int = 7) -> pl.DataFrame:
    """Records whose codes of two letters are nested: the first letter is the coarser level."""
    draw = np.random.default_rng(seed)
    columns: dict[str, object] = {}
    for name, (wide, deep) in CODES.items():
        share = draw.dirichlet(np.full(wide * deep, 1.5))
        codes = [f"{chr(97 + at // deep)}{chr(97 + at % deep)}" for at in range(wide * deep)]
        columns[name] = np.array(codes)[draw.choice(wide * deep, count, p=share)]
    return pl.DataFrame({**columns, "turnover": draw.lognormal(3, 1, count).round(0)})


def main(count: int) -> None:
    """Print what it takes."""
    import sfumato as sf

    frame = records(count)
    hierarchies = {name: sf.mask_right(2) for name in CODES}
    for measure, columns, rules in CASES:
        started, cpu = time.perf_counter(), time.process_time()
        table = tabulate(
            frame,
            columns,
            measure,
            options=sf.CountOptions(hierarchies={name: hierarchies[name] for name in columns}),
        )
        judged = table.sensitive(*rules)
        print(
            f"{measure}: {len(judged.unsafe):,} cells, {len(judged):,} sensitive,"
            f" {time.perf_counter() - started:.1f} s to tabulate",
            flush=True,
        )
        begun = time.perf_counter()
        made = judged.protect("heuristic")
        print(*made.sentences(), sep="\n")
        print(
            f"protected in {time.perf_counter() - begun:.1f} s, all"
            f" {time.perf_counter() - started:.1f} s ({time.process_time() - cpu:.1f} CPU s); audit"
            f" {made.audited.seconds:.1f} s\n",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS)
