"""Every algorithm refuses what it cannot do, and copes with tables that have nothing to search."""

from __future__ import annotations

import json

import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.step import Goal
from sfumato.errors import ParameterError, RecipeError, SchemaError, Unsatisfiable
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.steps.recoding.classical import ALGORITHMS
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding
from tests.methods.steps.recoding.test_anytime import many_columns
from tests.random_tables import RandomTable

EVERY = pytest.mark.parametrize("algorithm", ALGORITHMS)
TALL = {v: (v, "*") for v in "abcdef"}
FLAT = {v: (v,) for v in "ab"}


def plan(table, k, **options):
    return GlobalRecoding(**options).plan(table.dataset(), Goal(models=(KAnonymity(k),)))


@EVERY
def test_every_algorithm_is_a_way_of_global_recoding_and_tells_its_name(algorithm):
    step = GlobalRecoding(budget=0.3, algorithm=algorithm)
    release = sf.anonymize(sf.examples.faggioli(), [KAnonymity(2)], [step], seed=1)
    made = release.plans[0][1]
    assert release.holds
    assert made.describe()["algorithm"] == made.effort()["algorithm"] == algorithm
    assert made.effort()["nodes_looked_at"] >= 1
    assert made.effort()["lattice_nodes"] == 144
    assert json.loads(json.dumps(made.effort(), allow_nan=False)) == made.effort()
    assert recipes.parse(recipes.dump(release.recipe)).steps == (step,)


@pytest.mark.parametrize(
    "options",
    [
        {"algorithm": "flash"},
        {"algorithm": "anytime", "effort": 0},
        {"algorithm": "anytime", "effort": -5},
        {"algorithm": "anytime", "effort": 2.5},
        {"algorithm": "anytime", "effort": True},
        {"algorithm": "anytime", "seconds": 0},
        {"algorithm": "anytime", "seconds": -1},
        {"algorithm": "anytime", "seconds": float("nan")},
        {"algorithm": "anytime", "objective": "minimum_suppression"},
        {"algorithm": "datafly", "objective": "precision"},
        {"algorithm": "datafly", "weights": {"c0": 2}},
        *(
            {"algorithm": name, limit: 5}
            for name in ALGORITHMS
            if name != "anytime"
            for limit in ("effort", "seconds")
        ),
        {"effort": 5},
    ],
    ids=str,
)
def test_limits_and_parameters_that_do_not_apply_are_refused(options):
    with pytest.raises(ParameterError):
        GlobalRecoding(**options)


def test_a_recipe_that_gives_a_limit_to_the_wrong_algorithm_is_refused():
    text = (
        "columns: {age: quasi}\nmeet: [{k_anonymity: 2}]\nsteps: [{global_recoding: {algorithm:"
        " ola, seconds: 5}}]"
    )
    with pytest.raises(RecipeError, match="seconds belongs to the algorithm anytime"):
        recipes.parse(text)


@EVERY
def test_level_caps_that_contradict_each_other_are_refused(algorithm):
    table = RandomTable([("a",), ("b",)], [TALL])
    for caps in ({"c0": (1, 0)}, {"c0": (2, 3)}, {"c9": 1}):
        with pytest.raises(SchemaError):
            plan(table, 2, algorithm=algorithm, levels=caps)
    with pytest.raises(Unsatisfiable, match="no generalization keeps 2-anonymity"):
        plan(table, 2, algorithm=algorithm, levels={"c0": 0})


@EVERY
def test_a_hierarchy_of_one_level(algorithm):
    table = RandomTable([("a", "a"), ("a", "b"), ("b", "c"), ("b", "d")], [FLAT, TALL])
    assert plan(table, 2, algorithm=algorithm, budget=0.0).levels == {"c0": 0, "c1": 1}
    alone = RandomTable([("a",), ("a",), ("b",)], [FLAT])
    assert plan(alone, 2, algorithm=algorithm, budget=0.5).suppressed == 1
    with pytest.raises(
        Unsatisfiable, match=r"would suppress 1 of 3 records; the budget allows 0.*generalised: c0"
    ):
        plan(alone, 2, algorithm=algorithm, budget=0.0)


@EVERY
def test_a_single_value_everywhere(algorithm):
    found = plan(RandomTable([("a", "b")] * 5, [TALL, TALL]), 5, algorithm=algorithm, budget=0.0)
    assert found.levels == {"c0": 0, "c1": 0}
    assert found.score == 0.0


@EVERY
def test_all_rows_unique(algorithm):
    table = RandomTable([(v, w) for v in "abcdef" for w in "abcdef"], [TALL, TALL])
    assert plan(table, 36, algorithm=algorithm, budget=0.0).levels == {"c0": 1, "c1": 1}
    assert sum(plan(table, 6, algorithm=algorithm, budget=0.0).levels.values()) == 1


@EVERY
def test_an_empty_table_has_nobody_to_protect(algorithm):
    table = RandomTable([], [TALL])
    assert plan(table, 2, algorithm=algorithm).levels == {"c0": 0}


@pytest.mark.parametrize("algorithm", ["samarati", "mingen", "incognito", "ola"])
def test_lattices_that_cannot_be_decided_node_by_node_are_refused_at_once(algorithm):
    with pytest.raises(ParameterError, match=r"30,517,578,125 nodes.*optimal or anytime"):
        plan(many_columns(rows=20), 2, algorithm=algorithm)
