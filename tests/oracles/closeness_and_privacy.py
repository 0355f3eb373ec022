"""Naive definitions of multiplicative closeness, earth mover's distances and privacy losses,
straight from the formulas.
"""

from __future__ import annotations

import itertools
import math


def multiplicative(q, p):
    """sup over all events of max(P/Q, Q/P), event by event, 0/0 := 0 and x/0 := ∞."""
    worst = 0.0
    for size in range(1, len(p) + 1):
        for event in itertools.combinations(range(len(p)), size):
            a, b = sum(q[i] for i in event), sum(p[i] for i in event)
            if a == 0 and b == 0:
                continue
            worst = max(worst, math.inf if a == 0 or b == 0 else max(a / b, b / a))
    return worst


def all_counts(sizes, buckets):
    """Every matrix of whole counts with these sums of rows and columns."""
    if not sizes:
        yield from ([[]] if not any(buckets) else [])
        return
    for row in itertools.product(*(range(b + 1) for b in buckets)):
        if sum(row) == sizes[0]:
            for rest in all_counts(sizes[1:], [b - r for b, r in zip(buckets, row, strict=True)]):
                yield [list(row), *[r for r in rest if r]]


def farthest_class(counts):
    """The largest distance of a row from the sum of all rows."""
    total = sum(map(sum, counts))
    table = [sum(column) / total for column in zip(*counts, strict=True)]
    return max(multiplicative([c / sum(row) for c in row], table) for row in counts)


def earth_movers(places, members):
    """Area between two distribution functions over the length of the line; ``members`` are
    positions in ``places``.
    """
    line = sorted(places)
    if line[0] == line[-1]:
        return 0.0
    inside = [places[i] for i in members]

    def share(values, x):
        return sum(v <= x for v in values) / len(values)

    area = sum(
        abs(share(inside, a) - share(places, a)) * (b - a) for a, b in itertools.pairwise(line)
    )
    return area / (line[-1] - line[0])


def delta_of(k, beta, epsilon, most=400):
    """δ of safe k-anonymization with binomial coefficients and no shortcut, up to n = ``most``."""
    gamma = (math.exp(epsilon) - 1 + beta) / math.exp(epsilon)

    def tail(n):
        return sum(
            math.comb(n, j) * beta**j * (1 - beta) ** (n - j)
            for j in range(n + 1)
            if j > gamma * n + 1e-12
        )

    return max(tail(n) for n in range(max(1, math.ceil(k / gamma - 1 - 1e-12)), most))


def discrete_laplace_mass(x, scale):
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** abs(x)


def means_of_ranked(values, k):
    """Means of k neighbours of the sorted values; the last group takes the rest."""
    ordered = sorted(values)
    groups = len(ordered) // k
    ends = [k * g for g in range(groups)] + [len(ordered)]
    return [sum(ordered[a:b]) / (b - a) for a, b in itertools.pairwise(ends)]


def clopper_pearson(hits, trials, confidence):
    """Lower and upper limits of a probability, each wrong with probability (1 − confidence)/2."""
    from scipy.stats import beta

    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, trials - hits + 1))
    high = 1.0 if hits == trials else float(beta.ppf(1 - tail, hits + 1, trials - hits))
    return low, high


def epsilon_from_below(hits, other_hits, trials, delta=0.0, confidence=0.9999):
    """An ε that the mechanism surely exceeds or equals, from how often an event came from two
    neighbouring tables.
    """
    low, _ = clopper_pearson(hits, trials, confidence)
    _, high = clopper_pearson(other_hits, trials, confidence)
    return math.log((low - delta) / high) if low > delta else -math.inf
