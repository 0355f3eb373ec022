"""What promises about persons ask of the people's table."""

from __future__ import annotations

import pytest

from sfumato import examples
from sfumato.core.evidence import gather
from sfumato.core.schema import Schema
from sfumato.data.relational.models import PersonsKAnonymity
from sfumato.data.relational.own_crowd import OwnCrowd
from sfumato.errors import SchemaError
from sfumato.methods.models import KAnonymity


def test_only_the_peoples_table_has_goals_of_promises_about_persons():
    people, models = examples.clinic(), [PersonsKAnonymity(3, "own")]
    assert people.table_goals("people", models) == (OwnCrowd(3),)
    assert people.table_goals("visits", models) == ()


def test_it_judges_as_k_anonymity_does():
    table = examples.clinic().table("people")
    crowd, promise = OwnCrowd(3), KAnonymity(3)
    mine, other = crowd.judge(gather(table, [crowd])), promise.judge(gather(table, [promise]))
    assert (mine.holds, mine.attained, mine.records) == (other.holds, other.attained, other.records)
    assert crowd.implies(KAnonymity(2))
    assert not crowd.implies(KAnonymity(4))


def test_it_needs_a_column_to_generalise():
    with pytest.raises(SchemaError, match="no column with role quasi"):
        OwnCrowd(2).needs(Schema({}))
