from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.evidence import gather
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.models import ExpectedReidentifications
from tests.oracles.definitions import class_sizes, fewest_dropped, mean_of_one_over_population
from tests.random_tables import tables


@given(tables(), st.integers(0, 8))
def test_is_the_number_of_classes(table, limit):
    model = ExpectedReidentifications(limit)
    evidence = gather(table.dataset(), [model])
    verdict = model.judge(evidence)
    assert verdict.attained == pytest.approx(len(class_sizes(table.rows)))
    assert verdict.holds == (len(class_sizes(table.rows)) <= limit)
    sizes = list(class_sizes(table.rows).values())
    assert verdict.records == fewest_dropped(sizes, lambda rest: len(rest) <= limit)
    assert len(model.failing(evidence)) - model.failing(evidence).sum() <= limit


@given(tables(), st.data())
def test_weights_estimate_the_population(table, data):
    weights = data.draw(
        st.lists(st.integers(1, 20), min_size=len(table.rows), max_size=len(table.rows))
    )
    dataset = Table(
        table.frame().with_columns(pl.Series("w", weights)), table.dataset().schema
    ).with_roles(weight="w")
    sizes, sums = class_sizes(table.rows), {}
    for row, weight in zip(table.rows, weights, strict=True):
        sums[row] = sums.get(row, 0) + weight
    expected = sum(
        sizes[row] * mean_of_one_over_population(sizes[row], sums[row], terms=3000) for row in sizes
    )
    model = ExpectedReidentifications(1, weights=True)
    assert model.judge(gather(dataset, [model])).attained == pytest.approx(expected, rel=1e-5)


def test_francdat():
    """G30: 0.966526 expected re-identifications; without the riskiest class (F = 5) 0.564167."""
    table = examples.weighted_keys()
    evidence = gather(table, [ExpectedReidentifications(1, weights=True)])
    verdict = ExpectedReidentifications(1, weights=True).judge(evidence)
    assert verdict.attained == pytest.approx(0.966526, abs=5e-7)
    assert verdict.holds
    less = ExpectedReidentifications(0.6, weights=True).judge(evidence)
    assert (less.holds, less.records, less.failing_sizes.tolist()) == (False, 1, [1])
    assert evidence.classes.weights[less.failing].tolist() == [5]


def test_implications_and_bad_input():
    assert ExpectedReidentifications(2).implies(ExpectedReidentifications(3))
    assert not ExpectedReidentifications(2).implies(ExpectedReidentifications(3, weights=True))
    for limit in (-1, float("nan"), float("inf")):
        with pytest.raises(ParameterError):
            ExpectedReidentifications(limit)
    with pytest.raises(SchemaError, match="role weight"):
        gather(examples.torra(), [ExpectedReidentifications(2, weights=True)])
    with pytest.raises(SchemaError, match="judged without survey weights"):
        ExpectedReidentifications(2, weights=True).judge(gather(examples.torra(), []))
    wrong = Table(pl.DataFrame({"zip": [1, 2], "w": [None, 1.0]})).with_roles(
        quasi=["zip"], weight="w"
    )
    with pytest.raises(SchemaError, match="'w' has 1 missing"):
        gather(wrong, [ExpectedReidentifications(2, weights=True)])
