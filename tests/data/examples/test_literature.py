"""Known class sizes and minimal generalizations of the k-anonymity tables."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from sfumato import examples
from sfumato.core.table import Table
from sfumato.errors import ParameterError

Node = tuple[int, ...]


def generalized(dataset: Table, node: Node) -> list[tuple[str, ...]]:
    """Rows of quasi-identifiers lifted to a node of the lattice, cell by cell."""
    lifted = []
    for column, level in zip(dataset.schema.quasi, node, strict=True):
        hierarchy = dataset.schema[column].hierarchy
        assert hierarchy is not None
        values = [str(value) for value in dataset.column(column).to_list()]
        paths = hierarchy.paths(values, [1] * len(values)).rows
        lifted.append([path[level] for path in paths])
    return list(zip(*lifted, strict=True))


def lattice(dataset: Table) -> list[Node]:
    depths = []
    for column in dataset.schema.quasi:
        hierarchy = dataset.schema[column].hierarchy
        assert hierarchy is not None
        depths.append(len(hierarchy.paths([str(dataset.column(column)[0])], [1]).rows[0]))
    return list(itertools.product(*map(range, depths)))


def minimal(dataset: Table, k: int, suppressed: int) -> dict[Node, tuple[int, list[int]]]:
    """k-minimal nodes by looking at all of them: node to rows lost and sizes of the classes
    kept.
    """
    fitting = {}
    for node in lattice(dataset):
        sizes = Counter(generalized(dataset, node)).values()
        lost = sum(size for size in sizes if size < k)
        if lost <= suppressed:
            fitting[node] = (lost, sorted((size for size in sizes if size >= k), reverse=True))
    return {
        node: found
        for node, found in fitting.items()
        if not any(
            other != node and all(a <= b for a, b in zip(other, node, strict=True))
            for other in fitting
        )
    }


def test_torra_is_two_anonymous_and_homogeneous(
    sizes_of: Callable[..., Any], values_in: Callable[..., Any]
) -> None:
    # Torra 2020: five rows, k = 2 for {city, age}; Barcelona/30 all have cancer; HYU excluded
    # leaves AIDS twice.
    table = examples.torra()
    assert sizes_of(table) == [3, 2]
    told = values_in(table, "illness")
    assert told["Barcelona", 30] == {"Cancer": 2}
    assert told["Tarragona", 60] == {"AIDS": 2, "Heart attack": 1}
    assert sizes_of(examples.torra(original=True)) == [1] * 6


@pytest.mark.parametrize(("rows", "positives"), [(1000, 5), (10_000, 100)])
def test_sandhu_bounds_the_number_of_groups(rows: int, positives: int) -> None:
    # Domingo-Ferrer & Torra 2008, example 2: 5 of 1000 allow 5 groups; Faggioli: 1 % of 10,000
    # allow 100. Truta & Vinay 2006: at most min over i < p of floor((N - cf_(p-i)) / i) groups are
    # p-sensitive; here p = 2.
    counts = Counter(examples.sandhu(rows, positives=positives).column("aids").to_list())
    assert counts == {"no": rows - positives, "yes": positives}
    assert (rows - max(counts.values())) // 1 == positives


def test_sandhu_is_refused_with_more_positives_than_rows() -> None:
    with pytest.raises(ParameterError, match="rows must be at least 11"):
        examples.sandhu(10, positives=11)


def test_faggioli_is_unique_and_has_144_nodes(sizes_of: Callable[..., Any]) -> None:
    table = examples.faggioli()
    assert sizes_of(table) == [1] * 9
    assert len(lattice(table)) == 144
    assert table.column("income").to_list() == [
        33000,
        54000,
        22000,
        11000,
        178000,
        23000,
        23000,
        23000,
        56000,
    ]


# k, rows that may be suppressed, and the k-minimal nodes (race, birth, sex, zip, marital) with rows
# lost and class
# sizes: all recomputed for the slides of Faggioli 2025/26.
ANTICHAINS: list[tuple[int, int, dict[Node, tuple[int, list[int]]]]] = [
    (
        2,
        0,
        {
            (0, 3, 1, 2, 2): (0, [3, 3, 3]),
            (1, 2, 0, 1, 2): (0, [4, 3, 2]),
            (1, 2, 0, 2, 1): (0, [4, 3, 2]),
        },
    ),
    (
        3,
        0,
        {
            (0, 3, 1, 2, 2): (0, [3, 3, 3]),
            (1, 3, 1, 1, 2): (0, [5, 4]),
            (1, 3, 1, 2, 1): (0, [6, 3]),
        },
    ),
]
LOST: list[tuple[int, int, dict[Node, int]]] = [
    (
        2,
        1,
        {
            (0, 2, 0, 2, 2): 1,
            (1, 2, 0, 1, 2): 0,
            (1, 2, 0, 2, 1): 0,
            (1, 3, 1, 1, 1): 1,
            (1, 3, 1, 2, 0): 1,
        },
    ),
    (
        2,
        2,
        {
            (0, 2, 0, 2, 1): 2,
            (0, 3, 1, 1, 2): 2,
            (1, 1, 0, 2, 1): 2,
            (1, 2, 0, 1, 1): 2,
            (1, 2, 0, 2, 0): 2,
            (1, 3, 1, 0, 2): 2,
        },
    ),
]


@pytest.mark.parametrize(("k", "suppressed", "expected"), ANTICHAINS)
def test_faggioli_minimal_nodes_without_suppression(
    k: int, suppressed: int, expected: dict[Node, Any]
) -> None:
    assert minimal(examples.faggioli(), k, suppressed) == expected


@pytest.mark.parametrize(("k", "suppressed", "expected"), LOST)
def test_faggioli_minimal_nodes_with_suppression(
    k: int, suppressed: int, expected: dict[Node, int]
) -> None:
    found = minimal(examples.faggioli(), k, suppressed)
    assert {node: lost for node, (lost, _) in found.items()} == expected
    if suppressed == 2:
        assert found[1, 1, 0, 2, 1] == (2, [3, 2, 2])


def test_faggioli_node_of_the_slides_has_their_labels() -> None:
    rows = generalized(examples.faggioli(), (1, 2, 0, 2, 1))
    assert rows[0] == ("person", "64/**/**", "F", "351**", "been_married")
    assert rows[3] == ("person", "63/**/**", "M", "351**", "been_married")
    assert rows[5] == ("person", "64/**/**", "F", "351**", "single")


def test_patients_release_sizes_and_discernibility(sizes_of: Callable[..., Any]) -> None:
    # LeFevre et al. 2006, figure 1: single-dimensional classes 4 and 2 (C_DM 20), multidimensional
    # 2, 2, 2 (C_DM 12).
    sizes = {
        release: sizes_of(examples.patients(release=release))
        for release in ("none", "single", "multi")
    }
    assert sizes == {"none": [1] * 6, "single": [4, 2], "multi": [2, 2, 2]}
    assert [sum(size**2 for size in sizes[r]) for r in ("single", "multi")] == [20, 12]


def test_patients_single_release_is_a_node_of_the_lattice() -> None:
    original, single = examples.patients(), examples.patients(release="single")
    assert generalized(original, (2, 0, 1)) == single.to_polars().select("age", "sex", "zip").rows()


def test_patients_loss_of_the_single_release() -> None:
    # Worked panel for the Patients table: loss 1, 0 and 1/3 for age, sex, zip.
    original = examples.patients()
    means = []
    for column, level in zip(original.schema.quasi, (2, 0, 1), strict=True):
        values = [str(value) for value in original.column(column).to_list()]
        hierarchy = original.schema[column].hierarchy
        assert hierarchy is not None
        paths = hierarchy.paths(values, [1] * 6)
        means.append(sum(paths.loss[level][row[level]] for row in paths.rows) / 6)
    assert means == pytest.approx([1, 0, 1 / 3])


@pytest.mark.parametrize(
    ("suppressed", "expected"),
    [
        ("none", [1, 3, 3, 3, 3, 3, 3]),
        ("education", [4, 3, 3, 3, 4, 4, 4]),
        ("gender", [4, 4, 4, 4, 3, 3, 3]),
    ],
)
def test_regions_counts_with_missing_as_wildcard(suppressed: str, expected: list[int]) -> None:
    # Gerl 2021/22 after the sdcMicro practice guide: counts of compatible records.
    table = examples.regions(suppressed=suppressed)
    rows = table.to_polars().select(table.schema.quasi).rows()
    fits = [
        sum(all(None in (a, b) or a == b for a, b in zip(x, y, strict=True)) for y in rows)
        for x in rows
    ]
    assert fits == expected


@pytest.mark.parametrize("suppressed", ["education", "gender"])
def test_regions_record_one_stays_unique_with_missing_as_category(
    suppressed: str, sizes_of: Callable[..., Any]
) -> None:
    assert sizes_of(examples.regions(suppressed=suppressed)) == [3, 3, 1]
