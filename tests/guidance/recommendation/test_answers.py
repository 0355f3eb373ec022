"""The context questionnaire: what counts as an answer, and what an open question is taken for."""

from __future__ import annotations

import pytest

from sfumato.core import recipe_files as recipes
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.errors import ParameterError, RecipeError
from sfumato.guidance.recommendation.answers import (
    ContextAnswers,
    answers_from,
    decisions,
    roles_of,
)
from sfumato.guidance.recommendation.terms import (
    CLASS_SIZES,
    exposure_of,
    harm_of,
    terms_for,
)

NOTHING = Schema({})


def k_for(**answers) -> int:
    return terms_for(ContextAnswers(**answers), NOTHING, {}, 100).k


def test_what_is_not_known_is_the_worst_case():
    worst = k_for(recipient="public", contract="no", sensitivity="high", population=5000)
    assert k_for() == worst == max(k for by_harm in CLASS_SIZES.values() for k in by_harm.values())
    assert set(ContextAnswers().assumed) == {"recipient", "contract", "sensitivity", "population"}


@pytest.mark.parametrize("question", ["recipient", "contract", "sensitivity", "population"])
def test_an_unknown_answer_is_never_weaker_than_any_answer(question):
    """The property that makes unknown safe: no answer to one question asks for larger classes than
    unknown does.
    """
    options = {
        "recipient": ["public", "researchers", "internal", "trusted"],
        "contract": ["yes", "no"],
        "sensitivity": ["low", "medium", "high"],
        "population": [100, 20_000, 20_001, 10**9],
    }
    for recipient in options["recipient"]:
        for harm in options["sensitivity"]:
            for bound in options["contract"]:
                known = {
                    "recipient": recipient,
                    "contract": bound,
                    "sensitivity": harm,
                    "population": 10**6,
                }
                open_one = k_for(
                    **{name: value for name, value in known.items() if name != question}
                )
                assert all(
                    k_for(**{**known, question: value}) <= open_one for value in options[question]
                )


def test_who_is_not_bound_counts_as_anybody():
    assert (
        exposure_of(ContextAnswers("trusted", "no"))
        == exposure_of(ContextAnswers("trusted"))
        == exposure_of(ContextAnswers("public", "yes"))
    )
    assert exposure_of(ContextAnswers("trusted", "yes")) == "trusted"


def test_published_class_sizes_for_public_release():
    # Ontario IPC 2025, as summarised: risks 0.09, 0.075, 0.05 taken as classes of 11, 15 and 20.
    many = {"recipient": "public", "contract": "no", "population": 80_000_000}
    assert [k_for(**many, sensitivity=harm) for harm in ("low", "medium", "high")] == [11, 15, 20]


def test_a_small_population_is_a_step_worse():
    assert harm_of(ContextAnswers(sensitivity="medium", population=20_000)) == "high"
    assert harm_of(ContextAnswers(sensitivity="medium", population=20_001)) == "medium"


def test_a_population_smaller_than_the_table_is_refused():
    with pytest.raises(ParameterError, match="cannot be smaller"):
        terms_for(ContextAnswers(population=50), NOTHING, {}, 100)


def test_diversity_is_asked_for_where_there_are_values_to_choose_from():
    schema = Schema(
        {name: Attribute((Role.SENSITIVE,)) for name in ("constant", "flag", "illness")}
    )
    terms = terms_for(ContextAnswers(), schema, {"constant": 1, "flag": 2, "illness": 40}, 100)
    assert terms.diversity == {"flag": 2, "illness": 3}
    assert [recipes.registry.build("models", one).name for one in terms.promises].count(
        "l_diversity"
    ) == 2


def test_every_threshold_has_a_source_and_how_far_it_was_checked():
    for reason in terms_for(ContextAnswers(), NOTHING, {}, 100).reasons:
        assert reason.source and reason.seen and reason.why


def test_answers_come_back_from_their_file(tmp_path):
    given = ContextAnswers(
        "researchers",
        "yes",
        "low",
        80_000_000,
        ("age", "cost"),
        ({"means": {"columns": ["cost"], "at_most": 0.1}},),
        {"id": "person"},
    )
    file = tmp_path / "answers.yaml"
    file.write_text(recipes.write_yaml(given.to_dict()), "utf-8")
    assert answers_from(file) == given
    file.write_text(recipes.write_yaml(ContextAnswers().to_dict()), "utf-8")
    assert answers_from(file) == ContextAnswers()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("recipient: everyone", "recipient"),
        ("recipients: public", "Did you mean 'recipient'"),
        ("population: many", "population"),
        ("population: 0", "population"),
        ("- public", "must map questions to answers"),
        ("decide: {a: boss}", "is not a role"),
    ],
)
def test_wrong_answers_are_named(tmp_path, text, said):
    file = tmp_path / "answers.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises((RecipeError, ParameterError), match=said):
        answers_from(file)


def test_yes_and_no_may_be_true_and_false():
    assert answers_from({"contract": True}).contract == "yes"
    assert answers_from({"contract": False}).contract == "no"


def test_decisions_name_a_role():
    assert roles_of("household", "home") == (Role.HOUSEHOLD,)
    with pytest.raises(ParameterError, match="role 'unit' is now called 'person' or 'household'"):
        roles_of("unit", "home")
    with pytest.raises(ParameterError, match="does not decide a role"):
        decisions(["patient"])
    with pytest.raises(ParameterError, match="is not a role"):
        roles_of("ask", "home")
