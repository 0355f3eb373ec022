"""Some rows of a table that an engine holds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.data.lazy import sample
from sfumato.data.lazy.sample import sampled
from sfumato.interfaces.cli import main

PEOPLE = sf.examples.hospital(600).to_polars().drop("patient_name", "insurance_number", "email")
RECIPE = """
columns:
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [5, 10, 20]}}}
  sex: {role: quasi, hierarchy: suppress}
  diagnosis: sensitive
meet: [{k_anonymity: {k: 3}}]
steps: [{global_recoding: {budget: 0.1}}]
"""


def test_the_sample_is_told_and_depends_on_the_rows_alone() -> None:
    drawn = sampled(sf.read(PEOPLE.lazy()), 50)
    shuffled = PEOPLE.sample(fraction=1, shuffle=True, seed=1)
    again = sampled(sf.read(shuffled.lazy()), 50)
    names = PEOPLE.columns
    assert 40 < len(drawn) < 60
    assert drawn.to_polars().select(names).equals(again.to_polars().select(names))
    assert drawn.to_polars().join(PEOPLE, on=names, how="anti", nulls_equal=True).is_empty()
    assert f"looked at {len(drawn)} of 600 rows" in drawn.source.notes[0]


def test_a_small_table_is_taken_as_a_whole() -> None:
    drawn = sampled(sf.read(PEOPLE.lazy()), 600)
    assert len(drawn) == 600
    assert drawn.source.notes == ()


@pytest.fixture
def sfumato(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command line, in a folder with a table in two parts and a recipe."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits").mkdir()
    for number in range(2):
        rows = PEOPLE.select("age", "sex", "diagnosis").slice(300 * number, 300)
        rows.write_csv(tmp_path / "visits" / f"{number}.csv")
    (tmp_path / "r.yaml").write_text(RECIPE)

    def run(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["sfumato", *words])
        try:
            main()
        except SystemExit as stopped:
            return int(stopped.code or 0)
        return 0

    return run


def test_profile_takes_parts_as_one_table(
    sfumato: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("profile", "visits", "--engine", "polars") == 0
    assert "600 rows, 3 columns" in capsys.readouterr().err.replace("\n", " ")


def test_a_profile_of_a_frame_is_that_of_its_rows() -> None:
    lazy, eager = sf.profile(sf.read(PEOPLE.lazy())), sf.profile(PEOPLE)
    assert lazy.columns == eager.columns


def test_a_release_is_verified_by_an_engine(sfumato: Callable[..., int]) -> None:
    assert sfumato("run", "visits", "-r", "r.yaml", "-o", "out", "-q", "--engine", "polars") == 0
    assert sfumato("verify", "out", "--original", "visits", "-q", "--engine", "polars") == 0
    assert sfumato("verify", "out", "--original", "visits", "-q", "--engine", "nonsense") == 2


def test_a_recommendation_looks_at_a_sample_and_releases_nothing(
    sfumato: Callable[..., int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert sfumato("recommend", "visits", "--engine", "polars", "--run", "out") == 2
    assert "leave --run out" in capsys.readouterr().err.replace("\n", " ")
    assert not (tmp_path / "out").exists()


def test_compare_looks_at_a_sample(
    sfumato: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sample, "ROWS", 200)
    assert sfumato("compare", "visits", "r.yaml", "--engine", "polars", "--attack", "none") == 2
    assert "of 600 rows, drawn at random" in capsys.readouterr().err.replace("\n", " ")
