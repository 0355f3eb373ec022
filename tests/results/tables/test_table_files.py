"""Writing a protected table: what anybody may have, and what its owner keeps."""

from __future__ import annotations

import json

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import OutputError
from tests.results.tables.test_verification import (
    call,
    copy,  # noqa: F401 - a fixture
    file,  # noqa: F401 - a fixture
    frame,  # noqa: F401 - a fixture
    written,  # noqa: F401 - a fixture
)


def test_what_is_secret_stays_with_the_owner(written, frame):  # noqa: F811
    shared = "".join(file.read_text() for file in (written / "share").iterdir())  # noqa: F811
    assert "12.5" not in shared
    assert "77" not in json.dumps(
        json.loads((written / "share" / "certificate.json").read_text())["aggregates"]["rules"]
    )
    lock = json.loads((written / "owner" / "lock.json").read_text())
    assert [rule["rule"] for rule in lock["rules"]] == ["threshold", "p_percent", "dominance"]
    table = pl.read_csv(written / "share" / "table.csv", infer_schema=False)
    told = set(table["sum(cost)"]) - {"x"}
    for value in lock["values"]:
        assert str(value) not in told
    assert "x" in set(table["sum(cost)"])
    assert len(lock["audit"]["intervals"]) == (table["sum(cost)"] == "x").sum()


def test_a_folder_is_not_replaced_unless_told(copy, frame):  # noqa: F811
    made = sf.tabulate(frame, ["region"]).protect([sf.Threshold(5)])
    with pytest.raises(OutputError, match="--force"):
        made.write(copy)
    made.write(copy, force=True)
    assert sf.verify(copy / "share", owner=copy / "owner").holds


def test_the_command_writes_what_verify_accepts(file, tmp_path):  # noqa: F811
    code, _ = call(
        "table",
        file,
        "region × diagnosis: sum(cost)",
        "--protect",
        "--threshold",
        5,
        "-o",
        tmp_path / "out",
    )
    assert code == 0
    assert call("verify", tmp_path / "out" / "share")[0] == 0
    code, told = call("table", file, "region; diagnosis: count", "--protect", "--json")
    assert json.loads(told)["suppressed"] >= 0
