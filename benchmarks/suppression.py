"""Cells that must go for k-anonymity, and the time it takes, beside what sdcMicro 5.8.1 took for tasks of that size.

    make bench BENCH=suppression

sdcMicro's seconds were measured on another day on a machine of two cores (k=3: 21.2 s for 10⁶ rows and 7 keys with 1,438
rare records; 172 s for 2·10⁴ rows and 8 keys with 9,406), so the ratio is a yardstick, not a race in one run.
"""

from __future__ import annotations

import time

import sfumato as sf
from sfumato.core.step import Goal

CASES = (("10⁶ rows × 7 keys", 1_000_000, 7, "few", 21.2), ("2·10⁴ rows × 8 keys", 20_000, 8, "few", 172.0))


def main() -> None:
    """Print one line a case."""
    print(f"{'table':<24}{'rare records':>14}{'cells':>10}{'CPU s':>9}{'sdcMicro s':>12}{'ratio':>8}")
    for name, rows, columns, distinct, reference in CASES:
        people = sf.examples.large(rows, columns=columns, distinct=distinct)
        rare = sf.judge(people, [sf.KAnonymity(3)])[0].records
        goal, step = Goal(models=(sf.KAnonymity(3),)), sf.Suppress("cell")
        step.apply(people, step.plan(people, goal))  # warm: kernels compiled, table counted
        started = time.process_time()
        plan = step.plan(people, goal)
        step.apply(people, plan)
        seconds = time.process_time() - started
        cells = sum(plan.describe()["suppressed_cells"].values())
        print(
            f"{name:<24}{rare:>14,}{cells:>10,}{seconds:>9.2f}{reference:>12.1f}{reference / seconds:>7.0f}×",
            flush=True,
        )


if __name__ == "__main__":
    main()
