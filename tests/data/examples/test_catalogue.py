"""Every bundled table: found by name, fully described, covered by its hierarchies, and light to
import.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from sfumato import examples
from sfumato.core.encoding import encode
from sfumato.core.hierarchy import bind
from sfumato.core.table import Table
from sfumato.errors import ParameterError

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *[(name, {}) for name in examples.names() if name != "large"],
    ("torra", {"original": True}),
    *[("patients", {"release": release}) for release in ("single", "multi")],
    *[
        (name, {"grouping": grouping})
        for name in ("salaries", "diseases", "heart")
        for grouping in ("similar", "spread")
    ],
    ("john", {"release": "clinic"}),
    *[("conditions", {"release": release}) for release in ("anonymous", "diverse")],
    *[("regions", {"suppressed": column}) for column in ("gender", "education")],
    ("students", {"coded": True}),
    ("incomes", {"swapped": True}),
    ("ring", {"released": True}),
    *[
        ("large", {"rows": 3000, "columns": 9, "distinct": distinct})
        for distinct in ("few", "many")
    ],
]


def build(name: str, options: dict[str, Any]) -> Table:
    return examples.load(name, **options)


@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=str)
def test_every_column_has_a_role_and_every_role_a_column(
    name: str, options: dict[str, Any]
) -> None:
    dataset = build(name, options).checked()
    assert list(dataset.schema.attributes) == dataset.columns
    assert dataset.schema.quasi
    assert dataset.source.name.startswith(name)


@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=str)
def test_hierarchies_cover_every_value_and_end_in_one_top(
    name: str, options: dict[str, Any]
) -> None:
    dataset = build(name, options)
    for column, attribute in dataset.schema.attributes.items():
        if attribute.hierarchy is None:
            continue
        encoded = encode(dataset.column(column))
        ladder = bind(attribute.hierarchy, encoded.labels, encoded.counts.tolist())
        assert set(ladder.labels[0]) == set(encoded.labels), column
        assert len(ladder.labels[-1]) == 1, column
        assert ladder.depth >= 2, column


@pytest.mark.parametrize(
    "name", ["hospital", "visits", "survey", "large", "sandhu", "faggioli", "special_uniques"]
)
def test_all_quasi_identifiers_of_searchable_tables_have_hierarchies(name: str) -> None:
    schema = build(
        name, {"rows": 100} if name in ("hospital", "visits", "survey", "large", "sandhu") else {}
    ).schema
    assert all(schema[column].hierarchy is not None for column in schema.quasi)


def test_ordinal_columns_list_their_values() -> None:
    for name, options in VARIANTS:
        dataset = build(name, options)
        for column, attribute in dataset.schema.attributes.items():
            if attribute.order is not None:
                assert set(dataset.column(column).drop_nulls().cast(str).unique()) <= set(
                    attribute.order
                ), (
                    name,
                    column,
                )


def test_every_function_says_where_its_table_is_from() -> None:
    generated = {"hospital", "visits", "survey", "large"}
    for name in set(examples.names()) - generated - {"illnesses"}:
        assert "Reference:" in (getattr(examples, name).__doc__ or ""), name


def test_names_are_sorted_and_public() -> None:
    assert list(examples.names()) == sorted(examples.names())
    assert set(examples.names()) <= set(examples.__all__)
    assert list(examples.__all__) == sorted(examples.__all__)


def test_wrong_names_and_options_are_answered_with_the_nearest() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'faggioli'"):
        examples.load("fagioli")
    with pytest.raises(ParameterError, match=r"no option 'row'\. Did you mean 'rows'"):
        examples.load("hospital", row=5)
    with pytest.raises(ParameterError, match="Did you mean 'similar'"):
        examples.salaries(grouping="similarly")


@pytest.mark.parametrize("name", ["hospital", "visits", "survey", "large"])
def test_generators_refuse_tables_without_rows_and_negative_seeds(name: str) -> None:
    with pytest.raises(ParameterError, match="rows must be at least 1"):
        examples.load(name, rows=0)
    with pytest.raises(ParameterError, match="seed must be 0 or more"):
        examples.load(name, rows=5, seed=-1)
    assert len(examples.load(name, rows=1)) == 1


def test_import_loads_nothing_heavy() -> None:
    heavy = ["pandas", "pyarrow", "scipy", "numba", "altair"]
    script = (
        f"import sys, sfumato.data.examples.hospital_tables; print([m for m in {heavy} if m in"
        " sys.modules])"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "[]"
