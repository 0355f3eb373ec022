"""Naive definitions for paths, straight from the definitions: nothing here is fast."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import hypothesis.strategies as st
import polars as pl

from sfumato.core.hierarchy import Hierarchy
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.source import Source
from sfumato.data.paths.trajectories import Trajectories
from sfumato.methods.hierarchies import Tree

Point = tuple[int, str]
PLACES = "abcdef"
ZONES = Tree({"*": {"north": ["a", "b", "c"], "south": ["d", "e", "f"]}})


def schema(hierarchy: Hierarchy | None = ZONES, *, sensitive: bool = True) -> Schema:
    """Person, hour, place and an illness."""
    columns = {
        "person": Attribute((Role.PERSON,)),
        "hour": Attribute((Role.TIME,)),
        "place": Attribute((Role.PLACE,), hierarchy=hierarchy),
    }
    return Schema(columns | ({"illness": Attribute((Role.SENSITIVE,))} if sensitive else {}))


def table(paths: Sequence[Iterable[Point]], values: Sequence[str]) -> pl.DataFrame:
    """The long table of some paths."""
    rows = [
        (i, t, p, v) for i, (path, v) in enumerate(zip(paths, values, strict=True)) for t, p in path
    ]
    return pl.DataFrame(rows, schema=["person", "hour", "place", "illness"], orient="row")


def people_of(
    paths: Sequence[Iterable[Point]], values: Sequence[str] | None = None
) -> Trajectories:
    """The noun of some paths."""
    given = ["y"] * len(paths) if values is None else values
    return Trajectories.from_tables(
        {"data": table(paths, given)}, {"data": schema()}, Source("the test")
    )


def paths_of(people: Trajectories) -> list[frozenset[Point]]:
    """The other way round: everybody's points as a set."""
    names = people.table.to_series(0).to_list()
    points = [(int(t), names[p]) for t, p in zip(people.ticks, people.places, strict=True)]
    return [frozenset(points[a:b]) for a, b in itertools.pairwise(people.starts.tolist())]


def some_paths(most: int = 6) -> st.SearchStrategy[list[frozenset[Point]]]:
    """A few people with a few points each."""
    point = st.tuples(st.integers(0, 7), st.sampled_from(PLACES[:4]))
    return st.lists(st.frozensets(point, min_size=1, max_size=5), min_size=2, max_size=most)


# Sets of points.


def carriers(paths: Sequence[frozenset[Point]], points: frozenset[Point]) -> list[int]:
    return [i for i, path in enumerate(paths) if points <= path]


def point_sets(paths: Sequence[frozenset[Point]], most: int) -> set[frozenset[Point]]:
    return {
        frozenset(chosen)
        for path in paths
        for n in range(1, most + 1)
        for chosen in itertools.combinations(path, n)
    }


def breaks(
    paths: Sequence[frozenset[Point]],
    points: frozenset[Point],
    k: int,
    c: float = 1.0,
    values: Sequence[str] = (),
) -> bool:
    who = carriers(paths, points)
    if not who:
        return False
    worst = max((sum(values[i] == v for i in who) for v in set(values)), default=0)
    return len(who) < k or Fraction(worst, len(who)) > Fraction(c).limit_denominator(1000)


def violating(
    paths: Sequence[frozenset[Point]],
    l: int,  # noqa: E741
    k: int,
    c: float = 1.0,
    values: Sequence[str] = (),
) -> set:
    """All violating sets of at most l points, and the minimal ones."""
    bad = {q for q in point_sets(paths, l) if breaks(paths, q, k, c, values)}
    return {q for q in bad if not any(other < q for other in bad)}


def unicity(
    known: Sequence[Sequence[Point]], released: Mapping[int, frozenset[Point]], p: int
) -> Fraction:
    """The mean share of the sets of p own points that only the person has; points nobody has are
    ignored.
    """
    there = frozenset().union(*released.values())
    shares = []
    for person, points in enumerate(known):
        chosen = list(itertools.combinations(points, min(p, len(points))))
        hits = 0
        for one in chosen:
            wanted = frozenset(one) & there
            fits = [i for i, path in released.items() if wanted <= path] if wanted else []
            hits += fits == [person]
        shares.append(Fraction(hits, len(chosen)))
    return sum(shares, Fraction(0)) / len(shares)


# Sequences and windows.


def sequences(path: Iterable[Point], m: int) -> set[tuple[str, ...]]:
    """All orders of at most m points in which time never goes back."""
    points = list(path)
    return {
        tuple(place for _, place in chosen)
        for n in range(1, m + 1)
        for chosen in itertools.permutations(points, n)
        if all(a[0] <= b[0] for a, b in itertools.pairwise(chosen))
    }


def rare_sequences(
    paths: Sequence[Iterable[Point]], m: int, k: int
) -> tuple[set[tuple[str, ...]], set[int]]:
    """Sequences that fewer than k people went and that begin with no other such one, and who went
    them.
    """
    of_person = [sequences(path, m) for path in paths]
    rare = {q for own in of_person for q in own if sum(q in other for other in of_person) < k}
    first = {q for q in rare if not any(q[:n] in rare for n in range(1, len(q)))}
    return first, {i for i, own in enumerate(of_person) if own & first}


def small_windows(
    paths: Sequence[frozenset[Point]], tau: int, k: int, every: int, match: str
) -> set[int]:
    """Who has a window of length tau that fewer than k people share."""
    times = [t for path in paths for t, _ in path]
    low: set[int] = set()
    first = (min(times) - tau + 1) // every * every
    for start in range(first, max(times) + 1, every):
        seen = [
            frozenset(point for point in path if start <= point[0] < start + tau) for path in paths
        ]
        for i, mine in enumerate(seen):
            shared = sum(mine == other if match == "equals" else mine <= other for other in seen)
            if mine and shared < k:
                low.add(i)
    return low
