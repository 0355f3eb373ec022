"""Baskets of ten items: counting pairs, and recoding to 5²-anonymity.

make bench BENCH=baskets

Items are drawn by a power law from 10⁴, in groups of ten and departments of a hundred. Every size
is measured in a process of its own: seconds on the clock, CPU seconds and peak memory. What is
released is judged again.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
import polars as pl

ITEMS, LENGTH = 10_000, 10
HEAD = f"{'people':>10} {'what':22} {'seconds':>8} {'CPU s':>8} {'peak MB':>8}"


def main() -> None:
    """Measure all sizes and print the growth."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=float, default=1e6, help="people of the largest file")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measured(asked.one)))
        return
    print(HEAD)
    sizes = [round(asked.people / 10), round(asked.people)]
    spent = {}
    for people in sizes:
        command = [sys.executable, __file__, "--one", str(people)]
        told = json.loads(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[
                -1
            ]
        )
        for what, (wall, cpu) in told["seconds"].items():
            print(
                f"{people:>10,} {what:22} {wall:8.2f} {cpu:8.2f} {told['peak']:8,.0f}", flush=True
            )
            spent[what, people] = cpu
        print(f"{'':10} {told['outcome']}")
    for what in {what for what, _ in spent}:
        growth = math.log(spent[what, sizes[1]] / spent[what, sizes[0]]) / math.log(
            sizes[1] / sizes[0]
        )
        print(f"growth exponent of {what}: {growth:.2f}")


def measured(people: int) -> dict[str, Any]:
    """Read, count pairs, recode and judge."""
    from sfumato.core.step import Goal
    from sfumato.data.baskets.models import KmAnonymity
    from sfumato.data.baskets.recoding import ItemRecoding
    from sfumato.methods.formulas import itemsets

    warm(people_of(2000))
    seconds: dict[str, tuple[float, float]] = {}

    def timed(what: str, work: Any) -> Any:
        wall, cpu = time.perf_counter(), time.process_time()
        made = work()
        seconds[what] = (time.perf_counter() - wall, time.process_time() - cpu)
        return made

    table = rows(people)
    baskets = timed("read", lambda: read(table))
    pairs = timed("count pairs", lambda: itemsets.violating(baskets.sets, 2, 5, limit=0))
    step, goal = ItemRecoding(), Goal(models=(KmAnonymity(5, 2),))
    plan = timed("recode", lambda: step.plan(baskets, goal))
    released = timed("apply", lambda: step.apply(baskets, plan))
    verdict = timed("judge", lambda: KmAnonymity(5, 2).judge(released))
    if not verdict.holds:
        sys.exit("the release does not hold")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    outcome = f"{len(pairs):,} violating sets before; {plan.describe()}; {plan.effort()}"
    return {"seconds": seconds, "peak": peak, "outcome": outcome}


def rows(people: int) -> pl.DataFrame:
    """Ten draws a person from a power law, and who drew them."""
    draws = np.random.default_rng(7)
    weights = 1.0 / np.arange(1, ITEMS + 1) ** 0.8
    chosen = np.searchsorted(
        np.cumsum(weights / weights.sum()), draws.random(people * LENGTH)
    ).clip(0, ITEMS - 1)
    return pl.DataFrame(
        {"who": np.repeat(np.arange(people), LENGTH), "what": draws.permutation(ITEMS)[chosen]}
    )


def read(table: pl.DataFrame) -> Any:
    """The baskets, with a hierarchy of three levels."""
    from sfumato.core.schema import Attribute, Schema
    from sfumato.core.source import Source
    from sfumato.data.baskets.baskets import Baskets
    from sfumato.methods.hierarchies import tree

    groups: dict[str, dict[str, list[str]]] = {}
    for item in range(ITEMS):
        groups.setdefault(f"d{item // 100}", {}).setdefault(f"g{item // 10}", []).append(str(item))
    schema = Schema(
        {"who": Attribute(("person",)), "what": Attribute(("item",), hierarchy=tree({"*": groups}))}
    )
    return Baskets.from_tables({"data": table}, {"data": schema}, Source())


def people_of(people: int) -> Any:
    """Baskets of so many people."""
    return read(rows(people))


def warm(baskets: Any) -> None:
    """Let all loops be compiled before anything is measured."""
    from sfumato.core.step import Goal
    from sfumato.data.baskets.models import KmAnonymity
    from sfumato.data.baskets.recoding import ItemRecoding

    step = ItemRecoding()
    plan = step.plan(baskets, Goal(models=(KmAnonymity(5, 2),)))
    KmAnonymity(5, 2).judge(step.apply(baskets, plan))


if __name__ == "__main__":
    main()
