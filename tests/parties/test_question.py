"""What several parties can ask of all their tables together, and the meeting in which they do."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.parameters import values_of
from sfumato.errors import ParameterError, SchemaError
from sfumato.parties.channel import Network
from sfumato.parties.joint import JointRelease
from sfumato.parties.kinds import question_from, question_to
from sfumato.parties.question import Meeting
from tests.parties.test_joint import GOLDEN, golden_tables, same, together
from tests.parties.test_statistics import QUESTIONED


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"order": "loss"}, "depends on the records"),
        ({"order": "entropy"}, "depends on the records"),
        ({"order": "hight"}, "order 'hight' of nodes does not exist"),
        ({"budget": "2"}, "from 0 to 1"),
        ({"budget": "much"}, "from 0 to 1"),
        ({"k": 1}, "greater than or equal to 2"),
        ({"l": 2}, "no column has that role"),
        ({"assemble": "pieces"}, "collector"),
        ({"candidates": 2}, "give t"),
        ({"candidates": 4}, "less than or equal to 3"),
        ({"levels": {"size": 1}}, "not a quasi-identifier"),
        ({"levels": {"age": (3, 3)}}, "ends at 2"),
        ({"attributes": {"age": {"role": "quasi"}}}, "public domain"),
        ({"attributes": {"age": {"role": "drop", "domain": ["1"]}}}, "column 'age'"),
        (
            {"attributes": {"age": {"role": "keep", "domain": ["1"], "hierarchy": "suppress"}}},
            "quasi",
        ),
        ({"attributes": {"age": {"role": "keep", "domain": ["1"]}}}, "role quasi"),
    ],
)
def test_questions_that_cannot_be_asked(change, words):
    with pytest.raises((ParameterError, SchemaError), match=words):
        JointRelease(**{"attributes": GOLDEN, "k": 2, **change})


def test_questions_and_answers_are_plain_data():
    question = JointRelease(
        {**GOLDEN, "age": {**GOLDEN["age"], "hierarchy": sf.intervals(10)}},
        k=2,
        budget="0.1",
        levels={"age": (0, 2)},
    )
    written = json.loads(json.dumps(values_of(question)))
    assert JointRelease(**written).lattice.nodes == question.lattice.nodes
    assert values_of(JointRelease(**written)) == values_of(question)
    answer = same(together(question, golden_tables()))
    assert json.loads(json.dumps(answer)) == answer
    noisy = Meeting(Network(3).channel(0), None, 1, noise={0: np.array([1])})
    with pytest.raises(ParameterError, match="no noise"):
        asyncio.run(question.compute(golden_tables()[0], noisy))


@pytest.mark.parametrize(
    "question", QUESTIONED, ids=lambda q: q if isinstance(q, str) else next(iter(q))
)
def test_a_question_is_written_and_read(question):
    read = question_from(question)
    assert question_from(question_to(read)) == read
