"""Recommendations: the best is never worse than a plain profile, everything is told, and what is
released verifies.
"""

from __future__ import annotations

import dataclasses
import functools
import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.errors import OutputError, ReleaseRefused, SchemaError, Unsatisfiable
from sfumato.guidance.comparison import KEPT_ERROR
from sfumato.guidance.recommendation import recommend
from sfumato.guidance.recommendation.answers import ContextAnswers, answers_from
from sfumato.guidance.recommendation.candidates import PROFILE, candidates_for
from sfumato.guidance.recommendation.inspection import looked_at, table_of
from sfumato.guidance.recommendation.recommend import unknown_of
from sfumato.guidance.recommendation.selection import ranked

BOUND = {
    "recipient": "researchers",
    "contract": "yes",
    "sensitivity": "medium",
    "population": 10_000_000,
}


@functools.cache
def recommended(name):
    """What is recommended for a bundled table; worked out once, for it takes seconds."""
    return sf.recommend(getattr(sf.examples, name)(rows=500), BOUND)


@pytest.fixture
def hospital():
    return recommended("hospital")


def test_every_family_is_tried(hospital):
    families = {one.family for one in hospital.tried}
    own = next(one for one in hospital.tried if one.name == PROFILE).candidate.recipe.steps[0].name
    profiled = {"local_recoding": "local recoding"}.get(own)  # its twin is left out
    every = {
        "profile",
        "global recoding",
        "local recoding",
        "partitions",
        "cell suppression",
        "masking",
        "synthetic",
    }
    assert families == every - {profiled}
    assert len({one.name for one in hospital.tried}) == len(hospital.tried)


def test_the_best_keeps_the_promises_and_loses_least(hospital):
    other = {one.name: one.other_promise for one in hospital.tried}
    can_win = [o for o in hospital.comparison.outcomes if o.holds and not other[o.name]]
    assert hospital.best in can_win
    assert hospital.ranked.yardstick == "loss"
    assert hospital.best.utilities["loss"] == min(o.utilities["loss"] for o in can_win)
    assert "5-anonymity" in hospital.best.promises


def test_where_released_columns_tell_quasi_identifiers_what_keeps_limits_only_is_called_a_fallback():
    """Survey weights tell the region, work the age: no candidate with classes keeps the limit on
    linkage.
    """
    found = recommended("survey")
    assert found.fallback and found.headline.startswith("Fallback")
    with pytest.raises(ReleaseRefused, match="proposal satisfies limits only"):
        found.release(seed=7)


@pytest.mark.parametrize("name", ["hospital", "visits"])
def test_no_worse_than_profile_and_run_at_equal_promises_and_it_verifies(name, tmp_path):
    found = recommended(name)
    plain = found.outcome(PROFILE)
    assert plain.recipe["meet"] == found.best.recipe["meet"] and plain.recipe.get(
        "limits"
    ) == found.best.recipe.get("limits")
    assert found.best.utilities["loss"] <= plain.utilities["loss"]
    folder = found.release(seed=7).write(tmp_path / "out")
    verification = sf.verify(folder / "share", original=found.dataset, owner=folder / "owner")
    assert verification.holds


def test_every_other_candidate_has_its_sentence(hospital):
    assert set(hospital.ranked.why_not) == {one.name for one in hospital.tried} - {
        hospital.ranked.best
    }
    assert all(sentence.startswith(name) for name, sentence in hospital.ranked.why_not.items())
    drawn = hospital.ranked.why_not["synthetic data (CART)"]
    assert "promises no class size" in drawn


def test_what_must_survive_decides():
    found = sf.recommend(sf.examples.visits(rows=200), {**BOUND, "keep": ["sex", "fee"]})
    assert found.ranked.yardstick == KEPT_ERROR
    other = {one.name: one.other_promise for one in found.tried}
    able = [o for o in found.comparison.outcomes if o.holds and not other[o.name]]
    assert found.best.utilities[KEPT_ERROR] == min(o.utilities[KEPT_ERROR] for o in able)
    measured = found.release(seed=0).evaluate([{"marginal_error": {"columns": ["sex", "fee"]}}])
    assert measured.measure("marginal_error").value == pytest.approx(
        found.best.utilities[KEPT_ERROR]
    )


def test_analyses_that_must_survive_refuse():
    people = sf.examples.visits(rows=100)
    asked = {**BOUND, "analyses": [{"loss": {"at_most": 0.0}}]}
    with pytest.raises(Unsatisfiable, match="loss"):
        sf.recommend(people, asked)


def test_open_decisions_stop_it_and_are_listed():
    frame = sf.examples.visits(rows=5000).to_polars().rename({"patient": "zq"})
    table = table_of(frame)
    with pytest.raises(SchemaError, match=r"--decide zq=ROLE") as stopped:
        sf.recommend(table, BOUND)
    assert "1 column waits" in str(stopped.value)
    looked = looked_at(table, ContextAnswers(decide={"zq": "person"}), None)
    assert looked.guessed and looked.recipe.schema.person == "zq" and looked.people < len(table)
    assert any(
        "guesses of a profile" in sentence for sentence in unknown_of(ContextAnswers(), looked, 100)
    )


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(SchemaError, match="no column 'agee'"):
        sf.recommend(sf.examples.hospital(rows=50), {"keep": "agee"})


def test_what_is_dropped_cannot_be_kept():
    with pytest.raises(SchemaError, match="email cannot survive"):
        sf.recommend(sf.examples.hospital(rows=50), {"keep": ["email"]})


def test_a_table_without_rows_is_refused():
    with pytest.raises(SchemaError, match="has no rows"):
        sf.recommend(sf.examples.hospital(rows=50).take(np.array([], dtype=np.int64)))


def test_without_quasi_identifiers_nothing_is_recommended():
    people = sf.read(pl.DataFrame({"fee": [1, 2, 3], "job": ["a", "b", "a"]})).with_roles(
        keep=["fee", "job"]
    )
    with pytest.raises(SchemaError, match=r"no column of .* has role quasi"):
        sf.recommend(people, BOUND)
    assert looked_at(people, ContextAnswers(decide={"job": "quasi"}), None).recipe.schema.quasi == (
        "job",
    )


def test_a_recipe_of_your_own_is_a_candidate_too():
    people = sf.examples.visits(rows=150)
    own = recipes.from_dict(
        {
            **recipes.to_dict(sf.Recipe(people.schema)),
            "steps": [{"global_recoding": {"budget": 0.3}}],
        }
    )
    found = sf.recommend(people, BOUND, recipe=own)
    assert found.tried[0].name == "as the recipe says"
    assert found.outcome("as the recipe says").recipe["steps"] == [
        {"global_recoding": {"budget": 0.3}}
    ]


def test_nothing_holds_is_told_with_every_reason():
    people = sf.read(pl.DataFrame({"age": [20, 30, 40]})).with_roles(quasi=["age"])
    with pytest.raises(Unsatisfiable, match="no candidate satisfies the promises"):
        sf.recommend(people)


def test_masked_and_drawn_records_win_only_where_nothing_keeps_the_promises(hospital):
    broken = [
        (
            o
            if {one.name: one.other_promise for one in hospital.tried}[o.name]
            else type(o)(**{**vars(o), "holds": False, "reason": "it is too small"})
        )
        for o in hospital.comparison.outcomes
    ]
    comparison = type(hospital.comparison)(hospital.name, tuple(broken), "linkage", "loss")
    order = ranked(comparison, hospital.tried, keep=False)
    assert not order.promising
    assert hospital.outcome(order.best).holds


def test_what_is_refused_on_the_whole_table_gives_way_to_the_next(hospital, monkeypatch):
    from sfumato.errors import ReleaseRefused
    from sfumato.guidance.recommendation import recommendation

    made, best = recommendation.make_release, hospital.recipe

    def refuse_best(dataset, recipe, context):
        if recipe == best:
            raise ReleaseRefused("not this one")
        return made(dataset, recipe, context)

    monkeypatch.setattr(recommendation, "make_release", refuse_best)
    moved, release = hospital.released(seed=3)
    assert release.holds and moved.ranked.best == hospital.ranked.runners_up[0]
    assert "not this one" in moved.moved[0]
    assert moved.recipe != best and best.proposed_from == "recommend"


def test_the_folder_can_be_used_as_it_is(hospital, tmp_path):
    folder = hospital.write(tmp_path / "rec")
    expected = {
        "recipe.yaml",
        "runner_up_1.yaml",
        "runner_up_2.yaml",
        "runner_up_3.yaml",
        "answers.yaml",
    }
    expected |= {
        "recommendation.json",
        "recommendation.html",
        "comparison.html",
        "comparison.json",
        "comparison.csv",
    }
    assert {file.name for file in folder.iterdir()} == expected | {"map.svg"}
    assert recipes.load(folder / "recipe.yaml").steps == hospital.recipe.steps
    told = json.loads((folder / "recommendation.json").read_text("utf-8"))
    assert told["best"]["name"] == hospital.ranked.best and told["reasons"] and told["unknown"]
    assert (
        "synthetic data (CART)" in told["not_on_map"]
        and hospital.ranked.best not in told["not_on_map"]
    )
    assert answers_from(folder / "answers.yaml") == hospital.answers
    with pytest.raises(OutputError, match="--force"):
        hospital.write(folder)
    hospital.write(folder, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["rec"]


def test_a_folder_of_something_else_is_never_replaced(hospital, tmp_path):
    (tmp_path / "mine.txt").write_text("mine", "utf-8")
    with pytest.raises(OutputError, match="holds no recommendation"):
        hospital.write(tmp_path, force=True)
    assert (tmp_path / "mine.txt").read_text("utf-8") == "mine"


def test_nobody_is_called_compliant_and_no_value_is_told(hospital, tmp_path):
    folder = hospital.write(tmp_path / "rec")
    names = set(hospital.dataset.to_polars()["patient_name"].to_list())
    for file in ("recommendation.json", "recommendation.html", "comparison.html", "answers.yaml"):
        text = (folder / file).read_text("utf-8")
        assert "complian" not in text.lower()
        assert not any(name in text for name in names)
    assert "does not make a release lawful" in (folder / "recommendation.html").read_text("utf-8")


def test_the_same_table_gives_the_same_advice_in_any_order():
    first = recommended("visits")
    turned = first.dataset.take(np.arange(len(first.dataset))[::-1].copy())
    again = sf.recommend(dataclasses.replace(turned, origin=None), BOUND)
    assert again.ranked.order == first.ranked.order
    assert again.best.utilities["loss"] == pytest.approx(first.best.utilities["loss"])


def with_race(rows: int, values: int = 4) -> sf.Table:
    """People with a column that is known to outsiders and sensitive as well."""
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "race": [f"r{i}" for i in rng.integers(0, values, rows)],
            "job": [f"j{i}" for i in rng.integers(0, 3, rows)],
            "ill": [f"i{i}" for i in rng.integers(0, 5, rows)],
        }
    )
    table = sf.read(frame).with_roles(quasi=["age", "job", "race"], sensitive=["ill"])
    decided = looked_at(
        table,
        ContextAnswers(decide={"race": "quasi+sensitive", "age": "quasi", "job": "quasi"}),
        None,
    )
    return decided.dataset


def test_a_sensitive_quasi_identifier_does_not_cost_the_class_size():
    people = with_race(400)
    assert set(people.schema.sensitive) == {"race", "ill"}
    recommendation = sf.recommend(people, BOUND)
    assert not recommendation.fallback and "5-anonymity" in recommendation.best.promises
    assert set(recommendation.terms.diversity) == {"ill"}
    assert any(
        "race" in sentence and "no diversity" in sentence for sentence in recommendation.unknown
    )
    sizes = recommendation.release(seed=1).data.group_by(["age", "race", "job"]).len()["len"]
    assert sizes.min() >= 5


def masked_only(monkeypatch) -> None:
    """Let no candidate carry a promise, as where none of them reaches it."""

    def masked(dataset, base, terms, proposed):
        loose = dataclasses.replace(terms, limits={"linkage": 1.0})
        return tuple(
            one for one in candidates_for(dataset, base, loose, proposed) if one.family == "masking"
        )

    monkeypatch.setattr(recommend, "candidates_for", masked)


def test_limits_alone_are_a_fallback_and_are_not_released_unasked(tmp_path, monkeypatch):
    masked_only(monkeypatch)
    recommendation = sf.recommend(with_race(60), BOUND)
    assert recommendation.fallback and recommendation.headline.startswith("Fallback for ")
    assert recommendation.to_dict()["fallback"] and "<h1>Fallback for" in recommendation.to_page()
    with pytest.raises(ReleaseRefused, match="--accept-limits"):
        recommendation.release(seed=1)
    assert recommendation.release(seed=1, accept_limits=True).recipe.meet == ()
    folder = recommendation.write(tmp_path / "rec")
    assert (folder / "recipe.yaml").read_text().startswith("# sfumato recommend, fallback, best")


@pytest.mark.parametrize("seed", range(4))
def test_random_roles_never_cost_the_class_size(seed):
    """Whatever columns are sensitive as well: the best keeps k, counted by hand, and no diversity
    is asked of what is known.
    """
    rng = np.random.default_rng(seed)
    people = with_race(300, values=3)
    both = [name for name in ("age", "job", "race") if rng.random() < 0.5]
    roles = {
        name: "quasi+sensitive" if name in both else "quasi" for name in ("age", "job", "race")
    }
    looked = looked_at(people, ContextAnswers(decide=roles), None)
    recommendation = sf.recommend(looked.dataset, BOUND)
    assert not recommendation.fallback and not set(recommendation.terms.diversity) & set(both)
    assert (
        recommendation.release(seed=1).data.group_by(["age", "race", "job"]).len()["len"].min() >= 5
    )
