"""Records of a person that a shared value puts together again: against a naive intruder."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.release.decision.relinked_rows import linking_columns, relinked_rows


def visits(numbers, ages, marks, sites):
    frame = pl.DataFrame({"person": numbers, "age": ages, "mark": marks, "site": sites})
    return (
        sf.read(frame)
        .with_roles(person=["person"], quasi=["age"], keep=["mark", "site"])
        .with_hierarchies(age=sf.intervals(10, 20))
    )


def pair_of(rows, draw):
    """A release in decades, of which some rows are missing and all are shuffled."""
    original = visits(*rows)
    order = draw.permutation(len(rows[0]))[: max(1, len(rows[0]) - int(draw.integers(0, 3)))]
    frame = original.to_polars()[order.tolist()]
    decades = [f"[{age // 10 * 10}, {age // 10 * 10 + 10})" for age in frame["age"]]
    released = sf.read(frame.with_columns(pl.Series("age", decades)))
    released = released.with_roles(person=["person"], quasi=["age"], keep=["mark", "site"])
    return TablePair(original, released, order.astype(np.int64))


def fits(age, label):
    return label == f"[{age // 10 * 10}, {age // 10 * 10 + 10})"


def matches(ages, rows):
    """Whether all released rows can be given to different ages, by trying every permutation."""
    return any(
        all(fits(age, label) for age, (label, _) in zip(chosen, rows, strict=True))
        for chosen in itertools.permutations(ages, len(rows))
    )


def chance_of(ages, sets, own):
    """The chance of an intruder who knows the ages of all records of a person."""
    small = [key for key, rows in sets.items() if len(rows) <= len(ages) and matches(ages, rows)]
    largest = max((len(sets[key]) for key in small), default=0)
    small = [key for key in small if len(sets[key]) == largest]
    if small:
        return (own in small) / len(small)
    whole = [
        key
        for key, rows in sets.items()
        if len(rows) >= len(ages) and all(any(fits(age, row) for row, _ in rows) for age in ages)
    ]
    return len(ages) / sum(len(sets[key]) for key in whole) if own in whole else 0.0


def naive(pair, columns):
    """Sets by dictionary, matchings by all permutations."""
    before, after = pair.original.to_polars(), pair.released.to_polars()
    owner = before["person"].to_list()
    sets = {}
    for row, origin in zip(after.iter_rows(named=True), pair.rows.tolist(), strict=True):
        sets.setdefault(tuple(row[c] for c in columns), []).append((row["age"], owner[origin]))
    chances = []
    for person in before["person"].unique(maintain_order=True):
        ages = before.filter(pl.col("person") == person)["age"].to_list()
        counts = {key: sum(who == person for _, who in rows) for key, rows in sets.items()}
        own = max(counts, key=lambda key: counts[key])
        chances.append(chance_of(ages, sets, own) if counts[own] else 0.0)
    return float(np.mean(chances))


@pytest.mark.parametrize("seed", range(40))
def test_a_naive_intruder_finds_as_many(seed):
    draw = np.random.default_rng(seed)
    numbers, ages, marks, sites = [], [], [], []
    for person in range(int(draw.integers(3, 9))):
        mark = int(draw.integers(0, 5 if seed % 2 else 40))
        for _ in range(int(draw.integers(1, 5))):
            numbers.append(person)
            ages.append(int(draw.integers(20, 60)))
            marks.append(mark)
            sites.append(int(draw.integers(0, 3)))
    if len(set(numbers)) == len(numbers):
        numbers.append(numbers[-1])
        ages.append(30)
        marks.append(marks[-1])
        sites.append(0)
    pair = pair_of((numbers, ages, marks, sites), draw)
    columns = linking_columns(pair)
    found = relinked_rows(pair, people=1000, seed=Seed(1))
    if not columns:
        assert found.status == "does not apply"
        return
    assert found.figure.exact
    assert found.figure.value == pytest.approx(naive(pair, columns))


def test_records_that_share_nothing_stay_apart():
    draw = np.random.default_rng(3)
    pair = pair_of(([0, 0, 1, 1], [20, 31, 42, 53], [1, 2, 3, 4], [1, 2, 1, 2]), draw)
    found = relinked_rows(pair, people=10, seed=Seed(1))
    assert linking_columns(pair) == ()
    assert (found.status, found.figure) == ("does not apply", None)


def test_one_record_each_needs_no_attack():
    pair = pair_of(([0, 1, 2], [20, 31, 42], [1, 2, 3], [1, 2, 3]), np.random.default_rng(1))
    assert relinked_rows(pair, people=10, seed=Seed(1)).reason == (
        "every record is a person of its own"
    )
