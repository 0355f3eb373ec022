"""Every promise that a search can reach: monotone where it says so, and the optimum of the whole
lattice.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfumato.core.evidence import gather
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, Unsatisfiable
from sfumato.methods.models import (
    AverageRisk,
    DeltaPresence,
    ExpectedReidentifications,
    KAnonymity,
    KConcealment,
    KKAnonymity,
    KMap,
    KOnCombinations,
    KOneAnonymity,
    KOnSubsets,
    MaximumRisk,
    OneKAnonymity,
    PopulationUniqueness,
    RecordsAtRisk,
    StochasticTCloseness,
)
from sfumato.methods.steps import GlobalRecoding
from tests.oracles.definitions import all_nodes, generalised
from tests.random_tables import tables

REACHABLE = [
    KMap(3),
    KMap(6, weights=True),
    KMap(4, fraction=0.4, confidence=0.8),
    DeltaPresence(0, 0.6),
    DeltaPresence(0.2, 0.9),
    KOnSubsets(2, size=1),
    KOnSubsets(3, size=2),
    KOnCombinations(2, combinations=[["c0"], ["c0", "c1"]]),
    MaximumRisk(0.5),
    AverageRisk(0.4),
    RecordsAtRisk(0.4, share=0.2),
    ExpectedReidentifications(3),
    ExpectedReidentifications(1.5, weights=True),
    PopulationUniqueness(0.05, fraction=0.5, estimator="zayatz"),
    StochasticTCloseness("pay", t=1.5, mechanism="laplace", scale=3),
    StochasticTCloseness("pay", t=1.5, mechanism="laplace", scale=3, reference="released"),
]
PAIRED = [OneKAnonymity(2), KOneAnonymity(2), KKAnonymity(2), KConcealment(2)]


def naming(model):
    return f"{model.name}-{REACHABLE.index(model)}" if model in REACHABLE else model.name


@st.composite
def cases(draw):
    """A table of two or three columns with weights and pay, and a population that holds it."""
    table = draw(tables(most_rows=12).filter(lambda t: len(t.paths) > 1))
    n = len(table.rows)
    weights = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    pay = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    frame = table.frame().with_columns(pl.Series("w", weights), pl.Series("pay", pay))
    dataset = Table(frame, table.schema()).with_roles(weight="w", sensitive="pay")
    cell = [st.sampled_from([*paths, None]) for paths in table.paths]
    people = table.rows + draw(st.lists(st.tuples(*cell), max_size=12))
    return table, dataset, Table(table.frame(people))


def at_node(table, dataset, node):
    rows = generalised(table.rows, table.paths, table.depths, node)
    return dataset.with_columns({name: table.frame(rows).get_column(name) for name in table.names})


@pytest.mark.slow
@pytest.mark.parametrize("model", [m for m in [*REACHABLE, *PAIRED] if m.monotone], ids=naming)
@given(case=cases(), data=st.data())
@settings(max_examples=25)
def test_coarser_never_breaks_a_monotone_promise(model, case, data):
    table, dataset, people = case
    if model in REACHABLE and data.draw(st.booleans()):
        persons = data.draw(
            st.lists(st.sampled_from("abcdef"), min_size=len(dataset), max_size=len(dataset))
        )
        dataset = dataset.with_columns({"who": pl.Series(persons)}).with_roles(person="who")
    fine = tuple(data.draw(st.integers(0, depth - 1)) for depth in table.depths)
    coarse = tuple(
        data.draw(st.integers(low, depth - 1))
        for low, depth in zip(fine, table.depths, strict=True)
    )
    before, after = (
        model.judge(
            gather(at_node(table, dataset, node), [model], original=dataset, population=people)
        )
        for node in (fine, coarse)
    )
    assert after.holds or not before.holds
    if not isinstance(model, DeltaPresence) or model.low == 0:
        worse = (
            before.attained - after.attained
            if "k" in model.__dataclass_fields__
            else after.attained - before.attained
        )
        assert worse <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("model", [m for m in REACHABLE if m.shrinking], ids=naming)
@given(case=cases(), data=st.data())
@settings(max_examples=25)
def test_what_a_coarser_node_suppresses_every_finer_one_does(model, case, data):
    table, dataset, people = case
    lattice = GlobalRecoding().lattice(dataset, Goal((model,), population=people))
    top = lattice.tops
    fine = tuple(data.draw(st.integers(0, h)) for h in top)
    coarse = tuple(data.draw(st.integers(low, h)) for low, h in zip(fine, top, strict=True))

    def lost(node):
        released = generalised(
            [tuple(row[table.names.index(c)] for c in lattice.columns) for row in table.rows],
            [table.paths[table.names.index(c)] for c in lattice.columns],
            [table.depths[table.names.index(c)] for c in lattice.columns],
            node,
        )
        classes = lattice.at(node)
        failing = lattice.failing(classes)
        gone = {
            tuple(
                ladder.labels[level][code]
                for ladder, level, code in zip(lattice.base.ladders, node, codes, strict=True)
            )
            for codes, bad in zip(
                zip(*(classes.codes(c) for c in lattice.columns), strict=True), failing, strict=True
            )
            if bad
        }
        return [row in gone for row in released]

    assert all(below or not above for above, below in zip(lost(coarse), lost(fine), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("model", REACHABLE, ids=naming)
@given(
    case=cases(),
    budget=st.sampled_from([0, 0.2, 0.5]),
    more=st.sampled_from([(), (KAnonymity(2),)]),
)
@settings(max_examples=20)
def test_search_finds_the_optimum_and_the_release_keeps_the_promise(model, case, budget, more):
    _, dataset, people = case
    step = GlobalRecoding(budget=budget)
    goal = Goal((model, *more), population=people)
    lattice = step.lattice(dataset, goal)
    judged = [lattice.judge(lattice.at(node)) for node in all_nodes(lattice.low, lattice.high)]
    best = min((j.score for j in judged if j.feasible), default=None)
    try:
        plan = step.plan(dataset, goal)
    except Unsatisfiable:
        assert best is None
        return
    assert plan.score == pytest.approx(best)
    released = step.apply(dataset, plan)
    assert len(released) == len(dataset) - plan.suppressed
    assert plan.suppressed <= budget * len(dataset) + 1e-9
    for promised in goal.models:
        assert promised.judge(gather(released, [promised], original=dataset, population=people))


@pytest.mark.slow
@given(cases())
def test_other_models_do_not_see_the_population(case):
    """Classes that only the population has change nothing for k-anonymity beside k-map."""
    _, dataset, people = case
    step = GlobalRecoding(budget=0.3)
    with_people = step.lattice(dataset, Goal((KAnonymity(2), KMap(1)), population=people))
    alone = step.lattice(dataset, Goal((KAnonymity(2),)))
    for node in all_nodes(alone.low, alone.high):
        levels = dict(zip(alone.columns, node, strict=True))
        one, other = (
            lattice.judge(lattice.base.roll_up(levels)) for lattice in (with_people, alone)
        )
        assert (one.score, one.feasible, one.tally.suppressed, one.tally.classes) == pytest.approx(
            (other.score, other.feasible, other.tally.suppressed, other.tally.classes)
        )


@pytest.mark.parametrize("model", PAIRED, ids=naming)
@given(case=cases())
@settings(max_examples=3)
def test_pairs_cannot_be_searched_for(model, case):
    _, dataset, _ = case
    with pytest.raises(ParameterError, match="cannot be reached"):
        GlobalRecoding().plan(dataset, Goal((model,)))


BY_RECORDS = {"stochastic_t_closeness", "average_risk", "records_at_risk"}
PERSONAL = [m for m in REACHABLE if m.name not in BY_RECORDS and not getattr(m, "weights", False)]


@pytest.mark.parametrize("model", PERSONAL, ids=naming)
@given(case=cases(), data=st.data())
@settings(max_examples=25)
def test_repeating_a_person_changes_nothing(model, case, data):
    """Where the schema names persons, rows of a person already in the class are no crowd."""
    _, dataset, people = case
    n = len(dataset)
    named = dataset.with_columns({"who": pl.Series([f"p{i}" for i in range(n)])}).with_roles(
        person="who"
    )
    again = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=6))
    repeated = named.take(np.array([*range(n), *again]))
    once, twice = (model.judge(gather(d, [model], population=people)) for d in (named, repeated))
    assume(once.attained is not None)
    assert twice.attained == pytest.approx(once.attained)
    assert twice.holds == once.holds
    assert twice.failing.tolist() == once.failing.tolist()
