"""What is known of the nodes of a lattice: those looked at, and those that need no look."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.step import Goal
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.models.l_diversity import LDiversity
from sfumato.methods.steps.recoding.classical import every_table
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding
from sfumato.methods.steps.recoding.predictive_tagging import (
    FEASIBLE,
    INFEASIBLE,
    UNKNOWN,
    History,
    Tags,
)
from tests.methods.steps.recoding.test_classical import BUDGETS, lattice_of, lattices, secret
from tests.methods.steps.recoding.test_optimal import SmallCrowds
from tests.random_tables import RandomTable, tables


@given(data=st.data(), table=tables(most_rows=20, fewest_rows=2), budget=BUDGETS)
def test_every_tag_is_true(data, table, budget):
    models = data.draw(
        st.sampled_from(
            [(KAnonymity(2),), (LDiversity("s", l=2, kind="entropy"),), (SmallCrowds(3),)]
        )
    )
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
    # one column of five values that pair up level by level: the look at level 1 decides what is
    # above
    paths = {v: (v, v[0], "*") for v in ("a1", "a2", "b1", "b2")}
    lattice = lattice_of(
        RandomTable([("a1",), ("a2",), ("b1",), ("b2",)], [paths]), [KAnonymity(2)]
    )
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
