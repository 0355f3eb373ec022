"""Golden releases: the same recipes give the same files, so that moving code changes nothing that
anybody receives.

``make golden ARGS=--update`` stores new digests where a change is meant, and prints which files
changed.
"""

from __future__ import annotations

import collections
import json

import pytest

from tests.golden.canonical import frame_text, json_text, page_text, plain_text, read_frame, rounded
from tests.golden.case import digests_of, run_case
from tests.golden.cases import CASES, read_digests, unavailable
from tests.golden.tables import patients, write_table

STORED = read_digests()
SERVICE = [
    pytest.mark.service,
    # pyspark 4 speaks to pandas 3 in words that pandas is about to forget, and leaves sockets to
    # the collector
    pytest.mark.filterwarnings(
        "ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning"
    ),
]


def _parameters():
    return [
        pytest.param(name, id=name, marks=SERVICE if case.service else [])
        for name, case in CASES.items()
    ]


@pytest.mark.parametrize("name", _parameters())
def test_the_files_are_as_stored(name, tmp_path):
    if reason := unavailable(CASES[name]):
        pytest.skip(reason)
    found = digests_of(run_case(CASES[name], tmp_path))
    stored = STORED[name]
    different = [file for file in {**stored, **found} if stored.get(file) != found.get(file)]
    assert not different, (
        "make golden ARGS='--keep FOLDER' writes comparable text, before and after a change"
    )


def test_there_are_enough_cases_of_every_kind():
    assert set(STORED) == set(CASES)
    kinds = collections.Counter(name.partition(":")[0] for name in CASES if ":" in name)
    assert min(kinds[shape] for shape in ("baskets", "paths", "graph", "tables")) >= 4
    assert min(kinds[engine] for engine in ("polars", "duckdb", "spark")) >= 3
    assert len(CASES) >= 60


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow", "xlsx"])
def test_one_changed_cell_is_noticed(form, tmp_path):
    frame = patients()
    changed = frame.with_columns(age=frame["age"].scatter(7, 101))
    texts = []
    for number, table in enumerate((frame, frame, changed, frame.reverse())):
        file = tmp_path / f"{number}.{form}"
        write_table(table, file)
        texts.append(
            plain_text(file.read_text()) if form == "csv" else frame_text(read_frame(file))
        )
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]
    assert texts[0] != texts[3], "the order of rows is behaviour"


def test_numbers_are_rounded_and_nothing_else():
    assert (
        plain_text("0.30000000000000004 and 1234567890123 and v1.2.3 and 0.3")
        == "0.3 and 1234567890123 and v1.2.3 and 0.3"
    )
    assert plain_text("-1.23456789012e-7,0.5") == "-1.23456789e-07,0.5"
    assert (rounded(-0.0), rounded(2 / 3)) == (0.0, 0.666666667)
    document = {
        "loss": 0.1 + 0.2,
        "versions": {"numpy": "2"},
        "files": {"a.csv": {"sha256": "ab"}},
        "rows": 12345678901,
    }
    text = json_text(json.dumps(document), text_input=True)
    assert json.loads(text) == {
        "loss": 0.3,
        "versions": "<masked>",
        "files": {"a.csv": {"sha256": "<masked>"}},
        "rows": 12345678901,
    }
    assert page_text(f"<code>{'0' * 64}</code> 1.10") == "<code><digest></code> 1.10"


def test_what_is_committed_to_is_compared_where_the_input_is_text():
    document = json.dumps(
        {"input_sha256": "a" * 64, "input_commitment": {"value": "b" * 64}, "salt": "c" * 64}
    )
    assert "b" * 64 in json_text(document, text_input=True)
    assert "b" * 64 not in json_text(document, text_input=False)
    assert "c" * 64 in json_text(document, text_input=False)
