"""A released column that copies a quasi-identifier, on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

RECIPE = """
columns:
  accounts: {role: quasi, kind: numeric}
  state: {role: quasi}
  lines: {role: keep, kind: numeric}
meet: [{k_anonymity: {k: 5}}]
steps: [mondrian]
"""
ACCEPT = {"lines": {"implies": "accounts", "because": "the recipient has both"}}


def _files(folder: Path) -> tuple[Path, Path, Path]:
    rng = np.random.default_rng(1)
    accounts = rng.poisson(11, 1500)
    lines = np.where(rng.random(1500) < 0.98, accounts, rng.poisson(11, 1500))
    table = pl.DataFrame(
        {"accounts": accounts, "state": rng.integers(0, 30, 1500).astype(str), "lines": lines}
    )
    table.write_csv(folder / "loans.csv")
    (folder / "r.yaml").write_text(RECIPE)
    (folder / "a.yaml").write_text(f"{RECIPE}accept: {json.dumps(ACCEPT)}\n")
    return folder / "loans.csv", folder / "r.yaml", folder / "a.yaml"


def test_a_copy_is_refused_with_exit_code_1_and_accepted_by_name(
    sfumato: Callable[..., Any], tmp_path: Path
) -> None:
    data, plain, accepting = _files(tmp_path)
    done = sfumato("run", data, "-r", plain, "-o", tmp_path / "out")
    assert done.code == 1 and "lines nearly determines accounts" in done.err
    assert not (tmp_path / "out").exists()
    done = sfumato("run", data, "-r", accepting, "-o", tmp_path / "out", "--seed", "1")
    assert done.code == 0, done.err
    assert "accepted: lines" in done.out + done.err
    done = sfumato("verify", tmp_path / "out" / "share", "--original", data)
    assert done.code == 0, done.out
    assert "accepted: lines → accounts" in done.out


def test_an_acceptance_of_no_pair_is_a_recipe_error(
    sfumato: Callable[..., Any], tmp_path: Path
) -> None:
    data, plain, _ = _files(tmp_path)
    wrong = tmp_path / "w.yaml"
    wrong.write_text(plain.read_text() + "accept: {lines: {implies: rate, because: agreed}}\n")
    done = sfumato("run", data, "-r", wrong, "-o", tmp_path / "out")
    assert done.code == 2 and "no column 'rate'" in done.err
