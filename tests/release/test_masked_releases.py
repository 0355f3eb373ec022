"""Every masking step from end to end: frames, files, certificate, verification, replay, and the command line."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato import recipes, registry
from sfumato.cli import main
from sfumato.core.dataset import Dataset
from tests.release.masked_cases import (
    CASES, KEY, RECODING, SEED, multiset, recipe_of, table_of, told_of_people,
)  # fmt: skip

every_case = pytest.mark.parametrize("name", CASES)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a command left: its exit code, results and talk."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def office_key(monkeypatch):
    monkeypatch.setenv("OFFICE_KEY", KEY)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def sfumato(monkeypatch, capfd):
    """Run ``sfumato`` with arguments in this process and return what it left."""

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr("sys.argv", ["sfumato", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        said = capfd.readouterr()
        return Outcome(code, said.out, said.err)

    return run


def second(name: str) -> Dataset | None:
    """The second table of the step that takes values from one."""
    return table_of(CASES[name].table, seed=9) if name == "swap_across" else None


def released(name: str, table: Dataset | None = None) -> sf.Release:
    recipe = recipe_of(name)
    return sf.run(table or table_of(CASES[name].table), recipe, seed=SEED, population=second(name))


def in_all_frames(dataset: Dataset) -> dict[str, Dataset]:
    frame = dataset.to_polars()
    mixed = frame[np.random.default_rng(9).permutation(len(frame))]
    made = {"other order": mixed, "pandas": frame.to_pandas(), "arrow, other order": mixed.to_arrow()}
    return {kind: Dataset(other, dataset.schema, dataset.source) for kind, other in made.items()}


def test_every_registered_step_is_here():
    assert set(CASES) | RECODING == set(registry.family("steps")), "a new step needs a case, see masked_cases.py"
    assert not set(CASES) & RECODING


@every_case
def test_neither_frame_nor_order_changes_the_release(name):
    expected = multiset(released(name).dataset)
    for kind, table in in_all_frames(table_of(CASES[name].table)).items():
        assert multiset(released(name, table).dataset) == expected, kind


@every_case
def test_recipes_come_back_from_text(name):
    recipe = recipe_of(name)
    assert recipes.parse(recipes.dump(recipe)) == recipe


@every_case
def test_from_file_to_verified_release(name, sfumato, tmp_path):
    table = table_of(CASES[name].table)
    data, recipe, out = tmp_path / "people.csv", tmp_path / "people.yaml", tmp_path / "out"
    table.to_polars().write_csv(data)
    recipe.write_text(recipes.dump(recipe_of(name)))
    beside = []
    if (other := second(name)) is not None:
        other.to_polars().write_csv(tmp_path / "other.csv")
        beside = ["--population", tmp_path / "other.csv"]
    done = sfumato("run", data, "-r", recipe, "-o", out, "--seed", SEED, "--json", *beside)
    assert done.code == 0, done.err
    assert json.loads(done.out)["holds"]
    assert multiset(sf.read(out / "share" / "data.csv")) == multiset(released(name).dataset)
    assert sfumato("check", out / "share" / "data.csv", "-r", recipe).code == 0
    shared = sfumato("verify", out / "share", "--json")
    assert shared.code == 0 and json.loads(shared.out)["holds"], shared.out
    again = sfumato("verify", out / "share", "--original", data, "--json", *beside)
    assert {c["status"] for c in json.loads(again.out)["claims"]} == {"holds"}, again.out
    assert again.code == 0
    _nothing_told(out, name, done)


def _nothing_told(out: Path, name: str, done: Outcome) -> None:
    """Neither the public documents nor what was printed hold values of people or what stays with the owner."""
    case = CASES[name]
    certificate = json.loads((out / "share" / "certificate.json").read_text())
    page = (out / "share" / "report.html").read_text()
    assert not told_of_people(certificate, case.table)
    assert not told_of_people(json.loads(done.out), case.table)
    assert not told_of_people(page, case.table) and not told_of_people(done.err, case.table)
    said = json.dumps(certificate)
    for secret in (*case.secret, SEED, json.loads((out / "owner" / "lock.json").read_text())["salt"]):
        assert secret not in said and secret not in page, secret
    assert KEY not in "".join(f.read_text() for f in out.rglob("*") if f.suffix in (".json", ".html", ".csv"))


@every_case
def test_plans_are_plain_data_without_values(name):
    release = released(name)
    told = release.plans[0][1].describe()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    owner = getattr(release.plans[0][1], "effort", dict)()
    json.dumps(owner, allow_nan=False)
    words = [*release.warnings, *map(str, release.preserved), str(release), *(c.action for c in release.columns)]
    assert not told_of_people([told, owner, words], CASES[name].table)


@every_case
def test_a_changed_release_does_not_verify(name, tmp_path):
    release = released(name)
    release.write(tmp_path / "out")
    table = table_of(CASES[name].table)
    options = {"original": table, "owner": tmp_path / "out" / "owner", "population": second(name)}
    assert sf.verify(tmp_path / "out" / "share", **options).holds
    lock = tmp_path / "out" / "owner" / "lock.json"
    other = {**json.loads(lock.read_text()), "seed": "0" * 31 + "1"}
    lock.write_text(json.dumps(other))
    drawn = name not in ("top_bottom_coding", "recode", "authorised", "personal_levels", "pseudonymize", "microaggregate")
    found = sf.verify(tmp_path / "out" / "share", **options)
    claims = {claim.name: claim.status for claim in found.claims}
    renumbered = "homes" in CASES[name].table  # households get other numbers with another seed
    assert claims["rows are the recoded original"] == ("fails" if drawn or renumbered else "holds")
