"""The verb: what it decides on is fresh, what it tells is measured, and what is N is not written."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.data import Context
from sfumato.core.randomness import Seed
from sfumato.core.schema import Role
from sfumato.errors import ReleaseRefused, SchemaError
from sfumato.guidance.protection.context import context_from
from sfumato.guidance.protection.inquiry import Inquiry, class_size_of, people_of_the_end
from sfumato.guidance.protection.search import methods_of
from sfumato.release.decision.decide import decide
from sfumato.release.decision.record import read_decision
from sfumato.release.decision.tiers import Tier
from sfumato.release.make import make_release

INTERNAL = {
    "recipient": "internal",
    "contract": True,
    "harm": "low",
    "population": 80_000_000,
}


@pytest.fixture(scope="module")
def protection():
    return sf.protect(sf.examples.visits(rows=300), **INTERNAL, first_release=True, seed=1)


def test_the_decision_follows_from_terms_and_evidence(protection):
    assert decide(protection.terms, protection.evidence) == protection.decision.decided
    assert protection.release.decision == protection.decision


def test_the_search_has_another_seed_than_the_evidence(protection):
    inquiry = Inquiry.of(
        sf.examples.visits(rows=300),
        context_from(None, **INTERNAL),
        recipe=None,
        changes=(),
        seed=Seed(1),
    )
    assert protection.evidence.trial.seed == Seed(1).text != inquiry.search_seed.text
    assert inquiry.ground.seed == inquiry.search_seed


def test_whoever_is_set_aside_in_the_end_is_known_before_the_search():
    inquiry = Inquiry.of(
        sf.examples.visits(rows=300),
        context_from(None, **INTERNAL),
        recipe=None,
        changes=(),
        seed=Seed(1),
    )
    expected = people_of_the_end(inquiry.data, inquiry.seed)
    drawn = next(trial for trial in methods_of(inquiry.data) if trial.family == "synthetic")
    recipe = drawn.candidate.recipe
    release = make_release(
        inquiry.table.described_by(recipe), recipe, Context(inquiry.seed, refuse=False)
    )
    assert np.array_equal(np.sort(release.held_out), expected) and len(expected)


def test_what_was_written_verifies_and_says_the_decision(protection, tmp_path):
    out = protection.write(tmp_path / "out")
    assert read_decision(out).decision == protection.decision
    assert sf.verify(out / "share", original=sf.examples.visits(rows=300), owner=out / "owner")
    document = json.loads((out / "owner" / "protection.json").read_text())
    assert document["answers"]["recipient"] == "internal"
    # What would help is for the owner alone.
    shared = "".join(file.read_text() for file in (out / "share").iterdir())
    assert "--change" not in shared and "protection" not in [f.name for f in out.iterdir()]


def test_a_change_is_in_the_recipe(protection):
    changed = sf.protect(
        sf.examples.visits(rows=300),
        **INTERNAL,
        first_release=True,
        seed=1,
        changes=["drop department"],
    )
    assert "department" not in changed.release.released_columns
    assert changed.recipe.schema["department"].roles == (Role.DROP,)


def test_changes_that_help_are_measured_and_carry_their_flags(protection):
    for change in protection.decision.changes:
        assert change.flag.startswith(("--change ", "--first-release "))
        assert change.loss >= 0


def test_without_a_word_on_earlier_releases_it_stays_inside():
    found = sf.protect(
        sf.examples.visits(rows=300),
        recipient="researchers",
        contract=True,
        harm="low",
        population=80_000_000,
        seed=1,
    )
    assert found.decision.tier.rank <= Tier.INTERNAL.rank


def test_nothing_is_written_of_what_should_not_be_shared(protection, tmp_path):
    import dataclasses

    refused = dataclasses.replace(
        protection, decision=dataclasses.replace(protection.decision, tier=Tier.NONE)
    )
    with pytest.raises(ReleaseRefused, match="not to share"):
        refused.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_column_to_decide_on_is_never_guessed():
    table = pl.DataFrame({"age": [20, 30] * 50, "c1": [f"x{i % 9}" for i in range(100)]})
    roles = sf.read(table).with_roles(quasi=["age"], ask=["c1"])
    with pytest.raises(SchemaError, match="--decide"):
        sf.protect(roles, **INTERNAL)


def test_assumptions_about_no_column_are_refused():
    with pytest.raises(SchemaError, match="no column"):
        sf.protect(sf.examples.visits(rows=300), **INTERNAL, not_known={"nowhere": "why"})


def test_class_sizes_have_room_for_the_sample_where_not_everybody_is_tried():
    inquiry = Inquiry.of(
        sf.examples.visits(rows=300),
        context_from(None, **INTERNAL),
        recipe=None,
        changes=(),
        seed=Seed(1),
    )
    few, many = (class_size_of(inquiry.terms, inquiry.data.changes, n) for n in (5000, 5001))
    assert few == 3 and many > 3
