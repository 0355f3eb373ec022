"""Naive definitions of what masking steps do, straight from their formulas."""

from __future__ import annotations

import itertools
import math


def weighted_quantile(values, weights, share):
    """The least value with at least this share of the weight at or below it."""
    total = sum(weights)
    for value in sorted(set(values)):
        if (
            sum(w for v, w in zip(values, weights, strict=True) if v <= value)
            >= share * total - 1e-9 * total
        ):
            return value
    raise AssertionError("no value")


def weighted_mean(values, weights):
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)


def coded_by_mean(values, weights, top):
    """Values with the upper tail replaced by its weighted mean."""
    tail = [(v, w) for v, w in zip(values, weights, strict=True) if v >= top]
    mean = weighted_mean([v for v, _ in tail], [w for _, w in tail]) if tail else None
    return [mean if v >= top else v for v in values]


def allocations(total, sizes):
    """All ways to take at least one and at most all of each stratum, ``total`` together."""
    ways = itertools.product(*(range(1, size + 1) for size in sizes))
    return [way for way in ways if sum(way) == total]


def range_label(value, breaks):
    """The range a number lies in; a break belongs to the range above it."""
    ends = [-math.inf, *breaks, math.inf]
    place = next(i for i in range(len(ends) - 1) if ends[i] <= value < ends[i + 1])
    texts = [f"{b:g}" for b in breaks]
    if place == 0:
        return f"<{texts[0]}"
    return f">={texts[-1]}" if place == len(breaks) else f"[{texts[place - 1]}, {texts[place]})"


def kim(values, noise, alpha):
    """Kim's transformed values of one column for given noise, centred first."""
    n, mean = len(values), sum(values) / len(values)
    centre = sum(noise) / n
    shrink = math.sqrt((n - 1) / (n * (1 + alpha) - 1))
    return [
        shrink * (x + e - centre) + (1 - shrink) * mean for x, e in zip(values, noise, strict=True)
    ]


def neighbours(value, base):
    """The multiples of the base next to a value; itself if it is one."""
    low = math.floor(value / base + 1e-9)
    return {low * base} if abs(value - low * base) < 1e-9 * base else {low * base, (low + 1) * base}
