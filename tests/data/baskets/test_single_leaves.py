"""A group of a single item is never released in its place: it says the same under another name."""

from __future__ import annotations

import itertools
import random

import polars as pl
import pytest

import sfumato as sf


def released(rows, tree, algorithm, k=2):
    frame = pl.DataFrame(rows, schema=["person", "item"], orient="row")
    people = sf.read_baskets(
        frame,
        {"person": "person", "item": "item"},
        columns=sf.ColumnDetails(hierarchies={"item": sf.tree({"*": tree})}),
    )
    step = sf.baskets.ItemRecoding(algorithm=algorithm)
    made = sf.anonymize(
        people,
        meet=[sf.baskets.KmAnonymity(k, 2)],
        steps=[step],
        seed=1,
        options=sf.AnonymizeOptions(seconds=0),
    )
    return set(made.released.labels), made


@pytest.mark.parametrize("algorithm", ["optimal", "apriori", "auto"])
def test_the_item_stays(algorithm):
    rows = [(p, i) for p in range(6) for i in (("x1" if p % 2 else "x2"), "y1", "z9")]
    labels, _ = released(rows, {"X": ["x1", "x2"], "A": ["z9"], "Y": ["y1", "y2"]}, algorithm, k=4)
    assert labels == {"X", "y1", "z9"}


def carried(baskets, k):
    sets = [set(basket) for basket in baskets]
    items = set().union(*sets)
    small = [{a} for a in items] + [{a, b} for a, b in itertools.combinations(items, 2)]
    return all(n == 0 or n >= k for n in (sum(one <= basket for basket in sets) for one in small))


def naive(rows, tree, k):
    """The least loss of cuts of a tree of two levels, by trying them all; groups of one item are
    the item.
    """
    items, total = [i for below in tree.values() for i in below], sum(map(len, tree.values()))
    groups = [name for name, below in tree.items() if len(below) > 1]
    best = None
    for chosen in [
        *itertools.chain.from_iterable(
            itertools.combinations(groups, n) for n in range(len(groups) + 1)
        ),
        None,
    ]:
        image = {
            i: "*" if chosen is None else next((g for g in chosen if i in tree[g]), i)
            for i in items
        }
        baskets = [{image[i] for q, i in rows if q == p} for p in {p for p, _ in rows}]
        cost = {"*": 1.0, **{g: len(tree[g]) / total for g in groups}}
        loss = sum(cost.get(image[i], 0.0) for _, i in rows) / len(rows)
        if carried(baskets, k) and (best is None or loss < best - 1e-12):
            best = loss
    return best


@pytest.mark.parametrize("case", range(20))
def test_optimal_cuts_of_random_trees(case):
    draw = random.Random(case)
    tree, number = {}, 0
    for name in "PQRS":
        size = draw.choice([1, 1, 2, 3])
        tree[name] = [f"z{number + j}" for j in range(size)]
        number += size
    items = [i for below in tree.values() for i in below]
    rows = [(p, i) for p in range(8) for i in draw.sample(items, draw.randint(1, 3))]
    labels, made = released(rows, tree, "optimal")
    assert not labels & {name for name, below in tree.items() if len(below) == 1}
    assert made.plans[0][1].describe()["ncp"] == pytest.approx(naive(rows, tree, 2), abs=1e-6)
