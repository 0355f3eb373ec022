"""The rows of a party as codes of public domains, and the table that is put together from the rows
of all."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import SchemaError, WrongMessage
from sfumato.parties import joint
from sfumato.parties.channel import Network, Phase
from sfumato.parties.joint import JointRelease, released_frame
from tests.parties.test_joint import GOLDEN, golden_tables, same, table, together


def test_pieces_go_to_the_collector_alone():
    question = JointRelease(
        {**GOLDEN, "note": {"role": "keep"}}, k=2, budget="0.1", assemble="pieces", collector=1
    )
    tables = [
        sf.Table(t.to_polars().with_columns(pl.Series("note", [f"n{i}{j}" for j in range(len(t))])))
        for i, t in enumerate(golden_tables())
    ]
    network = Network(3, keep=True)
    answers = together(question, tables, network=network)
    assert answers[0] == answers[2] and "counts" not in answers[0] and answers[0]["collector"] == 1
    released = released_frame(answers[1])
    assert len(released) == 11 and released["note"].n_unique() == 11
    whole = same(together(JointRelease(GOLDEN, k=2, budget="0.1"), golden_tables()))
    assert Counter(released.drop("note").rows()) == Counter(released_frame(whole).rows())
    opened = [sender for phase, sender, _ in network.views[0] if phase is Phase.OPEN]
    assert opened == []  # others than the collector receive nothing of the release


@pytest.mark.parametrize(
    "lie",
    ["not json", '[["20-29", "z"]]', '[["20-29"]]', '[["60-69", "x"]]', "[[1, 2]]", '{"a": 1}'],
)
def test_pieces_that_are_no_rows_of_kept_classes_are_refused(lie, monkeypatch):
    question = JointRelease(GOLDEN, k=2, budget="0.1", assemble="pieces", collector=0)
    honest = joint.own_piece
    monkeypatch.setattr(
        joint, "own_piece", lambda own, *rest: lie.encode() if own.rows == 5 else honest(own, *rest)
    )
    tables = golden_tables()
    tables[2] = sf.Table(pl.concat([tables[2].to_polars(), tables[2].to_polars().head(1)]))
    with pytest.raises(WrongMessage, match="party 2"):
        together(question, tables)


def test_values_outside_the_public_domain_are_refused_at_home():
    question = JointRelease(GOLDEN, k=2)
    wrong = table([{"age": "19", "sex": "x"}, {"age": "30", "sex": "z"}], ["age", "sex"])
    with pytest.raises(SchemaError, match=r"'age': 1 row.*\n.*'sex': 1 row") as caught:
        question.own_input(wrong)
    assert "19" not in str(caught.value)
    one, other = golden_tables()[0], golden_tables()[0].take(np.array([2, 0, 3, 1]))
    assert question.own_input(one) == question.own_input(other)
    assert question.own_input(one) != question.own_input(golden_tables()[1])


def test_missing_values_are_a_value_where_they_are_declared():
    columns = {**GOLDEN, "sex": {**GOLDEN["sex"], "missing": True}}
    tables = [sf.Table(pl.DataFrame({"age": ["23", "24"], "sex": ["x", None]})) for _ in range(3)]
    answer = same(together(JointRelease(columns, k=3), tables))
    assert answer["levels"] == {"sex": 0, "age": 0} and [
        None in row for row in answer["combinations"]
    ] == [False, True]
    with pytest.raises(SchemaError, match="outside"):
        together(JointRelease(GOLDEN, k=3), tables)
