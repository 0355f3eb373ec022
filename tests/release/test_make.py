"""What a release does besides its steps: direct identifiers go, persons get new numbers, rows are
shuffled.
"""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.data import Context
from sfumato.core.randomness import Seed
from sfumato.core.table import Table
from sfumato.release.make import make_release, population_of


@pytest.fixture(scope="module")
def visits() -> sf.Release:
    people = sf.examples.visits(800)
    return sf.anonymize(people, [sf.KAnonymity(3)], [sf.GlobalRecoding(budget=0.3)], seed=5)


def test_classes_hold_enough_distinct_persons_not_only_rows(visits):
    quasi = list(visits.released.schema.quasi)
    persons = visits.data.group_by(quasi).agg(pl.col("patient").n_unique())["patient"]
    assert persons.min() >= 3


def test_nobody_can_be_followed_from_class_to_class(visits):
    quasi = list(visits.released.schema.quasi)
    places = visits.data.group_by("patient").agg(pl.struct(quasi).n_unique().alias("classes"))[
        "classes"
    ]
    assert places.max() == 1


def test_new_numbers_are_not_the_old_ones(visits):
    old = visits.original.to_polars()["patient"].gather(visits.released.origin).cast(pl.String)
    assert (old == visits.data["patient"].cast(pl.String)).mean() < 0.05


def test_rows_are_shuffled_and_the_alignment_undoes_it():
    people = sf.examples.hospital(rows=300)
    release = sf.anonymize(people, [sf.KAnonymity(2)], [sf.GlobalRecoding(budget=0.1)])
    origin = release.released.origin
    assert sorted(origin) != list(origin) and len(set(origin.tolist())) == len(release.released)
    straight = sf.anonymize(
        people,
        [sf.KAnonymity(2)],
        [sf.GlobalRecoding(budget=0.1)],
        options=sf.AnonymizeOptions(shuffle=False),
    )
    assert straight.data.equals(release.data[origin.argsort()])


def test_a_release_that_breaks_its_promise_is_refused(monkeypatch):
    monkeypatch.setattr(sf.GlobalRecoding, "apply", lambda self, dataset, plan: dataset)
    with pytest.raises(sf.errors.ReleaseRefused, match="5-anonymity"):
        sf.anonymize(
            sf.examples.hospital(rows=100), [sf.KAnonymity(5)], [sf.GlobalRecoding(budget=0.5)]
        )


@pytest.mark.parametrize("kind", ["pandas", "arrow", "polars"])
def test_the_same_kind_of_frame_comes_out_with_the_same_rows(kind):
    people = sf.examples.hospital(rows=300)
    frame = people.to_polars()
    given = {"pandas": frame.to_pandas, "arrow": frame.to_arrow, "polars": lambda: frame}[kind]()
    release = sf.anonymize(
        sf.read(given).with_schema(people.schema), [sf.KAnonymity(3)], [sf.GlobalRecoding()], seed=3
    )
    expected = sf.anonymize(people, [sf.KAnonymity(3)], [sf.GlobalRecoding()], seed=3)
    assert type(release.data) is type(given)
    ours = release.released.to_polars()
    for column in expected.data.columns:
        assert (
            ours[column].cast(pl.String).to_list()
            == expected.data[column].cast(pl.String).to_list()
        )


PEOPLE = {
    "baskets": sf.examples.baskets,
    "paths": sf.examples.small_paths,
    "graph": sf.examples.karate,
    "tables": sf.examples.clinic,
}


@pytest.mark.parametrize("shape", PEOPLE)
def test_a_recipe_of_another_shape_makes_nothing(shape):
    recipe = sf.Recipe(
        sf.examples.ancona().schema, meet=(sf.KAnonymity(2),), steps=(sf.Mondrian(),)
    )
    with pytest.raises(
        sf.errors.ParameterError, match=f"the recipe is for data of shape table, not {shape}"
    ):
        make_release(PEOPLE[shape](), recipe, Context(Seed(1)))


def test_nothing_is_made_without_promises_steps_or_rows():
    people = sf.examples.ancona()
    for meet, steps, problem in (
        ((), (sf.Mondrian(),), "meet is empty"),
        ((sf.KAnonymity(2),), (), "steps is empty"),
    ):
        with pytest.raises(sf.errors.ParameterError, match=problem):
            make_release(people, sf.Recipe(people.schema, meet=meet, steps=steps), Context(Seed(1)))
    recipe = sf.Recipe(people.schema, meet=(sf.KAnonymity(2),), steps=(sf.Mondrian(),))
    with pytest.raises(sf.errors.SchemaError, match="has no rows"):
        make_release(people.take([]), recipe, Context(Seed(1)))


def test_what_breaks_a_promise_can_be_looked_at_and_not_written(monkeypatch, tmp_path):
    monkeypatch.setattr(sf.GlobalRecoding, "apply", lambda self, dataset, plan: dataset)
    people = sf.examples.hospital(rows=100)
    recipe = sf.Recipe(
        people.schema, meet=(sf.KAnonymity(5),), steps=(sf.GlobalRecoding(budget=0.5),)
    )
    release = make_release(people, recipe, Context(Seed(1), refuse=False))
    assert not release.holds
    with pytest.raises(sf.errors.ReleaseRefused, match="has no promise, or breaks one"):
        release.write(tmp_path / "out")


def test_steps_that_wrote_something_take_it_back_where_nothing_comes_of_it(monkeypatch):
    """What a refused run has written is removed, whatever the reason."""
    discarded = []
    run_steps = Table.run_steps

    def with_leftovers(self, recipe, context):
        return dataclasses.replace(
            run_steps(self, recipe, context), discard=lambda: discarded.append("parts")
        )

    monkeypatch.setattr(Table, "run_steps", with_leftovers)
    monkeypatch.setattr(sf.GlobalRecoding, "apply", lambda self, dataset, plan: dataset)
    with pytest.raises(sf.errors.ReleaseRefused):
        sf.anonymize(
            sf.examples.hospital(rows=100), [sf.KAnonymity(5)], [sf.GlobalRecoding(budget=0.5)]
        )
    assert discarded == ["parts"]


def test_a_population_is_given_once(tmp_path):
    people = sf.examples.ancona()
    people.to_polars().write_csv(tmp_path / "everyone.csv")
    models = [sf.KMap(2, population=str(tmp_path / "everyone.csv"))]
    assert population_of(models).records == people.records
    with pytest.raises(sf.errors.ParameterError, match="give it once"):
        population_of(models, people)
