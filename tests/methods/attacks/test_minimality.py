"""The minimality attack: a careful algorithm generalises no more than it must, and that tells
something."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.table import Table
from sfumato.methods.attacks.minimality import Minimality
from tests.methods.attacks.test_changed_secrets import scene_of
from tests.methods.attacks.test_inference import scene_of as worked_out


def test_minimality_is_not_worked_out_for_changed_values():
    scene = scene_of(["a"] * 4, [*"xxyy"], [*"xyyy"], models=(sf.LDiversity("secret", l=2),))
    assert "values of secret were changed" in Minimality().applies(scene)


def exposed_by_definition(people, classes, degree):
    """Records whose value is likelier than 1/l, and than its share in the class, over all
    allocations of its carriers in which some sub-group is not diverse: group by group, counted."""
    victims = set()
    for label in set(classes):
        inside = [row for row, other in enumerate(classes) if other == label]
        groups = sorted({people[row][0] for row in inside})
        if len(groups) < 2:
            continue
        members = [[row for row in inside if people[row][0] == name] for name in groups]
        for value in {people[row][1] for row in inside}:
            carriers = [row for row in inside if people[row][1] == value]
            sums, total = [Fraction(0)] * len(groups), 0
            broken, everything = [], []
            for chosen in combinations(inside, len(carriers)):
                picked = [len(set(chosen) & set(rows)) for rows in members]
                everything.append(picked)
                for name, rows, number in zip(groups, members, picked, strict=True):
                    size = sum(1 for group, _ in people if group == name)
                    elsewhere = sum(
                        1
                        for row, person in enumerate(people)
                        if person == (name, value) and row not in rows
                    )
                    if number + elsewhere > size - degree + 1:
                        broken.append(picked)
                        break
            for picked in broken or everything:
                total += 1
                for position, number in enumerate(picked):
                    sums[position] += Fraction(number, len(members[position]))
            share = max(Fraction(1, degree), Fraction(len(carriers), len(inside)))
            for position, rows in enumerate(members):
                if sums[position] / total > share:
                    victims |= set(rows) & set(carriers)
    return sorted(victims)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from("12")),
        min_size=2,
        max_size=9,
    ),
    st.sampled_from([2, 3]),
)
def test_who_is_exposed_against_all_allocations(drawn, degree):
    people = [(group, value) for group, value, _ in drawn]
    classes = [label for _, _, label in drawn]
    frame = pl.DataFrame({"q": [q for q, _ in people], "ill": [value for _, value in people]})
    original = Table(frame).with_roles(quasi="q", sensitive="ill")
    released = original.with_columns({"q": pl.Series([f"*{label}" for label in classes])})
    scene = worked_out(released, original, models=(sf.LDiversity("ill", l=degree),))
    found = Minimality().attack(scene)
    assert found.victims.tolist() == exposed_by_definition(people, classes, degree)


def test_a_value_that_most_have_is_not_exposed_by_its_share():
    # Nine of ten people of every class are well, whoever they are: nothing is learnt.
    original = Table(
        pl.DataFrame({"q": ["a", "b"] * 10, "ill": ["n"] * 18 + ["y"] * 2})
    ).with_roles(quasi="q", sensitive="ill")
    released = original.with_columns({"q": pl.Series(["*"] * 20)})
    scene = worked_out(released, original, models=(sf.LDiversity("ill", l=2),))
    assert Minimality().attack(scene).value == 0.0
