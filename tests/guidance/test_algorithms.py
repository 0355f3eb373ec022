"""Recoding algorithms in the place of that of a recipe."""

from __future__ import annotations

import pytest

from sfumato.core import registry
from sfumato.errors import ParameterError
from sfumato.guidance.algorithms import algorithms_of, recoding_algorithms, with_algorithms


def test_every_algorithm_is_a_step_that_recodes():
    for name, spec in recoding_algorithms().items():
        step = registry.build("steps", spec)
        assert step.recodes_quasi, name
        word = name.partition(".")[2]
        assert not word or word in step.search_kinds


def test_all_are_all_and_a_step_stands_for_its_usual_algorithm():
    assert algorithms_of(["all"]) == recoding_algorithms()
    assert algorithms_of(["datafly", "mondrian"]) == {
        "datafly": {"global_recoding": {"algorithm": "datafly"}},
        "mondrian": {"mondrian": {}},
    }
    assert algorithms_of(["local_recoding.k_member"]) == {
        "local_recoding.k_member": {"local_recoding": {"method": "k_member"}}
    }


@pytest.mark.parametrize("wrong", ["mondrain", "rank_swap", "mondrian.datafly", ""])
def test_what_is_no_recoding_algorithm_is_refused(wrong):
    with pytest.raises(ParameterError, match="not the name of one recoding algorithm"):
        algorithms_of([wrong])


def test_the_first_recoding_step_is_replaced_and_its_budget_stays():
    document = {
        "meet": [{"k_anonymity": 5}],
        "steps": ["round", {"global_recoding": {"budget": 0.1, "objective": "entropy"}}, "pram"],
    }
    concrete = dict(with_algorithms(document, ["mondrian", "k_member", "mondrian.single"]))
    assert concrete["mondrian"]["steps"] == ["round", {"mondrian": {"budget": 0.1}}, "pram"]
    assert concrete["k_member"]["steps"][1] == {"k_member": {}}, "it suppresses nobody"
    assert concrete["mondrian.single"]["steps"][1] == {"mondrian": {"mode": "single"}}
    assert document["steps"][1] == {"global_recoding": {"budget": 0.1, "objective": "entropy"}}


def test_a_budget_that_varies_goes_on_varying():
    document = {"steps": [{"global_recoding": {"budget": {"vary": [0, 0.1]}}}]}
    ((_, concrete),) = with_algorithms(document, ["mondrian"])
    assert concrete["steps"] == [{"mondrian": {"budget": {"vary": [0, 0.1]}}}]


def test_a_recipe_without_recoding_gets_one_first():
    ((_, concrete),) = with_algorithms({"steps": ["pram"]}, ["datafly"])
    assert concrete["steps"] == [{"global_recoding": {"algorithm": "datafly"}}, "pram"]
    ((_, bare),) = with_algorithms({}, ["mondrian"])
    assert bare["steps"] == [{"mondrian": {}}]
