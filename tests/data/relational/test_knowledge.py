"""Among how many persons what is known leaves somebody: against the definition, and against numbers
worked by hand.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.relational.knowledge import Acquaintance, Disclosure
from sfumato.data.relational.person_views import Shown, ShownRows
from tests.data.relational.persons import PEOPLE, few, six
from tests.oracles import persons as oracle

KNOWS = st.one_of(
    st.tuples(st.sampled_from(["own", "counts", "rows"]), st.just(0)),
    st.tuples(st.just("any"), st.integers(1, 4)),
)
VALUES = st.frozensets(st.integers(0, 3), max_size=3)


# The worked example: class A has p1 {cardio}, p2 {cardio}, p3 {cardio, onco, cardio, derm}; class B
# p4, p5 {derm, onco}, p6 {derm, derm}.
@pytest.mark.parametrize(
    ("intruder", "crowds"),
    [
        (Acquaintance("own"), [3, 3, 3, 3, 3, 3]),
        (Acquaintance("counts"), [2, 2, 1, 3, 3, 3]),  # p3 alone has four visits
        (Acquaintance("rows"), [2, 2, 1, 2, 2, 1]),  # p3 and p6
        (Acquaintance("any", 1), [3, 3, 1, 2, 2, 3]),
        (
            Acquaintance("any", 2),
            [3, 3, 1, 2, 2, 1],
        ),  # of class B, p6 alone was in dermatology twice
        (
            Acquaintance("any", 1, own=False),
            [3, 3, 3, 3, 3, 4],
        ),  # onco: p3, p4, p5; derm: p3, p4, p5, p6
    ],
)
def test_worked_example(intruder, crowds):
    found = intruder.crowds(six().shown())
    assert found.low.tolist() == found.high.tolist() == crowds


def test_rows_of_one_person_make_no_crowd():
    shown = six().shown()
    rows = shown.rows[1]
    cardio = (shown.own[rows.person] == 0) & (rows.shows == 3)
    assert cardio.sum() == 4
    assert len(np.unique(rows.person[cardio])) == 3
    assert Acquaintance("any", 1).crowds(shown).low[:2].tolist() == [3, 3]


@settings(max_examples=400)
@given(PEOPLE, KNOWS, st.booleans(), st.integers(1, 3))
def test_crowds_in_three_tables(people, known, own, order):
    knows, m = known
    found = Acquaintance(knows, m, own or knows == "own").crowds(
        few(people, shuffled=order).shown()
    )
    naive = [
        oracle.smallest_crowd(people, person, knows, m, own or knows == "own") for person in people
    ]
    assert found.low.tolist() == found.high.tolist() == naive


@given(PEOPLE, st.integers(1, 4), st.integers(1, 3))
def test_a_floor_leaves_open_only_what_is_below_it(people, m, floor):
    shown = few(people).shown()
    exact, rough = (
        Acquaintance("any", m).crowds(shown),
        Acquaintance("any", m).crowds(shown, floor=floor),
    )
    assert np.array_equal(exact.low <= floor, rough.low <= floor)
    assert np.array_equal(exact.low[exact.low > floor], rough.low[exact.low > floor])


@settings(max_examples=120)
@given(PEOPLE, st.integers(1, 4), st.integers(1, 60), st.booleans())
def test_beyond_the_effort_there_are_bounds(people, m, effort, own):
    found = Acquaintance("any", m, own, effort).crowds(few(people).shown())
    naive = np.array([oracle.smallest_crowd(people, person, "any", m, own) for person in people])
    assert (found.low <= naive).all()
    assert (naive <= found.high).all()
    assert found.reach is not None
    assert found.reach == m or effort < 100


def test_how_many_sets_there_are_is_counted_before():
    # of one row 1 + 1 + 3 + 2 + 2 + 1 = 10 sets; of two p3 has cc, co, cd and od, p4 and p5 do,
    # p6 dd: 7
    shown = six().shown()
    assert Acquaintance("any", 2, effort=16).crowds(shown).reach == 1
    assert Acquaintance("any", 2, effort=17).crowds(shown).reach == 2


ORACLES = {
    Disclosure.FREQUENCY: oracle.most_frequent,
    Disclosure.DISTINCT: lambda crowd, values: 1 / n if (n := oracle.apart(crowd, values)) else 0.0,
}


def _told(people, values, knows, m, own, of) -> list[float]:
    held = {id(person): own_values for person, own_values in zip(people, values, strict=True)}
    return [
        max(of(crowd, held) for crowd in oracle.crowds(people, person, knows, m, own))
        for person in people
    ]


def _distinct_persons(people):
    """The same people as objects of their own: equal tuples may be one object."""
    return [(own, dict(by)) for own, by in people]


@settings(max_examples=150)
@given(PEOPLE, st.data(), KNOWS)
def test_how_often_a_crowd_has_a_value(people, data, known):
    knows, m = known
    people = _distinct_persons(people)
    values = data.draw(st.lists(VALUES, min_size=len(people), max_size=len(people)))
    found = Acquaintance(knows, m).told(
        few(people, values).shown(), "people.diagnosis", Disclosure.FREQUENCY
    )
    assert found.low == pytest.approx(_told(people, values, knows, m, True, oracle.most_frequent))
    assert found.exact


@settings(max_examples=150)
@given(PEOPLE, st.data(), KNOWS)
def test_persons_who_share_no_value(people, data, known):
    knows, m = known
    people = _distinct_persons(people)
    values = data.draw(st.lists(VALUES, min_size=len(people), max_size=len(people)))
    found = Acquaintance(knows, m).told(
        few(people, values).shown(), "people.diagnosis", Disclosure.DISTINCT
    )
    naive = np.array(_told(people, values, knows, m, True, ORACLES[Disclosure.DISTINCT]))
    assert (found.low >= naive - 1e-12).all()  # no more of them are claimed than there are
    if all(len(one) <= 1 for one in values):
        assert found.low == pytest.approx(
            naive
        )  # and as many, where everybody has one value: distinct l-diversity


@settings(max_examples=120)
@given(PEOPLE, st.data(), KNOWS)
def test_entropy_of_crowds(people, data, known):
    knows, m = known
    people = _distinct_persons(people)
    single = st.frozensets(st.integers(0, 2), min_size=1, max_size=1)
    values = data.draw(st.lists(single, min_size=len(people), max_size=len(people)))
    found = Acquaintance(knows, m).told(
        few(people, values).shown(), "people.diagnosis", Disclosure.ENTROPY
    )
    of = lambda crowd, held: 1 / oracle.diversity_of_entropy(crowd, held)  # noqa: E731
    assert found.low == pytest.approx(_told(people, values, knows, m, True, of))


@settings(max_examples=150)
@given(PEOPLE, st.data(), KNOWS, st.booleans())
def test_distance_of_crowds(people, data, known, several):
    knows, m = known
    people = _distinct_persons(people)
    kind = VALUES if several else st.frozensets(st.integers(0, 3), max_size=1)
    values = data.draw(st.lists(kind, min_size=len(people), max_size=len(people)))
    single = all(len(one) <= 1 for one in values)
    measure = Disclosure.EQUAL if single else Disclosure.EACH
    found = Acquaintance(knows, m).told(few(people, values).shown(), "people.diagnosis", measure)
    of = lambda crowd, held: oracle.distance(people, crowd, held)  # noqa: E731
    assert found.low == pytest.approx(_told(people, values, knows, m, True, of))


WITHOUT_LAYOUT = [one for one in Disclosure if one not in (Disclosure.LINE, Disclosure.TREE)]


@settings(max_examples=120)
@given(PEOPLE, st.data(), st.integers(1, 3), st.integers(1, 40), st.sampled_from(WITHOUT_LAYOUT))
def test_bounds_of_what_is_told(people, data, m, effort, measure):
    kind = st.frozensets(st.integers(0, 3), min_size=1, max_size=1) if measure in (2, 3) else VALUES
    values = data.draw(st.lists(kind, min_size=len(people), max_size=len(people)))
    shown = few(people, values).shown()
    exact = Acquaintance("any", m).told(shown, "people.diagnosis", measure)
    found = Acquaintance("any", m, effort=effort).told(shown, "people.diagnosis", measure)
    assert (found.low <= exact.low + 1e-12).all()
    if measure is not Disclosure.DISTINCT:  # that one is itself a bound
        assert (exact.low <= found.high + 1e-12).all()


@given(PEOPLE, st.data(), st.integers(1, 3), st.sampled_from([0.3, 0.5, 0.7]))
def test_a_ceiling_leaves_open_only_what_is_above_it(people, data, m, ceiling):
    values = data.draw(st.lists(VALUES, min_size=len(people), max_size=len(people)))
    shown = few(people, values).shown()
    exact = Acquaintance("any", m).told(shown, "people.diagnosis", Disclosure.FREQUENCY)
    rough = Acquaintance("any", m).told(
        shown, "people.diagnosis", Disclosure.FREQUENCY, ceiling=ceiling
    )
    assert np.array_equal(exact.low >= ceiling, rough.low >= ceiling)
    assert np.array_equal(exact.low[exact.low < ceiling], rough.low[exact.low < ceiling])


def test_nobody():
    shown = few([]).shown()
    for knows, m in (("own", 0), ("counts", 0), ("rows", 0), ("any", 2)):
        assert not len(Acquaintance(knows, m).crowds(shown).low)


# Rows below rows: a visit is (ward, drugs); a drug is known with the ward, and who knows all knows
# which drugs were given together.

VISIT = st.tuples(st.integers(0, 1), st.lists(st.integers(0, 1), max_size=2).map(tuple))
TREES = st.lists(
    st.tuples(st.integers(0, 1), st.lists(VISIT, max_size=3).map(tuple)), min_size=1, max_size=6
)


def _trees(people) -> Shown:
    visits = [(p, ward, drugs) for p, (_, several) in enumerate(people) for ward, drugs in several]
    drugs = [(p, drug, above) for above, (p, _, several) in enumerate(visits) for drug in several]
    person = np.array([p for p, _, _ in visits], dtype=np.int64)
    below = np.array(drugs, dtype=np.int64).reshape(-1, 3)
    rows = (
        ShownRows("visits", person, np.array([ward for _, ward, _ in visits], dtype=np.int64)),
        ShownRows("drugs", below[:, 0], below[:, 1], "visits", below[:, 2]),
    )
    return Shown(len(people), np.array([own for own, _ in people], dtype=np.int64), rows)


@settings(max_examples=120)
@given(TREES)
def test_persons_are_alike_when_their_rows_hang_together_alike(people):
    whole = [
        (own, sorted((ward, sorted(drugs)) for ward, drugs in visits)) for own, visits in people
    ]
    found = Acquaintance("rows").crowds(_trees(people))
    assert found.low.tolist() == [whole.count(one) for one in whole]


@settings(max_examples=120)
@given(TREES, st.integers(1, 3), st.integers(1, 40))
def test_a_row_below_a_row_is_known_with_it(people, m, effort):
    flat = [
        (
            own,
            {
                "visits": tuple(ward for ward, _ in visits),
                "drugs": tuple((ward, drug) for ward, several in visits for drug in several),
            },
        )
        for own, visits in people
    ]
    naive = np.array([oracle.smallest_crowd(flat, person, "any", m) for person in flat])
    assert Acquaintance("any", m).crowds(_trees(people)).low.tolist() == naive.tolist()
    bounds = Acquaintance("any", m, effort=effort).crowds(_trees(people))
    assert (bounds.low <= naive).all()
    assert (naive <= bounds.high).all()


def test_drugs_that_change_places_tell_people_apart():
    # the same visits and the same drugs, given at other visits: one table at a time shows no
    # difference
    shown = _trees([(0, ((0, (0,)), (1, (1,)))), (0, ((0, (1,)), (1, (0,))))])
    assert Acquaintance("counts").crowds(shown).low.tolist() == [2, 2]
    assert Acquaintance("rows").crowds(shown).low.tolist() == [1, 1]
    assert Acquaintance("any", 1).crowds(shown).low.tolist() == [1, 1]
    # who knows any rows does not know which of two equal visits each belongs to; who knows all does
    shown = _trees([(0, ((0, (0, 1)), (0, ()))), (0, ((0, (0,)), (0, (1,))))])
    assert Acquaintance("any", 4).crowds(shown).low.tolist() == [2, 2]
    assert Acquaintance("rows").crowds(shown).low.tolist() == [1, 1]
