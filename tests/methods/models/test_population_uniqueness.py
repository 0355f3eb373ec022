from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.classes import count_rows
from sfumato.core.evidence import gather
from sfumato.core.table import Table
from sfumato.errors import ParameterError
from sfumato.methods.formulas.uniqueness import population_uniques
from sfumato.methods.models import KAnonymity, PopulationUniqueness
from tests.oracles.definitions import class_persons, class_sizes, zayatz_uniques
from tests.random_tables import tables


@given(tables(fewest_rows=2), st.sampled_from([0.1, 0.5]), st.sampled_from([0, 0.05, 0.3, 1]))
def test_zayatz_threshold(table, fraction, share):
    sizes = list(class_sizes(table.rows).values())
    people = round(len(table.rows) / fraction)
    expected = (
        min(zayatz_uniques(sizes, people), sizes.count(1) / fraction) / people if 1 in sizes else 0
    )
    model = PopulationUniqueness(share, fraction=fraction, estimator="zayatz")
    evidence = gather(table.dataset(), [model])
    verdict = model.judge(evidence)
    assert verdict.attained == pytest.approx(expected)
    assert verdict.holds == (expected <= share + 1e-9)
    _, rows = count_rows(table.dataset())
    unique = [class_sizes(table.rows)[row] == 1 for row in table.rows]
    assert model.failing(evidence)[rows].tolist() == (
        [False] * len(unique) if verdict.holds else unique
    )
    kept = model.judge(
        gather(
            table.dataset([r for r, u in zip(table.rows, unique, strict=True) if not u]), [model]
        )
    )
    assert kept.holds  # nobody unique is left


@given(tables(), st.data())
def test_persons_are_counted_once(table, data):
    persons = data.draw(
        st.lists(st.sampled_from("abcd"), min_size=len(table.rows), max_size=len(table.rows))
    )
    dataset = Table(
        table.frame().with_columns(pl.Series("who", persons)), table.dataset().schema
    ).with_roles(person="who")
    model = PopulationUniqueness(0.1, fraction=0.2, estimator="zayatz")
    sizes = list(class_persons(table.rows, persons).values())
    assert model.judge(gather(dataset, [model])).attained == pytest.approx(
        population_uniques(sizes, 0.2, "zayatz").share
    )


def test_is_not_monotone():
    """Merging classes may raise an estimate: a search must not prune by it."""
    assert not PopulationUniqueness(0.1, fraction=0.1).monotone
    finer, coarser = [1, 1, 1, 1, 2, 2, 2, 2, 2, 2], [1, 1, 1, 1, 12]
    assert (
        population_uniques(coarser, 0.5, "zayatz").share
        > population_uniques(finer, 0.5, "zayatz").share
    )


def test_sentence_names_the_estimator():
    table = Table(pl.DataFrame({"zip": [*range(30), *[99] * 10, *[98, 98]]})).with_roles(
        quasi=["zip"]
    )
    verdict = PopulationUniqueness(0.01, fraction=0.3).judge(gather(table, []))
    assert not verdict.holds
    assert "of 140 people" in verdict.sentence
    assert verdict.sentence.endswith(("(zayatz)", "(snb)"))


def test_implications_and_bad_input():
    model = PopulationUniqueness(0.1, fraction=0.1)
    assert KAnonymity(2).implies(model)
    assert not KAnonymity(1).implies(model)
    assert PopulationUniqueness(0.05, fraction=0.1).implies(model)
    assert not PopulationUniqueness(0.05, fraction=0.2).implies(model)
    assert not PopulationUniqueness(0.05, fraction=0.1, estimator="snb").implies(model)
    for wrong in (
        {"share": -0.1, "fraction": 0.5},
        {"share": 0.1, "fraction": 0},
        {"share": 0.1, "fraction": 1.2},
    ):
        with pytest.raises(ParameterError):
            PopulationUniqueness(**wrong)
    with pytest.raises(ParameterError):
        PopulationUniqueness(0.1, fraction=0.5, estimator="guess")


def test_empty_table():
    empty = Table(pl.DataFrame({"zip": []}, schema={"zip": pl.Int64})).with_roles(quasi=["zip"])
    verdict = PopulationUniqueness(0, fraction=0.1).judge(gather(empty, []))
    assert (verdict.holds, verdict.attained) == (True, None)
