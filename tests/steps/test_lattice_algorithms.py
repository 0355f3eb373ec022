"""Every algorithm keeps its own guarantee: what trying all nodes says, it must not contradict."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.dataset import Dataset
from sfumato.core.model import Facts, Needs
from sfumato.core.objective import OBJECTIVES
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.step import Goal
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from sfumato.steps import tagging
from sfumato.steps.algorithms import ALGORITHMS, choose
from sfumato.steps.anytime import Anytime, anytime
from sfumato.steps.datafly import datafly
from sfumato.steps.global_recoding import GlobalRecoding
from sfumato.steps.incognito import all_admissible, incognito
from sfumato.steps.lattice_bounds import Bounds
from sfumato.steps.mingen import every_table, mingen
from sfumato.steps.ola import ola
from sfumato.steps.samarati import all_minimal, samarati
from sfumato.steps.tagging import FEASIBLE, INFEASIBLE, UNKNOWN, History, Tags
from tests import oracle
from tests.random_tables import RandomTable, tables
from tests.steps.test_optimal_search import MINIMAL_NODES, SmallCrowds, faggioli, in_order

NAMES = [o.name for o in OBJECTIVES]
MINIMAL = [o.name for o in OBJECTIVES if o.minimal]
BOUNDED = [o.name for o in OBJECTIVES if o.bounded]
BUDGETS = st.sampled_from([0.0, 0.1, 0.3, 1.0])


def lattice_of(table, models, *, budget=0.0, objective="loss", levels=None):
    step = GlobalRecoding(budget=budget, objective=objective, levels=levels or {})
    return step.lattice(table.dataset(), Goal(models=tuple(models)))


def crowds(table, k):
    """What the definitions say of every node under k-anonymity: suppressed rows, by node in the order of the table."""
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
    lattice = lattice_of(table, [KAnonymity(k)], budget=budget, objective=draw(st.sampled_from(objectives or NAMES)))
    assert lattice.size <= 200
    return table, k, budget, lattice


# ------------------------------------------------------------------------------------------------ complete algorithms


@given(drawn=lattices())
def test_mingen_looks_at_every_node_and_agrees_with_the_optimal_search(drawn):
    *_, lattice = drawn
    found, expected = mingen(lattice), choose("optimal")(lattice, lambda share, words="": None)
    assert found.looked_at == lattice.size
    assert (found.best and found.best.node) == (expected.best and expected.best.node)


@given(drawn=lattices())
def test_incognito_finds_all_admissible_nodes(drawn):
    table, k, budget, lattice = drawn
    tags = Tags(lattice)
    assert {turned(lattice, table, node) for node in all_admissible(tags)} == admissible(table, k, budget)
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
    assert {in_order(of, j.node): j.tally.suppressed for j in all_minimal(tags)} == MINIMAL_NODES[k, most]
    assert tags.looked_at < lattice.size
    all_admissible(tags)
    assert {in_order(of, node) for node in tags.minimal()} == set(MINIMAL_NODES[k, most])


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


@pytest.mark.parametrize("objective", NAMES)
@given(data=st.data(), table=tables(most_columns=4, most_rows=20))
def test_complete_algorithms_agree_where_the_objective_never_falls_on_the_way_up(objective, data, table):
    # `height` ignores suppression; the others rise with the levels as long as nothing is suppressed
    budget = data.draw(BUDGETS) if objective == "height" else 0.0
    lattice = lattice_of(table, [KAnonymity(data.draw(st.integers(1, 4)))], budget=budget, objective=objective)
    nodes = {name: (found.best and found.best.node) for name in ("optimal", "mingen", "ola", "incognito")
             for found in [choose(name)(lattice, lambda share, words="": None)]}  # fmt: skip
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
        found = choose(name)(lattice, lambda share, words="": None)
        assert (found.best is None) == (optimum.best is None)
        if found.best is not None:
            assert all(bounds[c][0] <= level <= bounds[c][1] for c, level in zip(lattice.columns, found.best.node, strict=True))
            assert name in ("samarati", "datafly") or found.best.node == optimum.best.node


# ------------------------------------------------------------------------------------- models that forbid conclusions


def secret(table, data):
    """A table with a sensitive column, which is not constant."""
    rest = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(table.rows) - 2, max_size=len(table.rows) - 2))
    values = ["x", "y", *rest]
    schema = Schema({**table.schema().attributes, "s": Attribute((Role.SENSITIVE,))})
    return Dataset(table.frame().with_columns(s=pl.Series(values, dtype=pl.String)), schema)


@given(data=st.data(), table=tables(most_rows=20, fewest_rows=2), budget=BUDGETS)
def test_nothing_is_concluded_that_a_model_does_not_allow(data, table, budget):
    # entropy diversity suppresses more at some coarser nodes, and large crowds break the made-up promise
    models = data.draw(
        st.sampled_from([(LDiversity("s", l=2, kind="entropy"),), (SmallCrowds(3),), (SmallCrowds(4), KAnonymity(2))])
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


@given(data=st.data(), table=tables(most_rows=20, fewest_rows=2), budget=BUDGETS)
def test_every_tag_is_true(data, table, budget):
    models = data.draw(st.sampled_from([(KAnonymity(2),), (LDiversity("s", l=2, kind="entropy"),), (SmallCrowds(3),)]))
    lattice = GlobalRecoding(budget=budget).lattice(secret(table, data), Goal(models=models))
    truth = {j.node: j.feasible for j in map(lattice.judge, every_table(lattice))}
    tags = Tags(lattice)
    for node in data.draw(st.lists(st.sampled_from(sorted(truth)), max_size=6)):
        assert tags.judge(node).feasible == truth[node]
        assert all(truth[n] for n in tags.nodes(mark=FEASIBLE))
        assert not any(truth[n] for n in tags.nodes(mark=INFEASIBLE))
    assert all(tags.is_feasible(node) == feasible for node, feasible in truth.items())
    assert not tags.nodes(mark=UNKNOWN)


def test_tags_know_of_a_chain_what_one_look_tells():
    # one column of five values that pair up level by level: the look at level 1 decides what is above
    paths = {v: (v, v[0], "*") for v in ("a1", "a2", "b1", "b2")}
    lattice = lattice_of(RandomTable([("a1",), ("a2",), ("b1",), ("b2",)], [paths]), [KAnonymity(2)])
    tags = Tags(lattice)
    assert tags.judge((1,)).feasible
    assert tags.marks.tolist() == [UNKNOWN, FEASIBLE, FEASIBLE]
    assert not tags.is_feasible((0,))
    assert tags.looked_at == 2


@given(drawn=lattices(objectives=["loss"]), data=st.data())
def test_tables_of_the_history_are_those_counted_from_the_rows(drawn, data):
    *_, lattice = drawn
    history, truth = History(lattice), {c.levels: lattice.judge(c) for c in every_table(lattice)}
    for node in data.draw(st.lists(st.sampled_from(sorted(truth)), max_size=12)):
        assert lattice.judge(history.table(node)) == truth[node]


def test_a_full_history_forgets_the_oldest_table_and_never_the_finest(monkeypatch):
    monkeypatch.setattr(History, "MOST_TABLES", 3)
    paths = {v: (v, v[0], "*") for v in ("a1", "a2", "b1", "b2")}
    table = RandomTable([("a1", "b2"), ("a2", "b1"), ("b1", "a1"), ("b1", "a2")], [paths, paths])
    lattice = lattice_of(table, [KAnonymity(2)])
    history = History(lattice)
    for node in [(2, 2), (1, 2), (2, 1), (0, 1), (2, 0), (1, 0), (0, 0)]:
        assert history.table(node).levels == node
        assert lattice.judge(history.table(node)) == lattice.judge(lattice.at(node))


# ------------------------------------------------------------------------------------------------------------ Datafly


def test_datafly_generalises_the_column_with_most_values_first():
    # worked by hand: c0 has three values and climbs to '*', then c1 has two, more than the one that is left of c0
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


# ------------------------------------------------------------------------------------------------------------ anytime


@given(drawn=lattices(objectives=[n for n in NAMES if n not in MINIMAL]), effort=st.integers(1, 400))
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


@given(drawn=lattices(objectives=[n for n in NAMES if n not in MINIMAL]))
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
                below = [j.score for j in nodes if j.feasible and j.node[:depth] == one.node[:depth]]
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
    """A lattice of 5^columns nodes: values in pairs, fours, eights, correlated in every other column."""
    draws, names = np.random.default_rng(seed), [f"v{i:02}" for i in range(16)]
    paths = {v: (v, f"2.{i // 2}", f"4.{i // 4}", f"8.{i // 8}", "*") for i, v in enumerate(names)}
    shared = draws.integers(0, 16, rows)
    values = [(draws.integers(0, 16, rows) // (1 + a % 3) + shared * (a % 2)) % 16 for a in range(columns)]
    return RandomTable([tuple(names[v] for v in row) for row in np.stack(values, axis=1)], [paths] * columns)


def test_anytime_takes_lattices_that_nothing_can_decide():
    table = many_columns()
    lattice = lattice_of(table, [KAnonymity(5)], budget=0.05)
    assert lattice.size == 5**15
    found = anytime(lattice, effort=3000)
    assert found.looked_at == 3000
    assert 0 < found.notes["lower_bound"] < found.best.score < 1
    released = oracle.generalised(table.rows, table.paths, table.depths, turned(lattice, table, found.best.node))
    assert sum(oracle.suppressed_rows(released, 5)) == found.best.tally.suppressed <= 20
    more = anytime(lattice, effort=9000)
    assert more.best.score <= found.best.score + 1e-9
    assert more.notes["lower_bound"] >= found.notes["lower_bound"]
    assert found.best.score < datafly(lattice).best.score


def test_the_effort_reached_when_time_ran_out_gives_the_same_again(monkeypatch):
    lattice = lattice_of(many_columns(), [KAnonymity(5)], budget=0.05)
    clock = iter(range(10**9))
    monkeypatch.setattr("sfumato.steps.anytime.time.monotonic", lambda: next(clock))  # a second a look
    timed = anytime(lattice, seconds=700)
    monkeypatch.undo()
    assert timed.notes["stopped_by"] == "seconds"
    assert 600 < timed.looked_at < 800
    again = anytime(lattice, effort=timed.looked_at)
    assert again.best == timed.best
    assert again.notes["lower_bound"] == timed.notes["lower_bound"]


def test_a_search_that_stops_before_it_found_anything_says_so():
    # the top has one large crowd, which this promise forbids; the first look proves nothing
    paths = {f"v{i}": (f"v{i}", f"{i // 2}", "*") for i in range(8)}
    table = RandomTable([(v, v) for v in paths], [paths, paths])
    goal = Goal(models=(SmallCrowds(2), KAnonymity(2)))
    with pytest.raises(Unsatisfiable, match="was found before the effort ran out"):
        GlobalRecoding(budget=0.0, algorithm="anytime", effort=1).plan(table.dataset(), goal)
    assert GlobalRecoding(budget=0.0, algorithm="anytime", effort=500).plan(table.dataset(), goal).score > 0


def test_hunt_and_proof_share_what_they_find():
    search = Anytime(lattice_of(many_columns(columns=6), [KAnonymity(5)], budget=0.05))
    said = []
    outcome = search.run(lambda share, words="": said.append(share), 100_000, None)
    assert outcome.notes["proved_optimal"]
    assert outcome.notes["gap"] == 0.0
    assert outcome.best.node == choose("optimal")(search.lattice, lambda share, words="": None).best.node
    assert said == sorted(said)


# ------------------------------------------------------------------------------------------------------ as one step


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_is_a_way_of_global_recoding_and_tells_its_name(algorithm):
    step = GlobalRecoding(budget=0.3, algorithm=algorithm)
    release = sf.anonymize(sf.examples.faggioli(), [KAnonymity(2)], [step], seed=1)
    plan = release.plans[0][1]
    assert release.holds
    assert plan.describe()["algorithm"] == plan.effort()["algorithm"] == algorithm
    assert plan.effort()["nodes_looked_at"] >= 1
    assert plan.effort()["lattice_nodes"] == 144
    assert sf.recipes.parse(sf.recipes.dump(release.recipe)).steps == (step,)
