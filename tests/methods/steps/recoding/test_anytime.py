"""A search that may be stopped at any time never claims too much, and ends at the optimum."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.objective import OBJECTIVES
from sfumato.core.step import Goal
from sfumato.errors import Unsatisfiable
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.steps.recoding.anytime import Anytime, Bounds, anytime
from sfumato.methods.steps.recoding.classical import choose, datafly, every_table, mingen
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding
from tests.methods.steps.recoding.test_classical import lattice_of, lattices, turned
from tests.methods.steps.recoding.test_optimal import SmallCrowds
from tests.oracles import definitions as oracle
from tests.random_tables import RandomTable

NAMES = [o.name for o in OBJECTIVES if not o.minimal and not o.labelled]
BOUNDED = [o.name for o in OBJECTIVES if o.bounded]


def silent(share, words=""):
    """Tell nobody."""


@given(drawn=lattices(objectives=NAMES), effort=st.integers(1, 400))
def test_anytime_never_claims_too_much(drawn, effort):
    *_, lattice = drawn
    optimum, found = mingen(lattice).best, anytime(lattice, effort=effort)
    assert found.looked_at <= effort
    if optimum is None:
        assert found.best is None
        return
    assert found.best.score >= optimum.score - 1e-9
    lower = found.notes.get("lower_bound", -math.inf)
    assert lower <= optimum.score + 1e-9
    assert found.notes.get("gap", math.inf) == pytest.approx(found.best.score - lower)
    if found.notes["proved_optimal"]:
        assert found.best.node == optimum.node
    else:
        assert found.notes["stopped_by"] == "effort"


@given(drawn=lattices(objectives=NAMES))
def test_anytime_finds_the_optimum_with_enough_effort(drawn):
    *_, lattice = drawn
    found, optimum = anytime(lattice, effort=100_000), mingen(lattice).best
    assert found.notes["proved_optimal"]
    assert (found.best and found.best.node) == (optimum and optimum.node)


@given(drawn=lattices(objectives=BOUNDED), share=st.integers(1, 60))
def test_bounds_are_bounds(drawn, share):
    *_, lattice = drawn
    bounds, nodes = Bounds(lattice), [lattice.judge(c) for c in every_table(lattice)]
    for _ in range(2):
        assert all(bounds.of_all <= j.score + 1e-9 for j in nodes if j.feasible)
        for depth in range(1, len(lattice.columns) + 1):
            for one in nodes:
                coarse = lattice.at((*one.node[:depth], *lattice.high[depth:]))
                least = bounds.of_prefix(coarse, depth)
                below = [
                    j.score for j in nodes if j.feasible and j.node[:depth] == one.node[:depth]
                ]
                assert not below or (least is not None and least <= min(below) + 1e-9)
        list(bounds.refine(share))


def test_bounds_of_columns_add_up():
    # two copies of two columns that hold each other back: alone, each pair costs at least one level
    path = {v: (v, "*") for v in "ab"}
    rows = [(a, b, c, d) for a in "ab" for b in "ab" for c in "ab" for d in "ab"]
    lattice = lattice_of(RandomTable(rows, [path] * 4), [KAnonymity(8)])
    bounds = Bounds(lattice)
    assert bounds.of_all == 0.0
    list(bounds.refine(1000))
    assert bounds.of_all == pytest.approx(3 / 4)  # all four together: exact
    few = Bounds(lattice)
    list(few.refine(4))
    assert 0 < few.of_all < 3 / 4


def many_columns(columns=15, rows=400, seed=11):
    """A lattice of 5^columns nodes: values in pairs, fours, eights, correlated in every other
    column.
    """
    draws, names = np.random.default_rng(seed), [f"v{i:02}" for i in range(16)]
    paths = {v: (v, f"2.{i // 2}", f"4.{i // 4}", f"8.{i // 8}", "*") for i, v in enumerate(names)}
    shared = draws.integers(0, 16, rows)
    values = [
        (draws.integers(0, 16, rows) // (1 + a % 3) + shared * (a % 2)) % 16 for a in range(columns)
    ]
    return RandomTable(
        [tuple(names[v] for v in row) for row in np.stack(values, axis=1)], [paths] * columns
    )


@pytest.mark.slow
def test_anytime_takes_lattices_that_nothing_can_decide():
    table = many_columns()
    lattice = lattice_of(table, [KAnonymity(5)], budget=0.05)
    assert lattice.size == 5**15
    found = anytime(lattice, effort=3000)
    assert found.looked_at == 3000
    assert 0 < found.notes["lower_bound"] < found.best.score < 1
    released = oracle.generalised(
        table.rows, table.paths, table.depths, turned(lattice, table, found.best.node)
    )
    assert sum(oracle.suppressed_rows(released, 5)) == found.best.tally.suppressed <= 20
    more = anytime(lattice, effort=9000)
    assert more.best.score <= found.best.score + 1e-9
    assert more.notes["lower_bound"] >= found.notes["lower_bound"]
    assert found.best.score < datafly(lattice).best.score


def test_the_effort_reached_when_time_ran_out_gives_the_same_again(monkeypatch):
    lattice = lattice_of(many_columns(), [KAnonymity(5)], budget=0.05)
    clock = iter(range(10**9))
    monkeypatch.setattr(
        "sfumato.methods.steps.recoding.anytime.time.monotonic", lambda: next(clock)
    )  # a second a look
    timed = anytime(lattice, seconds=700)
    monkeypatch.undo()
    assert timed.notes["stopped_by"] == "seconds"
    assert 600 < timed.looked_at < 800
    again = anytime(lattice, effort=timed.looked_at)
    assert again.best == timed.best
    assert again.notes["lower_bound"] == timed.notes["lower_bound"]


def test_a_step_that_time_stopped_is_locked_with_the_effort_it_reached(monkeypatch):
    data, goal = many_columns(rows=100).dataset(), Goal(models=(KAnonymity(5),))
    step = GlobalRecoding(algorithm="anytime", seconds=50)
    clock = iter(range(10**9))
    monkeypatch.setattr(
        "sfumato.methods.steps.recoding.anytime.time.monotonic", lambda: next(clock)
    )
    plan = step.plan(data, goal)
    monkeypatch.undo()
    again = step.locked(plan)
    assert (again.effort, again.seconds) == (plan.looked_at, None)
    assert again.plan(data, goal).levels == plan.levels
    counted = GlobalRecoding(algorithm="anytime", effort=20)
    assert counted.locked(counted.plan(data, goal)) == counted


def test_a_search_that_stops_before_it_found_anything_says_so():
    # the top has one large crowd, which this promise forbids; the first look proves nothing
    paths = {f"v{i}": (f"v{i}", f"{i // 2}", "*") for i in range(8)}
    table = RandomTable([(v, v) for v in paths], [paths, paths])
    goal = Goal(models=(SmallCrowds(2), KAnonymity(2)))
    with pytest.raises(Unsatisfiable, match="was found before the effort ran out"):
        GlobalRecoding(budget=0.0, algorithm="anytime", effort=1).plan(table.dataset(), goal)
    assert (
        GlobalRecoding(budget=0.0, algorithm="anytime", effort=500)
        .plan(table.dataset(), goal)
        .score
        > 0
    )


def test_hunt_and_proof_share_what_they_find():
    search = Anytime(lattice_of(many_columns(columns=6), [KAnonymity(5)], budget=0.05))
    said = []
    outcome = search.run(lambda share, words="": said.append(share), 100_000, None)
    assert outcome.notes["proved_optimal"]
    assert outcome.notes["gap"] == 0.0
    assert outcome.best.node == choose("optimal")(search.lattice, silent).best.node
    assert said == sorted(said)
