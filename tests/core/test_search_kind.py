"""The taxonomy of recoding algorithms, as the surveys of k-anonymity list it."""

from __future__ import annotations

import typing

import pytest

from sfumato.core import registry

# Gerl's slides: algorithm → complete or greedy, direction, scope.
SURVEY = {
    ("global_recoding", "argus"): ("greedy", "bottom-up", "global"),
    ("global_recoding", "datafly"): ("greedy", "bottom-up", "global"),
    ("global_recoding", "samarati"): ("complete", "bottom-up", "global"),
    ("global_recoding", "mingen"): ("complete", "bottom-up", "global"),
    ("global_recoding", "incognito"): ("complete", "bottom-up", "global"),
    ("bottom_up_generalization", ""): ("greedy", "bottom-up", "global"),
    ("top_down_specialization", ""): ("greedy", "top-down", "global"),
    ("k_optimize", ""): ("complete", "top-down", "global"),
    ("mondrian", "strict"): ("greedy", "top-down", "local"),
}


@pytest.mark.parametrize("place", SURVEY)
def test_algorithms_are_sorted_as_in_the_survey(place):
    step, algorithm = place
    kind = registry.family("steps")[step].search_kinds[algorithm]
    assert (kind.result, kind.direction, kind.scope) == SURVEY[place]


def test_every_algorithm_has_its_kind():
    """The words are those of the field that chooses the algorithm."""
    choices = {"global_recoding": "algorithm", "local_recoding": "method", "mondrian": "mode"}
    for name, field in choices.items():
        cls = registry.family("steps")[name]
        hint = typing.get_type_hints(cls)[field]
        words = set(typing.get_args(hint))
        assert words - {"auto"} == set(cls.search_kinds)


def test_described_for_explain():
    described = registry.describe(registry.family("steps")["k_member"])
    assert described["search"] == {"": "greedy, bottom-up, local, hierarchy or partition-based"}
    assert "search" not in registry.describe(registry.family("steps")["round"])
