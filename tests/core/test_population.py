"""A population beside the table: how many of its records match each class."""

from __future__ import annotations

from hypothesis import given

from sfumato.core.population import joined
from sfumato.core.table import Table
from tests.methods.models.test_k_map import tables_with_population
from tests.oracles.definitions import generalised, population_matches


@given(tables_with_population())
def test_a_search_rolls_the_population_up(drawn):
    table, people, node = drawn
    dataset = table.dataset()
    base = joined(dataset, Table(table.frame(people)))
    assert (base.total, base.population.sum()) == (len(table.rows), len(people))
    classes = base.roll_up(dict(zip(base.columns, node, strict=True)))
    kept = classes.take(classes.records > 0)
    released = generalised(table.rows, table.paths, table.depths, node)
    matches = dict(zip(released, population_matches(released, people, table.paths), strict=True))
    assert sorted(kept.population.tolist()) == sorted(matches.values())
    assert classes.population.sum() == len(people)
