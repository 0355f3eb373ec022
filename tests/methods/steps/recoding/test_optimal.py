"""The search finds what trying every node finds, under every objective."""

from __future__ import annotations

import dataclasses
import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.core.model import Facts, Model, Needs
from sfumato.core.objective import OBJECTIVES
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding
from sfumato.methods.steps.recoding.optimal import Search, k_minimal
from tests.oracles import definitions as oracle
from tests.random_tables import RandomTable, tables

NAMES = [o.name for o in OBJECTIVES if not o.labelled]
MINIMAL = {o.name for o in OBJECTIVES if o.minimal}
PREFERENCES = (
    "minimum_absolute_distance",
    "minimum_relative_distance",
    "maximum_distribution",
    "minimum_suppression",
)


def every_node(table, k, *, low=None, high=None, weights=None):
    """What the oracle says of every node: scores, suppressed rows, whether anything is left."""
    low = low or [0] * len(table.names)
    high = high or [d - 1 for d in table.depths]
    found = {}
    for node in oracle.all_nodes(low, high):
        released = oracle.generalised(table.rows, table.paths, table.depths, node)
        gone = oracle.suppressed_rows(released, k)
        scores = oracle.node_scores(
            table.rows,
            table.paths,
            table.leaves,
            table.depths,
            node,
            gone,
            weights or [1.0] * len(table.names),
        )
        found[node] = (scores, sum(gone))
    return found


def best_node(nodes, objective, order):
    """The node that the documented rule chooses; ``order`` is the order in which ties compare
    columns.
    """
    if objective in MINIMAL:
        minimal = oracle.minimal_nodes(nodes)
        return min(
            minimal,
            key=lambda n: (
                nodes[n][0][objective],
                *(nodes[n][0][p] for p in PREFERENCES),
                [n[a] for a in order],
            ),
        )
    least = min(scores[objective] for scores, _ in nodes.values())
    near = [
        n
        for n, (scores, _) in nodes.items()
        if scores[objective] <= least + 1e-10 * max(1, abs(least))
    ]
    return min(near, key=lambda n: (sum(n), [n[a] for a in order]))


def compare(table, k, objective, budget, *, levels=None, weights=None):
    """Search a table and compare with trying everything; returns the plan, or None where nothing is
    feasible.
    """
    levels = levels or {}
    names = table.names
    low = [levels.get(n, (0, 0))[0] for n in names]
    high = [
        min(levels.get(n, (0, d - 1))[1], d - 1) for n, d in zip(names, table.depths, strict=True)
    ]
    nodes = every_node(
        table, k, low=low, high=high, weights=[(weights or {}).get(n, 1.0) for n in names]
    )
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


@pytest.mark.slow
@pytest.mark.parametrize("objective", NAMES)
@given(table=tables(), k=st.integers(1, 4), budget=st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_search_equals_trying_every_node(objective, table, k, budget):
    compare(table, k, objective, budget)


@given(
    data=st.data(),
    table=tables(most_rows=20),
    k=st.integers(1, 5),
    budget=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)
def test_search_respects_level_bounds_and_weights(data, table, k, budget):
    bounds = {}
    for name, depth in zip(table.names, table.depths, strict=True):
        low = data.draw(st.integers(0, depth - 1))
        bounds[name] = (low, data.draw(st.integers(low, depth + 1)))
    weights = {name: data.draw(st.sampled_from([0.0, 0.25, 1.0, 3.0])) for name in table.names}
    weights[table.names[0]] += 0.5  # not all may be zero
    objective = data.draw(st.sampled_from(NAMES))
    plan = compare(table, k, objective, budget, levels=bounds, weights=weights)
    if plan is not None:
        assert all(
            bounds[name][0] <= level <= bounds[name][1] for name, level in plan.levels.items()
        )


def test_bounds_hold_where_rare_values_are_rewarded():
    # Entropy gives kept cells of rare values a cost below zero, so "suppressed records cost 1 each"
    # is no lower bound for a column that is not decided yet. Suppressing the eight rows of the
    # frequent y0 beats generalising d.
    d = {f"d{i}": (f"d{i}", "*") for i in range(9)}
    y = {f"y{i}": (f"y{i}", "*") for i in range(9)}
    rows = [(f"d{i}", "y0") for i in range(1, 9)] + [
        ("d0", f"y{j}") for j in range(1, 9) for _ in range(2)
    ]
    plan = compare(RandomTable(rows, [d, y]), 2, "entropy", 0.5)
    assert plan.levels == {"c0": 0, "c1": 0}
    assert plan.suppressed == 8


@given(data=st.data())
@settings(max_examples=20)
def test_search_equals_trying_every_node_of_larger_lattices(data):
    table = data.draw(
        tables(most_columns=4, most_rows=40, most_leaves=6, most_levels=4, fewest_rows=20)
    )
    assert math.prod(table.depths) <= 300
    compare(
        table,
        data.draw(st.integers(2, 6)),
        data.draw(st.sampled_from(NAMES)),
        data.draw(st.sampled_from([0, 0.2])),
    )


@dataclasses.dataclass(frozen=True)
class SmallCrowds(Model):
    """A promise that merging breaks: no class has more than ``most`` records."""

    most: int
    name = "small_crowds"
    facts = Facts(against="identity")
    monotone = False
    shrinking = False
    scope = "class"
    promise = "small crowds"

    def needs(self, schema):
        return Needs()

    def failing(self, evidence):
        return evidence.frequencies > self.most


@given(data=st.data(), table=tables(), budget=st.sampled_from([0.0, 0.2, 0.7, 1.0]))
def test_search_prunes_nothing_by_a_model_that_merging_breaks(data, table, budget):
    models = (SmallCrowds(data.draw(st.integers(1, 4))), KAnonymity(data.draw(st.integers(1, 2))))
    objective = data.draw(st.sampled_from([n for n in NAMES if n not in MINIMAL]))
    feasible = {}
    for node in oracle.all_nodes([0] * len(table.depths), [d - 1 for d in table.depths]):
        released = oracle.generalised(table.rows, table.paths, table.depths, node)
        sizes = oracle.class_sizes(released)
        gone = [not models[1].k <= sizes[row] <= models[0].most for row in released]
        weights = [1.0] * len(node)
        scores = oracle.node_scores(
            table.rows, table.paths, table.leaves, table.depths, node, gone, weights
        )
        if sum(gone) <= math.floor(budget * len(gone) + 1e-9) and not all(gone):
            feasible[node] = (scores, sum(gone))
    step = GlobalRecoding(budget=budget, objective=objective)
    if not feasible:
        with pytest.raises(Unsatisfiable):
            step.plan(table.dataset(), Goal(models=models))
        return
    plan = step.plan(table.dataset(), Goal(models=models))
    order = [table.names.index(name) for name in plan.levels]
    assert tuple(plan.levels[n] for n in table.names) == best_node(feasible, objective, order)


@pytest.mark.parametrize("objective", [o for o in NAMES if o not in MINIMAL])
def test_equal_scores_go_to_fewer_levels_then_to_the_smaller_tuple(objective):
    # Two columns that are copies of each other: (1, 0) and (0, 1) cannot be told apart by any
    # score.
    path = {"a": ("a", "*"), "b": ("b", "*")}
    rows = [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]
    assert compare(RandomTable(rows, [path, path]), 2, objective, 0.0).levels == {"c0": 0, "c1": 1}


def test_a_level_that_changes_nothing_is_not_taken():
    # Level 1 renames, nothing more: same classes, same loss. The lower node must win.
    path = {"a": ("a", "A", "*"), "b": ("b", "B", "*")}
    rows = [("a",), ("a",), ("b",), ("b",)]
    plan = compare(RandomTable(rows, [path]), 2, "loss", 0.0)
    assert plan.levels == {"c0": 0}


def test_column_order_of_the_table_does_not_decide_ties():
    path = {"a": ("a", "*"), "b": ("b", "*")}
    rows = [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]
    table = RandomTable(rows, [path, path])
    turned = Table(table.frame().select("c1", "c0"), table.schema())
    goal = Goal(models=(KAnonymity(2),))
    for objective in NAMES:
        step = GlobalRecoding(budget=0.0, objective=objective)
        assert step.plan(turned, goal).levels == step.plan(table.dataset(), goal).levels


def test_progress_tells_the_share_of_the_lattice_and_ends_at_all_of_it():
    said = []
    goal = Goal(models=(KAnonymity(2),), progress=lambda share, words="": said.append(share))
    GlobalRecoding(budget=0.3).plan(faggioli(), goal)
    assert said == sorted(said)
    assert said[-1] == 1.0


# Samarati's k-minimal generalizations of the nine-row table, as worked out in G. Faggioli,
# *k-anonymity, l-diversity, t-closeness*, slides, University of Padua; recomputed. Levels of (race,
# birth, sex, zip, marital) -> rows suppressed.
MINIMAL_NODES = {
    (2, 0): {(0, 3, 1, 2, 2): 0, (1, 2, 0, 1, 2): 0, (1, 2, 0, 2, 1): 0},
    (2, 1): {
        (0, 2, 0, 2, 2): 1,
        (1, 2, 0, 1, 2): 0,
        (1, 2, 0, 2, 1): 0,
        (1, 3, 1, 1, 1): 1,
        (1, 3, 1, 2, 0): 1,
    },
    (2, 2): {
        (0, 2, 0, 2, 1): 2,
        (0, 3, 1, 1, 2): 2,
        (1, 1, 0, 2, 1): 2,
        (1, 2, 0, 1, 1): 2,
        (1, 2, 0, 2, 0): 2,
        (1, 3, 1, 0, 2): 2,
    },
    (3, 0): {(0, 3, 1, 2, 2): 0, (1, 3, 1, 1, 2): 0, (1, 3, 1, 2, 1): 0},
}
CLASS_SIZES = {
    (2, 0): {(0, 3, 1, 2, 2): [3, 3, 3], (1, 2, 0, 1, 2): [2, 3, 4], (1, 2, 0, 2, 1): [2, 3, 4]},
    (2, 2): {(1, 1, 0, 2, 1): [2, 2, 3]},
    (3, 0): {(0, 3, 1, 2, 2): [3, 3, 3], (1, 3, 1, 1, 2): [4, 5], (1, 3, 1, 2, 1): [3, 6]},
}
COLUMNS = ("race", "birth", "sex", "zip", "marital")


def faggioli():
    table = examples.faggioli()
    return table.drop(table.schema.dropped_columns)


def faggioli_search(k, most, objective):
    step = GlobalRecoding(budget=(most + 0.5) / 9, objective=objective)
    lattice = step.lattice(faggioli(), Goal(models=(KAnonymity(k),)))
    assert lattice.size == 144
    return Search(lattice).run()


def in_order(search, node):
    levels = dict(zip(search.lattice.columns, node, strict=True))
    return tuple(levels[c] for c in COLUMNS)


@pytest.mark.parametrize(("k", "most"), list(MINIMAL_NODES))
@pytest.mark.parametrize("objective", sorted(MINIMAL))
def test_minimal_generalizations_of_the_literature(k, most, objective):
    search = faggioli_search(k, most, objective)
    minimal = k_minimal(search.feasible)
    assert {in_order(search, j.node): j.tally.suppressed for j in minimal} == MINIMAL_NODES[k, most]
    assert in_order(search, search.best.node) in MINIMAL_NODES[k, most]
    assert search.best.score == min(j.score for j in minimal)
    lattice = search.lattice
    for node, sizes in CLASS_SIZES.get((k, most), {}).items():
        levels = dict(zip(COLUMNS, node, strict=True))
        classes = lattice.base.roll_up(levels)
        assert sorted(classes.records[~lattice.failing(classes)].tolist()) == sizes


def test_preferences_among_minimal_generalizations_of_the_literature():
    # For k=2 without suppression absolute distances are 8, 6, 6 and relative ones 4, 3.1667,
    # 3.1667; with two rows suppressed the least absolute distance is 5, the least relative one
    # 2.1667 at (0,2,0,2,1).
    exact = {
        in_order(s, j.node): j
        for s in [faggioli_search(2, 0, "minimum_absolute_distance")]
        for j in s.feasible
    }
    assert [exact[n].score for n in sorted(MINIMAL_NODES[2, 0])] == [8, 6, 6]
    relative = faggioli_search(2, 0, "minimum_relative_distance")
    scores = {in_order(relative, j.node): j.score for j in relative.feasible}
    assert [scores[n] for n in sorted(MINIMAL_NODES[2, 0])] == pytest.approx([4, 19 / 6, 19 / 6])
    assert faggioli_search(2, 2, "minimum_absolute_distance").best.score == 5
    best = faggioli_search(2, 2, "minimum_relative_distance")
    assert in_order(best, best.best.node) == (0, 2, 0, 2, 1)
    assert best.best.score == pytest.approx(13 / 6)
    assert faggioli_search(2, 1, "minimum_suppression").best.tally.suppressed == 0


@pytest.mark.parametrize(
    ("node", "discernibility", "precision"),
    # G. Faggioli's two tables: C_DM 29 and Prec .36667 without suppression; C_DM 35 and Prec .33704
    # with two rows gone
    [((1, 2, 0, 2, 1), 29, 0.36667), ((1, 1, 0, 2, 1), 35, 0.33704)],
)
def test_scores_of_the_literature(node, discernibility, precision):
    levels = dict(zip(COLUMNS, node, strict=True))
    for objective, expected in (("discernibility", discernibility), ("precision", 1 - precision)):
        step = GlobalRecoding(budget=0.3, objective=objective)
        lattice = step.lattice(faggioli(), Goal(models=(KAnonymity(2),)))
        assert lattice.judge(lattice.base.roll_up(levels)).score == pytest.approx(
            expected, abs=6e-6
        )


@pytest.mark.slow
def test_a_thousand_columns_that_cannot_climb_are_no_choices():
    # deciding column by column must not go a thousand calls deep
    paths = [{"a": ("a",)}] * 1100 + [{v: (v, "*") for v in "ab"}]
    table = RandomTable([("a",) * 1101, ("a",) * 1100 + ("b",)], paths)
    dataset = table.dataset()
    plan = GlobalRecoding(budget=0.0).plan(dataset, Goal(models=(KAnonymity(2),)))
    assert (plan.levels["c1100"], plan.lattice_nodes) == (1, 2)
    with pytest.raises(Unsatisfiable, match="and 1092 more"):
        GlobalRecoding(budget=0.0).plan(dataset, Goal(models=(KAnonymity(3),)))


def test_nothing_feasible_names_the_nearest_miss_and_what_cannot_be_generalised():
    table = RandomTable(
        [("a", "x"), ("b", "x"), ("c", "y")],
        [{v: (v,) for v in "abc"}, {v: (v, "*") for v in "xy"}],
    )
    with pytest.raises(
        Unsatisfiable, match=r"would suppress 3 of 3 records; the budget allows 0.*generalised: c0"
    ) as no:
        GlobalRecoding(budget=0.0).plan(table.dataset(), Goal(models=(KAnonymity(2),)))
    assert no.value.closest.tally.suppressed == 3
    assert no.value.exit_code == 4
    assert not any(value in str(no.value) for value in ("'a'", "'x'"))


def test_a_budget_of_everything_never_releases_an_empty_table():
    table = RandomTable([("a",), ("b",)], [{v: (v,) for v in "ab"}])
    with pytest.raises(Unsatisfiable):
        GlobalRecoding(budget=1.0).plan(table.dataset(), Goal(models=(KAnonymity(2),)))


@given(
    data=st.data(),
    table=tables(most_rows=20),
    k=st.integers(1, 4),
    budget=st.sampled_from([0.0, 0.2, 1.0]),
)
def test_the_best_node_for_classifying_is_found(data, table, k, budget):
    """Every node by brute force: what it suppresses, and whose label is not that of most in its
    class.
    """
    labels = data.draw(
        st.lists(
            st.sampled_from(["p", "q", None]), min_size=len(table.rows), max_size=len(table.rows)
        )
    )
    frame = table.frame().with_columns(pl.Series("label", labels, dtype=pl.String))
    people = Table(
        frame, Schema({**table.schema().attributes, "label": Attribute((Role.SENSITIVE,))})
    )
    step = GlobalRecoding(budget=budget, objective="classification", label="label")
    goal, allowed, wrong = (
        Goal(models=(KAnonymity(k),)),
        math.floor(budget * len(table.rows) + 1e-9),
        {},
    )
    for node in oracle.all_nodes([0] * len(table.names), [d - 1 for d in table.depths]):
        gone = oracle.suppressed_rows(
            oracle.generalised(table.rows, table.paths, table.depths, node), k
        )
        if sum(gone) <= allowed and sum(gone) < len(table.rows):
            wrong[node] = oracle.misclassified(
                table.rows, table.paths, table.depths, node, gone, labels
            )
    if not wrong:
        with pytest.raises(Unsatisfiable):
            step.plan(people, goal)
        return
    plan = step.plan(people, goal)
    assert plan.score == pytest.approx(min(wrong.values()), abs=1e-12)
    assert plan.score == pytest.approx(
        wrong[tuple(plan.levels[name] for name in table.names)], abs=1e-12
    )


@pytest.mark.parametrize(
    ("objective", "metric", "part"),
    [
        ("ncp", "ncp", "value"),
        ("ambiguity", "ambiguity", "value"),
        ("kl_divergence", "kl_divergence", "raw"),
        ("classification", {"classification": {"label": "diagnosis"}}, "raw"),
    ],
)
def test_what_is_searched_is_what_is_measured(objective, metric, part):
    label = "diagnosis" if objective == "classification" else None
    step = GlobalRecoding(budget=0.1, objective=objective, label=label)
    release = sf.anonymize(examples.hospital(300), [KAnonymity(4)], [step], seed=1)
    measured = sf.evaluate(release, metrics=[metric]).measures[0]
    assert release.plans[0][1].score == pytest.approx(getattr(measured, part), rel=1e-9)


def test_a_label_goes_with_its_objective():
    for wrong in ({"objective": "classification"}, {"label": "diagnosis"}):
        with pytest.raises(ParameterError, match="label belongs to the objective classification"):
            GlobalRecoding(**wrong)
    step = GlobalRecoding(objective="classification", label="age")
    with pytest.raises(SchemaError, match="would predict itself"):
        step.plan(examples.hospital(300), Goal(models=(KAnonymity(2),)))
