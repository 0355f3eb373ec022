"""Paths: reading, unicity and recoding to a promise, in CPU seconds and peak memory, and how they
grow.

make bench BENCH=paths                        10⁵ and 10⁶ points of 10³ and 10⁴ people
make bench BENCH=paths ARGS='--people 100000'     up to 10⁷ points

Every size runs in a process of its own; loops are compiled before anything is measured. Checked:
the promise holds, nobody is alone with as few points as it speaks of, and the curve of unicity
never falls.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from sfumato.core.attack import Scene
from sfumato.core.randomness import Seed
from sfumato.core.source import Source
from sfumato.core.step import Goal
from sfumato.data.examples.journeys import mobility_schema, mobility_table
from sfumato.data.paths import LkcPrivacy, PathRecoding, PointSuppression, Unicity
from sfumato.data.paths.trajectories import Trajectories

DAYS, POINTS = 10, 10
PROMISE = LkcPrivacy(5, l=2)


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """CPU and wall seconds of some work, and its result."""
    began, started = time.perf_counter(), time.process_time()
    result = work()
    return time.process_time() - started, time.perf_counter() - began, result


def read(people: int) -> Trajectories:
    """The paths of an invented city, from a table as a file gives it."""
    frame = mobility_table(people, days=DAYS, points=POINTS)
    schema = mobility_schema(frame)
    return Trajectories.from_tables({"data": frame}, {"data": schema}, Source("mobility"))


def recoded(paths: Trajectories, budget: float) -> Trajectories:
    """Recode to the promise; with a budget, suppress what is left."""
    steps = [PathRecoding(cell=500, budget=budget), *([PointSuppression()] if budget else [])]
    for step in steps:
        paths = step.apply(paths, step.plan(paths, Goal((PROMISE,))))  # type: ignore[arg-type,attr-defined]
    return paths


def measure(people: int) -> dict[str, Any]:
    """All tasks at one size."""
    warm = read(50)
    Unicity(draws=2).attack(Scene(warm, recoded(warm, 0.2)))
    frame = mobility_table(people, days=DAYS, points=POINTS)
    schema = mobility_schema(frame)
    told: dict[str, Any] = {"points": frame.height}
    *told["read"], paths = timed(
        lambda: Trajectories.from_tables({"data": frame}, {"data": schema}, Source("mobility"))
    )
    *told["unicity before"], before = timed(
        lambda: Unicity().attack(Scene(paths, paths, seed=Seed(1)))
    )
    *told["recode to (5)_2"], coarse = timed(lambda: recoded(paths, 0.0))
    *told["recode within 5 %, suppress"], finer = timed(lambda: recoded(paths, 0.05))
    *told["unicity after"], after = timed(
        lambda: Unicity().attack(Scene(paths, finer, seed=Seed(1)))
    )
    curves = [[share for _, share in one.details["curve"]["points"]] for one in (before, after)]
    told["right"] = bool(
        PROMISE.judge(coarse).holds
        and PROMISE.judge(finer).holds
        and curves[1][:2] == [0, 0]
        and all(curve == sorted(curve) for curve in curves)
    )
    told["curves"] = [[round(share, 4) for share in curve] for curve in curves]
    told["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return told


def main() -> None:
    """Measure two sizes, each in a process of its own, and how tasks grow from one to the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--child", action="store_true")
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.people)))
        return
    sizes = [options.people // 10, options.people]
    told = []
    for size in sizes:
        command = [sys.executable, __file__, "--child", "--people", str(size)]
        told.append(
            json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        )
    small, large = told
    print(
        f"{small['points']:,} and {large['points']:,} points of {sizes[0]:,} and {sizes[1]:,}"
        " people"
    )
    print(f"{'':<30}{'cpu s':>9}{'cpu s':>9}{'wall s':>9}{'growth':>9}")
    for task in (
        name for name, value in large.items() if isinstance(value, list) and name != "curves"
    ):
        (cpu, _), (more, wall) = small[task], large[task]
        grown = math.log(more / cpu) / math.log(large["points"] / small["points"])
        print(f"{task:<30}{cpu:>9.2f}{more:>9.2f}{wall:>9.2f}{'n^' + format(grown, '.2f'):>9}")
    print(
        f"peak {small['peak MB']:,.0f} and {large['peak MB']:,.0f} MB; unicity before and after"
        f" {large['curves']}"
    )
    if not (small["right"] and large["right"]):
        sys.exit("a promise does not hold, or a curve falls")


if __name__ == "__main__":
    main()
