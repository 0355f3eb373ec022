"""Only the rows of people who allow the use."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.step import Goal
from sfumato.errors import ParameterError, ReleaseRefused, SchemaError


def table():
    frame = pl.DataFrame({"consent": ["yes", "no", None, "yes"], "age": [1, 1, 1, 1]})
    return sf.read(frame).with_roles(drop="consent", quasi="age")


def test_others_are_left_out_and_counted():
    step = sf.Authorised("consent", ["yes"])
    plan = step.plan(table(), Goal())
    assert len(step.apply(table(), plan)) == 2
    assert plan.describe()["records_not_authorised"] == 2


def test_the_column_is_claimed_and_dropped_at_the_end():
    release = sf.anonymize(
        table(), [sf.KAnonymity(2)], [sf.Authorised("consent", ["yes"]), sf.GlobalRecoding()]
    )
    assert release.data.columns == ["age"] and release.suppressed == 2


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (sf.Authorised("consent", ["maybe"]), ReleaseRefused),
        (sf.Authorised("consent", []), ParameterError),
        (sf.Authorised("agreed", ["yes"]), SchemaError),
    ],
)
def test_refusals(step, error):
    with pytest.raises(error):
        step.plan(table(), Goal())


def test_an_empty_table():
    with pytest.raises(ReleaseRefused, match="none of 0 rows"):
        sf.Authorised("consent", ["yes"]).plan(
            table().take(pl.Series([], dtype=pl.Int64).to_numpy()), Goal()
        )
