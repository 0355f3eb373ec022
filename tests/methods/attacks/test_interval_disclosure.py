"""Interval disclosure: the worked series, a naive rule, and what must never disclose."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.attack import Scene
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.table import Table
from sfumato.methods.attacks.interval_disclosure import IntervalDisclosure
from sfumato.methods.hierarchies import Tree
from sfumato.release.intruders import intruder_from

BEFORE = list(range(10, 101, 10))
AFTER = [20, 10, 30, 60, 50, 40, 100, 80, 90, 70]


def pair_of(before, after, **roles):
    one, other = (
        Table(pl.DataFrame({"v": v}, strict=False)).with_roles(quasi="v") for v in (before, after)
    )
    return TablePair.of(one, other)


@pytest.mark.parametrize(
    ("kind", "percent", "expected"),
    [  # ALGORITHMS 10-A (G32): vectors of 9-D, N = 10
        ("rank", 10, 0.4),
        ("rank", 20, 0.6),
        ("rank", 40, 0.8),
        ("rank", 60, 1.0),
        ("deviation", 10, 0.4),
        ("deviation", 20, 0.4),
        ("deviation", 40, 0.6),
        ("deviation", 60, 0.6),
    ],
)
def test_worked_series(kind, percent, expected):
    found = IntervalDisclosure(kind, (percent,)).disclosed(pair_of(BEFORE, AFTER), "v")
    assert found.mean() == pytest.approx(expected)


numbers = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=12)


@given(numbers, st.integers(0, 100))
def test_rank_intervals_against_the_naive_rule(rows, percent):
    before, after = [a for a, _ in rows], [b for _, b in rows]
    ranked, n = sorted(after), len(rows)
    width = percent * n // 200

    def inside(v, masked):
        first, last = ranked.index(masked), n - 1 - ranked[::-1].index(masked)
        return ranked[max(first - width, 0)] <= v <= ranked[min(last + width, n - 1)]

    found = IntervalDisclosure("rank", (percent,)).disclosed(pair_of(before, after), "v")
    assert found.tolist() == [float(inside(v, m)) for v, m in rows]


@given(numbers)
def test_wider_intervals_disclose_no_less(rows):
    pair = pair_of([a for a, _ in rows], [b for _, b in rows])
    rates = [
        IntervalDisclosure("rank", (p,)).disclosed(pair, "v").mean() for p in (0, 5, 20, 50, 100)
    ]
    assert rates == sorted(rates)


def test_the_table_itself_is_disclosed_and_suppressed_cells_are_not():
    pair = pair_of(BEFORE, BEFORE)
    assert IntervalDisclosure(columns=("v",)).disclosed(pair, "v").mean() == 1.0
    gone = pair_of(BEFORE, ["*"] * 10)
    assert IntervalDisclosure().disclosed(gone, "v").mean() == 0.0


def test_a_table_that_was_not_masked_has_no_target():
    pair = pair_of(BEFORE, BEFORE)
    scene = Scene(pair, intruder_from(pair, ("v",), sample=10, seed=Seed(0)))
    assert "no column" in IntervalDisclosure().applies(scene)


def test_the_attack_tells_what_chance_would_give():
    pair = pair_of(BEFORE, AFTER)
    scene = Scene(pair, intruder_from(pair, ("v",), sample=10, seed=Seed(0)))
    found = IntervalDisclosure(widths=(20,), columns=("v",)).attack(scene)
    assert found.value == pytest.approx(0.6) and found.baseline < found.value
    assert found.details["per_column"] == {"v": found.value}


def test_categories_by_hierarchy():
    tree = Tree({"*": {"virus": ["flu", "HIV"], "bone": ["arm", "leg"]}})
    before = (
        Table(pl.DataFrame({"v": ["flu", "HIV", "arm"]}))
        .with_roles(quasi="v")
        .with_hierarchies(v=tree)
    )
    after = Table(pl.DataFrame({"v": ["HIV", "HIV", "flu"]})).with_roles(quasi="v")
    pair = TablePair.of(before, after)
    assert IntervalDisclosure(levels=0).disclosed(pair, "v").tolist() == [0.0, 1.0, 0.0]
    assert IntervalDisclosure(levels=1).disclosed(pair, "v").tolist() == [1.0, 1.0, 0.0]


def masked() -> TablePair:
    """A known number and a category, a number and a category that nobody knows, all changed."""
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "age": rng.normal(size=50),
            "job": rng.choice(list("abc"), 50),
            "pay": rng.normal(size=50),
            "ill": rng.choice(list("xyz"), 50),
        }
    )
    table = (
        Table(frame)
        .with_roles(quasi=["age", "job"], sensitive=["pay", "ill"])
        .with_hierarchies(ill=Tree({"*": {"u": ["x", "y"], "v": ["z"]}}))
    )
    table = table.with_schema(
        table.schema.replace("age", kind="numeric").replace("pay", kind="numeric")
    )
    changed = {c: frame[c] + pl.Series(rng.normal(size=50) * 0.1) for c in ("age", "pay")}
    changed |= {c: pl.Series(c, rng.permutation(frame[c].to_numpy())) for c in ("job", "ill")}
    return TablePair.of(table, table.with_columns(changed))


def test_neither_known_columns_nor_categories_are_targets_unless_they_are_named():
    pair = masked()
    scene = Scene(pair, intruder_from(pair, ("age", "job"), sample=10, seed=Seed(0)))
    assert list(IntervalDisclosure().attack(scene).details["per_column"]) == ["pay"]
    assert set(IntervalDisclosure(levels=1).attack(scene).details["per_column"]) == {"pay", "ill"}
    assert set(IntervalDisclosure(columns=("age", "ill")).attack(scene).details["per_column"]) == {
        "age",
        "ill",
    }
    everything = Scene(
        pair, intruder_from(pair, ("age", "job", "pay", "ill"), sample=10, seed=Seed(0))
    )
    assert "does not know" in IntervalDisclosure().applies(everything)
