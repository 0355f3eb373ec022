"""Every default utility metric of a large release, one by one.

    make bench BENCH=utility                         a generated table of a million rows, released in several ways
    make bench BENCH=utility ARGS='--rows 1e5'       a smaller one

The table is recoded globally (k = 10, up to 2 % suppressed), recoded by Mondrian, and masked (two columns of numbers with noise).
Seconds are CPU seconds of the work itself, all threads together, on tables in memory, once, the compiled loops warm.
What several metrics share (reading the columns, counting the classes) is paid by the first that needs it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.core.pair import Pair
from sfumato.evaluation import default_metrics


def main() -> None:
    """Measure every case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e6, help="rows of the table")
    rows = int(parser.parse_args().rows)
    for _, pair in cases(1000):  # the first one loads the compiled loops
        sf.evaluate(pair)
    for name, pair in cases(rows):
        tell(name, pair)


def table(rows: int) -> sf.Dataset:
    """People with six quasi-identifiers, an illness and two columns of numbers."""
    frame = sf.examples.large(rows)
    draw = np.random.default_rng(1)
    wage = pl.Series("wage", np.rint(draw.lognormal(8, 0.5, rows)))
    hours = pl.Series("hours", draw.normal(35, 8, rows))
    whole = sf.read(frame.to_polars().with_columns(wage, hours))
    schema = {**frame.schema.attributes}
    return whole.with_roles(plain=["wage", "hours"]).with_schema(
        sf.Schema({**schema, **whole.with_roles(plain=["wage", "hours"]).schema.attributes})
    )


def cases(rows: int) -> Iterator[tuple[str, Pair]]:
    """The releases of one table."""
    people = table(rows)
    for name, step in (("global recoding", sf.GlobalRecoding(budget=0.02)), ("Mondrian", sf.Mondrian())):
        release = sf.anonymize(people, [sf.KAnonymity(10)], [step], seed=1)
        yield name, Pair.of(release.original, release.dataset)
    draw = np.random.default_rng(2)
    noise = {n: people.column(n) + draw.normal(0, 3, rows) for n in ("wage", "hours")}
    yield "noise", Pair.of(people, people.with_columns(noise))


def tell(name: str, pair: Pair) -> None:
    """Print every metric and its seconds."""
    print(f"\n{name}: {len(pair.original):,} rows")
    total = 0.0
    for metric in default_metrics():
        started = time.process_time()
        reason = metric.applies(pair)
        found = None if reason else metric.measure(pair)
        seconds = time.process_time() - started
        total += seconds
        value = f"{found.value:.4f}" if found else "–"
        print(f"  {metric.name:<24}{value:>10}{seconds:>10.3f}   {reason or ''}".rstrip(), flush=True)
    print(f"  {'all':<24}{'':>10}{total:>10.3f}", flush=True)


if __name__ == "__main__":
    main()
