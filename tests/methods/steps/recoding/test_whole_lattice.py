"""Every node of a lattice, whichever way it is walked, is what judging it alone says it is."""

from __future__ import annotations

import dataclasses
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.model import Facts, Model, Needs
from sfumato.core.objective import OBJECTIVES, Landscape
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.methods.hierarchies import TableHierarchy
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.steps.recoding import whole_lattice as whole_lattice_module
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding
from sfumato.methods.steps.recoding.optimal import Search
from sfumato.methods.steps.recoding.whole_lattice import (
    effort,
    neighbourhood,
    smallest_class,
    survey,
    whole_lattice,
)
from tests.oracles import definitions as oracle
from tests.random_tables import RandomTable, tables

NAMES = [o.name for o in OBJECTIVES if not o.labelled]


def lattice_of(table, models, **options):
    return GlobalRecoding(**options).lattice(table.dataset(), Goal(models=models))


@dataclasses.dataclass(frozen=True)
class Crowds(Model):
    """k-anonymity under another name, so that every node is judged in Python."""

    k: int
    name = "crowds"
    facts = Facts(against="identity")
    monotone = shrinking = True
    scope = "class"
    promise = "crowds"

    def needs(self, schema):
        return Needs()

    def failing(self, evidence):
        return evidence.frequencies < self.k


@dataclasses.dataclass(frozen=True)
class SmallCrowds(Model):
    """A promise that merging breaks: no class has more than ``most`` records."""

    most: int
    name = "small_crowds"
    facts = Facts(against="identity")
    monotone = shrinking = False
    scope = "class"
    promise = "small crowds"

    def needs(self, schema):
        return Needs()

    def failing(self, evidence):
        return evidence.frequencies > self.most


def assert_equals_judging(lattice, found):
    """Node by node: what the landscape says, and what the lattice says of its classes."""
    assert len(found) == lattice.size and found.whole
    feasible = found.feasible()
    for i, node in enumerate(oracle.all_nodes(lattice.low, lattice.high)):
        judged = lattice.judge(lattice.at(node))
        assert tuple(found.levels[i]) == node
        assert found.suppressed[i] == judged.tally.suppressed
        assert found.classes[i] == judged.tally.classes
        assert found.squares[i] == judged.tally.squares
        assert found.score[i] == pytest.approx(judged.score, abs=1e-12, rel=1e-12)
        assert feasible[i] == judged.feasible


@pytest.mark.slow
@pytest.mark.parametrize("objective", NAMES)
@given(data=st.data(), table=tables(most_columns=4, most_rows=25), k=st.integers(1, 5))
def test_the_walk_equals_judging_node_by_node(objective, data, table, k):
    bounds = {}
    for name, depth in zip(table.names, table.depths, strict=True):
        low = data.draw(st.integers(0, depth - 1))
        bounds[name] = (low, data.draw(st.integers(low, depth + 1)))
    weights = {name: data.draw(st.sampled_from([0.25, 1.0, 3.0])) for name in table.names}
    budget = data.draw(st.sampled_from([0.0, 0.3, 1.0]))
    lattice = lattice_of(
        table, (KAnonymity(k),), objective=objective, levels=bounds, weights=weights, budget=budget
    )
    assert smallest_class(lattice) == (k if lattice.objective.own is None else None)
    # the loop takes the last two columns as one, or the last one alone
    for most_pairs in (whole_lattice_module.MOST_PAIRS, 0):
        with mock.patch.object(whole_lattice_module, "MOST_PAIRS", most_pairs):
            assert_equals_judging(lattice, whole_lattice(lattice))


@pytest.mark.slow
@given(table=tables(most_rows=20), k=st.integers(1, 4), most=st.integers(1, 6))
def test_other_models_are_judged_node_by_node(table, k, most):
    lattice = lattice_of(table, (SmallCrowds(most), KAnonymity(k)), budget=0.4)
    assert smallest_class(lattice) is None
    assert_equals_judging(lattice, whole_lattice(lattice))


@given(table=tables(most_rows=20), k=st.integers(1, 5))
def test_both_ways_agree_on_everything(table, k):
    walked = whole_lattice(lattice_of(table, (KAnonymity(k),), budget=0.2))
    judged = whole_lattice(lattice_of(table, (Crowds(k),), budget=0.2))
    for field in dataclasses.fields(Landscape):
        one, other = getattr(walked, field.name), getattr(judged, field.name)
        if isinstance(one, np.ndarray):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12, err_msg=field.name)
        else:
            assert one == other


@given(
    data=st.data(),
    objective=st.sampled_from(NAMES),
    table=tables(most_columns=4, most_rows=25, fewest_rows=0),
    k=st.integers(1, 5),
    budget=st.sampled_from([0.0, 0.1, 0.3, 1.0]),
)
def test_both_ways_to_search_agree_on_everything(data, objective, table, k, budget):
    bounds = {}
    for name, depth in zip(table.names, table.depths, strict=True):
        low = data.draw(st.integers(0, depth - 1))
        bounds[name] = (low, data.draw(st.integers(low, depth + 1)))
    weights = {name: data.draw(st.sampled_from([0.25, 1.0, 3.0])) for name in table.names}
    options = {"objective": objective, "levels": bounds, "weights": weights, "budget": budget}
    quick = Search(lattice_of(table, (KAnonymity(k), KAnonymity(1)), **options)).run()
    plain = Search(lattice_of(table, (Crowds(k),), **options)).run()
    assert quick.best == plain.best, "the node, its tally and its score to the last digit"
    assert quick.looked_at <= plain.looked_at
    assert quick.decided == plain.decided
    if plain.best is None:
        assert quick.closest == plain.closest
    assert sorted(j.node for j in quick.feasible) == sorted(j.node for j in plain.feasible)


@given(table=tables(most_rows=20), k=st.integers(1, 5))
def test_measures_are_those_of_the_papers(table, k):
    found = whole_lattice(lattice_of(table, (KAnonymity(k),), budget=1.0))
    order = [table.names.index(name) for name in found.columns]
    for i in range(len(found)):
        node = [0] * len(order)
        for position, column in enumerate(order):
            node[column] = int(found.levels[i][position])
        released = oracle.generalised(table.rows, table.paths, table.depths, node)
        gone = oracle.suppressed_rows(released, k)
        kept = oracle.class_sizes(
            [row for row, lost in zip(released, gone, strict=True) if not lost]
        )
        n = sum(kept.values())
        scores = oracle.node_scores(
            table.rows,
            table.paths,
            table.leaves,
            table.depths,
            node,
            gone,
            [1.0] * len(table.names),
        )
        assert found.precision[i] == pytest.approx(1 - scores["precision"])
        assert found.class_size[i] == pytest.approx(scores["class_size"])
        assert found.discernibility[i] == pytest.approx(scores["discernibility"])
        assert found.marketer_risk[i] == pytest.approx(
            sum(size * (1 / size) for size in kept.values()) / n if n else 0
        )
        assert found.prosecutor_risk[i] == pytest.approx(1 / min(kept.values()) if n else 0)


@given(
    objective=st.sampled_from(NAMES),
    table=tables(most_rows=20),
    k=st.integers(1, 4),
    share=st.sampled_from([0.0, 0.1, 0.3, 1.0]),
)
def test_the_best_node_is_the_one_a_search_chooses(objective, table, k, share):
    lattice = lattice_of(table, (KAnonymity(k),), objective=objective, budget=share)
    other = dataclasses.replace(lattice, budget=lattice.budget // 2)
    found = whole_lattice(lattice)
    for one in (lattice, other):
        best, chosen = Search(one).run().best, found.best(one.budget)
        assert (best is None) == (chosen is None)
        if best is not None:
            assert tuple(found.levels[chosen]) == best.node


@given(
    table=tables(most_columns=4, most_rows=25, fewest_rows=4),
    k=st.integers(1, 4),
    share=st.sampled_from([0.0, 0.2, 1]),
)
def test_nothing_beats_the_front_and_the_front_beats_the_rest(table, k, share):
    found = whole_lattice(lattice_of(table, (KAnonymity(k),), budget=share))
    points = list(
        zip(
            found.score.round(12),
            found.marketer_risk,
            found.prosecutor_risk,
            found.suppressed,
            strict=True,
        )
    )
    released = [i for i in range(len(found)) if found.classes[i]]

    def beats(one, other):
        return points[one] != points[other] and all(
            a <= b for a, b in zip(points[one], points[other], strict=True)
        )

    unbeaten = [i for i in released if not any(beats(j, i) for j in released)]
    front = found.front().tolist()
    assert set(front) <= set(unbeaten)
    assert {points[i] for i in front} == {points[i] for i in unbeaten}
    assert len(front) == len({points[i] for i in front}), (
        "of nodes alike in everything one is enough"
    )
    scores = found.score[found.front()]
    assert (np.diff(scores) >= 0).all()


@given(
    table=tables(most_rows=20, fewest_rows=4),
    k=st.integers(1, 3),
    share=st.sampled_from([0.0, 0.2, 1]),
)
def test_the_trade_off_falls_in_risk_as_it_rises_in_score(table, k, share):
    found = whole_lattice(lattice_of(table, (KAnonymity(k),), budget=share))
    for risk in ("marketer_risk", "prosecutor_risk"):
        nodes = found.trade_off(risk)
        assert found.feasible()[nodes].all()
        assert (np.diff(getattr(found, risk)[nodes]) < 0).all()
        assert (np.diff(found.score[nodes]) > 0).all()
        if len(nodes):
            assert found.score[nodes[0]] == pytest.approx(
                found.score[found.feasible() & (found.classes > 0)].min()
            )


def test_persons_are_counted_and_not_rows():
    path = {"a": ("a", "*"), "b": ("b", "*")}
    schema = Schema(
        {
            "c": Attribute((Role.QUASI,), hierarchy=TableHierarchy(list(path.values()))),
            "who": Attribute((Role.PERSON,)),
        }
    )
    people = Table(
        pl.DataFrame({"c": ["a", "a", "a", "b", "b"], "who": ["1", "1", "2", "3", "4"]}), schema
    )
    lattice = GlobalRecoding(budget=1.0).lattice(people, Goal(models=(KAnonymity(2),)))
    assert smallest_class(lattice) is None, "the loop counts records"
    found = whole_lattice(lattice)
    # level 0: persons 1, 2 in class a (3 records), 3, 4 in class b; each record's risk is 1 over 2
    # persons
    assert found.suppressed.tolist() == [0, 0]
    assert found.prosecutor_risk.tolist() == [0.5, 0.25]
    assert found.marketer_risk.tolist() == [0.5, 0.25]


def test_keys_of_many_bits_are_judged_in_python():
    path = {f"v{i}": (f"v{i}", "*") for i in range(64)}
    fixed = {f"v{i}": (f"v{i}",) for i in range(64)}
    rows = [tuple(f"v{i % 63}" for _ in range(13)) for i in range(64)]
    # thirteen columns of six bits: without the one that is walked last there are still more than a
    # word has
    lattice = lattice_of(
        RandomTable(rows, [path, path, *[fixed] * 11]), (KAnonymity(2),), budget=1.0
    )
    assert smallest_class(lattice) is None and lattice.size == 4
    assert_equals_judging(lattice, whole_lattice(lattice))


@pytest.mark.parametrize("objective", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_two_columns_in_one_pass_equal_judging_node_by_node(objective, seed):
    # six columns of 2 to 5 levels on 80 rows: groups of many entries, chains of several groups
    rng = np.random.default_rng(seed)
    columns, paths = [], []
    for depth in rng.permutation([1, 1, 2, 2, 3, 4]).tolist():
        codes = rng.integers(0, 2**depth, 80)
        columns.append([f"{code:0{depth}b}" for code in codes])
        values = {f"{code:0{depth}b}" for code in range(2**depth)}
        paths.append({v: [v[: depth - up] + "*" * up for up in range(depth + 1)] for v in values})
    table = RandomTable(list(zip(*columns, strict=True)), paths)
    lattice = lattice_of(table, (KAnonymity(3),), objective=objective, budget=0.5)
    pairs = whole_lattice(lattice)
    assert_equals_judging(lattice, pairs)
    with mock.patch.object(whole_lattice_module, "MOST_PAIRS", 0):
        single = whole_lattice(lattice)
    for name in ("suppressed", "classes", "squares", "prosecutor_risk"):
        assert getattr(pairs, name).tolist() == getattr(single, name).tolist()


@pytest.mark.parametrize("rows", [[("a",)] * 5, [("a",), ("b",)], [("a",)]])
def test_one_column(rows):
    lattice = lattice_of(
        RandomTable(rows, [{"a": ("a", "*"), "b": ("b", "*")}]), (KAnonymity(2),), budget=1.0
    )
    assert_equals_judging(lattice, whole_lattice(lattice))


def test_a_table_without_rows_has_no_risk():
    lattice = lattice_of(RandomTable([], [{"a": ("a", "*")}]), (KAnonymity(2),))
    found = whole_lattice(lattice)
    assert_equals_judging(lattice, found)
    assert (
        not found.marketer_risk.any() and not found.prosecutor_risk.any() and not len(found.front())
    )


def test_where_everything_is_suppressed_nothing_is_risked():
    lattice = lattice_of(
        RandomTable([("a",), ("b",)], [{"a": ("a", "*"), "b": ("b", "*")}]),
        (KAnonymity(3),),
        budget=1,
    )
    found = whole_lattice(lattice)
    assert found.suppressed.tolist() == [2, 2] and found.prosecutor_risk.tolist() == [0, 0]
    assert not found.feasible().any() and found.best() is None and not len(found.front())


@given(data=st.data(), table=tables(most_columns=4, most_rows=15))
def test_the_neighbourhood_is_a_part_of_the_whole(data, table):
    lattice = lattice_of(table, (KAnonymity(2),), budget=0.5)
    node = tuple(
        data.draw(st.integers(low, high))
        for low, high in zip(lattice.low, lattice.high, strict=True)
    )
    whole, near = whole_lattice(lattice), neighbourhood(lattice, node)
    assert not near.whole
    distances = np.abs(whole.levels - np.array(node)).sum(axis=1)
    assert sorted(map(tuple, near.levels.tolist())) == sorted(
        map(tuple, whole.levels[distances <= 1].tolist())
    )
    for i, levels in enumerate(near.levels.tolist()):
        at = whole.position(dict(zip(lattice.columns, levels, strict=True)))
        assert (near.suppressed[i], near.classes[i]) == (whole.suppressed[at], whole.classes[at])
        assert near.score[i] == pytest.approx(whole.score[at])


def test_a_survey_stops_at_its_limits():
    table = RandomTable([("a", "b")] * 3, [{"a": ("a", "*")}, {"b": ("b", "*")}])
    lattice = lattice_of(table, (KAnonymity(2),))
    top = lattice.high
    assert survey(lattice, top, most_nodes=4, most_effort=1e9).whole
    assert not survey(lattice, top, most_nodes=3, most_effort=1e9).whole
    assert not survey(lattice, top, most_nodes=4, most_effort=0.9 * effort(lattice)).whole
    assert effort(lattice_of(table, (Crowds(2),))) > 100 * effort(lattice)


def test_a_walk_whose_tables_do_not_shrink_is_given_up():
    rng = np.random.default_rng(5)
    columns = {name: rng.integers(0, 1 << 20, 400).astype(str) for name in "abc"}
    levels = {
        name: TableHierarchy([(v, v[:3], v[:1], "*") for v in sorted(set(values))])
        for name, values in columns.items()
    }
    schema = Schema({name: Attribute((Role.QUASI,), hierarchy=levels[name]) for name in columns})
    dataset = Table(pl.DataFrame(columns), schema=schema)
    lattice = GlobalRecoding(budget=0.02).lattice(dataset, Goal(models=(KAnonymity(5),)))
    assert whole_lattice(lattice, most_effort=len(lattice.base)) is None
    whole = whole_lattice(lattice, most_effort=len(lattice.base) * lattice.size)
    assert whole is not None
    assert_equals_judging(lattice, whole)
    with mock.patch.object(whole_lattice_module, "SAMPLE", 100):
        from_classes = neighbourhood(lattice, (1, 2, 1))
    from_floor = neighbourhood(lattice, (1, 2, 1))
    assert from_classes.score.tolist() == from_floor.score.tolist()
    assert from_classes.squares.tolist() == from_floor.squares.tolist()
    near = survey(lattice, lattice.high, most_nodes=100, most_effort=effort(lattice))
    assert not near.whole
    assert near.position(dict(zip(lattice.columns, lattice.high, strict=True))) is not None


ADULT = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)


@pytest.mark.slow
def test_adult_as_a_search_sees_it(reference_data):
    folder = reference_data / "adult"
    people = sf.read(folder / "adult.csv").with_roles(quasi=ADULT)
    files = {name: sf.hierarchy_file(str(folder / f"adult_hierarchy_{name}.csv")) for name in ADULT}
    lattice = GlobalRecoding(budget=0.05).lattice(
        people.with_hierarchies(**files), Goal(models=(KAnonymity(5),))
    )
    found = whole_lattice(lattice)
    assert len(found) == 12_960
    best = Search(lattice).run().best
    at = found.best()
    assert tuple(found.levels[at]) == best.node and found.score[at] == pytest.approx(
        best.score, abs=1e-12
    )
    some = np.random.default_rng(5).choice(len(found), 25, replace=False)
    for i in some.tolist():
        judged = lattice.judge(lattice.at(tuple(found.levels[i].tolist())))
        assert (found.suppressed[i], found.classes[i]) == (
            judged.tally.suppressed,
            judged.tally.classes,
        )
        assert found.score[i] == pytest.approx(judged.score, abs=1e-12)
