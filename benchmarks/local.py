"""Time and loss of the local methods that cut and cluster, beside the peers that this machine has.

    python benchmarks/local.py                     Mondrian and k-member on Adult (or a generated table), then growth
    python benchmarks/local.py --rows 1e7          growth up to ten million rows
    python benchmarks/local.py --skip-slow-peers   without the packages that take a minute

Peers run in the same process on the same table: the packages anonypy and anonypyx where they are installed, and a plain
Python script as they are commonly written (below). All times are CPU seconds, ours warm and best of five without the
counting of classes, which is shown beside it; ratios are peer over ours. Loss is the mean over cells of width over the
table's width (numbers), (leaves − 1)/(all leaves − 1) (hierarchies), (values − 1)/(all values − 1) (sets).
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.core.classes import count_classes
from sfumato.core.step import Goal
from sfumato.hierarchies import HierarchyFile
from sfumato.models import KAnonymity
from sfumato.steps.local.k_member import plan_k_member
from sfumato.steps.local.mondrian import Mondrian, plan_mondrian
from sfumato.steps.local.regions import ClassRecoding

REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult"
ADULT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
K = 10
LINE = "{:<46}{:>10}{:>10}{:>9}{:>9}"

Parts = list[list[int]]
Column = tuple[str, Any]


def main() -> None:
    """Compare on one table, then let the table grow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e6, help="largest generated table")
    parser.add_argument("--skip-slow-peers", action="store_true", help="only the plain script as a peer")
    arguments = parser.parse_args()
    people = adult() if REFERENCE.is_dir() else sf.examples.hospital(30_000)
    name = "Adult" if REFERENCE.is_dir() else "generated hospital table"
    print(f"{name}: {len(people):,} rows, {len(people.schema.quasi)} quasi-identifiers, k = {K}")
    print(LINE.format("method", "CPU s", "regions", "loss", "ratio"))
    under_hierarchies(people)
    with_sets(people, slow=not arguments.skip_slow_peers)
    growth(int(arguments.rows))


def adult() -> sf.Dataset:
    """Adult with its hierarchies; age is a number."""
    people = sf.read(REFERENCE / "adult.csv")
    people = people.with_roles(quasi=ADULT, plain=[c for c in people.columns if c not in ADULT])
    return people.with_hierarchies(**{c: HierarchyFile(str(REFERENCE / f"adult_hierarchy_{c}.csv")) for c in ADULT})


# --------------------------------------------------------------------------------------------------------- comparisons


def under_hierarchies(people: sf.Dataset) -> None:
    """Nominal columns along their hierarchies, beside the plain script."""
    ours = told("Mondrian, strict", lambda: planned(people))
    told("Mondrian, relaxed", lambda: planned(people, mode="relaxed"))
    told("Mondrian, strict, 2 % outliers", lambda: planned(people, budget=0.02))
    told("k-member", lambda: plan_k_member(people, Goal((KAnonymity(K),))))
    script = Script(people)
    seconds, parts = timed(lambda: script.partition(K))
    line("plain Python script, branches only", seconds, len(parts), script.loss(parts), seconds / ours)


def with_sets(people: sf.Dataset, *, slow: bool) -> None:
    """Nominal columns as sets of values, as the packages treat them."""
    bare = people
    for column in people.schema.quasi:
        bare = bare.with_schema(bare.schema.replace(column, hierarchy=None))
    ours = told("Mondrian, strict, values as sets", lambda: planned(bare))
    for package, run in (("anonypy", anonypy), ("anonypyx", anonypyx)):
        if not slow:
            print(f"({package} skipped: slow peers are switched off)")
            continue
        try:
            importlib.import_module(package)
        except ImportError as error:
            print(f"({package} skipped: {error})")
            continue
        frame = peer_frame(bare)
        seconds, parts = timed(lambda run=run, frame=frame: run(frame, list(bare.schema.quasi)))  # type: ignore[misc]
        line(f"{package}, values as sets", seconds, len(parts), Script(bare).loss(parts), seconds / ours)


def planned(people: sf.Dataset, **options: Any) -> ClassRecoding:
    """A plan of Mondrian."""
    return plan_mondrian(people, Goal((KAnonymity(K),)), **options)


def told(name: str, plan: Callable[[], ClassRecoding]) -> float:
    """Measure one of ours, warm; print it and return its seconds."""
    found = plan()
    best = min(timed(plan)[0] for _ in range(5))
    line(name, best, found.notes["regions"], found.score, None)
    return best


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of some work, and its result."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def line(name: str, seconds: float, regions: int, loss: float, ratio: float | None) -> None:
    """One line of the table."""
    print(
        LINE.format(name, f"{seconds:.4f}", f"{regions:,}", f"{loss:.4f}", f"{ratio:,.0f}x" if ratio else ""),
        flush=True,
    )


def growth(most: int) -> None:
    """Mondrian on generated tables whose rows are nearly all different: time against rows."""
    print(f"\n{'rows':>12}{'classes':>12}{'count s':>9}{'plan CPU s':>12}{'recode s':>10}{'loss':>9}")
    grown: list[tuple[int, float]] = []
    rows = 100_000
    while rows <= most:
        people = sf.examples.large(rows, distinct="many")
        counting, classes = timed(lambda people=people: count_classes(people))  # type: ignore[misc]
        seconds, plan = timed(lambda people=people: planned(people))  # type: ignore[misc]
        recoding, _ = timed(lambda people=people, plan=plan: Mondrian().apply(people, plan))  # type: ignore[misc]
        shown = f"{rows:>12,}{len(classes):>12,}{counting:>9.2f}{seconds:>12.2f}{recoding:>10.2f}{plan.score:>9.4f}"
        print(shown, flush=True)
        grown.append((rows, seconds))
        rows *= 10
    for (fewer, before), (more, after) in itertools.pairwise(grown):
        print(f"growth from {fewer:,} to {more:,} rows: ~ rows^{math.log(after / before) / math.log(more / fewer):.2f}")


# ---------------------------------------------------------------------------------------------------------------- peers


def peer_frame(people: sf.Dataset) -> Any:
    """The table as the packages want it: numbers, and categories."""
    frame = people.to_polars().select(people.schema.quasi).to_pandas()
    for name in people.schema.quasi:
        if people.schema[name].kind != "numeric":
            frame[name] = frame[name].astype("category")
    return frame


def anonypy(frame: Any, columns: list[str]) -> Parts:
    """The partition of anonypy."""
    module = importlib.import_module("anonypy.mondrian")
    return [list(part) for part in module.Mondrian(frame, columns).partition(K)]


def anonypyx(frame: Any, columns: list[str]) -> Parts:
    """The partition of anonypyx."""
    module, models = importlib.import_module("anonypyx.mondrian"), importlib.import_module("anonypyx.models")
    return [list(part) for part in module.Mondrian(frame, columns).partition([models.kAnonymity(K)])]


class Script:
    """Strict Mondrian as short scripts do it: lists and dictionaries, the median of numbers, all branches of a tree."""

    def __init__(self, people: sf.Dataset) -> None:
        classes = count_classes(people)
        self.columns: list[Column] = []
        self.rows: list[tuple[Any, ...]] = list(people.to_polars().select(classes.columns).rows())
        for a, (name, ladder) in enumerate(zip(classes.columns, classes.ladders, strict=True)):
            values = {row[a] for row in self.rows}
            if people.schema[name].kind == "numeric":
                self.columns.append(("line", max(values) - min(values)))
            elif ladder.depth == 1:
                self.columns.append(("set", len(values) - 1))
            else:
                climbs = [ladder.climb(0, level).tolist() for level in range(ladder.depth)]
                paths = {
                    label: tuple((level, climb[code]) for level, climb in enumerate(climbs))
                    for code, label in enumerate(ladder.labels[0])
                }
                self.columns.append(("tree", (paths, [loss.tolist() for loss in ladder.loss])))

    def width(self, a: int, part: Sequence[int]) -> float:
        """The loss of a cell that covers a part."""
        (form, known), values = self.columns[a], {self.rows[i][a] for i in part}
        if form == "line":
            return float(max(values) - min(values)) / known
        if form == "set":
            return (len(values) - 1) / known
        level, node = self.meeting(a, values)
        return float(known[1][level][node])

    def meeting(self, a: int, values: set[Any]) -> tuple[int, int]:
        """The lowest node above some values."""
        paths = [self.columns[a][1][0][value] for value in values]
        return next(nodes[0] for nodes in zip(*paths, strict=True) if len(set(nodes)) == 1)

    def split(self, a: int, part: list[int]) -> Iterator[list[int]]:
        """The parts that a cut makes."""
        form, known = self.columns[a]
        if form == "line":
            values = sorted(self.rows[i][a] for i in part)
            median = values[(len(values) - 1) // 2]
            yield [i for i in part if self.rows[i][a] <= median]
            yield [i for i in part if self.rows[i][a] > median]
            return
        level, _ = self.meeting(a, {self.rows[i][a] for i in part})
        branches: dict[Any, list[int]] = {}
        for i in part:
            branches.setdefault(known[0][self.rows[i][a]][max(0, level - 1)], []).append(i)
        yield from branches.values()

    def partition(self, k: int) -> Parts:
        """Cut until nothing can be cut."""
        waiting, done = [list(range(len(self.rows)))], []
        while waiting:
            part = waiting.pop()
            for a in sorted(range(len(self.columns)), key=lambda a: -self.width(a, part)):
                pieces = list(self.split(a, part))
                if len(pieces) > 1 and all(len(piece) >= k for piece in pieces):
                    waiting += pieces
                    break
            else:
                done.append(part)
        return done

    def loss(self, parts: Parts) -> float:
        """Mean loss of a cell."""
        lost = sum(len(part) * sum(self.width(a, part) for a in range(len(self.columns))) for part in parts)
        return lost / len(self.rows) / len(self.columns)


if __name__ == "__main__":
    main()
