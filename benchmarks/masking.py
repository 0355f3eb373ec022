"""Seconds of the steps that mask, swap and exchange values on 10⁶ rows, and how they grow from 10⁵.

make bench BENCH=masking

No package on PyPI does these steps with weights, strata, units and a result that does not depend on
the order of rows, so no peer runs beside them. The rows are ordered anew for each run, which is
part of every random step.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from race import Ours, Race, at, best_of, growth, once, script

import sfumato as sf
from sfumato.core.randomness import Seed
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table

NUMBERS = ["a", "b", "c", "d", "e"]


@once
def people(rows: int) -> Table:
    """Five correlated columns of numbers, twenty regions, a group, two dates."""
    rng = np.random.default_rng(1)
    mixed = rng.standard_normal((rows, 5)) @ rng.normal(size=(5, 5))
    start, days = datetime.date(2020, 1, 1), pl.Series(rng.integers(0, 1500, rows))
    frame = pl.DataFrame(
        {name: mixed[:, j] for j, name in enumerate(NUMBERS)}
        | {
            "region": np.array([f"r{i}" for i in range(20)])[rng.integers(0, 20, rows)],
            "group": rng.integers(0, 50, rows),
        }
    )
    return Table(
        frame.with_columns(
            seen=pl.lit(start) + pl.duration(days=days),
            left=pl.lit(start) + pl.duration(days=days + 9),
        )
    )


@once
def homes(rows: int) -> Table:
    """Households of one to five people in ten regions with ten districts each, about so many
    people.
    """
    rng = np.random.default_rng(0)
    size, region = rng.integers(1, 6, rows // 3), rng.integers(0, 10, rows // 3)
    of = np.repeat(np.arange(rows // 3), size)
    frame = {
        "home": of,
        "region": region[of],
        "district": (region * 10 + rng.integers(0, 10, rows // 3))[of],
        "size": size[of],
        "age": rng.integers(0, 90, len(of)),
        "job": rng.integers(0, 50, len(of)),
    }
    plain = {name: Attribute((Role.KEEP,)) for name in frame if name != "home"}
    return Table(pl.DataFrame(frame), Schema({"home": Attribute((Role.HOUSEHOLD,)), **plain}))


def applied(step: Any, table: Table) -> Table:
    """Plan and apply a step."""
    out: Table = step.apply(table, step.plan(table, Goal(seed=Seed(1))))
    return out


def any_order(step: Any, table: Table) -> bool:
    """Whether rows in another order give the same release, as a set of rows."""
    frame = table.to_polars()
    turned = Table(frame.reverse(), table.schema)
    one, other = (applied(step, t).to_polars() for t in (table, turned))
    return one.sort(one.columns).equals(other.sort(other.columns))


def work(step: Any, make: Callable[[int], Table]) -> Callable[[int], Ours]:
    """Seconds of a step on a table that nothing was counted of yet."""

    @once
    def measured(rows: int) -> Ours:
        right = any_order(step, make(3000))  # and loops are compiled
        cpu, wall, out = best_of(
            1,
            lambda fresh: applied(step, fresh),
            lambda: Table(make(rows).frame, make(rows).schema),
        )
        return Ours(cpu, right, f"{len(out):,} rows", wall)

    return measured


PLACES = {"geography": ["region", "district"], "risk": ["age", "job"], "similar": [["size"]]}
STEPS: dict[str, Any] = {
    "sample, simple": sf.Sample(0.1),
    "sample, stratified": sf.Sample(0.1, method="stratified", within=["region"], weight="grossing"),
    "top coding, mean": sf.TopBottomCoding(NUMBERS, top_quantile=0.99, replacement="mean"),
    "recode, breaks": sf.Recode(NUMBERS[:1], breaks=[-1, 0, 1]),
    "recode, mapping": sf.Recode(["region"], mapping={f"r{i}": f"g{i % 4}" for i in range(20)}),
    "round, random": sf.Round(NUMBERS, 0.5, method="random"),
    "round, controlled": sf.Round(NUMBERS, 0.5, method="controlled"),
    "shift dates": sf.ShiftDates(["seen", "left"], 60),
    "noise, uncorrelated": sf.AddNoise(NUMBERS, 0.3, method="uncorrelated"),
    "noise, correlated": sf.AddNoise(NUMBERS, 0.3),
    "noise, Kim in strata": sf.AddNoise(NUMBERS, 0.3, method="kim", within=["region"]),
    "noise, outliers only": sf.AddNoise(NUMBERS, 0.3, method="outliers"),
    "noise, Sullivan": sf.AddNoise(NUMBERS, 0.3, method="sullivan"),
    **{
        f"rank swap, {v}": sf.RankSwap(NUMBERS[:3], p=0.05, variant=v)
        for v in ("interval", "p_distribution", "p_buckets")
    },
    "PRAM, two stages": sf.Pram(["region", "group"], retain=0.8),
    "PRAM, direct": sf.Pram(["region"], invariant="direct", theta=0.5),
    "swap data": sf.SwapData(["region"], keep=["group"], rate=0.2),
    "swap similar": sf.SwapSimilar(["region"], by="b"),
    "shuffle values": sf.ShuffleValues(["b", "c"], predictors=["a", "group"]),
}
HOUSEHOLDS = {
    "swap households, few at risk": sf.SwapHouseholds(**PLACES, k=1, rate=0.1),
    "swap households, most at risk": sf.SwapHouseholds(**PLACES, k=5, rate=0.1),
}
CHECK = "rows in another order give the same release"
TASKS = {name: work(step, people) for name, step in STEPS.items()} | {
    name: work(step, homes) for name, step in HOUSEHOLDS.items()
}
RACES = tuple(
    race
    for name, task in TASKS.items()
    for race in (
        Race(f"{name}, 10⁶ rows", CHECK, at(10**6, task)),
        Race(f"growth of {name}", CHECK, growth(task), unit="n^"),
    )
)

if __name__ == "__main__":
    script(__file__)
