"""Attacks: SUDA2 beside sdcMicro's on the same table, the whole battery of intruders on a release,
and how both grow.

make bench BENCH=risk
"""

from __future__ import annotations

import polars as pl
from race import Ours, Race, Theirs, at, best_of, growth, once, script
from tables import KEYS, SAME_SIZE, released, survey_keys

from sfumato.methods.attacks.suda import special_uniques


@once
def suda(rows: int) -> Ours:
    """Special uniques of the survey's keys: who has a score is alone on all keys, as polars
    counts.
    """
    table = survey_keys(rows, KEYS, 0.1)
    special_uniques(survey_keys(1000, KEYS, 0.1))  # compiled loops are warm
    cpu, wall, found = best_of(2, lambda _: special_uniques(table))
    alone = table.to_polars().select(pl.len().over(KEYS) == 1).to_series().to_numpy()
    seen = f"{int(alone.sum()):,} records alone"
    return Ours(
        cpu,
        bool(((found.scores > 0) == alone).all() and (found.minimal[alone] > 0).all()),
        seen,
        wall,
    )


@once
def battery(rows: int) -> Ours:
    """Every named intruder tries everything: nothing is left out for want of time, and nearest
    records do not beat 1/k.
    """
    release = released(rows)
    cpu, wall, report = best_of(1, lambda _: release.attack(seconds=3600))
    late = [skip.attack for skip in report.skipped if "time" in skip.reason]
    found = report.values()
    worst = max(found["linkage"], found["worst_case_linkage"])
    return Ours(
        cpu,
        not late and worst <= 1 / 5,
        f"{len(report.tried)} attacks, best linkage {worst:.4f}",
        wall,
    )


ALONE = "scores belong to the records that are alone on all keys, as polars counts them"
TRIED = "no attack is left out for want of time; linkage succeeds at most 1/k of the time"
RACES = (
    Race(
        "SUDA2, 10⁶ × 8",
        ALONE,
        at(10**6, suda),
        stored=Theirs("sdcMicro 5.8.1", 7.1, SAME_SIZE),
        times=1.0,
    ),
    Race("growth of SUDA2", ALONE, growth(suda), unit="n^", aim=1.1),
    Race("attack battery, 10⁶ rows", TRIED, at(10**6, battery), aim=15.0),
    Race("growth of the attack battery", TRIED, growth(battery), unit="n^", aim=1.1),
)

if __name__ == "__main__":
    script(__file__)
