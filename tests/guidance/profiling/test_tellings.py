"""Columns that tell each other: Goodman and Kruskal's λ, against its definition."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

from sfumato.guidance.profiling.columns import look_at
from sfumato.guidance.profiling.tellings import SAME, SEVERAL, TELLS, Telling, tellings


def profiled(**columns):
    return [look_at(name, pl.Series(name, values)) for name, values in columns.items()]


def told(first, second):
    columns = profiled(a=first, b=second)
    return tellings(columns[:1], columns[1:])


def lambda_of(known, guessed):
    """How much better the second is guessed from the first than from nothing."""
    pairs, single = Counter(zip(known, guessed, strict=True)), Counter(guessed)
    best = {}
    for (x, _), count in pairs.items():
        best[x] = max(best.get(x, 0), count)
    most = max(single.values())
    if len(guessed) == most:
        return 0.0
    return (sum(best.values()) - most) / (len(guessed) - most)


@pytest.mark.parametrize("seed", range(30))
def test_verdicts_follow_from_lambda_both_ways(seed):
    random = np.random.default_rng(seed)
    first = random.integers(0, 6, 200)
    noise = random.random(200) < random.choice([0.0, 0.03, 0.3])
    second = np.where(noise, random.integers(0, 6, 200), first * 5 % 6)
    if seed % 3 == 0:
        second = second // 2 + 10  # coarser: known from the first, not the other way round
    a, b = [f"x{v}" for v in first], [f"y{v}" for v in second]
    forward, back = lambda_of(a, b), lambda_of(b, a)
    # With few values only certainty counts; values need several records each.
    if len(set(b)) < SEVERAL:
        forward = float(forward == 1.0)
    if len(set(a)) < SEVERAL:
        back = float(back == 1.0)
    found = told(a, b)
    if min(forward, back) >= SAME and len(set(a)) <= 2 * len(set(b)):
        assert found == (Telling("a", "b", mutual=True),)
    elif max(forward, back) < TELLS:
        assert found == ()
    else:
        assert all(not telling.mutual for telling in found)


def test_a_column_twice_is_told_even_where_every_value_is_its_own():
    values = list(range(100))
    assert told(values, values) == (Telling("a", "b", mutual=True),)
    assert told(values, list(reversed(values))) == ()


def test_few_rows_say_nothing():
    assert told(["x", "y"] * 5, ["u", "v"] * 5) == ()
    assert tellings([], profiled(a=[1, 2])) == ()
