"""Known diversity and closeness of the tables about sensitive values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from sfumato import examples
from sfumato.core.table import Table

Counts = Counter[Any]


def entropy(counts: Counts) -> float:
    total = sum(counts.values())
    return -sum(n / total * math.log(n / total) for n in counts.values())


def ordered_distance(inside: Counts, table: Counts, order: list[Any]) -> Fraction:
    """Earth mover's distance over ranks of the distinct values (Li et al. 2007)."""
    moved, cost = Fraction(0), Fraction(0)
    for value in order[:-1]:
        moved += Fraction(inside[value], inside.total()) - Fraction(table[value], table.total())
        cost += abs(moved)
    return cost / (len(order) - 1)


def equal_distance(inside: Counts, table: Counts) -> Fraction:
    return (
        sum(
            (
                abs(Fraction(inside[v], inside.total()) - Fraction(n, table.total()))
                for v, n in table.items()
            ),
            Fraction(0),
        )
        / 2
    )


def tree_distance(inside: Counts, table: Counts, rows: dict[str, tuple[str, ...]]) -> Fraction:
    """Earth mover's distance over a tree: at every inner node, what its children can settle among
    themselves.
    """
    height = len(next(iter(rows.values()))) - 1
    extra = {
        v: Fraction(inside[v], inside.total()) - Fraction(n, table.total())
        for v, n in table.items()
    }
    cost = Fraction(0)
    for level in range(1, height + 1):
        children: dict[str, dict[str, Fraction]] = {}
        for value, row in rows.items():
            below = children.setdefault(row[level], {})
            below[row[level - 1]] = below.get(row[level - 1], Fraction(0)) + extra[value]
        for below in children.values():
            gains = sum((e for e in below.values() if e > 0), Fraction(0))
            losses = -sum((e for e in below.values() if e < 0), Fraction(0))
            cost += Fraction(level, height) * min(gains, losses)
    return cost


def per_class(
    dataset: Table, column: str, values_in: Callable[..., Any]
) -> tuple[list[Counts], Counts]:
    return list(values_in(dataset, column).values()), Counter(dataset.column(column).to_list())


@pytest.mark.parametrize(
    ("grouping", "expected"),
    [
        (
            "similar",
            [Fraction(3, 8), Fraction(1, 6), Fraction(17, 72)],
        ),  # Li et al. 2007: 0.375-close
        (
            "spread",
            [Fraction(1, 6), Fraction(1, 6), Fraction(1, 12)],
        ),  # Li et al. 2007: 0.167-close
    ],
)
def test_salary_classes_have_the_published_distances(
    grouping: str, expected: list[Fraction], values_in: Callable[..., Any]
) -> None:
    classes, table = per_class(examples.salaries(grouping=grouping), "salary", values_in)
    assert [ordered_distance(c, table, list(range(3, 12))) for c in classes] == expected
    assert [equal_distance(c, table) for c in classes] == [Fraction(2, 3)] * 3


@pytest.mark.parametrize("name", ["salaries", "diseases", "heart"])
def test_groupings_are_three_anonymous_regroupings_of_the_same_nine(
    name: str, sizes_of: Callable[..., Any]
) -> None:
    original, *releases = (examples.load(name, grouping=g) for g in ("none", "similar", "spread"))
    assert sizes_of(original) == [1] * 9
    column = original.columns[-1]
    for release in releases:
        assert sizes_of(release) == [3, 3, 3]
        assert Counter(release.column(column)) == Counter(original.column(column))


@pytest.mark.parametrize("grouping", ["similar", "spread"])
def test_released_cells_cover_the_original_ones(grouping: str) -> None:
    original, release = examples.salaries(), examples.salaries(grouping=grouping)
    person = {
        salary: (z, str(a)) for z, a, salary in original.to_polars().rows()
    }  # salaries are all different
    for postcode, age, salary in release.to_polars().rows():
        for column, cell, value in zip(
            ("zip", "age"), (postcode, age), person[salary], strict=True
        ):
            hierarchy = original.schema[column].hierarchy
            assert hierarchy is not None
            assert cell in hierarchy.paths([value], [1]).rows[0]


def test_disease_classes_have_the_recomputed_distances(values_in: Callable[..., Any]) -> None:
    # Frequencies give 7/27, 8/27, 5/27; the paper's 0.278 = 5/18 takes each disease once.
    release = examples.diseases(grouping="spread")
    classes, table = per_class(release, "disease", values_in)
    hierarchy = release.schema["disease"].hierarchy
    assert hierarchy is not None
    rows = {row[0]: row for row in hierarchy.paths(list(table), [1] * len(table)).rows}
    assert [tree_distance(c, table, rows) for c in classes] == [
        Fraction(7, 27),
        Fraction(8, 27),
        Fraction(5, 27),
    ]
    assert tree_distance(classes[0], Counter(dict.fromkeys(table, 1)), rows) == Fraction(5, 18)


def test_disease_tree_has_ten_leaves_and_height_three() -> None:
    paths = examples.disease_tree().paths(["flu"], [1])
    assert paths.rows == (("flu", "respiratory infection", "respiratory system", "*"),)
    assert paths.leaves[3]["*"] == 10


def test_heart_table_is_homogeneous_in_one_class(values_in: Callable[..., Any]) -> None:
    # Li et al. 2007, table 2: Bob (27, 47678) has a heart disease; Alice (36, 47673) has cancer
    # with 2/3.
    told = values_in(examples.heart(grouping="similar"), "disease")
    assert told["476**", "2*"] == {"Heart disease": 3}
    assert told["476**", "3*"] == {"Cancer": 2, "Heart disease": 1}


def test_ancona_is_entropy_three_diverse_with_equality(
    sizes_of: Callable[..., Any], values_in: Callable[..., Any]
) -> None:
    classes, table = per_class(examples.ancona(), "salary", values_in)
    assert sizes_of(examples.ancona()) == [3, 3, 3]
    assert [entropy(c) for c in classes] == pytest.approx([math.log(3)] * 3, abs=1e-15)
    assert ordered_distance(classes[0], table, list(range(3, 12))) == Fraction(3, 8)


def test_faggioli_blocks_have_the_corrected_numbers(values_in: Callable[..., Any]) -> None:
    # Faggioli 2025/26 with exact arithmetic instead of the rounded 1.25, 0.66, 1.46, 0.88, 1.41.
    dataset = examples.faggioli_blocks()
    classes, table = per_class(dataset, "income", values_in)
    order = list(dataset.schema["income"].order or ())
    assert len(dataset) == 740
    assert [c.total() for c in classes] == [140, 130, 140, 120, 210]
    assert [len(c) for c in classes] == [4, 5, 5, 3, 5]
    assert [table[v] for v in order] == [220, 65, 165, 155, 135]
    assert [round(entropy(c), 4) for c in classes] == [1.2540, 0.6426, 1.4701, 0.8877, 1.4104]
    assert [round(math.exp(entropy(c)), 4) for c in classes] == [
        3.5045,
        1.9014,
        4.3498,
        2.4295,
        4.0974,
    ]
    assert [round(float(equal_distance(c, table)), 5) for c in classes] == [
        0.20753,
        0.54886,
        0.33205,
        0.52477,
        0.26126,
    ]
    ranked = [round(float(ordered_distance(c, table, order)), 5) for c in classes]
    assert ranked == [0.05888, 0.37682, 0.12162, 0.33953, 0.09202]


def test_diversity_notions_are_incomparable(values_in: Callable[..., Any]) -> None:
    steep, twin = values_in(examples.diversity_counterexamples(), "illness").values()
    assert sorted(steep.values(), reverse=True) == [8, 1, 1]
    assert entropy(steep) < math.log(
        2
    )  # entropy 2 fails, and recursive (5,2) holds: 8 < 5 * (1 + 1)
    assert sorted(twin.values(), reverse=True) == [4, 4, 1, 1]
    assert (
        round(math.exp(entropy(twin)), 2) == 3.30
    )  # entropy 3 holds, and recursive (1,3) fails: 4 >= 1 * (1 + 1)


def test_disclosure_counterexample_loses_by_merging(values_in: Callable[..., Any]) -> None:
    dataset = examples.disclosure_counterexample()
    classes, table = per_class(dataset, "test", values_in)

    def skipping_absent(inside: Counts) -> float:
        return max(
            abs(math.log(n / inside.total() / (table[v] / table.total())))
            for v, n in inside.items()
        )

    assert len(dataset) == 150
    assert [round(skipping_absent(c), 3) for c in classes] == [0.0, 0.223, 0.241]
    assert round(skipping_absent(classes[0] + classes[1]), 3) == 1.386
    hierarchy = dataset.schema["block"].hierarchy
    assert hierarchy is not None
    assert [row[1] for row in hierarchy.paths(["a", "b", "c"], [10, 30, 110]).rows] == [
        "a or b",
        "a or b",
        "c",
    ]
