"""The Python verbs: what stands for a promise or a step, and what is done without any."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.schema import Role
from sfumato.data.examples import set_valued
from sfumato.errors import ParameterError
from sfumato.guidance.profiling.proposed_steps import means_for

ROLES = {"quasi": ["age", "sex"], "sensitive": "illness"}
TABLE = pl.DataFrame(
    {
        "age": [30, 31, 32, 33, 50, 51, 52, 53],
        "sex": ["f", "m", "f", "m"] * 2,
        "illness": ["flu", "gout", "flu", "gout"] * 2,
    }
)


@pytest.mark.parametrize(
    "meet",
    [
        sf.KAnonymity(4),
        "k_anonymity:4",
        {"k_anonymity": 4},
        {"k_anonymity": {"k": 4}},
        ["k_anonymity:4"],
    ],
)
@pytest.mark.parametrize("steps", [sf.Mondrian(), "mondrian", {"mondrian": {"mode": "strict"}}])
def test_every_way_to_write_a_promise_and_a_step_makes_the_same_release(meet, steps):
    expected = sf.anonymize(TABLE, [sf.KAnonymity(4)], [sf.Mondrian()], roles=ROLES, seed=1)
    release = sf.anonymize(TABLE, meet, steps, roles=ROLES, seed=1)
    assert release.recipe == expected.recipe
    assert release.data.equals(expected.data)


def test_judge_and_assess_take_the_same_forms_and_leave_degrees_open():
    for meet in ("l_diversity:illness", {"l_diversity": {"sensitive": "illness", "l": 1}}):
        assert sf.judge(TABLE, meet, roles=ROLES)[0].attained == 1
        assert sf.assess(TABLE, meet, roles=ROLES).verdicts[0].attained == 1


def test_a_release_needs_the_degree_of_its_promise():
    with pytest.raises(ParameterError, match="k_anonymity: give k, like 'k_anonymity,k=5'"):
        sf.anonymize(TABLE, "k_anonymity", sf.Mondrian(), roles=ROLES)


@pytest.mark.parametrize(
    ("meet", "steps", "message"),
    [
        ("k_anonymty:4", "mondrian", "k_anonymity"),
        ({"k_anonymity": 4, "l_diversity": 2}, "mondrian", "expected one name"),
        ("k_anonymity:4", "mondriaan", "mondrian"),
        ("k_anonymity:4", {"mondrian": {"mood": "strict"}}, "mood"),
    ],
)
def test_a_name_that_does_not_exist_is_refused_with_a_near_one(meet, steps, message):
    with pytest.raises(ParameterError, match=message):
        sf.anonymize(TABLE, meet, steps, roles=ROLES)


def test_without_steps_the_step_is_taken_that_a_profile_proposes():
    people = sf.examples.hospital(rows=300)
    accept = {"diagnosis": {"implies": "occupation", "because": "croup is a disease of children"}}
    options = sf.AnonymizeOptions(accept=accept)
    release = sf.anonymize(people, "k_anonymity:3", seed=1, options=options)
    assert release.holds
    proposed = means_for(people)
    assert proposed is not None
    assert [step.name for step in release.recipe.steps] == [proposed.name]


def test_data_without_a_default_step_ask_for_one():
    with pytest.raises(ParameterError, match="no default step"):
        sf.anonymize(set_valued.baskets(), {"km_anonymity": {"k": 2, "m": 1}})


def test_a_proposal_prints_as_the_recipe_it_is():
    proposal = sf.profile(sf.examples.hospital(rows=200))
    assert str(proposal) == proposal.to_yaml()
    assert "columns:" in str(proposal)
    assert proposal.to_recipe().schema.quasi == proposal.with_roles(Role.QUASI)
