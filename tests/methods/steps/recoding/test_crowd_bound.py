"""The bound from what a crowd costs: never above the optimum, whatever the models, the objective
and the budget.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.objective import OBJECTIVES
from sfumato.core.progress import silent
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.models.l_diversity import LDiversity
from sfumato.methods.models.t_closeness import TCloseness
from sfumato.methods.steps.recoding.anytime import anytime
from sfumato.methods.steps.recoding.classical import choose, every_table, mingen
from sfumato.methods.steps.recoding.crowd_bound import CrowdBound, CrowdPrices, _terms
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding
from tests.methods.steps.recoding.test_classical import lattice_of
from tests.methods.steps.recoding.test_optimal import SmallCrowds
from tests.oracles import definitions as oracle
from tests.random_tables import RandomTable, tables

NAMES = [o.name for o in OBJECTIVES if not o.minimal and not o.labelled]
BUDGETS = [0.0, 0.1, 0.3, 0.7, 1.0]
MODELS = {
    "k": lambda k: [KAnonymity(k)],
    "two k": lambda k: [KAnonymity(k), KAnonymity(k + 1)],
    "k, and what merging breaks": lambda k: [KAnonymity(k), SmallCrowds(k + 3)],
    "what merging breaks": lambda k: [SmallCrowds(k)],
}


def best_of_all(lattice):
    """The least score of a feasible node, all of them looked at."""
    return min(
        (j.score for j in map(lattice.judge, every_table(lattice)) if j.feasible), default=math.inf
    )


@given(
    table=tables(most_columns=4, most_rows=25, most_leaves=5, most_levels=3),
    k=st.integers(1, 5),
    budget=st.sampled_from(BUDGETS),
    objective=st.sampled_from(NAMES),
    models=st.sampled_from(sorted(MODELS)),
    share=st.integers(0, 400),
)
def test_no_node_scores_less_than_the_bound(table, k, budget, objective, models, share):
    lattice = lattice_of(table, MODELS[models](k), budget=budget, objective=objective)
    optimum, bound = best_of_all(lattice), CrowdBound(lattice)
    if bound.usable:
        for _ in itertools.islice(bound.prove(lambda: min(optimum, 1.0)), share):
            assert bound.lower <= optimum + 1e-8
    assert bound.lower <= optimum + 1e-8
    found = anytime(lattice, effort=1 + share)
    assert found.best is None or found.best.score >= optimum - 1e-9
    if found.best is not None and "lower_bound" in found.notes:
        assert found.notes["lower_bound"] <= optimum + 1e-8
        assert found.notes["gap"] == pytest.approx(found.best.score - found.notes["lower_bound"])


@given(
    table=tables(most_columns=4, most_rows=20, most_leaves=5, most_levels=3),
    k=st.integers(2, 5),
    objective=st.sampled_from([o.name for o in OBJECTIVES if o.separable]),
)
def test_the_price_of_a_group_is_that_of_its_cheapest_crowds(table, k, objective):
    lattice = lattice_of(table, [KAnonymity(k)], budget=0.0, objective=objective)
    if not CrowdBound(lattice).usable:
        return
    prices = CrowdPrices(lattice, k, *_terms(lattice))
    list(prices.choose())
    assert (
        len(set(prices.groups.reshape(-1).tolist())) == prices.groups.size
    )  # no class is in two groups
    for at, group in enumerate(prices.groups.tolist()):
        price = cheapest_crowds(lattice, prices, group, k)
        assert prices.least[at] <= price + 1e-9
        if price == math.inf:
            continue
        prices.raise_to(at, price - 1e-6, 10**6)
        assert prices.least[at] >= price - 2e-6  # proved
        prices.raise_to(at, price + 1e-6, 10**6)
        assert prices.least[at] <= price + 1e-9  # and no more than that
        assert prices.most[at] == price + 1e-6


def cheapest_crowds(lattice, prices, group, k):
    """The least sum of terms of a node that leaves each class of a group k records: all nodes are
    tried.
    """
    terms, _, _ = _terms(lattice)
    spans = [range(low, high + 1) for low, high in zip(lattice.low, lattice.high, strict=True)]
    codes, ladders = prices.codes, lattice.base.ladders
    sums = [math.inf]
    for node in itertools.product(*spans):
        shown = np.column_stack(
            [ladders[a].climb(lattice.low[a], node[a])[codes[:, a]] for a in range(len(node))]
        )
        crowds = [prices.records[(shown == shown[chosen]).all(axis=1)].sum() for chosen in group]
        if min(crowds) >= k:
            sums.append(sum(terms[a][level] for a, level in enumerate(node)))
    return min(sums)


def wide_lattice(columns=30, rows=300):
    """Too many nodes to decide: independent columns of 32 values and six levels."""
    draw, names = np.random.default_rng(1), [f"{i:05b}" for i in range(32)]
    paths = {v: tuple(v[: 5 - level] + "*" * level for level in range(6)) for v in names}
    values = draw.integers(0, 32, (rows, columns))
    table = RandomTable([tuple(names[v] for v in row) for row in values], [paths] * columns)
    return lattice_of(table, [KAnonymity(5)], budget=0.02)


def test_the_bound_halves_the_gap_of_thirty_columns():
    lattice = wide_lattice()
    found = anytime(lattice, effort=2000)
    without = found.best.score - max(0.0, blocks_only(lattice, 2000))
    assert found.notes["gap"] < without / 2
    assert found.notes["lower_bound"] < found.best.score


def blocks_only(lattice, effort):
    """The lower bound that blocks of columns give."""
    found = anytime(without_crowds(lattice), effort=effort)
    return found.notes["lower_bound"]


def without_crowds(lattice):
    """The same lattice under a promise that asks for the same and does not say that it is about
    crowds.
    """
    return dataclasses.replace(lattice, models=(Unnamed(5),))


class Unnamed(KAnonymity):
    """k-anonymity that does not say so."""

    crowd = None


def test_the_optimum_of_a_small_lattice_is_decided_with_the_bound_at_work():
    draw, names = np.random.default_rng(3), [f"v{i}" for i in range(6)]
    paths = {v: (v, f"2.{i // 2}", "*") for i, v in enumerate(names)}
    rows = [tuple(names[v] for v in row) for row in draw.integers(0, 6, (60, 4))]
    lattice = lattice_of(RandomTable(rows, [paths] * 4), [KAnonymity(3)], budget=0.1)
    found, optimum = anytime(lattice, effort=100_000), mingen(lattice).best
    assert found.notes["proved_optimal"]
    assert found.best.node == optimum.node


# The same against the definitions: persons of several rows, a sensitive column, missing values,
# weights and level bounds.

SUMS = [o.name for o in OBJECTIVES if o.separable]
CLOSE = 0.3137
"""A distance that no class of so few rows has exactly."""


@dataclasses.dataclass(frozen=True)
class Promised:
    """A random table with persons and a sensitive column, what is promised of it, and what a recipe
    says of its columns.
    """

    table: RandomTable
    persons: list[int] | None
    illness: list[str | None]
    k: int
    different: int | None
    close: bool
    weights: list[float]
    bounds: list[tuple[int, int]]
    budget: float
    objective: str

    def lattice(self):
        names, frame = self.table.names, self.table.frame()
        frame = frame.with_columns(pl.Series("ill", self.illness, dtype=pl.String))
        roles = dict(self.table.schema().attributes) | {"ill": Attribute((Role.SENSITIVE,))}
        if self.persons is not None:
            frame = frame.with_columns(pl.Series("who", self.persons))
            roles["who"] = Attribute((Role.PERSON,))
        models = [KAnonymity(self.k)]
        if self.different is not None:
            models.append(LDiversity("ill", l=self.different))
        if self.close:
            models.append(TCloseness("ill", t=CLOSE, distance="equal"))
        step = GlobalRecoding(
            budget=self.budget,
            objective=self.objective,
            weights=dict(zip(names, self.weights, strict=True)),
            levels=dict(zip(names, self.bounds, strict=True)),
        )
        return step.lattice(Table(frame, Schema(roles)), Goal(models=tuple(models)))

    def gone(self, node):
        """Which rows a node suppresses, by the definitions."""
        table, whole = self.table, Counter(self.illness)
        released = oracle.generalised(table.rows, table.paths, table.depths, node)
        persons = list(range(len(released))) if self.persons is None else self.persons
        people, ill = oracle.class_persons(released, persons), {}
        for row, illness in zip(released, self.illness, strict=True):
            ill.setdefault(row, Counter())[illness] += 1
        failing = {row for row in people if people[row] < self.k}
        if self.different is not None:
            failing |= {row for row in people if min(len(ill[row]), people[row]) < self.different}
        if self.close:
            failing |= {row for row in people if distance(ill[row], whole) > CLOSE}
        return [row in failing for row in released]

    def scores(self):
        """The score of every node that may be released, by its levels."""
        table, found = self.table, {}
        allowed = math.floor(self.budget * len(table.rows) + 1e-9)
        for node in oracle.all_nodes(*zip(*self.bounds, strict=True)):
            gone = self.gone(node)
            if sum(gone) <= allowed and not all(gone):
                parts = (
                    table.rows,
                    table.paths,
                    table.leaves,
                    table.depths,
                    node,
                    gone,
                    self.weights,
                )
                found[node] = oracle.node_scores(*parts)[self.objective]
        return found


def distance(counts, whole):
    """Half of what the shares of the values differ by."""
    here, there = sum(counts.values()), sum(whole.values())
    return sum(abs(counts[v] / here - whole[v] / there) for v in whole) / 2


@st.composite
def promises(draw):
    table = draw(tables(most_columns=4, most_rows=24, most_leaves=5, most_levels=3, fewest_rows=2))
    rows = len(table.rows)
    several = st.lists(st.integers(0, max(1, rows // 2)), min_size=rows, max_size=rows)
    illness = draw(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=rows, max_size=rows))
    values = len(set(illness))
    bounds = []
    for depth in table.depths:
        low = draw(st.sampled_from([0, 0, 0, depth - 1]))
        bounds.append(
            (low, draw(st.integers(low, depth - 1))) if draw(st.booleans()) else (low, depth - 1)
        )
    weights = st.sampled_from([0.0, 0.1, 1.0, 1.0, 3.0])
    return Promised(
        table,
        draw(st.none() | several),
        illness,
        draw(st.integers(2, 5)),
        draw(st.none() | st.integers(1, values)),
        values > 1 and draw(st.booleans()),
        [*(draw(weights) for _ in table.depths[1:]), 1.0],
        bounds,
        draw(st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.5])),
        draw(st.sampled_from(SUMS)),
    )


@given(promised=promises(), above=st.sampled_from([0.0, 0.01, 0.3]), share=st.integers(1, 300))
def test_the_bound_holds_beside_other_promises_for_persons_weights_and_level_bounds(
    promised, above, share
):
    lattice, scores = promised.lattice(), promised.scores()
    optimum, bound = min(scores.values(), default=math.inf), CrowdBound(lattice)
    for _ in itertools.islice(
        bound.prove(lambda: min(optimum, 1.0) + above), 400 if bound.usable else 0
    ):
        assert bound.lower <= optimum + 1e-8
    found = anytime(lattice, effort=share)
    assert found.notes.get("lower_bound", -math.inf) <= optimum + 1e-8
    exact = choose("optimal")(lattice, silent).best
    assert (exact is None) == (not scores)
    if exact is not None:
        node = tuple(
            dict(zip(lattice.columns, exact.node, strict=True))[name]
            for name in promised.table.names
        )
        assert exact.score == pytest.approx(optimum, abs=1e-9)
        assert scores[node] == pytest.approx(optimum, abs=1e-9)
