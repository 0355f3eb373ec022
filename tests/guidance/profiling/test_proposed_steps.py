"""The proposed means is the one that loses least where it was tried."""

from __future__ import annotations

import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.guidance.profiling import proposed_steps as room
from sfumato.guidance.profiling.proposal import propose
from sfumato.guidance.profiling.proposed_steps import (
    FALLBACK,
    ProposedStep,
    choose_step,
    step_for,
)
from sfumato.guidance.profiling.yaml_text import recipe_text


def census(rows: int = 1500, seed: int = 3) -> pl.DataFrame:
    """Ages and occupations of people, with the columns they depend on."""
    draw = random.Random(seed)
    jobs = [
        f"{kind} {place}"
        for kind in ("clerk", "nurse", "cook", "driver", "smith")
        for place in ("A", "B", "C")
    ]
    return pl.DataFrame(
        {
            "age": [draw.randrange(17, 90) for _ in range(rows)],
            "occupation": [draw.choice(jobs) for _ in range(rows)],
            "sex": [draw.choice(["f", "m"]) for _ in range(rows)],
            "marital_status": [
                draw.choice(["married", "single", "divorced", "widowed"]) for _ in range(rows)
            ],
            "income": [draw.randrange(10**4) for _ in range(rows)],
        }
    )


@pytest.fixture(scope="module")
def proposed():
    return sf.profile(sf.read(census()))


def test_the_proposed_recipe_keeps_something_of_every_column(proposed):
    recipe = recipes.parse(recipe_text(proposed))
    release = sf.run(sf.read(census()), recipe)
    assert release.holds
    assert all(release.released.column(name).n_unique() > 3 for name in ("age", "occupation"))


def test_it_says_why_in_one_line(proposed):
    (line,) = [line for line in recipe_text(proposed).splitlines() if proposed.step.name in line]
    assert "tried on the table: information loss" in line
    assert "global_recoding" in line


def test_no_means_tried_loses_clearly_less(proposed):
    chosen = proposed.step
    assert set(chosen.losses) == {"local_recoding", "global_recoding", "mondrian"}
    assert chosen.losses[chosen.name] <= min(chosen.losses.values()) + room.AS_GOOD
    assert chosen.losses[chosen.name] < chosen.losses["global_recoding"]


def test_losses_are_those_of_a_release():
    people = sf.examples.hospital(rows=300)
    found = step_for(people)
    release = sf.anonymize(people, [sf.KAnonymity(5)], [registry.build("steps", found.step)])
    assert release.scores["loss"] == pytest.approx(found.losses[found.name])


def test_a_large_table_is_drawn_from_whatever_the_order_of_its_rows(monkeypatch):
    monkeypatch.setattr(room, "ROWS", 400)
    frame = census()
    one = choose_step(propose(frame, sf.read(frame).source), frame)
    other = choose_step(propose(frame, sf.read(frame).source), frame.reverse())
    assert one.rows == 400
    assert one == other


def test_a_lattice_too_large_to_search_is_not_searched(monkeypatch):
    monkeypatch.setattr(room, "MOST_NODES", 10)
    frame = census(300)
    found = choose_step(propose(frame, sf.read(frame).source), frame)
    assert set(found.losses) == {"mondrian"}
    assert "too many combinations of levels" in found.why


@pytest.mark.parametrize("frame", [census(3), pl.DataFrame({"x": [0.5] * 40}), pl.DataFrame()])
def test_where_nothing_can_be_tried_the_usual_means_is_proposed(frame):
    proposal = propose(frame, sf.read(census(9)).source)
    assert choose_step(proposal, frame) is None
    text = recipe_text(proposal)
    assert "  - global_recoding: {suppress: tuple, budget: 0.02}\n" in text
    recipes.parse(text)


def test_of_means_as_good_the_one_easier_to_read_is_taken(monkeypatch):
    losses = {"local_recoding": 0.21, "global_recoding": 0.5, "mondrian": 0.2}
    monkeypatch.setattr(room, "_loss", lambda step, _: losses[step.name])
    assert step_for(sf.examples.hospital(rows=50)).name == "local_recoding"
    losses["local_recoding"] = 0.25
    assert step_for(sf.examples.hospital(rows=50)).name == "mondrian"


def test_many_quasi_identifiers_end_in_a_recipe_that_runs():
    """Twenty columns: nothing that searches all combinations of levels could be proposed."""
    draw = random.Random(8)
    table = {
        f"state_{i}": [f"label {draw.choice('abcdefgh')}" for _ in range(400)] for i in range(20)
    }
    frame = pl.DataFrame({**table, "age": [draw.randrange(18, 90) for _ in range(400)]})
    proposal = sf.profile(sf.read(frame))
    assert proposal.step == ProposedStep(
        {"mondrian": {}}, proposal.step.losses, 400, searched=False
    )
    assert sf.run(sf.read(frame), recipes.parse(recipe_text(proposal))).holds
    assert proposal.step.step != FALLBACK


def test_a_means_that_loses_more_than_another_says_why_it_is_taken():
    why = ProposedStep(
        {"local_recoding": {}},
        {"local_recoding": 0.23, "global_recoding": 0.4, "mondrian": 0.215},
        100,
    ).why
    assert (
        "(global_recoding 40 %, mondrian 21.5 %); taken before mondrian, which is not better by"
        " more than 2 %" in why
    )
    assert why.endswith("because it releases labels of the hierarchies only")
    assert (
        "taken"
        not in ProposedStep({"mondrian": {}}, {"local_recoding": 0.3, "mondrian": 0.2}, 100).why
    )


def test_every_choice_that_can_be_made_against_a_lesser_loss_has_its_reason():
    names = list(room._STEPS)
    for place, chosen in enumerate(names):
        for least in names[place + 1 :]:
            assert "because" in ProposedStep({chosen: {}}, {chosen: 0.21, least: 0.2}, 100).why
