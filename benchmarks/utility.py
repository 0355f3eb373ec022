"""What a release is still worth: every default metric of a release of a million rows, and how that
grows.

make bench BENCH=utility
"""

from __future__ import annotations

import polars as pl
from race import Ours, Race, at, best_of, growth, once, script
from tables import released

import sfumato as sf


@once
def evaluated(rows: int) -> Ours:
    """Measure everything that applies; the discernibility is that of the classes as polars counts
    them.
    """
    release = released(rows)
    sf.evaluate(released(1000).pair)  # compiled loops are warm
    cpu, wall, found = best_of(2 if rows < 10**7 else 1, sf.evaluate, lambda: release.pair)
    out = release.released.to_polars()
    squares = int(
        (out.group_by(release.recipe.schema.quasi).len()["len"].cast(pl.Int64) ** 2).sum()
    )
    counted, told = squares + (rows - len(out)) * rows, found.measure("discernibility").raw
    return Ours(cpu, told == counted, f"discernibility {told:,.0f}, by hand {counted:,}", wall)


CHECK = "discernibility is that of the classes as polars counts them"
RACES = (
    Race("evaluate, 10⁶ rows", CHECK, at(10**6, evaluated), aim=3.0),
    Race("growth of evaluate", CHECK, growth(evaluated), unit="n^", aim=1.1),
)

if __name__ == "__main__":
    script(__file__)
