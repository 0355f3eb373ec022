"""The search finds what trying every node finds, under every objective."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.model import Facts, Needs
from sfumato.core.objective import OBJECTIVES
from sfumato.core.step import Goal
from sfumato.errors import Unsatisfiable
from sfumato.models.k_anonymity import KAnonymity
from sfumato.steps.global_recoding import GlobalRecoding
from sfumato.steps.optimal_search import Search, k_minimal
from tests import oracle
from tests.random_tables import tables

NAMES = [o.name for o in OBJECTIVES]
MINIMAL = {o.name for o in OBJECTIVES if o.minimal}
PREFERENCES = ("minimum_absolute_distance", "minimum_relative_distance", "maximum_distribution", "minimum_suppression")


def every_node(table, k, *, low=None, high=None, weights=None):
    """What the oracle says of every node: scores, suppressed rows, whether anything is left."""
    low = low or [0] * len(table.names)
    high = high or [d - 1 for d in table.depths]
    found = {}
    for node in oracle.all_nodes(low, high):
        released = oracle.generalised(table.rows, table.paths, table.depths, node)
        gone = oracle.suppressed_rows(released, k)
        scores = oracle.node_scores(
            table.rows, table.paths, table.leaves, table.depths, node, gone, weights or [1.0] * len(table.names)
        )
        found[node] = (scores, sum(gone))
    return found


def best_node(nodes, objective, order):
    """The node that the documented rule chooses; ``order`` is the order in which ties compare columns."""
    if objective in MINIMAL:
        minimal = oracle.minimal_nodes(nodes)
        return min(
            minimal,
            key=lambda n: (nodes[n][0][objective], *(nodes[n][0][p] for p in PREFERENCES), [n[a] for a in order]),
        )
    least = min(scores[objective] for scores, _ in nodes.values())
    near = [n for n, (scores, _) in nodes.items() if scores[objective] <= least + 1e-10 * max(1, abs(least))]
    return min(near, key=lambda n: (sum(n), [n[a] for a in order]))


def compare(table, k, objective, budget, *, levels=None, weights=None):
    """Search a table and compare with trying everything; returns the plan, or None where nothing is feasible."""
    levels = levels or {}
    names = table.names
    low = [levels.get(n, (0, 0))[0] for n in names]
    high = [min(levels.get(n, (0, d - 1))[1], d - 1) for n, d in zip(names, table.depths, strict=True)]
    nodes = every_node(table, k, low=low, high=high, weights=[(weights or {}).get(n, 1.0) for n in names])
    allowed = math.floor(budget * len(table.rows) + 1e-9)
    feasible = {n: v for n, v in nodes.items() if v[1] <= allowed and v[1] < len(table.rows)}
    step = GlobalRecoding(budget=budget, objective=objective, levels=levels, weights=weights or {})
    goal = Goal(models=(KAnonymity(k),))
    if not feasible:
        with pytest.raises(Unsatisfiable) as refused:
            step.plan(table.dataset(), goal)
        assert refused.value.closest.tally.suppressed == min(s for _, s in nodes.values())
        return None
    plan = step.plan(table.dataset(), goal)
    order = [names.index(name) for name in plan.levels]
    node = tuple(plan.levels[name] for name in names)
    expected = best_node(feasible, objective, order)
    scores, suppressed = feasible[node]
    assert plan.score == pytest.approx(scores[objective], abs=1e-9)
    assert plan.score == pytest.approx(feasible[expected][0][objective], abs=1e-9)
    assert node == expected
    assert plan.suppressed == suppressed
    assert plan.lattice_nodes == len(nodes)
    return plan


@pytest.mark.parametrize("objective", NAMES)
@given(table=tables(), k=st.integers(1, 4), budget=st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_search_equals_trying_every_node(objective, table, k, budget):
    compare(table, k, objective, budget)
