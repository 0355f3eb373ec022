"""Known facts of the tables about several releases, trees, coding and swapping."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from sfumato import examples


def test_john_releases_are_anonymous_one_by_one(
    sizes_of: Callable[..., Any], values_in: Callable[..., Any]
) -> None:
    # Gerl 2021/22; the clinic's table is printed as 4-diverse, its class below 40 holds three
    # diagnoses.
    practice, clinic = examples.john_releases()
    assert (sizes_of(practice), sizes_of(clinic)) == ([3, 3, 3], [5, 5])
    assert [len(values) for values in values_in(practice, "diagnosis").values()] == [3, 3, 3]
    assert [len(values) for values in values_in(clinic, "diagnosis").values()] == [3, 4]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (("<30", "<40"), {"HIV": Fraction(1)}),
        (("3*", "<40"), {"Lung oedema": Fraction(1)}),
        ((">=40", ">=40"), {"HIV": Fraction(1, 3), "Common cold": Fraction(2, 3)}),
    ],
)
def test_john_is_found_by_intersection(
    known: tuple[str, str], expected: dict[str, Fraction], values_in: Callable[..., Any]
) -> None:
    first, second = (
        values_in(release, "diagnosis")["940**", age]
        for release, age in zip(examples.john_releases(), known, strict=True)
    )
    joint = {value: Fraction(first[value] * second[value]) for value in first if second[value]}
    assert {value: weight / sum(joint.values()) for value, weight in joint.items()} == expected


def test_conditions_become_anonymous_and_then_diverse(
    sizes_of: Callable[..., Any], values_in: Callable[..., Any]
) -> None:
    # Machanavajjhala et al. 2007: 4-anonymous with a homogeneous class, then 3-diverse.
    original, anonymous, diverse = (
        examples.conditions(release=r) for r in ("none", "anonymous", "diverse")
    )
    assert sizes_of(original) == [1] * 12
    assert sizes_of(anonymous) == sizes_of(diverse) == [4, 4, 4]
    assert values_in(anonymous, "condition")["130**", "3*", "*"] == {"Cancer": 4}
    assert [len(values) for values in values_in(diverse, "condition").values()] == [3, 3, 3]
    for release in (anonymous, diverse):
        assert Counter(release.column("condition")) == Counter(original.column("condition"))


def test_ring_conceals_two_although_cells_are_unique(sizes_of: Callable[..., Any]) -> None:
    originals = examples.ring().column("place").to_list()
    released = [
        set(cell.split(",")) for cell in examples.ring(released=True).column("place").to_list()
    ]
    assert sizes_of(examples.ring(released=True)) == [1] * 4
    assert [sum(value in cell for cell in released) for value in originals] == [2] * 4
    assert [sum(value in cell for value in originals) for cell in released] == [2] * 4
    matchings = [
        order
        for order in itertools.permutations(range(4))
        if all(originals[i] in released[j] for i, j in enumerate(order))
    ]
    assert tuple(range(4)) in matchings
    assert [len({order[i] for order in matchings}) for i in range(4)] == [2] * 4  # 2-concealment


def test_illness_tree_has_the_worked_height_and_loss() -> None:
    # Gerl 2021/22: height 1/(3-1) = 0.5; loss of HIV as virus infection 0.25, of a cold as
    # bacterial infection 0.
    paths = examples.illness_tree().paths(["HIV", "Common cold"], [2, 1])
    assert len(paths.rows[0]) == 3
    assert paths.leaves[2]["*"] == 5
    assert paths.loss[1][paths.rows[0][1]] == 0.25
    assert paths.loss[1][paths.rows[1][1]] == 0


def test_students_coded_at_the_top(sizes_of: Callable[..., Any]) -> None:
    # Gerl 2021/22: ages above 20 (not from 20 on) and the two upper educations are coded.
    original, coded = examples.students(), examples.students(coded=True)
    assert sizes_of(original) == [2, 1, 1, 1, 1, 1, 1, 1]
    assert sizes_of(coded) == [3, 2, 1, 1, 1, 1]
    assert set(coded.column("age")) == {"18", "19", "20", "21+"}
    for column in ("age", "education"):
        hierarchy = original.schema[column].hierarchy
        assert hierarchy is not None
        paths = hierarchy.paths([str(value) for value in original.column(column)], [1] * 9)
        assert [row[1] for row in paths.rows] == coded.column(column).to_list()


def test_incomes_swap_the_illness_of_the_nearest(values_in: Callable[..., Any]) -> None:
    # Gerl 2021/22: after the swap 100 is ill, 120 and 10,000 are not.
    before, after = examples.incomes(), examples.incomes(swapped=True)
    assert dict(before.to_polars().select("income", "illness").rows()) == {
        100: "n",
        10000: "n",
        120: "y",
    }
    assert dict(after.to_polars().select("income", "illness").rows()) == {
        100: "y",
        10000: "n",
        120: "n",
    }
    assert before.drop(["illness"]).to_polars().equals(after.drop(["illness"]).to_polars())


def test_illnesses_are_the_four_of_the_slides() -> None:
    assert examples.illnesses().column("illness").to_list() == [
        "HIV",
        "HIV",
        "Common cold",
        "Pelvic fracture",
    ]
