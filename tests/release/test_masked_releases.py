"""Every masking step from end to end: frames, files, certificate, verification, replay, and the
command line.
"""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.step import accounts
from sfumato.core.table import Table
from sfumato.interfaces.cli import main
from sfumato.release.report.page_html import ReportPage
from tests.oracles.private_synthesis import WholeTable
from tests.release.masked_cases import (
    CASES,
    KEY,
    RECODING,
    SEED,
    multiset,
    recipe_of,
    table_of,
    told_of_people,
)

IN_ROW_ORDER = frozenset({"insensitive_microaggregation", "laplace_noise", "randomized_response"})
"""Steps whose draws are from the system but for rehearsals, which repeat them in the order of the
rows.
"""

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


@pytest.fixture(autouse=True)
def naive_models(monkeypatch):
    """Models of noisy counts without the library that fits them, which has tests of its own."""
    monkeypatch.setattr("sfumato.methods.steps.synthesis.private_synthesis.ModelWorker", WholeTable)
    monkeypatch.setattr(
        "sfumato.methods.steps.synthesis.private_synthesis.require_fitting", lambda: None
    )


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


@pytest.fixture
def undrawn(monkeypatch):
    """Releases without their pages, which take most of the time."""
    # Where a release is written, and where it is verified.
    for module in ("sealing", "report.page_html"):
        monkeypatch.setattr(f"sfumato.release.{module}.render_page", lambda _: "")


def second(name: str) -> Table | None:
    """The second table of the step that takes values from one."""
    return table_of(CASES[name].table, seed=9) if name == "swap_across" else None


@cache
def released(name: str, table: Table | None = None) -> sf.Release:
    recipe = recipe_of(name)
    return sf.run(
        table or table_of(CASES[name].table), recipe, seed=seed_of(name), population=second(name)
    )


def seed_of(name: str) -> str:
    """A long seed; a short one, which makes a rehearsal, for steps that draw from the system
    otherwise.
    """
    return SEED if getattr(registry.family("steps")[name], "replayable", True) else "77"


def in_all_frames(dataset: Table) -> dict[str, Table]:
    frame = dataset.to_polars()
    mixed = frame[np.random.default_rng(9).permutation(len(frame))]
    made = {"pandas": frame.to_pandas(), "arrow, other order": mixed.to_arrow()}
    return {kind: Table(other, dataset.schema, dataset.source) for kind, other in made.items()}


def test_every_registered_step_is_here():
    assert set(CASES) | RECODING == set(registry.family("steps")), (
        "a new step needs a case, see masked_cases.py"
    )
    assert not set(CASES) & RECODING


@pytest.mark.slow
@every_case
def test_neither_frame_nor_order_changes_the_release(name):
    expected = multiset(released(name).released)
    for kind, table in in_all_frames(table_of(CASES[name].table)).items():
        if name in IN_ROW_ORDER and "order" in kind:
            continue
        assert multiset(released(name, table).released) == expected, kind


@every_case
def test_recipes_come_back_from_text(name):
    recipe = recipe_of(name)
    assert recipes.parse(recipes.dump(recipe)) == recipe


@pytest.mark.slow
@every_case
def test_from_file_to_verified_release(name, sfumato, tmp_path, monkeypatch):
    # The owner's page is as slow to draw as the one that is read here.
    monkeypatch.setattr(
        "sfumato.release.sealing.describe_owner_page", lambda *_: ReportPage("", "", [], "")
    )
    table = table_of(CASES[name].table)
    data, recipe, out = tmp_path / "people.csv", tmp_path / "people.yaml", tmp_path / "out"
    table.to_polars().write_csv(data)
    recipe.write_text(recipes.dump(recipe_of(name)))
    beside = []
    if (other := second(name)) is not None:
        other.to_polars().write_csv(tmp_path / "other.csv")
        beside = ["--population", tmp_path / "other.csv"]
    done = sfumato("run", data, "-r", recipe, "-o", out, "--seed", seed_of(name), "--json", *beside)
    assert done.code == 0, done.err
    assert json.loads(done.out)["holds"]
    assert multiset(sf.read(out / "share" / "data.csv")) == multiset(_in_python(name, data))
    assert sfumato("check", out / "share" / "data.csv", "-r", recipe).code == 0
    shared = sfumato("verify", out / "share", "--json")
    drawn = name == "synthesize"  # its limit on copies compares with people
    assert (shared.code, json.loads(shared.out)["holds"]) == (7, not drawn), shared.out
    again = sfumato("verify", out / "share", "--original", data, "--json", *beside)
    assert {c["status"] for c in json.loads(again.out)["claims"]} == {"holds"}, again.out
    assert again.code == 0
    _nothing_told(out, name, done)


def _in_python(name: str, file: Path) -> sf.Table:
    """The release of a case made in Python: of the table, or of its file where every cell is to be
    read for itself.
    """
    made = recipe_of(name)
    if not accounts(made.steps, made.schema):
        return released(name).released
    return sf.run(sf.read(file, recipe=made), made, seed=seed_of(name)).released


def _nothing_told(out: Path, name: str, done: Outcome) -> None:
    """Neither the public documents nor what was printed hold values of people or what stays with
    the owner.
    """
    case = CASES[name]
    certificate = json.loads((out / "share" / "certificate.json").read_text())
    page = (out / "share" / "report.html").read_text()
    assert not told_of_people(certificate, case.table)
    assert not told_of_people(json.loads(done.out), case.table)
    assert not told_of_people(page, case.table) and not told_of_people(done.err, case.table)
    said = json.dumps(certificate)
    for secret in (
        *case.secret,
        SEED,
        json.loads((out / "owner" / "lock.json").read_text())["salt"],
    ):
        assert secret not in said and secret not in page, secret
    assert KEY not in "".join(
        f.read_text() for f in out.rglob("*") if f.suffix in (".json", ".html", ".csv")
    )


@every_case
def test_plans_are_plain_data_without_values(name):
    release = released(name)
    told = release.plans[0][1].describe()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    owner = getattr(release.plans[0][1], "effort", dict)()
    json.dumps(owner, allow_nan=False)
    words = [
        *release.warnings,
        *map(str, release.preserved),
        str(release),
        *(c.action for c in release.columns),
    ]
    assert not told_of_people([told, owner, words], CASES[name].table)


def test_what_was_drawn_from_the_system_cannot_be_made_again(tmp_path, undrawn):
    table, recipe = table_of("patients"), recipe_of("insensitive_microaggregation")
    sf.run(table, recipe, seed=SEED).write(tmp_path / "out")
    found = sf.verify(tmp_path / "out" / "share", original=table, owner=tmp_path / "out" / "owner")
    claims = {claim.name: claim for claim in found.claims}
    assert found.holds and claims["rows are the recoded original"].status == "needs original"
    assert "uses random numbers of the system" in claims["rows are the recoded original"].detail


CHAINS = {
    "pseudonyms, noise, pram, then recoding": (
        "patients",
        [{"k_anonymity": 4}],
        [
            {"pseudonymize": {"columns": ["patient_name"], "key": {"env": "OFFICE_KEY"}}},
            {"add_noise": {"columns": ["cost"], "alpha": 0.2}},
            {"pram": {"columns": ["sex"], "retain": 0.8}},
            {"global_recoding": {"budget": 0.1}},
        ],
    ),
    "noise on a quasi-identifier, then Mondrian": (
        "patients",
        [{"k_anonymity": 3}],
        [
            {"add_noise": {"columns": ["age"], "alpha": 0.1, "keep_integers": True}},
            {"mondrian": {}},
        ],
    ),
    "sample, then recode by hand, then recoding": (
        "homes",
        [{"k_anonymity": 2}],
        [
            {"sample": {"fraction": 0.7}},
            {"recode": {"columns": ["age"], "breaks": [18, 40, 65]}},
            {"mondrian": {}},
        ],
    ),
    "averages of all quasi-identifiers are k-anonymous": (
        "patients",
        [{"k_anonymity": 4}],
        [
            {
                "microaggregate": {
                    "columns": ["age", "sex", "zip", "admission_date"],
                    "k": 4,
                    "missing": "pattern",
                }
            }
        ],
    ),
    "l-diversity of a swapped column": (
        "patients",
        [{"k_anonymity": 4}, {"l_diversity": {"sensitive": "diagnosis", "l": 2}}],
        [
            {"swap_data": {"columns": ["diagnosis"], "rate": 0.5}},
            {"global_recoding": {"budget": 0.2}},
        ],
    ),
    "t-closeness of a column with noise": (
        "patients",
        [
            {"k_anonymity": 4},
            {"t_closeness": {"sensitive": "cost", "t": 0.5, "distance": "numeric"}},
        ],
        [{"add_noise": {"columns": ["cost"], "alpha": 0.3}}, {"global_recoding": {"budget": 0.2}}],
    ),
    "coding, rounding, shifting and swapping": (
        "patients",
        [{"k_anonymity": 1}],
        [
            {"top_bottom_coding": {"columns": ["cost"], "top_quantile": 0.95}},
            {"round": {"columns": ["cost"], "base": 50}},
            {"shift_dates": {"columns": ["admission_date"], "days": 14, "keep_weekday": True}},
            {"rank_swap": {"columns": ["length_of_stay"], "p": 0.1}},
        ],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAINS)
def test_steps_in_a_row(name, tmp_path, undrawn):
    which, meet, steps = CHAINS[name]
    table = table_of(which)
    recipe = recipe_of(next(c for c in CASES if CASES[c].table == which), meet=meet, steps=steps)
    assert recipes.parse(recipes.dump(recipe)) == recipe
    release = sf.run(table, recipe, seed=SEED)
    assert all(release.verdicts) and len(release.plans) == len(steps)
    other = sf.run(in_all_frames(table)["arrow, other order"], recipe, seed=SEED)
    assert multiset(other.released) == multiset(release.released)
    release.write(tmp_path / "out")
    share = tmp_path / "out" / "share"
    assert all(sf.check(sf.read(share / "data.csv"), recipe, original=table))
    assert sf.verify(share).result != "false"
    found = sf.verify(share, original=table, owner=tmp_path / "out" / "owner")
    assert {claim.status for claim in found.claims} == {"holds"}, str(found)
    certificate = json.loads((share / "certificate.json").read_text())
    assert [step["step"] for step in certificate["plan"]] == [next(iter(step)) for step in steps]
    assert not told_of_people(certificate, which)


def test_promises_are_about_what_was_released():
    """Noise that parts equal ages breaks k-anonymity, and the release is refused whatever came
    before.
    """
    steps = [
        {
            "microaggregate": {
                "columns": ["age", "sex", "zip", "admission_date"],
                "k": 4,
                "missing": "pattern",
            }
        }
    ]
    noise = {"add_noise": {"columns": ["age"], "alpha": 0.5}}
    with pytest.raises(sf.errors.ReleaseRefused, match="4-anonymity"):
        sf.run(
            table_of("patients"),
            recipe_of("microaggregate", meet=[{"k_anonymity": 4}], steps=[*steps, noise]),
            seed=1,
        )


def test_the_reference_of_t_closeness_is_the_original():
    """Coding moves every cost above the median, so that it matters which table classes are compared
    with.
    """
    table = table_of("patients")
    steps = [
        {"top_bottom_coding": {"columns": ["cost"], "top_quantile": 0.5}},
        {"global_recoding": {"budget": 0.0}},
    ]
    promise = {"t_closeness": {"sensitive": "cost", "t": 1.0, "distance": "numeric"}}
    recipe = recipe_of("shift_dates", meet=[{"k_anonymity": 4}, promise], steps=steps)
    release = sf.run(table, recipe, seed=1)
    against = sf.check(release.released, recipe, original=table)[1].attained
    alone = sf.check(release.released, recipe)[1].attained
    assert release.verdicts[1].attained == pytest.approx(against) and abs(against - alone) > 0.01
