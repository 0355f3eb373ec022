"""Persons in several tables: how small the crowds are that rows leave, by what is known, and what
reaching a promise takes.

make bench BENCH=persons

People with two tables below them, five rows of each on average (log-normal, so that a few have
hundreds), 300 and 1,000 kinds of rows by a power law, in 50 classes of own columns. Seconds on the
clock, CPU seconds and the peak of memory so far; a peer counts pairs of rows by a join and a
group-by of polars. What is released is judged again.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.data.relational.knowledge import Acquaintance, Disclosure
from sfumato.data.relational.models import PersonsKAnonymity
from sfumato.data.relational.person_views import Shown, ShownRows, ShownSensitive
from sfumato.data.relational.persons import SuppressPersons, without

CLASSES, KINDS, EACH = 50, (300, 1000), 5


def main() -> None:
    """Measure all kinds of knowledge on one size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=float, default=2e5, help="how many people")
    people = round(parser.parse_args().people)
    warm(shown_of(300))
    shown = shown_of(people)
    print(f"{people:,} people, {sum(len(rows.person) for rows in shown.rows):,} rows")
    print(f"{'what':34} {'seconds':>8} {'CPU s':>8} {'peak MB':>8}  result")
    for known in ("own", "counts", "rows"):
        timed(f"knows {known}", lambda known=known: least(Acquaintance(known).crowds(shown)))
    for m in (1, 2, 3, 4):
        timed(f"any {m}", lambda m=m: least(Acquaintance("any", m).crowds(shown)))
    timed("any 6, bounds", lambda: least(Acquaintance("any", 6, effort=10**7).crowds(shown)))
    timed(
        "any 2, how often one value",
        lambda: told(Acquaintance("any", 2), shown, Disclosure.FREQUENCY),
    )
    timed("any 2, persons apart", lambda: told(Acquaintance("any", 2), shown, Disclosure.DISTINCT))
    timed("pairs by polars, for any 2", lambda: pairs_by_polars(shown))
    timed("suppress persons, any 1, k = 5", lambda: suppressed(shown))


def least(found: Any) -> str:
    """The smallest crowd, or between what it lies."""
    low, high = int(found.low.min()), int(found.high.min())
    return (
        f"k = {low}"
        if found.exact
        else f"k from {low} to {high}; {int((found.low == found.high).sum()):,} people exactly"
    )


def told(known: Acquaintance, shown: Shown, measure: Disclosure) -> str:
    """The most that is given away of anybody."""
    return f"worst {known.told(shown, 'visits.illness', measure).high.max():.3f}"


def pairs_by_polars(shown: Shown) -> str:
    """Persons for every pair of different rows of a class, as a query would count them; copies of a
    row are not looked at.
    """
    rows = pl.concat(
        pl.DataFrame({"person": table.person, "row": table.shows + 10_000 * place})
        for place, table in enumerate(shown.rows)
    ).unique()
    rows = rows.with_columns(pl.Series("own", shown.own).gather(rows["person"]))
    pairs = rows.join(rows, on=["person", "own"]).filter(pl.col("row") < pl.col("row_right"))
    return f"k = {pairs.group_by('own', 'row', 'row_right').len()['len'].min()}"


def suppressed(shown: Shown) -> str:
    """How many go, and whether the rest keeps the promise."""
    model = PersonsKAnonymity(5, "any", facts=1)
    plan = SuppressPersons(1.0).plan(Bare(shown), Goal(models=(model,), seed=Seed(1)))  # type: ignore[arg-type]
    if not model.judge(Bare(without(shown, ~plan.kept))).holds:
        sys.exit("what is left does not hold")
    return str(plan.describe())


class Bare:
    """What tables show, without the tables."""

    def __init__(self, shown: Shown) -> None:
        self._shown, self.people = shown, shown.persons

    def shown(self) -> Shown:
        """What there is to see."""
        return self._shown

    def keep_people(self, stays: Any) -> Bare:
        """Some of the people."""
        return Bare(without(self._shown, ~stays))


def timed(what: str, work: Any) -> None:
    """Do something, and say what it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    spent = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:34} {spent[0]:8.2f} {spent[1]:8.2f} {peak:8,.0f}  {result}", flush=True)


def shown_of(people: int) -> Shown:
    """What two invented tables show."""
    stream = np.random.default_rng(1)
    tables = []
    for name, kinds in zip(("visits", "orders"), KINDS, strict=True):
        weight = stream.lognormal(0, 1, people)
        person = stream.choice(people, size=EACH * people, p=weight / weight.sum()).astype(np.int64)
        tables.append(
            ShownRows(name, person, (stream.zipf(1.3, len(person)) % kinds).astype(np.int64))
        )
    illness = ShownSensitive(tables[0].person, stream.integers(0, 30, len(tables[0].person)))
    return Shown(
        people, stream.integers(0, CLASSES, people), tuple(tables), {"visits.illness": illness}
    )


def warm(shown: Shown) -> None:
    """Compile the loops."""
    for m in (1, 2, 3):
        Acquaintance("any", m).crowds(shown)
        Acquaintance("rows").crowds(shown)
    for measure in (Disclosure.FREQUENCY, Disclosure.DISTINCT):
        Acquaintance("any", 2).told(shown, "visits.illness", measure)


if __name__ == "__main__":
    main()
