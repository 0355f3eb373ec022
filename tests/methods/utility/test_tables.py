"""Tables and counts of a contract, and the contract itself."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.core import recipe_files as recipes
from sfumato.core.pair import TablePair
from sfumato.core.recipe import Agreement
from sfumato.core.table import Table
from sfumato.errors import ParameterError, RecipeError, ReleaseRefused, SchemaError
from sfumato.methods.utility.tables import CountError, TableDistance


def pair_of(before, after, kind=None):
    tables = [Table(pl.DataFrame(frame, strict=False)) for frame in (before, after)]
    tables = [t.with_roles(quasi=t.columns) for t in tables]
    return TablePair.of(*tables)


rows = st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("mn")), min_size=1, max_size=12)


@given(rows, st.randoms(use_true_random=False))
def test_tables_against_counting(drawn, random):
    shuffled = [b for _, b in drawn]
    random.shuffle(shuffled)
    pair = pair_of(
        {"a": [a for a, _ in drawn], "b": [b for _, b in drawn]},
        {"a": [a for a, _ in drawn], "b": shuffled},
    )
    cells = [(a, b) for a in "xyz" for b in "mn"]
    now = list(zip((a for a, _ in drawn), shuffled, strict=True))
    expected = sum(abs(drawn.count(c) - now.count(c)) for c in cells) / 2 / len(drawn)
    assert TableDistance(("a", "b")).measure(pair).value == pytest.approx(expected)
    assert TableDistance(("a",)).measure(pair).value == pytest.approx(0)


def test_a_generalised_cell_is_spread_over_what_it_may_stand_for():
    pair = pair_of({"a": ["x", "y", "z", "z"]}, {"a": ["{x, y}", "{x, y}", "z", "z"]})
    assert TableDistance(("a",)).measure(pair).value == pytest.approx(0)
    everything = pair_of({"a": ["x", "x", "x", "y"]}, {"a": ["*"] * 4})
    assert TableDistance(("a",)).measure(everything).value == pytest.approx(0.25)


def test_counts_of_numbers_ranges_and_categories():
    pair = pair_of(
        {"age": [20, 25, 30, 40], "sex": ["f", "m", "f", "f"]},
        {"age": ["20-29", "20-29", 30, 40], "sex": ["f", "m", "f", "f"]},
    )
    assert CountError({"age": [30, 40]}).measure(pair).raw == 0
    assert CountError({"sex": "f"}).measure(pair).raw == 0
    half = CountError({"age": [20, 24.5]}).measure(pair)
    assert half.raw == pytest.approx(0)  # half of each of two ranges: one record
    assert CountError({"age": [30, 40], "sex": ["f", "m"]}).measure(pair).raw == 0
    assert CountError({"sex": "x"}).measure(pair).raw == 0


def test_columns_that_were_not_released_do_not_survive():
    pair = pair_of({"a": ["x"], "b": ["y"]}, {"b": ["y"]})
    assert "not released" in TableDistance(("a",)).applies(pair)
    kept = Agreement(TableDistance(("a",)), at_most=0.1).judge(pair)
    assert not kept and "not released" in kept.sentence
    with pytest.raises(SchemaError, match="no column 'c'"):
        CountError({"c": 1}).applies(pair)


TEXT = """
sfumato: 1
columns:
  sex: {role: quasi, hierarchy: {suppress: {}}}
  illness: {role: quasi, hierarchy: {suppress: {}}}
meet:
  - k_anonymity: {k: 2}
steps:
  - global_recoding: {budget: 0}
contract:
  - table: {columns: [sex], at_most: 0.05%s}
  - count: {where: {sex: male}, at_most: 0.5}
"""


def test_a_contract_is_reported_and_refuses_only_where_asked():
    people = examples.illnesses()
    release = sf.run(people, recipes.parse(TEXT % ""))
    assert [bool(kept) for kept in release.contract] == [
        kept.value <= kept.limit for kept in release.contract
    ]
    assert not release.contract[0] and release.holds
    with pytest.raises(ReleaseRefused, match=r"table of sex at most 0\.05"):
        sf.run(people, recipes.parse(TEXT % ", refuse: true"))


def test_a_contract_is_written_and_read_back_and_its_values_stay_with_the_owner():
    recipe = recipes.parse(TEXT % ", refuse: true")
    assert recipes.from_dict(recipes.to_dict(recipe)) == recipe
    public = recipes.public_dict(recipe)["contract"]
    assert public[1] == {"count": {"where": "stays with the owner", "at_most": 0.5}}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("- table: {columns: [sex]}", "at_most or at_least"),
        ("- table: {columns: [sex], at_most: 1, at_least: 0}", "at_most or at_least"),
        ("- tabel: {columns: [sex], at_most: 1}", "Did you mean 'table'"),
        ("- table", "expected a metric and its bound"),
        ("- table: {columns: [sex], at_most: true}", "at_most or at_least"),
    ],
)
def test_wrong_contracts(line, told):
    with pytest.raises(RecipeError, match=told):
        recipes.parse(f"contract:\n  {line}\n")


def test_agreements_from_python():
    with pytest.raises(ParameterError, match="at_most or at_least"):
        Agreement(TableDistance(("a",)))
