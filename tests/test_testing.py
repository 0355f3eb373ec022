"""``assert_promise`` in tests and as a fixture, and the verbs as methods of frames."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.testing import assert_promise

FRAME = {
    "age": [30, 30, 41, 41],
    "zip": ["10", "10", "20", "20"],
    "illness": ["flu", "cough", "flu", "flu"],
}


@pytest.mark.parametrize("made", [pl.DataFrame, pd.DataFrame])
def test_a_promise_that_holds_gives_its_verdicts(made: type) -> None:
    verdicts = assert_promise(
        made(FRAME), "k_anonymity:2", quasi=["age", "zip"], sensitive="illness"
    )
    assert [verdict.attained for verdict in verdicts] == [2]


def test_a_broken_promise_fails_without_a_value() -> None:
    with pytest.raises(AssertionError, match="2-diversity of illness does not hold") as failed:
        assert_promise(
            pl.DataFrame(FRAME),
            "l_diversity:illness,l=2",
            quasi=["age", "zip"],
            sensitive=["illness"],
        )
    assert not any(value in str(failed.value) for value in ("flu", "cough", "41"))


def test_a_promise_without_its_degree_or_nothing_at_all_is_refused() -> None:
    with pytest.raises(sf.errors.ParameterError, match="without its degree"):
        assert_promise(pl.DataFrame(FRAME), "k_anonymity", quasi=["age"])
    with pytest.raises(sf.errors.ParameterError, match="say what must hold"):
        assert_promise(pl.DataFrame(FRAME), quasi=["age"])


def test_a_recipe_is_checked_and_direct_identifiers_must_be_gone(tmp_path: Path) -> None:
    recipe = tmp_path / "r.yaml"
    recipe.write_text(
        "columns: {name: drop, age: quasi}\nmeet: [{k_anonymity: 2}]\nsteps: [{global_recoding:"
        " {}}]\n"
    )
    assert assert_promise(pl.DataFrame({"age": [1, 1]}), recipe=recipe)
    with pytest.raises(sf.errors.ReleaseRefused, match="direct identifiers"):
        assert_promise(pl.DataFrame({"name": ["a", "b"], "age": [1, 1]}), recipe=recipe)
    with pytest.raises(sf.errors.ParameterError, match="leave the roles out"):
        assert_promise(pl.DataFrame({"age": [1, 1]}), recipe=recipe, quasi=["age"])


def test_pytest_offers_the_fixture(tmp_path: Path) -> None:
    (tmp_path / "test_visits.py").write_text(
        "import polars as pl\ndef test_holds(assert_promise):\n   "
        " assert_promise(pl.DataFrame({'age': [1, 1]}), 'k_anonymity:2', quasi=['age'])\ndef"
        " test_breaks(assert_promise):\n    assert_promise(pl.DataFrame({'age': [1, 2]}),"
        " 'k_anonymity:2', quasi=['age'])\n"
    )
    told = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "sfumato.testing",
        "-p",
        "no:cacheprovider",
        str(tmp_path),
    ]
    here = {**os.environ, "PYTHONPATH": str(Path(sf.__file__).parents[1])}
    done = subprocess.run(told, capture_output=True, text=True, cwd=tmp_path, check=False, env=here)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr


def test_pytest_loads_nothing_of_sfumato_unless_asked() -> None:
    """No entry point: other projects in the same environment do not see it in their header."""
    entries = importlib.metadata.entry_points(group="pytest11")
    assert "sfumato" not in {entry.name for entry in entries if entry.value.startswith("sfumato")}
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")
    assert "pytest11" not in project


def test_the_plug_in_costs_a_test_run_nothing() -> None:
    told = (
        "import sys, sfumato.testing; print(sorted({m.split('.')[0] for m in"
        " sys.modules} & {'polars', 'numpy', 'numba'}))"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", told], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )
