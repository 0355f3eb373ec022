"""Questions about columns: few, each about a group, answered by column or by question."""

from __future__ import annotations

import random

import polars as pl
import pytest

from sfumato.core.schema import Kind, Role
from sfumato.core.source import Source
from sfumato.errors import SchemaError
from sfumato.guidance.profiling.proposal import ColumnProposal, propose
from sfumato.guidance.profiling.questions import (
    MOST_QUESTIONS,
    Doubt,
    answer_questions,
    open_questions,
    questions_about,
)
from sfumato.guidance.recommendation.answers import answers_from


def waiting(name, doubt=None, *, distinct=2):
    return ColumnProposal(
        name=name,
        roles=(Role.ASK,),
        kind=Kind.NOMINAL,
        hierarchy=None,
        reasons=(f"unknown name {name}",),
        confidence=0.3,
        missing_share=0.0,
        distinct=distinct,
        uniqueness=0.0,
        separation=0.1,
        doubt=doubt,
    )


HEALTH = Doubt("health", "sensitive")
NUMBER = Doubt("who a person is", "drop", "quasi")


def test_columns_of_one_subject_share_a_question():
    columns = [waiting(f"q{i}", HEALTH) for i in range(14)]
    (question,) = questions_about(columns)
    assert question.name == "@health"
    assert question.columns == tuple(f"q{i}" for i in range(14))
    assert question.sentence == (
        "These 14 yes/no columns may be about health. Treat them as sensitive?"
    )
    assert question.choices == ("yes", "choose", "no")


def test_a_single_column_is_named_in_its_question():
    (question,) = questions_about([waiting("zq", NUMBER, distinct=400)])
    assert question.sentence == "zq may be about who a person is. Drop it?"
    assert question.choices == ("yes", "no")


def test_there_are_never_more_than_six_and_every_column_is_in_one():
    columns = [
        waiting(f"{subject}_{i}", Doubt(f"subject {subject}", "sensitive"))
        for subject in range(9)
        for i in range(subject + 1)
    ]
    columns.append(waiting("number", NUMBER))
    questions = questions_about(columns)
    assert len(questions) == MOST_QUESTIONS
    assert sorted(name for q in questions for name in q.columns) == sorted(c.name for c in columns)
    assert questions[0].columns == ("number",)


def test_answers_by_question_and_by_column():
    questions = questions_about([waiting("a", HEALTH), waiting("b", HEALTH), waiting("c", NUMBER)])
    assert answer_questions(questions, {"@health": "yes", "b": "keep", "c": "person"}) == {
        "a": "sensitive",
        "b": "keep",
        "c": "person",
    }
    assert answer_questions(questions, {"@who-a-person-is": "no"}) == {"c": "quasi"}
    assert answer_questions(questions, {"@health": "quasi"}) == {"a": "quasi", "b": "quasi"}


def test_open_questions_have_the_columns_still_open():
    questions = questions_about([waiting("a", HEALTH), waiting("b", HEALTH), waiting("c", NUMBER)])
    (question,) = open_questions(questions, {"b": "keep", "c": "drop"})
    assert question.columns == ("a",)
    assert open_questions(questions, answer_questions(questions, {"@health": "no"}))[0].columns == (
        "c",
    )


def test_an_answer_to_no_question_is_refused():
    questions = questions_about([waiting("a", HEALTH)])
    with pytest.raises(
        SchemaError, match=r"no question is called '@helth'\. Did you mean '@health'"
    ):
        answer_questions(questions, {"@helth": "yes"})


def test_a_column_may_be_called_like_a_question():
    questions = questions_about([waiting("@health", HEALTH), waiting("b", HEALTH)])
    roles = answer_questions(questions, {"@health": "keep"}, columns=["@health", "b"])
    assert roles == {"@health": "keep"}


def test_answers_of_a_file_may_be_yes_and_no():
    answers = answers_from({"decide": {"@health": True, "@what-was-measured": False, "a": "keep"}})
    assert answers.decide == {"@health": "yes", "@what-was-measured": "no", "a": "keep"}


def test_a_proposal_asks_about_every_column_it_leaves_open():
    draw = random.Random(4)
    frame = pl.DataFrame(
        {
            **{f"v{i}": [draw.choice([0, 0, 1]) for _ in range(200)] for i in range(14)},
            "zq": [draw.random() for _ in range(200)],
        }
    )
    proposal = propose(frame, Source())
    asked = [name for question in proposal.questions for name in question.columns]
    assert sorted(asked) == sorted(proposal.with_roles(Role.ASK))
    assert 1 <= len(proposal.questions) <= MOST_QUESTIONS
