"""A proposal for several tables as a commented recipe."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files
from sfumato.guidance.profiling.related_text import relations_text
from tests.guidance.profiling.test_related_persons import DRAWS, PEOPLE, VISITS


def test_a_sensitive_column_gets_a_promise_and_one_that_is_known_does_not():
    people = PEOPLE.with_columns(
        diagnosis=pl.Series(DRAWS.choice(["flu", "gout", "asthma", "none"], 200)),
        race=pl.Series(["a", "b"] * 100),
    )
    proposal = sf.profile({"people": people, "visits": VISITS})
    told = [
        line.spec["persons_l_diversity"]["sensitive"]
        for line in (*proposal.design.meet, *proposal.design.refused)
        if "persons_l_diversity" in line.spec
    ]
    assert told == ["people.diagnosis"]
    text = relations_text(proposal, {})
    recipe = recipe_files.any_from_dict(recipe_files.read_yaml(text, "proposed"))
    assert sf.run({"people": people, "visits": VISITS}, recipe, seed=1, seconds=0).holds
    assert not set(PEOPLE["person_id"]) & set(text.split())


@pytest.mark.parametrize(
    ("visits", "words"),
    [
        (VISITS.head(0), "it has no rows"),
        (
            VISITS.with_columns(pl.col("person_id").str.to_uppercase()),
            "100 % would be if capitals, blanks and leading zeros were the same",
        ),
        (
            VISITS.with_columns(person_id=pl.lit("z") + pl.col("person_id")),
            "only 0 % of its person_id are a person_id of people",
        ),
        (VISITS.select("ward"), "no column of it holds keys of the others"),
    ],
)
def test_why_a_table_is_left_out(visits, words):
    proposal = sf.profile({"people": PEOPLE, "visits": visits})
    assert proposal.apart == ("visits",)
    assert words in proposal.why[0]
    assert "# visits is left out: " in relations_text(proposal, {})
