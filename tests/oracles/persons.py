"""Persons in several tables, straight from the definitions: every set of facts is written down.

Somebody is (class, {table: tuple of rows}); the facts that can be known are pairs (table, row), as
often as they occur.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter


def rows_of(person):
    """All rows of a person, with the names of their tables, each as often as it occurs."""
    return [(table, row) for table, rows in sorted(person[1].items()) for row in rows]


def has(person, known) -> bool:
    mine = Counter(rows_of(person))
    return all(mine[fact] >= often for fact, often in Counter(known).items())


def crowds(people, person, knows, m=0, own=True, sizes=None):
    """Every set of persons that somebody who knows so much of one of them may find."""
    same = [other for other in people if not own or other[0] == person[0]]
    if knows == "own":
        return [same]
    if knows == "counts":
        number = {table: len(rows) for table, rows in person[1].items()}
        return [[o for o in same if {table: len(rows) for table, rows in o[1].items()} == number]]
    if knows == "rows":
        return [[o for o in same if Counter(rows_of(o)) == Counter(rows_of(person))]]
    mine = rows_of(person)
    wanted = range(m + 1) if sizes is None else sizes
    known = [
        facts for size in wanted for facts in itertools.combinations(mine, min(size, len(mine)))
    ]
    return [[o for o in same if has(o, facts)] for facts in known]


def smallest_crowd(people, person, knows, m=0, own=True) -> int:
    """k of a person; for any few facts, over the sets of exactly m of them."""
    return min(map(len, crowds(people, person, knows, m, own, sizes=[m])))


def most_frequent(crowd, values) -> float:
    """The largest share of persons who have one value."""
    seen = {value for person in crowd for value in values[id(person)]}
    return max(
        (sum(value in values[id(p)] for p in crowd) / len(crowd) for value in seen), default=0.0
    )


def apart(crowd, values) -> int:
    """The most persons who pairwise share no value; who has none counts once, and not where nobody
    has one.
    """
    filled = [values[id(person)] for person in crowd if values[id(person)]]
    if not filled:
        return 0
    nobody = int(len(filled) < len(crowd))
    different = {frozenset(one) for one in filled}
    for size in range(len(different), 0, -1):
        for some in itertools.combinations(different, size):
            if all(not one & other for one, other in itertools.combinations(some, 2)):
                return size + nobody
    raise AssertionError


def diversity_of_entropy(crowd, values) -> float:
    """exp of the entropy of values of which everybody has one, or none."""
    counts = Counter(next(iter(values[id(person)]), None) for person in crowd)
    return math.exp(-sum(n / len(crowd) * math.log(n / len(crowd)) for n in counts.values()))


def distance(people, crowd, values) -> float:
    """Half the sum of differences where nobody has several values, else the largest difference of
    one value.
    """
    single = all(len(values[id(person)]) <= 1 for person in people)
    seen = {value for person in people for value in values[id(person)]}

    def share(some, value):
        return sum(value in values[id(p)] for p in some) / len(some)

    def without(some):
        return sum(not values[id(p)] for p in some) / len(some)

    changes = [abs(share(crowd, value) - share(people, value)) for value in seen]
    if single:
        return (sum(changes) + abs(without(crowd) - without(people))) / 2
    return max(changes, default=0.0)


def masses(some, values, without=None):
    """The mass of every value among persons, each of whom shares out 1/n evenly among the own
    values; ``without`` is that of those who have none.
    """
    found = Counter()
    for person in some:
        own = values[id(person)] or {without}
        for value in own:
            found[value] += 1 / len(own) / len(some)
    return found


def on_line(people, crowd, values, position):
    """Moved along a line from 0 to 1, every value on its own; who has no value is 1 away from all,
    and the others are compared by themselves.
    """
    mine, all_of = masses(crowd, values), masses(people, values)
    places = sorted({position[value] for value in all_of if value is not None})
    without, lacking = mine[None], all_of[None]

    def up_to(some, place):
        there = sum(m for v, m in some.items() if v is not None)
        return (
            sum(m for v, m in some.items() if v is not None and position[v] <= place) / there
            if there
            else 0.0
        )

    steps = itertools.pairwise(places)
    apart = sum(abs(up_to(mine, one) - up_to(all_of, one)) * (other - one) for one, other in steps)
    apart = apart if without < 1 else 0.0
    return abs(without - lacking) + (1 - max(without, lacking)) * apart


def in_tree(people, crowd, values, ancestors, height):
    """Half the mean over levels of the differences of what is below every node; having no value is
    a branch of its own.
    """
    mine, all_of = masses(crowd, values), masses(people, values)
    nodes = {None} | {node for above in ancestors.values() for node in above}

    def below(some, level, node):
        return sum(
            m for v, m in some.items() if (None if v is None else ancestors[v][level]) == node
        )

    levels = range(height)
    return sum(
        abs(below(mine, i, node) - below(all_of, i, node)) for i in levels for node in nodes
    ) / (2 * height)


def moved(one, other, apart):
    """The least that moving one distribution into another costs, as a linear program; ``apart`` is
    how far two values are from each other.
    """
    from scipy.optimize import linprog

    rows, columns = list(one), list(other)
    costs = [apart(a, b) for a in rows for b in columns]
    leaves = [[float(i == j) for i in range(len(rows)) for _ in columns] for j in range(len(rows))]
    arrives = [
        [float(i == j) for _ in rows for i in range(len(columns))] for j in range(len(columns))
    ]
    wanted = [*(one[a] for a in rows), *(other[b] for b in columns)]
    return linprog(costs, A_eq=[*leaves, *arrives], b_eq=wanted).fun
