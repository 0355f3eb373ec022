"""Synthetic records beside py-synthpop on the Adult table: seconds and errors; and seconds on 10⁶
rows of 15 columns.

make bench BENCH=synthesis ARGS='--peers venv/bin/python'

py-synthpop 0.1.2 wants pandas 1.5.3, numpy 1.26 and scikit-learn 1.5 in an environment of its own,
installed without its dependencies. Errors are the mean over all tables of two or three columns of
Σ|p − q|, and the mean of three draws: one is off by about 2 %. The copied excess R is that of half
the table, the other half set aside.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import polars as pl
from race import Options, Ours, Race, Theirs, ask_peer, at, best_of, growth, once, script
from tables import folder, reference

import sfumato as sf
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.core.table import Table

DRAWS = 3
NUMERIC = ["age"]
MOST_COPIED = 0.10


@once
def adult() -> pl.DataFrame:
    """The Adult table of 30,162 people and nine columns."""
    return pl.read_csv(reference("adult", "adult.csv"), separator=";")


@once
def people(rows: int) -> Table:
    """Fifteen columns that depend on each other: ten of categories, five of numbers."""
    draw = np.random.default_rng(1)
    hidden = draw.standard_normal((rows, 3))
    columns: dict[str, np.ndarray] = {}
    for place in range(10):
        score = hidden @ draw.normal(size=3) + draw.standard_normal(rows)
        columns[f"c{place}"] = np.digitize(score, np.linspace(-2, 2, 2 + 2 * place))
    for place in range(5):
        score = hidden @ draw.normal(size=3) + draw.standard_normal(rows)
        columns[f"n{place}"] = np.round(score, 1 + place % 3)
    frame = pl.DataFrame(columns).with_columns(
        pl.col(f"c{place}").cast(pl.String) for place in range(10)
    )
    return Table(frame).with_roles(keep=frame.columns)


def drawn(table: Table, min_leaf: int, seed: int = 0, holdout: float = 0.0) -> Table:
    """Plan and apply."""
    step = sf.Synthesize(min_leaf=min_leaf, holdout=holdout)
    return step.apply(table, step.plan(table, Goal(seed=Seed(seed))))


def apart(real: pl.DataFrame, other: pl.DataFrame, ways: int) -> float:
    """The mean L1 error of all tables of so many columns."""
    both = pl.concat([real, other.select(real.columns)])
    codes = {name: both[name].rank("dense").to_numpy().astype(np.int64) for name in real.columns}
    errors = []
    for names in itertools.combinations(real.columns, ways):
        key = np.zeros(len(both), dtype=np.int64)
        for name in names:
            key = key * (codes[name].max() + 1) + codes[name]
        _, cells = np.unique(key, return_inverse=True)
        one, two = (
            np.bincount(part, minlength=cells.max() + 1) / len(part)
            for part in np.split(cells, [len(real)])
        )
        errors.append(np.abs(one - two).sum())
    return float(np.mean(errors))


def copied_excess(min_leaf: int) -> float:
    """R = (a − h)/(1 − h) of those who are unique in the whole table: drawn of those learnt from,
    and of those set aside.
    """
    real = adult().with_row_index("row")
    step = sf.Synthesize(min_leaf=min_leaf, holdout=0.5)
    plan = step.plan(Table(adult()).with_roles(keep=adult().columns), Goal(seed=Seed(1)))
    alone = real.filter(pl.len().over(adult().columns) == 1)
    hit = alone.join(plan.table.unique(), on=adult().columns, how="semi")
    aside = pl.col("row").is_in(plan.held_out)
    a, h = (len(hit.filter(group)) / len(alone.filter(group)) for group in (~aside, aside))
    return (a - h) / (1 - h)


def on_adult(min_leaf: int) -> Callable[[Options], Ours]:
    """Seconds on the Adult table."""

    def measured(_: Options) -> Ours:
        drawn(
            Table(adult().head(3000)).with_roles(keep=adult().columns), min_leaf
        )  # loops are compiled
        cpu, wall, out = best_of(
            3,
            lambda table: drawn(table, min_leaf),
            lambda: Table(adult().clone()).with_roles(keep=adult().columns),
        )
        excess = copied_excess(min_leaf)
        return Ours(cpu, len(out) == len(adult()), f"copied excess {excess:.3f}", wall)

    return measured


@once
def errors_of_ours(min_leaf: int) -> tuple[float, float]:
    """The mean 2-way and 3-way error of several draws."""
    table = Table(adult()).with_roles(keep=adult().columns)
    draws = [drawn(table, min_leaf, seed).to_polars() for seed in range(DRAWS)]
    return tuple(float(np.mean([apart(adult(), each, ways) for each in draws])) for ways in (2, 3))


@once
def by_synthpop(python: str) -> tuple[float, tuple[float, float]]:
    """Seconds and errors of py-synthpop, from that Python."""
    with folder() as where:
        file = where / "adult.csv"
        adult().write_csv(file)
        told = ask_peer(
            Options(peers=python),
            "synthpop",
            file=str(file),
            numeric=NUMERIC,
            draws=DRAWS,
            out=str(where),
        )
        draws = [pl.read_csv(name) for name in told["files"]]
    return told["seconds"], tuple(
        float(np.mean([apart(adult(), each, ways) for each in draws])) for ways in (2, 3)
    )


def error(min_leaf: int, ways: int) -> Callable[[Options], Ours]:
    """The error of our draws."""

    def measured(_: Options) -> Ours:
        found = errors_of_ours(min_leaf)[ways - 2]
        excess = copied_excess(min_leaf)
        return Ours(found, min_leaf < 20 or excess <= MOST_COPIED, f"copied excess {excess:.3f}")

    return measured


def seconds_of_synthpop(options: Options) -> Theirs:
    """How long it takes."""
    return Theirs("py-synthpop", by_synthpop(options.peers)[0])


def error_of_synthpop(ways: int) -> Callable[[Options], Theirs]:
    """How far it is off."""
    return lambda options: Theirs("py-synthpop", by_synthpop(options.peers)[1][ways - 2])


@once
def large(rows: int) -> Ours:
    """Seconds on a generated table that nothing was counted of yet; means must be those of the
    table.
    """
    drawn(people(3000), 20)
    made = people(rows)
    cpu, wall, out = best_of(
        1, lambda table: drawn(table, 20), lambda: Table(made.frame, made.schema)
    )
    numbers = [name for name in made.columns if name.startswith("n")]
    off = [
        abs(out.column(n).mean() - made.column(n).mean()) / made.column(n).std() for n in numbers
    ]
    return Ours(
        cpu, max(off) < 8 / rows**0.5, f"means off by {max(off):.4f} standard deviations", wall
    )


STORED = "measured on the same table in another run, three draws"
SECONDS = Theirs("py-synthpop", 1.37, STORED)
ERRORS = {2: Theirs("py-synthpop", 0.0339, STORED), 3: Theirs("py-synthpop", 0.0796, STORED)}
RACES = (
    *(
        Race(
            f"trees on Adult, leaves of {leaf}",
            "as many records as the table",
            on_adult(leaf),
            seconds_of_synthpop,
            SECONDS,
            times=0.1,
        )
        for leaf in (5, 20)
    ),
    *(
        Race(
            f"{ways}-way error on Adult, leaves of {leaf}",
            "the copied excess is at most .10 at leaves of 20",
            error(leaf, ways),
            error_of_synthpop(ways),
            ERRORS[ways],
            unit="L1",
            times=most,
        )
        for leaf, most in ((5, 1.07), (20, 1.15))
        for ways in (2, 3)
    ),
    Race(
        "trees, 10⁶ rows × 15 columns",
        "means of numbers are those of the table",
        at(10**6, large),
        aim=180,
    ),
    Race(
        "growth of trees from 10⁵ rows",
        "means of numbers are those of the table",
        growth(large, 10**6),
        unit="n^",
        aim=1.15,
    ),
)

if __name__ == "__main__":
    script(__file__)
