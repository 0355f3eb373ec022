"""The search finds the best node under every model: nothing is pruned that a model does not allow
to prune.
"""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.evidence import gather
from sfumato.core.schema import Attribute, Kind, Role
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import Unsatisfiable
from sfumato.methods.models.beta_likeness import DeltaDisclosure
from sfumato.methods.models.t_closeness import TCloseness
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding
from tests.methods.models.counted_tables import TREE, many_models
from tests.oracles import definitions as oracle
from tests.random_tables import tables

VALUES = ("1", "2", "4")


@st.composite
def sensitive_tables(draw):
    """A random table with hierarchies and a sensitive column of two or three values."""
    table = draw(tables(most_columns=3, most_rows=20, fewest_rows=4))
    secrets = draw(
        st.lists(st.sampled_from(VALUES), min_size=len(table.rows), max_size=len(table.rows))
    )
    secrets[:2] = VALUES[:2]
    frame = table.frame().with_columns(pl.Series("secret", secrets, dtype=pl.String))
    secret = Attribute((Role.SENSITIVE,), kind=Kind.NUMERIC, hierarchy=TREE)
    return Table(
        frame,
        dataclasses.replace(
            table.schema(), attributes={**table.schema().attributes, "secret": secret}
        ),
    )


def best_of_all_nodes(lattice):
    judged = [
        lattice.judge(lattice.at(node)) for node in oracle.all_nodes(lattice.low, lattice.high)
    ]
    return min((j.score for j in judged if j.feasible), default=None)


@pytest.mark.slow
@given(data=st.data(), dataset=sensitive_tables(), budget=st.sampled_from([0.0, 0.1, 0.3, 0.6]))
@settings(max_examples=150)
def test_the_optimum_is_that_of_trying_every_node(data, dataset, budget):
    choices = [*many_models(2), TCloseness("secret", t=0.3, reference="released")]
    models = tuple(
        data.draw(st.lists(st.sampled_from(choices), min_size=1, max_size=2, unique=True))
    )
    objective = data.draw(
        st.sampled_from(["loss", "loss_geometric", "precision", "entropy", "discernibility"])
    )
    step = GlobalRecoding(budget=budget, objective=objective)
    expected = best_of_all_nodes(step.lattice(dataset, Goal(models=models)))
    if expected is None:
        with pytest.raises(Unsatisfiable):
            step.plan(dataset, Goal(models=models))
        return
    plan = step.plan(dataset, Goal(models=models))
    assert plan.score == pytest.approx(expected)
    released = step.apply(dataset, plan)
    for model in models:
        assert model.judge(gather(released, [model], original=dataset)).holds


def test_a_coarser_node_that_fails_does_not_hide_a_finer_one_that_holds():
    # (2, 8), (0, 30), (28, 82): with absent values skipped the finest node holds, the one above it
    # does not
    data, model = (
        examples.disclosure_counterexample(),
        DeltaDisclosure("test", delta=0.25, absent="skip"),
    )
    plan = GlobalRecoding(budget=0, objective="loss").plan(data, Goal(models=(model,)))
    assert plan.levels == {"block": 0}
    with pytest.raises(Unsatisfiable):
        GlobalRecoding(budget=0, levels={"block": (1, 1)}).plan(data, Goal(models=(model,)))
