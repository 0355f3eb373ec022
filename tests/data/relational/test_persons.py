"""Means for promises about persons: what is left keeps the promise by its definition, and no more
goes than must.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.core import recipe_files, registry
from sfumato.core.data import Evidence
from sfumato.core.randomness import Seed
from sfumato.core.shape import Shape
from sfumato.core.step import Goal
from sfumato.data.relational.models import PersonsKAnonymity, PersonsLDiversity, PersonsTCloseness
from sfumato.data.relational.persons import SuppressPersons, _settled, thinned, without
from sfumato.data.relational.trim_rows import TrimRows
from sfumato.errors import ParameterError, Unsatisfiable
from tests.data.relational.persons import PEOPLE, few, six
from tests.oracles import persons as oracle

KNOWN = st.one_of(
    st.tuples(st.sampled_from(["own", "counts", "rows"]), st.none()),
    st.tuples(st.just("any"), st.integers(1, 3)),
)


def goal_of(*models, seed=1) -> Goal:
    return Goal(models=models, seed=Seed(seed))


def is_k(people, k, knows, m, own=True) -> bool:
    return all(oracle.smallest_crowd(people, person, knows, m or 0, own) >= k for person in people)


@settings(max_examples=150)
@given(PEOPLE.map(lambda people: people[:5]), st.integers(1, 3), KNOWN)
def test_the_persons_who_stay_keep_the_promise_and_are_the_most_that_can(people, k, known):
    knows, m = known
    step, tables = SuppressPersons(1.0), few(people)
    largest = max(
        (
            n
            for n in range(len(people), 0, -1)
            if any(is_k(s, k, knows, m) for s in itertools.combinations(people, n))
        ),
        default=0,
    )
    if not largest:
        with pytest.raises(Unsatisfiable) as refused:
            step.plan(tables, goal_of(PersonsKAnonymity(k, knows, m)))
        assert refused.value.closest["people"] == len(people)
        return
    plan = step.plan(tables, goal_of(PersonsKAnonymity(k, knows, m)))
    stay = [person for person, kept in zip(people, plan.kept, strict=True) if kept]
    assert len(stay) == largest
    assert is_k(stay, k, knows, m)
    left = step.apply(tables, plan)
    assert left.people == largest
    assert PersonsKAnonymity(k, knows, m).judge(Evidence(left)).holds


@settings(max_examples=100)
@given(PEOPLE, st.data(), st.integers(1, 2), st.sampled_from([1, 1.5, 2, 3]), KNOWN)
def test_several_promises_hold_together(people, data, k, l, known):  # noqa: E741
    knows, m = known
    people = [(own, dict(by)) for own, by in people]
    held = st.frozensets(st.integers(0, 3), max_size=2)
    values = data.draw(st.lists(held, min_size=len(people), max_size=len(people)))
    models = [
        PersonsKAnonymity(k, "own"),
        PersonsLDiversity("people.diagnosis", l, knows=knows, m=m),
    ]
    tables = few(people, values)
    try:
        plan = SuppressPersons(1.0).plan(tables, goal_of(*models))
    except Unsatisfiable:
        return
    left = SuppressPersons().apply(tables, plan)
    assert all(model.judge(Evidence(left)).holds for model in models)
    stay = [person for person, kept in zip(people, plan.kept, strict=True) if kept]
    secrets = {id(person): own for person, own in zip(people, values, strict=True)}
    crowds = [crowd for person in stay for crowd in oracle.crowds(stay, person, knows, m or 0)]
    assert all(oracle.most_frequent(crowd, secrets) <= 1 / l + 1e-9 for crowd in crowds)
    assert is_k(stay, k, "own", 0)


def test_a_group_loses_only_as_many_as_must():
    # 40 of 100 persons have value 0, 20 each of three others; at most a third may: x = ⌈(3·40 −
    # 100)/2⌉ = 10, and 30 of 90 are left
    people = [(0, {})] * 100
    values = [{0}] * 40 + [{1}] * 20 + [{2}] * 20 + [{3}] * 20
    model = PersonsLDiversity("people.diagnosis", 3, knows="own")
    gone = thinned(model, few(people, values).shown(), goal_of(model))
    assert gone.sum() == 10
    assert not gone[40:].any()
    other = thinned(model, few(people, values).shown(), goal_of(model, seed=2))
    assert not np.array_equal(gone, other)
    plan = SuppressPersons(0.1).plan(few(people, values), goal_of(model))
    assert plan.describe() == {"people_dropped": 10, "share_dropped": 0.1}


def test_closeness_loses_whole_crowds():
    people = [(0, {})] * 4 + [(1, {})] * 4 + [(2, {})] * 2
    values = [{0}, {1}] * 4 + [{2}] * 2
    model = PersonsTCloseness("people.diagnosis", 0.3, knows="own")
    plan = SuppressPersons(1.0).plan(few(people, values), goal_of(model))
    assert plan.kept.tolist() == [True] * 8 + [False] * 2


def test_beyond_the_budget():
    # of the worked example p3 is alone with one visit known
    goal = goal_of(PersonsKAnonymity(2, "any", 1))
    assert SuppressPersons(0.2).plan(six(), goal).kept.tolist() == [
        True,
        True,
        False,
        True,
        True,
        True,
    ]
    with pytest.raises(Unsatisfiable, match="would remove 1 of 6 persons") as refused:
        SuppressPersons(0.1).plan(six(), goal)
    assert refused.value.closest == {"people": 1, "budget": pytest.approx(1 / 6)}
    assert refused.value.exit_code == 4


def test_without_a_promise_about_persons():
    with pytest.raises(ParameterError, match="the recipe has none of this kind"):
        SuppressPersons().plan(six(), Goal())
    with pytest.raises(ParameterError, match="knows: any"):
        TrimRows().plan(six(), goal_of(PersonsKAnonymity(2, "rows")))


CLINIC = examples.clinic(120)


@pytest.mark.parametrize("split", [False, True])
def test_real_tables(split):
    """Everything together on tables that are read, changed and judged as such, also when they join
    no more.
    """
    models = (PersonsKAnonymity(2, "any", 2, own=False), PersonsKAnonymity(2, "counts", own=False))
    tables = CLINIC
    if split:
        step = registry.build("steps", {"key_pseudonyms": {"split": True}}, shape=Shape.TABLES)
        tables = step.apply(tables, step.plan(tables, goal_of(*models)))
    assert not all(model.judge(Evidence(tables)).holds for model in models)
    for step in (TrimRows(), SuppressPersons(0.9)):
        plan = step.plan(tables, goal_of(*models))
        tables = step.apply(tables, plan)
    assert all(model.judge(Evidence(tables)).holds for model in models)
    assert tables.people == CLINIC.people - plan.describe()["people_dropped"]
    assert plan.describe()["people_dropped"] > 0


def test_promises_about_single_tables_are_kept_too():
    one = registry.build("models", {"k_anonymity": {"k": 2, "table": "visits"}}, shape=Shape.TABLES)
    models = (PersonsKAnonymity(2, "counts", own=False), one)
    plan = SuppressPersons(0.9).plan(CLINIC, goal_of(*models))
    left = SuppressPersons(0.9).apply(CLINIC, plan)
    assert all(model.judge(Evidence(left)).holds for model in models)
    assert not one.judge(Evidence(CLINIC)).holds


def test_who_surely_falls_short_goes_before_who_may():
    # somebody with forty different rows makes more pairs than can be looked at; without that person
    # all pairs of the others are
    people = [(0, {"visits": (1, 2)})] * 4 + [(0, {"visits": tuple(range(3, 43))})]
    model = PersonsKAnonymity(3, "any", 2, effort=60)
    assert model.judge(Evidence(few(people))).records == 1
    plan = SuppressPersons(0.2).plan(few(people), goal_of(model))
    assert plan.kept.tolist() == [True] * 4 + [False]
    assert model.judge(Evidence(SuppressPersons().apply(few(people), plan))).holds


@pytest.mark.parametrize("means", ["mondrian", "k_member"])
def test_local_means_recode_people_for_promises_about_persons(means):
    tables = examples.clinic_tables(60)
    recipe = f"""
    tables:
      people:
        key: person_id
        columns: {{name: {{role: drop}}, age: {{role: quasi, kind: numeric}}, sex: {{role: quasi}}, region: {{role: quasi}}, diagnosis: {{role: sensitive}}}}
      visits: {{belongs_to: {{people: person_id}}, columns: {{visit_id: {{role: drop}}, ward: {{role: keep}}, month: {{role: keep}}, cost: {{role: keep}}}}}}
    meet: [persons_k_anonymity: {{k: 3, knows: own}}]
    steps: [{means}: {{table: people}}]
    """
    said = recipe_files.any_from_dict(recipe_files.read_yaml(recipe, "recipe"))
    release = sf.run({name: tables[name] for name in ("people", "visits")}, said, seed=1, seconds=0)
    shown = release.data["people"].group_by("age", "sex", "region").len()["len"]
    assert shown.min() >= 3
    assert len(shown) > 1


@given(PEOPLE, st.integers(2, 4), KNOWN)
def test_who_goes_round_by_round_among_the_alike_is_who_goes_among_all(people, k, known):
    """Looking again only at the classes that lost somebody finds the same persons; k-anonymity
    leaves no choice.
    """
    model, shown = PersonsKAnonymity(k, *known), few(people).shown()
    kept, left = np.ones(shown.persons, dtype=bool), shown
    while left.persons and (falling := model.falling(left)).any():
        kept[np.flatnonzero(kept)[falling]] = False
        left = without(left, falling)
    assert _settled([model], shown, goal_of(model)).tolist() == (~kept).tolist()
