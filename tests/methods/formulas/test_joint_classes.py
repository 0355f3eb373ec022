"""Joint classes of several releases, beside a count person by person."""

from __future__ import annotations

import collections

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.formulas.joint_classes import (
    ABSENT,
    count_followed,
    diversity,
    joint_classes,
    overlap_bounds,
    spent_by_group,
)


@st.composite
def shown_tables(draw):
    """Up to twelve persons in up to three releases; −1 where a release shows nothing of
    somebody.
    """
    releases = draw(st.integers(1, 3))
    rows = draw(
        st.lists(
            st.lists(st.integers(ABSENT, 2), min_size=releases, max_size=releases),
            min_size=1,
            max_size=12,
        )
    )
    return np.array(rows, dtype=np.int64)


def agree(one, other):
    return all(a in (b, ABSENT) or b == ABSENT for a, b in zip(one, other, strict=True))


@given(shown_tables())
def test_joint_classes_are_counted_person_by_person(shown):
    rows = [tuple(row) for row in shown.tolist()]
    joint = joint_classes(shown)
    assert joint.of_person.tolist() == [rows.count(row) for row in rows]
    assert joint.compatible.tolist() == [sum(agree(row, other) for other in rows) for row in rows]
    assert [[a == b for b in joint.member] for a in joint.member] == [
        [a == b for b in rows] for a in rows
    ]


@given(shown_tables(), st.data())
def test_followed_are_alone_together_and_nowhere_alone(shown, data):
    rows = [tuple(row) for row in shown.tolist()]
    among = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    crowds = [collections.Counter(row[j] for row in rows) for j in range(shown.shape[1])]

    def is_followed(row):
        visible = [crowds[j][cell] for j, cell in enumerate(row) if cell != ABSENT]
        return rows.count(row) == 1 and bool(visible) and min(visible) > 1

    expected = [is_followed(row) for row in rows]
    joint = joint_classes(shown)
    assert count_followed(shown, joint) == sum(expected)
    assert count_followed(shown, joint, among=among) == sum(
        e for e, a in zip(expected, among, strict=True) if a
    )


@given(shown_tables(), st.data())
def test_values_of_joint_classes(shown, data):
    values = data.draw(st.lists(st.integers(0, 3), min_size=len(shown), max_size=len(shown)))
    classes = collections.defaultdict(list)
    for row, value in zip(shown.tolist(), values, strict=True):
        classes[tuple(row)].append(value)
    everything = {v: values.count(v) / len(values) for v in set(values)}
    apart = [
        sum(abs(members.count(v) / len(members) - share) for v, share in everything.items()) / 2
        for members in classes.values()
    ]
    fewest, farthest = diversity(joint_classes(shown), np.array(values))
    assert fewest == min(len(set(members)) for members in classes.values())
    assert farthest == pytest.approx(max(apart))


@given(
    st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=9),
    st.lists(st.none() | st.sampled_from([0.25, 0.5, 1.0]), min_size=3, max_size=3),
)
def test_what_groups_of_people_have_spent(there, losses):
    sums = [
        sum(loss or 0.0 for loss, here in zip(losses, row, strict=True) if here) for row in there
    ]
    kinds = [
        {loss is None for loss, here in zip(losses, row, strict=True) if here} for row in there
    ]
    assert spent_by_group(np.array(there), losses) == (
        max(sums),
        any(len(kind) == 2 for kind in kinds),
    )


def test_two_releases_that_show_a_row_and_a_column_of_a_square():
    """Ganta, Kasiviswanathan & Smith 2008, in the smallest form: 25 persons (i, j), one release
    shows i, the other j.
    """
    grid = np.array([(i, j) for i in range(5) for j in range(5)])
    joint = joint_classes(grid)
    assert [int(joint_classes(grid[:, [release]]).sizes.min()) for release in (0, 1)] == [5, 5]
    assert (int(joint.sizes.min()), count_followed(grid, joint), int(joint.compatible.max())) == (
        1,
        25,
        1,
    )


def test_eight_persons_by_age_and_by_zip():
    """Ages 23, 27, 29, 31, 34, 38, 41, 45 under 30, in the thirties, from 40 on; zips 101 and 102:
    cells worked out by hand.
    """
    age = [0, 0, 0, 1, 1, 1, 2, 2]
    place = [101, 101, 102, 102, 101, 102, 101, 102]
    joint = joint_classes(np.array(list(zip(age, place, strict=True))))
    assert sorted(joint.sizes.tolist()) == [1, 1, 1, 1, 2, 2]
    assert joint.of_person.tolist() == [2, 2, 1, 2, 1, 2, 1, 1]


def test_nobody_and_nothing():
    empty = np.zeros((0, 2), dtype=np.int64)
    assert joint_classes(empty).sizes.tolist() == []
    assert spent_by_group(np.zeros((0, 2), dtype=bool), [0.1, 0.2]) == (0.0, False)
    nowhere = np.full((3, 2), ABSENT)
    assert count_followed(nowhere, joint_classes(nowhere)) == 0


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 9), st.data())
def test_bounds_hold_for_every_pair_of_sets(first, second, more, data):
    people = max(first, second) + more
    mine = data.draw(st.permutations(range(people)))[:first]
    shared = len(set(mine) & set(range(second)))
    low, high = overlap_bounds(first, second, people)
    assert shared == 0 or low <= shared <= high
