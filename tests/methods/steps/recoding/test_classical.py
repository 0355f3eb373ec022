"""Every algorithm keeps its own guarantee: what trying all nodes says, it must not contradict."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.objective import OBJECTIVES
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.models.l_diversity import LDiversity
from sfumato.methods.steps.recoding.classical import (
    ALGORITHMS,
    all_admissible,
    all_minimal,
    argus,
    choose,
    datafly,
    every_table,
    incognito,
    mingen,
    ola,
    samarati,
)
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding
from sfumato.methods.steps.recoding.predictive_tagging import (
    Tags,
)
from tests.methods.steps.recoding.test_optimal import MINIMAL_NODES, SmallCrowds, faggioli, in_order
from tests.oracles import definitions as oracle
from tests.random_tables import RandomTable, tables

NAMES = [o.name for o in OBJECTIVES if not o.labelled]
MINIMAL = [o.name for o in OBJECTIVES if o.minimal]
BUDGETS = st.sampled_from([0.0, 0.1, 0.3, 1.0])


def silent(share, words=""):
    """Tell nobody."""


def lattice_of(table, models, *, budget=0.0, objective="loss", levels=None):
    step = GlobalRecoding(budget=budget, objective=objective, levels=levels or {})
    return step.lattice(table.dataset(), Goal(models=tuple(models)))


def crowds(table, k):
    """What the definitions say of every node under k-anonymity: suppressed rows, by node in the
    order of the table.
    """
    found = {}
    for node in oracle.all_nodes([0] * len(table.depths), [d - 1 for d in table.depths]):
        released = oracle.generalised(table.rows, table.paths, table.depths, node)
        found[node] = sum(oracle.suppressed_rows(released, k))
    return found


def admissible(table, k, budget):
    allowed = math.floor(budget * len(table.rows) + 1e-9)
    return {n for n, gone in crowds(table, k).items() if gone <= allowed and gone < len(table.rows)}


def turned(lattice, table, node):
    """A node of a lattice in the column order of the table."""
    levels = dict(zip(lattice.columns, node, strict=True))
    return tuple(levels[name] for name in table.names)


@st.composite
def lattices(draw, *, most_rows=25, objectives=None):
    """A random table of at most 200 nodes with its lattice under k-anonymity."""
    table = draw(tables(most_columns=4, most_rows=most_rows, most_leaves=5, most_levels=3))
    k, budget = draw(st.integers(1, 5)), draw(BUDGETS)
    lattice = lattice_of(
        table, [KAnonymity(k)], budget=budget, objective=draw(st.sampled_from(objectives or NAMES))
    )
    assert lattice.size <= 200
    return table, k, budget, lattice


# ------------------------------------------------------------------------------ complete algorithms


@given(drawn=lattices())
def test_mingen_looks_at_every_node_and_agrees_with_the_optimal_search(drawn):
    *_, lattice = drawn
    found, expected = mingen(lattice), choose("optimal")(lattice, silent)
    assert found.looked_at == lattice.size
    assert (found.best and found.best.node) == (expected.best and expected.best.node)


@given(drawn=lattices())
def test_incognito_finds_all_admissible_nodes(drawn):
    table, k, budget, lattice = drawn
    tags = Tags(lattice)
    assert {turned(lattice, table, node) for node in all_admissible(tags)} == admissible(
        table, k, budget
    )
    assert tags.looked_at <= lattice.size
    found, expected = incognito(lattice), mingen(lattice)
    assert (found.best and found.best.node) == (expected.best and expected.best.node)


@given(drawn=lattices(objectives=["loss"]))
def test_samarati_finds_the_least_height(drawn):
    table, k, budget, lattice = drawn
    heights = [sum(node) for node in admissible(table, k, budget)]
    found = samarati(lattice)
    if not heights:
        assert found.best is None
        assert found.closest.tally.suppressed == min(crowds(table, k).values())
        return
    assert sum(found.best.node) == min(heights)
    judged = [lattice.judge(c) for c in every_table(lattice)]
    same = [j.score for j in judged if j.feasible and sum(j.node) == min(heights)]
    assert found.best.score == pytest.approx(min(same))


@given(drawn=lattices(objectives=MINIMAL))
def test_all_minimal_nodes_and_the_preferences_among_them(drawn):
    table, k, budget, lattice = drawn
    minimal = all_minimal(Tags(lattice))
    expected = oracle.minimal_nodes(admissible(table, k, budget))
    assert {turned(lattice, table, j.node) for j in minimal} == set(expected)
    assert len(minimal) == len(expected)
    for search in (samarati, ola, incognito):
        found, optimum = search(lattice), mingen(lattice)
        assert (found.best and found.best.node) == (optimum.best and optimum.best.node)


@pytest.mark.parametrize(("k", "most"), list(MINIMAL_NODES))
def test_minimal_generalizations_of_the_literature(k, most):
    # the four antichains of the nine-row table, see MINIMAL_NODES for their source
    step = GlobalRecoding(budget=(most + 0.5) / 9)
    lattice = step.lattice(faggioli(), Goal(models=(KAnonymity(k),)))
    tags = Tags(lattice)
    of = type("Named", (), {"lattice": lattice})
    assert {in_order(of, j.node): j.tally.suppressed for j in all_minimal(tags)} == MINIMAL_NODES[
        k, most
    ]
    assert tags.looked_at < lattice.size
    all_admissible(tags)
    assert {in_order(of, node) for node in tags.minimal()} == set(MINIMAL_NODES[k, most])


@pytest.mark.parametrize("algorithm", ["optimal", "samarati", "mingen", "incognito", "ola"])
@pytest.mark.parametrize(("k", "most"), list(MINIMAL_NODES))
def test_all_minimal_nodes_are_listed(k, most, algorithm):
    step = GlobalRecoding(
        budget=(most + 0.5) / 9, algorithm=algorithm, objective="minimum_absolute_distance"
    )
    people, goal = faggioli(), Goal(models=(KAnonymity(k),))
    told = step.plan(people, goal).effort()
    of = type("Named", (), {"lattice": step.lattice(people, goal)})
    listed = {
        in_order(of, tuple(one["levels"].values())): one["suppressed_records"]
        for one in told["k_minimal"]
    }
    assert listed == MINIMAL_NODES[k, most] and told["k_minimal_nodes"] == len(listed)
    assert all(one["score"] == sum(one["levels"].values()) for one in told["k_minimal"])


@given(drawn=lattices())
def test_ola_finds_the_best_minimal_node(drawn):
    table, k, budget, lattice = drawn
    found = ola(lattice)
    expected = oracle.minimal_nodes(admissible(table, k, budget))
    assert found.notes["k_minimal_nodes"] == len(expected)
    if not expected:
        assert found.best is None
        return
    judged = {turned(lattice, table, j.node): j for j in map(lattice.judge, every_table(lattice))}
    assert found.best.score == pytest.approx(min(judged[node].score for node in expected))


@pytest.mark.slow
@pytest.mark.parametrize("objective", NAMES)
@given(data=st.data(), table=tables(most_columns=4, most_rows=20))
def test_complete_algorithms_agree_where_the_objective_never_falls_on_the_way_up(
    objective, data, table
):
    # `height` ignores suppression; the others rise with the levels as long as nothing is suppressed
    budget = data.draw(BUDGETS) if objective == "height" else 0.0
    lattice = lattice_of(
        table, [KAnonymity(data.draw(st.integers(1, 4)))], budget=budget, objective=objective
    )
    nodes = {
        name: found.best and found.best.node
        for name in ("optimal", "mingen", "ola", "incognito")
        for found in [choose(name)(lattice, silent)]
    }
    assert len(set(nodes.values())) == 1, nodes


@given(data=st.data(), table=tables(most_columns=3, most_rows=20))
def test_bounds_on_levels_hold_in_every_algorithm(data, table):
    bounds = {}
    for name, depth in zip(table.names, table.depths, strict=True):
        low = data.draw(st.integers(0, depth - 1))
        bounds[name] = (low, data.draw(st.integers(low, depth - 1)))
    models, budget = [KAnonymity(data.draw(st.integers(1, 3)))], data.draw(BUDGETS)
    lattice = lattice_of(table, models, budget=budget, levels=bounds, objective="height")
    optimum = mingen(lattice)
    for name in ALGORITHMS:
        found = choose(name)(lattice, silent)
        assert (found.best is None) == (optimum.best is None)
        if found.best is not None:
            assert all(
                bounds[c][0] <= level <= bounds[c][1]
                for c, level in zip(lattice.columns, found.best.node, strict=True)
            )
            assert name in ("samarati", "datafly") or found.best.node == optimum.best.node


# ------------------------------------------------------------------- models that forbid conclusions


def secret(table, data):
    """A table with a sensitive column, which is not constant."""
    rest = data.draw(
        st.lists(st.sampled_from("xyz"), min_size=len(table.rows) - 2, max_size=len(table.rows) - 2)
    )
    values = ["x", "y", *rest]
    schema = Schema({**table.schema().attributes, "s": Attribute((Role.SENSITIVE,))})
    return Table(table.frame().with_columns(s=pl.Series(values, dtype=pl.String)), schema)


@given(data=st.data(), table=tables(most_rows=20, fewest_rows=2), budget=BUDGETS)
def test_nothing_is_concluded_that_a_model_does_not_allow(data, table, budget):
    # entropy diversity suppresses more at some coarser nodes, and large crowds break the made-up
    # promise
    models = data.draw(
        st.sampled_from(
            [
                (LDiversity("s", l=2, kind="entropy"),),
                (SmallCrowds(3),),
                (SmallCrowds(4), KAnonymity(2)),
            ]
        )
    )
    step = GlobalRecoding(budget=budget, objective=data.draw(st.sampled_from(NAMES)))
    lattice = step.lattice(secret(table, data), Goal(models=models))
    judged = [lattice.judge(classes) for classes in every_table(lattice)]
    feasible = {j.node for j in judged if j.feasible}
    assert set(all_admissible(Tags(lattice))) == feasible
    assert {j.node for j in all_minimal(Tags(lattice))} == set(oracle.minimal_nodes(feasible))
    least = samarati(dataclasses.replace(lattice, objective=OBJECTIVES[0])).best
    assert (least and sum(least.node)) == min(map(sum, feasible), default=None)
    if Tags(lattice).decisive:
        assert ola(lattice).notes["k_minimal_nodes"] == len(oracle.minimal_nodes(feasible))
    else:
        with pytest.raises(ParameterError, match="use the algorithm optimal"):
            ola(lattice)


# ------------------------------------------------------------------------------------------ Datafly


def test_datafly_generalises_the_column_with_most_values_first():
    # worked by hand: c0 has three values and climbs to '*', then c1 has two, more than the one that
    # is left of c0
    three = {v: (v, "*") for v in "abc"}
    two = {v: (v, "*") for v in "xy"}
    table = RandomTable([("a", "x"), ("b", "x"), ("c", "x"), ("a", "y")], [three, two])
    for k, budget, node, looks in ((1, 0.0, (0, 0), 1), (3, 0.25, (1, 0), 2), (2, 0.0, (1, 1), 3)):
        lattice = lattice_of(table, [KAnonymity(k)], budget=budget)
        found = datafly(lattice)
        assert turned(lattice, table, found.best.node) == node
        assert found.looked_at == looks


@given(drawn=lattices(objectives=["loss"]))
def test_datafly_is_valid_and_reaches_whatever_can_be_reached(drawn):
    table, k, budget, lattice = drawn
    found, good = datafly(lattice), admissible(table, k, budget)
    assert (found.best is None) == (not good)
    assert found.best is None or turned(lattice, table, found.best.node) in good
    assert found.looked_at <= sum(lattice.high) + 1


def unsafe_by_definition(table, k, node, widest=3):
    """Per column, the combinations of values of up to three columns, or of all, that fewer than k
    rows have.
    """
    released = oracle.generalised(table.rows, table.paths, table.depths, node)
    columns = range(len(table.names))
    sets = {
        s
        for size in (*range(1, widest + 1), len(node))
        for s in itertools.combinations(columns, size)
    }
    found = [0] * len(node)
    for chosen in sets:
        counts = Counter(tuple(row[a] for a in chosen) for row in released)
        for a in chosen:
            found[a] += sum(count < k for count in counts.values())
    return found


@given(drawn=lattices())
def test_argus_recodes_the_worst_column_until_the_rest_may_be_suppressed(drawn):
    """The same climb by definition; ends where the budget allows, or at the top."""
    table, k, _, lattice = drawn
    if any(
        depth == 1 for depth in table.depths
    ):  # left out of a combination, such a column still tells values apart
        return
    order = [table.names.index(name) for name in lattice.columns]
    node = [0] * len(table.names)
    while True:
        gone = oracle.suppressed_rows(
            oracle.generalised(table.rows, table.paths, table.depths, node), k
        )
        able = [a for a in order if node[a] < table.depths[a] - 1]
        if (sum(gone) <= lattice.budget and sum(gone) < len(table.rows)) or not able:
            break
        unsafe = unsafe_by_definition(table, k, node)
        values = [
            len({row[a] for row in oracle.generalised(table.rows, table.paths, table.depths, node)})
            for a in range(len(node))
        ]
        node[max(able, key=lambda a: (unsafe[a], values[a], -order.index(a)))] += 1
    found = argus(lattice)
    feasible = sum(gone) <= lattice.budget and sum(gone) < len(table.rows)
    assert (found.best is not None) == feasible
    if feasible:
        assert turned(lattice, table, found.best.node) == tuple(node)


def test_argus_then_suppresses_cells():
    people = sf.examples.hospital(300)
    step = GlobalRecoding(budget=0.3, algorithm="argus", suppress="cell")
    release = sf.anonymize(people, [KAnonymity(3)], [step], seed=1)
    assert (
        release.holds
        and len(release.released) == 300
        and release.plans[0][1].describe()["algorithm"] == "argus"
    )
    with pytest.raises(ParameterError, match="unsafe combinations"):
        GlobalRecoding(algorithm="argus", objective="height")
