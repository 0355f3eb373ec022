"""Hierarchy files that are used in the field, as far as they are on this machine."""

from __future__ import annotations

import csv
import json
from collections import Counter

import pytest

from sfumato.core.hierarchy import bind
from sfumato.methods.hierarchies import read_hierarchy
from tests.methods.hierarchies.contract import keeps_the_contract

# levels (original values included), lines, label of the top
ADULT = {
    "age": (5, 100, "*"),
    "education": (4, 16, "*"),
    "marital-status": (3, 7, "*"),
    "native-country": (3, 41, "*"),
    "occupation": (3, 14, "*"),
    "race": (2, 5, "*"),
    "salary-class": (2, 2, "*"),
    "sex": (2, 2, "*"),
    "workclass": (3, 8, "*"),
}
FARS = {
    "iage": (6, 100, "[0,99]"),
    "ideathday": (4, 33, "[0,99]"),
    "ideathmon": (4, 14, "[0,13]"),
    "ihispanic": (3, 10, "[0,9]"),
    "iinjury": (3, 10, "[0,9]"),
    "irace": (3, 20, "[0,19]"),
    "isex": (2, 3, "[0,2]"),
    "istatenum": (4, 57, "[0,56]"),
}
ATUS = {
    "Age": (6, 101, "*"),
    "Birthplace": (3, 155, "*"),
    "Citizenship status": (3, 6, "*"),
    "Highest level of school completed": (4, 18, "*"),
    "Labor force status": (3, 6, "*"),
    "Marital status": (3, 7, "*"),
    "Race": (3, 23, "*"),
    "Region": (3, 4, "*"),
    "Sex": (2, 3, "*"),
}
FILES = [
    (folder, f"{stem}_hierarchy_{column}.csv", expected)
    for folder, stem, columns in (
        ("adult", "adult", ADULT),
        ("fars_int", "fars_int", FARS),
        ("atus_hierarchies", "atus", ATUS),
    )
    for column, expected in columns.items()
]


@pytest.mark.parametrize(("folder", "name", "expected"), FILES, ids=[name for _, name, _ in FILES])
def test_file(reference_data, folder, name, expected):
    table = read_hierarchy(reference_data / folder / name)
    assert (len(table.rows[0]), len(table.rows), table.rows[0][-1]) == expected
    keeps_the_contract(table, list(dict.fromkeys(row[0] for row in table.rows)))


def test_no_file_is_forgotten(reference_data):
    found = {
        p.name
        for folder in ("adult", "fars_int", "atus_hierarchies")
        for p in (reference_data / folder).glob("*_hierarchy_*")
    }
    assert found == {name for _, name, _ in FILES}


@pytest.mark.slow
@pytest.mark.parametrize(
    "label", ["fars_int k=5 s=0.05 loss", "fars_int k=5 s=0.0 loss", "fars_int k=5 s=0.02 loss"]
)
def test_loss_is_that_of_arx(reference_data, label):
    """Mean loss per column of the node ARX chose, suppressed rows counting 1; one line of iage is
    there twice.
    """
    results = json.loads((reference_data / "reference" / "arx_fars.json").read_text())["results"]
    (expected,) = [r for r in results if r["label"] == label]
    folder = reference_data / "fars_int"
    with (folder / "fars_int.csv").open(newline="") as stream:
        records = list(csv.DictReader(stream, delimiter=";"))
    columns = []
    for name in expected["qis"]:
        counts = Counter(record[name] for record in records)
        ladder = bind(
            read_hierarchy(folder / f"fars_int_hierarchy_{name}.csv"),
            list(counts),
            list(counts.values()),
        )
        level = expected["levels"][name]
        nodes = dict(zip(ladder.labels[0], ladder.climb(0, level).tolist(), strict=True))
        columns.append(([nodes[record[name]] for record in records], ladder.loss[level]))
    keys = list(zip(*(codes for codes, _ in columns), strict=True))
    sizes = Counter(keys)
    gone = sum(size for size in sizes.values() if size < 5)
    assert gone == expected["suppressed"]
    for (_, loss), position, wanted in zip(
        columns, range(len(columns)), expected["cell_loss"], strict=True
    ):
        kept = sum(float(loss[key[position]]) * size for key, size in sizes.items() if size >= 5)
        assert (kept + gone) / len(records) == pytest.approx(wanted, abs=1e-12)
