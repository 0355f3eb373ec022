"""Promises about the whole table: the fewest records go, and the optimum is that of all nodes and
all sets of classes.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.classes import count_classes
from sfumato.core.evidence import gather
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import Unsatisfiable
from sfumato.methods.models import AverageRisk, ExpectedReidentifications, KAnonymity, RecordsAtRisk
from sfumato.methods.models.risk_thresholds import fewest_records
from sfumato.methods.steps import GlobalRecoding
from tests.oracles import definitions as oracle
from tests.random_tables import tables

PROMISES = [
    (AverageRisk(0.4), lambda sizes: len(sizes) <= (0.4 + 1e-9) * sum(sizes)),
    (
        RecordsAtRisk(0.3, share=0.25),
        lambda sizes: sum(n for n in sizes if n < 4) <= (0.25 + 1e-9) * sum(sizes),
    ),
    (ExpectedReidentifications(2), lambda sizes: len(sizes) <= 2),
]


@pytest.mark.parametrize(("model", "holds"), PROMISES, ids=[model.name for model, _ in PROMISES])
@given(
    table=tables(most_rows=14),
    budget=st.sampled_from([0.0, 0.1, 0.2, 0.4, 0.7]),
    objective=st.sampled_from(["loss", "height", "precision"]),
    k=st.sampled_from([1, 2]),
)
@settings(max_examples=60)
def test_the_optimum_is_that_of_all_nodes_and_all_sets_of_classes(
    model, holds, table, budget, objective, k
):
    allowed = math.floor(budget * len(table.rows) + 1e-9)
    fewest = {}
    for node in oracle.all_nodes([0] * len(table.names), [d - 1 for d in table.depths]):
        sizes = list(
            oracle.class_sizes(
                oracle.generalised(table.rows, table.paths, table.depths, node)
            ).values()
        )
        fewest[node] = oracle.fewest_dropped(
            sizes, lambda rest: holds(rest) and all(n >= k for n in rest)
        )
    feasible = [node for node, gone in fewest.items() if gone <= allowed and gone < len(table.rows)]
    step, goal = GlobalRecoding(budget=budget, objective=objective), Goal((model, KAnonymity(k)))
    if not feasible:
        with pytest.raises(Unsatisfiable):
            step.plan(table.dataset(), goal)
        return
    plan = step.plan(table.dataset(), goal)
    assert plan.suppressed == fewest[tuple(plan.levels[name] for name in table.names)]
    if objective != "loss":  # these follow from the node and the number of suppressed records
        assert plan.score == pytest.approx(
            min(score(objective, table, node, fewest[node]) for node in feasible)
        )
    assert model.judge(gather(step.apply(table.dataset(), plan), [model]))


def score(objective, table, node, gone):
    heights = [level / max(1, depth - 1) for level, depth in zip(node, table.depths, strict=True)]
    mean = sum(heights) / len(heights)
    return (
        mean
        if objective == "height"
        else mean * (1 - gone / len(table.rows)) + gone / len(table.rows)
    )


@given(
    st.lists(st.tuples(st.integers(1, 6), st.floats(0.01, 2)), min_size=1, max_size=9),
    st.floats(0, 8),
)
def test_any_excess_is_made_up_for_by_the_fewest_records(classes, slack):
    """Survey weights and persons: a larger class may have the larger excess."""
    rows = [f"{i:02}" for i, (n, _) in enumerate(classes) for _ in range(n)]
    counted = count_classes(Table(pl.DataFrame({"x": rows})).with_roles(quasi="x"))
    order = counted.codes("x")
    excess = np.array([classes[i][1] for i in order])
    gone = fewest_records(counted, counted.records, excess, slack)
    assert (excess * counted.records)[~gone].sum() <= slack + 1e-9
    fewest = oracle.fewest_dropped(
        classes, lambda rest: sum(n * x for n, x in rest) <= slack + 1e-9
    )
    assert counted.records[gone].sum() == fewest


def test_a_large_table_is_decided_by_its_order():
    """Beyond the work that is worth it, less than one class too many goes."""
    sizes = np.arange(2, 3000, 2)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    counted = count_classes(Table(pl.DataFrame({"x": rows})).with_roles(quasi="x"))
    gone = fewest_records(
        counted, counted.records, np.ones(len(sizes)), float(sizes.sum() - 100_001)
    )
    assert 100_002 <= counted.records[gone].sum() <= 100_002 + 3000


TOGETHER = [
    # (classes of 4, 2, 1 and 1): one after the other 4 go; two classes, of which one has two
    # records, are enough
    ([4, 2, 1, 1], [ExpectedReidentifications(2), RecordsAtRisk(0.3, share=0.2)], 3),
    ([5, 3, 3, 1], [ExpectedReidentifications(2), RecordsAtRisk(0.2, share=0.2)], 6),
]


@pytest.mark.parametrize(("sizes", "models", "least"), TOGETHER)
def test_several_promises_together_drop_the_fewest_records(sizes, models, least):
    holds = [
        next(check for model, check in JOINT if type(model) is type(asked)) for asked in models
    ]
    assert least == oracle.fewest_dropped(
        sizes, lambda rest: all(h(m, rest) for h, m in zip(holds, models, strict=True))
    )
    rows = [f"{i}" for i, n in enumerate(sizes) for _ in range(n)]
    for values in (rows, rows[::-1]):
        table = Table(pl.DataFrame({"x": values})).with_roles(quasi="x")
        plan = GlobalRecoding(budget=least / len(rows)).plan(table, Goal(tuple(models)))
        assert plan.suppressed == least
        assert all(
            model.judge(gather(GlobalRecoding().apply(table, plan), [model])) for model in models
        )


JOINT = [
    (AverageRisk(0.5), lambda model, sizes: len(sizes) <= (model.threshold + 1e-9) * sum(sizes)),
    (
        RecordsAtRisk(0.5, share=0),
        lambda m, sizes: (
            sum(n for n in sizes if 1 / n > m.threshold) <= (m.share + 1e-9) * sum(sizes)
        ),
    ),
    (ExpectedReidentifications(1), lambda model, sizes: len(sizes) <= model.limit),
]


@given(
    sizes=st.lists(st.integers(1, 6), min_size=2, max_size=8),
    limit=st.integers(1, 4),
    threshold=st.sampled_from([0.2, 0.3, 0.5]),
    share=st.sampled_from([0.0, 0.1, 0.2, 0.4]),
    mean=st.sampled_from([0.25, 0.4, 0.7]),
)
@settings(max_examples=60)
def test_all_three_together_equal_trying_all_sets(sizes, limit, threshold, share, mean):
    models = (
        AverageRisk(mean),
        RecordsAtRisk(threshold, share=share),
        ExpectedReidentifications(limit),
    )
    least = oracle.fewest_dropped(
        sizes,
        lambda rest: all(
            check(model, rest) for model, (_, check) in zip(models, JOINT, strict=True)
        ),
    )
    rows = [f"{i}" for i, n in enumerate(sizes) for _ in range(n)]
    table = Table(pl.DataFrame({"x": rows})).with_roles(quasi="x")
    if least >= len(rows):
        with pytest.raises(Unsatisfiable):
            GlobalRecoding(budget=1).plan(table, Goal(models))
        return
    assert GlobalRecoding(budget=1).plan(table, Goal(models)).suppressed == least
