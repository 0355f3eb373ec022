"""Cells that must go for k = 3, beside sdcMicro on the same tables: seconds and cells.

make bench BENCH=suppression
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from race import Options, Ours, Race, Theirs, best_of, script
from tables import EARLIER, KEYS, TIMES, survey_keys

import sfumato as sf
from sfumato.core.step import Goal


def cells(
    rows: int, keys: tuple[str, ...], redrawn: float, rare: int, most: int
) -> Callable[[Options], Ours]:
    """Suppress cells of a table of the survey's keys."""

    def measured(_: Options) -> Ours:
        table, step, goal = (
            survey_keys(rows, keys, redrawn),
            sf.Suppress("cell"),
            Goal(models=(sf.KAnonymity(3),)),
        )
        found = sf.judge(table, [sf.KAnonymity(3)])[0].records
        cpu, wall, (plan, out) = best_of(
            3,
            lambda fresh: (plan := step.plan(fresh, goal), step.apply(fresh, plan)),
            lambda: dataclasses.replace(table),
        )
        gone = sum(plan.describe()["suppressed_cells"].values())
        holds = sf.judge(out, [sf.KAnonymity(3)])[0].holds
        return Ours(
            cpu,
            found == rare and gone <= most and holds,
            f"{found} rare records, {gone} cells, sdcMicro {most}",
            wall,
        )

    return measured


def against_sdcmicro(
    task: str,
    rows: int,
    keys: tuple[str, ...],
    redrawn: float,
    rare: int,
    most: int,
    seconds: float,
    measured: str,
) -> Race:
    """A race on a table on which sdcMicro was timed."""
    check = (
        f"the same {rare:,} rare records, k = 3 holds, and no more cells than sdcMicro's {most:,}"
    )
    stored = Theirs("sdcMicro 5.8.1", seconds, measured)
    return Race(task, check, cells(rows, keys, redrawn, rare, most), stored=stored, times=1.0)


RACES = (
    against_sdcmicro("cell suppression, 10⁶ × 7", 10**6, KEYS[:7], 0.012, 637, 660, 4.35, TIMES),
    against_sdcmicro(
        "cell suppression, 2·10⁴ × 8",
        20_000,
        KEYS,
        0.22,
        7_453,
        7_583,
        120.0,
        f"{EARLIER}, which was busy",
    ),
)

if __name__ == "__main__":
    script(__file__)
