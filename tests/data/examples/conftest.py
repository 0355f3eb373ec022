"""Naive counting that knows nothing of the product's classes, ladders and searches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from sfumato.core.table import Table

Classes = dict[tuple[Any, ...], list[int]]


@pytest.fixture
def classes_of() -> Callable[[Table], Classes]:
    """Quasi-identifier values of a dataset to the positions of the rows that have them."""

    def group(dataset: Table) -> Classes:
        found: Classes = {}
        for place, key in enumerate(dataset.to_polars().select(dataset.schema.quasi).rows()):
            found.setdefault(key, []).append(place)
        return found

    return group


@pytest.fixture
def sizes_of(classes_of: Callable[[Table], Classes]) -> Callable[[Table], list[int]]:
    """Sizes of the classes of a dataset, largest first."""
    return lambda dataset: sorted(map(len, classes_of(dataset).values()), reverse=True)


@pytest.fixture
def values_in(
    classes_of: Callable[[Table], Classes],
) -> Callable[[Table, str], dict[tuple[Any, ...], Counter[Any]]]:
    """How often each value of a column occurs in each class, classes in the order of the table."""

    def count(dataset: Table, column: str) -> dict[tuple[Any, ...], Counter[Any]]:
        values = dataset.column(column).to_list()
        return {
            key: Counter(values[place] for place in places)
            for key, places in classes_of(dataset).items()
        }

    return count
