"""Known scores and risks of the tables about single records."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from sfumato import examples


def test_special_uniques_have_the_worked_scores() -> None:
    # Minimal sample uniques by looking at all subsets of columns; score (4 - size)! each.
    table = examples.special_uniques()
    rows = table.to_polars().rows()
    found: list[list[tuple[int, ...]]] = [[] for _ in rows]
    for size in range(1, 5):
        for columns in itertools.combinations(range(4), size):
            keys = Counter(tuple(row[c] for c in columns) for row in rows)
            for place, row in enumerate(rows):
                new = not any(set(smaller) <= set(columns) for smaller in found[place])
                if new and keys[tuple(row[c] for c in columns)] == 1:
                    found[place].append(columns)
    names = [[[table.columns[c] for c in unique] for unique in each] for each in found]
    assert {place + 1: each for place, each in enumerate(names) if each} == {
        5: [["gender"]],
        8: [["age"]],
        9: [["age", "gender", "education"]],
    }
    scores = [sum(math.factorial(4 - len(unique)) for unique in each) for each in found]
    assert scores == [0, 0, 0, 0, 6, 0, 0, 6, 1, 0]


def test_special_uniques_share_of_population_uniques(sizes_of: Callable[..., Any]) -> None:
    sizes = Counter(sizes_of(examples.special_uniques()))
    unique, paired, share = sizes[1], 2 * sizes[2], 0.1
    assert (unique, paired) == (3, 4)
    assert share * unique / (share * unique + paired * (1 - share)) == pytest.approx(1 / 13)


def test_weighted_keys_have_the_published_individual_risks(classes_of: Callable[..., Any]) -> None:
    # Benedetti & Franconi 1998: r = p^f / f * 2F1(f, f; f+1; 1-p), p = f / F; eight records, sum
    # 0.966526.
    from scipy.special import hyp2f1

    table = examples.weighted_keys()
    weights = table.column("weight").to_list()
    own = {place: places for places in classes_of(table).values() for place in places}
    sizes = [len(own[place]) for place in range(8)]
    sums = [sum(weights[other] for other in own[place]) for place in range(8)]
    shares = [f / total for f, total in zip(sizes, sums, strict=True)]
    risks = [p**f / f * hyp2f1(f, f, f + 1, 1 - p) for f, p in zip(sizes, shares, strict=True)]
    assert sizes == [2, 2, 2, 1, 1, 1, 1, 2]
    assert sums == [110, 84.5, 84.5, 17, 541, 8, 5, 110]
    expected = [0.017144, 0.022042, 0.022042, 0.177076, 0.011654, 0.297063, 0.402359, 0.017144]
    assert risks == pytest.approx(expected, abs=5e-7)
    assert sum(risks) == pytest.approx(0.966526, abs=5e-7)
