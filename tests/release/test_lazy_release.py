"""A release in parts is verified, checked, attacked and measured like any other; what is changed in
it is found.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.lazy import on_duckdb, on_polars, parts
from sfumato.data.lazy import run as large
from sfumato.errors import ParameterError
from tests.data.lazy.test_refusals import in_parts, people
from tests.interfaces.cli import conftest

RECIPE = """
columns:
  name: {role: drop}
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [5, 10, 20]}}}
  zip: {role: quasi, hierarchy: {mask_right: {length: 5}}}
  ill: {role: sensitive}
  cost: {role: keep, kind: numeric}
meet:
  - k_anonymity: {k: 3}
  - t_closeness: {sensitive: ill, t: 0.9}
steps:
  - global_recoding: {budget: 0.1}
limits: {marketer_risk: 0.9, linkage: 1.0}
"""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_polars, "BATCH", 100)
    monkeypatch.setattr(on_duckdb, "BATCH", 170)
    monkeypatch.setattr(parts, "ROWS", 150)
    monkeypatch.setattr(large, "SAMPLE", 200)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """What a run wrote of a table in parts."""
    (tmp_path / "r.yaml").write_text(RECIPE)
    in_parts(people(), tmp_path / "in")
    table = sf.read(tmp_path / "in", engine="polars")
    return sf.run(
        table, tmp_path / "r.yaml", seed=5, options=sf.RunOptions(into=tmp_path / "out")
    ).write(tmp_path / "out")


command = conftest.sfumato  # a fixture


def status(found: Any) -> dict[str, str]:
    return {claim.name: claim.status for claim in found.claims}


@pytest.mark.parametrize("engine", ["memory", "polars", "duckdb"])
def test_a_release_in_parts_is_made_again_whoever_holds_the_original(
    engine: str, written: Path
) -> None:
    pytest.importorskip("polars" if engine == "memory" else engine)
    original = sf.read(written.parent / "in", engine=engine)
    found = sf.verify(written / "share", original=original, owner=written / "owner")
    assert set(status(found).values()) == {"holds"}, str(found)
    assert {
        "rows are the recoded original",
        "suppressed records",
        "linkage, against the original",
    } <= set(status(found))


def test_another_original_is_told(written: Path) -> None:
    other = sf.read(people().with_columns(pl.col("cost") + 1))
    found = status(sf.verify(written / "share", original=other, owner=written / "owner"))
    assert (
        found["the original is the committed one"]
        == found["rows are the recoded original"]
        == "fails"
    )


def test_the_commands_take_a_release_in_parts(written: Path, command: Any) -> None:
    original, share = written.parent / "in", written / "share"
    assert command("verify", share, "--original", original).code == 0
    assert command("check", share / "data", "-r", written.parent / "r.yaml").code == 0
    assert (
        command(
            "check",
            share / "data",
            "-r",
            written.parent / "r.yaml",
            "--engine",
            "polars",
            "--original",
            original,
        ).code
        == 0
    )
    done = command(
        "attack",
        written,
        "--original",
        original,
        "--attack",
        "linkage",
        "--seconds",
        "5",
        "--certify",
    )
    assert done.code == 0, done.err
    assert "attacks" in json.loads((share / "certificate.json").read_text())
    done = command("evaluate", written, "--original", original, "--metric", "loss", "--certify")
    assert done.code == 0, done.err
    assert command("verify", share, "--original", original).code == 0


def test_a_policy_is_not_held_against_parts(written: Path) -> None:
    from sfumato.policy.comply import read_released

    with pytest.raises(ParameterError, match="a policy needs the rows of data, which polars reads"):
        read_released(written / "share")


def test_nothing_is_left_beside_a_release(written: Path) -> None:
    import gc

    gc.collect()
    assert sorted(file.name for file in written.parent.iterdir()) == ["in", "out", "r.yaml"]
