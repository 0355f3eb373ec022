"""A command line that runs in this process: quick, and its output can be read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato import examples
from sfumato.interfaces.cli import console, main

RECIPE = """
sfumato: 1
columns:
  patient_name: drop
  insurance_number: drop
  email: drop
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [5, 10, 20]}}}
  sex: {role: quasi, hierarchy: {suppress: {}}}
  zip: {role: quasi, hierarchy: {mask_right: {length: 5}}}
  nationality: {role: quasi, hierarchy: {suppress: {}}}
  marital_status: {role: quasi, hierarchy: {suppress: {}}}
  occupation: {role: quasi, hierarchy: {frequency: {keep: [6, 3]}}}
  admission_date: {role: quasi, kind: date, hierarchy: {dates: {levels: [month, quarter, year]}}}
  diagnosis: sensitive
  cost: {role: sensitive, kind: numeric}
  ward: keep
  length_of_stay: {role: keep, kind: numeric}
meet:
  - k_anonymity: {k: 5}
steps:
  - global_recoding: {suppress: tuple, budget: 0.05}
"""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a command left: its exit code, results and talk."""

    code: int
    out: str
    err: str


@pytest.fixture
def sfumato(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Run ``sfumato`` with arguments and return what it left."""

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr("sys.argv", ["sfumato", *map(str, arguments)])
        monkeypatch.setattr(
            "__main__.__package__", None, raising=False
        )  # it is called so, however the tests are
        monkeypatch.setenv("COLUMNS", "80")
        console.out.cache_clear()  # a console keeps the width it was made with
        console.err.cache_clear()
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        said = capfd.readouterr()
        return Outcome(code, said.out, said.err)

    return run


@pytest.fixture(scope="session")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hospital table as a CSV file."""
    file = tmp_path_factory.mktemp("visits") / "visits.csv"
    examples.hospital(rows=600).to_polars().write_csv(file)
    return file


@pytest.fixture(scope="session")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe for the hospital table."""
    file = tmp_path_factory.mktemp("recipe") / "visits.yaml"
    file.write_text(RECIPE)
    return file
