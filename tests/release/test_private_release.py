"""Releases drawn from noisy counts, from a table to the certificate; models are fitted naively
here.
"""

from __future__ import annotations

import json

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.recipe import Recipe
from sfumato.errors import ReleaseRefused
from sfumato.methods.steps.synthesis import mst
from sfumato.methods.steps.synthesis.noisy_counts import PrivateTable
from sfumato.release import promise_checks
from sfumato.release.manifest import Claim
from sfumato.release.replay import original_beside
from sfumato.release.shared_folder import SharedFolder
from tests.oracles.private_synthesis import WholeTable
from tests.release.test_epsilon_certification import share_of

SEED = "0123456789abcdef0123456789abcdef"
STEP = sf.SynthesizePrivately(epsilon=2.0, delta=1e-6)


@pytest.fixture(autouse=True)
def naive_models(monkeypatch):
    monkeypatch.setattr("sfumato.methods.steps.synthesis.private_synthesis.ModelWorker", WholeTable)
    monkeypatch.setattr(
        "sfumato.methods.steps.synthesis.private_synthesis.require_fitting", lambda: None
    )


def people(*more, person=False):
    rows = [("ab"[i % 2], "pq"[i % 3 == 0], str(i // 2)) for i in range(400)]
    frame = pl.DataFrame([*rows, *more], schema=["town", "work", "who"], orient="row")
    schema = {
        "town": sf.Attribute(("quasi",), domain=("a", "b")),
        "work": sf.Attribute(("sensitive",), domain=("p", "q")),
        "who": sf.Attribute(("person",) if person else ("drop",)),
    }
    return sf.Table(frame, sf.Schema(schema))


def certificate_of(folder):
    return json.loads((folder / "share" / "certificate.json").read_text())


def test_the_certificate_has_epsilon_delta_and_unit(tmp_path):
    release = sf.anonymize(people(), [], [STEP], seed=SEED)
    release.write(tmp_path / "out")
    told = certificate_of(tmp_path / "out")
    private = told["differential_privacy"]
    assert (private["epsilon"], private["delta"], private["unit_of_privacy"]) == (
        2.0,
        1e-6,
        "one record",
    )
    assert private["certified"] and told["plan"][0]["rho"] == pytest.approx(float(STEP.rho))
    assert "ε = 2, δ = 1e-06 for one record" in str(release)
    found = sf.verify(tmp_path / "out" / "share")
    (claim,) = [c for c in found.claims if c.name == "ε = 2, δ = 1e-06"]
    assert (
        found.result == "not all verified" and claim.status == "needs original"
    )  # that it ran so, no file shows


def test_a_person_is_the_unit_where_a_column_names_persons(tmp_path):
    data = people(person=True)
    step = sf.SynthesizePrivately(epsilon=2.0, delta=1e-6, rows_per_person=2)
    release = sf.anonymize(data, [], [step], seed=SEED)
    release.write(tmp_path / "out")
    private = certificate_of(tmp_path / "out")["differential_privacy"]
    assert private["unit_of_privacy"] == "one person (at most 2 rows of each count)"
    assert private["neighbours"] == "add_remove"
    assert release.released.columns == ["town", "work"]
    assert sf.verify(tmp_path / "out" / "share").result == "not all verified"


def test_who_claims_a_smaller_epsilon_is_found_out(tmp_path):
    release = sf.anonymize(people(), [], [STEP], seed=SEED)
    release.write(tmp_path / "out")
    told = certificate_of(tmp_path / "out")

    def epsilon() -> Claim:
        shared = SharedFolder(tmp_path / "out" / "share", told)
        return promise_checks.epsilon(told, shared, original_beside(shared))

    assert epsilon().status == "needs original"
    told["differential_privacy"]["epsilon"] = 1.0
    assert epsilon().status == "fails"
    told["recipe"]["steps"].insert(0, {"sample": {"fraction": 0.5}})
    assert "does not follow" in epsilon().detail


def test_one_person_more_changes_nothing_that_is_shared_but_through_noisy_counts(
    tmp_path, monkeypatch
):
    """With the same noisy counts and draws, all that is shared is the same, byte for byte."""
    learnt = []
    measured = mst.choose_and_measure
    monkeypatch.setattr(
        mst,
        "choose_and_measure",
        lambda table: learnt[0] if learnt else _first(measured(table), learnt),
    )
    monkeypatch.setattr("sfumato.methods.formulas.exact_draws.Draws.seed", lambda self: 7)
    shares = []
    for place, data in enumerate((people(), people(("b", "zed", "x")))):
        release = sf.anonymize(data, [], [STEP], seed=SEED)
        assert release.certified.holds
        shares.append(share_of(release, tmp_path / str(place)))
    assert shares[0].keys() == shares[1].keys() and "share/data.csv" in shares[0]
    for name, text in shares[0].items():
        assert text == shares[1][name], name


def _first(made, learnt):
    learnt.append(made)
    return made


def test_a_rehearsal_certifies_nothing_and_a_step_before_breaks_it():
    rehearsed = sf.anonymize(people(), [], [STEP], seed=3)
    assert not rehearsed.certified.holds and "rehearsal" in " ".join(rehearsed.warnings)
    looked = sf.anonymize(people(), [], [sf.Sample(0.9), STEP], seed=SEED)
    assert any("sample reads" in reason for reason in looked.certified.reasons)
    after = sf.anonymize(people(), [sf.KAnonymity(3)], [STEP, sf.Suppress("tuple")], seed=SEED)
    assert after.certified.holds


def test_what_compares_with_the_original_may_not_decide():
    step = sf.SynthesizePrivately(epsilon=2.0, delta=1e-6, holdout=0.3)
    recipe = Recipe(people().schema, (), (step,), limits={"copied_records": 1.0})
    release = sf.run(people(), recipe, seed=SEED)
    assert any("limit on copied_records" in reason for reason in release.certified.reasons)


def test_spending_comes_before_looking(tmp_path, monkeypatch):
    """A ledger that cannot afford it ends the run, and no count was looked at."""
    file = tmp_path / "ledger.jsonl"
    sf.dp.session(people().drop(["who"]), budget=sf.dp.Budget(0.5, delta=1e-6), ledger=file)
    monkeypatch.setattr(
        PrivateTable, "_count_cells", lambda *_: pytest.fail("the data were looked at")
    )
    step = sf.SynthesizePrivately(epsilon=2.0, delta=1e-6, ledger=str(file))
    with pytest.raises(sf.errors.BudgetExceeded):
        sf.anonymize(people(), [], [step], seed=SEED)


def test_promises_are_judged_on_what_was_drawn():
    with pytest.raises(ReleaseRefused, match=r"2,?000-anonymity"):
        sf.anonymize(people(), [sf.KAnonymity(2000)], [STEP], seed=SEED)
