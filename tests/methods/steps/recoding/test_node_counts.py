"""Nodes counted from the classes directly: the same search as with towers, and what trying every
node finds.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import kernels
from sfumato.core.objective import OBJECTIVES
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.steps.recoding import node_counts
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding
from sfumato.methods.steps.recoding.optimal import Search
from sfumato.methods.steps.recoding.rollup_cache import Peaks, Prices
from tests.methods.steps.recoding.test_optimal import compare
from tests.random_tables import tables

NAMES = [objective.name for objective in OBJECTIVES if not objective.labelled]


def directly(cells):
    """All tables are counted directly, a part of their cells first; beyond so many cells they are
    sorted.
    """
    return mock.patch.multiple(
        node_counts, MANY_CLASSES=1, MOST_CELLS=cells, CELLS_IN_CACHE=0, FEWEST_GROUPS=2
    )


@given(
    table=tables(),
    k=st.integers(1, 4),
    budget=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    objective=st.sampled_from(NAMES),
    cells=st.sampled_from([0, 1 << 24]),
)
def test_search_equals_trying_every_node(table, k, budget, objective, cells):
    with directly(cells):
        compare(table, k, objective, budget)


def lattice_of(table, k, objective, budget):
    step = GlobalRecoding(budget=budget, objective=objective)
    return step.lattice(table.dataset(), Goal(models=(KAnonymity(k),)))


@given(
    table=tables(most_columns=4, most_rows=30, fewest_rows=2),
    k=st.integers(2, 4),
    budget=st.sampled_from([0.0, 0.1, 0.5]),
    objective=st.sampled_from(NAMES),
)
def test_search_takes_the_same_way_as_with_towers(table, k, budget, objective):
    towers = Search(lattice_of(table, k, objective, budget)).run()
    with directly(1 << 24):
        counted = Search(lattice_of(table, k, objective, budget)).run()
    assert counted.looked_at == towers.looked_at
    assert counted.best == towers.best
    assert counted.closest == towers.closest


@given(
    data=st.data(),
    table=tables(most_columns=3, most_rows=20, fewest_rows=2),
    k=st.integers(1, 4),
    objective=st.sampled_from(["loss", "discernibility"]),
    cells=st.sampled_from([0, 1 << 24]),
)
def test_tallies_are_those_of_a_tower(data, table, k, objective, cells):
    lattice = lattice_of(
        table, k, objective, 1.0
    )  # within the budget every level is tallied to its end
    prices = Prices.of_lattice(lattice)
    depth = data.draw(st.integers(0, len(lattice.columns) - 1))
    prefixes = st.tuples(*(st.integers(lattice.low[a], lattice.high[a]) for a in range(depth)))
    with directly(cells):
        counts = node_counts.NodeCounts(lattice, k, prices)
        for prefix in data.draw(st.lists(prefixes, min_size=1, max_size=4)):
            whole, lost = counts.at(prefix)
            expected, expected_lost = Peaks(lattice, k, prices).at(prefix)
            assert whole == expected
            assert np.allclose(lost, expected_lost, atol=1e-9)


def nearly_distinct_people():
    """People of whom hardly two have the same age and income."""
    import polars as pl

    import sfumato as sf

    rows = 4_000
    rng = np.random.default_rng(7)
    frame = pl.DataFrame(
        {"age": rng.integers(18, 90, rows), "income": rng.integers(0, 50_000, rows)}
    )
    dataset = Table(frame).with_roles(quasi=["age", "income"])
    return dataset.with_hierarchies(age=sf.intervals(5, 10, 20), income=sf.intervals(1_000, 10_000))


STEP, GOAL = GlobalRecoding(budget=0.05), Goal(models=(KAnonymity(5),))


def test_cells_that_lose_more_than_the_budget_are_not_sorted(monkeypatch):
    lattice = STEP.lattice(nearly_distinct_people(), GOAL)
    monkeypatch.setattr(node_counts, "MOST_CELLS", 0)
    counts = node_counts.NodeCounts(lattice, 5, Prices.of_lattice(lattice))
    # No sample rules a level out, and nobody sorts the cells of nearly as many incomes as people.
    monkeypatch.setattr(counts, "_lowest_left", lambda groups, a: lattice.low[a])
    monkeypatch.setattr(counts, "_tally_many", None)
    whole, _ = counts.at((0,))
    expected, _ = Peaks(lattice, 5, Prices.of_lattice(lattice)).at((0,))
    assert whole[0][0] == lattice.budget + 1 < expected[0][0]
    assert whole[-1] == expected[-1]


def test_other_nodes_are_surveyed_in_the_lattice_that_was_searched(monkeypatch):
    dataset, most = nearly_distinct_people(), {"most_nodes": 1_000, "most_effort": 1e9}
    plan = STEP.plan(dataset, GOAL)
    fresh = STEP.survey(nearly_distinct_people(), GOAL, plan, **most)
    monkeypatch.setattr(GlobalRecoding, "lattice", None)
    known = STEP.survey(dataset, GOAL, plan, **most)
    assert np.array_equal(known.score, fresh.score)
    assert np.array_equal(known.suppressed, fresh.suppressed)
    with pytest.raises(TypeError):  # under another promise it is another lattice
        STEP.survey(dataset, Goal(models=(KAnonymity(3),)), plan, **most)


def test_many_classes_are_counted_directly(monkeypatch):
    dataset, step, goal = nearly_distinct_people(), STEP, GOAL
    by_towers = step.plan(dataset, goal)
    monkeypatch.setattr(node_counts, "MANY_CLASSES", 1_000)
    monkeypatch.setattr(
        "sfumato.methods.steps.recoding.optimal.Peaks", None
    )  # nobody may ask for towers
    counted = step.plan(dataset, goal)
    assert counted.levels == by_towers.levels
    assert counted.score == pytest.approx(by_towers.score, abs=1e-12)
    assert np.array_equal(counted.dropped, by_towers.dropped)


@pytest.mark.parametrize("share", [1, 2, 4])
@pytest.mark.parametrize("slots", [1, 16, 1 << 12])
def test_a_part_of_the_cells_never_shows_more_than_is_lost(share, slots):
    rng = np.random.default_rng(share * slots)
    for _ in range(50):
        rows, size, groups, k = (
            2_000,
            int(rng.integers(2, 300)),
            int(rng.integers(1, 40)),
            int(rng.integers(2, 9)),
        )
        codes = rng.integers(0, size, rows).astype(np.uint16)
        ids, records = (
            rng.integers(0, groups, rows).astype(np.uint32),
            rng.integers(1, 3, rows).astype(np.int32),
        )
        cells = np.bincount(ids.astype(np.int64) * size + codes, weights=records)
        climb = np.arange(size, dtype=np.uint32)
        drawn = kernels.node_counts.draw_rows(ids, codes, climb, size, share)
        inside = np.isin(
            ids.astype(np.int64) * size + codes, (ids.astype(np.int64) * size + codes)[drawn]
        )
        assert np.array_equal(
            np.flatnonzero(inside), drawn
        )  # of a cell all classes are drawn or none
        room = np.zeros(slots, dtype=np.int32)
        lost = kernels.node_counts.count_lost(
            ids[drawn], codes[drawn], records[drawn], climb, size, k, room
        )
        assert 0 <= lost <= cells[cells < k].sum()


def test_cells_of_a_higher_level_are_put_together_from_those_below():
    fine = np.array([1, 2, 3, 4, 5, 6], dtype=np.int32)  # two groups of three cells
    coarse = np.zeros(4, dtype=np.int32)
    kernels.node_counts.merge_cells(fine, 3, np.array([1, 0, 1], dtype=np.uint32), 2, coarse)
    assert coarse.tolist() == [2, 4, 5, 10]
