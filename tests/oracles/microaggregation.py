"""Microaggregation from its definitions: every partition, every cut, one record after the other."""

from __future__ import annotations

import itertools


def mean(rows):
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def away(x, y):
    return sum((a - b) ** 2 for a, b in zip(x, y, strict=True))


def squared_error(points, partition):
    """Σ over groups of the squared distances from the mean of the group."""
    return sum(
        away(points[i], mean([points[j] for j in group])) for group in partition for i in group
    )


def partitions(records, k):
    """Every partition into groups of at least k."""
    if not records:
        yield []
        return
    first, rest = records[0], records[1:]
    for size in range(k - 1, len(rest) + 1):
        for others in itertools.combinations(rest, size):
            left = [r for r in rest if r not in others]
            if not left or len(left) >= k:
                for more in partitions(left, k):
                    yield [[first, *others], *more]


def least_error(points, k):
    """The squared error of the best partition of all."""
    return min(
        squared_error(points, partition) for partition in partitions(list(range(len(points))), k)
    )


def least_error_of_runs(points, k):
    """The squared error of the best partition of points, in their order, into runs of at least
    k.
    """
    n = len(points)
    best = float("inf")
    for cuts in itertools.chain.from_iterable(
        itertools.combinations(range(1, n), c) for c in range(n // k)
    ):
        ends = [0, *cuts, n]
        runs = [list(range(a, b)) for a, b in itertools.pairwise(ends)]
        if min(map(len, runs)) >= k:
            best = min(best, squared_error(points, runs))
    return best


def mdav(points, k):
    """MDAV as its authors write it; of equal distances the first record counts."""
    left, groups = list(range(len(points))), []

    def farthest(x):
        return max(left, key=lambda i: (away(points[i], x), -i))

    def take(seed):
        group = sorted(left, key=lambda i: (away(points[i], points[seed]), i))[:k]
        groups.append(group)
        for i in group:
            left.remove(i)

    while len(left) >= 3 * k:
        r = farthest(mean([points[i] for i in left]))
        s = farthest(points[r])
        take(r)
        group = sorted(left, key=lambda i: (away(points[i], points[s]), i))[:k]
        groups.append(group)
        for i in group:
            left.remove(i)
    if len(left) >= 2 * k:
        take(farthest(mean([points[i] for i in left])))
    if left:
        groups.append(left)
    return groups


def v_mdav(points, k, gamma):
    """V-MDAV: groups of k around the farthest record, extended while the nearest outsider is nearer
    to them than to others.
    """
    left, groups = list(range(len(points))), []
    middle = mean(points)
    while len(left) >= k:
        seed = max(left, key=lambda i: (away(points[i], middle), -i))
        group = sorted(left, key=lambda i: (away(points[i], points[seed]), i))[:k]
        left = [i for i in left if i not in group]
        while left and len(group) < 2 * k - 1:
            inside = {i: min(away(points[i], points[j]) for j in group) for i in left}
            e = min(left, key=lambda i: (inside[i], i))
            outside = min(
                (away(points[e], points[j]) for j in left if j != e), default=float("inf")
            )
            if not inside[e] ** 0.5 < gamma * outside**0.5:
                break
            group.append(e)
            left.remove(e)
        groups.append(group)
    means = [mean([points[i] for i in group]) for group in groups]
    for i in left:
        groups[min(range(len(means)), key=lambda g: away(points[i], means[g]))].append(i)
    return groups


def k_ward(points, k):
    """k-Ward with every union tried in every round."""
    rows = list(range(len(points)))
    if len(rows) < 2 * k:
        return [rows]
    one, two = max(
        itertools.combinations(rows, 2),
        key=lambda pair: (away(points[pair[0]], points[pair[1]]), -pair[0], -pair[1]),
    )
    first = sorted(rows, key=lambda i: (i != one, away(points[i], points[one]), i))[:k]
    rest = [i for i in rows if i not in first]
    start = two if two in rest else rest[0]
    second = sorted(rest, key=lambda i: (i != start, away(points[i], points[start]), i))[:k]
    groups = [first, second, *([i] for i in rest if i not in second)]
    while min(map(len, groups)) < k:
        pairs = [
            p for p in itertools.combinations(groups, 2) if not (len(p[0]) >= k and len(p[1]) >= k)
        ]
        a, b = min(
            pairs, key=lambda p: squared_error(points, [p[0] + p[1]]) - squared_error(points, p)
        )
        groups = [g for g in groups if g is not a and g is not b] + [a + b]
    found = []
    for group in map(sorted, groups):
        inner = [points[i] for i in group]
        found += [[group[i] for i in part] for part in k_ward(inner, k)]
    return found
